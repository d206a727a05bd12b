/* One table of options; what an option consists of is parsed when all are known. */
#include "eval/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "proc/environment.h"

#define INPUT_PREFIX "inputs."
#define WITH "--with"
#define REPETITIONS_MOST 1000

enum {
	OPT_INPUTS = 1, OPT_REPETITIONS, OPT_JOBS, OPT_VARIANT, OPT_CHECK, OPT_SCHEMA, OPT_MAX_MS, OPT_REUSE, OPT_NAME,
	OPT_MAX_COST, OPT_CHECK_FAILURES, OPT_REPORT, OPT_FORM, OPT_REQUIRE, OPT_PER_INPUT, OPT_BASELINE, OPT_UPDATE,
	OPT_MARGIN
};

static const char *const forms[] = { "table", "md", "csv", "json", "jsonl", "junit", "tap", "github", "html", NULL };

static const struct option_spec options[] = {
	{ OPT_INPUTS, 'i', "inputs", "FILE", "the inputs: lines, or JSON Lines {id, input, expected}; -: stdin",
	    OPTION_INTO_TEXT(struct eval_settings, inputs) },
	{ OPT_REPETITIONS, 'k', "repeat", "N", "try each input N times (1)",
	    OPTION_INTO_NUMBER(struct eval_settings, repetitions, 1, REPETITIONS_MOST) },
	{ OPT_JOBS, 'j', "jobs", "N", "N inputs at a time (4)", OPTION_INTO_NUMBER(struct eval_settings, jobs, 1, 1024) },
	{ OPT_VARIANT, 0, "variant", "NAME[=WORDS]", "VARIABLE=VALUE, inputs.KEY=VALUE, --with FILE=OTHER, workflow",
	    OPTION_INTO_LIST(struct eval_settings, variant_texts) },
	{ OPT_CHECK, 'c', "check", "NAME=COMMAND", "reads {input, result ...}: exit status 0 right, 1 wrong",
	    OPTION_INTO_LIST(struct eval_settings, check_texts) },
	{ OPT_REUSE, 0, "reuse", "[=RUN]", "take over what is the same, pay for the rest",
	    OPTION_INTO_TEXT(struct eval_settings, reuse) },
	{ OPT_FORM, 'o', "output", "FORM", "table, md, csv, json, jsonl, junit, tap, github or html",
	    OPTION_INTO_CHOICE(struct eval_settings, form, forms) },
	{ OPT_REQUIRE, 0, "require", "NAME>=RATE,...", "of a check or a variant: exit 1 below this rate (0 to 1)",
	    OPTION_INTO_LIST(struct eval_settings, require_texts) },
	{ OPT_BASELINE, 0, "baseline", "FILE", "exit 1 if it is worse than what FILE says",
	    OPTION_INTO_TEXT(struct eval_settings, baseline) },
	{ OPT_UPDATE, 0, "update", NULL, "write the baseline", OPTION_INTO_FLAG(struct eval_settings, update) },
	{ OPT_REPORT, 0, "report", NULL, "report on an evaluation that has run; with -c: check it anew",
	    OPTION_ONLY_SAID },
	{ OPTION_SECTION, 0, NULL, NULL, "The evaluation" },
	{ OPT_SCHEMA, 0, "schema", "FILE", "check that the result is valid by this JSON Schema",
	    OPTION_INTO_TEXT(struct eval_settings, schema) },
	{ OPT_MAX_MS, 0, "max-ms", "N", "check that the workflow takes at most N ms",
	    OPTION_INTO_NUMBER(struct eval_settings, max_ms, 1, INT64_MAX) },
	{ OPT_CHECK_FAILURES, 0, "check-failures", NULL, "check workflows that failed, too, instead of counting errors",
	    OPTION_INTO_FLAG(struct eval_settings, check_failures) },
	{ OPT_NAME, 0, "name", "NAME", "of the run (eval-WORKFLOW)", OPTION_INTO_TEXT(struct eval_settings, name) },
	{ OPT_MAX_COST, 0, "max-cost", "USD", "ask no model once the evaluation has cost so much",
	    OPTION_INTO_TEXT(struct eval_settings, max_cost) },
	{ OPTION_SECTION, 0, NULL, NULL, "The report" },
	{ OPT_PER_INPUT, 0, "per-input", "RATE", "exit 1 if any input passes less often",
	    OPTION_INTO_TEXT(struct eval_settings, per_input_text) },
	{ OPT_MARGIN, 0, "margin", "RATE", "by more than this (0.02)", OPTION_INTO_TEXT(struct eval_settings, margin_text) },
	{ OPTION_END, 0, NULL, NULL, NULL },
};

