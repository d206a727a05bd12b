/*
 * Origins: the runs of a storage that are recorded elsewhere, with the sender of their lines or
 * events (lib/ingest).
 *
 * What the code relies on, and keeps:
 *   - A run belongs to the sender of its first line. The file origins/<run-id> names that sender;
 *     it exists from before the transcript is made until all of the run is removed. Nobody else can
 *     add to the run. A run without such a file is this storage's own, and nobody can send any of
 *     it.
 *   - A run can only be resumed, forked, cancelled or approved in the storage where it is
 *     recorded. All code that does so calls origin_check_own() first.
 *   - No process here holds a lock while such a run is running, as its programs are elsewhere. It
 *     has a lease instead: it counts as running until a time that is extended with each of its
 *     lines and stored as the file's modification time. Its run.completed ends the lease.
 *   - A process that writes to the transcript or the blobs holds a shared lock on the file; a
 *     process that creates the transcript, or removes the run (decide/prune.h), holds an exclusive
 *     one.
 *   - The directory runs/<run-id>/ cannot be used for this, because it is emptied by the owner of
 *     a run, and by any process that finds it left behind.
 */
#ifndef AWF_STORAGE_ORIGIN_H
#define AWF_STORAGE_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "storage/storage.h"

#define ORIGIN_NAME_LIMIT 200 /* bytes */

/* What the sender sends of the run. */
enum origin_kind {
	ORIGIN_LINES,  /* the lines of its transcript, which are the same here */
	ORIGIN_EVENTS, /* events of another program, for which lines are made here */
	ORIGIN_ANY     /* what is sent need not be checked, because it is known at its source */
};

/* ---- for all ---- */

/* The sender of the run, to be freed by the caller; NULL: it is this storage's own. */
char *origin_name(const struct storage *s, const char *run_id);
/* -1 with ERROR_USAGE naming the origin if the run is not this storage's own. The second function
 * is for callers that only have the path of the transcript. */
int origin_check_own(const struct storage *s, const char *run_id, struct error *err);
int origin_check_own_at(const char *transcript, const char *run_id, struct error *err);

/* ---- for receiving ---- */

struct origin {
	char *path;
	int fd;         /* -1: not open */
	int lock_ms;    /* how long to wait for its lock */
};

/* Whether a text is valid as the name of a sender: not empty, without control characters. */
bool origin_name_valid(const char *name);
/* Claims a run for a sender, if it has no origin or already this one, and takes the exclusive lock,
 * so that its transcript can be created. -1 with ERROR_BLOCKED: it belongs to another sender, is
 * this storage's own, is sent as something else, or is being removed; or with ERROR_SYSTEM. */
int origin_claim(struct origin *o, const struct storage *s, const char *run_id, const char *name,
    enum origin_kind kind, int lock_ms, struct error *err);
/* Takes a shared lock instead: 1; 0: the run was removed since it was claimed; -1: ERROR_SYSTEM. */
int origin_share(struct origin *o, struct error *err);
/* Releases the lock. */
void origin_release(struct origin *o);
/* Extends the lease: the run counts as alive until this time, µs since 1970. */
int origin_lease(struct origin *o, int64_t until, struct error *err);
void origin_close(struct origin *o);

/* ---- for removing ---- */

/* Takes the exclusive lock of a run's origin; it is held while *fd is open. *fd is -1 if the run is
 * this storage's own. Returns -1 at once if another process is writing. */
int origin_hold(const struct storage *s, const char *run_id, int *fd);

#endif
