/*
 * The rows of the table of options (base/options.h) say in which member of the settings each option
 * is stored; options that need more are handled in apply_option(). When all options are read, the
 * settings that depend on several of them (a loop, the retries, the model) are made, and then the
 * rules about combinations are checked.
 */
#include "step/settings.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "model/price.h"
#include "proc/environment.h"
#include "proc/frame_files.h"
#include "step_kinds/kinds.h"
#include "step_call/workers.h"
#include "storage/session.h"
#include "transcript/call.h"

#define JOBS_LIMIT 1024
#define RETRIES_LIMIT 1000000
#define LIMIT_MAX (1LL << 50) /* of turns and tokens */
#define ROUNDS_MAX 1000000000LL
#define ROUNDS 10             /* --max of a loop with a condition, if not given */
#define CHILDREN 10           /* --max-children, if not given */

/* Each option that occurs in a rule is a bit of settings.given. */
enum {
	OPT_COMMAND = 1,              /* the words after --, not an option */
	OPT_AGENT, OPT_MODEL, OPT_PROMPT, OPT_TOOL, OPT_APPROVE, OPT_ASK, OPT_PENDING, OPT_EACH,
	OPT_WHILE, OPT_UNTIL, OPT_MAX, OPT_PARALLEL, OPT_TERMINAL, OPT_ALLOW_TOOLS,
	OPT_TOOLS_POLICY, OPT_MAX_TURNS, OPT_MAX_CHILDREN, OPT_SESSION,
	OPT_MAX_TOKENS_TOTAL, OPT_NO_INPUT, OPT_STATE,
	OPT_OUTPUT_FORM, OPT_JOIN, OPT_JOBS, OPT_INTO, OPT_FILE,
	OPT_QUIET, OPT_WHEN, OPT_RESCUE, OPT_ALLOW_FAILURE, OPT_FAIL_FAST, OPT_TRY, OPT_TIMEOUT,
	OPT_RETRIES, OPT_BACKOFF, OPT_DELAY, OPT_MAX_DELAY, OPT_RETRY_ON, OPT_EFFECTS, OPT_REQUIRE,
	OPT_SANDBOX, OPT_NETWORK, OPT_NO_NETWORK, OPT_SANDBOX_MODE, OPT_OPEN,
	OPT_PASS_ENV, OPT_MODELS, OPT_VERBOSE, OPT_VIA, OPT_SEND, OPT_FETCH, OPT_SLEEP, OPT_SLEEP_UNTIL,
	OPT_RULED,                    /* only for rules: */
	OPT_ATTACH = OPTION_SAID_IDS, OPT_ACCEPT, OPT_MAX_ANSWERS, OPT_ASK_GRACE, OPT_STRATEGY, OPT_OUTPUT_SCHEMA,
	OPT_MAX_COST, OPT_BY_NAME, OPT_COMPLETE, OPT_MODELS_IGNORE, OPT_LAUNCH_TIMEOUT, OPT_ENV,
	/* not in any rule: */
	OPT_ALLOW_EMPTY, OPT_RAW, OPT_CLEANUP, OPT_KIND, OPT_KNOWN_END, OPT_DRY_RUN, OPT_TRUST,
	OPT_INPUT, OPT_PASS_KEY
};

_Static_assert(OPT_RULED <= OPTION_SAID_IDS, "a bit for each");

const char step_usage[] =
    "awf-step [options] NAME -- command [arg ...]\n"
    "awf-step [options] -a AGENT|-m MODEL -p PROMPT|-t TOOL|--approve NAME\n"
    "awf-step [options] --each|--until COND|--max N|--parallel NAME -- command\n";

/* Words that options accept. */
static const char *const outcomes[] = { "success", "failure", NULL };
static const char *const models_modes[] = { "record", "replay", "live", NULL };
static const char *const input_forms[] = { "auto", "text", "lines", "nul", "json", "state", NULL };

/* These set no place in errors: the caller sets the option as the place. */
static int
check_variable(const char *name, struct error *err)
{
	return environment_name_valid(name, strlen(name)) ? 0 :
	    error_set(err, ERROR_USAGE, NULL, "'%s' is not a variable's name", name);
}

static int
check_variables(const char *pattern, struct error *err)
{
	return environment_pattern_valid(pattern) ? 0 :
	    error_set(err, ERROR_USAGE, NULL, "'%s' is not a variable's name, nor the "
	    "beginning of names and a star, such as MY_*", pattern);
}

static int
check_assignment(const char *text, struct error *err)
{
	return *text != '=' && *text != '\0' ? 0 :
	    error_set(err, ERROR_USAGE, NULL, "'%s' is no variable: NAME, or NAME=VALUE", text);
}

static int
check_pattern(const char *pattern, struct error *err)
{
	return frame_pattern_valid(pattern) ? 0 : error_set(err, ERROR_USAGE, NULL,
	    "'%s' does not stay below this directory: DIR/*.txt", pattern);
}

static int
check_pointer(const char *pointer, struct error *err)
{
	return *pointer == '/' ? 0 : error_set(err, ERROR_USAGE, NULL,
	    "'%s' is no JSON pointer, such as /metadata/user_id", pointer);
}

static int
check_kind(const char *word, struct error *err)
{
	return name_valid(word) ? 0 :
	    error_set(err, ERROR_USAGE, NULL, "'%s' is no word of A-Z a-z 0-9 _ -", word);
}

