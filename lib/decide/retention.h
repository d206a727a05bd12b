/*
 * Retention: which runs are to be removed, computed from numbers only. decide/prune finds the runs
 * and removes them.
 *
 * These runs are always kept: those that are not selected, protected ones (running or waiting),
 * and those from which a kept run was forked, since that could not be resumed without them. Of the
 * others, the newest are kept as far as the limits allow, and all older ones are removed.
 * Protected runs count towards the limits.
 */
#ifndef AWF_DECIDE_RETENTION_H
#define AWF_DECIDE_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct retention_rule {
	int64_t before;     /* remove runs that ended before this, µs since 1970;
	                       INT64_MIN: no limit */
	int64_t max_count;  /* INT64_MAX: no limit */
	int64_t max_bytes;  /* the same */
};

#define RETENTION_ALL { INT64_MIN, INT64_MAX, INT64_MAX }

struct retention_item {
	int64_t ended;
	int64_t bytes;
	const size_t *origins; /* indices of the items from which runs of this item were forked */
	size_t origin_count;
	bool selected;
	bool protected;
	bool goes;          /* result of retention_plan(): it is removed */
};

/* The items are sorted by start, the newest first. */
void retention_plan(struct retention_item *items, size_t count,
    const struct retention_rule *rule);

#endif
