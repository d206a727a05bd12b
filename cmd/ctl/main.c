/*
 * awf-ctl: acts on runs from outside. The first word names a command in a table, each with its
 * options. awf-ctl executes nothing of a run; awf-run --resume does.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "base/text.h"
#include "ctl/archive.h"
#include "ctl/decide.h"
#include "decide/cancel.h"
#include "decide/prune.h"
#include "io/terminal.h"
#include "proc/libexec.h"
#include "program.h"

#define PROGRAM "awf-ctl"
#define NAME_WIDTH 32 /* column of names in the list of removed runs */

enum { OPT_FAILED = 1, OPT_REASON, OPT_REASON_OF_FAILED, OPT_SEAL, OPT_NO_INPUT, OPT_EDIT, OPT_ALWAYS, OPT_NAME, OPT_OLDER_THAN,
	OPT_MAX_COUNT, OPT_MAX_SIZE, OPT_ARCHIVE, OPT_SESSIONS, OPT_DRY_RUN, OPT_VERBOSE };

/* The arguments after the command. */
struct request {
	struct decide_spec decision;
	struct retention_rule rule;
	const char *name, *archive;
	bool sessions, dry, verbose;
	uint64_t given;          /* options, OPTION_SAID() */
	const char *words[2];
	size_t word_count;
};

static int
check_command(const char *command, struct error *err)
{
	return *command != '\0' ? 0 : error_set(err, ERROR_USAGE, NULL, "the command is empty");
}

#define SEAL \
	{ OPT_SEAL, 0, "seal", "[=KEYFILE]", "sign the decision (~/.config/awf/seal.key)", \
	OPTION_INTO_TEXT(struct request, decision.seal_file) }
#define END { OPTION_END, 0, NULL, NULL, NULL }

static const struct option_spec approve_options[] = {
	{ OPT_REASON, 0, "reason", "TEXT", "why; it is recorded",
	    OPTION_INTO_TEXT(struct request, decision.reason) },
	{ OPT_EDIT, 'e', "edit", NULL, "with the data on stdin, not its own",
	    OPTION_INTO_FLAG(struct request, decision.edit) },
	{ OPT_ALWAYS, 0, "always", NULL, "and all further calls of this tool in the run",
	    OPTION_INTO_FLAG(struct request, decision.always) },
	SEAL, END,
};
static const struct option_spec deny_options[] = {
	{ OPT_REASON, 0, "reason", "TEXT", "why; it is recorded, and part of the call's error",
	    OPTION_INTO_TEXT(struct request, decision.reason) },
	SEAL, END,
};
static const struct option_spec complete_options[] = {
	{ OPT_FAILED, 0, "failed", NULL, "it has no result: the call fails",
	    OPTION_ONLY_SAID },
	{ OPT_REASON_OF_FAILED, 0, "reason", "TEXT", "of --failed: why",
	    OPTION_INTO_TEXT(struct request, decision.reason) },
	{ OPT_NO_INPUT, 'n', "no-input", NULL, "its result is null",
	    OPTION_INTO_FLAG(struct request, decision.no_input) },
	SEAL, END,
};
static const struct option_spec heartbeat_options[] = { SEAL, END };
static const struct option_spec tell_options[] = { END };
static const struct option_spec cancel_options[] = { END };
static const struct option_spec prune_options[] = {
	{ OPT_OLDER_THAN, 0, "older-than", "AGE", "that ended before (30d, 2026-10-01)",
	    OPTION_INTO_TIME(struct request, rule.before) },
	{ OPT_MAX_COUNT, 0, "max-count", "N", "all but the newest N",
	    OPTION_INTO_NUMBER(struct request, rule.max_count, 0, INT32_MAX) },
	{ OPT_MAX_SIZE, 0, "max-size", "SIZE", "all but the newest that fit (500M, 2G)",
	    OPTION_INTO_SIZE(struct request, rule.max_bytes) },
	{ OPT_NAME, 0, "name", "NAME", "of the runs with this name alone",
	    OPTION_INTO_TEXT(struct request, name) },
	{ OPT_ARCHIVE, 0, "archive", "COMMAND", "first run this on the files of each ($@)",
	    OPTION_INTO_TEXT_CHECKED(struct request, archive, check_command) },
	{ OPT_SESSIONS, 0, "sessions", NULL, "also runs with which a session goes on",
	    OPTION_INTO_FLAG(struct request, sessions) },
	{ OPT_DRY_RUN, 0, "dry-run", NULL, "print what would be removed, and keep it",
	    OPTION_INTO_FLAG(struct request, dry) },
	{ OPT_VERBOSE, 'v', "verbose", NULL, "say what goes",
	    OPTION_INTO_FLAG(struct request, verbose) },
	END,
};

