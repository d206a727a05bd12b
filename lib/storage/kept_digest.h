/*
 * A cache of file digests in the directory of the run: when a digest is needed again, only the
 * state of the file (device, inode, size and times) is compared, and the file is not read. Each
 * entry is a symbolic link, which is created atomically: its name has the file's state, and its
 * target is the digest.
 *
 * The cache may only be used if the contents cannot have changed without changing the state: the
 * state was the same before and after reading, and was old enough that the file system's clock has
 * ticked since. And only root may be able to write the file, because a user who can write it can
 * change the contents without changing the state: through a memory mapping, by mounting another
 * file system there, or with the clock. Files that this user can write are read each time.
 */
#ifndef AWF_STORAGE_KEPT_DIGEST_H
#define AWF_STORAGE_KEPT_DIGEST_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "json/scan.h"

/* Whether only root can change the file at a path, which has this state: the file and each
 * directory above it belong to root and are not writable for others, on a file system that users
 * cannot mount. Root can write everything, and so can sandboxed programs that it starts: so for
 * root only files in the system's program directories count. */
bool kept_digest_state_tells(const char *path, const struct stat *st);
/* Appends the state of a file, as used in names of entries. */
void kept_digest_state(const struct stat *st, struct buffer *name);
/* Whether the cache has an entry with that name. directory: of the run. Call
 * kept_digest_state_tells() before. */
bool kept_digest_find(const char *directory, const char *name, char sha256[DIGEST_SIZE]);
/* Adds an entry. Failing costs only time, so it is no error. */
void kept_digest_keep(const char *directory, const char *name, const char *sha256);

/* A file that is read for its digest. */
struct digest_reading {
	int fd;
	struct stat st;  /* state when reading began */
	bool old;        /* the file is old enough: a change after reading would change its state,
	                    unless a user prevents that */
	bool tells;      /* no user can prevent that: only root can write the file */
};

/* Opens a regular file. -1 with errno. */
int digest_reading_begin(struct digest_reading *r, const char *path);
/* Whether the file has the same state as when reading began. That shows that it was not changed,
 * unless a user prevents it. */
bool digest_reading_unchanged(const struct digest_reading *r);
/* Closes the file. Returns whether what was read is certainly the content of a file with this
 * state. */
bool digest_reading_end(struct digest_reading *r);

/* The digest of a text followed by the contents of files (NULL-terminated), cached or computed.
 * directory NULL: no cache. -1 with errno, and *failed is the file. */
int digest_of_files(const char *directory, struct span text, const char *const *paths,
    char sha256[DIGEST_SIZE], const char **failed);

#endif
