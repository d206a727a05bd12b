/*
 * --detach: the run goes on in a process of its own. The process that started it only waits until
 * the run was made; it does not wait for its end, and does not end it.
 */
#ifndef AWF_RUN_DETACH_H
#define AWF_RUN_DETACH_H

#include "base/error.h"

struct detachment {
	int report; /* a pipe from the new process to the old one */
};

/* Forks. Returns 0 in the new process, which has its own session, no output, and run_id in its
 * environment instead of the id of an outer run; 1 in the old process; or -1. */
int detach_fork(struct detachment *d, const char *run_id, struct error *err);
/* Called once by the new process: the run was made (why NULL), or was not. */
void detach_tell(struct detachment *d, const struct error *why);
/* Called by the old process: waits for what detach_tell() reports. */
int detach_wait(struct detachment *d, struct error *err);

#endif
