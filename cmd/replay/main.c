/*
 * awf-replay: runs a recorded workflow again, and reports where the result differs; shows parts of
 * a recorded run; runs a workflow with recorded answers.
 */
#include <stdlib.h>
#include <unistd.h>

#include "program.h"

#include "base/list.h"
#include "base/options.h"
#include "io/copytree.h"
#include "proc/interrupts.h"
#include "proc/message.h"
#include "replay/display.h"
#include "replay/export.h"
#include "replay/from.h"
#include "rerun/against.h"
#include "rerun/found_run.h"
#include "replay_run/replay.h"
#include "storage/served.h"
#include "view/screen.h"

#define PROGRAM "awf-replay"

enum { OPT_TREE = 1, OPT_ALL, OPT_TIMELINE, OPT_HTML, OPT_STATE, OPT_SHOW, OPT_ORDER, OPT_CANONICAL, OPT_COLOR,
	OPT_FROM, OPT_ISOLATION, OPT_VISIBLE, OPT_RECORD, OPT_QUIET, OPT_EXPORT, OPT_WORKSPACE,
	OPT_CURRENT, OPT_VARY };

static const char usage[] =
    "awf-replay [options] [RUN|FILE|URL|DIR]\n"
    "awf-replay --tree|--timeline|--state PATH|--show FILE [RUN|FILE|URL]\n"
    "awf-replay --order ORDER | --canonical [RUN|FILE|URL]\n"
    "awf-replay --from FILE [awf-run options] workflow [arg...]";

static const char *const orders[] = { "causal", "seq", NULL };
static const char *const colors[] = { "auto", "always", "never", NULL };

/* Options that show something of a run. */
static const struct shows {
	int option;
	unsigned served;          /* what must be copied if the run is on a server */
	int (*display)(const struct display *d, struct error *err);
} shows[] = {
	{ OPT_TREE, SERVED_CHILDREN, display_tree },
	{ OPT_TIMELINE, SERVED_CHILDREN, display_timeline },
	{ OPT_STATE, SERVED_ORIGINS | SERVED_BLOBS, display_state },
	{ OPT_SHOW, SERVED_BLOBS | SERVED_INPUT, display_file },
	{ OPT_ORDER, 0, display_order },
	{ OPT_CANONICAL, 0, display_canonical },
	{ 0, 0, NULL },
};

struct replay {
	const struct shows *shows; /* NULL: none was given */
	const char *argument;      /* of that option */
	const char *html;          /* file for a page; NULL: print text */
	bool all;                  /* show every item in a tree or timeline */
	const char *color;         /* NULL: auto */
	const char *run;           /* NULL: the latest */
	enum isolation isolation;
	char **visible;
	const char *record;        /* directory in which the replay is kept; NULL: it is not kept */
	const char *export;        /* directory for an export; NULL: replay the run */
	bool with_workspace, quiet;
	bool current;              /* use the files as they are today, not as they were recorded */
	bool vary;                 /* vary conditions that must not make a difference */
};

static const struct option_spec options_table[] = {
	{ OPT_TREE, 0, "tree", NULL, "the tree of its calls, with turns and tool calls", OPTION_ONLY_SAID },
	{ OPT_ALL, 0, "all", NULL, "with --tree or --timeline: a line for each item of a step",
	    OPTION_INTO_FLAG(struct replay, all) },
	{ OPT_TIMELINE, 0, "timeline", NULL, "the time that its calls took, as a chart", OPTION_ONLY_SAID },
	{ OPT_HTML, 0, "html", "FILE", "with --timeline: write it as a page of HTML instead",
	    OPTION_INTO_TEXT(struct replay, html) },
	{ OPT_STATE, 0, "state", "PATH", "input and output of a step, or one call, as JSON",
	    OPTION_INTO_TEXT(struct replay, argument) },
	{ OPT_SHOW, 0, "show", "FILE", "print a recorded file: a script or other file, stdin or "
	    "stdout",
	    OPTION_INTO_TEXT(struct replay, argument) },
	{ OPT_ORDER, 0, "order", "ORDER", "print the lines in their causal order, or by seq",
	    OPTION_INTO_CHOICE(struct replay, argument, orders) },
	{ OPT_CANONICAL, 0, "canonical", NULL, "print the lines without what depends on time and "
	    "chance",
	    OPTION_ONLY_SAID },
	{ OPT_COLOR, 0, "color", "WHEN", "auto (default), always or never",
	    OPTION_INTO_CHOICE(struct replay, color, colors) },
	{ OPT_FROM, 0, "from", "FILE", "run a workflow on recorded answers, as awf-run does" },

	{ OPTION_SECTION, 0, NULL, NULL, "How it is run again" },
	{ OPT_ISOLATION, 0, "isolation", "KIND", "namespaces, copy or none" },
	{ OPT_VISIBLE, 0, "visible", "DIR", "make visible though it is in a private place; "
	    "repeatable" },
	{ OPT_RECORD, 0, "record", "DIR", "keep the replay: DIR becomes a storage",
	    OPTION_INTO_TEXT(struct replay, record) },
	{ OPT_CURRENT, 0, "current", NULL, "use scripts, agents and other files as they are now",
	    OPTION_INTO_FLAG(struct replay, current) },
	{ OPT_VARY, 0, "vary", NULL, "with other pids, host name, day, times and order of files",
	    OPTION_INTO_FLAG(struct replay, vary) },
	{ OPT_QUIET, 'q', "quiet", NULL, "do not print how the replay is isolated",
	    OPTION_INTO_FLAG(struct replay, quiet) },

	{ OPTION_SECTION, 0, NULL, NULL, "To take it elsewhere" },
	{ OPT_EXPORT, 0, "export", "DIR", "write a storage that can be replayed elsewhere",
	    OPTION_INTO_TEXT(struct replay, export) },
	{ OPT_WORKSPACE, 0, "with-workspace", NULL, "with --export: the workspace as it is now, "
	    "if there is no snapshot",
	    OPTION_INTO_FLAG(struct replay, with_workspace) },
	{ 0, 0, NULL, NULL, NULL },
};

