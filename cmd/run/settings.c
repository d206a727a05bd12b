/*
 * One table lists the options and the member of the settings that each is stored in; a table of
 * rules says which may be combined (base/options.h). An option given with its default value counts
 * as not given; --mask counts as given if the environment sets it.
 */
#include "run/settings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "limits/budget.h"
#include "limits/tool_name.h"
#include "limits/trust_option.h"
#include "proc/environment.h"
#include "run/inputs.h"
#include "run/overlap.h"
#include "storage/call_marks.h"
#include "storage/redactor.h"

#define NAME_LIMIT 128

/* Bits of options.said. */
enum {
	OPT_WORKFLOW = 1,             /* -c or a command line; not an option itself */
	OPT_PIPELINE, OPT_NO_INPUT, OPT_INPUT, OPT_ENV, OPT_NAME, OPT_SHELL, OPT_TIMEOUT,
	OPT_ALLOW_TOOLS, OPT_TOOLS_POLICY, OPT_TRUST, OPT_MAX_COST, OPT_WORKSPACE, OPT_SNAPSHOT, OPT_NO_TRANSCRIPT, OPT_MASK,
	OPT_SEAL, OPT_ID, OPT_PRINT_ID, OPT_ID_FILE, OPT_DETACH, OPT_TRY, OPT_RESUME, OPT_CONTINUE, OPT_FORK, OPT_AT,
	OPT_REDO, OPT_SKIP, OPT_NEW, OPT_REDO_CHANGED, OPT_IGNORE_ENV, OPT_OVERLAP,
	OPT_ON_COMPLETE, OPT_ON_FAILURE, OPT_KEEP, OPT_LOG, OPT_NO_VIEW, OPT_WAIT, OPT_AUTO_RESUME, OPT_DRY_RUN
};

_Static_assert(OPT_DRY_RUN < OPTION_SAID_IDS, "a bit for each");

const char run_usage[] =
    "awf-run [options] [--] WORKFLOW [ARG...]\n"
    "awf-run [options] -c PIPELINE [ARG...]\n"
    "awf-run [options] --resume RUN\n"
    "awf-run [options] --fork RUN [--at PATH] [WORKFLOW [ARG...]]";

/* These functions do not set the error's place; the caller sets it to the option. */
static int
check_name(const char *name, struct error *err)
{
	size_t len = strlen(name);

	if (len == 0 || len > NAME_LIMIT || !utf8_valid(name, len) || strchr(name, '/') != NULL ||
	    name[strcspn(name, "\n\r\t\033")] != '\0')
		return error_set(err, ERROR_USAGE, NULL,
		    "'%s' is no name: 1 to %d bytes of text on one line, without /", name, NAME_LIMIT);
	return 0;
}

static int
check_variable(const char *name, struct error *err)
{
	return environment_name_valid(name, strlen(name)) ? 0 :
	    error_set(err, ERROR_USAGE, NULL, "'%s' is not a variable's name", name);
}

static int
check_tools(const char *list, struct error *err)
{
	char *name;

	for (size_t len; *list != '\0'; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		name = memory_copy(list, len);
		if (!tool_name_listable(name))
			error_set(err, ERROR_USAGE, NULL,
			    "'%s' is no tool's name (1 to 64 of A-Z a-z 0-9 _ -)", name);
		free(name);
		if (err->code != ERROR_NONE)
			return -1;
	}
	return 0;
}

static int
check_cost(const char *dollars, struct error *err)
{
	int64_t ignored;

	if (getenv(BUDGET_LIMIT) != NULL)
		return error_set(err, ERROR_USAGE, NULL, "not inside of a run that "
		    "has it: what this one costs is in that one's limit");
	return money_parse(dollars, &ignored) ? 0 :
	    error_set(err, ERROR_USAGE, NULL, "'%s' is no amount of dollars, such as 0.50", dollars);
}

static int
check_id(const char *id, struct error *err)
{
	if (!id_valid(id, strlen(id)))
		return error_set(err, ERROR_USAGE, NULL, "'%s' is no UUID in lower case", id);
	return !run_in_environment() ? 0 :
	    error_set(err, ERROR_USAGE, NULL, "not inside of a run, which names its own");
}

static int
check_age(const char *age, struct error *err)
{
	int64_t ignored;

	return options_time("--keep", age, &ignored, err);
}

static int
check_wait(const char *duration, struct error *err)
{
	long long ignored;

	return options_duration("--wait", duration, &ignored, err);
}

