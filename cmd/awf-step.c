/*
 * awf-step: runs one step of a workflow for each item on stdin.
 *
 * What the code relies on:
 *   - The begin is in the run's roster before input is read, the end before stdout
 *     is closed; a process that dies in between is seen to be dead.
 *   - stdout gets whole lines only, and only of calls whose end is in the transcript.
 *   - SIGPIPE is ignored here and default in children; who finds nobody reading ends
 *     its work, records that, and then dies of SIGPIPE as any filter would.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/prompt.h"
#include "agent/step.h"
#include "agent/step_load.h"
#include "agent/stream.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "exec/descendants.h"
#include "exec/mask.h"
#include "json/writer.h"
#include "program.h"
#include "record/call.h"
#include "record/outcome.h"
#include "replay/history.h"

#define PROGRAM "awf-step"
#define JOBS_LIMIT 1024
#define LIMIT_MAX (1LL << 50) /* of turns and tokens */

extern char **environ;

enum {
	OPT_AGENT = 1, OPT_MODEL, OPT_PROMPT, OPT_TOOL, OPT_ALLOW_TOOLS, OPT_MAX_TURNS,
	OPT_MAX_TOKENS_TOTAL, OPT_INPUT, OPT_NO_INPUT, OPT_ALLOW_EMPTY, OPT_STATE, OPT_OUTPUT_FORM,
	OPT_JOIN, OPT_BY_NAME, OPT_JOBS, OPT_INTO, OPT_RAW, OPT_FILE, OPT_QUIET, OPT_WHEN,
	OPT_RESCUE, OPT_ALLOW_FAILURE, OPT_TRY, OPT_TIMEOUT, OPT_RETRIES, OPT_BACKOFF, OPT_DELAY,
	OPT_MAX_DELAY, OPT_RETRY_ON, OPT_EFFECTS, OPT_REQUIRE, OPT_PASS_KEY, OPT_KIND, OPT_DRY_RUN, OPT_VERBOSE
};

static const char usage[] =
    "awf-step [options] NAME -- command [arg ...]\n"
    "awf-step [options] -a AGENT NAME\n"
    "awf-step [options] -t TOOL NAME\n";

