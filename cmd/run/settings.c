#include "run/settings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/mcp_tools.h"
#include "agent/tool.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "exec/environment.h"
#include "exec/inputs.h"
#include "exec/mask.h"
#include "exec/overlap.h"

#define NAME_LIMIT 128

enum {
	OPT_PIPELINE = 1, OPT_NO_INPUT, OPT_INPUT, OPT_ENV, OPT_NAME, OPT_SHELL, OPT_TIMEOUT,
	OPT_ALLOW_TOOLS, OPT_TOOLS_POLICY, OPT_WORKSPACE, OPT_SNAPSHOT, OPT_NO_TRANSCRIPT, OPT_MASK,
	OPT_SEAL, OPT_PRINT_ID, OPT_ID_FILE, OPT_DETACH, OPT_RESUME, OPT_CONTINUE, OPT_FORK, OPT_AT,
	OPT_REDO, OPT_SKIP, OPT_OVERLAP,
	OPT_APPROVE, OPT_DENY, OPT_COMPLETE, OPT_FAILED, OPT_HEARTBEAT, OPT_REASON,
	OPT_ON_COMPLETE, OPT_ON_FAILURE, OPT_KEEP, OPT_PRUNE, OPT_OLDER_THAN, OPT_MAX_COUNT,
	OPT_MAX_SIZE, OPT_DRY_RUN, OPT_VERBOSE
};

const char run_usage[] =
    "awf-run [options] [--] WORKFLOW [ARG...]\n"
    "awf-run [options] -c PIPELINE [ARG...]\n"
    "awf-run [options] --resume RUN\n"
    "awf-run [options] --approve|--deny|--complete|--heartbeat PATH [RUN]\n"
    "awf-run [options] --fork RUN --at PATH [WORKFLOW [ARG...]]\n"
    "awf-run --prune [options]";

const struct option_spec run_options[] = {
	{ OPT_PIPELINE, 'c', "command", "PIPELINE", "run this text with the shell" },
	{ OPT_NO_INPUT, 'n', "no-input", NULL, "stdin of the workflow is /dev/null" },
	{ OPT_INPUT, 0, "input", "KEY=VALUE", "a named input, AWF_INPUT_KEY; repeatable" },
	{ OPT_ENV, 0, "env", "NAME", "record this environment variable too; repeatable" },
	{ OPT_NAME, 0, "name", "NAME", "name of the workflow (else its base name)" },
	{ OPT_SHELL, 0, "shell", "PATH", "what runs pipelines and plain scripts (" DEFAULT_SHELL ")" },
	{ OPT_TIMEOUT, 0, "timeout", "DURATION", "end the workflow after this time, exit 124" },
	{ OPT_ALLOW_TOOLS, 0, "allow-tools", "LIST", "the tools that its steps may use at most" },
	{ OPT_TOOLS_POLICY, 0, "tools-policy", "POLICY", "block or warn: of calls to other tools" },
	{ OPT_WORKSPACE, 0, "workspace", "DIRECTORY", "start the workflow there" },
	{ OPT_SNAPSHOT, 0, "snapshot", NULL, "keep a copy of the workspace for replays" },
	{ OPT_NO_TRANSCRIPT, 0, "no-transcript", NULL, "keep nothing but the audit trail" },
	{ OPT_MASK, 0, "mask", "COMMAND", "a filter that masks secrets in what is recorded" },
	{ OPT_SEAL, 0, "seal", "[=KEYFILE]", "sign the end of the transcript (~/.config/awf/seal.key)" },
	{ OPT_PRINT_ID, 0, "print-id", NULL, "print the run's id on stderr first" },
	{ OPT_ID_FILE, 0, "id-file", "FILE", "write the run's id to FILE before the start" },
	{ OPT_DETACH, 0, "detach", NULL, "do not wait for it: print its id and go" },
	{ OPT_RESUME, 0, "resume", "RUN", "go on with a run that died, failed or waits" },
	{ OPT_CONTINUE, 0, "continue", NULL, "resume the latest run of this name if it died" },
	{ OPT_FORK, 0, "fork", "RUN", "a new run that takes over what another has done" },
	{ OPT_AT, 0, "at", "PATH", "of --fork: but not this, nor what came of it" },
	{ OPT_REDO, 0, "redo", "PATH", "of a cut-off effect: do it again; repeatable" },
	{ OPT_SKIP, 0, "skip", "PATH", "of a cut-off effect: take it as done; repeatable" },
	{ OPT_OVERLAP, 0, "overlap", "POLICY",
	    "if the name runs: skip, buffer-one, buffer-all, cancel-other; or allow-all" },
	{ OPT_APPROVE, 0, "approve", "PATH", "a call that waits goes on, with its data or that of stdin" },
	{ OPT_DENY, 0, "deny", "PATH", "a call that waits fails" },
	{ OPT_COMPLETE, 0, "complete", "PATH", "stdin is the result of a call that ended as pending" },
	{ OPT_FAILED, 0, "failed", NULL, "of --complete: it has none, the call fails" },
	{ OPT_HEARTBEAT, 0, "heartbeat", "PATH", "a call that ended as pending may wait on" },
	{ OPT_REASON, 0, "reason", "TEXT", "of --approve, --deny, --complete --failed: why" },
	{ OPT_ON_COMPLETE, 0, "on-complete", "COMMAND", "run this after success, with a summary on stdin" },
	{ OPT_ON_FAILURE, 0, "on-failure", "COMMAND", "run this after any other end than waiting" },
	{ OPT_KEEP, 0, "keep", "AGE", "at the end, remove runs of this name that are older (30d)" },
	{ OPT_PRUNE, 0, "prune", NULL, "remove runs that have ended:" },
	{ OPT_OLDER_THAN, 0, "older-than", "AGE", "of --prune: that ended before (30d, 2026-10-01)" },
	{ OPT_MAX_COUNT, 0, "max-count", "N", "of --prune: all but the newest N" },
	{ OPT_MAX_SIZE, 0, "max-size", "SIZE", "of --prune: all but the newest that fit (500M, 2G)" },
	{ OPT_DRY_RUN, 0, "dry-run", NULL, "of --prune: say what would go, and leave it" },
	{ OPT_VERBOSE, 'v', "verbose", NULL, "of --prune: say what goes" },
	{ OPTION_END, 0, NULL, NULL, NULL },
};

