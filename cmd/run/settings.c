/*
 * One table of options, a bit for each that was said, and a table of rules about which go
 * together (base/options.h). What is said but is the default anyway counts as not said; a
 * mask counts too if the environment names it.
 */
#include "run/settings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/budget.h"
#include "agent/tool_name.h"
#include "agent/trust.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "proc/environment.h"
#include "run/call_marks.h"
#include "run/inputs.h"
#include "run/redactor.h"
#include "run/overlap.h"

#define NAME_LIMIT 128
#define NO_RECORD "not with --no-transcript or a mask (--mask, AWF_MASK): it goes by the record"

/* Each is a bit of settings.given. */
enum {
	OPT_WORKFLOW = 1,             /* -c, or words; no option by itself */
	OPT_PIPELINE, OPT_NO_INPUT, OPT_INPUT, OPT_ENV, OPT_NAME, OPT_SHELL, OPT_TIMEOUT,
	OPT_ALLOW_TOOLS, OPT_TOOLS_POLICY, OPT_TRUST, OPT_MAX_COST, OPT_WORKSPACE, OPT_SNAPSHOT, OPT_NO_TRANSCRIPT, OPT_MASK,
	OPT_SEAL, OPT_ID, OPT_PRINT_ID, OPT_ID_FILE, OPT_DETACH, OPT_TRY, OPT_RESUME, OPT_CONTINUE, OPT_FORK, OPT_AT,
	OPT_REDO, OPT_SKIP, OPT_REDO_CHANGED, OPT_IGNORE_ENV, OPT_OVERLAP,
	OPT_ON_COMPLETE, OPT_ON_FAILURE, OPT_KEEP, OPT_LOG, OPT_NO_VIEW, OPT_DRY_RUN
};

_Static_assert(OPT_DRY_RUN < OPTION_SAID_IDS, "a bit for each");

const char run_usage[] =
    "awf-run [options] [--] WORKFLOW [ARG...]\n"
    "awf-run [options] -c PIPELINE [ARG...]\n"
    "awf-run [options] --resume RUN\n"
    "awf-run [options] --fork RUN --at PATH [WORKFLOW [ARG...]]";

