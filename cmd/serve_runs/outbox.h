/*
 * The outbox of a server that serves a database (--db): what clients send is taken in as anywhere
 * (lib/ingest), but in a storage beside the one that is served; from there it goes to the database,
 * by a filter of awf-ship, and is acknowledged when that has it. What is served comes from there.
 *
 * What the code relies on, and keeps:
 *   - The database decides. Before anything of a run is taken in, the storage here gets all that the
 *     database has of it, and whose it is; so lines are compared, events known, and senders told
 *     apart as if all had been sent here.
 *   - Other servers take in the same runs. Where one was first, the database refuses what does not
 *     follow; then the run is dropped here, and prepared anew.
 *   - Nothing in the storage is needed once it is acknowledged: it is made anew by each process, and
 *     nothing in it is synced. It holds the runs that were used last, as many as ingest keeps open.
 *   - A database that does not answer is waited for once, and not once for each run.
 *   - An outbox is one thread's.
 */
#ifndef AWF_SERVE_RUNS_OUTBOX_H
#define AWF_SERVE_RUNS_OUTBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "ingest/ingest.h"
#include "ingest/shipment.h"
#include "model/cost.h"
#include "storage/storage.h"

struct peer;
struct outbox_run;

struct outbox {
	const char *url, *program;       /* the filter */
	const char *sync;                /* AWF_SYNC for it; NULL: as if it were not set */
	const struct storage *storage;   /* what is taken in */
	const struct storage *record;    /* what is served */
	struct ingest *ingest;           /* that takes it in; NULL: blobs alone go out */
	struct cost cost;
	struct shipping with;
	struct peer *peer;
	bool ready, takes_alone, takes_fetch;         /* what it has said */
	bool late;                       /* it did not answer in time */
	struct error lost;               /* why nothing more is asked in this round */
	int64_t copy_until;              /* so long the copy is waited for in this round; 0: not yet */
	atomic_llong stop;               /* nothing is waited for beyond it, clock_monotonic(); 0: not set */
	struct outbox_run **runs;
	size_t count;
	uint64_t uses;
	struct map places;               /* run id → its place in runs */
};

enum outbox_result {
	OUTBOX_NONE,                     /* nothing of it was sent */
	OUTBOX_SAFE,                     /* the database has all that is here */
	OUTBOX_OTHER,                    /* it has something else */
	OUTBOX_REFUSED                   /* it cannot hold a line of what is here */
};

int outbox_open(struct outbox *o, struct error *err);
/* In any state, if o->url is NULL, or it was opened. */
void outbox_close(struct outbox *o);
/* Whoever is at work with it is to end soon. From any thread. */
void outbox_stop(struct outbox *o);

/* What is asked from now on is another round: a database that did not answer is asked again. */
void outbox_begin_round(struct outbox *o);
/* Lets go of the runs that were not used for the longest time, if there are too many. */
void outbox_end_round(struct outbox *o);

/* Has the storage have what the database has of a run, unless that was done and it was not dropped
 * since. ERROR_SYSTEM: it cannot be had; ERROR_BLOCKED: it was removed there (--keep). */
int outbox_prepare(struct outbox *o, const char *run_id, struct error *err);
/* Whether the database has something else by now than what was here before the last lines. -1: it
 * cannot be asked. */
int outbox_behind(struct outbox *o, const char *run_id, struct error *err);
/* Nothing is known of a run any more. */
void outbox_drop(struct outbox *o, const char *run_id);

/* What there is of a run is to be sent with the next ones. */
void outbox_add(struct outbox *o, const char *run_id, const char *sender);
/* Sends all that were added, and waits until the database has them. ERROR_SYSTEM: it cannot be
 * reached, or is too slow; it may have some. */
int outbox_send(struct outbox *o, struct error *err);
/* What became of a run with that. */
enum outbox_result outbox_result(const struct outbox *o, const char *run_id);
/* Why it was refused: ERROR_INVALID_INPUT. */
void outbox_refusal(const struct outbox *o, const char *run_id, struct error *err);

/* A blob that comes before its line. */
int outbox_put_blob(struct outbox *o, const char *run_id, const char *sha256, const char *path,
    struct error *err);
/* A blob that the database has, as the file at path. 1; 0: there is none; -1: it cannot be asked. */
int outbox_get_blob(struct outbox *o, const char *run_id, const char *sha256, const char *path,
    struct error *err);

#endif
