/*
 * The file of a transcript under its lock: what transcript.c has of it for transcript_append.c.
 */
#ifndef AWF_TRANSCRIPT_TRANSCRIPT_FILE_H
#define AWF_TRANSCRIPT_TRANSCRIPT_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "transcript/transcript.h"

/* What it remembers of the file's last line: all of it, or nothing. */
bool transcript_holds(const struct transcript *t);
/* Whether this process may write now: by the lock, on a descriptor of its own, which no signal
 * makes it keep. */
bool transcript_may_write(const struct transcript *t);
/* A child made by fork() shares its parent's lock through an inherited descriptor,
 * so it opens the file anew. */
int transcript_own(struct transcript *t, struct error *err);
/* Stopped or ended by a signal with the lock held, all others would wait. */
int transcript_lock(struct transcript *t, sigset_t *before, struct error *err);
void transcript_unlock(struct transcript *t, const sigset_t *before);
/* Finds the last whole line in [t->size, end), remembers it, and sets t->size to
 * where it ends. */
int transcript_learn_tail(struct transcript *t, int64_t end, struct error *err);
/* Brings t up to the file: its last line, and no torn tail. *moved is set to the
 * bytes of a tail that was moved away. */
int transcript_catch_up(struct transcript *t, int64_t *moved, struct error *err);

#endif
