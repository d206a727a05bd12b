/*
 * The results of an evaluation, read from its run. Each case is a call of the step "case", whose result is a
 * line of JSON (eval/case.c):
 *
 *	{"id":"in-01","k":1,"cluster":"…","variants":[
 *	  {"variant":"a","run":"UUID","outcome":"pass","ms":510,"cost_usd":0.0041,"paid_usd":0.0041,
 *	   "error":"…","checks":[{"check":"exact","outcome":"fail","score":0.2,"run":"UUID",
 *	   "why":"…"}]}]}
 *
 * A case that was made again, in a resume, has the last result.
 */
#ifndef AWF_EVAL_RESULTS_H
#define AWF_EVAL_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "eval/rates.h"
#include "eval/settings.h"
#include "storage/storage.h"

#define EVAL_STEP "case"

enum eval_outcome {
	EVAL_MISSING,            /* the case has not ended */
	EVAL_PASS,
	EVAL_FAIL,
	EVAL_ERROR               /* it could not be evaluated */
};
extern const char *const eval_outcome_words[]; /* of enum eval_outcome; ends with NULL */

/* What a check said. */
struct eval_verdict {
	enum eval_outcome outcome;
	double score;            /* -1: none */
	char run[ID_SIZE];       /* of a check that is a child run; "" */
	char *why;               /* NULL: nothing was said */
};

/* A variant's result in a case. */
struct eval_trial {
	enum eval_outcome outcome;
	char run[ID_SIZE];       /* the child run; "": none */
	int64_t ms;
	double cost, paid;       /* dollars; -1: not known */
	char *error;             /* NULL: none */
	struct eval_verdict *verdicts; /* one for each check of the settings */
};

struct eval_input {
	char *id;
	char *cluster;           /* NULL: none */
	struct eval_trial *trials; /* trials[variant * repetitions + k - 1] */
};

struct eval_results {
	char run_id[ID_SIZE];
	char *name;              /* of the run */
	bool alive;              /* the run */
	struct eval_settings settings; /* as recorded */
	char **argv;             /* to which the settings point */
	struct eval_input *inputs; /* in their order */
	size_t count;
	struct map by_id;        /* id → index in inputs */
};

/* Reads the evaluation that RUN names. ERROR_USAGE: there is no such run, or it is no evaluation. Call
 * eval_results_free() whatever the result. */
int eval_results_read(struct eval_results *r, const struct storage *storage, const char *run,
    struct error *err);
/* Appends the lines of all cases that it reads, in their order; nothing if it has kept no input. */
void eval_results_lines(const struct storage *storage, const char *run_id, struct buffer *lines);
void eval_results_free(struct eval_results *r);

const struct eval_trial *eval_trial_at(const struct eval_results *r, size_t input, size_t variant, size_t k);
/* The outcome of a check in a trial; check -1: of the trial itself. */
enum eval_outcome eval_trial_outcome(const struct eval_trial *t, int check);
/* How often an input passes in a variant; check as above. Errors, and what has not ended, do not count. */
struct rate_group eval_input_passes(const struct eval_results *r, size_t input, size_t variant, int check);
/* The rate of a variant, its inputs grouped by clusters. */
void eval_variant_rate(const struct eval_results *r, size_t variant, int check, struct rate *rate);
/* How many trials of a variant, or of all (-1), have an outcome. */
int64_t eval_count(const struct eval_results *r, int variant, enum eval_outcome outcome);

#endif