static int
settings_check_file(const char *name, struct error *err)
{
	return *name != '\0' ? 0 : error_set(err, ERROR_USAGE, NULL, "the name of the file is empty");
}

const struct option_spec step_options[] = {
	{ OPT_AGENT, 'a', "agent", "FILE", "an agent does the work: its file or its name",
	    OPTION_INTO_TEXT(struct settings, step.options.agent.file) },
	{ OPT_MODEL, 'm', "model", "MODEL", "the model to call: PROVIDER/NAME, or a short name",
	    OPTION_INTO_TEXT(struct settings, step.options.agent.model) },
	{ OPT_PROMPT, 'p', "prompt", "TEXT|@FILE", "the prompt; {{data}} is the item's data",
	    OPTION_INTO_TEXT(struct settings, step.options.agent.prompt) },
	{ OPT_TOOL, 't', "tool", "TOOL", "call this tool with the data, without a model",
	    OPTION_INTO_TEXT(struct settings, step.options.tool) },
	{ OPT_APPROVE, 0, "approve", NULL, "a person decides about the data",
	    OPTION_INTO_FLAG(struct settings, step.options.approve) },
	{ OPT_INPUT, 'i', "input", "FORM", "items: auto, text, lines, nul, json or state",
	    OPTION_INTO_WORD(struct settings, input, input_forms, 0) },
	{ OPT_NO_INPUT, 'n', "no-input", NULL, "read nothing; one item, null",
	    OPTION_INTO_VALUE(struct settings, input, INPUT_NONE) },
	{ OPT_JOIN, 's', "join", NULL, "join all items into one array",
	    OPTION_INTO_FLAG(struct settings, joined) },
	{ OPT_JOBS, 'j', "jobs", "N", "up to N calls, or branches, at a time",
	    OPTION_INTO_NUMBER(struct settings, jobs, 1, JOBS_LIMIT) },
	{ OPT_RAW, 'r', "raw", NULL, "print the data alone, not state lines",
	    OPTION_INTO_FLAG(struct settings, step.options.output.raw) },
	{ OPT_FILE, 'o', "output", "FILE", "write to FILE, which appears on success",
	    OPTION_INTO_TEXT_CHECKED(struct settings, file, settings_check_file) },
	{ OPT_WHEN, 0, "when", "COND", "only if COND ends with 0; it reads the state line",
	    OPTION_INTO_TEXT(struct settings, step.options.when.text) },
	{ OPT_TRY, 0, "try", NULL, "a failure is for if and ||: it fails no run",
	    OPTION_INTO_VALUE(struct settings, step.options.failure, FAILURE_TRY) },
	{ OPT_TIMEOUT, 0, "timeout", "DURATION", "end a try (an agent: the call) after so long",
	    OPTION_INTO_DURATION(struct settings, step.options.timeout_ms) },
	{ OPT_RETRIES, 0, "retries", "N", "try up to N times more (agents: 2, else 0)",
	    OPTION_INTO_NUMBER(struct settings, retries, 0, RETRIES_LIMIT) },
	{ OPT_SANDBOX, 0, "sandbox", "MODE", "workspace, read-only or none",
	    OPTION_INTO_WORD(struct settings, step.options.sandbox.mode, sandbox_modes, SANDBOX_NONE) },
	{ OPT_DRY_RUN, 0, "dry-run", NULL, "print what would be asked or run, and do not",
	    OPTION_INTO_FLAG(struct settings, dry_run) },

	{ OPTION_SECTION, 0, NULL, NULL, "Input and output" },
	{ OPT_ALLOW_EMPTY, 0, "allow-empty", NULL, "no input at all is no fault",
	    OPTION_INTO_FLAG(struct settings, allow_empty) },
	{ OPT_STATE, 'e', "state", NULL, "give the command the whole state line",
	    OPTION_INTO_FLAG(struct settings, step.options.command.feed_state) },
	{ OPT_OUTPUT_FORM, 'O', "output-form", "FORM", "results in stdout: text, lines, nul or json",
	    OPTION_INTO_WORD(struct settings, step.options.output.form, output_forms, 0) },
	{ OPT_BY_NAME, 0, "by-name", NULL, "with -s: an object with the names of the steps as keys",
	    OPTION_INTO_FLAG(struct settings, by_name) },
	{ OPT_COMPLETE, 0, "complete", "[=PATH,...]", "with -s: fail unless all that they made has come" },
	{ OPT_INTO, 0, "into", "KEY", "put the result into data.KEY and keep the rest",
	    OPTION_INTO_TEXT(struct settings, step.options.output.into) },
	{ OPT_QUIET, 'q', "quiet", NULL, "print nothing on stdout",
	    OPTION_INTO_FLAG(struct settings, quiet) },
	{ OPT_REQUIRE, 0, "require", "PATH", "take only what this step or call made; repeatable" },

	{ OPTION_SECTION, 0, NULL, NULL, "Groups of steps" },
	{ OPT_EACH, 0, "each", NULL, "the command is a group of steps: state lines that it prints pass",
	    OPTION_INTO_VALUE(struct settings, step.options.group.kind, GROUP_EACH) },
	{ OPT_WHILE, 0, "while", "COND", "a loop: go on as long as COND, which reads the state line, ends with 0",
	    OPTION_INTO_TEXT(struct settings, step.options.group.proceed.text) },
	{ OPT_UNTIL, 0, "until", "COND", "a loop: go on until COND, which reads what a round gave, ends with 0",
	    OPTION_INTO_TEXT(struct settings, step.options.group.until.text) },
	{ OPT_MAX, 0, "max", "N", "at most N rounds of the loop (10); alone: exactly N",
	    OPTION_INTO_NUMBER(struct settings, step.options.group.max_rounds, 1, ROUNDS_MAX) },
	{ OPT_PARALLEL, 0, "parallel", NULL, "a group of branches at a time, each a shell command",
	    OPTION_INTO_VALUE(struct settings, step.options.group.kind, GROUP_PARALLEL) },
	{ OPT_STRATEGY, 0, "strategy", "WORD", "branches that are to succeed: all (default), any or best-effort",
	    OPTION_INTO_WORD(struct settings, step.options.group.strategy, step_strategies, 0) },

	{ OPTION_SECTION, 0, NULL, NULL, "Agents" },
	{ OPT_ATTACH, 0, "attach", "FILE", "an image or PDF that goes with the prompt; repeatable",
	    OPTION_INTO_LIST(struct settings, step.options.agent.attach) },
	{ OPT_ALLOW_TOOLS, 0, "allow-tools", "LIST", "the tools that the agent may use, instead of its file's" },
	{ OPT_TOOLS_POLICY, 0, "tools-policy", "POLICY", "block or warn: of calls to other tools" },
	{ OPT_TRUST, 0, "trust", "DIGESTS", "what definitions of the project may run outside of a sandbox",
	    OPTION_CALL(work_read_trust) },
	{ OPT_OUTPUT_SCHEMA, 0, "output-schema", "FILE", "the answer is JSON that fits this JSON Schema",
	    OPTION_INTO_TEXT(struct settings, step.options.output_schema) },
	{ OPT_MAX_TURNS, 0, "max-turns", "N", "at most N turns of the agent (0: no limit)",
	    OPTION_INTO_NUMBER(struct settings, step.options.agent.max_turns, 0, LIMIT_MAX) },
	{ OPT_SESSION, 0, "session", "NAME", "go on with the latest conversation of this name",
	    OPTION_INTO_TEXT_CHECKED(struct settings, step.options.agent.session, session_check_name) },
	{ OPT_MAX_CHILDREN, 0, "max-children", "N", "at most N runs started by an agent's call (10; 0: no limit)",
	    OPTION_INTO_NUMBER(struct settings, step.options.agent.max_children, 0, LIMIT_MAX) },
	{ OPT_MAX_TOKENS_TOTAL, 0, "max-tokens-total", "N", "at most N tokens in a call (0: no limit)",
	    OPTION_INTO_NUMBER(struct settings, step.options.agent.max_tokens_total, 0, LIMIT_MAX) },
	{ OPT_MAX_COST, 0, "max-cost", "USD", "ask no more once a call has cost so much; with --models, too" },
	{ OPT_KNOWN_END, 0, "known-end", "WORD=REASON", "an answer that ends with WORD did so as stop, max_tokens and so on; repeatable",
	    OPTION_CALL(work_read_known_end) },
	{ OPT_VERBOSE, 'v', "verbose", NULL, "show an agent's text on stderr as it comes",
	    OPTION_INTO_FLAG(struct settings, step.options.agent.verbose) },

	{ OPTION_SECTION, 0, NULL, NULL, "What a command asks models" },
	{ OPT_MODELS, 0, "models", "[=MODE]", "record it, and answer from the record (default); replay: only from it; live: never; "
	    "openai=NAME, anthropic=NAME, google=NAME: by that endpoint" },
	{ OPT_MODELS_IGNORE, 0, "models-ignore", "POINTER", "a member of requests that may change; repeatable",
	    OPTION_INTO_LIST_CHECKED(struct settings, step.options.models.ignored, check_pointer) },

	{ OPTION_SECTION, 0, NULL, NULL, "Failures and tries" },
	{ OPT_RESCUE, 0, "rescue", NULL, "run on items that failed before, pass the others",
	    OPTION_INTO_FLAG(struct settings, step.options.rescue) },
	{ OPT_ALLOW_FAILURE, 0, "allow-failure", NULL, "a failed call goes on as null and is no failure",
	    OPTION_INTO_VALUE(struct settings, step.options.failure, FAILURE_ALLOWED) },
	{ OPT_FAIL_FAST, 0, "fail-fast", NULL, "after a failed call begin no further item, and end those that run",
	    OPTION_INTO_FLAG(struct settings, step.options.fail_fast) },
	{ OPT_CLEANUP, 0, "cleanup", NULL, "for a trap: works though the run is being cancelled",
	    OPTION_INTO_FLAG(struct settings, step.options.cleanup) },
	{ OPT_BACKOFF, 0, "backoff", "KIND", "constant, linear or exponential (default)" },
	{ OPT_DELAY, 0, "delay", "DURATION", "the first delay between tries (1s)",
	    OPTION_INTO_DURATION(struct settings, step.options.retry.delay_ms) },
	{ OPT_MAX_DELAY, 0, "max-delay", "DURATION", "the longest delay (60s)",
	    OPTION_INTO_DURATION(struct settings, step.options.retry.max_delay_ms) },
	{ OPT_RETRY_ON, 0, "retry-on", "CODES", "error codes to try again on, comma-separated" },
	{ OPT_TERMINAL, 0, "terminal", "OUTCOME", "the run ends as success or failure, whatever else happened",
	    OPTION_INTO_CHOICE(struct settings, step.options.terminal, outcomes) },

	{ OPTION_SECTION, 0, NULL, NULL, "Work that others do" },
	{ OPT_ASK, 0, "ask", "TEXT|@FILE", "ask somebody outside, whose answer is the result",
	    OPTION_INTO_TEXT(struct settings, step.options.question.text) },
	{ OPT_ACCEPT, 0, "accept", "COND", "with --ask: take an answer if COND, which reads its state line, ends with 0",
	    OPTION_INTO_TEXT(struct settings, step.options.question.accept.text) },
	{ OPT_MAX_ANSWERS, 0, "max-answers", "N", "with --ask: fail after N answers that were not taken",
	    OPTION_INTO_NUMBER(struct settings, step.options.question.max_answers, 0, LIMIT_MAX) },
	{ OPT_ASK_GRACE, 0, "ask-grace", "DURATION", "with --ask: how long it stays while nobody is there (10s)",
	    OPTION_INTO_DURATION(struct settings, step.options.question.grace_ms) },
	{ OPT_SLEEP, 0, "sleep", "DURATION", "pass items on after so long, whatever dies meanwhile",
	    OPTION_INTO_DURATION(struct settings, step.options.sleep.ms) },
	{ OPT_SLEEP_UNTIL, 0, "sleep-until", "TIME", "pass items on at a time: 09:30, 2026-12-24, 2026-12-24T09:30Z" },
	{ OPT_PENDING, 0, "pending", "[=DURATION]", "a command that exits 75 waits for its result, so long" },

	{ OPTION_SECTION, 0, NULL, NULL, "Elsewhere" },
	{ OPT_VIA, 0, "via", "LAUNCHER", "the command runs where LAUNCHER (ssh HOST, srun -n1) starts awf-exec",
	    OPTION_INTO_TEXT(struct settings, step.options.elsewhere.launcher) },
	{ OPT_LAUNCH_TIMEOUT, 0, "launch-timeout", "DURATION", "how long that may take (no limit)",
	    OPTION_INTO_DURATION(struct settings, step.options.elsewhere.launch_ms) },
	{ OPT_ENV, 0, "env", "NAME[=VALUE]", "a variable that the command has there too; repeatable",
	    OPTION_INTO_LIST_CHECKED(struct settings, step.options.elsewhere.variables, check_assignment) },
	{ OPT_SEND, 0, "send", "GLOB", "files of this directory that go there; repeatable",
	    OPTION_INTO_LIST_CHECKED(struct settings, step.options.elsewhere.send, check_pattern) },
	{ OPT_FETCH, 0, "fetch", "GLOB", "files that come back from there; repeatable",
	    OPTION_INTO_LIST_CHECKED(struct settings, step.options.elsewhere.fetch, check_pattern) },

	{ OPTION_SECTION, 0, NULL, NULL, "Effects and the sandbox" },
	{ OPT_EFFECTS, 0, "effects", "WORD[,idempotent]", "none, read, workspace or external" },
	{ OPT_NETWORK, 0, "network", NULL, "TCP and UDP are allowed in the sandbox",
	    OPTION_INTO_VALUE(struct settings, step.options.sandbox.network, SANDBOX_NETWORK_ALLOWED) },
	{ OPT_NO_NETWORK, 0, "no-network", NULL, "they are not, whatever agent and tools say",
	    OPTION_INTO_VALUE(struct settings, step.options.sandbox.network, SANDBOX_NETWORK_DENIED) },
	{ OPT_SANDBOX_MODE, 0, "sandbox-mode", "WORD", "require or prefer: where the system lacks a part",
	    OPTION_INTO_WORD(struct settings, step.options.sandbox.lacking, sandbox_lackings, SANDBOX_REQUIRES) },
	{ OPT_OPEN, 0, "open", "PATH", "may be changed in the sandbox, though AWF or git runs it or takes it up",
	    OPTION_INTO_LIST(struct settings, opened) },
	{ OPT_PASS_ENV, 0, "pass-env", "NAME", "the sandboxed program sees this variable, too, or MY_*",
	    OPTION_INTO_LIST_CHECKED(struct settings, pass_variables, check_variables) },
	{ OPT_PASS_KEY, 0, "pass-key", "NAME", "leave this API key in the environment of commands",
	    OPTION_INTO_LIST_CHECKED(struct settings, pass_keys, check_variable) },
	{ OPT_KIND, 0, "kind", "WORD", "the kind that is recorded",
	    OPTION_INTO_TEXT_CHECKED(struct settings, step.options.kind, check_kind) },
	OPTION_PSEUDO(OPT_COMMAND, "--"),
	{ 0, 0, NULL, NULL, NULL }
};