#define LIMITS (OPTION_SAID(OPT_OLDER_THAN) | OPTION_SAID(OPT_MAX_COUNT) | OPTION_SAID(OPT_MAX_SIZE))

static const struct option_rule rules[] = {
	{ OPTION_SAID(OPT_FAILED), OPTION_SAID(OPT_NO_INPUT), 0, "not with %s, which gives a result" },
	{ OPTION_SAID(OPT_REASON_OF_FAILED), 0, OPTION_SAID(OPT_FAILED), NULL },
};

static int make_decision(struct request *r, struct error *err);
static int ctl_tell_agent(struct request *r, struct error *err);
static int ctl_cancel_run(struct request *r, struct error *err);
static int remove_runs(struct request *r, struct error *err);

static const struct command {
	const char *name, *usage, *help;
	const struct option_spec *options;
	size_t least, most;      /* number of arguments */
	const char *missing;     /* name of a missing argument */
	int (*run)(struct request *r, struct error *err);
	enum decision_verdict verdict; /* for decisions */
} commands[] = {
	{ "approve", "awf-ctl approve [options] PATH [RUN]",
	    "let a waiting call continue, with its data or that of stdin",
	    approve_options, 1, 2,
	    "PATH", make_decision, DECISION_APPROVED },
	{ "deny", "awf-ctl deny [options] PATH [RUN]", "make a waiting call "
	    "fail", deny_options, 1, 2,
	    "PATH", make_decision, DECISION_DENIED },
	{ "complete", "awf-ctl complete [options] PATH [RUN]",
	    "give stdin as the result of a call that ended as "
	    "pending", complete_options, 1, 2, "PATH",
	    make_decision, DECISION_COMPLETED },
	{ "heartbeat", "awf-ctl heartbeat [options] PATH [RUN]",
	    "extend the waiting time of such a call", heartbeat_options, 1, 2, "PATH",
	    make_decision, DECISION_HEARTBEAT },
	{ "tell", "awf-ctl tell PATH [RUN]", "tell stdin to an agent, before its next turn",
	    tell_options, 1, 2, "PATH", ctl_tell_agent, 0 },
	{ "cancel", "awf-ctl cancel RUN", "end a running run", cancel_options, 1, 1, "RUN",
	    ctl_cancel_run, 0 },
	{ "prune", "awf-ctl prune [options]", "remove runs that have ended", prune_options, 0, 0, "",
	    remove_runs, 0 },
	{ "list", "awf-ctl list [options]", "list runs: awf-tail --list", NULL, 0, 0, "", NULL, 0 },
	{ NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0 },
};

static void
ctl_print_warning(const struct error *warning)
{
	program_fail(PROGRAM, warning);
}

/* The words of the command line: which call, of which run. */
static int
name_call(struct request *r, struct error *err)
{
	r->decision.path = r->words[0];
	r->decision.run = r->words[1];
	return *r->words[0] != '@' ? 0 : error_set(err, ERROR_USAGE, r->words[0],
	    "is a run, not the PATH of a call: give the PATH first, then the RUN");
}

static int
ctl_tell_agent(struct request *r, struct error *err)
{
	return name_call(r, err) == 0 ? decide_tell_call(&r->decision, err) : -1;
}

static int
make_decision(struct request *r, struct error *err)
{
	if (name_call(r, err) != 0)
		return -1;
	if ((r->given & OPTION_SAID(OPT_FAILED)) != 0)
		r->decision.verdict = DECISION_FAILED;
	r->decision.seal = (r->given & OPTION_SAID(OPT_SEAL)) != 0;
	return decide_waiting_call(&r->decision, err);
}

static int
ctl_cancel_run(struct request *r, struct error *err)
{
	struct storage storage;
	char *by;
	int failed;

	if (storage_locate(&storage, err) != 0)
		return -1;
	by = decision_maker();
	failed = cancel_run(&storage, r->words[0], by, err);
	free(by);
	storage_close(&storage);
	return failed;
}

/* Prints a line for a removed run; control characters in its name are escaped. */
static void
ctl_print_pruned_run(const struct pruned *run)
{
	struct buffer name = BUFFER_INIT;
	struct tm local;
	char ended[32];

	clock_local(run->ended, &local);
	strftime(ended, sizeof ended, "%Y-%m-%d %H:%M:%S", &local);
	text_visible(&name, run->name, strlen(run->name), NAME_WIDTH);
	terminal_printf("%s  %-9s  %s  %10" PRId64 "  %s\n", run->run_id, run->status, ended, run->bytes,
	    buffer_string(&name));
	buffer_free(&name);
}

