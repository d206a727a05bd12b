/*
 * The statistics of awf-eval, by simulation with fixed seeds: how often intervals contain the true rate, how often
 * equal evaluations differ from their baseline, and whether broken inputs are found.
 */
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "eval/baseline.h"
#include "eval/rates.h"

/* xorshift64* (Marsaglia 2003; Vigna 2016). */
static uint64_t state;

static double
draw(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)((state * 2685821657736338717u) >> 11) / 9007199254740992.0;
}

#define NEAR(a, b, by) assert_true((a) > (b) - (by) && (a) < (b) + (by))

static void
intervals(void **unused)
{
	const struct rate_group all[] = { { 10, 10 } }, none[] = { { 0, 10 } };
	struct rate_group ones[10];
	struct rate rate;

	(void)unused;
	rate_find(NULL, 0, &rate);
	assert_true(rate.count == 0 && rate.low == 0 && rate.high == 1);
	/* Wilson's for 9 of 10. */
	for (int i = 0; i < 10; i++)
		ones[i] = (struct rate_group){ i > 0, 1 };
	rate_find(ones, 10, &rate);
	NEAR(rate.low, 0.596, 0.001);
	NEAR(rate.high, 0.982, 0.001);
	/* Ten repetitions of one input are one result. */
	rate_find(all, 1, &rate);
	NEAR(rate.low, 0.207, 0.001);
	assert_true(rate.high == 1);
	rate_find(none, 1, &rate);
	assert_true(rate.low == 0);
	NEAR(rate.high, 0.793, 0.001);
}

/* How often the interval has the true rate, of inputs whose own rates differ by spread in both directions. */
static double
coverage(size_t inputs, int64_t repetitions, double rate, double spread)
{
	struct rate_group groups[100];
	int within = 0;

	for (int round = 0; round < 700; round++) {
		struct rate found;

		for (size_t i = 0; i < inputs; i++) {
			double own = rate + (draw() < 0.5 ? spread : -spread);

			groups[i] = (struct rate_group){ 0, repetitions };
			for (int64_t k = 0; k < repetitions; k++)
				groups[i].passed += draw() < own;
		}
		rate_find(groups, inputs, &found);
		within += found.low <= rate && rate <= found.high;
	}
	return within / 700.0;
}

static void
intervals_contain_the_rate(void **unused)
{
	static const struct { size_t inputs; int64_t repetitions; double rate, spread; } cases[] = {
		{ 10, 1, 0.9, 0 }, { 20, 1, 0.9, 0 }, { 20, 5, 0.9, 0.1 }, { 20, 5, 0.7, 0.3 }, { 50, 5, 0.7, 0.3 },
		{ 50, 5, 0.5, 0.45 }, { 100, 1, 0.3, 0 },
	};

	(void)unused;
	state = 20261130;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_true(coverage(cases[i].inputs, cases[i].repetitions, cases[i].rate, cases[i].spread) >= 0.91);
}

static void
comparisons(void **unused)
{
	const struct rate_pair pairs[] = { { { 0, 1 }, { 1, 1 } }, { { 0, 1 }, { 1, 1 } }, { { 0, 1 }, { 1, 1 } },
		{ { 0, 1 }, { 1, 1 } }, { { 0, 1 }, { 1, 1 } }, { { 1, 1 }, { 0, 1 } }, { { 1, 1 }, { 1, 1 } },
		{ { 3, 3 }, { 0, 0 } } };
	const struct rate_pair thirds[] = { { { 3, 3 }, { 1, 2 } }, { { 2, 3 }, { 1, 2 } } };
	const struct rate_pair lost[] = { { { 5, 5 }, { 0, 5 } }, { { 5, 5 }, { 5, 5 } }, { { 3, 5 }, { 2, 5 } } };
	struct rate_pair many[3000];
	struct rate_comparison c;

	(void)unused;
	/* With one repetition it is the sign test: 5 of 6, (6 + 1) / 64 in one direction. */
	rate_compare(pairs, 8, &c);
	assert_true(c.better == 5 && c.worse == 1 && c.equal == 1);
	NEAR(c.p, 14 / 64.0, 1e-9);
	NEAR(rate_fallen_chance(pairs, 8), 63 / 64.0, 1e-9);
	NEAR(c.fall, -4 / 7.0, 1e-9);
	rate_compare(thirds, 2, &c);
	assert_true(c.worse == 2);
	NEAR(c.fall, (0.5 + 1 / 6.0) / 2, 1e-9);
	NEAR(c.p, 0.5, 1e-9);
	/* Of the first input a has 3 of the 4 passed ones (2 in 5) or 2; of the second 3 (1 in 10), 2 (6 in 10) or 1. */
	NEAR(rate_fallen_chance(thirds, 2), 0.4 * 0.7 + 0.6 * 0.1, 1e-9);
	rate_compare(NULL, 0, &c);
	assert_true(c.p == 1 && rate_fallen_chance(NULL, 0) == 1 && c.equal == 0);
	/* The second could not be lost, the third could have been. */
	NEAR(rate_lost_chance(lost, 2), 1 / 252.0, 1e-9);
	NEAR(rate_lost_chance(lost, 3), 2 / 252.0 - 1 / 252.0 / 252, 1e-9);
	assert_true(rate_lost_chance(lost + 1, 2) == 1 && !rate_is_lost(lost + 1));
	/* So many that the sum is taken for normal. */
	for (size_t i = 0; i < 3000; i++)
		many[i] = (struct rate_pair){ { i % 2 ? 997 : 0, 997 }, { i % 2 ? 0 : 991, 991 } };
	rate_compare(many, 3000, &c);
	assert_true(c.p > 0.9 && c.better == 1500 && c.worse == 1500);
	for (size_t i = 0; i < 200; i++)
		many[i].b.passed = 0;
	rate_compare(many, 3000, &c);
	NEAR(c.p, 0.063, 0.002); /* 1,500 against 1,400 */
	assert_true(rate_fallen_chance(many, 3000) < 0.0001);
}