static int
apply_effects(struct step *step, const char *text, struct error *err)
{
	static const char flag[] = ",idempotent";
	char *word = memory_text(text);
	int index;

	if (text_ends(word, flag)) {
		word[strlen(word) - (sizeof flag - 1)] = '\0';
		step->options.idempotent = true;
	}
	index = options_word("--effects", word, effects_words(), err);
	if (index != -1)
		step->options.effects = (enum effects)((int)EFFECTS_NONE + index);
	free(word);
	return index == -1 ? -1 : 0;
}

static int
apply_complete(struct settings *s, const char *paths, struct error *err)
{
	s->complete = true;
	while (paths != NULL && *paths != '\0') {
		size_t len = strcspn(paths, ",");
		char *path = memory_copy(paths, len);

		if (!call_path_valid(path)) {
			error_set(err, ERROR_USAGE, "--complete", "'%s' is no path of a step", path);
			free(path);
			return -1;
		}
		list_take(&s->makers, path);
		paths += len + (paths[len] == ',');
	}
	return 0;
}

/* An empty value gives an empty list. */
static void
apply_allow_tools(struct settings *s, const char *value)
{
	char **tools = memory_zero(1, sizeof *tools);
	const char *part;
	size_t len;

	while ((part = text_part(&value, ',', &len)) != NULL)
		if (len > 0)
			list_take(&tools, memory_copy(part, len));
	list_free(s->step.options.agent.allow_tools);
	s->step.options.agent.allow_tools = tools;
}

