/*
 * The filter is a shell that is used as a line peer (proc/peer.h). If it writes anything before or
 * after its one answer, it is ended. The pid of the process that has started the filter is stored,
 * so that a child made by fork() notices that it has none of its own.
 */
#include "storage/redactor.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "proc/libexec.h"

/* Makes the shell, and everything that it starts, ignore these signals. */
#define SHIELD "trap '' HUP INT QUIT TERM; "
#define PREFIX "awf-mask-"

static int redactor_redact_line(void *context, struct span line, struct buffer *answer,
    struct error *err);
static void redactor_end_filter(void *context);

/* Takes ownership of both texts. */
static void
redactor_set_command(struct redactor *r, char *command, char *directory)
{
	r->command = command;
	r->directory = directory;
	r->program = memory_format("%s\n%s", directory, command);
	r->redaction.pass = redactor_redact_line;
	r->redaction.end = redactor_end_filter;
	r->redaction.context = r;
	r->redaction.program = r->program;
}

int
redactor_open(struct redactor *r, const char *command, struct error *err)
{
	static const char letters[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const char *text = command != NULL ? command : environment_text(REDACTOR_COMMAND);
	const char *known = command == NULL ? environment_text(REDACTOR_DIRECTORY) : NULL;
	char here[PATH_MAX], *own, *name, *path = NULL;
	struct run around;
	size_t len;

	memset(r, 0, sizeof *r);
	/* If this run is inside of a masked run, use the filter of that run. */
	if (run_in_environment() && run_environment_masked()) {
		int failed = run_enter(&around, err);

		if (failed == -1)
			return -1;
		failed = redactor_join(r, &around, err);
		run_close(&around);
		if (failed == 0 && command != NULL)
			return error_set(err, ERROR_USAGE, REDACTION_PLACE,
			    "not inside a run that is masked: its filter masks this one too");
		return failed;
	}
	if (text == NULL)
		return 0;
	text += strspn(text, " \t");
	if (text[strspn(text, " \t\n")] == '\0')
		return error_set(err, ERROR_USAGE, REDACTION_PLACE, "the command is empty");
	if (known == NULL && (known = getcwd(here, sizeof here)) == NULL)
		return error_errno(err, ERROR_SYSTEM, REDACTION_PLACE,
		    "unable to tell the current directory");

	/* The first word may be the name of a program in AWF's own directory. */
	len = strspn(text, letters);
	own = libexec_path();
	name = memory_format(PREFIX "%.*s", (int)len, text);
	if (len > 0 && strchr(" \t\n", text[len]) != NULL)
		path = path_search(own, name);
	redactor_set_command(r, memory_format("%s%s", path != NULL ? PREFIX : "", text),
	    memory_text(known));
	free(path);
	free(name);
	free(own);
	return 0;
}

int
redactor_join(struct redactor *r, struct run *run, struct error *err)
{
	const char *command = environment_text(REDACTOR_COMMAND);
	const char *directory = environment_text(REDACTOR_DIRECTORY);

	memset(r, 0, sizeof *r);
	/* The digest (redaction_mark()) covers the directory, too: without it, this is not the
	 * command that the run has set. */
	if (command != NULL)
		redactor_set_command(r, memory_text(command),
		    memory_text(directory != NULL ? directory : ""));
	return run_redact(run, command != NULL ? &r->redaction : NULL, err);
}

void
redactor_environment(struct redactor *r, const struct environment *e)
{
	if (r->command == NULL)
		return;
	environment_free(&r->environment);
	environment_copy(&r->environment, e);
}

void
redactor_export(const struct redactor *r, struct environment *e)
{
	if (r->command == NULL) {
		environment_unset(e, REDACTOR_COMMAND);
		environment_unset(e, REDACTOR_DIRECTORY);
		return;
	}
	environment_set(e, REDACTOR_COMMAND, r->command);
	environment_set(e, REDACTOR_DIRECTORY, r->directory);
}

struct redaction *
redactor_redaction(struct redactor *r)
{
	return r->command != NULL ? &r->redaction : NULL;
}

static int
redactor_start_filter(struct redactor *r, struct error *err)
{
	char *text = memory_format(SHIELD "%s", r->command), *own = libexec_path(), *path;
	char *argv[4];
	struct process_spec spec = { .argv = argv, .directory = r->directory,
		.err = PROCESS_INHERIT, .group = true };
	const char *old;
	int started;

	process_shell(argv, text);
	if (r->environment.list == NULL)
		environment_begin(&r->environment);
	old = environment_get(&r->environment, "PATH");
	path = memory_format("%s%s%s", own, old != NULL ? ":" : "", old != NULL ? old : "");
	environment_set(&r->environment, "PATH", path);
	spec.environment = r->environment.list;
	r->filter.end_ms = REDACTOR_END_MS;
	r->filter.ends_unheard = r->filter.ignores_signals = true;
	started = peer_start(&r->filter, &spec, err);
	free(path);
	free(own);
	free(text);
	if (started == 0)
		r->owner = getpid();
	else if (err != NULL)
		err->code = ERROR_SYSTEM; /* the event is not invalid; the filter failed */
	return started;
}

/* A filter that the parent process has started belongs to the parent: a child made by fork()
 * forgets it. */
static void
redactor_end_filter(void *context)
{
	struct redactor *r = context;

	if (r->owner == getpid())
		peer_end(&r->filter);
	else
		peer_forget(&r->filter);
	r->owner = 0;
	peer_free(&r->filter);
}

/* Makes every later event fail. */
static int
give_up(struct redactor *r, const char *why)
{
	r->filter.end_ms = 0;
	redactor_end_filter(r);
	return error_set(&r->broken, ERROR_SYSTEM, REDACTION_PLACE,
	    "the filter %s: nothing is written unmasked, so this ends", why);
}

static int
redactor_give_up_ended(struct redactor *r)
{
	char how[64], why[128];

	process_status_text(peer_end(&r->filter), how, sizeof how);
	snprintf(why, sizeof why, "ended (%s) instead of answering", how);
	return give_up(r, why);
}

/* Sends the whole line and reads a whole line. If the filter does not read any more, its end is
 * noticed. */
static int
redactor_exchange_line(struct redactor *r, struct span line, struct buffer *answer)
{
	static const char several[] = "answered more than one line for an event";
	int64_t patience = REDACTOR_ANSWER_MS + (int64_t)(line.len >> 20) * REDACTOR_ANSWER_MIB_MS;
	int64_t deadline = clock_monotonic() + patience;
	struct peer *filter = &r->filter;
	int answered = 0;
	struct error err;
	struct span said;
	char why[64];

	if (peer_receive(filter) == -1)
		return redactor_give_up_ended(r);
	if (peer_untaken(filter) > 0)
		return give_up(r, several);
	buffer_append(&filter->outgoing, line.at, line.len);
	buffer_byte(&filter->outgoing, '\n');
	if (peer_send(filter) == -1)
		return redactor_give_up_ended(r);
	while (answered == 0 || peer_unsent(filter) > 0) {
		switch (peer_wait(filter, deadline, NULL, &err)) {
		case PEER_SERVED:
			break;
		case PEER_GONE:
			return redactor_give_up_ended(r);
		case PEER_LATE:
			snprintf(why, sizeof why, "did not answer within %lld s",
			    (long long)patience / 1000);
			return give_up(r, why);
		case PEER_INTERRUPTED:
			return give_up(r, "cannot be waited for");
		}
		if (filter->process.in == -1)
			return redactor_give_up_ended(r);
		if (answered == 0 && (answered = peer_line(filter, &said)) == 1)
			buffer_append(answer, said.at, said.len);
		if (answered == -1)
			return give_up(r, "answered a line above 256 MiB");
	}
	return peer_untaken(filter) == 0 ? 0 : give_up(r, several);
}

static int
redactor_redact_line(void *context, struct span line, struct buffer *answer, struct error *err)
{
	struct redactor *r = context;

	if (r->broken.code == ERROR_NONE && r->owner != getpid()) {
		redactor_end_filter(r);
		if (redactor_start_filter(r, err) == -1)
			return -1;
	}
	if (r->broken.code == ERROR_NONE && redactor_exchange_line(r, line, answer) == 0)
		return 0;
	if (err != NULL)
		*err = r->broken;
	return -1;
}

void
redactor_free(struct redactor *r)
{
	if (r->command == NULL)
		return;
	redaction_close(&r->redaction);
	environment_free(&r->environment);
	free(r->command);
	free(r->directory);
	free(r->program);
	r->command = r->directory = r->program = NULL;
}
