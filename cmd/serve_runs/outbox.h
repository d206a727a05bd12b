/*
 * The outbox of a server that serves a database (--db). What clients send is received as
 * usual (lib/ingest), but in a storage of its own. From there, a filter of awf-ship sends it
 * to the database, and it is acknowledged when the database has stored it. What is served
 * comes from the database.
 *
 * What the code relies on, and keeps:
 *   - The database has the last word. Before anything of a run is received, the storage here gets
 *     what the database has of the run, and its origin. Lines are then compared, events recognized,
 *     and senders checked as if everything had been sent here.
 *   - Other servers may receive the same runs. If another server was first, the database refuses
 *     what does not continue its lines; the run is then dropped here, and prepared again.
 *   - Nothing in the storage is needed after it was acknowledged: each process makes a new storage,
 *     without syncing it. It contains the runs that were used last, as many as ingest keeps open.
 *   - If the database does not answer, a round waits for it once, not once for each run.
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
	const char *sync;                /* value of AWF_SYNC for the filter; NULL: not set */
	const struct storage *storage;   /* where uploads are stored */
	const struct storage *record;    /* the copy of the database, which is served */
	struct ingest *ingest;           /* stores the uploads; NULL: only blobs are sent */
	struct cost cost;
	struct shipping with;
	struct peer *peer;
	bool ready, takes_alone, takes_fetch;         /* the filter's announcements */
	bool late;                       /* it did not answer in time */
	struct error lost;               /* error that ended the round's use of the filter */
	int64_t copy_until;              /* clock_monotonic() until which this round waits for the
	                                    copy; 0: not set */
	atomic_llong stop;               /* clock_monotonic() at which all waiting ends; 0: not
	                                    set */
	struct outbox_run **runs;
	size_t count;
	uint64_t uses;
	struct map places;               /* run id → its place in runs */
};

enum outbox_result {
	OUTBOX_NONE,                     /* nothing of the run was sent */
	OUTBOX_SAFE,                     /* the database has all lines that are here */
	OUTBOX_OTHER,                    /* the database has other lines than these */
	OUTBOX_REFUSED                   /* the database cannot store one of the lines */
};

int outbox_open(struct outbox *o, struct error *err);
/* May be called in any state: if o->url is NULL, or after outbox_open(). */
void outbox_close(struct outbox *o);
/* Makes the thread that uses the outbox stop waiting soon. May be called from any thread. */
void outbox_stop(struct outbox *o);

/* Begins a new round: a database that did not answer is asked again. */
void outbox_begin_round(struct outbox *o);
/* Frees the runs that were not used for the longest time, if there are too many. */
void outbox_end_round(struct outbox *o);

/* Copies into the storage what the database has of a run, unless that was done and the run was not
 * dropped since. ERROR_SYSTEM: it is not available; ERROR_BLOCKED: it was removed from the
 * database (--keep). */
int outbox_prepare(struct outbox *o, const char *run_id, struct error *err);
/* Whether the database has lines of a run that are not in the storage here. -1: the database cannot
 * be asked. */
int outbox_behind(struct outbox *o, const char *run_id, struct error *err);
/* Removes the local copy of a run. */
void outbox_drop(struct outbox *o, const char *run_id);

/* Marks a run: the next outbox_send() sends the lines that are here. */
void outbox_add(struct outbox *o, const char *run_id, const char *sender);
/* Sends all that were added, and waits until the database has them. ERROR_SYSTEM: it cannot be
 * reached, or is too slow; it may have some. */
int outbox_send(struct outbox *o, struct error *err);
/* The result of outbox_send() for a run. */
enum outbox_result outbox_result(const struct outbox *o, const char *run_id);
/* The filter's reason for OUTBOX_REFUSED, as an ERROR_INVALID_INPUT. */
void outbox_refusal(const struct outbox *o, const char *run_id, struct error *err);

/* Sends a blob that arrived before the line that refers to it. */
int outbox_put_blob(struct outbox *o, const char *run_id, const char *sha256, const char *path,
    struct error *err);
/* Fetches a blob from the database into the file at path. 1; 0: it is not there; -1: the database
 * cannot be asked. */
int outbox_get_blob(struct outbox *o, const char *run_id, const char *sha256, const char *path,
    struct error *err);

#endif