static int
apply_pending(struct step *step, const char *value, struct error *err)
{
	long long ms = step->options.pending.timeout_ms;

	step->options.pending.asked = true;
	if (value != NULL && options_duration("--pending", value, &ms, err) == -1)
		return -1;
	step->options.pending.timeout_ms = ms;
	return 0;
}

/* Reads --models: MODE, and FAMILY=NAME for each family whose requests go to an endpoint, separated
 * by commas. */
static int
apply_models(struct step *step, const char *value, struct error *err)
{
	static const char *const families[] = { "openai", "anthropic", "google", NULL };
	char **parts = list_split(value, ',');
	int failed = value != NULL && parts == NULL ? options_word("--models", value, models_modes, err) : 0;

	step->options.models.mode = MODELS_RECORD;
	for (char **part = parts; failed == 0 && part != NULL && *part != NULL; part++) {
		char *name = strchr(*part, '=');
		char *family = name == NULL ? NULL : memory_copy(*part, (size_t)(name - *part));

		if (name == NULL) {
			int word = options_word("--models", *part, models_modes, err);

			failed = word == -1 ? -1 : 0;
			step->options.models.mode = (enum models_mode)(MODELS_RECORD + word);
		} else if (text_index(family, families) == -1 || !name_valid(name + 1)) {
			failed = error_set(err, ERROR_USAGE, "--models", "'%s': expected openai=NAME, anthropic=NAME or "
			    "google=NAME, the name of an endpoint (awf-endpoint(5))", *part);
		} else {
			list_add(&step->options.models.endpoints, *part);
		}
		free(family);
	}
	list_free(parts);
	return failed;
}