int
settings_time(const char *option, const char *text, int64_t *wall, struct error *err)
{
	if (clock_parse(text, clock_wall(), wall) == 0)
		return 0;
	return error_set(err, ERROR_USAGE, option,
	    "'%s' is no age and no time (as in 12h, 30d, 2026-10-01)", text);
}

static int
set_keep(struct settings *s, const char *age, struct error *err)
{
	int64_t wall;

	s->keep = age;
	return settings_time("--keep", age, &wall, err);
}

static int
set_max_count(struct settings *s, const char *text, struct error *err)
{
	long long count;

	if (options_number("--max-count", text, 0, INT32_MAX, &count, err) != 0)
		return -1;
	s->rule.max_count = count;
	return 0;
}

static int
add_recorded(struct settings *s, const char *name, struct error *err)
{
	if (!variable_name_valid(name, strlen(name)))
		return error_set(err, ERROR_USAGE, "--env", "'%s' is not a variable's name", name);
	list_add(&s->recorded, name);
	return 0;
}

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
		if (!tool_name_valid(name) && !mcp_tool_pattern(name))
			error_set(err, ERROR_USAGE, "--allow-tools",
			    "'%s' is no tool's name (1 to 64 of A-Z a-z 0-9 _ -)", name);
		free(name);
		if (err->code != ERROR_NONE)
			return -1;
	}
	return 0;
}

static int
set_decision(struct settings *s, enum decide_option decide, const char *path, struct error *err)
{
	if (s->decide != DECIDE_NOTHING)
		return error_set(err, ERROR_USAGE, path, "one decision at a time");
	s->decide = decide;
	s->decided = path;
	return 0;
}

static int
set_prune_option(struct settings *s, int id, const char *value, struct error *err)
{
	switch (id) {
	case OPT_OLDER_THAN: return settings_time("--older-than", value, &s->rule.before, err);
	case OPT_MAX_COUNT: return set_max_count(s, value, err);
	case OPT_MAX_SIZE: return options_size("--max-size", value, &s->rule.max_bytes, err);
	case OPT_DRY_RUN: s->dry_run = true; return 0;
	case OPT_VERBOSE: s->verbose = true; return 0;
	default: s->prune = true; return 0;
	}
}