#define SAID(id) OPTION_SAID(id)
#define CHARTS (SAID(OPT_TREE) | SAID(OPT_TIMELINE))
#define SHOWS (CHARTS | SAID(OPT_STATE) | SAID(OPT_SHOW) | SAID(OPT_ORDER) | SAID(OPT_CANONICAL))

/* Rules for options. --quiet and --visible are also allowed with --export. */
static const struct option_rule rules[] = {
	{ SHOWS, SHOWS, 0, NULL },
	{ SAID(OPT_EXPORT), SHOWS, 0, NULL },
	{ SAID(OPT_ISOLATION) | SAID(OPT_RECORD) | SAID(OPT_CURRENT) | SAID(OPT_VARY), SHOWS | SAID(OPT_EXPORT), 0,
	    "not with %s, which runs nothing" },
	{ SAID(OPT_VISIBLE) | SAID(OPT_QUIET), SHOWS, 0, "not with %s, which runs nothing" },
	{ SAID(OPT_COLOR), 0, CHARTS, NULL },
	{ SAID(OPT_ALL), 0, CHARTS, "only with %s, and not with --html" },
	{ SAID(OPT_ALL), SAID(OPT_HTML), 0, "only with --tree or --timeline, and not with %s" },
	{ SAID(OPT_HTML), 0, SAID(OPT_TIMELINE), NULL },
	{ SAID(OPT_WORKSPACE), 0, SAID(OPT_EXPORT), NULL },
};

/* Reads the options. 0, the id of --help or --version if that was given, or -1. */
static int
replay_read_options(struct replay *r, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, options_table, argc, argv);
	options_bind(&o, r);
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (id == -1 || OPTION_ASKS(id))
			return id;
		if (id == OPT_FROM)
			return error_set(err, ERROR_USAGE, "--from", "must be the first option: "
			    "what follows it is for awf-run");
		if ((id == OPT_ISOLATION && isolation_parse(o.value, &r->isolation, err) != 0) ||
		    (id == OPT_VISIBLE && replay_env_show(&r->visible, o.value, err) != 0))
			return -1;
		if (id == OPTION_WORD && r->run != NULL)
			return error_set(err, ERROR_USAGE, o.value, "only one run at a time");
		if (id == OPTION_WORD)
			r->run = o.value;
	}
	for (const struct shows *s = shows; s->option != 0; s++)
		if ((o.said & SAID(s->option)) != 0)
			r->shows = s;
	return options_check(&o, rules, sizeof rules / sizeof *rules, err);
}

/* The local copy of a run on a server. */
static struct served served;

/* Prints an error or a warning; returns the exit status. */
static int
replay_print_error(const struct error *err)
{
	struct error named = *err;

	served_name(&served, &named);
	return program_fail(PROGRAM, &named);
}

static void
replay_print_warning(const struct error *warning)
{
	replay_print_error(warning);
}

static int
show_run(const struct replay *r, const struct storage *storage)
{
	struct error err = ERROR_INIT;
	struct run_ref run;
	struct outlet out;
	const struct display d = { .run = &run, .argument = r->argument, .html = r->html, .all = r->all,
		.out = &out,
		.width = terminal_width(STDOUT_FILENO),
		.screened = isatty(STDOUT_FILENO) != 0,
		.colour = terminal_colour(STDOUT_FILENO, r->color ? r->color : "auto"),
		.warn = replay_print_warning };
	int failed;

	if (storage_resolve(storage, r->run, &run, &err) != 0)
		return replay_print_error(&err);
	outlet_begin(&out, STDOUT_FILENO, 0);
	failed = r->shows->display(&d, &err);
	if (outlet_drain(&out, failed == 0 ? &err : NULL) != 0)
		failed = -1;
	outlet_free(&out);
	run_ref_free(&run);
	return failed == 0 ? STATUS_OK : replay_print_error(&err);
}