/* Handles an option that has no member. */
static int
apply_option(struct settings *s, int id, const char *value, struct error *err)
{
	struct step *step = &s->step;

	switch (id) {
	case OPT_ALLOW_TOOLS: apply_allow_tools(s, value); return 0;
	case OPT_MAX_COST:
		return money_parse(value, &s->step.options.max_cost) ? 0 : error_set(err, ERROR_USAGE, "--max-cost",
		    "'%s' is no amount of dollars, such as 0.50", value);
	case OPT_TOOLS_POLICY:
		return tools_policy_parse(value, "--tools-policy", &s->step.options.agent.tools_policy, err);
	case OPT_PENDING: return apply_pending(step, value, err);
	case OPT_SLEEP_UNTIL:
		step->options.sleep.until = value;
		return clock_parse_coming(value, clock_wall(), &step->options.sleep.due) == 0 ? 0 :
		    error_set(err, ERROR_USAGE, "--sleep-until", "'%s' is no time (as in 09:30, 2026-12-24, "
		    "2026-12-24T09:30Z)", value);
	case OPT_MODELS: return apply_models(step, value, err);
	case OPT_COMPLETE: return apply_complete(s, value, err);
	case OPT_BACKOFF: return retry_parse_backoff(&step->options.retry, value, err);
	case OPT_RETRY_ON: return retry_parse_codes(&step->options.retry, value, err);
	case OPT_REQUIRE: return gate_require(&step->options.gate, value, err);
	default:
		assert(id == OPT_EFFECTS);
		return apply_effects(step, value, err);
	}
}

/* ---- combinations ---- */

#define SAID(id) OPTION_SAID(id)
#define COMMAND SAID(OPT_COMMAND)
#define AGENT (SAID(OPT_AGENT) | SAID(OPT_MODEL))
#define SLEEP (SAID(OPT_SLEEP) | SAID(OPT_SLEEP_UNTIL))
#define WORK \
	(COMMAND | AGENT | SAID(OPT_TOOL) | SAID(OPT_APPROVE) | SAID(OPT_ASK) | SAID(OPT_TERMINAL) | SLEEP)
#define LOOP (SAID(OPT_WHILE) | SAID(OPT_UNTIL) | SAID(OPT_MAX))
#define GROUP (SAID(OPT_EACH) | SAID(OPT_PARALLEL) | LOOP)
#define RETRYING (SAID(OPT_RETRIES) | SAID(OPT_BACKOFF) | SAID(OPT_DELAY) | SAID(OPT_MAX_DELAY) | \
    SAID(OPT_RETRY_ON))
#define SANDBOX (SAID(OPT_SANDBOX) | SAID(OPT_NETWORK) | SAID(OPT_NO_NETWORK) | \
    SAID(OPT_SANDBOX_MODE) | SAID(OPT_PASS_ENV) | SAID(OPT_OPEN))
#define SPARED (SAID(OPT_TRY) | SAID(OPT_ALLOW_FAILURE))

