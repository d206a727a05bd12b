/*
 * Origins: the runs of a storage that are recorded elsewhere, whose lines, or events, somebody
 * sends (lib/ingest), and to whom each belongs.
 *
 * What the code relies on, and keeps:
 *   - A run belongs to who has sent its first line: the file origins/<run-id> says so from
 *     before the transcript is made until all of the run is removed. Nobody else can add to it.
 *     A run without such a file is this storage's own, and nobody can send any of it.
 *   - What is decided about a run (resume, fork, cancel, approve) is decided where it is
 *     recorded. Whatever does that asks origin_check_own() first.
 *   - Nobody here holds a lock while such a run lives, for its programs are elsewhere. It lives
 *     by lease: until a time that each of its lines puts off, and that is kept as the time of
 *     the file's last change. Its end, run.completed, ends the lease.
 *   - Who writes to the transcript, or to the blobs, shares the lock of the file meanwhile; who
 *     makes the transcript, or removes the run (decide/prune.h), has it alone.
 *   - The directory runs/<run-id>/ would not serve: whoever owns a run, or comes upon what
 *     another left behind, empties it.
 */
#ifndef AWF_STORAGE_ORIGIN_H
#define AWF_STORAGE_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "storage/storage.h"

#define ORIGIN_NAME_LIMIT 200 /* bytes */

/* What is sent of the run. */
enum origin_kind {
	ORIGIN_LINES,  /* the lines of its transcript, which are the same here */
	ORIGIN_EVENTS, /* events of another program: their lines are made here */
	ORIGIN_ANY     /* either: what the run is made of is known where it came from */
};

/* ---- for all ---- */

/* Who sends the run, in memory of its own; NULL: it is this storage's own. */
char *origin_name(const struct storage *s, const char *run_id);
/* -1, ERROR_USAGE naming the origin, if the run is not this storage's own. The second is for who
 * knows the path of the transcript alone. */
int origin_check_own(const struct storage *s, const char *run_id, struct error *err);
int origin_check_own_at(const char *transcript, const char *run_id, struct error *err);

/* ---- for who sends ---- */

struct origin {
	char *path;
	int fd;         /* -1: not open */
	int lock_ms;    /* so long its lock is waited for */
};

/* Whether an origin can be called so: some text, without control characters. */
bool origin_name_valid(const char *name);
/* Makes the run that of this origin, if it is nobody's yet, and holds its lock alone, so that
 * its transcript can be made. -1: ERROR_BLOCKED: it is another's, this storage's own, sent as
 * something else, or being removed; ERROR_SYSTEM. */
int origin_claim(struct origin *o, const struct storage *s, const char *run_id, const char *name,
    enum origin_kind kind, int lock_ms, struct error *err);
/* Shares the lock: 1; 0: the run was removed since it was claimed; -1: ERROR_SYSTEM. */
int origin_share(struct origin *o, struct error *err);
/* Lets go of the lock. */
void origin_release(struct origin *o);
/* The run lives until then, µs since 1970. */
int origin_lease(struct origin *o, int64_t until, struct error *err);
void origin_close(struct origin *o);

/* ---- for who removes ---- */

/* Holds the lock alone, as long as *fd is open; -1: it is a run of this storage's own. -1 if
 * somebody writes just now: that is not waited for. */
int origin_hold(const struct storage *s, const char *run_id, int *fd);

#endif