const struct option_spec run_options[] = {
	{ OPT_PIPELINE, 'c', "command", "PIPELINE", "run this text with the shell" },
	{ OPT_NO_INPUT, 'n', "no-input", NULL, "stdin of the workflow is /dev/null" },
	{ OPT_INPUT, 0, "input", "KEY=VALUE", "a named input, AWF_INPUT_KEY; repeatable" },
	{ OPT_NAME, 0, "name", "NAME", "name of the workflow (else its base name)" },
	{ OPT_TIMEOUT, 0, "timeout", "DURATION", "end the workflow after this time, exit 124" },
	{ OPT_MAX_COST, 0, "max-cost", "USD", "ask no model once the run has cost so much" },
	{ OPT_RESUME, 0, "resume", "RUN", "go on with a run that died, failed or waits" },
	{ OPT_REDO, 0, "redo", "PATH", "of a cut-off effect: do it again; repeatable" },
	{ OPT_SKIP, 0, "skip", "PATH", "of a cut-off effect: take it as done; repeatable" },
	{ OPT_CONTINUE, 0, "continue", NULL, "resume the latest run of this name if it died" },
	{ OPT_FORK, 0, "fork", "RUN", "a new run that takes over what another has done" },
	{ OPT_AT, 0, "at", "PATH", "of --fork: but not this, nor what came of it" },
	{ OPT_DRY_RUN, 0, "dry-run", NULL, "print what its steps would ask or run, and do not" },
	{ OPT_DETACH, 0, "detach", NULL, "do not wait for it: print its id and go" },
	{ OPT_PRINT_ID, 0, "print-id", NULL, "print the run's id on stderr first" },
	{ OPT_LOG, 0, "log", NULL, "on a terminal, steps say what they do, line by line" },
	{ OPT_NO_VIEW, 0, "no-view", NULL, "on a terminal, nobody says what goes on" },

	{ OPTION_SECTION, 0, NULL, NULL, "The workflow" },
	{ OPT_ENV, 0, "env", "NAME", "record this environment variable too; repeatable" },
	{ OPT_IGNORE_ENV, 0, "ignore-env", "NAME",
	    "no call is another one because of this variable; NAME* for all that begin so; repeatable" },
	{ OPT_SHELL, 0, "shell", "PATH", "what runs pipelines and plain scripts (" DEFAULT_SHELL ")" },
	{ OPT_WORKSPACE, 0, "workspace", "DIRECTORY", "start the workflow there" },
	{ OPT_ALLOW_TOOLS, 0, "allow-tools", "LIST", "the tools that its steps may use at most" },
	{ OPT_TOOLS_POLICY, 0, "tools-policy", "POLICY", "block or warn: of calls to other tools" },
	{ OPT_TRUST, 0, "trust", "DIGESTS", "what definitions of the project may run outside of a sandbox" },
	{ OPT_TRY, 0, "try", NULL, "inside of a run: if this one fails, that does not" },

	{ OPTION_SECTION, 0, NULL, NULL, "The record" },
	{ OPT_REDO_CHANGED, 0, "redo-changed", NULL, "do again what programs did that have changed since" },
	{ OPT_ID, 0, "id", "UUID", "its id, which no other run may have had (else a new one)" },
	{ OPT_ID_FILE, 0, "id-file", "FILE", "write the run's id to FILE before the start" },
	{ OPT_SNAPSHOT, 0, "snapshot", NULL, "keep a copy of the workspace for replays" },
	{ OPT_NO_TRANSCRIPT, 0, "no-transcript", NULL, "keep nothing but the audit trail" },
	{ OPT_MASK, 0, "mask", "COMMAND", "a filter that masks secrets in what is recorded" },
	{ OPT_SEAL, 0, "seal", "[=KEYFILE]", "sign the end of the transcript (~/.config/awf/seal.key)" },
	{ OPT_KEEP, 0, "keep", "AGE", "at the end, remove runs of this name that are older (30d)" },

	{ OPTION_SECTION, 0, NULL, NULL, "Runs of the same name, and who is told" },
	{ OPT_OVERLAP, 0, "overlap", "POLICY",
	    "if the name runs: skip, buffer-one, buffer-all, cancel-other; or allow-all" },
	{ OPT_ON_COMPLETE, 0, "on-complete", "COMMAND", "run this after success, with a summary on stdin" },
	{ OPT_ON_FAILURE, 0, "on-failure", "COMMAND", "run this after any other end than waiting" },
	OPTION_PSEUDO(OPT_WORKFLOW, "a workflow"),
	{ OPTION_END, 0, NULL, NULL, NULL },
};

static int
set_name(struct settings *s, const char *name, struct error *err)
{
	size_t len = strlen(name);

	if (len == 0 || len > NAME_LIMIT || !utf8_valid(name, len) || strchr(name, '/') != NULL ||
	    name[strcspn(name, "\n\r\t\033")] != '\0')
		return error_set(err, ERROR_USAGE, "--name",
		    "'%s' is no name: 1 to %d bytes of text on one line, without /", name, NAME_LIMIT);
	s->name = name;
	return 0;
}

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

static int
set_allow_tools(struct settings *s, const char *list, struct error *err)
{
	char *name;

	s->allow_tools = list;
	for (size_t len; *list != '\0'; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		name = memory_copy(list, len);
		if (!tool_name_listable(name))
			error_set(err, ERROR_USAGE, "--allow-tools",
			    "'%s' is no tool's name (1 to 64 of A-Z a-z 0-9 _ -)", name);
		free(name);
		if (err->code != ERROR_NONE)
			return -1;
	}
	return 0;
}

