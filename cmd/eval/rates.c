/* Differences are multiples of 1 / lcm of the counts, so sums of them are whole numbers, and their
 * distribution is an array. */
#include "eval/rates.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/invariant.h"
#include "base/memory.h"

#define Z 1.959963984540054      /* of the normal distribution: 95 % lie within */
#define SPLITS_MOST 20000     /* most results whose sum is computed exactly, input by input */
#define STEPS_MOST ((int64_t)1 << 26) /* and most sums times inputs, the time that this takes */
#define SUM_MOST ((int64_t)1 << 20) /* greatest sum whose distribution is computed exactly */

/* Newton's method; AWF's programs need no mathematics library. */
static double
rate_root(double x)
{
	double root = x > 1 ? x : 1;

	if (x <= 0)
		return 0;
	for (int i = 0; i < 100; i++)
		root = (root + x / root) / 2;
	return root;
}

void
rate_find(const struct rate_group *groups, size_t count, struct rate *rate)
{
	double p, n, spread = 0, most = 0, effect = 1, middle, half, size = 0;
	size_t used = 0;

	*rate = (struct rate){ .low = 0, .high = 1 };
	for (size_t i = 0; i < count; i++) {
		rate->passed += groups[i].passed;
		rate->count += groups[i].count;
		used += groups[i].count > 0;
	}
	if (rate->count == 0)
		return;
	n = (double)rate->count;
	p = (double)rate->passed / n;
	for (size_t i = 0; i < count; i++) {
		double d = (double)groups[i].passed - p * (double)groups[i].count;

		spread += d * d;
		size += (double)groups[i].count * (double)groups[i].count;
	}
	most = size / n; /* the size of a group; of unequal ones that of the group in which a result is */
	/* Where all passed, or all failed, nothing is known about how alike they are: a group is one
	 * result. */
	if (rate->passed == 0 || rate->passed == rate->count)
		effect = most;
	else if (used > 1)
		effect = spread / (n * p * (1 - p)) * (double)used / (double)(used - 1);
	else
		effect = most;
	if (effect < 1)
		effect = 1;
	if (effect > most)
		effect = most;
	n /= effect;
	middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n);
	half = Z / (1 + Z * Z / n) * rate_root(p * (1 - p) / n + Z * Z / (4 * n * n));
	rate->low = middle - half > 0 && rate->passed > 0 ? middle - half : 0;
	rate->high = middle + half < 1 && rate->passed < rate->count ? middle + half : 1;
	INVARIANT(rate->low <= p && p <= rate->high);
}

static int64_t
rate_divisor(int64_t a, int64_t b)
{
	while (b != 0) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* e to the power of -x, x >= 0. */
static double
rate_exp(double x)
{
	double term = 1, sum = 1, part = x / 1024;

	for (int i = 1; i < 20; i++) {
		term *= -part / i;
		sum += term;
	}
	for (int i = 0; i < 10; i++)
		sum *= sum;
	return sum;
}

/* The probability that a normal variable is above z (Abramowitz and Stegun, 26.2.17). */
static double
rate_normal_above(double z)
{
	const double t = 1 / (1 + 0.2316419 * (z < 0 ? -z : z));
	const double above = 0.3989422804014327 * rate_exp(z * z / 2) * t * (0.319381530 + t * (-0.356563782 +
	    t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));

	return z < 0 ? 1 - above : above;
}

/* How likely a sum of these differences with random signs is sum or more. */
static double
rate_chance(const int64_t *differences, size_t count, int64_t sum)
{
	int64_t all = 0;
	double *chances, *next, above = 0, variance = 0;

	for (size_t i = 0; i < count; i++) {
		all += differences[i];
		variance += (double)differences[i] * (double)differences[i];
	}
	if (all == 0)
		return 1;
	if (all > SUM_MOST || all > STEPS_MOST / (int64_t)count)
		return rate_normal_above(((double)sum - 0.5) / rate_root(variance));
	/* chances[s + all]: that the sum is s. */
	chances = memory_zero((size_t)(2 * all + 1), sizeof *chances);
	next = memory_zero((size_t)(2 * all + 1), sizeof *next);
	chances[all] = 1;
	for (size_t i = 0; i < count; i++) {
		double *before = chances;

		if (differences[i] == 0)
			continue;
		for (int64_t s = 0; s <= 2 * all; s++)
			next[s] = ((s >= differences[i] ? before[s - differences[i]] : 0) +
			    (s + differences[i] <= 2 * all ? before[s + differences[i]] : 0)) / 2;
		chances = next;
		next = before;
	}
	for (int64_t s = sum > -all ? sum : -all; s <= all; s++)
		above += chances[s + all];
	free(chances);
	free(next);
	return above < 1 ? above : 1;
}

void
rate_compare(const struct rate_pair *pairs, size_t count, struct rate_comparison *comparison)
{
	int64_t *differences = memory_zero(count + 1, sizeof *differences), scale = 1, sum = 0;
	struct rate_comparison c = { .p = 1 };
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		const int64_t of[2] = { pairs[i].a.count, pairs[i].b.count };

		for (int j = 0; of[0] > 0 && of[1] > 0 && j < 2 && scale < SUM_MOST; j++)
			scale = scale / rate_divisor(scale, of[j]) * of[j];
	}
	for (size_t i = 0; i < count; i++) {
		const struct rate_group *a = &pairs[i].a, *b = &pairs[i].b;
		int64_t d;

		if (a->count == 0 || b->count == 0)
			continue;
		/* Beyond SUM_MOST, fractions are rounded. */
		d = a->passed * scale / a->count - b->passed * scale / b->count;
		c.better += d < 0;
		c.worse += d > 0;
		c.equal += d == 0;
		sum += d;
		differences[used++] = d < 0 ? -d : d;
	}
	if (used > 0) {
		double above = rate_chance(differences, used, sum), below = rate_chance(differences, used, -sum);

		c.fall = (double)sum / (double)scale / (double)used;
		c.p = 2 * (above < below ? above : below);
		c.p = c.p < 1 ? c.p : 1;
	}
	free(differences);
	*comparison = c;
}