/* What an evaluation that has run has already, and what checking it anew takes. */
#define OF_TRYING \
	(OPTION_SAID(OPT_INPUTS) | OPTION_SAID(OPT_REPETITIONS) | OPTION_SAID(OPT_VARIANT))
#define OF_CHECKS (OPTION_SAID(OPT_CHECK) | OPTION_SAID(OPT_SCHEMA) | OPTION_SAID(OPT_MAX_MS))
#define OF_RUN \
	(OPTION_SAID(OPT_JOBS) | OPTION_SAID(OPT_REUSE) | OPTION_SAID(OPT_NAME) | OPTION_SAID(OPT_MAX_COST) | \
	    OPTION_SAID(OPT_CHECK_FAILURES))

static const struct option_rule rules[] = {
	{ OPTION_SAID(OPT_REPORT), OF_TRYING, 0, NULL },
	{ OPTION_SAID(OPT_UPDATE), 0, OPTION_SAID(OPT_BASELINE), NULL },
	{ OPTION_SAID(OPT_MARGIN), 0, OPTION_SAID(OPT_BASELINE), NULL },
};

static const char usage[] =
	"awf-eval [options] --inputs FILE [--] WORKFLOW [ARG...]\n"
	"awf-eval --report [options] [-c NAME=COMMAND ...] RUN\n";

void
eval_settings_help(int id)
{
	options_help(stdout, usage, options, id);
}

/* ---- what options consist of ---- */

/* Splits a text into words as a shell does, with quotes and backslashes, without expanding anything. */
static int
eval_words_split(const char *text, const char *place, char ***words, struct error *err)
{
	struct buffer word = BUFFER_INIT;
	bool begun = false;
	char quote = 0;

	for (const char *at = text; *at != '\0'; at++) {
		if (quote == 0 && isspace((unsigned char)*at)) {
			if (begun)
				list_take(words, buffer_take(&word));
			begun = false;
		} else if (quote == 0 && (*at == '\'' || *at == '"')) {
			quote = *at;
			begun = true;
		} else if (quote != 0 && *at == quote) {
			quote = 0;
		} else {
			if (*at == '\\' && quote != '\'' && at[1] != '\0')
				at++;
			buffer_byte(&word, *at);
			begun = true;
		}
	}
	if (begun && quote == 0)
		list_take(words, buffer_take(&word));
	buffer_free(&word);
	return quote == 0 ? 0 : error_set(err, ERROR_USAGE, place, "a %c has no other one", quote);
}

/* FILE=OTHER */
static int
eval_with_read(struct eval_variant *v, const char *text, struct error *err)
{
	const size_t len = strcspn(text, "=");

	if (len == 0 || text[len] == '\0' || text[len + 1] == '\0')
		return error_set(err, ERROR_USAGE, "--variant", WITH " takes FILE=OTHER, not '%s'", text);
	list_add(&v->files, text);
	return 0;
}

