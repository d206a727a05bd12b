/*
 * The outbox of a server that serves a database (--db). What clients send is received as
 * usual (lib/ingest), but in a storage of its own. From there, a filter of awf-ship sends it
 * to the database, and it is acknowledged when the database has stored it. What is served
 * comes from the database.
 *
 * What the code relies on, and keeps:
 *   - The database decides. Before anything of a run is received, the storage here gets what the
 *     database has of the run, and its origin. Lines are then compared, events recognized, and
 *     senders checked as if everything had been sent here.
 *   - Other servers may receive the same runs. If another server was first, the database refuses
 *     what does not continue its lines; the run is then dropped here, and prepared again.
 *   - Nothing in the storage is needed after it was acknowledged: each process makes a new storage,
 *     without syncing it. It contains the runs that were used last, as many as ingest keeps open.
 *   - If the database does not answer, it is waited for once in a round, not once for each run.
 *   - An outbox belongs to one thread.
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
	struct ingest *ingest;           /* receives what is sent; NULL: only blobs are sent */
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
	OUTBOX_REFUSED                   /* it cannot store one of the lines that are here */
};

int outbox_open(struct outbox *o, struct error *err);
/* In any state, if o->url is NULL, or it was opened. */
void outbox_close(struct outbox *o);
/* Whoever uses the outbox must end soon. May be called from any thread. */
void outbox_stop(struct outbox *o);

/* Begins a new round: a database that did not answer is asked again. */
void outbox_begin_round(struct outbox *o);
/* Frees the runs that were not used for the longest time, if there are too many. */
void outbox_end_round(struct outbox *o);

/* Copies into the storage what the database has of a run, unless that was done and the run was not
 * dropped since. ERROR_SYSTEM: it is not available; ERROR_BLOCKED: it was removed from the
 * database (--keep). */
int outbox_prepare(struct outbox *o, const char *run_id, struct error *err);
/* Whether the database's last line of a run is not in the storage here. -1: the database
 * cannot be asked. */
int outbox_behind(struct outbox *o, const char *run_id, struct error *err);
/* Forgets what is here of a run. */
void outbox_drop(struct outbox *o, const char *run_id);

/* Marks a run: what is here of it is sent by the next outbox_send(). */
void outbox_add(struct outbox *o, const char *run_id, const char *sender);
/* Sends all that were added, and waits until the database has them. ERROR_SYSTEM: it cannot be
 * reached, or is too slow; it may have some. */
int outbox_send(struct outbox *o, struct error *err);
/* The result of that for a run. */
enum outbox_result outbox_result(const struct outbox *o, const char *run_id);
/* Why it was refused: ERROR_INVALID_INPUT. */
void outbox_refusal(const struct outbox *o, const char *run_id, struct error *err);

/* Sends a blob that arrived before its line. */
int outbox_put_blob(struct outbox *o, const char *run_id, const char *sha256, const char *path,
    struct error *err);
/* Fetches a blob from the database into the file at path. 1; 0: it is not there; -1: the database
 * cannot be asked. */
int outbox_get_blob(struct outbox *o, const char *run_id, const char *sha256, const char *path,
    struct error *err);

#endif
