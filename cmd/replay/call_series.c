/*
 * The items of a step have the same call name except for the number behind the last colon. Each
 * item is linked to the next of its series, so that going through all series takes linear time.
 */
#include "replay/call_series.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "replay/timeline.h"
#include "transcript/call.h"

/* The four states that need attention, the worst first; then the normal ones. */
static const enum view_saying order[] = { VIEW_FAILED, VIEW_UNFINISHED, VIEW_WAITING, VIEW_RUNNING,
	VIEW_CANCELLED, VIEW_DONE, VIEW_REUSED, VIEW_CLOSED, VIEW_SKIPPED };
#define WORSE ((size_t)4)
#define ORDER (sizeof order / sizeof *order)

/* The part of an item's name that all items have in common; len 0: it is not an item. */
static size_t
step_of(const struct call_tree_entry *e)
{
	const char *colon = e->what == CALL_TREE_CALL && e->call ? strrchr(e->call, ':') : NULL;

	return colon && !call_is_member(e->call) ? (size_t)(colon - e->call) : 0;
}

/* Invariant: each item is in exactly one series, and linked from the first item of that. */
static bool
call_siblings_hold(const struct call_siblings *s)
{
	size_t count = 0, ended = 0;

	for (size_t i = 0; i < s->series_count; i++) {
		const struct call_series *series = &s->series[i];

		count += series->count;
		for (size_t n = 0; n < sizeof series->ended / sizeof series->ended[0]; n++)
			ended += series->ended[n];
		if (series->last >= s->count || s->list[series->last].next != CALL_TREE_NONE ||
		    series->until < series->began)
			return false;
	}
	return count == s->count && ended == s->count;
}

void
call_siblings_read(struct call_siblings *s, const struct call_tree *tree, uint32_t first)
{
	struct map steps = MAP_INIT;

	*s = (struct call_siblings){ .tree = tree };
	for (uint32_t i = first; i != CALL_TREE_NONE; i = tree->entries[i].next) {
		const struct call_tree_entry *e = &tree->entries[i];
		size_t len = step_of(e);
		const size_t *known = len > 0 ? map_get(&steps, e->call, len) : NULL;
		uint32_t at = known ? (uint32_t)*known : (uint32_t)s->series_count;
		const int64_t until = timeline_end(tree, e);
		struct call_series *series;

		s->list = memory_array(s->list, s->count + 1, sizeof *s->list);
		s->list[s->count] = (struct call_sibling){ i, at, CALL_TREE_NONE };
		if (at < s->series_count) {
			s->list[s->series[at].last].next = (uint32_t)s->count;
		} else {
			s->series = memory_array(s->series, s->series_count + 1, sizeof *s->series);
			s->series[s->series_count++] = (struct call_series){ .first = i, .began = e->began };
			if (len > 0)
				map_put(&steps, e->call, len, at);
		}
		series = &s->series[at];
		if (e->began < series->began)
			series->began = e->began;
		series->count++;
		series->ended[e->status]++;
		if (until > series->until)
			series->until = until;
		series->last = (uint32_t)s->count++;
	}
	INVARIANT(call_siblings_hold(s));
	map_free(&steps);
}

const struct call_series *
call_siblings_series(const struct call_siblings *s, size_t index)
{
	const struct call_series *series = &s->series[s->list[index].series];

	return series->count >= CALL_SERIES_LEAST ? series : NULL;
}

bool
call_series_tells(const struct call_tree_entry *e)
{
	size_t i = 0;

	while (i < WORSE && order[i] != e->status)
		i++;
	return i < WORSE && !e->behind;
}

void
call_series_label(const struct call_tree *tree, const struct call_series *series,
    struct buffer *out)
{
	const char *label = tree->entries[series->first].label;

	/* The first label is not that of item 0, if an earlier attempt has the items before it: cut
	 * off its number. */
	buffer_append(out, label ? label : "?", label ? strcspn(label, "[") : 1);
	buffer_format(out, " ×%lu", (unsigned long)series->count);
}

void
call_series_counts(const struct call_series *series, struct buffer *out)
{
	const size_t before = out->len;

	/* Print the normal states first, then those that need attention, the worst last. */
	for (size_t i = 0; i < ORDER; i++) {
		const enum view_saying status = order[i < ORDER - WORSE ? WORSE + i : ORDER - 1 - i];

		if (series->ended[status] > 0)
			buffer_format(out, "%s%lu %s", out->len > before ? " " : "",
			    (unsigned long)series->ended[status], view_words[status].symbol);
	}
}

enum view_saying
call_series_status(const struct call_series *series)
{
	size_t i = 0;

	while (i + 1 < ORDER && series->ended[order[i]] == 0)
		i++;
	return order[i];
}

void
call_siblings_free(struct call_siblings *s)
{
	free(s->list);
	free(s->series);
}
