/* The distance of ticks is the first in a table with which there are few enough of them; if none
 * is, it is a number of days. */
#include "replay/timeline.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/invariant.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

int64_t
timeline_end(const struct call_tree *tree, const struct call_tree_entry *e)
{
	return e->began + call_tree_duration(tree, e) * 1000;
}

static void
timeline_extend_length(struct timeline *t, uint32_t under)
{
	const struct call_tree *tree = t->tree;

	for (uint32_t i = tree->entries[under].first; i != CALL_TREE_NONE; i = tree->entries[i].next) {
		int64_t end = timeline_end(tree, &tree->entries[i]);

		if (end > t->from && end - t->from > t->length)
			t->length = end - t->from;
		timeline_extend_length(t, i);
	}
}

struct timeline
timeline_of(const struct call_tree *tree, uint32_t attempt)
{
	const struct call_tree_entry *e = &tree->entries[attempt];
	struct timeline t = { .tree = tree, .from = e->began };

	t.length = timeline_end(tree, e) - e->began;
	if (t.length < 1000)
		t.length = 1000;
	timeline_extend_length(&t, attempt);
	INVARIANT(t.length >= 1000);
	return t;
}

void
timeline_place(const struct timeline *t, int64_t began, int64_t ended, double at[2])
{
	const int64_t walls[2] = { began, ended };

	for (int i = 0; i < 2; i++) {
		at[i] = ((double)walls[i] - (double)t->from) / (double)t->length;
		at[i] = at[i] < 0 ? 0 : at[i] > 1 ? 1 : at[i];
	}
}

int64_t
timeline_tick(const struct timeline *t, size_t most)
{
	static const int64_t steps[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND,
		5 * SECOND, 10 * SECOND, 20 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE,
		10 * MINUTE, 20 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 6 * HOUR, 12 * HOUR,
		DAY };
	const size_t count = sizeof steps / sizeof *steps;
	int64_t length = t->length / 1000, step;

	for (size_t i = 0; i < count; i++)
		if (length / steps[i] <= (int64_t)most)
			return steps[i];
	for (step = 2 * DAY; length / step > (int64_t)most; step *= 2)
		;
	return step;
}

char *
timeline_tick_text(int64_t ms, char *out, size_t size)
{
	if (ms > 0)
		return duration_text(ms, out, size);
	snprintf(out, size, "0");
	return out;
}
