/*
 * An axis reaches to the last that is known of anything in the attempt, which may be later than
 * its own end. Ticks stand at round times: the first step of a table that gives few enough.
 */
#include "inspect/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static int64_t
end_of(const struct call_tree *tree, const struct call_tree_entry *e)
{
	return e->began + call_tree_duration(tree, e) * 1000;
}

/* Calls in the order in which they began, each before those in it. */
static void
add_rows(struct timeline *t, uint32_t under, unsigned depth)
{
	const struct call_tree *tree = t->tree;

	for (uint32_t i = tree->entries[under].first; i != CALL_TREE_NONE; i = tree->entries[i].next) {
		const struct call_tree_entry *e = &tree->entries[i];
		int64_t end = end_of(tree, e);

		if (end > t->from && end - t->from > t->length)
			t->length = end - t->from;
		if (e->what == CALL_TREE_CALL) {
			t->rows = memory_array(t->rows, t->count + 1, sizeof *t->rows);
			t->rows[t->count++] = (struct timeline_row){ i, depth };
		}
		add_rows(t, i, depth + (e->what == CALL_TREE_CALL));
	}
}

void
timeline_make(struct timeline *t, const struct call_tree *tree, uint32_t attempt)
{
	const struct call_tree_entry *e = &tree->entries[attempt];

	*t = (struct timeline){ .tree = tree, .attempt = attempt, .from = e->began };
	t->length = end_of(tree, e) - e->began;
	if (t->length < 1000)
		t->length = 1000;
	add_rows(t, attempt, 0);
}

void
timeline_span(const struct timeline *t, const struct call_tree_entry *e, double *begin, double *end)
{
	const int64_t walls[2] = { e->began, end_of(t->tree, e) };
	double at[2];

	for (int i = 0; i < 2; i++) {
		at[i] = ((double)walls[i] - (double)t->from) / (double)t->length;
		at[i] = at[i] < 0 ? 0 : at[i] > 1 ? 1 : at[i];
	}
	*begin = at[0];
	*end = at[1];
}

int64_t
timeline_step(const struct timeline *t, size_t most)
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
timeline_tick(int64_t ms, char *out, size_t size)
{
	if (ms == 0)
		snprintf(out, size, "0");
	else
		duration_text(ms, out, size);
	return out;
}

void
timeline_free(struct timeline *t)
{
	free(t->rows);
}
