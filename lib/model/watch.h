/*
 * Waiting for a file or a directory to change: with inotify or, where there is none, a short sleep.
 * Only watch.c has code for Linux.
 */
#ifndef AWF_MODEL_WATCH_H
#define AWF_MODEL_WATCH_H

#include "base/error.h"

struct watch {
	int fd; /* poll() it for POLLIN; -1: sleep instead */
};

void watch_open(struct watch *w);
/* Watches a file (for writes) or a directory (for names that are added, removed or renamed). */
int watch_add(struct watch *w, const char *path, struct error *err);
/* Watches a directory for names that are added, removed or renamed, and for writes to its files. */
int watch_add_files(struct watch *w, const char *path, struct error *err);
/* Discards what has been reported, so that fd is not readable until the next change. */
void watch_drain(struct watch *w);
/* Waits for a change, for a hang-up on also_fd (-1: none), or at most `milliseconds`. */
void watch_wait(struct watch *w, int also_fd, int milliseconds);
void watch_close(struct watch *w);

#endif
