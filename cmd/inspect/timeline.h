/*
 * A timeline: the calls of an attempt as rows, on one axis from the attempt's begin to
 * the last thing that is known of it. Attempts may be days apart, so each has an axis
 * of its own.
 */
#ifndef AWF_INSPECT_TIMELINE_H
#define AWF_INSPECT_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "inspect/display.h"
#include "inspect/call_tree.h"

struct timeline_row {
	uint32_t entry; /* a call */
	unsigned depth; /* 0: not in a group */
};

struct timeline {
	const struct call_tree *tree;
	uint32_t attempt;        /* entry */
	int64_t from, length;    /* µs since 1970; µs, above 0 */
	struct timeline_row *rows;
	size_t count;
};

/* The timeline of an attempt. */
void timeline_make(struct timeline *t, const struct call_tree *tree, uint32_t attempt);
/* Where an entry begins and ends on the axis, both from 0 to 1. */
void timeline_span(const struct timeline *t, const struct call_tree_entry *entry, double *begin,
    double *end);
/* A round time between two ticks, in ms, so that there are at most `most` of them (one
 * at least). */
int64_t timeline_step(const struct timeline *t, size_t most);
/* "0", "500ms", "1.5s": what a tick says. */
char *timeline_tick(int64_t ms, char *out, size_t size);
void timeline_free(struct timeline *t);

/* Writes the timelines of all attempts as one page of HTML that needs nothing else. */
int timeline_page(const struct call_tree *tree, const char *path, struct error *err);

#endif
