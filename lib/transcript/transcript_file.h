/* The file of a transcript while it is locked: functions of transcript.c for
 * transcript_append.c. */
#ifndef AWF_TRANSCRIPT_TRANSCRIPT_FILE_H
#define AWF_TRANSCRIPT_TRANSCRIPT_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "transcript/transcript.h"

/* An invariant: either everything or nothing is known about the file's last line. */
bool transcript_holds(const struct transcript *t);
/* Whether this process may write now: it has the lock, on a descriptor that it has opened itself,
 * and signals are blocked, since one that ended it would leave a line incomplete. */
bool transcript_may_write(const struct transcript *t);
/* A child made by fork() would share its parent's lock through the inherited descriptor, so it
 * opens the file again. */
int transcript_own(struct transcript *t, struct error *err);
/* Blocks signals, then takes the lock: if a signal stopped this process while it holds the lock,
 * all others would have to wait. */
int transcript_lock(struct transcript *t, sigset_t *before, struct error *err);
void transcript_unlock(struct transcript *t, const sigset_t *before);
/* Finds the last complete line in [t->size, end), stores what is needed of it, and sets t->size to
 * its end. */
int transcript_learn_tail(struct transcript *t, int64_t end, struct error *err);
/* Reads the last line that other processes have added, and moves a torn line away. *moved is the
 * number of bytes that were moved. */
int transcript_catch_up(struct transcript *t, int64_t *moved, struct error *err);

#endif