static const struct option_spec table[] = {
	{ OPT_AGENT, 'a', "agent", "FILE", "an agent does the work: an agent file or its name" },
	{ OPT_MODEL, 'm', "model", "[PROVIDER/]MODEL", "the model to call" },
	{ OPT_PROMPT, 'p', "prompt", "TEXT|@FILE", "the prompt; {{data}} is the item's data" },
	{ OPT_TOOL, 't', "tool", "TOOL", "call this tool with the data, without a model" },
	{ OPT_ALLOW_TOOLS, 0, "allow-tools", "LIST", "the tools that the agent may use, instead of its file's" },
	{ OPT_MAX_TURNS, 0, "max-turns", "N", "at most N turns of the agent (0: no limit)" },
	{ OPT_MAX_TOKENS_TOTAL, 0, "max-tokens-total", "N", "at most N tokens in a call (0: no limit)" },
	{ OPT_INPUT, 'i', "input", "FORM", "items of stdin: auto, text, lines, nul, json or state" },
	{ OPT_NO_INPUT, 'n', "no-input", NULL, "read nothing; one item, null" },
	{ OPT_ALLOW_EMPTY, 0, "allow-empty", NULL, "no input at all is no fault" },
	{ OPT_STATE, 'e', "state", NULL, "give the command the whole state line" },
	{ OPT_OUTPUT_FORM, 'O', "output-form", "FORM", "results in stdout: text, lines, nul or json" },
	{ OPT_JOIN, 's', "join", NULL, "join all items into one array" },
	{ OPT_BY_NAME, 0, "by-name", NULL, "with -s: an object with the names of the steps as keys" },
	{ OPT_JOBS, 'j', "jobs", "N", "up to N calls at a time; the order stays" },
	{ OPT_INTO, 0, "into", "KEY", "put the result into data.KEY and keep the rest" },
	{ OPT_RAW, 'r', "raw", NULL, "print the data alone" },
	{ OPT_FILE, 'o', "output", "FILE", "write to FILE, which appears when all succeeded" },
	{ OPT_QUIET, 'q', "quiet", NULL, "print nothing on stdout" },
	{ OPT_WHEN, 0, "when", "COND", "call only if the shell command COND ends with 0" },
	{ OPT_REQUIRE, 0, "require", "PATH", "take only what this step or call made; repeatable" },
	{ OPT_RESCUE, 0, "rescue", NULL, "run on items that failed before, pass the others" },
	{ OPT_ALLOW_FAILURE, 0, "allow-failure", NULL, "a failed call goes on as null and is no failure" },
	{ OPT_TRY, 0, "try", NULL, "a failed call prints nothing and does not fail the run" },
	{ OPT_TIMEOUT, 0, "timeout", "DURATION", "end a try (an agent: the call) after so long" },
	{ OPT_RETRIES, 0, "retries", "N", "try up to N times more (agents: 2, else 0)" },
	{ OPT_BACKOFF, 0, "backoff", "KIND", "constant, linear or exponential (default)" },
	{ OPT_DELAY, 0, "delay", "DURATION", "the first delay between tries (1s)" },
	{ OPT_MAX_DELAY, 0, "max-delay", "DURATION", "the longest delay (60s)" },
	{ OPT_RETRY_ON, 0, "retry-on", "CODES", "error codes to try again on, comma-separated" },
	{ OPT_EFFECTS, 0, "effects", "WORD[,idempotent]", "none, read, workspace or external" },
	{ OPT_PASS_KEY, 0, "pass-key", "NAME", "leave this API key in the environment of commands" },
	{ OPT_KIND, 0, "kind", "WORD", "the kind that is recorded" },
	{ OPT_DRY_RUN, 0, "dry-run", NULL, "print what would be asked or run, and do not" },
	{ OPT_VERBOSE, 'v', "verbose", NULL, "show an agent's text on stderr as it comes" },
	{ 0, 0, NULL, NULL, NULL }
};

/* The command line. */
struct settings {
	struct step step;
	struct step_source source;
	const char *file;
	const char **pass_keys;
	size_t pass_key_count;
	enum input_form input;
	long long jobs, retries;               /* retries -1: the default */
	bool joined, by_name, allow_empty, quiet, dry_run;
};

/* What the process acquires. */
struct resources {
	struct run run;
	struct mask mask;
	struct roster roster;
	struct keys keys;
	struct step_loaded loaded;
	struct replacement output;
	struct history *history;   /* NULL: the run has none */
	struct recall recall;
	bool own_run, has_output;
	char *path, *enclosing;
};

static volatile int signal_number;

static void
note_signal(int number)
{
	signal_number = number;
}

static void
report(const char *text)
{
	fprintf(stderr, PROGRAM ": %s\n", text);
}

/* ---- options ---- */

/* A word of a list; -1 with ERROR_USAGE and the nearest word. */
static int
choose(const char *option, const char *const *words, const char *text, int *choice,
    struct error *err)
{
	const char *near;
	int i;

	for (i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], text) == 0) {
			*choice = i;
			return 0;
		}
	near = text_suggest(text, words);
	if (near != NULL)
		return error_set(err, ERROR_USAGE, option, "'%s' is no such form (did you mean '%s'?)",
		    text, near);
	return error_set(err, ERROR_USAGE, option, "'%s' is no such form", text);
}

static int
parse_effects(struct step *step, const char *text, struct error *err)
{
	static const char flag[] = ",idempotent";
	char *word = memory_text(text);
	size_t len = strlen(word);
	int result;

	if (len >= sizeof flag - 1 && strcmp(word + len - (sizeof flag - 1), flag) == 0) {
		word[len - (sizeof flag - 1)] = '\0';
		step->idempotent = true;
	}
	result = effects_parse(word, &step->effects);
	if (result == -1)
		error_set(err, ERROR_USAGE, "--effects",
		    "'%s' is none of none, read, workspace, external", text);
	free(word);
	return result;
}

