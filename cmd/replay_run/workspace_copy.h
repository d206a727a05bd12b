/*
 * Copies of a workspace that replays run in: a directory in memory to keep one in, and a change
 * of one in what no work should depend on.
 */
#ifndef AWF_REPLAY_RUN_WORKSPACE_COPY_H
#define AWF_REPLAY_RUN_WORKSPACE_COPY_H

#include "base/error.h"

/* A directory in memory. Whoever made it holds a lock on it; so what was left by one that was
 * killed is known, and removed when the next is made. */
struct memory_place {
	char *path;  /* NULL: there is none */
	int fd;      /* holds the lock */
};

/* -1: there is no memory for it. */
int memory_place_make(struct memory_place *p);
/* With all that is in it. */
void memory_place_remove(struct memory_place *p);

/* Perturbs a tree: each file is a day older than it was (all alike, so that which is newer does
 * not change), and, where the file system lists directories by when their entries were made,
 * they stand in another order. ERROR_SYSTEM naming what could not be changed. */
int perturb_tree(const char *path, struct error *err);

#endif
