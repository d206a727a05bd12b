/*
 * The transcript: appends events to one file that many processes share.
 *
 * What the code relies on, and keeps. Asserted where a line is written:
 *   - The writer holds flock(LOCK_EX) for one event, with signals blocked, on a descriptor that it
 *     opened itself: after a fork() it opens the file again. Readers take no lock. A forked child
 *     that continues without appending must close its copy, or it would keep the lock if its
 *     parent is killed.
 *   - seq is one more than in the last line, prev the BLAKE2b-256 of the last line, timestamp not
 *     earlier than in the last line.
 *   - In the transcript of a child run, each line names the parent, as the first does.
 *   - After a failed sync, every later call fails, too.
 *   - In a masked run, only what has passed the filter is written: without a filter
 *     every append fails.
 *
 * Shown by tests (tests/fault/transcript.bats, durability.bats, tests/unit/test_transcript):
 *   - Under the lock the file ends in a whole line: what a killed writer left is copied to
 *     <run-id>.torn and synced there before it is cut off here ("a torn line is not cut off before
 *     it is synced elsewhere").
 *   - A line is written by one write(). If that is short or fails, the line is cut off again before
 *     the lock is released, and the append has failed ("failing writes", "a short write"). Several
 *     lines that another storage already has (transcript_extend()) may be written at once.
 *   - Strings above 256 KiB, and bytes that are not UTF-8, are in blobs, which are synced before
 *     the line that names them is written ("a blob and its name are on disk before the line").
 */
#ifndef AWF_TRANSCRIPT_TRANSCRIPT_H
#define AWF_TRANSCRIPT_TRANSCRIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"
#include "transcript/event.h"
#include "transcript/line.h"
#include "transcript/redaction.h"
#include "transcript/sync_mode.h"
#include "transcript/window.h"

struct transcript {
	char *path;
	char *blobs;              /* directory of this run's blobs */
	char run_id[ID_SIZE];
	char parent_run_id[ID_SIZE]; /* from its first line; "": not a child run */
	bool parent_known;        /* parent_run_id was read */
	enum sync_mode sync;
	int fd;
	pid_t owner;              /* the process that opened fd */
	int64_t size;             /* up to here the file is known to have complete lines */
	int64_t seq;              /* seq of the last line */
	int64_t wall;             /* timestamp of the last line, µs */
	enum event_type last;     /* type of the last line */
	bool decided;             /* another process has appended the last line, and it is a
	                             decision */
	char prev[DIGEST_SIZE];   /* digest of the last line */
	bool broken;              /* a sync failed */
	bool locked;              /* the file's lock is held */
	int lock_ms;              /* how long to wait for the lock; 0: 30 s */
	bool busy;                /* the lock could not be taken in time */
	bool masked;              /* events must pass a filter: */
	struct redaction *redaction;  /* the filter; owned by the caller, who frees it after
	                                 transcript_close(); NULL: not known */
	struct line line;         /* the line that was made last */
	struct window tail;       /* the end of the file, as far as it was read */
	int64_t moved;            /* bytes of torn lines that this process has moved */
	/* Called when a torn line was moved; text is one line. May be NULL. */
	void (*repaired)(const char *text);
};

/* Creates a transcript (0600, O_EXCL) and syncs its directory, or opens an existing one. The
 * directory `blobs` may not exist yet. sync is set from $AWF_SYNC, repaired to NULL; the caller may
 * change them afterwards. Errors: ERROR_SYSTEM, naming the file; ERROR_USAGE for $AWF_SYNC; t is
 * then closed. If exceeding RLIMIT_FSIZE is to be an error instead of ending the process, the
 * caller must ignore SIGXFSZ. */
int transcript_create(struct transcript *t, const char *path, const char *blobs,
    const char *run_id, struct error *err);
int transcript_open(struct transcript *t, const char *path, const char *blobs,
    const char *run_id, struct error *err);

/* Appends one event; sets e->seq, e->id, e->timestamp, and in a masked run payload and raws (see
 * redaction_apply()). Waits at most 30 s for the lock. With SYNC_EVENT, the event is on disk when
 * this returns. On errors, nothing of the event is in the file: ERROR_SYSTEM for ENOSPC, EIO,
 * EDQUOT, EROFS, EFBIG, if the lock was not obtained, or if the file was unlinked meanwhile;
 * ERROR_INVALID_INPUT for JSON that is not minified or a line above 256 MiB. */
int transcript_append(struct transcript *t, struct event *e, struct error *err);

/* Like transcript_append(), but decide() is called first, with the lock held and the file read up
 * to its last complete line; it may change the event. If it returns -1, nothing is appended. (A
 * resume decides in this way which recorded call an event belongs to.) */
int transcript_append_deciding(struct transcript *t, struct event *e,
    int (*decide)(void *context, struct event *e, struct error *err), void *context,
    struct error *err);

/* The same, but allow() must not change the event: its line and blobs are made before the
 * lock is taken. */
int transcript_append_allowed(struct transcript *t, struct event *e,
    int (*allow)(void *context, struct event *e, struct error *err), void *context,
    struct error *err);

/* Appends lines of another storage's transcript of this run, unchanged: each with its LF, and each
 * already checked to be an event that follows the one before it. seq and prev are those of the
 * first line. 1: all are in the file; 0: none is, since the first does not follow the end of the
 * file, which t->seq and t->prev describe. -1: as for transcript_append(), but lines that a short
 * write has written completely remain. */
int transcript_extend(struct transcript *t, struct span lines, int64_t seq, const char *prev,
    struct error *err);

/* fdatasync(), outside the lock, unless SYNC_NONE. */
int transcript_sync(struct transcript *t, struct error *err);
/* For use after a call that was left in the middle (lib/shared): releases the lock; the next append
 * reads the end of the file again. */
void transcript_forget(struct transcript *t);
/* Frees memory that long lines have needed: for callers that keep many transcripts open. */
void transcript_trim(struct transcript *t);
void transcript_close(struct transcript *t);

/* Moves the bytes after the last complete line to <path minus .jsonl>.torn. *moved is their number;
 * 0: there were none. Takes the lock. */
int transcript_repair(const char *path, int64_t *moved, struct error *err);
/* Moves the bytes from `at` on to that file, if the transcript still ends at `end`: for damage that
 * only checking the whole chain finds. Takes the lock. */
int transcript_cut(const char *path, int64_t at, int64_t end, struct error *err);

#endif
