/*
 * A process that reads the stdout and stderr of a run, since nothing else reads them. It keeps only
 * the end of stderr, however much is written. It lives until all writers have closed them, even if
 * the program that started it has ended.
 */
#ifndef AWF_MCP_DRAIN_H
#define AWF_MCP_DRAIN_H

#include <stddef.h>

#include "base/error.h"

struct drain {
	int out, err;    /* the run's stdout and stderr; -1 once they were given to it */
	int said;        /* file in memory with the end of what was written to stderr */
	int ended;       /* readable when all writers have closed */
};
#define DRAIN_NONE { -1, -1, -1, -1 }

int drain_start(struct drain *d, struct error *err);
/* Closes the ends that the run now has. */
void drain_given(struct drain *d);
/* The last line that the run has written to stderr, after its process has ended; "": none. */
void drain_last_line(const struct drain *d, char *text, size_t size);
void drain_close(struct drain *d);

#endif
