/*
 * Statistics of evaluations: how sure a rate is, and whether two differ. Nothing here is random: the same
 * results give the same figures.
 *
 * Repetitions of one input, and inputs of one cluster, are alike, so they count for less than as many
 * independent ones: the interval of a rate is Wilson's, for the number of results divided by the design
 * effect. Two variants are compared by input: under the hypothesis that they are equally good, each input's
 * difference could as well have the other sign; the distribution of the sum is computed exactly (Fisher's
 * randomization test for pairs; with one repetition that is the sign test). tests/unit/test_eval_rates
 * simulates how often the intervals contain the true rate, and how often equal variants seem to differ.
 */
#ifndef AWF_EVAL_RATES_H
#define AWF_EVAL_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The results of one input, or of one cluster. */
struct rate_group {
	int64_t passed, count;
};
struct rate {
	int64_t passed, count;
	double low, high;          /* the 95 % interval, 0 to 1; 0 and 1 if there are no results */
};
void rate_find(const struct rate_group *groups, size_t count, struct rate *rate);

/* An input in two variants. A pair without results in one of them counts for nothing. */
struct rate_pair {
	struct rate_group a, b;
};
struct rate_comparison {
	size_t better, worse, equal; /* in how many inputs b is better than a … */
	double fall;                 /* by how much b's mean rate is below that of a; negative: above */
	double p;                    /* how likely they differ so much by chance, in either direction */
};
void rate_compare(const struct rate_pair *pairs, size_t count, struct rate_comparison *comparison);
/* How likely it is by chance that a has so many of the passed results, or more, given how many passed of each input
 * in a and b together (the exact conditional test for 2x2 tables in strata, which Cochran, Mantel and Haenszel
 * approximate): it asks about these inputs, where rate_compare() asks about inputs like them. */
double rate_fallen_chance(const struct rate_pair *pairs, size_t count);
/* "p = 0.042", or "p < 0.001". */
#define RATE_CHANCE_SIZE 16
const char *rate_chance_text(double p, char text[RATE_CHANCE_SIZE]);

/* Whether all results of an input passed before (a), and none now (b). */
bool rate_is_lost(const struct rate_pair *pair);
/* How likely it is by chance that so many inputs are lost, or more. An input that passed as often in both together as
 * it was tried before could be lost: in one of the ways to choose which of its results passed (Fisher's exact test). */
double rate_lost_chance(const struct rate_pair *pairs, size_t count);

#endif