/* An input's passed results, of which each could as well be one of a as of b: chances[n] is set to how likely a has
 * least + n of them. Returns how many numbers are possible. */
static int64_t
rate_split(const struct rate_pair *pair, int64_t *least, double *chances)
{
	const int64_t a = pair->a.count, b = pair->b.count, passed = pair->a.passed + pair->b.passed;
	const int64_t most = passed < a ? passed : a;
	double sum = 0;

	*least = passed > b ? passed - b : 0;
	/* Hypergeometric, each from the one before, and then scaled. */
	for (int64_t n = *least; n <= most; n++) {
		const int64_t i = n - *least;

		chances[i] = i == 0 ? 1 : chances[i - 1] * (double)(a - n + 1) * (double)(passed - n + 1) /
		    ((double)n * (double)(b - passed + n));
		sum += chances[i];
		for (int64_t j = 0; sum > 1e200 && j <= i; j++)
			chances[j] /= 1e200;
		sum = sum > 1e200 ? sum / 1e200 : sum;
	}
	for (int64_t i = 0; i <= most - *least; i++)
		chances[i] /= sum;
	return most - *least + 1;
}

double
rate_fallen_chance(const struct rate_pair *pairs, size_t count)
{
	double *sums, *next, *chances, above = 0, mean = 0, variance = 0;
	int64_t room = 1, most = 1, observed = 0, length = 1;

	for (size_t i = 0; i < count; i++) {
		room += pairs[i].a.count;
		most = pairs[i].a.count + 1 > most ? pairs[i].a.count + 1 : most;
	}
	sums = memory_zero((size_t)room, sizeof *sums);
	next = memory_zero((size_t)room, sizeof *next);
	chances = memory_zero((size_t)most, sizeof *chances);
	sums[0] = 1;
	for (size_t i = 0; i < count; i++) {
		double own = 0, square = 0, *before = sums;
		int64_t least, possible;

		if (pairs[i].a.count == 0 || pairs[i].b.count == 0)
			continue;
		possible = rate_split(&pairs[i], &least, chances);
		observed += pairs[i].a.passed - least;
		for (int64_t j = 0; j < possible; j++) {
			own += (double)j * chances[j];
			square += (double)j * (double)j * chances[j];
		}
		mean += own;
		variance += square - own * own;
		if (room > SPLITS_MOST)
			continue;
		for (int64_t s = 0; s < length + possible - 1; s++) {
			next[s] = 0;
			for (int64_t j = 0; j < possible; j++)
				next[s] += s >= j && s - j < length ? before[s - j] * chances[j] : 0;
		}
		length += possible - 1;
		sums = next;
		next = before;
	}
	for (int64_t s = observed; s < length; s++)
		above += sums[s];
	if (room > SPLITS_MOST)
		above = variance > 0 ? rate_normal_above(((double)observed - 0.5 - mean) / rate_root(variance)) : 1;
	free(sums);
	free(next);
	free(chances);
	return above < 1 ? above : 1;
}

bool
rate_is_lost(const struct rate_pair *pair)
{
	return pair->a.count > 0 && pair->b.count > 0 && pair->a.passed == pair->a.count && pair->b.passed == 0;
}

double
rate_lost_chance(const struct rate_pair *pairs, size_t count)
{
	double *chances = memory_zero(count + 2, sizeof *chances), sum = 0;
	size_t lost = 0, could = 0;

	/* chances[n]: that n of the inputs so far are lost. */
	chances[0] = 1;
	for (size_t i = 0; i < count; i++) {
		const struct rate_group *a = &pairs[i].a, *b = &pairs[i].b;
		double ways = 1;

		if (a->count == 0 || b->count == 0 || a->passed + b->passed != a->count)
			continue;
		lost += rate_is_lost(&pairs[i]);
		for (int64_t j = 1; j <= b->count; j++)
			ways = ways * (double)(a->count + j) / (double)j;
		could++;
		for (size_t n = could; n > 0; n--)
			chances[n] = chances[n] * (1 - 1 / ways) + chances[n - 1] / ways;
		chances[0] *= 1 - 1 / ways;
	}
	for (size_t n = lost; n <= could; n++)
		sum += chances[n];
	free(chances);
	return lost == 0 || sum > 1 ? 1 : sum;
}

const char *
rate_chance_text(double p, char text[RATE_CHANCE_SIZE])
{
	if (p < 0.001)
		return "p < 0.001";
	snprintf(text, RATE_CHANCE_SIZE, "p = %.3f", p);
	return text;
}