static char **
split_list(const char *text)
{
	char **list = memory_zero(strlen(text) + 2, sizeof *list);
	size_t count = 0, len;

	for (; *text != '\0'; text += len + (text[len] == ',')) {
		len = strcspn(text, ",");
		if (len > 0)
			list[count++] = memory_copy(text, len);
	}
	return list;
}

static int
set_failure(struct step *step, enum failure_mode mode, struct error *err)
{
	if (step->failure != FAILURE_TRAVELS && step->failure != mode)
		return error_set(err, ERROR_USAGE, "--try", "not with --allow-failure");
	step->failure = mode;
	return 0;
}

static int
apply_duration(const char *option, const char *value, int64_t *out, struct error *err)
{
	long long ms;

	if (options_duration(option, value, &ms, err) == -1)
		return -1;
	*out = ms;
	return 0;
}

static int
apply_limit(const char *option, const char *value, int64_t *out, struct error *err)
{
	long long number;

	if (options_number(option, value, 0, LIMIT_MAX, &number, err) == -1)
		return -1;
	*out = number;
	return 0;
}

static int
apply_kind(struct settings *s, const char *value, struct error *err)
{
	if (!name_valid(value))
		return error_set(err, ERROR_USAGE, "--kind", "'%s' is no word of A-Z a-z 0-9 _ -", value);
	s->source.kind = value;
	return 0;
}

static int
apply_forms(struct settings *s, int id, const char *value, struct error *err)
{
	static const char *const inputs[] = { "auto", "text", "lines", "nul", "json", "state", NULL };
	static const char *const outputs[] = { "text", "lines", "nul", "json", NULL };
	int choice;

	if (id == OPT_INPUT) {
		if (choose("-i", inputs, value, &choice, err) == -1)
			return -1;
		s->input = (enum input_form)choice;
	} else {
		if (choose("-O", outputs, value, &choice, err) == -1)
			return -1;
		s->step.output = (enum output_form)choice;
	}
	return 0;
}

/* Options whose argument needs a look; 0, or -1. */
static int
apply_valued(struct settings *s, int id, const char *value, struct error *err)
{
	struct step *step = &s->step;

	switch (id) {
	case OPT_MAX_TURNS:
		return apply_limit("--max-turns", value, &s->source.max_turns, err);
	case OPT_MAX_TOKENS_TOTAL:
		return apply_limit("--max-tokens-total", value, &s->source.max_tokens_total, err);
	case OPT_INPUT:
	case OPT_OUTPUT_FORM:
		return apply_forms(s, id, value, err);
	case OPT_JOBS:
		return options_number("-j", value, 1, JOBS_LIMIT, &s->jobs, err);
	case OPT_TIMEOUT:
		return apply_duration("--timeout", value, &step->timeout_ms, err);
	case OPT_RETRIES:
		return options_number("--retries", value, 0, 1000000, &s->retries, err);
	case OPT_BACKOFF:
		return retry_parse_backoff(&step->retry, value, err);
	case OPT_DELAY:
		return apply_duration("--delay", value, &step->retry.delay_ms, err);
	case OPT_MAX_DELAY:
		return apply_duration("--max-delay", value, &step->retry.max_delay_ms, err);
	case OPT_RETRY_ON:
		return retry_parse_codes(&step->retry, value, err);
	case OPT_REQUIRE:
		return gate_require(&step->gate, value, err);
	case OPT_EFFECTS:
		return parse_effects(step, value, err);
	case OPT_KIND:
		return apply_kind(s, value, err);
	default:
		return 0;
	}
}