static int
eval_variant_read(struct eval_settings *s, const char *text, struct error *err)
{
	const size_t len = strcspn(text, "=");
	struct eval_variant v = { .name = memory_copy(text, len) };
	char **words = NULL;
	bool with = false;       /* the word is of --with */
	int failed = 0;

	if (!name_valid(v.name))
		failed = error_set(err, ERROR_USAGE, "--variant", "'%s' has no name of letters, digits, _ and -", text);
	else if (eval_settings_variant(s, v.name) != -1)
		failed = error_set(err, ERROR_USAGE, "--variant", "there are two of the name %s", v.name);
	else if (text[len] == '=')
		failed = eval_words_split(text + len + 1, "--variant", &words, err);
	for (char **word = words; failed == 0 && word != NULL && *word != NULL; word++) {
		const size_t name = strcspn(*word, "="), prefix = strlen(INPUT_PREFIX);

		if (v.workflow == NULL && !with && strcmp(*word, WITH) == 0)
			with = true;
		else if (v.workflow == NULL && (with || strncmp(*word, WITH "=", sizeof WITH) == 0)) {
			failed = eval_with_read(&v, with ? *word : *word + sizeof WITH, err);
			with = false;
		} else if (v.workflow != NULL || (*word)[name] != '=')
			list_add(&v.workflow, *word);
		else if (strncmp(*word, INPUT_PREFIX, prefix) == 0 && environment_name_valid(*word + prefix, name - prefix))
			list_add(&v.inputs, *word + prefix);
		else if (environment_name_valid(*word, name))
			list_add(&v.variables, *word);
		else
			failed = error_set(err, ERROR_USAGE, "--variant",
			    "'%s' is neither VARIABLE=VALUE nor " INPUT_PREFIX "KEY=VALUE, nor a workflow", *word);
	}
	if (failed == 0 && with)
		failed = error_set(err, ERROR_USAGE, "--variant", WITH " takes FILE=OTHER");
	list_free(words);
	s->variants = memory_array(s->variants, s->variant_count + 1, sizeof *s->variants);
	s->variants[s->variant_count++] = v;
	return failed;
}

static int
eval_check_add(struct eval_settings *s, const char *name, const char *command, struct error *err)
{
	for (size_t i = 0; i < s->check_count; i++)
		if (strcmp(s->checks[i].name, name) == 0)
			return error_set(err, ERROR_USAGE, "--check", "there are two of the name %s", name);
	s->checks = memory_array(s->checks, s->check_count + 1, sizeof *s->checks);
	s->checks[s->check_count++] = (struct eval_check){ memory_text(name), command != NULL ? memory_text(command) : NULL,
		command != NULL && (strstr(command, "awf-step") != NULL || strstr(command, "awf-run") != NULL) };
	return 0;
}

static int
eval_check_read(struct eval_settings *s, const char *text, struct error *err)
{
	const size_t len = strcspn(text, "=");
	char *name = memory_copy(text, len);
	int failed;

	if (!name_valid(name) || text[len] == '\0' || text[len + 1] == '\0')
		failed = error_set(err, ERROR_USAGE, "--check", "'%s' is not NAME=COMMAND", text);
	else
		failed = eval_check_add(s, name, text + len + 1, err);
	free(name);
	return failed;
}

/* A number from 0 to 1. */
static int
eval_rate_read(const char *text, const char *option, double *rate, struct error *err)
{
	char *end;

	*rate = strtod(text, &end);
	if (end == text || *end != '\0' || !(*rate >= 0 && *rate <= 1))
		return error_set(err, ERROR_USAGE, option, "'%s' is no rate from 0 to 1", text);
	return 0;
}

static int
eval_required_read(struct eval_settings *s, const char *text, struct error *err)
{
	char **parts = list_split(text, ',');
	int failed = 0;

	for (char **part = parts; failed == 0 && part != NULL && *part != NULL; part++) {
		const char *sign = strstr(*part, ">=");
		struct eval_required r = { .name = NULL };

		if (sign == NULL || sign == *part)
			failed = error_set(err, ERROR_USAGE, "--require", "'%s' is not NAME>=RATE", *part);
		else
			failed = eval_rate_read(sign + 2, "--require", &r.rate, err);
		if (failed != 0)
			break;
		r.name = memory_copy(*part, (size_t)(sign - *part));
		s->required = memory_array(s->required, s->required_count + 1, sizeof *s->required);
		s->required[s->required_count++] = r;
	}
	list_free(parts);
	return failed;
}

