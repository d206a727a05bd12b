/*
 * Everything is counted anew from the trials for each report. The median is that of trials without an error; a cost
 * that no trial tells stays unknown.
 */
#include "eval/figures.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int
compare_times(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void
eval_figures_read(const struct eval_results *r, size_t variant, struct eval_figures *f)
{
	const size_t repetitions = (size_t)r->settings.repetitions;
	int64_t *times = memory_zero(r->count * repetitions + 1, sizeof *times), costs = 0;
	size_t count = 0;

	*f = (struct eval_figures){ .p50 = -1, .each = -1, .paid = -1 };
	eval_variant_rate(r, variant, -1, &f->rate);
	f->errors = eval_count(r, (int)variant, EVAL_ERROR);
	f->missing = eval_count(r, (int)variant, EVAL_MISSING);
	for (size_t i = 0; i < r->count; i++) {
		struct rate_group group = eval_input_passes(r, i, variant, -1);

		f->inputs += group.count > 0;
		f->all_passed += group.count == (int64_t)repetitions && group.passed == group.count;
		for (size_t k = 1; k <= repetitions; k++) {
			const struct eval_trial *t = eval_trial_at(r, i, variant, k);

			if (t->ms >= 0 && t->outcome != EVAL_ERROR)
				times[count++] = t->ms;
			if (t->cost >= 0) {
				f->each = (f->each < 0 ? 0 : f->each) + t->cost;
				costs++;
			}
			if (t->paid >= 0)
				f->paid = (f->paid < 0 ? 0 : f->paid) + t->paid;
		}
	}
	if (costs > 0)
		f->each /= (double)costs;
	if (count > 0) {
		qsort(times, count, sizeof *times, compare_times);
		f->p50 = times[(count - 1) / 2];
	}
	free(times);
}

/* An input, and how often it passes in all variants together. */
struct ranked {
	size_t input;
	double rate;
};

static int
compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rate != y->rate)
		return x->rate < y->rate ? -1 : 1;
	return (x->input > y->input) - (x->input < y->input);
}

size_t *
eval_figures_worst(const struct eval_results *r)
{
	struct ranked *ranked = memory_zero(r->count + 1, sizeof *ranked);
	size_t *worst = memory_zero(r->count + 1, sizeof *worst);

	for (size_t i = 0; i < r->count; i++) {
		struct rate_group sum = { 0, 0 };

		for (size_t v = 0; v < r->settings.variant_count; v++) {
			struct rate_group group = eval_input_passes(r, i, v, -1);

			sum.passed += group.passed;
			sum.count += group.count;
		}
		ranked[i] = (struct ranked){ i, sum.count > 0 ? (double)sum.passed / (double)sum.count : 1 };
	}
	qsort(ranked, r->count, sizeof *ranked, compare_ranked);
	for (size_t i = 0; i < r->count; i++)
		worst[i] = ranked[i].input;
	free(ranked);
	return worst;
}

void
eval_figures_compare(const struct eval_results *r, size_t variant, struct rate_comparison *c)
{
	struct rate_pair *pairs = memory_zero(r->count + 1, sizeof *pairs);

	for (size_t i = 0; i < r->count; i++)
		pairs[i] = (struct rate_pair){ eval_input_passes(r, i, 0, -1), eval_input_passes(r, i, variant, -1) };
	rate_compare(pairs, r->count, c);
	free(pairs);
}

const char *
eval_figures_comparison_word(const struct rate_comparison *c)
{
	return c->p > 0.05 ? "not told apart at 95 %" : c->fall < 0 ? "better" : "worse";
}
