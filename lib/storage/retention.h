/*
 * Retention: which runs go, of those that there are. It knows figures alone; what a run
 * is, and how it is removed, is in run/prune.
 *
 * What stays whatever the rule: what is not selected, what is protected (it lives, or
 * waits), and what something that stays was forked from, as that could not be gone on
 * with otherwise. Of the rest the newest stay that the rule has room for; once there is
 * no more room, all that are older go. What is protected takes up room.
 */
#ifndef AWF_STORAGE_RETENTION_H
#define AWF_STORAGE_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct retention_rule {
	int64_t before;     /* what ended before this goes, µs since 1970; INT64_MIN: no limit */
	int64_t max_count;  /* INT64_MAX: no limit */
	int64_t max_bytes;  /* likewise */
};

#define RETENTION_ALL { INT64_MIN, INT64_MAX, INT64_MAX }

struct retention_item {
	int64_t ended;
	int64_t bytes;
	const size_t *origins; /* indices of what runs of it were forked from */
	size_t origin_count;
	bool selected;
	bool protected;
	bool goes;          /* filled by retention_plan() */
};

/* The items are in order, the newest start first. */
void retention_plan(struct retention_item *items, size_t count,
    const struct retention_rule *rule);

#endif