static int
apply_option(struct settings *s, int id, const char *value, struct error *err)
{
	struct step *step = &s->step;

	switch (id) {
	case OPT_AGENT: s->source.agent_file = value; break;
	case OPT_MODEL: s->source.model = value; break;
	case OPT_PROMPT: s->source.prompt = value; break;
	case OPT_TOOL: s->source.tool = value; break;
	case OPT_ALLOW_TOOLS: s->source.allow_tools = split_list(value); break;
	case OPT_NO_INPUT: s->input = INPUT_NONE; break;
	case OPT_ALLOW_EMPTY: s->allow_empty = true; break;
	case OPT_STATE: step->feed_state = true; break;
	case OPT_JOIN: s->joined = true; break;
	case OPT_BY_NAME: s->by_name = true; break;
	case OPT_INTO: step->into = value; break;
	case OPT_RAW: step->raw = true; break;
	case OPT_FILE: s->file = value; break;
	case OPT_QUIET: s->quiet = true; break;
	case OPT_WHEN: step->when = value; break;
	case OPT_RESCUE: step->rescue = true; break;
	case OPT_ALLOW_FAILURE: return set_failure(step, FAILURE_ALLOWED, err);
	case OPT_TRY: return set_failure(step, FAILURE_TRY, err);
	case OPT_DRY_RUN: s->dry_run = true; break;
	case OPT_VERBOSE: step->live = true; break;
	case OPT_PASS_KEY:
		s->pass_keys = memory_array(s->pass_keys, s->pass_key_count + 1, sizeof *s->pass_keys);
		s->pass_keys[s->pass_key_count++] = value;
		break;
	default:
		return apply_valued(s, id, value, err);
	}
	return 0;
}

/* What cannot be said together. */
static int
check_settings(const struct settings *s, struct error *err)
{
	const struct step *step = &s->step;
	const bool agent = s->source.agent_file != NULL || s->source.model != NULL;
	const struct { bool wrong; const char *place, *what; } rules[] = {
		{ step->name == NULL, NULL, "a NAME for the step is missing (awf-step --help)" },
		{ step->name != NULL && !name_valid(step->name), step->name,
		    "no name of a step: A-Z a-z 0-9 _ - only" },
		{ step->command == NULL && !agent && s->source.tool == NULL, step->name,
		    "nothing to do: say -- command, -a AGENT, -m MODEL or -t TOOL" },
		{ step->command != NULL && (agent || s->source.tool != NULL), "--",
		    "a command not together with -a, -m or -t" },
		{ s->source.tool != NULL && agent, "-t", "not with -a or -m" },
		{ agent && s->source.prompt == NULL && s->input == INPUT_NONE, "-n",
		    "an agent without input needs a prompt: -p TEXT" },
		{ s->source.prompt != NULL && !agent, "-p", "only with -a or -m" },
		{ s->source.allow_tools != NULL && !agent, "--allow-tools", "only with -a or -m" },
		{ (s->source.max_turns >= 0 || s->source.max_tokens_total >= 0) && !agent, "--max-turns",
		    "limits of turns and tokens only with -a or -m" },
		{ step->feed_state && step->command == NULL, "-e", "only with a command" },
		{ step->output != OUTPUT_TEXT && step->command == NULL, "-O", "only with a command" },
		{ step->output != OUTPUT_TEXT && step->into != NULL, "--into",
		    "not with -O: there may be several results" },
		{ s->by_name && !s->joined, "--by-name", "only with -s" },
		{ s->joined && s->jobs > 1, "-j", "not with -s: there is one call" },
		{ s->joined && step->rescue, "--rescue", "not with -s" },
		{ step->gate.count > 0 && s->input == INPUT_NONE, "--require",
		    "not with -n: there is no input to come from a step" },
		{ step->gate.count > 0 && step->rescue, "--require",
		    "not with --rescue: what failed was not made by the step that it came from" },
		{ step->rescue && step->failure != FAILURE_TRAVELS, "--rescue",
		    "not with --try or --allow-failure" },
		{ s->file != NULL && s->quiet, "-o", "not with -q" },
		{ s->file != NULL && *s->file == '\0', "-o", "the name of the file is empty" },
	};
	size_t i;

	for (i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].wrong)
			return error_set(err, ERROR_USAGE, rules[i].place, "%s", rules[i].what);
	return 0;
}