const struct option_spec run_options[] = {
	{ OPT_PIPELINE, 'c', "command", "PIPELINE", "run this text with the shell",
	    OPTION_INTO_TEXT(struct settings, pipeline) },
	{ OPT_NO_INPUT, 'n', "no-input", NULL, "stdin of the workflow is /dev/null",
	    OPTION_INTO_FLAG(struct settings, no_input) },
	{ OPT_INPUT, 0, "input", "KEY=VALUE", "a named input, AWF_INPUT_KEY; repeatable" },
	{ OPT_NAME, 0, "name", "NAME", "name of the workflow (else its base name)",
	    OPTION_INTO_TEXT_CHECKED(struct settings, name, check_name) },
	{ OPT_TIMEOUT, 0, "timeout", "DURATION", "end the workflow after this time, exit 124",
	    OPTION_INTO_DURATION(struct settings, timeout_ms) },
	{ OPT_MAX_COST, 0, "max-cost", "USD", "ask no model once the run has cost so much",
	    OPTION_INTO_TEXT_CHECKED(struct settings, max_cost, check_cost) },
	{ OPT_RESUME, 0, "resume", "RUN", "go on with a run that died, failed or waits",
	    OPTION_INTO_TEXT(struct settings, resume) },
	{ OPT_REDO, 0, "redo", "PATH", "of a cut-off effect: do it again; repeatable",
	    OPTION_INTO_LIST(struct settings, redo) },
	{ OPT_SKIP, 0, "skip", "PATH", "of a cut-off effect: take it as done; repeatable",
	    OPTION_INTO_LIST(struct settings, skip) },
	{ OPT_CONTINUE, 0, "continue", NULL, "resume the latest run of this name if it died",
	    OPTION_INTO_FLAG(struct settings, go_on) },
	{ OPT_FORK, 0, "fork", "RUN", "a new run that takes over what another has done",
	    OPTION_INTO_TEXT(struct settings, fork) },
	{ OPT_AT, 0, "at", "PATH", "of --fork: make this again, and what came of it",
	    OPTION_INTO_TEXT(struct settings, at) },
	{ OPT_DRY_RUN, 0, "dry-run", NULL, "print what its steps would ask or run, and do not",
	    OPTION_INTO_FLAG(struct settings, dry_run) },
	{ OPT_DETACH, 0, "detach", NULL, "do not wait for it: print its id and go",
	    OPTION_INTO_FLAG(struct settings, detach) },
	{ OPT_PRINT_ID, 0, "print-id", NULL, "print the run's id on stderr first",
	    OPTION_INTO_FLAG(struct settings, print_id) },
	{ OPT_LOG, 0, "log", NULL, "on a terminal, steps say what they do, line by line",
	    OPTION_INTO_VALUE(struct settings, view, SCREEN_LOG) },
	{ OPT_NO_VIEW, 0, "no-view", NULL, "on a terminal, nobody says what goes on",
	    OPTION_INTO_VALUE(struct settings, view, SCREEN_OFF) },

	{ OPTION_SECTION, 0, NULL, NULL, "The workflow" },
	{ OPT_ENV, 0, "env", "NAME", "record this environment variable too; repeatable",
	    OPTION_INTO_LIST_CHECKED(struct settings, recorded, check_variable) },
	{ OPT_IGNORE_ENV, 0, "ignore-env", "NAME",
	    "no call is another one because of this variable; NAME* for all that begin so; repeatable" },
	{ OPT_SHELL, 0, "shell", "PATH", "what runs pipelines and plain scripts (" DEFAULT_SHELL ")",
	    OPTION_INTO_TEXT(struct settings, shell) },
	{ OPT_WORKSPACE, 0, "workspace", "DIRECTORY", "start the workflow there" },
	{ OPT_ALLOW_TOOLS, 0, "allow-tools", "LIST", "the tools that its steps may use at most",
	    OPTION_INTO_TEXT_CHECKED(struct settings, allow_tools, check_tools) },
	{ OPT_TOOLS_POLICY, 0, "tools-policy", "POLICY", "block or warn: of calls to other tools" },
	{ OPT_TRUST, 0, "trust", "DIGESTS", "what definitions of the project may run outside of a sandbox",
	    OPTION_CALL(trust_option) },
	{ OPT_TRY, 0, "try", NULL, "inside of a run: if this one fails, that does not",
	    OPTION_INTO_FLAG(struct settings, tried) },

	{ OPTION_SECTION, 0, NULL, NULL, "The record" },
	{ OPT_NEW, 0, "new", "STEP", "calls of this step that are like no recorded one are new; repeatable",
	    OPTION_INTO_LIST(struct settings, new_steps) },
	{ OPT_REDO_CHANGED, 0, "redo-changed", NULL, "do again what programs did that have changed since",
	    OPTION_INTO_FLAG(struct settings, redo_changed) },
	{ OPT_ID, 0, "id", "UUID", "its id, which no other run may have had (else a new one)",
	    OPTION_INTO_TEXT_CHECKED(struct settings, id, check_id) },
	{ OPT_ID_FILE, 0, "id-file", "FILE", "write the run's id to FILE before the start",
	    OPTION_INTO_TEXT(struct settings, id_file) },
	{ OPT_SNAPSHOT, 0, "snapshot", NULL, "keep a copy of the workspace for replays",
	    OPTION_INTO_FLAG(struct settings, snapshot) },
	{ OPT_NO_TRANSCRIPT, 0, "no-transcript", NULL, "keep nothing but the audit trail",
	    OPTION_INTO_FLAG(struct settings, no_transcript) },
	{ OPT_MASK, 0, "mask", "COMMAND", "a filter that masks secrets in what is recorded",
	    OPTION_INTO_TEXT(struct settings, mask) },
	{ OPT_SEAL, 0, "seal", "[=KEYFILE]", "sign the end of the transcript (~/.config/awf/seal.key)",
	    OPTION_INTO_TEXT(struct settings, seal_file) },
	{ OPT_KEEP, 0, "keep", "AGE", "at the end, remove runs of this name that are older (30d)",
	    OPTION_INTO_TEXT_CHECKED(struct settings, keep, check_age) },

	{ OPTION_SECTION, 0, NULL, NULL, "Runs of the same name, people, and who is told" },
	{ OPT_OVERLAP, 0, "overlap", "POLICY",
	    "if the name runs: skip, buffer-one, buffer-all, cancel-other; or allow-all",
	    OPTION_INTO_CHOICE(struct settings, overlap, overlap_policies) },
	{ OPT_WAIT, 0, "wait", "DURATION", "calls wait so long for people before the run ends as waiting",
	    OPTION_INTO_TEXT_CHECKED(struct settings, wait, check_wait) },
	{ OPT_AUTO_RESUME, 0, "auto-resume", NULL, "go on without a person's doing when what it waits for has come",
	    OPTION_INTO_FLAG(struct settings, by_itself) },
	{ OPT_ON_COMPLETE, 0, "on-complete", "COMMAND", "run this after success, with a summary on stdin",
	    OPTION_INTO_TEXT(struct settings, on_complete) },
	{ OPT_ON_FAILURE, 0, "on-failure", "COMMAND", "run this after any other end than waiting",
	    OPTION_INTO_TEXT(struct settings, on_failure) },
	OPTION_PSEUDO(OPT_WORKFLOW, "a workflow"),
	{ OPTION_END, 0, NULL, NULL, NULL },
};

