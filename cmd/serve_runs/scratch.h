/*
 * A file into which a child process (serve_runs/work.h) writes what is then an answer. It has a name until the
 * child has opened it; this process reads it by its own descriptor.
 */
#ifndef AWF_SERVE_RUNS_SCRATCH_H
#define AWF_SERVE_RUNS_SCRATCH_H

#include "base/error.h"
#include "storage/storage.h"

struct scratch {
	char *name;
	int fd;                  /* -1: there is none */
};

#define SCRATCH_INIT { .name = NULL, .fd = -1 }

/* Makes one in the user's storage; scratch_close() is called either way. */
int scratch_open(struct scratch *s, const struct storage *home, struct error *err);
/* In the child process: opens it for writing, and removes its name. -1 with *err. */
int scratch_take(const struct scratch *s, struct error *err);
void scratch_close(struct scratch *s);

#endif
