/*
 * What a sandboxed program may use up: of each process by resource limits, and of all
 * together by a watch that ends them.
 */
#ifndef AWF_ISOLATE_LIMITS_H
#define AWF_ISOLATE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct limits {
	int64_t file_size;  /* bytes of a file */
	int64_t disk;       /* bytes that the file system may lose */
	int64_t processes;
};

enum { LIMITS_LOOK_MS = 10 }; /* between two looks of a watch */

/* Whether the kernel is of this version, or later. */
bool limits_kernel(int major, int minor);
/* If memory runs out, this process and its children go first. */
void limits_volunteer(void);
/* Of this process and what it starts. apart: in a user namespace of its own.
 * ERROR_BLOCKED. */
int limits_set(const struct limits *l, bool apart, struct error *err);

/* A directory that may be written to. */
struct watched {
	int fd;             /* -1: it is not watched */
	uint64_t bytes;     /* as many are to stay free, */
	uint64_t files;     /* and as many files */
};

struct watch {
	const struct limits *limits;
	struct watched workspace, temporary;
	bool processes;     /* they are counted here */
	bool apart;         /* in a PID namespace of its own */
	long before;        /* processes of the machine */
	unsigned looks, counts;
	int highest;        /* pid seen in the namespace */
};

/* temporary NULL: it has limits of its own. */
void watch_begin(struct watch *w, const char *workspace, const char *temporary);
/* Why all is to end; NULL: it need not. */
const char *watch_look(struct watch *w);
/* The same when the command has ended, of what it wrote. */
const char *watch_last_look(const struct watch *w);

#endif
