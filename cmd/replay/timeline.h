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
	int64_t from, length; /* start: µs since 1970; length: µs, greater than 0 */
};

struct timeline timeline_of(const struct call_tree *tree, uint32_t attempt);
/* The positions of the start and the end of a period on the axis, from 0 to 1. */
void timeline_place(const struct timeline *t, int64_t began, int64_t ended, double at[2]);
/* The end of an entry; if it did not end, the last known time: µs since 1970. */
int64_t timeline_end(const struct call_tree *tree, const struct call_tree_entry *e);
/* A round distance between ticks, in ms, with which there are at most `most` ticks, but at least
 * one. */
int64_t timeline_tick(const struct timeline *t, size_t most);
/* Formats the label of a tick: "0", "500ms", "1.5s". Returns out. */
char *timeline_tick_text(int64_t ms, char *out, size_t size);

#endif