/* Retries as asked for: agents try again on what may pass, the others on any
 * failure of the work, and only if told to. */
static void
settle_retries(struct settings *s)
{
	struct retry *retry = &s->step.retry;

	if (s->retries >= 0)
		retry->retries = (int)s->retries;
	else if (s->source.agent_file == NULL && s->source.model == NULL)
		retry->retries = 0;
	if (!retry->codes_given && s->source.agent_file == NULL && s->source.model == NULL) {
		retry->codes[ERROR_EXIT_STATUS] = retry->codes[ERROR_TIMEOUT] = true;
		retry->codes[ERROR_SCHEMA] = retry->codes_given = true;
	}
}

/* Reads the command line. 0: go on; else *status is the exit status, negative with
 * *err. */
static int
parse_settings(struct settings *s, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	memset(s, 0, sizeof *s);
	s->source.max_turns = s->source.max_tokens_total = -1;
	s->retries = -1;
	s->jobs = 1;
	retry_default(&s->step.retry);
	options_begin(&o, table, argc, argv);
	o.stop_at_dashes = true;
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (id == OPTION_HELP || id == OPTION_VERSION)
			return id;
		if (id == OPTION_WORD) {
			if (s->step.name != NULL)
				return error_set(err, ERROR_USAGE, o.value,
				    "one NAME only (a command goes after --)");
			s->step.name = o.value;
		} else if (id == -1 || apply_option(s, id, o.value, err) == -1)
			return -1;
	}
	if (o.saw_dashes) {
		if (o.next >= argc)
			return error_set(err, ERROR_USAGE, "--", "a command is missing after it");
		s->step.command = argv + o.next;
	}
	settle_retries(s);
	return check_settings(s, err);
}

/* All that can be wrong with definitions is said before input is read. */
static int
load(struct settings *s, struct resources *r, struct error *err)
{
	int loaded = step_load(&s->step, &s->source, &r->loaded, err);

	if (s->step.agent != NULL && s->step.agent->doubt != NULL)
		report(s->step.agent->doubt);
	s->step.live = s->step.live || (s->step.agent != NULL && isatty(STDERR_FILENO));
	return loaded;
}

/* ---- the run ---- */

static bool
key_passes(const struct settings *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->pass_key_count; i++)
		if (strcmp(s->pass_keys[i], name) == 0)
			return true;
	return false;
}

static void
hide_keys(const struct settings *s, const struct keys *keys, struct environment *e)
{
	const char *const *name;
	size_t i;

	for (name = provider_key_names(); *name != NULL; name++)
		if (!key_passes(s, *name))
			environment_unset(e, *name);
	for (i = 0; i < keys->count; i++) {
		if (key_passes(s, keys->names[i]))
			environment_set(e, keys->names[i], keys->values[i]);
		else
			environment_unset(e, keys->names[i]);
	}
}

/* The run of the environment, or one of its own, and the filter of its events. */
/* What was recorded of the run before, if it goes on or is replayed. */
static int
open_history(struct settings *s, struct resources *r, struct error *err)
{
	if (history_open(&r->history, r->run.directory, err) == -1)
		return -1;
	if (r->history != NULL) {
		r->recall = history_recall(r->history);
		s->step.recall = &r->recall;
	}
	return 0;
}

static int
enter_run(struct settings *s, struct resources *r, char **argv, struct error *err)
{
	struct run_spec spec = { .name = s->step.name, .kind = "step", .argv = argv,
		.keep_transcript = true, .latest = true, .repaired = report };
	int entered;

	environment_begin(&s->step.environment);
	hide_keys(s, &r->keys, &s->step.environment);
	if (run_in_environment()) {
		entered = run_enter(&r->run, err);
		if (entered == 0)
			entered = mask_join(&r->mask, &r->run, err);
		if (entered == 0)
			entered = open_history(s, r, err);
		mask_environment(&r->mask, &s->step.environment);
		return entered;
	}
	r->own_run = true;
	if (mask_open(&r->mask, NULL, err) == -1)
		return -1;
	mask_environment(&r->mask, &s->step.environment);
	spec.masking = mask_masking(&r->mask);
	return run_create(&r->run, &spec, err);
}

