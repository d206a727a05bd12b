/*
 * Detaching: the run goes on in a process of its own, which whoever started it neither
 * waits for nor ends. That hears whether the run came to be, and no more.
 */
#ifndef AWF_RUN_DETACH_H
#define AWF_RUN_DETACH_H

#include "base/error.h"

struct detachment {
	int report; /* a pipe from the new process to the old one */
};

/* Forks. 0: this is the new process, which has a session of its own, no output, and the
 * run with this id in its environment instead of the one around it; 1: the old one; -1. */
int detach_fork(struct detachment *d, const char *run_id, struct error *err);
/* The new process: the run exists, or does not (why). Once. */
void detach_tell(struct detachment *d, const struct error *why);
/* The old one: what was told. */
int detach_wait(struct detachment *d, struct error *err);

#endif