/* The first broken rule is reported. */
static const struct option_rule rules[] = {
	{ SAID(OPT_TERMINAL), COMMAND | AGENT | SAID(OPT_TOOL) | GROUP | SAID(OPT_APPROVE) |
	    SAID(OPT_ASK) | SLEEP, 0, "not with work to do: it decides about the run alone" },
	{ SAID(OPT_TERMINAL), SAID(OPT_INTO) | SPARED | RETRYING | SAID(OPT_EFFECTS), 0,
	    "not with %s, which is about work or its result: it does none" },
	{ SAID(OPT_TERMINAL), SAID(OPT_TIMEOUT), SAID(OPT_WHEN),
	    "not with %s, which is about work or its result: it does none" },
	{ COMMAND, AGENT | SAID(OPT_TOOL), 0, "no command together with %s: one of them does the work" },
	{ SAID(OPT_TOOL), AGENT, 0, "not with %s: an agent has tools by its file, or by --allow-tools" },
	{ SAID(OPT_APPROVE) | SAID(OPT_ASK), COMMAND | GROUP, 0, "not together with a command or a loop" },
	{ SAID(OPT_ASK), AGENT | SAID(OPT_TOOL) | SAID(OPT_APPROVE) | SAID(OPT_PROMPT), 0, NULL },
	{ SAID(OPT_APPROVE), AGENT | SAID(OPT_TOOL), 0, NULL },
	{ SAID(OPT_APPROVE) | SAID(OPT_ASK), SAID(OPT_TIMEOUT), 0,
	    "not with %s: who is asked may take any time; a command with --pending=24h waits no longer for its result" },
	{ SAID(OPT_APPROVE) | SAID(OPT_ASK), RETRYING | SAID(OPT_EFFECTS), 0, "not with %s: nothing is run" },
	{ SAID(OPT_APPROVE), SAID(OPT_INTO), 0, "not with %s: nothing is run" },
	{ SLEEP, COMMAND | GROUP | AGENT | SAID(OPT_TOOL) | SAID(OPT_APPROVE) | SAID(OPT_ASK) | SAID(OPT_PROMPT),
	    0, "not together with %s: it passes items on, later" },
	{ SLEEP, SAID(OPT_TIMEOUT) | RETRYING | SAID(OPT_EFFECTS) | SAID(OPT_INTO), 0,
	    "not with %s: nothing is run" },
	{ SAID(OPT_SLEEP), SAID(OPT_SLEEP_UNTIL), 0, NULL },
	{ 0, 0, SAID(OPT_ASK), NULL, OPT_ACCEPT },
	{ 0, 0, SAID(OPT_ASK), NULL, OPT_MAX_ANSWERS },
	{ 0, 0, SAID(OPT_ASK), NULL, OPT_ASK_GRACE },
	{ SAID(OPT_PENDING), GROUP, 0, "only with a command, and not with a group of steps" },
	{ SAID(OPT_PENDING), 0, COMMAND, "only with a command, and not with a group of steps" },
	{ SAID(OPT_EACH), LOOP, 0, "not with %s: it makes a loop of each item" },
	{ SAID(OPT_PARALLEL), SAID(OPT_EACH) | LOOP, 0, NULL },
	{ 0, 0, SAID(OPT_PARALLEL), NULL, OPT_STRATEGY },
	{ GROUP, 0, COMMAND, "only with a command, which is what is done each time" },
	{ SAID(OPT_STATE), GROUP, 0, "not with a group: what it runs reads the state line" },
	{ SAID(OPT_EFFECTS), GROUP, 0, "not with a group: its effects are those of the steps in it" },
	{ SAID(OPT_NO_INPUT), AGENT, SAID(OPT_PROMPT), "an agent without input needs a prompt: -p TEXT" },
	{ 0, 0, AGENT, "only with %s: commands and tools get the data alone", OPT_ATTACH },
	{ SAID(OPT_PROMPT) | SAID(OPT_ALLOW_TOOLS) | SAID(OPT_TOOLS_POLICY) | SAID(OPT_MAX_TURNS) |
	    SAID(OPT_MAX_TOKENS_TOTAL) | SAID(OPT_MAX_CHILDREN) | SAID(OPT_VERBOSE) | SAID(OPT_SESSION), 0, AGENT, NULL },
	{ SAID(OPT_SESSION), SAID(OPT_JOBS), 0, "not with %s: its calls go on with one another" },
	{ 0, 0, AGENT | SAID(OPT_ASK), NULL, OPT_OUTPUT_SCHEMA },
	{ SAID(OPT_MODELS), GROUP, 0, "not with a group: say it of the steps that ask models" },
	{ SAID(OPT_MODELS), 0, COMMAND, "only with a command: what an agent asks is recorded anyway" },
	{ 0, 0, SAID(OPT_MODELS), NULL, OPT_MODELS_IGNORE },
	{ 0, 0, AGENT | SAID(OPT_MODELS), NULL, OPT_MAX_COST },
	{ SAID(OPT_BACKOFF) | SAID(OPT_DELAY) | SAID(OPT_MAX_DELAY) | SAID(OPT_RETRY_ON), 0,
	    AGENT | SAID(OPT_RETRIES), "only with --retries: nothing is tried again" },
	{ SAID(OPT_STATE) | SAID(OPT_OUTPUT_FORM), 0, COMMAND, "only with a command" },
	{ SAID(OPT_INTO), SAID(OPT_OUTPUT_FORM), 0, "not with %s: there may be several results" },
	{ 0, 0, SAID(OPT_JOIN), NULL, OPT_BY_NAME },
	{ 0, 0, SAID(OPT_JOIN), NULL, OPT_COMPLETE },
	{ SAID(OPT_JOBS), SAID(OPT_JOIN), SAID(OPT_PARALLEL), "not with %s: there is one call" },
	{ SAID(OPT_FAIL_FAST), SAID(OPT_JOIN) | SAID(OPT_NO_INPUT), 0, "not with %s: there is one call" },
	{ SAID(OPT_FAIL_FAST), SAID(OPT_ALLOW_FAILURE) | SAID(OPT_TERMINAL), 0, "not with %s: no call fails" },
	{ SAID(OPT_RESCUE), SAID(OPT_JOIN) | SPARED, 0, NULL },
	{ SAID(OPT_REQUIRE), SAID(OPT_NO_INPUT), 0, "not with %s: there is no input to come from a step" },
	{ SAID(OPT_REQUIRE), SAID(OPT_RESCUE), 0,
	    "not with %s: what failed was not made by the step that it came from" },
	{ SAID(OPT_ASK) | SAID(OPT_APPROVE) | SAID(OPT_TERMINAL) | SLEEP, SANDBOX, 0,
	    "not with %s, which is about a sandbox: nothing is run" },
	{ SANDBOX, GROUP, 0, "not with a group: its steps are recorded outside, and say it themselves" },
	{ SAID(OPT_VIA), GROUP, 0, "not with a group: the steps in it are recorded here, and say it themselves" },
	{ SAID(OPT_VIA), 0, COMMAND, "only with a command; a tool says it in its file" },
	{ SAID(OPT_VIA), SAID(OPT_MODELS), 0, "not with %s: what records that is reached from here alone" },
	{ 0, 0, SAID(OPT_VIA), NULL, OPT_LAUNCH_TIMEOUT },
	{ SAID(OPT_SEND) | SAID(OPT_FETCH), 0, SAID(OPT_VIA), "only with %s: here the command has the files" },
	{ 0, 0, SAID(OPT_VIA), "only with %s: here a command has the environment of the workflow", OPT_ENV },
	{ SAID(OPT_NETWORK), SAID(OPT_NO_NETWORK), 0, NULL },
	{ SAID(OPT_TRY), SAID(OPT_ALLOW_FAILURE), 0, NULL },
	{ SAID(OPT_FILE), SAID(OPT_QUIET), 0, NULL },
};

