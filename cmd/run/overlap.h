/*
 * Overlap: what becomes of a run while others of its workflow's name live (awf-run
 * --overlap). Whose turn it is, and in which order, the queue knows (storage/queue.h).
 *
 * Every run of the name counts that lives, those too that were started with allow-all,
 * which themselves look at nobody. The runs that a run was started in do not count: they
 * wait for it. Processes count until they have ended, with what they do after the end of
 * their run.
 */
#ifndef AWF_RUN_OVERLAP_H
#define AWF_RUN_OVERLAP_H

#include <stdbool.h>

#include "base/error.h"
#include "base/id.h"
#include "storage/lineage.h"
#include "storage/queue.h"
#include "storage/storage.h"

/* The names of the policies, the default first; ends with NULL. */
extern const char *const overlap_policies[];

struct overlap_spec {
	const char *name;             /* of the workflow */
	const char *policy;           /* one of overlap_policies */
	const char *run_id;           /* of the run that is to be */
	const char *told;             /* name for lists; NULL: it is masked, and not told */
};

struct overlap {
	struct storage storage;
	struct queue queue;
	struct lineage around;        /* the runs that it is inside of */
	char run_id[ID_SIZE];
	char by[ID_SIZE];             /* "": nobody; the run that it was skipped for */
};

#define OVERLAP_INIT { .queue = { .lock = -1, .ticket = -1 } }

enum { OVERLAP_SKIPPED = 1 };

/* Takes its turn, or waits for it, with the signals that cancel held (supervise.h).
 * 0: it is this run's turn, until overlap_leave(). OVERLAP_SKIPPED: it is not to run.
 * -1: ERROR_SYSTEM, or ERROR_CANCELLED by a signal, which is held again.
 * overlap_leave() whatever the result. */
int overlap_take(struct overlap *o, const struct overlap_spec *spec, struct error *err);
bool overlap_taken(const struct overlap *o);
/* The run goes by this id. */
void overlap_begun(struct overlap *o, const char *run_id);
/* The run has ended: what this process still does is not to be cancelled. */
void overlap_ended(struct overlap *o);
/* Whether a run waits that cancelled this one to take its place; its id. */
bool overlap_successor(struct overlap *o, char successor[ID_SIZE]);
void overlap_leave(struct overlap *o);

#endif
