/*
 * Ranges are collected in any order and sorted at the end, so that matching can use binary search.
 */
#include "schema/pattern_program.h"

#include <stdlib.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "schema/unicode_category.h"

#define RANGE_LIMIT 100000

void
pattern_add_range(struct pattern *t, uint32_t low, uint32_t high)
{
	INVARIANT(low <= high && high <= PATTERN_CODE_POINT_MAX);
	if (t->range_count == t->range_capacity) {
		t->range_capacity = t->range_capacity * 2 + 16;
		t->ranges = memory_array(t->ranges, t->range_capacity, sizeof *t->ranges);
	}
	t->ranges[t->range_count++] = (struct range){ low, high };
}

void
pattern_add_class(struct pattern *t, const struct range *class, bool inverted)
{
	uint32_t low = 0;

	for (; class->high != 0; class++) {
		if (!inverted)
			pattern_add_range(t, class->low, class->high);
		else if (class->low > low)
			pattern_add_range(t, low, class->low - 1);
		low = class->high + 1;
	}
	if (inverted)
		pattern_add_range(t, low, PATTERN_CODE_POINT_MAX);
}

void
pattern_add_categories(struct pattern *t, uint32_t categories, bool inverted)
{
	uint32_t low, end;

	for (size_t i = 0; i < unicode_category_count; i++) {
		low = unicode_categories[i] >> 8;
		INVARIANT(i == 0 ? low == 0 : low > unicode_categories[i - 1] >> 8);
		end = i + 1 < unicode_category_count ? unicode_categories[i + 1] >> 8
		    : PATTERN_CODE_POINT_MAX + 1;
		if (((categories >> (unicode_categories[i] & 0xff) & 1) != 0) != inverted)
			pattern_add_range(t, low, end - 1);
	}
}

static int
ranges_compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

/* Adds the letters from a to z in a range, shifted by distance. */
static void
add_folded(struct pattern *t, struct range range, uint32_t a, uint32_t z, int distance)
{
	uint32_t low = range.low > a ? range.low : a, high = range.high < z ? range.high : z;

	if (low <= high)
		pattern_add_range(t, (uint32_t)((int)low + distance), (uint32_t)((int)high + distance));
}

/* Adds the other case of the letters added since first. */
static void
pattern_fold_case(struct pattern *t, size_t first)
{
	size_t end = t->range_count;

	for (size_t i = first; i < end; i++) {
		add_folded(t, t->ranges[i], 'A', 'Z', 'a' - 'A');
		add_folded(t, t->ranges[i], 'a', 'z', 'A' - 'a');
	}
}

/* Whether ranges are ascending and not adjacent, as binary search requires. */
static bool
ranges_hold(const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ranges[i].low > ranges[i].high || (i > 0 && ranges[i].low <= ranges[i - 1].high + 1))
			return false;
	return true;
}

bool
pattern_join_ranges(struct pattern *t, size_t first)
{
	size_t count, last = 0;
	struct range *ranges;

	if ((t->flags & PATTERN_FOLD) != 0)
		pattern_fold_case(t, first);
	if (t->range_count > RANGE_LIMIT)
		return false;
	count = t->range_count - first;
	if (count < 2)
		return true;
	ranges = t->ranges + first;
	qsort(ranges, count, sizeof *ranges, ranges_compare);
	for (size_t i = 1; i < count; i++)
		if (ranges[i].low > ranges[last].high + 1)
			ranges[++last] = ranges[i];
		else if (ranges[i].high > ranges[last].high)
			ranges[last].high = ranges[i].high;
	t->range_count = first + last + 1;
	INVARIANT(ranges_hold(ranges, last + 1));
	return true;
}

void
pattern_free(struct pattern *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->look_count; i++)
		free(p->looks[i].program.list);
	free(p->looks);
	free(p->program.list);
	free(p->ranges);
	free(p);
}