static int
remove_runs(struct request *r, struct error *err)
{
	struct storage storage;
	struct archive archive = { .command = r->archive };
	const struct prune_spec spec = { .rule = r->rule, .name = r->name, .sessions = r->sessions, .dry = r->dry,
		.told = r->dry || r->verbose ? ctl_print_pruned_run : NULL,
		.warn = ctl_print_warning,
		.archive = r->archive != NULL ? archive_run : NULL, .context = &archive };
	int failed;

	if (!(r->given & LIMITS))
		return error_set(err, ERROR_USAGE, "prune",
		    "no limit given: --older-than, --max-count or --max-size");
	if (storage_locate(&storage, err) != 0)
		return -1;
	archive.storage = storage.root;
	failed = prune_runs(&storage, &spec, err);
	storage_close(&storage);
	return failed;
}

/* Parses the arguments after the command and executes it. */
static int
run_command(const struct command *c, int argc, char **argv)
{
	struct request r = { .decision = { .verdict = c->verdict }, .rule = RETENTION_ALL };
	struct error err = ERROR_INIT;
	struct options o;
	int id;

	options_begin(&o, c->options, argc, argv);
	options_bind(&o, &r);
	while ((id = options_next(&o, &err)) == OPTION_WORD) {
		if (r.word_count == c->most) {
			error_set(&err, ERROR_USAGE, o.value, "is one word too many: %s", c->usage);
			return program_fail(PROGRAM, &err);
		}
		r.words[r.word_count++] = o.value;
	}
	r.given = o.said;
	if (id == OPTION_HELP) {
		options_help(stdout, c->usage, c->options, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (id == OPTION_VERSION)
		return program_end(PROGRAM, program_version(PROGRAM));
	if (id == OPTION_END && r.word_count < c->least)
		error_set(&err, ERROR_USAGE, c->name, "the %s is missing: %s", c->missing, c->usage);
	else if (id == OPTION_END && options_check(&o, rules, sizeof rules / sizeof *rules, &err) == 0 &&
	    c->run(&r, &err) == 0)
		return program_end(PROGRAM, STATUS_OK);
	return program_fail(PROGRAM, &err);
}

int
main(int argc, char **argv)
{
	const char *names[sizeof commands / sizeof *commands] = { NULL }, *meant, *name;
	struct error err = ERROR_INIT;
	char *list = NULL;
	bool all;

	program_begin();
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		error_set(&err, ERROR_USAGE, NULL, "no command given (see --help)");
		return program_fail(PROGRAM, &err);
	}
	name = argv[1];
	all = strcmp(name, "--help=all") == 0;
	if (all || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		for (const struct command *c = commands; c->name != NULL; c++)
			printf("%s %s\n", c == commands ? "usage:" : "      ", c->usage);
		printf("\n");
		for (const struct command *c = commands; c->name != NULL; c++)
			printf("  %-10s %s\n", c->name, c->help);
		printf("\nawf-ctl COMMAND --help lists the options of one, --help=all those of all.\n");
		for (const struct command *c = commands; all && c->options != NULL; c++) {
			printf("\n");
			options_help(stdout, c->usage, c->options, OPTION_HELP);
		}
		return program_end(PROGRAM, STATUS_OK);
	}
	if (strcmp(name, "--version") == 0)
		return program_end(PROGRAM, program_version(PROGRAM));
	for (size_t i = 0; commands[i].name != NULL; i++) {
		if (strcmp(commands[i].name, name) == 0 && commands[i].options != NULL)
			return run_command(&commands[i], argc - 1, argv + 1);
		if (strcmp(commands[i].name, name) == 0) {
			/* Replace this process with awf-tail --list. */
			argv[0] = libexec_sibling("awf-tail");
			argv[1] = (char *)(uintptr_t)"--list";
			execvp(argv[0], argv);
			error_errno(&err, ERROR_SYSTEM, argv[0], "unable to run it");
			free(argv[0]);
			return program_fail(PROGRAM, &err);
		}
		names[i] = commands[i].name;
	}
	meant = text_suggest(name, names);
	if (meant != NULL)
		error_set(&err, ERROR_USAGE, name, "no such command (did you mean %s?)", meant);
	else
		error_set(&err, ERROR_USAGE, name, "no such command; there are %s", list = text_list(names));
	free(list);
	return program_fail(PROGRAM, &err);
}
