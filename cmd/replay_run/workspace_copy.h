/*
 * Copies of a workspace for replays: a directory in memory to contain one, and a way to change what
 * no workflow should depend on.
 */
#ifndef AWF_REPLAY_RUN_WORKSPACE_COPY_H
#define AWF_REPLAY_RUN_WORKSPACE_COPY_H

#include "base/error.h"

/* A directory in memory. The process that made it holds a lock on it; directories of killed
 * processes are removed when the next one is made. */
struct memory_place {
	char *path;  /* NULL: none */
	int fd;      /* holds the lock */
};

/* -1: there is not enough memory. */
int memory_place_make(struct memory_place *p);
/* Removes it with its contents. */
void memory_place_remove(struct memory_place *p);

/* Perturbs a tree: makes each file a day older (all alike, so that the order of times does not
 * change), and changes the order of entries on file systems that list them by creation.
 * ERROR_SYSTEM at what could not be changed. */
int perturb_tree(const char *path, struct error *err);

#endif
