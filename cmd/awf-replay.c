/*
 * awf-replay: runs a recorded workflow again and says where it does not come to the
 * same; shows what a run was made of; runs a workflow on recorded answers.
 */
#include <stdlib.h>

#include "program.h"

#include "base/copytree.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "exec/supervise.h"
#include "replay/against.h"
#include "replay/display.h"
#include "replay/from.h"
#include "replay/replay.h"

#define PROGRAM "awf-replay"

enum { OPT_ORDER = 1, OPT_CANONICAL, OPT_FROM, OPT_ISOLATION, OPT_RECORD, OPT_QUIET };

static const struct option_spec options_table[] = {
	{ OPT_ORDER, 0, "order", "ORDER", "print the lines in their causal order, or by seq" },
	{ OPT_CANONICAL, 0, "canonical", NULL, "print them without what time and chance put in" },
	{ OPT_FROM, 0, "from", "FILE", "run a workflow on recorded answers, as awf-run does" },
	{ OPT_ISOLATION, 0, "isolation", "KIND", "namespaces, copy or none" },
	{ OPT_RECORD, 0, "record", "DIR", "keep the replay: DIR becomes a storage" },
	{ OPT_QUIET, 'q', "quiet", NULL, "say nothing of how it is isolated" },
	{ 0, 0, NULL, NULL, NULL },
};
static const char usage[] =
    "awf-replay [options] [RUN|FILE|DIR]\n"
    "awf-replay --order ORDER | --canonical [RUN|FILE]\n"
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
	enum isolation isolation;
	const char *isolation_name; /* NULL: not given */
	const char *record;        /* NULL: the replay is not kept */
	bool quiet;
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
take_run(struct replay *r, const char *value, struct error *err)
{
	if (r->run)
		return error_set(err, ERROR_USAGE, value, "only one run at a time");
	r->run = value;
	return 0;
}

static int
take_option(struct replay *r, int id, const char *value, struct error *err)
{
	const struct shows *wanted = shows;

	switch (id) {
	case OPTION_WORD: return take_run(r, value, err);
	case OPT_FROM: return error_set(err, ERROR_USAGE, "--from", "it has to come first: "
	    "what follows it is for awf-run");
	case OPT_ISOLATION: r->isolation_name = value; return isolation_parse(value, &r->isolation, err);
	case OPT_RECORD: r->record = value; return 0;
	case OPT_QUIET: r->quiet = true; return 0;
	}
	while (wanted->option != id)
		wanted++;
	return take_display(r, wanted, value, err);
}

/* What is said of a replay does not go with what shows the recording. */
static int
check_options(const struct replay *r, struct error *err)
{
	const struct { bool given; const char *name; } of_replays[] = {
		{ r->isolation_name, "--isolation" }, { r->record, "--record" }, { r->quiet, "-q" },
	};

	for (size_t i = 0; r->shows && i < sizeof of_replays / sizeof *of_replays; i++)
		if (of_replays[i].given)
			return error_set(err, ERROR_USAGE, of_replays[i].name, "not with %s, which runs nothing",
			    r->shows->name);
	return 0;
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
	return check_options(r, err);
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
show_run(const struct replay *r, const struct storage *storage)
{
	struct error err = ERROR_INIT;
	struct run_ref run;
	int status = STATUS_OK;

	if (storage_resolve(storage, r->run, &run, &err) != 0)
		return program_fail(PROGRAM, &err);
	if (show(r, &run, &err) != 0)
		status = program_fail(PROGRAM, &err);
	run_ref_free(&run);
	return status;
}

static void
remark(const struct source *source, enum isolation isolation)
{
	char *text = stage_remark(source, isolation);

	if (text)
		fprintf(stderr, PROGRAM ": %s\n", text);
	free(text);
}

/* The script may be why; and where to look. */
static void
explain(const struct source *source, const char *place)
{
	if (source_script_lost(source))
		fprintf(stderr, "  the workflow's script is not what it was, or not there\n");
	fprintf(stderr, "  the replay is kept in %s\n", place);
}

/* Says where the replay is not the recording; whether it is. */
static int
compare(const struct replay_spec *spec)
{
	struct buffer text = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct difference difference;
	char *transcript = replay_transcript(spec);
	int status, differ = against_recording(spec->source->transcript, transcript,
	    spec->source->attempt, &difference, &err);

	status = differ == 0 ? STATUS_OK : STATUS_WORK;
	if (differ < 0)
		status = program_fail(PROGRAM, &err);
	if (differ > 0) {
		difference_text(&difference, "recording", "replay", &text);
		fprintf(stderr, PROGRAM ": %s: the replay differs from the recording: %s",
		    spec->source->name, buffer_string(&text));
		explain(spec->source, spec->place);
	}
	difference_free(&difference);
	buffer_free(&text);
	free(transcript);
	return status;
}

static int
replay_at(const struct replay *r, const struct source *source, const char *place)
{
	const struct replay_spec spec = { .source = source, .isolation = r->isolation,
		.place = place };
	struct error err = ERROR_INIT;
	struct replay_end end;
	int status;

	if (!r->quiet)
		remark(source, r->isolation);
	if (replay_run(&spec, &end, &err) != 0)
		status = program_fail(PROGRAM, &err);
	else
		status = end.signal_number ? 128 + end.signal_number : compare(&spec);
	if (!r->record && status != STATUS_WORK)
		copytree_remove(place, NULL);
	if (end.signal_number)
		signals_die(end.signal_number);
	return status;
}

/* Runs it again, in a directory for the replay. */
static int
replay_run_of(const struct replay *r, const struct storage *storage)
{
	struct error err = ERROR_INIT;
	struct source source;
	char *place = NULL;
	int status;

	if (source_open(&source, storage, r->run, &err) == 0)
		place = r->record ? replay_place_at(r->record, &err) : replay_place(storage, &err);
	status = place ? replay_at(r, &source, place) : program_fail(PROGRAM, &err);
	free(place);
	source_close(&source);
	return status;
}

static int
run(const struct replay *r)
{
	struct error err = ERROR_INIT;
	struct storage storage;
	int status;

	if (storage_locate(&storage, &err) != 0)
		return program_fail(PROGRAM, &err);
	status = r->shows ? show_run(r, &storage) : replay_run_of(r, &storage);
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
