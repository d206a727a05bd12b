/*
 * Limits of a sandboxed program: resource limits for each process, and for all of them together a
 * watch whose result makes the caller end them.
 */
#ifndef AWF_ISOLATE_LIMITS_H
#define AWF_ISOLATE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct limits {
	int64_t file_size;  /* maximum size of a file in bytes */
	int64_t disk;       /* by how many bytes the free space may decrease */
	int64_t processes;
};

enum { LIMITS_LOOK_MS = 10 }; /* between two checks of a watch */

/* Whether the kernel has this version or a later one. */
bool limits_kernel(int major, int minor);
/* Lets the kernel kill this process and its children first when memory runs out. */
void limits_volunteer(void);
/* Sets limits of this process and its children. apart: in its own user namespace. ERROR_BLOCKED. */
int limits_set(const struct limits *l, bool apart, struct error *err);

/* What must remain free on the file system of a writable directory. */
struct watched {
	int fd;             /* -1: not watched */
	uint64_t bytes;     /* free bytes, */
	uint64_t files;     /* free inodes */
};

struct watch {
	const struct limits *limits;
	struct watched workspace, temporary;
	bool processes;     /* count processes */
	bool apart;         /* the program is in a PID namespace */
	long before;        /* number of processes of the machine at the start */
	unsigned looks, counts;
	int highest;        /* highest pid that was seen in the namespace */
};

/* temporary NULL: the temporary directory has a limit of its own. */
void watch_begin(struct watch *w, const char *workspace, const char *temporary);
/* Checks the limits. Returns the reason why all processes must be ended; NULL: no limit is
 * exceeded. */
const char *watch_look(struct watch *w);
/* Checks, after the command has ended, the limits for what was written. */
const char *watch_last_look(const struct watch *w);

#endif