/* Reports where the replay differs from the recording, and keeps the replay for inspection. */
static int
replay_at(const struct replay *r, const struct source *source, const char *place)
{
	const struct replay_env_spec spec = { .source = source, .isolation = r->isolation,
		.visible = r->visible, .place = place, .second = r->vary };
	struct error err = ERROR_INIT;
	struct replay_end end = { .signal_number = 0 };
	struct difference difference;
	struct buffer text = BUFFER_INIT, lines = BUFFER_INIT;
	char *remark = r->quiet ? NULL : replay_env_remark(source, r->isolation);
	int differ, status = STATUS_OK;

	if (remark)
		message_print(PROGRAM, "%s", remark);
	free(remark);
	differ = replay_run(&spec, &end, &err);
	if (differ == 0 && end.signal_number == 0) {
		char *transcript = replay_transcript(&spec);

		differ = against_recording(source->transcript, transcript, source->attempt, &difference,
		    &err);
		free(transcript);
		if (differ > 0) {
			difference_text(&difference, "recording", "replay", &text);
			buffer_format(&lines, PROGRAM ": %s: the replay differs from the recording: %s",
			    source->name, buffer_string(&text));
			if (source_script_lost(source)) /* this may be the reason for the
			                                   difference */
				buffer_text(&lines, "  the workflow's script has changed or does "
				    "not exist any more\n");
			buffer_format(&lines, "  the replay is kept in %s\n", place);
			message_print_lines(buffer_string(&lines));
			buffer_free(&lines);
			status = STATUS_WORK;
		}
		difference_free(&difference);
		buffer_free(&text);
	}
	if (differ < 0)
		status = replay_print_error(&err);
	if (!r->record && status != STATUS_WORK)
		copytree_remove(place, NULL);
	if (end.signal_number)
		signals_die(end.signal_number);
	return status;
}

static int
use_source(const struct replay *r, const struct storage *storage)
{
	struct error err = ERROR_INIT;
	struct source source;
	int status = STATUS_OK;
	char *place;

	if (source_open(&source, storage, r->run, &err) != 0)
		status = replay_print_error(&err);
	else if (r->current)
		source_forget_files(&source);
	if (status == STATUS_OK && r->export) {
		/* Export the run. */
		if (export_run(&source, r->export, r->with_workspace, r->visible, &err) != 0)
			status = replay_print_error(&err);
		else if (!r->quiet && !source.snapshot && !r->with_workspace)
			message_print(PROGRAM, "no snapshot of the workspace: only the files of steps "
			    "are exported (--with-workspace takes today's)");
	} else if (status == STATUS_OK) {
		place = r->record ? replay_place_at(r->record, &err) : found_run_make_place(storage, &err);
		status = place ? replay_at(r, &source, place) : replay_print_error(&err);
		free(place);
	}
	source_close(&source);
	return status;
}

static int
replay_run_or_show(struct replay *r)
{
	struct error err = ERROR_INIT;
	struct storage storage;
	char *path = NULL;
	int status;

	if (storage_locate(&storage, &err) != 0)
		return replay_print_error(&err);
	if (served_is_url(r->run)) {
		if (served_open(&served, r->run, r->shows ?
		    r->shows->served | (r->html ? SERVED_BLOBS : 0) :
		    SERVED_CHILDREN | SERVED_BLOBS | SERVED_INPUT, NULL, replay_print_warning,
		    &err) != 0) {
			storage_close(&storage);
			return replay_print_error(&err);
		}
		r->run = path = storage_transcript(&served.storage, served.run_id);
	}
	status = r->shows ? show_run(r, &storage) : use_source(r, &storage);
	served_close(&served);
	storage_close(&storage);
	free(path);
	return status;
}

/* The FILE of --from, if that is the first option; *words are the words after it. */
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
	int id, status = STATUS_OK;
	char **words;
	const char *file;

	program_begin();
	file = from_file(argc, argv, &words);
	if (file) {
		from_run(file, words, &err);
		return program_fail(PROGRAM, &err);
	}
	id = replay_read_options(&replay, argc, argv, &err);
	switch (id) {
	case OPTION_HELP:
	case OPTION_HELP_ALL:
		options_help(stdout, usage, options_table, id);
		break;
	case OPTION_VERSION:
		program_version(PROGRAM);
		break;
	case 0:
		status = replay_run_or_show(&replay);
		break;
	default:
		status = program_fail(PROGRAM, &err);
	}
	list_free(replay.visible);
	return program_end(PROGRAM, status);
}
