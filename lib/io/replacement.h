/* Replaces a file atomically. */
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
	int fd;          /* the caller writes to it */
	char *path;      /* path of the file that is replaced: links are resolved */
	char *temporary; /* temporary name; NULL: path is no regular file */
	bool unnamed;    /* the file does not have the temporary name yet */
};
/* -1 with *err; errno is set too. */
int replacement_open(struct replacement *r, const char *path, mode_t mode, struct error *err);
/* Renames the file; with sync its content and name are on disk on return. */
int replacement_commit(struct replacement *r, bool sync, struct error *err);
void replacement_abandon(struct replacement *r);

#endif
