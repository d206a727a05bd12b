/*
 * Pruning: removes runs that have ended, with all that the storage has of them, by a rule
 * (storage/retention.h).
 *
 * What the code relies on, and keeps:
 *   - A run and the runs that were started inside of it go together, or stay together:
 *     its age is that of the last of them to end, its size that of all. If one of them
 *     lives, waits or is being replayed, or may, as it cannot be read, all of them stay.
 *   - Whoever removes a run holds its lock (storage/run_lock.h), so nobody resumes it
 *     meanwhile, and of two that prune one leaves it to the other. Only where a full disk
 *     leaves no room for a lock it goes without: nobody can resume it then either.
 *   - A run is gone once its transcript is called <run-id>.pruned; that is on disk before
 *     anything else of it is removed, and is removed last, behind a line in the audit
 *     trail. Whoever prunes next, by whatever rule, finishes what is called so, with the
 *     runs that were started inside of it.
 *   - A run is archived before it is called so, together with those inside of it, and not
 *     again afterwards. Who is killed between the two leaves whole runs, which the next
 *     archives once more.
 *   - Nobody sends more of a run that is recorded elsewhere while it is removed. What such a
 *     run says of itself keeps and removes no other: its age is that of its file, and it is
 *     inside of, or was forked from, none of this storage's own.
 *   - `latest` is moved to the newest run that is left, when the one that it names is
 *     gone.
 *   - What belongs to no transcript (a run that was killed and keeps none, or before it
 *     had one) goes when it is a day old. What is kept of a workspace goes with it.
 */
#ifndef AWF_DECIDE_PRUNE_H
#define AWF_DECIDE_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "storage/retention.h"
#include "storage/storage.h"

struct pruned {
	const char *run_id;
	const char *name;     /* of the workflow; "" if it is not known */
	const char *status;
	int64_t ended;        /* µs since 1970 */
	int64_t bytes;
};

struct prune_spec {
	struct retention_rule rule;
	const char *name;     /* of the workflow; NULL: all, and what belongs to none */
	const char *spared;   /* a run that stays; NULL: none */
	bool own;             /* none that is recorded elsewhere (storage/origin.h) */
	bool dry;             /* tells what would go */
	void (*told)(const struct pruned *run);   /* NULL: nobody */
	/* A run is to go, with those inside of it, whose locks are held: paths, from the storage's
	 * root, of all that there is of them; they end with NULL. -1 with *err: all of them stay,
	 * and that is as if they could not be removed. NULL: they just go. */
	int (*archive)(void *context, const struct pruned *run, char *const *paths,
	    struct error *err);
	void *context;        /* for archive */
	void (*warn)(const struct error *warning);
};

/* -1 with *err if the storage cannot be read, or something of it not be removed: the
 * first; the others were told as warnings, and everything else was done. */
int prune_runs(const struct storage *s, const struct prune_spec *spec, struct error *err);

#endif
