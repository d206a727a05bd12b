/*
 * Baselines: a file, made to be kept in a repository, that says how often each input passed.
 *
 *	{"awf-eval":1,"variants":{
 *	"steps":{
 *	"in-01":{"pass":[3,3],"exact":[2,3]},
 *	…
 *	}}}
 *
 * An input stands in a line of its own. Neither times nor ids of runs are in it.
 *
 * An evaluation is worse than its baseline if the rate of a variant has fallen by more than the margin, and by
 * more than chance explains (rate_fallen_chance()); or if more inputs that always passed always fail now than chance
 * explains (rate_lost_chance()). Each of the two has 2.5 % of false alarms at most, divided by the number of variants.
 */
#ifndef AWF_EVAL_BASELINE_H
#define AWF_EVAL_BASELINE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "eval/results.h"

/* Compares with the file; appends a line for each finding to said. *fault: why the evaluation does not hold: it is
 * worse, or nothing could be compared; NULL. -1: *err. */
int eval_baseline_compare(const struct eval_results *r, const char *path, double margin, const char **fault,
    struct buffer *said, struct error *err);
/* Whether the file is a baseline, if it is one that can be read again: 0; -1: *err. */
int eval_baseline_check(const char *path, struct error *err);
/* Writes the file anew. */
int eval_baseline_write(const struct eval_results *r, const char *path, struct error *err);

#endif
