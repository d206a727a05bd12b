/*
 * Pruning: removes runs that have ended, with everything that the storage has of them, by a rule
 * (decide/retention.h).
 *
 * What the code relies on, and keeps:
 *   - A run and the runs that were started inside of it are removed or kept together: their age is
 *     that of the last one to end, their size the sum. If one of them is alive, waits or is being
 *     replayed, or may do so because it cannot be read, all are kept.
 *   - A process that removes a run holds its lock (storage/run_lock.h), so nobody resumes it
 *     meanwhile, and of two that prune only one removes it. Only if the disk is too full to make a
 *     lock, it is removed without one: then nobody can resume it either.
 *   - A run is removed by renaming its transcript to <run-id>.pruned, which is on disk before
 *     anything else is removed; that file is removed last, after a line in the audit trail. The
 *     next prune, by whatever rule, finishes the removal of runs with such a file, and of the runs
 *     inside of them.
 *   - A run is archived before it is renamed, together with those inside of it, and not again
 *     later. If the process is killed between the two, the runs are complete, and the next prune
 *     archives them once more.
 *   - While a run that is recorded elsewhere is being removed, nobody can send more of it. Its
 *     contents do not influence which other runs are removed: its age is that of its file, and even
 *     if it says so, it does not count as inside of, or forked from, the storage's own runs.
 *   - If the run that `latest` names is removed, it is set to the newest remaining run.
 *   - Files that belong to no transcript (of a run that was killed and keeps none, or that was
 *     killed before it had one) are removed when they are a day old. Marks of a workspace are
 *     removed after the workspace is gone.
 */
#ifndef AWF_DECIDE_PRUNE_H
#define AWF_DECIDE_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "decide/retention.h"
#include "storage/storage.h"

struct pruned {
	const char *run_id;
	const char *name;     /* name of the workflow; "" if it is not known */
	const char *status;
	int64_t ended;        /* µs since 1970 */
	int64_t bytes;
};

struct prune_spec {
	struct retention_rule rule;
	const char *name;     /* only runs of this workflow; NULL: all runs, and files that belong
	                         to none */
	const char *spared;   /* a run to keep; NULL: none */
	bool own;             /* only runs that were not recorded elsewhere (storage/origin.h) */
	bool sessions;        /* also runs with whose conversation a session goes on */
	bool dry;             /* only report what would be removed */
	void (*told)(const struct pruned *run);   /* called for each removed run; NULL */
	/* Called before a root and the runs inside it are removed, with their locks held. paths:
	 * all their files, relative to the storage's root; ends with NULL. -1 with *err: all of
	 * them are kept, and *err counts as a failure to remove them. NULL: nothing is archived. */
	int (*archive)(void *context, const struct pruned *run, char *const *paths,
	    struct error *err);
	void *context;        /* passed to archive */
	void (*warn)(const struct error *warning);
};

/* -1 if the storage cannot be read, or something cannot be removed. *err is the first error;
 * further ones are passed to warn(). Everything that can be removed is removed nevertheless. */
int prune_runs(const struct storage *s, const struct prune_spec *spec, struct error *err);

#endif
