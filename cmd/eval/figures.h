/*
 * The figures of an evaluation that several forms of its report show.
 */
#ifndef AWF_EVAL_FIGURES_H
#define AWF_EVAL_FIGURES_H

#include "eval/results.h"

/* Of a variant. */
struct eval_figures {
	struct rate rate;
	int64_t all_passed, inputs; /* inputs of which all repetitions passed, of those with results */
	int64_t errors, missing;
	int64_t p50;             /* ms; -1: not known */
	double each, paid;       /* dollars; -1: not known */
};
void eval_figures_read(const struct eval_results *r, size_t variant, struct eval_figures *f);
/* Compares a variant with the first one, by input. */
void eval_figures_compare(const struct eval_results *r, size_t variant, struct rate_comparison *c);
/* "better", "worse", or that they are not told apart. */
const char *eval_figures_comparison_word(const struct rate_comparison *c);
/* The inputs that pass least often come first: indices, allocated. */
size_t *eval_figures_worst(const struct eval_results *r);

#endif
