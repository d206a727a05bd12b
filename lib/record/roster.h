/*
 * The roster: which awf-step processes of a run have begun and ended, and so
 * which of them died. It lies in runs/<id>/roster/, one file per enclosing call
 * and step name, one record of 32 bytes per process; the record's number is the
 * OCCURRENCE. It is coordination, not record: it goes with the run directory.
 *
 * What the code relies on:
 *   - A process holds a POSIX F_SETLK lock on its record while it lives. The
 *     kernel frees it before it closes the pipe, so whoever sees EOF sees a free
 *     lock.
 *   - Closing any descriptor of a file frees the process's locks on it, so the
 *     descriptor of a process's own file is kept until the end and used for
 *     looking at its neighbours too.
 *   - A process is dead if it began, did not end, and its lock is free.
 */
#ifndef AWF_RECORD_ROSTER_H
#define AWF_RECORD_ROSTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

struct roster {
	char *directory;
	char *key;       /* ENCLOSING/NAME of this process */
	int fd;
	long occurrence;
};

/* Enters the begin of this process; enclosing is "" at top level. */
int roster_begin(struct roster *r, const char *run_directory, const char *enclosing,
    const char *name, struct error *err);
/* Enters the end and keeps the descriptor. Once; later calls do nothing. */
void roster_end(struct roster *r);
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
/* For awf-run, at the end: whether a process at top level died, and none of the same
 * name that came after it ended; process gets "NAME:OCCURRENCE". */
bool roster_died(const char *run_directory, char *process, size_t size);

#endif