static int
set_option(struct settings *s, int id, const char *value, struct error *err)
{
	int64_t ignored;

	switch (id) {
	case OPT_PIPELINE: s->pipeline = value; return 0;
	case OPT_NO_INPUT: s->no_input = true; return 0;
	case OPT_INPUT: return inputs_add(&s->inputs, value, err);
	case OPT_ENV:
		if (!environment_name_valid(value, strlen(value)))
			return error_set(err, ERROR_USAGE, "--env", "'%s' is not a variable's name",
			    value);
		list_add(&s->recorded, value);
		return 0;
	case OPT_IGNORE_ENV: return marks_ignore(&s->ignored, value, ERROR_USAGE, "--ignore-env", err);
	case OPT_NAME: return set_name(s, value, err);
	case OPT_SHELL: s->shell = value; return 0;
	case OPT_TIMEOUT: return options_duration("--timeout", value, &s->timeout_ms, err);
	case OPT_ALLOW_TOOLS: return set_allow_tools(s, value, err);
	case OPT_TRUST: return trust_option(value, err);
	case OPT_TOOLS_POLICY:
		return tools_policy_parse(value, "--tools-policy", &s->tools_policy, err);
	case OPT_MAX_COST:
		s->max_cost = value;
		if (getenv(BUDGET_LIMIT) != NULL)
			return error_set(err, ERROR_USAGE, "--max-cost", "not inside of a run that "
			    "has it: what this one costs is in that one's limit");
		if (!money_parse(value, &ignored))
			return error_set(err, ERROR_USAGE, "--max-cost",
			    "'%s' is no amount of dollars, such as 0.50", value);
		return 0;
	case OPT_WORKSPACE: return set_workspace(s, value, err);
	case OPT_SNAPSHOT: s->snapshot = true; return 0;
	case OPT_NO_TRANSCRIPT: s->no_transcript = true; return 0;
	case OPT_MASK: s->mask = value; return 0;
	case OPT_SEAL: s->seal = true; s->seal_file = value; return 0;
	case OPT_ID:
		if (!id_valid(value, strlen(value)))
			return error_set(err, ERROR_USAGE, "--id", "'%s' is no UUID in lower case", value);
		if (run_in_environment())
			return error_set(err, ERROR_USAGE, "--id", "not inside of a run, which names its own");
		s->id = value;
		return 0;
	case OPT_PRINT_ID: s->print_id = true; return 0;
	case OPT_DETACH: s->detach = true; return 0;
	case OPT_TRY: s->tried = true; return 0;
	case OPT_RESUME: s->resume = value; return 0;
	case OPT_CONTINUE: s->go_on = true; return 0;
	case OPT_FORK: s->fork = value; return 0;
	case OPT_AT: s->at = value; return 0;
	case OPT_REDO: list_add(&s->redo, value); return 0;
	case OPT_SKIP: list_add(&s->skip, value); return 0;
	case OPT_REDO_CHANGED: s->redo_changed = true; return 0;
	case OPT_OVERLAP:
		s->overlap = value;
		return options_choice("--overlap", value, overlap_policies, err);
	case OPT_ON_COMPLETE: s->on_complete = value; return 0;
	case OPT_ON_FAILURE: s->on_failure = value; return 0;
	case OPT_KEEP: s->keep = value; return options_time("--keep", value, &ignored, err);
	case OPT_ID_FILE: s->id_file = value; return 0;
	case OPT_LOG: s->view = SCREEN_LOG; return 0;
	case OPT_NO_VIEW: s->view = SCREEN_OFF; return 0;
	case OPT_DRY_RUN: s->dry_run = true; return 0;
	}
	return 0;
}

