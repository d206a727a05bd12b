/*
 * Replacing a file at once.
 */
#ifndef AWF_IO_REPLACEMENT_H
#define AWF_IO_REPLACEMENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Replaces a file atomically. The new file is written without a name (O_TMPFILE), so that a
 * killed process leaves nothing, or under a temporary name if the file system does not support
 * that, and then renamed. The permissions of an existing file are kept (except set-user-ID and
 * the like, as the owner may change). If path is a device or a pipe, it is written to directly. */
struct replacement {
	int fd;          /* write here */
	char *path;      /* of the file, to which symbolic links led */
	char *temporary; /* NULL: no regular file */
	bool unnamed;    /* it has not even the temporary name yet */
};
/* -1 leaves errno too. */
int replacement_open(struct replacement *r, const char *path, mode_t mode, struct error *err);
/* Renames; with sync it is on disk, name included, when this returns. */
int replacement_commit(struct replacement *r, bool sync, struct error *err);
void replacement_abandon(struct replacement *r);

#endif