/* All options that were given, except those given with their default. */
static uint64_t
settings_said_options(const struct settings *s)
{
	uint64_t all = s->given;

	if (s->step.options.command.argv != NULL)
		all |= COMMAND;
	if (s->input != INPUT_NONE)
		all &= ~SAID(OPT_NO_INPUT);
	if (s->step.options.output.form == OUTPUT_TEXT)
		all &= ~SAID(OPT_OUTPUT_FORM);
	if (s->step.options.group.kind != GROUP_PARALLEL && s->jobs == 1)
		all &= ~SAID(OPT_JOBS);
	return all;
}

/* Sets what depends on several options. */
static int
settings_derive_options(struct settings *s, struct error *err)
{
	const uint64_t work = WORK | SAID(OPT_PENDING) | GROUP;
	struct step *step = &s->step;
	struct agent_options *agent = &step->options.agent;
	struct retry *retry = &step->options.retry;
	bool passes;
	const bool asks = step->options.group.proceed.text != NULL || step->options.group.until.text != NULL;

	if (open_files_check(&workers_files, "-j", s->jobs, err) == -1)
		return -1;
	/* Any option for loops makes the step a loop. */
	if (asks || step->options.group.max_rounds > 0)
		step->options.group.kind = GROUP_LOOP;
	if (asks && step->options.group.max_rounds == 0)
		step->options.group.max_rounds = ROUNDS;
	step->options.sleep.asked = (s->given & SLEEP) != 0;
	passes = step->options.group.kind != GROUP_NONE;
	/* For branches, -j is the number that run at a time. */
	if (step->options.group.kind == GROUP_PARALLEL) {
		step->options.group.jobs = (size_t)s->jobs;
		s->jobs = 0;
	}
	if (s->jobs == 0)
		s->jobs = 1;

	/* A prompt without an agent or model is for the default model. */
	if ((settings_said_options(s) & work) == 0 && (s->given & SAID(OPT_PROMPT)) != 0) {
		if (work_default_model(&s->usual_model, &agent->model_place, err) != 0)
			return -1;
		agent->model = s->usual_model;
		if (agent->model != NULL)
			s->given |= SAID(OPT_MODEL);
	}

	/* Retries: agents retry after temporary errors by default; other steps after any failure of
	 * the work, but only with --retries. A group may fail with the error of any step; calls
	 * that were cancelled are not retried. */
	if (s->retries >= 0)
		retry->retries = (int)s->retries;
	else if (agent->file == NULL && agent->model == NULL)
		retry->retries = 0;
	if (!retry->codes_given && agent->file == NULL && agent->model == NULL) {
		retry->codes[ERROR_EXIT_STATUS] = retry->codes[ERROR_TIMEOUT] = true;
		retry->codes[ERROR_SCHEMA] = retry->codes[ERROR_LOST] = retry->codes_given = true;
		for (int code = 0; passes && code < ERROR_CODES; code++)
			if (error_class((enum error_code)code) == CLASS_WORK ||
			    error_class((enum error_code)code) == CLASS_TRANSIENT)
				retry->codes[code] = true;
		if (passes) {
			retry->codes[ERROR_NONE] = retry->codes[ERROR_CANCELLED] = false;
			retry->codes[ERROR_DOWNSTREAM_CLOSED] = retry->codes[ERROR_DIVERGENCE] = false;
		}
	}

	/* Keys that commands get are also passed into a sandbox. */
	for (char **name = s->pass_keys; name != NULL && *name != NULL; name++)
		list_add(&s->pass_variables, *name);
	for (char **name = s->pass_keys; name != NULL && *name != NULL; name++)
		list_add(&s->step.options.elsewhere.variables, *name);
	step->options.sandbox.passed = s->pass_variables;
	step->options.sandbox.opened = s->opened;
	if (step->options.agent.max_children < 0)
		step->options.agent.max_children = CHILDREN;
	return 0;
}