static int
set_option(struct settings *s, int id, const char *value, struct error *err)
{
	switch (id) {
	case OPT_PIPELINE: s->pipeline = value; return 0;
	case OPT_NO_INPUT: s->no_input = true; return 0;
	case OPT_INPUT: return inputs_add(&s->inputs, value, err);
	case OPT_ENV: return add_recorded(s, value, err);
	case OPT_NAME: return set_name(s, value, err);
	case OPT_SHELL: s->shell = value; return 0;
	case OPT_TIMEOUT: return options_duration("--timeout", value, &s->timeout_ms, err);
	case OPT_ALLOW_TOOLS: return set_allow_tools(s, value, err);
	case OPT_TOOLS_POLICY:
		return tools_policy_parse(value, "--tools-policy", &s->tools_policy, err);
	case OPT_WORKSPACE: return set_workspace(s, value, err);
	case OPT_SNAPSHOT: s->snapshot = true; return 0;
	case OPT_NO_TRANSCRIPT: s->no_transcript = true; return 0;
	case OPT_MASK: s->mask = value; return 0;
	case OPT_SEAL: s->seal = true; s->seal_file = value; return 0;
	case OPT_PRINT_ID: s->print_id = true; return 0;
	case OPT_DETACH: s->detach = true; return 0;
	case OPT_RESUME: s->resume = value; return 0;
	case OPT_CONTINUE: s->go_on = true; return 0;
	case OPT_FORK: s->fork = value; return 0;
	case OPT_AT: s->at = value; return 0;
	case OPT_REDO: list_add(&s->redo, value); return 0;
	case OPT_SKIP: list_add(&s->skip, value); return 0;
	case OPT_OVERLAP:
		s->overlap = value;
		return options_choice("--overlap", value, overlap_policies, err);
	case OPT_APPROVE: return set_decision(s, DECIDE_APPROVE, value, err);
	case OPT_DENY: return set_decision(s, DECIDE_DENY, value, err);
	case OPT_COMPLETE: return set_decision(s, DECIDE_COMPLETE, value, err);
	case OPT_HEARTBEAT: return set_decision(s, DECIDE_HEARTBEAT, value, err);
	case OPT_FAILED: s->failed = true; return 0;
	case OPT_REASON: s->reason = value; return 0;
	case OPT_ON_COMPLETE: s->on_complete = value; return 0;
	case OPT_ON_FAILURE: s->on_failure = value; return 0;
	case OPT_KEEP: return set_keep(s, value, err);
	case OPT_ID_FILE: s->id_file = value; return 0;
	default: return set_prune_option(s, id, value, err);
	}
}

/* Whether it may stand beside --prune. */
static bool
of_prune(int id)
{
	return id == OPT_NAME || (id >= OPT_PRUNE && id <= OPT_VERBOSE);
}

static bool
has_limit(const struct retention_rule *rule)
{
	return rule->before != INT64_MIN || rule->max_count != INT64_MAX ||
	    rule->max_bytes != INT64_MAX;
}

static bool
mask_wanted(const struct settings *s)
{
	const char *mask = s->mask != NULL ? s->mask : getenv(MASK_COMMAND);

	return mask != NULL && *mask != '\0';
}

struct rule { bool wrong; const char *option, *why; };

static int
check_rules(const struct rule *rules, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (rules[i].wrong)
			return error_set(err, ERROR_USAGE, rules[i].option, "%s", rules[i].why);
	return 0;
}

static int
check_prune(const struct settings *s, struct error *err)
{
	const struct rule rules[] = {
		{ s->prune && (s->runs || *s->words != NULL), "--prune",
		    "only with --name, --older-than, --max-count, --max-size, --dry-run, --verbose" },
		{ s->prune && !has_limit(&s->rule), "--prune",
		    "say what goes: --older-than, --max-count or --max-size" },
		{ !s->prune && s->dry_run, "--dry-run", "only with --prune" },
		{ !s->prune && s->verbose, "--verbose", "only with --prune" },
		{ !s->prune && s->rule.before != INT64_MIN, "--older-than", "only with --prune" },
		{ !s->prune && s->rule.max_count != INT64_MAX, "--max-count", "only with --prune" },
		{ !s->prune && has_limit(&s->rule), "--max-size", "only with --prune" },
	};

	return check_rules(rules, sizeof rules / sizeof rules[0], err);
}