static int
set_workspace(struct settings *s, const char *path, struct error *err)
{
	static char absolute[PATH_MAX];
	struct stat status;

	if (realpath(path, absolute) == NULL || stat(absolute, &status) != 0)
		return error_errno(err, ERROR_USAGE, "--workspace", "unable to start in '%s'", path);
	if (!S_ISDIR(status.st_mode))
		return error_set(err, ERROR_USAGE, "--workspace", "'%s' is no directory", path);
	s->workspace = absolute;
	return 0;
}

/* Handles an option for which it is not enough to store its value. */
static int
set_option(struct settings *s, int id, const char *value, struct error *err)
{
	switch (id) {
	case OPT_INPUT: return inputs_add(&s->inputs, value, err);
	case OPT_IGNORE_ENV: return marks_ignore(&s->ignored, value, ERROR_USAGE, "--ignore-env", err);
	case OPT_WORKSPACE: return set_workspace(s, value, err);
	default: /* --tools-policy */
		return tools_policy_parse(value, "--tools-policy", &s->tools_policy, err);
	}
}

#define SAID(id) OPTION_SAID(id)
#define WORKFLOW SAID(OPT_WORKFLOW)
#define AGAIN (SAID(OPT_RESUME) | SAID(OPT_FORK))
#define RECORDED (AGAIN | SAID(OPT_CONTINUE))
/* Of several violated rules, the first is reported. */
static const struct option_rule rules[] = {
	{ SAID(OPT_SEAL), SAID(OPT_NO_TRANSCRIPT), 0, "not with %s: there would be nothing to seal" },
	{ SAID(OPT_SNAPSHOT), SAID(OPT_NO_TRANSCRIPT), 0, "not with %s: there would be nothing to replay" },
	{ SAID(OPT_RESUME), WORKFLOW | SAID(OPT_INPUT) | SAID(OPT_NAME) | SAID(OPT_SHELL) | SAID(OPT_ALLOW_TOOLS) |
	    SAID(OPT_TOOLS_POLICY), 0, "not with %s: the run has its own" },
	{ SAID(OPT_RESUME), SAID(OPT_CONTINUE) | SAID(OPT_FORK), 0, NULL },
	{ SAID(OPT_DETACH), SAID(OPT_RESUME) | SAID(OPT_CONTINUE), 0,
	    "not with %s: only a new run is left to itself" },
	{ SAID(OPT_DETACH), SAID(OPT_OVERLAP), 0,
	    "not with %s: who waits for its turn cannot be left to itself" },
	{ SAID(OPT_ID), SAID(OPT_RESUME) | SAID(OPT_CONTINUE), 0, "not with %s: that run has its own" },
	{ SAID(OPT_PRINT_ID), SAID(OPT_DETACH), 0, "not with %s, which prints it" },
	{ SAID(OPT_FORK), SAID(OPT_CONTINUE), 0, NULL },
	{ SAID(OPT_SNAPSHOT), AGAIN, 0, "not with %s: what was done before is not in the workspace" },
	{ RECORDED, SAID(OPT_NO_TRANSCRIPT) | SAID(OPT_MASK), 0,
	    "not with --no-transcript or a mask (--mask, AWF_MASK): it goes by the record" },
	{ SAID(OPT_AT), 0, SAID(OPT_FORK), NULL },
	{ SAID(OPT_LOG), SAID(OPT_NO_VIEW), 0, NULL },
	{ SAID(OPT_DRY_RUN), ~(WORKFLOW | SAID(OPT_DRY_RUN) | SAID(OPT_PIPELINE) | SAID(OPT_NO_INPUT) |
	    SAID(OPT_INPUT) | SAID(OPT_SHELL) | SAID(OPT_WORKSPACE) | SAID(OPT_MASK)), 0,
	    "only with -c, -n, --input, --shell and --workspace: there is no run" },
	{ SAID(OPT_REDO) | SAID(OPT_SKIP) | SAID(OPT_NEW) | SAID(OPT_REDO_CHANGED), 0, RECORDED, NULL },
	{ SAID(OPT_AUTO_RESUME), SAID(OPT_REDO) | SAID(OPT_SKIP) |
	    SAID(OPT_NEW) | SAID(OPT_REDO_CHANGED), 0, NULL },
	{ SAID(OPT_CONTINUE), 0, WORKFLOW | AGAIN, "say the workflow whose latest run is meant" },
};

