/*
 * Waiting for a file or a directory to change: inotify where there is one, else a
 * short sleep. Linux alone is in watch.c.
 */
#ifndef AWF_MODEL_WATCH_H
#define AWF_MODEL_WATCH_H

#include "base/error.h"

struct watch {
	int fd; /* -1: sleep instead; else poll() it for POLLIN */
};

void watch_open(struct watch *w);
/* Watches a file (for writes) or a directory (for names that are added, removed or renamed). */
int watch_add(struct watch *w, const char *path, struct error *err);
/* Adds a directory for writes to the files in it, too. */
int watch_add_files(struct watch *w, const char *path, struct error *err);
/* Drops what has been reported, so that fd is quiet until the next change. */
void watch_drain(struct watch *w);
/* Waits for a change, input hang-up on also_fd (-1: none), or at most
 * milliseconds. */
void watch_wait(struct watch *w, int also_fd, int milliseconds);
void watch_close(struct watch *w);

#endif