/* What does not go together, and why. */
static int
check_options(const struct settings *s, struct error *err)
{
	bool workflow = s->pipeline != NULL || *s->words != NULL;
	bool again = s->resume != NULL || s->fork != NULL, decides = s->decide != DECIDE_NOTHING;
	const struct rule rules[] = {
		{ decides && (workflow || s->go_on || s->fork != NULL), s->decided,
		    "a decision is made without a workflow, --continue or --fork" },
		{ decides && s->resume == NULL && (s->id_file != NULL || s->print_id ||
		    s->timeout_ms > 0 || s->recorded != NULL || s->inputs != NULL || s->name != NULL ||
		    s->shell != NULL || s->workspace != NULL || s->mask != NULL || s->snapshot ||
		    s->no_transcript || s->keep != NULL || s->on_complete != NULL ||
		    s->on_failure != NULL), s->decided,
		    "a decision runs nothing, so options of runs need --resume RUN" },
		{ decides && s->decided_run != NULL && s->resume != NULL, s->decided_run,
		    "--resume names the run already" },
		{ s->failed && s->decide != DECIDE_COMPLETE, "--failed", "only with --complete" },
		{ s->reason != NULL && s->decide != DECIDE_APPROVE && s->decide != DECIDE_DENY &&
		    !s->failed, "--reason", "only with --approve, --deny or --complete --failed" },
		{ s->seal && s->no_transcript, "--seal",
		    "not with --no-transcript: there would be nothing to seal" },
		{ s->snapshot && s->no_transcript, "--snapshot",
		    "not with --no-transcript: there would be nothing to replay" },
		{ s->resume != NULL && workflow, "--resume",
		    "not with a workflow: the run has its own" },
		{ s->resume != NULL && (s->inputs != NULL || s->name != NULL || s->shell != NULL ||
		    s->workspace != NULL), "--resume",
		    "not with --input, --name, --shell or --workspace: the run has its own" },
		{ s->resume != NULL && (s->allow_tools != NULL || s->tools_policy != TOOLS_UNSAID),
		    "--resume", "not with --allow-tools or --tools-policy: the run has its own" },
		{ s->resume != NULL && (s->go_on || s->fork != NULL), "--resume",
		    "not with --continue or --fork" },
		{ s->detach && (s->resume != NULL || s->go_on), "--detach",
		    "not with --resume or --continue: only a new run is left to itself" },
		{ s->detach && strcmp(s->overlap, overlap_policies[0]) != 0, "--detach",
		    "not with --overlap: who waits for its turn cannot be left to itself" },
		{ s->detach && s->print_id, "--print-id", "not with --detach, which prints it" },
		{ s->fork != NULL && s->go_on, "--fork", "not with --continue" },
		{ again && s->snapshot, "--snapshot",
		    "not with --resume or --fork: what was done before is not in the workspace" },
		{ (again || s->go_on) && (s->no_transcript || mask_wanted(s)),
		    s->fork != NULL ? "--fork" : s->go_on ? "--continue" : "--resume",
		    "not with --no-transcript or a mask (--mask, AWF_MASK): it goes by the record" },
		{ s->fork != NULL && s->at == NULL, "--fork", "say where: --at PATH" },
		{ s->fork == NULL && s->at != NULL, "--at", "only with --fork" },
		{ !again && !s->go_on && s->redo != NULL, "--redo",
		    "only with --resume, --continue or --fork" },
		{ !again && !s->go_on && s->skip != NULL, "--skip",
		    "only with --resume, --continue or --fork" },
		{ !again && !workflow && !decides && !s->prune, NULL, "no workflow given (see --help)" },
	};

	return check_rules(rules, sizeof rules / sizeof rules[0], err);
}

/* After a decision the words are its RUN, and options may follow. */
static int
take_word(struct settings *s, const char *word, struct error *err)
{
	if (s->decided_run != NULL)
		return error_set(err, ERROR_USAGE, word, "one RUN only");
	s->decided_run = word;
	return 0;
}

int
settings_parse(struct settings *s, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	*s = (struct settings){ .overlap = overlap_policies[0], .rule = RETENTION_ALL };
	options_begin(&o, run_options, argc, argv);
	o.stop_at_word = true;
	while ((id = options_next(&o, err)) > 0 || id == OPTION_WORD) {
		if ((id == OPTION_WORD ? take_word(s, o.value, err) : set_option(s, id, o.value, err)) != 0)
			return -1;
		s->runs |= !of_prune(id);
		o.stop_at_word = s->decide == DECIDE_NOTHING;
	}
	s->words = argv + o.next;
	if (id == OPTION_END && (check_prune(s, err) != 0 || check_options(s, err) != 0))
		return -1;
	return id;
}

void
settings_free(struct settings *s)
{
	list_free(s->inputs);
	list_free(s->recorded);
	list_free(s->redo);
	list_free(s->skip);
	free(s->pinned_id_file);
}
