/*
 * awf-replay: shows what a recorded run was made of; runs a workflow on recorded answers.
 */
#include <stdlib.h>

#include "program.h"

#include "base/options.h"
#include "replay/display.h"
#include "replay/from.h"

#define PROGRAM "awf-replay"

enum { OPT_ORDER = 1, OPT_CANONICAL, OPT_FROM };

static const struct option_spec options_table[] = {
	{ OPT_ORDER, 0, "order", "ORDER", "print the lines in their causal order, or by seq" },
	{ OPT_CANONICAL, 0, "canonical", NULL, "print them without what time and chance put in" },
	{ OPT_FROM, 0, "from", "FILE", "run a workflow on recorded answers, as awf-run does" },
	{ 0, 0, NULL, NULL, NULL },
};
static const char usage[] =
    "awf-replay [options] [RUN|FILE]\n"
    "awf-replay --from FILE [awf-run options] workflow [arg...]";

/* Options that show something; one at a time. */
static const struct shows {
	int option;
	const char *name;
	int (*check)(const char *argument, struct error *err); /* NULL: anything goes */
	int (*display)(const struct display *d, struct error *err);
} shows[] = {
	{ OPT_ORDER, "--order", display_order_check, display_order },
	{ OPT_CANONICAL, "--canonical", NULL, display_canonical },
	{ 0, NULL, NULL, NULL },
};

struct replay {
	const struct shows *shows; /* NULL: nothing yet */
	const char *argument;      /* of that option */
	const char *run;           /* NULL: the latest */
};

static int
take_display(struct replay *r, const struct shows *wanted, const char *argument,
    struct error *err)
{
	if (r->shows && r->shows != wanted)
		return error_set(err, ERROR_USAGE, wanted->name, "not with %s", r->shows->name);
	r->shows = wanted;
	r->argument = argument;
	return wanted->check ? wanted->check(argument, err) : 0;
}

static int
take_option(struct replay *r, int id, const char *value, struct error *err)
{
	const struct shows *wanted = shows;

	if (id == OPT_FROM)
		return error_set(err, ERROR_USAGE, "--from", "it has to come first: what follows it is "
		    "for awf-run");
	if (id == OPTION_WORD && r->run)
		return error_set(err, ERROR_USAGE, value, "only one run at a time");
	if (id == OPTION_WORD) {
		r->run = value;
		return 0;
	}
	while (wanted->option != id)
		wanted++;
	return take_display(r, wanted, value, err);
}

/* 0, or the id of --help or --version, or -1. */
static int
read_options(struct replay *r, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, options_table, argc, argv);
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (id == -1 || id == OPTION_HELP || id == OPTION_VERSION)
			return id;
		if (take_option(r, id, o.value, err) != 0)
			return -1;
	}
	if (!r->shows)
		return error_set(err, ERROR_USAGE, NULL,
		    "say what to show: --order causal|seq or --canonical");
	return 0;
}

static int
show(const struct replay *r, const struct run_ref *run, struct error *err)
{
	struct outlet out;
	struct display d = { .run = run, .argument = r->argument, .out = &out };
	int failed;

	outlet_begin(&out, STDOUT_FILENO, 0);
	failed = r->shows->display(&d, err);
	if (outlet_drain(&out) != 0 && failed == 0)
		failed = error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
	outlet_free(&out);
	return failed;
}

static int
run(const struct replay *r)
{
	struct error err = ERROR_INIT;
	struct storage storage;
	struct run_ref run;
	int status = STATUS_OK;

	if (storage_locate(&storage, &err) != 0)
		return program_fail(PROGRAM, &err);
	if (storage_resolve(&storage, r->run, &run, &err) != 0) {
		status = program_fail(PROGRAM, &err);
	} else {
		if (show(r, &run, &err) != 0)
			status = program_fail(PROGRAM, &err);
		run_ref_free(&run);
	}
	storage_close(&storage);
	return status;
}

/* The file of --from, if that comes first; *words are those after it. */
static const char *
from_file(int argc, char **argv, char ***words)
{
	static const char option[] = "--from";
	size_t len = sizeof option - 1;

	if (argc < 2 || strncmp(argv[1], option, len) != 0)
		return NULL;
	if (argv[1][len] == '=') {
		*words = argv + 2;
		return argv[1] + len + 1;
	}
	if (argv[1][len] != '\0' || argc < 3)
		return NULL;
	*words = argv + 3;
	return argv[2];
}

int
main(int argc, char **argv)
{
	struct replay replay = { .shows = NULL };
	struct error err = ERROR_INIT;
	int status = STATUS_OK;
	char **words;
	const char *file;

	program_begin();
	file = from_file(argc, argv, &words);
	if (file) {
		from_run(file, words, &err);
		return program_fail(PROGRAM, &err);
	}
	switch (read_options(&replay, argc, argv, &err)) {
	case OPTION_HELP:
		options_help(stdout, usage, options_table);
		break;
	case OPTION_VERSION:
		program_version(PROGRAM);
		break;
	case 0:
		status = run(&replay);
		break;
	default:
		status = program_fail(PROGRAM, &err);
	}
	return program_end(PROGRAM, status);
}