/* ---- baselines ---- */

#define INPUTS 50

/* An evaluation of INPUTS inputs, as eval_results_read() makes it. */
static void
begin_results(struct eval_results *r, int64_t repetitions)
{
	*r = (struct eval_results){ .name = memory_text("eval"), .by_id = MAP_INIT, .count = INPUTS };
	r->settings.repetitions = repetitions;
	r->settings.variants = memory_zero(1, sizeof *r->settings.variants);
	r->settings.variants[0].name = memory_text("flow");
	r->settings.variant_count = 1;
	r->inputs = memory_zero(INPUTS, sizeof *r->inputs);
	for (size_t i = 0; i < INPUTS; i++) {
		r->inputs[i].id = memory_format("in-%02zu", i);
		r->inputs[i].trials = memory_zero((size_t)repetitions, sizeof *r->inputs->trials);
		map_put(&r->by_id, r->inputs[i].id, 5, i);
	}
}

static void
draw_results(struct eval_results *r, const double rates[INPUTS], size_t broken)
{
	for (size_t i = 0; i < INPUTS; i++)
		for (int64_t k = 0; k < r->settings.repetitions; k++)
			r->inputs[i].trials[k].outcome = draw() < rates[i] && i >= broken ? EVAL_PASS : EVAL_FAIL;
}

/* How many of 200 evaluations are worse than a baseline that was drawn at the same rates. */
static int
count_worse(int64_t repetitions, double rate, double spread, size_t broken)
{
	char directory[] = "/tmp/awf-test-XXXXXX", *path;
	struct eval_results r;
	double rates[INPUTS];
	int red = 0;

	assert_non_null(mkdtemp(directory));
	path = memory_format("%s/base.json", directory);
	begin_results(&r, repetitions);
	for (size_t i = 0; i < INPUTS; i++)
		rates[i] = rate + (i % 2 ? spread : -spread);
	for (int round = 0; round < 200; round++) {
		struct buffer said = BUFFER_INIT;
		struct error err = ERROR_INIT;
		const char *fault = NULL;

		draw_results(&r, rates, 0);
		assert_int_equal(eval_baseline_write(&r, path, &err), 0);
		draw_results(&r, rates, broken);
		assert_int_equal(eval_baseline_compare(&r, path, 0.02, &fault, &said, &err), 0);
		red += fault != NULL;
		buffer_free(&said);
	}
	eval_results_free(&r);
	unlink(path);
	rmdir(directory);
	free(path);
	return red;
}

static void
chances(void **unused)
{
	char text[RATE_CHANCE_SIZE];

	(void)unused;
	assert_string_equal(rate_chance_text(1, text), "p = 1.000");
	assert_string_equal(rate_chance_text(0.0421, text), "p = 0.042");
	assert_string_equal(rate_chance_text(0.001, text), "p = 0.001");
	/* Nothing is impossible. */
	assert_string_equal(rate_chance_text(0.00099, text), "p < 0.001");
}

static void
baselines(void **unused)
{
	static const struct { int64_t repetitions; double rate, spread; } cases[] = {
		{ 1, 0.9, 0 }, { 1, 0.7, 0.3 }, { 3, 0.9, 0.1 }, { 3, 0.7, 0 }, { 5, 0.7, 0.3 }, { 5, 0.5, 0.4 }, { 10, 0.9, 0.05 },
	};

	(void)unused;
	state = 30112026;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_true(count_worse(cases[i].repetitions, cases[i].rate, cases[i].spread, 0) <= 10);
	/* Ten of fifty are broken. */
	assert_int_equal(count_worse(1, 1, 0, 10), 200);
	assert_int_equal(count_worse(3, 0.9, 0.1, 10), 200);
	assert_int_equal(count_worse(5, 0.9, 0.05, 10), 200);
	assert_int_equal(count_worse(5, 0.7, 0.2, 10), 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals),
		cmocka_unit_test(intervals_contain_the_rate),
		cmocka_unit_test(comparisons),
		cmocka_unit_test(chances),
		cmocka_unit_test(baselines),
	};

	return cmocka_run_group_tests_name("eval/rates", tests, NULL, NULL);
}
