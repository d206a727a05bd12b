/*
 * The time axis of a timeline: from the begin of an attempt to the last known time of anything in
 * it, which may be later than its own end. Attempts may be days apart, so each has its own axis.
 * Ticks are at round times.
 */
#ifndef AWF_REPLAY_TIMELINE_H
#define AWF_REPLAY_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "replay/call_tree.h"

struct timeline {
	const struct call_tree *tree;
	int64_t from, length; /* µs since 1970; µs, greater than 0 */
};

struct timeline timeline_of(const struct call_tree *tree, uint32_t attempt);
/* Where a period begins and ends on the axis, both from 0 to 1. */
void timeline_place(const struct timeline *t, int64_t began, int64_t ended, double at[2]);
/* When an entry ended, or the last known time if it did not: µs since 1970. */
int64_t timeline_end(const struct call_tree *tree, const struct call_tree_entry *e);
/* A round interval between ticks, in ms, so that there are at most `most` ticks (but
 * one at least). */
int64_t timeline_tick(const struct timeline *t, size_t most);
/* Formats the label of a tick: "0", "500ms", "1.5s". Returns out. */
char *timeline_tick_text(int64_t ms, char *out, size_t size);

#endif
