/*
 * The command line of awf-eval. An evaluation is a run whose workflow is awf-eval itself: the run's record
 * has the same command line, so a report is made from the record alone.
 */
#ifndef AWF_EVAL_SETTINGS_H
#define AWF_EVAL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"

enum eval_mode {
	EVAL_NEW,                /* make a run, and report; recorded: on checks of what an earlier run has made */
	EVAL_CASES,              /* the workflow of that run: a call for each case */
	EVAL_CASE,               /* the command of such a call */
	EVAL_REPORT              /* of an earlier run */
};

/* What a case is tried with. */
struct eval_variant {
	char *name;
	char **variables;        /* NAME=VALUE */
	char **inputs;           /* KEY=VALUE of awf-run --input */
	char **files;            /* FILE=OTHER: files that others replace (eval/replace.h) */
	char **workflow;         /* a workflow of its own, with its arguments; NULL: that of the command line */
};

struct eval_check {
	char *name;
	char *command;           /* for the shell; NULL: done by awf-eval itself */
	bool asks;               /* the command names awf-step or awf-run: it may ask models */
};

/* NAME>=RATE */
struct eval_required {
	char *name;              /* of a variant, of a check, or VARIANT/CHECK */
	double rate;
};

struct eval_settings {
	enum eval_mode mode;
	long long repetitions, jobs;
	long long max_ms;        /* 0: no limit */
	const char *name, *max_cost, *schema, *inputs, *baseline, *form;
	const char *margin_text, *per_input_text;
	const char *reuse;       /* "": of the first variant; else an earlier evaluation; NULL: do not */
	bool update, check_failures;
	bool recorded;           /* results are those of an earlier evaluation, which is checked anew */
	char **variant_texts, **check_texts, **require_texts;
	double margin, per_input; /* per_input: -1: not said */

	struct eval_variant *variants; /* at least one */
	size_t variant_count;
	struct eval_check *checks;     /* with those of --schema and --max-ms last */
	size_t check_count;
	struct eval_required *required;
	size_t required_count;
	char *const *workflow;   /* the rest of the command line; ends with NULL */
	const char *run;         /* of EVAL_REPORT, and if recorded */
};

/* Reads a command line. Returns OPTION_END; what options_next() returned, if that asks for help; or -1 with
 * *err. argv[1] may be one of the words below. */
#define EVAL_CASES_WORD "--cases"
#define EVAL_CASE_WORD "--case"
int eval_settings_read(struct eval_settings *s, int argc, char **argv, struct error *err);
/* Takes over what is tried from the settings of a run, which must live as long. */
int eval_settings_adopt(struct eval_settings *s, const struct eval_settings *of, struct error *err);
/* The command line of a mode: what it needs to know of these settings. A list (base/list.h). */
char **eval_settings_words(const struct eval_settings *s, const char *mode);
/* The file name of a workflow, without what follows a full stop, as a name of a step. Allocated. */
char *eval_workflow_name(const char *workflow);
void eval_settings_help(int id);
void eval_settings_free(struct eval_settings *s);
/* The variant with the name; -1: there is none. */
int eval_settings_variant(const struct eval_settings *s, const char *name);

#endif
