/*
 * The roster: which awf-step processes of a run have begun and ended, and so which of them died.
 * It lies in runs/<id>/roster/, with one record of 320 bytes per process: at top level in one file
 * per step name, within enclosing calls in one for some sixteen calls, as a file of its own for
 * each would cost more than all else. The OCCURRENCE of a process is its number among those of its
 * name in its call. It is used for coordination and is not part of the record: it is removed with
 * the run directory.
 *
 * What the code relies on:
 *   - A process holds a POSIX F_SETLK lock on its record while it lives. The kernel frees it
 *     before it closes the pipe, so whoever sees EOF sees a free lock.
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
	char *enclosing, *name; /* of this process, */
	char call[ROSTER_CALL]; /* key of the call in records */
	char *file;             /* that it is entered in, */
	int fd;                 /* which is open, */
	int64_t record;         /* at this byte; -1: it has ended */
	long occurrence;
};

struct roster_entry {
	const char *enclosing; /* call; "" at top level */
	const char *name;
	bool tried;      /* its death does not fail the enclosing call or run (--try) */
	bool owner;      /* the owner of the run: it reports itself if it cannot be entered */
	int out;         /* descriptor of its output; -1: nobody reads it */
};

/* Records the begin of this process. If that fails, the owner of the run is told (run_lock_fail()),
 * unless the process is tried. */
int roster_begin(struct roster *r, const char *run_directory, const struct roster_entry *e,
    struct error *err);
/* For a process outside of the run's calls that examines the roster. Call roster_close(). */
void roster_look(struct roster *r, const char *run_directory);
/* Enters the end and keeps the descriptor. Once; later calls do nothing.
 * roster_end_empty(): it ended well and has printed nothing. */
void roster_end(struct roster *r);
void roster_end_empty(struct roster *r);
/* It ends without one, as the machine failed it. */
void roster_fail(struct roster *r, const struct error *why);
/* Whether the process that made this call ("ENCLOSING/NAME:OCC:ITEM") is dead.
 * False for a call that the roster does not know. */
bool roster_dead(struct roster *r, const char *call);
/* Whether that process has ended. */
bool roster_ended(struct roster *r, const char *call);

/* Frees what roster_begin() made, after roster_end(); the lock goes with it. */
void roster_close(struct roster *r);

/* For awf-run: whether any process has begun, not ended, and is not dead; names
 * (may be NULL) gets their keys, separated by ", ". */
bool roster_busy(const char *run_directory, struct buffer *names);
#define ROSTER_REASON 80
#define ROSTER_WAITS "waits for a person" /* the reason of a process that waits for a person, and
                                             has recorded nothing */
struct roster_death {
	char process[256];          /* ENCLOSING/NAME:OCCURRENCE */
	char reason[ROSTER_REASON]; /* why the machine failed it; "": it was killed, or so */
};
/* Whether a process in this call ("": at top level) died that was not only tried; of several
 * one whose reason is known. Not for who is in that call itself. */
bool roster_died(const char *run_directory, const char *enclosing, struct roster_death *death);
/* Whether any process in this call ("": at top level) has begun. */
bool roster_entered(const char *run_directory, const char *enclosing);
/* Whether processes of the name, in the call that this process is in, have begun, and all
 * of them have ended. */
bool roster_all_ended(const struct roster *r, const char *name);
/* As roster_died(), of those in the call that this process is in, but for that choice. */
bool roster_died_beside(const struct roster *r, struct roster_death *death);
/* Those that died in this call were tried only: it is tried again. */
void roster_forgive(const char *run_directory, const char *enclosing);

/* No step has such a name. */
#define ROSTER_INPUT "=stdin"
/* Ends writer, or closes it as dead, which relayed what came from a pipe that this process
 * has read to its end. Whether that was whole. */
bool roster_relayed(const struct roster *r, int in, bool any_byte, struct roster *writer);

/* What is known about the processes in the same call that write, or wrote, to a pipe. */
struct upstream {
	bool known;          /* there is one */
	bool died;           /* one of them, */
	char process[256];   /* NAME:OCCURRENCE of the dead process; of the parent's if the input
	                        comes from there */
	bool relayed;        /* it is the parent's */
	bool all_empty;      /* all have ended well and printed nothing */
};
/* in: descriptor of the read end of the pipe in this process. */
void roster_upstream(const struct roster *r, int in, struct upstream *u);

#endif