/* ---- the command line ---- */

int
eval_settings_variant(const struct eval_settings *s, const char *name)
{
	for (size_t i = 0; i < s->variant_count; i++)
		if (strcmp(s->variants[i].name, name) == 0)
			return (int)i;
	return -1;
}

char *
eval_workflow_name(const char *workflow)
{
	const char *slash = strrchr(workflow, '/');
	char *name = memory_text(slash != NULL ? slash + 1 : workflow);

	name[strcspn(name, ".")] = '\0';
	for (char *at = name; *at != '\0'; at++)
		if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-')
			*at = '_';
	if (!name_valid(name)) {
		free(name);
		name = memory_text("workflow");
	}
	return name;
}

/* The step of a check is called VARIANT-CHECK. */
static int
eval_check_step_names(const struct eval_settings *s, struct error *err)
{
	for (size_t v = 0; v < s->variant_count; v++)
		for (size_t c = 0; c < s->check_count; c++) {
			char *name = memory_format("%s-%s", s->variants[v].name, s->checks[c].name);
			const bool valid = name_valid(name);

			free(name);
			if (!valid)
				return error_set(err, ERROR_USAGE, "--check", "%s-%s is longer than 128 characters",
				    s->variants[v].name, s->checks[c].name);
		}
	return 0;
}

static int
eval_settings_read_variants(struct eval_settings *s, struct error *err)
{
	int failed = 0;

	for (char **text = s->variant_texts; failed == 0 && text != NULL && *text != NULL; text++)
		failed = eval_variant_read(s, *text, err);
	if (failed != 0)
		return -1;
	if (s->variant_count == 0) {
		s->variants = memory_zero(1, sizeof *s->variants);
		s->variants[s->variant_count++].name = eval_workflow_name(*s->workflow != NULL ? *s->workflow : "");
	}
	for (size_t i = 0; i < s->variant_count; i++)
		if (*s->workflow == NULL && s->variants[i].workflow == NULL)
			return error_set(err, ERROR_USAGE, NULL, "takes the workflow to be evaluated");
	return eval_check_step_names(s, err);
}

static int
eval_settings_parse(struct eval_settings *s, struct error *err)
{
	int failed = 0;

	for (char **text = s->check_texts; failed == 0 && text != NULL && *text != NULL; text++)
		failed = eval_check_read(s, *text, err);
	for (char **text = s->require_texts; failed == 0 && text != NULL && *text != NULL; text++)
		failed = eval_required_read(s, *text, err);
	if (failed == 0 && s->schema != NULL)
		failed = eval_check_add(s, "schema", NULL, err);
	if (failed == 0 && s->max_ms > 0)
		failed = eval_check_add(s, "ms", NULL, err);
	if (failed == 0 && s->per_input_text != NULL)
		failed = eval_rate_read(s->per_input_text, "--per-input", &s->per_input, err);
	if (failed == 0 && s->margin_text != NULL)
		failed = eval_rate_read(s->margin_text, "--margin", &s->margin, err);
	if (failed != 0 || s->mode == EVAL_REPORT || (s->mode == EVAL_NEW && s->recorded))
		return failed;
	return eval_settings_read_variants(s, err);
}

