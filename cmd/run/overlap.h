/*
 * Overlap: what a run does while other runs of the same name are alive (awf-run --overlap).
 * storage/queue.h stores their order and whose turn it is. All live runs of the name count, even
 * those with allow-all, which do not examine others themselves. Runs that this run is inside of do
 * not count, since they wait for it. A run counts until its process exits, that is also while the
 * process works after the end of the run.
 */
#ifndef AWF_RUN_OVERLAP_H
#define AWF_RUN_OVERLAP_H

#include <stdbool.h>

#include "base/error.h"
#include "base/id.h"
#include "storage/lineage.h"
#include "storage/queue.h"
#include "storage/storage.h"

/* The names of the policies; the first is the default. Ends with NULL. */
extern const char *const overlap_policies[];

struct overlap_spec {
	const char *name;             /* name of the workflow */
	const char *policy;           /* one of overlap_policies */
	const char *run_id;           /* id of the new run */
	const char *told;             /* name for lists; NULL: the run is masked */
};

struct overlap {
	struct storage storage;
	struct queue queue;
	struct lineage around;        /* the runs that it is inside of */
	char run_id[ID_SIZE];
	char by[ID_SIZE];             /* the run for which this one was skipped; "": none */
};

#define OVERLAP_INIT { .queue = { .lock = -1, .ticket = -1 } }

enum { OVERLAP_SKIPPED = 1 };

/* Waits until it is this run's turn. The caller has blocked the signals that cancel a run
 * (supervise.h). Returns 0 if it is this run's turn, which ends with overlap_leave();
 * OVERLAP_SKIPPED if the run must not start; or -1 with ERROR_SYSTEM, or with ERROR_CANCELLED if a
 * signal arrived, which is then blocked again. Call overlap_leave() whatever the result. */
int overlap_take(struct overlap *o, const struct overlap_spec *spec, struct error *err);
bool overlap_taken(const struct overlap *o);
/* Records the id that the run has got. */
void overlap_begun(struct overlap *o, const char *run_id);
/* Records that the run has ended: what this process still does cannot be cancelled. */
void overlap_ended(struct overlap *o);
/* Whether a run that waits has cancelled this one to take its place; sets that run's id. */
bool overlap_successor(struct overlap *o, char successor[ID_SIZE]);
void overlap_leave(struct overlap *o);

#endif
