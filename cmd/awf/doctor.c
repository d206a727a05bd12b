/* Agents come first, though they are told last: a key that one of them needs is missed. */
#include "awf/doctor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "awf/checks.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "proc/descendants.h"
#include "program.h"
#include "run/screen.h"

#define PROGRAM "awf"
#define ANSWER_BYTES ((size_t)64 << 10)

enum { OPT_JSON = 1, OPT_QUIET };

static const struct option_spec options[] = {
	{ OPT_JSON, 0, "json", NULL, "a JSON object in each line" },
	{ OPT_QUIET, 'q', "quiet", NULL, "only what is wrong" },
	{ 0, 0, NULL, NULL, NULL }
};

/* ---- for the checks ---- */

void
demands_add(struct demands *d, const char *provider, const char *who)
{
	if (provider == NULL || demands_who(d, provider) != NULL)
		return;
	d->list = memory_array(d->list, d->count + 1, sizeof *d->list);
	d->list[d->count++] = (struct demand){ memory_text(provider), memory_text(who) };
}

const char *
demands_who(const struct demands *d, const char *provider)
{
	for (size_t i = 0; i < d->count; i++)
		if (strcmp(d->list[i].provider, provider) == 0)
			return d->list[i].who;
	return NULL;
}

void
demands_free(struct demands *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free(d->list[i].provider);
		free(d->list[i].who);
	}
	free(d->list);
}

void
checks_ask(struct subprocess *processes, size_t count)
{
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < count; i++) {
		processes[i].timeout_ms = CHECK_LIMIT_MS;
		processes[i].output_limit = ANSWER_BYTES;
		processes[i].quiet = true;
	}
	if (subprocesses_run(processes, count, NULL, &err) == 0)
		return;
	for (size_t i = 0; i < count; i++)
		processes[i].error = err;
}

char *
checks_complaint(const struct subprocess *b)
{
	size_t len = b->errors.len, start;

	while (len > 0 && strchr("\n\r ", b->errors.data[len - 1]) != NULL)
		len--;
	for (start = len; start > 0 && b->errors.data[start - 1] != '\n';)
		start--;
	return len > start ? memory_copy(b->errors.data + start, len - start) :
	    memory_text(b->error.message);
}

/* ---- the command ---- */

/* 0: go on; else OPTION_HELP, OPTION_VERSION, -1. */
static int
parse(int argc, char **argv, bool *json, bool *quiet, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, options, argc, argv);
	while ((id = options_next(&o, err)) > 0) {
		*json = *json || id == OPT_JSON;
		*quiet = *quiet || id == OPT_QUIET;
	}
	return id == OPTION_WORD ? error_set(err, ERROR_USAGE, o.value, "unexpected argument") : id;
}

static void
look(struct findings *f)
{
	struct demands d = { NULL, 0 };

	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	check_agents(f, &d);
	check_tools(f);
	check_skills(f);
	check_programs(f);
	check_providers(f, &d);
	check_sandbox(f);
	check_storage(f);
	check_prices(f);
	demands_free(&d);
	signal(SIGPIPE, SIG_DFL);
}

int
doctor(int argc, char **argv)
{
	struct findings f = { NULL, 0, 0 };
	struct buffer out = BUFFER_INIT;
	bool json = false, quiet = false;
	struct error err = ERROR_INIT;
	int status;

	switch (parse(argc, argv, &json, &quiet, &err)) {
	case OPTION_END:
		break;
	case OPTION_HELP:
		options_help(stdout, "awf doctor [options]\n", options);
		return program_end(PROGRAM, STATUS_OK);
	case OPTION_VERSION:
		return program_end(PROGRAM, program_version(PROGRAM));
	default:
		return program_fail(PROGRAM, &err);
	}
	look(&f);
	if (json)
		findings_json(&f, quiet, &out);
	else
		findings_text(&f, quiet, terminal_colour(STDOUT_FILENO, "auto"), &out);
	fwrite(buffer_string(&out), 1, out.len, stdout);
	status = f.wrong > 0 ? STATUS_WORK : STATUS_OK;
	findings_free(&f);
	buffer_free(&out);
	return program_end(PROGRAM, status);
}
