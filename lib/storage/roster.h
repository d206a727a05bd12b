/*
 * The roster: which awf-step processes of a run have begun and ended, and so which of them died. It
 * is in runs/<id>/roster/, with a record of 320 bytes for each process. At top level there is one
 * file for each name of a step. For processes inside of calls there is one file for up to sixteen
 * calls, because a file for each would cost more time than anything else. The OCCURRENCE of a
 * process is its number among the processes with its name in the same call. It is used for
 * coordination and is not part of the record: it is removed with the run directory.
 *
 * What the code relies on:
 *   - A process holds a POSIX F_SETLK lock on its record while it lives. The kernel releases the
 *     lock before it closes the pipe, so a reader that sees EOF also sees that the lock is free.
 *   - Closing any descriptor of a file frees the process's locks on it, so the descriptor of a
 *     process's own file is kept until the end and used for looking at its neighbours too.
 *   - A process is dead if it began, did not end, and its lock is free.
 *   - If a system error, such as a full disk, keeps a process from recording its end, it writes
 *     the reason into its own roster record, which overwrites existing bytes and so needs no disk
 *     space. For readers of its output it still counts as dead.
 *   - The relay that passes the input of a child run to its workflow is also a process in the
 *     child's roster, named ROSTER_INPUT (its death does not make the run fail). It is recorded as
 *     ended if the input was complete, otherwise as dead, with the parent's process that died as
 *     the reason: so the reader learns this as if no child run were in between.
 *   - A record names the pipe to which its process writes, so that the reader of the pipe can find
 *     writers that have written nothing.
 */
#ifndef AWF_STORAGE_ROSTER_H
#define AWF_STORAGE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define ROSTER_CALL 33

struct roster {
	char *directory;
	char *enclosing, *name; /* the call around this process, and its own name */
	char call[ROSTER_CALL]; /* key of that call in the records */
	char *file;             /* name of the file in which it is registered */
	int fd;                 /* the open file; it stays open */
	int64_t record;         /* offset of its record; -1: it has ended */
	long occurrence;
};

struct roster_entry {
	const char *enclosing; /* the call around it; "" at top level */
	const char *name;
	bool tried;      /* its death does not fail the enclosing call or run (--try) */
	bool owner;      /* it owns the run: it reports an error itself if it cannot register */
	int out;         /* descriptor of its output; -1: nobody reads it */
};

/* Registers this process. If that fails, it leaves a note for the owner of the run
 * (run_lock_fail()), unless the process runs with --try. */
int roster_begin(struct roster *r, const char *run_directory, const struct roster_entry *e,
    struct error *err);
/* For a process outside of the run's calls that examines the roster. Call roster_close(). */
void roster_look(struct roster *r, const char *run_directory);
/* Records that this process has ended, and keeps the descriptor open. Later calls do nothing.
 * roster_end_empty(): it was successful, but has printed nothing. */
void roster_end(struct roster *r);
void roster_end_empty(struct roster *r);
/* The process ends with an error of the machine, and without recording an end: stores the
 * reason. */
void roster_fail(struct roster *r, const struct error *why);
/* Whether the process that made this call ("ENCLOSING/NAME:OCC:ITEM") is dead.
 * False for a call that the roster does not know. */
bool roster_dead(struct roster *r, const char *call);
/* Whether that process has ended. */
bool roster_ended(struct roster *r, const char *call);

/* Frees everything, after roster_end(); the lock is released. */
void roster_close(struct roster *r);

/* For awf-run: whether any process has begun, not ended, and is not dead; names
 * (may be NULL) gets their keys, separated by ", ". */
bool roster_busy(const char *run_directory, struct buffer *names);
#define ROSTER_REASON 80
#define ROSTER_WAITS "waits for a person" /* reason of a process that waits for a person and could
                                             record nothing */
struct roster_death {
	char process[256];          /* ENCLOSING/NAME:OCCURRENCE */
	char reason[ROSTER_REASON]; /* the error of the machine; "": it was killed */
};
/* Whether a process directly inside of this call ("": at top level) has died, except those with
 * --try; if several have, one whose reason is known is reported. Must not be called by a process
 * inside of the call. */
bool roster_died(const char *run_directory, const char *enclosing, struct roster_death *death);
/* Whether any process directly inside of this call ("": at top level) has begun. */
bool roster_entered(const char *run_directory, const char *enclosing);
/* Whether processes with this name, in the same call as this process, have begun, and all have
 * ended. */
bool roster_all_ended(const struct roster *r, const char *name);
/* Like roster_died(), for the other processes in the call in which this process is. */
bool roster_died_beside(const struct roster *r, struct roster_death *death);
/* The call is tried again: from now on, the processes in it that have died do not count. */
void roster_forgive(const char *run_directory, const char *enclosing);

/* Name of a relay in the roster; no step has such a name. */
#define ROSTER_INPUT "=stdin"
/* This process has relayed a pipe up to its end, and is registered as writer. Records its end if
 * what came through the pipe was complete, which is also returned; otherwise leaves the record as
 * that of a dead process. */
bool roster_relayed(const struct roster *r, int in, bool any_byte, struct roster *writer);

/* What is known about the processes in the same call that write, or wrote, to a pipe. */
struct upstream {
	bool known;          /* there is at least one */
	bool died;           /* one of them has died */
	char process[256];   /* NAME:OCCURRENCE of that process; if the input comes from the parent
	                        run, of a process there */
	bool relayed;        /* that process is in the parent run */
	bool all_empty;      /* all have ended successfully and printed nothing */
};
/* in: descriptor of the read end of the pipe in this process. */
void roster_upstream(const struct roster *r, int in, struct upstream *u);

#endif