/* AWF_INPUT_k=v as {"k":"v"}. */
static void
collect_inputs(struct buffer *out)
{
	static const char prefix[] = "AWF_INPUT_";
	struct writer w;
	const char *equals;
	char **variable;

	writer_begin(&w, out);
	writer_object(&w);
	for (variable = environ; *variable != NULL; variable++) {
		if (strncmp(*variable, prefix, sizeof prefix - 1) != 0)
			continue;
		equals = strchr(*variable, '=');
		if (equals == NULL)
			continue;
		if (w.comma)
			buffer_byte(out, ',');
		json_quote(out, *variable + sizeof prefix - 1,
		    (size_t)(equals - *variable) - (sizeof prefix - 1));
		buffer_byte(out, ':');
		json_quote(out, equals + 1, strlen(equals + 1));
		w.comma = true;
	}
	writer_object_end(&w);
}

static void
prepare_environment(struct settings *s, struct resources *r)
{
	struct environment *e = &s->step.environment;
	const struct run *run = &r->run;
	char here[PATH_MAX];

	environment_set(e, "AWF_RUN_ID", run->id);
	environment_set(e, "AWF_TRANSCRIPT", run->transcript.path);
	environment_set(e, "AWF_STORAGE", run->storage.root);
	environment_set(e, "AWF_PATH", s->step.path);
	if (r->own_run && getcwd(here, sizeof here) != NULL)
		environment_set(e, "AWF_WORKFLOW_DIR", here);
	mask_export(&r->mask, e);
}

/* The call or path around this one, "" if there is none; NULL with *err if it is
 * not what it should be. */
static const char *
surrounding(const struct resources *r, const char *variable, bool (*valid)(const char *),
    struct error *err)
{
	const char *value = r->own_run ? NULL : getenv(variable);

	if (value == NULL || *value == '\0')
		return "";
	if (valid(value))
		return value;
	error_set(err, ERROR_SYSTEM, variable, "'%s' is not what AWF sets: do not set it yourself",
	    value);
	return NULL;
}

/* Nobody reading ends the step; in a replay, once what was recorded has been made. */
static void
watch_reader(struct settings *s)
{
	struct step *step = &s->step;
	bool prints = !s->quiet && s->file == NULL;
	bool replays = step->recall != NULL && step->recall->mode == RECALL_REPLAY;

	step->interrupts.downstream = prints && !replays ? STDOUT_FILENO : -1;
	step->reader = prints && replays ? STDOUT_FILENO : 0;
}

/* Who this process is in the run. */
static int
take_place(struct settings *s, struct resources *r, struct error *err)
{
	const char *enclosing = surrounding(r, "AWF_CALL", call_id_valid, err);
	const char *path = surrounding(r, "AWF_PATH", call_path_valid, err);
	struct step *step = &s->step;

	step->run = &r->run;
	step->gate.run_id = r->run.id;
	step->gate.attempt = r->run.attempt;
	step->gate.key = r->run.key;
	if (enclosing == NULL || path == NULL)
		return -1;
	step->enclosing = enclosing;
	r->path = memory_format("%s%s%s", path, *path != '\0' ? "." : "", step->name);
	step->path = r->path;
	step->interrupts.signal_number = &signal_number;
	watch_reader(s);
	if (roster_begin(&r->roster, r->run.directory, step->enclosing, step->name, err) == -1)
		return -1;
	step->process = memory_format("%s%s%s:%ld", step->enclosing,
	    *step->enclosing != '\0' ? "/" : "", step->name, r->roster.occurrence);
	prepare_environment(s, r);
	return 0;
}