int
eval_settings_read(struct eval_settings *s, int argc, char **argv, struct error *err)
{
	static char *const none[] = { NULL };
	struct options o;
	bool reports;
	int id;

	*s = (struct eval_settings){ .repetitions = 1, .jobs = 4, .per_input = -1, .margin = 0.02, .workflow = none,
		.form = "table" };
	if (argc > 1 && (strcmp(argv[1], EVAL_CASES_WORD) == 0 || strcmp(argv[1], EVAL_CASE_WORD) == 0)) {
		s->mode = strcmp(argv[1], EVAL_CASE_WORD) == 0 ? EVAL_CASE : EVAL_CASES;
		argv++;
		argc--;
	}
	options_begin(&o, options, argc, argv);
	options_bind(&o, s);
	while ((id = options_next(&o, err)) == OPTION_WORD && s->mode == EVAL_NEW && (o.said & OPTION_SAID(OPT_REPORT)) && s->run == NULL)
		s->run = o.value;
	if (OPTION_ASKS(id))
		return id;
	if (id == OPTION_WORD)
		o.next--;
	else if (id != OPTION_END)
		return -1;
	if ((o.said & OPTION_SAID(OPT_REUSE)) && s->reuse == NULL)
		s->reuse = "";
	/* What is started inside has all of it. */
	if (s->mode == EVAL_NEW && options_check(&o, rules, sizeof rules / sizeof *rules, err) != 0)
		return -1;
	s->workflow = argv + o.next;
	reports = (o.said & OPTION_SAID(OPT_REPORT)) != 0;
	s->recorded = reports && (s->mode != EVAL_NEW || (o.said & OF_CHECKS));
	if (reports && s->mode == EVAL_NEW) {
		if (!s->recorded)
			s->mode = EVAL_REPORT;
		if (!s->recorded && (o.said & OF_RUN))
			return error_set(err, ERROR_USAGE, "--report",
			    "takes -j, --reuse, --name, --max-cost and --check-failures with a check alone: -c, --schema or --max-ms");
		if (s->run == NULL)
			s->run = argv[o.next++];
		if (s->run == NULL || o.next < argc)
			return error_set(err, ERROR_USAGE, "--report", "takes one run: an id or its beginning, @NAME, a file");
	} else if (s->mode == EVAL_NEW && s->inputs == NULL) {
		return error_set(err, ERROR_USAGE, NULL, "takes --inputs FILE");
	}
	return eval_settings_parse(s, err);
}

int
eval_settings_adopt(struct eval_settings *s, const struct eval_settings *of, struct error *err)
{
	s->variant_texts = list_copy(of->variant_texts);
	s->repetitions = of->repetitions;
	s->workflow = of->workflow;
	return eval_settings_read_variants(s, err);
}

char **
eval_settings_words(const struct eval_settings *s, const char *mode)
{
	char **words = NULL;

	list_add(&words, "awf-eval");
	list_add(&words, mode);
	if (s->repetitions > 1)
		list_take(&words, memory_format("--repeat=%lld", s->repetitions));
	if (strcmp(mode, EVAL_CASES_WORD) == 0)
		list_take(&words, memory_format("--jobs=%lld", s->jobs));
	for (char **text = s->variant_texts; text != NULL && *text != NULL; text++)
		list_take(&words, memory_format("--variant=%s", *text));
	for (char **text = s->check_texts; text != NULL && *text != NULL; text++)
		list_take(&words, memory_format("--check=%s", *text));
	if (s->schema != NULL)
		list_take(&words, memory_format("--schema=%s", s->schema));
	if (s->max_ms > 0)
		list_take(&words, memory_format("--max-ms=%lld", s->max_ms));
	if (s->reuse != NULL)
		list_take(&words, *s->reuse != '\0' ? memory_format("--reuse=%s", s->reuse) : memory_text("--reuse"));
	if (s->check_failures)
		list_add(&words, "--check-failures");
	if (s->recorded)
		list_add(&words, "--report");
	list_add(&words, "--");
	for (char *const *word = s->workflow; *word != NULL; word++)
		list_add(&words, *word);
	return words;
}

void
eval_settings_free(struct eval_settings *s)
{
	for (size_t i = 0; i < s->variant_count; i++) {
		free(s->variants[i].name);
		list_free(s->variants[i].variables);
		list_free(s->variants[i].inputs);
		list_free(s->variants[i].files);
		list_free(s->variants[i].workflow);
	}
	for (size_t i = 0; i < s->check_count; i++) {
		free(s->checks[i].name);
		free(s->checks[i].command);
	}
	for (size_t i = 0; i < s->required_count; i++)
		free(s->required[i].name);
	free(s->variants);
	free(s->checks);
	free(s->required);
	list_free(s->variant_texts);
	list_free(s->check_texts);
	list_free(s->require_texts);
}
