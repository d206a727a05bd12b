/* The file of a transcript under its lock: functions of transcript.c for transcript_append.c. */
#ifndef AWF_TRANSCRIPT_TRANSCRIPT_FILE_H
#define AWF_TRANSCRIPT_TRANSCRIPT_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "transcript/transcript.h"

/* An invariant: t knows everything about the file's last line, or nothing. */
bool transcript_holds(const struct transcript *t);
/* Whether this process may write now: it has the lock, on a descriptor of its own, and signals
 * are blocked, so that none can leave the lock held. */
bool transcript_may_write(const struct transcript *t);
/* A child made by fork() would share its parent's lock through the inherited descriptor, so it
 * opens the file again. */
int transcript_own(struct transcript *t, struct error *err);
/* Block signals: if one stopped or ended this process while it holds the lock, all others would
 * wait. */
int transcript_lock(struct transcript *t, sigset_t *before, struct error *err);
void transcript_unlock(struct transcript *t, const sigset_t *before);
/* Finds the last whole line in [t->size, end), remembers it, and sets t->size to its end. */
int transcript_learn_tail(struct transcript *t, int64_t end, struct error *err);
/* Catches up with the file: reads its last line, and moves a torn tail away. *moved is set to
 * the bytes that were moved. */
int transcript_catch_up(struct transcript *t, int64_t *moved, struct error *err);

#endif