static void
handle_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action, before;
	size_t i;

	memset(&action, 0, sizeof action);
	action.sa_handler = note_signal;
	sigemptyset(&action.sa_mask);
	/* What was ignored when we came (nohup) stays ignored. */
	for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
	action.sa_handler = SIG_DFL; /* ignored, it would take the children's ends away */
	sigaction(SIGCHLD, &action, NULL);
	descendants_adopt();
}

/* Dies of a signal, as a program without a handler would. */
static void
die_of(int number)
{
	sigset_t set;

	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
}

/* What a run of its own came to: what its one step did, unless a signal or the
 * machine (*failure) ended it. */
static void
conclude(struct run_end *end, struct outcome *outcome, const struct error *failure)
{
	struct error *why = &outcome->error, cancelled;

	end->status = "success";
	if (interrupted(&(struct interrupts){ .signal_number = &signal_number, .downstream = -1 },
	    &cancelled)) {
		end->status = "cancelled";
		failure = &cancelled;
	} else if (outcome->failed > 0 || failure->code != ERROR_NONE) {
		end->status = "failed";
	} else if (outcome->waiting > 0) {
		end->status = "waiting";
	}
	if (why->code == ERROR_NONE)
		*why = *failure;
	end->error = why;
	end->usage = span_of(buffer_string(&outcome->usage), outcome->usage.len);
}

static int
finish_run(struct resources *r, int status, const struct error *failure, struct error *err)
{
	struct run_end end = { .exit_code = status };
	struct outcome outcome;
	int result;

	if (outcome_read(&outcome, r->run.transcript.path, err) == -1)
		return -1;
	conclude(&end, &outcome, failure);
	result = run_finish(&r->run, &end, err);
	outcome_free(&outcome);
	return result;
}

/* ---- the work ---- */

static int
open_output(const struct settings *s, struct resources *r, struct stream *stream,
    struct error *err)
{
	stream->out = s->quiet ? -1 : STDOUT_FILENO;
	if (s->file == NULL)
		return 0;
	if (replacement_open(&r->output, s->file, 0666, err) == -1)
		return -1;
	r->has_output = true;
	stream->out = r->output.fd;
	return 0;
}

/* -o FILE appears only if all went well. */
static int
close_output(struct resources *r, bool good, struct error *err)
{
	if (!r->has_output)
		return 0;
	if (good)
		return replacement_commit(&r->output, r->run.transcript.sync != SYNC_NONE, err);
	replacement_abandon(&r->output);
	return 0;
}

static void
stream_prepare(struct settings *s, struct stream *stream, struct state_reader *reader)
{
	memset(stream, 0, sizeof *stream);
	stream->step = &s->step;
	stream->reader = reader;
	stream->jobs = (size_t)s->jobs;
	stream->joined = s->joined;
	stream->by_name = s->by_name;
	stream->allow_empty = s->allow_empty;
	stream->report = report;
}

static int
run_stream(struct settings *s, struct resources *r, struct stream *stream, struct error *err)
{
	struct state_reader reader;
	int result;

	state_reader_begin(&reader, STDIN_FILENO, s->input, r->run.id);
	reader.signal_number = &signal_number;
	stream_prepare(s, stream, &reader);
	stream->roster = &r->roster;
	result = open_output(s, r, stream, err);
	if (result == 0 && s->step.agent != NULL && s->jobs == 1 && s->step.recall == NULL)
		result = step_start_provider(&s->step, err);
	if (result == 0)
		result = stream_run(stream, err);
	if (close_output(r, result == 0 && stream->status == STATUS_OK && signal_number == 0,
	    result == 0 ? err : NULL) == -1)
		result = -1;
	state_reader_free(&reader);
	stream->reader = NULL;
	return result;
}

/* Which signal the process dies of, 0 for none. */
static int
last_signal(const struct stream *stream)
{
	return signal_number != 0 ? signal_number : stream->closed || stream->gone ? SIGPIPE : 0;
}