#define SAID(id) OPTION_SAID(id)
#define WORKFLOW SAID(OPT_WORKFLOW)
#define AGAIN (SAID(OPT_RESUME) | SAID(OPT_FORK))
#define RECORDED (AGAIN | SAID(OPT_CONTINUE))
#define UNRECORDED (SAID(OPT_NO_TRANSCRIPT) | SAID(OPT_MASK))
/* The first that is broken is told of. */
static const struct option_rule rules[] = {
	{ SAID(OPT_SEAL), SAID(OPT_NO_TRANSCRIPT), 0,
	    "not with --no-transcript: there would be nothing to seal" },
	{ SAID(OPT_SNAPSHOT), SAID(OPT_NO_TRANSCRIPT), 0,
	    "not with --no-transcript: there would be nothing to replay" },
	{ SAID(OPT_RESUME), WORKFLOW, 0, "not with a workflow: the run has its own" },
	{ SAID(OPT_RESUME), SAID(OPT_INPUT) | SAID(OPT_NAME) | SAID(OPT_SHELL), 0,
	    "not with --input, --name or --shell: the run has its own" },
	{ SAID(OPT_RESUME), SAID(OPT_ALLOW_TOOLS) | SAID(OPT_TOOLS_POLICY), 0,
	    "not with --allow-tools or --tools-policy: the run has its own" },
	{ SAID(OPT_RESUME), SAID(OPT_CONTINUE) | SAID(OPT_FORK), 0, "not with --continue or --fork" },
	{ SAID(OPT_DETACH), SAID(OPT_RESUME) | SAID(OPT_CONTINUE), 0,
	    "not with --resume or --continue: only a new run is left to itself" },
	{ SAID(OPT_DETACH), SAID(OPT_OVERLAP), 0,
	    "not with --overlap: who waits for its turn cannot be left to itself" },
	{ SAID(OPT_ID), SAID(OPT_RESUME) | SAID(OPT_CONTINUE), 0,
	    "not with --resume or --continue: that run has its own" },
	{ SAID(OPT_PRINT_ID), SAID(OPT_DETACH), 0, "not with --detach, which prints it" },
	{ SAID(OPT_FORK), SAID(OPT_CONTINUE), 0, "not with --continue" },
	{ SAID(OPT_SNAPSHOT), AGAIN, 0,
	    "not with --resume or --fork: what was done before is not in the workspace" },
	{ SAID(OPT_RESUME), UNRECORDED, 0, NO_RECORD },
	{ SAID(OPT_FORK), UNRECORDED, 0, NO_RECORD },
	{ SAID(OPT_CONTINUE), UNRECORDED, 0, NO_RECORD },
	{ SAID(OPT_FORK), 0, SAID(OPT_AT), "say where: --at PATH" },
	{ SAID(OPT_AT), 0, SAID(OPT_FORK), "only with --fork" },
	{ SAID(OPT_LOG), SAID(OPT_NO_VIEW), 0, "not with --no-view" },
	{ SAID(OPT_DRY_RUN), ~(WORKFLOW | SAID(OPT_DRY_RUN) | SAID(OPT_PIPELINE) | SAID(OPT_NO_INPUT) |
	    SAID(OPT_INPUT) | SAID(OPT_SHELL) | SAID(OPT_WORKSPACE) | SAID(OPT_MASK)), 0,
	    "only with -c, -n, --input, --shell and --workspace: there is no run" },
	{ SAID(OPT_REDO), 0, RECORDED, "only with --resume, --continue or --fork" },
	{ SAID(OPT_SKIP), 0, RECORDED, "only with --resume, --continue or --fork" },
	{ SAID(OPT_REDO_CHANGED), 0, RECORDED, "only with --resume, --continue or --fork" },
};

static int
check_options(const struct settings *s, struct options *o, struct error *err)
{
	const char *mask = s->mask != NULL ? s->mask : getenv(REDACTOR_COMMAND);
	uint64_t all = s->given & ~SAID(OPT_MASK);

	/* All that was said, but for what is the default anyway, and what the environment says. */
	if (s->pipeline != NULL || *s->words != NULL)
		all |= WORKFLOW;
	if (strcmp(s->overlap, overlap_policies[0]) == 0)
		all &= ~SAID(OPT_OVERLAP);
	if (mask != NULL && *mask != '\0')
		all |= SAID(OPT_MASK);
	o->said = all;
	if (options_check(o, rules, sizeof rules / sizeof *rules, err) != 0)
		return -1;
	if ((all & (WORKFLOW | AGAIN)) == 0 && (all & SAID(OPT_CONTINUE)) != 0)
		return error_set(err, ERROR_USAGE, "--continue", "say the workflow whose latest run is meant");
	if ((all & (WORKFLOW | AGAIN)) == 0)
		return error_set(err, ERROR_USAGE, NULL, "no workflow given (see --help)");
	return 0;
}

int
settings_parse(struct settings *s, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	*s = (struct settings){ .overlap = overlap_policies[0] };
	/* Elsewhere nobody is shown anything. */
	if (isatty(STDERR_FILENO) && screen_mode(&s->view, NULL, err) != 0)
		return -1;
	options_begin(&o, run_options, argc, argv);
	o.stop_at_word = true;
	while ((id = options_next(&o, err)) > 0) {
		if (set_option(s, id, o.value, err) != 0)
			return -1;
		s->given |= SAID(id);
	}
	s->words = argv + o.next;
	if (id == OPTION_END && check_options(s, &o, err) != 0)
		return -1;
	return id;
}

void
settings_free(struct settings *s)
{
	list_free(s->inputs);
	list_free(s->recorded);
	list_free(s->ignored);
	list_free(s->redo);
	list_free(s->skip);
	free(s->pinned_id_file);
}
