/*
 * Overlap: what a run does while other runs of the same name live (awf-run --overlap).
 * storage/queue.h keeps the order and whose turn it is. All live runs of the name count, also
 * those started with allow-all, which themselves examine no others. Runs that this run is inside
 * of do not count: they wait for it. A process counts until it exits, including its work after the
 * end of its run.
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
	const char *name;             /* of the workflow */
	const char *policy;           /* one of overlap_policies */
	const char *run_id;           /* of the new run */
	const char *told;             /* name to show in lists; NULL: it is masked */
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

/* Waits until it is this run's turn, with the signals that cancel held (supervise.h). Returns 0
 * if it is, until overlap_leave(); OVERLAP_SKIPPED if the run must not start; -1: ERROR_SYSTEM,
 * or ERROR_CANCELLED if a signal arrived, which is held again. Call overlap_leave() whatever
 * the result. */
int overlap_take(struct overlap *o, const struct overlap_spec *spec, struct error *err);
bool overlap_taken(const struct overlap *o);
/* The run has got this id. */
void overlap_begun(struct overlap *o, const char *run_id);
/* The run has ended: the rest of this process's work cannot be cancelled. */
void overlap_ended(struct overlap *o);
/* Whether a waiting run has cancelled this one to take its place; sets that run's id. */
bool overlap_successor(struct overlap *o, char successor[ID_SIZE]);
void overlap_leave(struct overlap *o);

#endif