static int
check_options(const struct settings *s, struct options *o, struct error *err)
{
	const char *mask = s->mask != NULL ? s->mask : getenv(REDACTOR_COMMAND);

	/* Count as given: options, unless they have their default value; a workflow; a mask from
	 * the environment. */
	if (s->pipeline != NULL || *s->words != NULL)
		o->said |= WORKFLOW;
	if (strcmp(s->overlap, overlap_policies[0]) == 0)
		o->said &= ~SAID(OPT_OVERLAP);
	o->said &= ~SAID(OPT_MASK);
	if (mask != NULL && *mask != '\0')
		o->said |= SAID(OPT_MASK);
	if (options_check(o, rules, sizeof rules / sizeof *rules, err) != 0)
		return -1;
	if ((o->said & (WORKFLOW | AGAIN)) == 0)
		return error_set(err, ERROR_USAGE, NULL, "no workflow given (see --help)");
	return 0;
}

int
settings_parse(struct settings *s, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	*s = (struct settings){ .overlap = overlap_policies[0] };
	/* Without a terminal there is no view. */
	if (isatty(STDERR_FILENO) && screen_mode(&s->view, NULL, err) != 0)
		return -1;
	options_begin(&o, run_options, argc, argv);
	options_bind(&o, s);
	o.stop_at_word = true;
	while ((id = options_next(&o, err)) > 0)
		if (set_option(s, id, o.value, err) != 0)
			return -1;
	s->seal = (o.said & SAID(OPT_SEAL)) != 0;
	s->words = argv + o.next;
	if (id == OPTION_END && check_options(s, &o, err) != 0)
		return -1;
	return id;
}

struct history_answers
settings_answers(const struct settings *s)
{
	return (struct history_answers){ .redo = s->redo, .skip = s->skip, .new_steps = s->new_steps,
		.redo_changed = s->redo_changed };
}

void
settings_free(struct settings *s)
{
	list_free(s->inputs);
	list_free(s->recorded);
	list_free(s->ignored);
	list_free(s->redo);
	list_free(s->skip);
	list_free(s->new_steps);
	free(s->pinned_id_file);
}