/* Runs the step in its run. The exit status. */
static int
run_step(struct settings *s, struct resources *r, char **argv)
{
	struct error err = ERROR_INIT, late = ERROR_INIT;
	struct stream stream;
	int status;

	memset(&stream, 0, sizeof stream);
	handle_signals();
	if (keys_load(&r->keys, &err) == -1 || enter_run(s, r, argv, &err) == -1)
		return program_fail(PROGRAM, &err);
	r->run.transcript.repaired = report;
	s->step.keys = &r->keys;
	if (take_place(s, r, &err) == -1 || run_stream(s, r, &stream, &err) == -1)
		status = program_fail(PROGRAM, &err);
	else
		status = stream.status;
	if (s->step.provider.process.pid > 0)
		provider_stop(&s->step.provider);
	if (last_signal(&stream) != 0)
		status = 128 + last_signal(&stream);
	if (r->own_run && finish_run(r, status, &err, &late) == -1)
		status = strcmp(late.message, err.message) == 0 ? STATUS_SYSTEM :
		    program_fail(PROGRAM, &late);
	/* Any other end leaves its output incomplete: who reads it is to know. A step that
	 * is only tried may end as it likes. */
	if ((signal_number == 0 && status != STATUS_SYSTEM) || s->step.failure == FAILURE_TRY)
		roster_end(&r->roster);
	stream_free(&stream);
	if (last_signal(&stream) != 0)
		die_of(last_signal(&stream));
	return status;
}

/* Prints what would be done for each item; touches no storage. */
static int
dry_run(struct settings *s)
{
	const char *run_id = run_in_environment() ? getenv("AWF_RUN_ID") : "";
	struct error err = ERROR_INIT;
	struct buffer out = BUFFER_INIT;
	struct state_reader reader;
	struct stream stream;
	int done;

	state_reader_begin(&reader, STDIN_FILENO, s->input, run_id);
	stream_prepare(s, &stream, &reader);
	done = stream_describe(&stream, &out, &err);
	if (done == 0 && file_write(STDOUT_FILENO, buffer_string(&out), out.len) == -1)
		done = error_errno(&err, ERROR_SYSTEM, "stdout", "unable to write");
	stream_free(&stream);
	state_reader_free(&reader);
	buffer_free(&out);
	return done == -1 ? program_fail(PROGRAM, &err) : STATUS_OK;
}

static void
release(struct settings *s, struct resources *r)
{
	size_t i;

	for (i = 0; s->source.allow_tools != NULL && s->source.allow_tools[i] != NULL; i++)
		free(s->source.allow_tools[i]);
	free(s->source.allow_tools);
	free(s->pass_keys);
	gate_free(&s->step.gate);
	free(s->step.process);
	free(r->path);
	buffer_free(&s->step.inputs);
	environment_free(&s->step.environment);
	step_unload(&s->step, &r->loaded);
	keys_free(&r->keys);
	if (r->history != NULL)
		history_close(r->history);
	if (r->run.directory != NULL) {
		roster_close(&r->roster);
		run_close(&r->run);
	}
	mask_free(&r->mask);
}

/* Does what the command line says, which was parsed to this. */
static int
carry_out(struct settings *s, struct resources *r, int parsed, char **argv, struct error *err)
{
	switch (parsed) {
	case OPTION_HELP:
		options_help(stdout, usage, table);
		return program_end(PROGRAM, STATUS_OK);
	case OPTION_VERSION:
		return program_end(PROGRAM, program_version(PROGRAM));
	case -1:
		return program_fail(PROGRAM, err);
	}
	collect_inputs(&s->step.inputs);
	if (load(s, r, err) == -1)
		return program_fail(PROGRAM, err);
	return s->dry_run ? dry_run(s) : run_step(s, r, argv);
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct settings settings;
	struct resources resources;
	int parsed, status;

	program_begin();
	memset(&resources, 0, sizeof resources);
	resources.roster.fd = -1;
	parsed = parse_settings(&settings, argc, argv, &err);
	status = carry_out(&settings, &resources, parsed, argv, &err);
	release(&settings, &resources);
	return status;
}