static int
settings_check_words(const struct settings *s, struct options *o, struct error *err)
{
	const char *name = s->step.options.name;
	char *const *words = s->step.options.group.kind == GROUP_PARALLEL ? s->step.options.command.argv : NULL;

	if (name == NULL)
		return error_set(err, ERROR_USAGE, NULL,
		    "a NAME for the step is missing (awf-step --help)");
	if (!name_valid(name))
		return error_set(err, ERROR_USAGE, name, "no name of a step: A-Z a-z 0-9 _ - only%s",
		    text_ends(name, "\r") ? " (a carriage return follows it, as where lines end as on Windows: CRLF)" :
		    "");
	if (s->step.options.elsewhere.launcher != NULL && s->step.options.elsewhere.launcher[strspn(s->step.options.elsewhere.launcher, " \t\n")] == '\0')
		return error_set(err, ERROR_USAGE, "--via", "the launcher is empty: ssh HOST, srun -n1 …");
	if ((settings_said_options(s) & (WORK | GROUP)) == 0 &&
	    (settings_said_options(s) & SAID(OPT_PROMPT)) != 0)
		return error_set(err, ERROR_USAGE, "-p", "no model is to be asked: say -m PROVIDER/MODEL, "
		    "or -a AGENT, or set AWF_MODEL");
	if ((settings_said_options(s) & (WORK | GROUP)) == 0)
		return error_set(err, ERROR_USAGE, name,
		    "nothing to do: say -- command, -a AGENT, -m MODEL, -t TOOL, --approve or --ask");
	/* Each word is a shell command of its own; one that is only the program awf-step,
	 * without arguments, would do nothing. */
	for (; words != NULL && *words != NULL; words++)
		if (strcmp(path_base(*words), "awf-step") == 0)
			return error_set(err, ERROR_USAGE, "--parallel", "each word after -- is a branch of its "
			    "own: quote each, as in -- 'awf-step a -- cat' 'awf-step b -- wc -w'");
	o->said = settings_said_options(s);
	return options_check(o, rules, sizeof rules / sizeof *rules, err);
}

/* Finds the NAME in an invalid command line, to record it in the run: the last word before the
 * error that can be a name. It may be the argument of an unknown option instead. */
static void
settings_guess_step_name(struct settings *s, struct options *o)
{
	struct settings unused = { .file = NULL };
	struct error ignored;
	const char *last = NULL;
	int id;

	options_bind(o, &unused);
	while (s->step.options.name == NULL && (o->cluster = NULL, id = options_next(o, &ignored)) != OPTION_END)
		if (id == OPTION_WORD && name_valid(o->value))
			last = o->value;
	options_bind(o, s);
	settings_free(&unused);
	if (s->step.options.name == NULL)
		s->step.options.name = last;
}

int
settings_parse(struct settings *s, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	memset(s, 0, sizeof *s);
	s->step.options.agent.max_turns = s->step.options.agent.max_tokens_total = s->step.options.agent.max_children = -1;
	s->retries = s->step.options.max_cost = -1;
	s->step.options.question.grace_ms = ASK_GRACE_MS;
	retry_default(&s->step.options.retry);
	s->step.options.group.proceed.word = "while";
	s->step.options.group.until.word = "until";
	s->step.options.when.word = "when";
	s->step.options.question.accept.word = "accept";
	options_begin(&o, step_options, argc, argv);
	options_bind(&o, s);
	o.stop_at_dashes = true;
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (OPTION_ASKS(id))
			return id;
		if (id == OPTION_WORD) {
			if (s->step.options.name != NULL)
				return error_set(err, ERROR_USAGE, o.value,
				    "one NAME only (a command goes after --)");
			s->step.options.name = o.value;
			if (!list_has(argv + o.next, "--"))
				o.hint = "a command goes after --: awf-step NAME -- COMMAND";
			continue;
		}
		if (id == -1 || apply_option(s, id, o.value, err) == -1) {
			settings_guess_step_name(s, &o);
			return -1;
		}
	}
	s->given = o.said;
	if (o.saw_dashes) {
		if (o.next >= argc)
			return error_set(err, ERROR_USAGE, "--", "a command is missing after it");
		s->step.options.command.argv = argv + o.next;
	}
	return settings_derive_options(s, err) != 0 ? -1 : settings_check_words(s, &o, err);
}

void
settings_free(struct settings *s)
{
	list_free(s->step.options.agent.allow_tools);
	list_free(s->step.options.agent.attach);
	list_free(s->pass_keys);
	list_free(s->step.options.elsewhere.variables);
	list_free(s->step.options.elsewhere.send);
	list_free(s->step.options.elsewhere.fetch);
	list_free(s->makers);
	list_free(s->pass_variables);
	list_free(s->step.options.models.endpoints);
	list_free(s->step.options.models.ignored);
	list_free(s->opened);
	free(s->usual_model);
	gate_free(&s->step.options.gate);
}
