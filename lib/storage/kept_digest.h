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

/* Whether the file that a path leads to, which is in this state, is one of those that root alone
 * can write: it, and each directory on its way, are root's and closed to others' writing, on no
 * file system that anybody may mount. Root itself can write all, and starts sandboxed programs
 * that are root's too: for root it is what lies among the programs of the system. */
bool kept_digest_state_tells(const char *path, const struct stat *st);
/* Appends the state of a file, as it stands in names. */
void kept_digest_state(const struct stat *st, struct buffer *name);
/* Whether the digest of that name is kept. directory: of the run. Whoever asks has asked whether
 * the state tells. */
bool kept_digest_find(const char *directory, const char *name, char sha256[DIGEST_SIZE]);
/* Keeps it. That it cannot be costs time alone, and is no error. */
void kept_digest_keep(const char *directory, const char *name, const char *sha256);

/* A file that is read for its digest. */
struct digest_reading {
	int fd;
	struct stat st;  /* as it was when reading began */
	bool old;        /* a change since then would show, if nobody hides it */
	bool tells;      /* and nobody can */
};

/* Opens a regular file. -1 with errno. */
int digest_reading_begin(struct digest_reading *r, const char *path);
/* Whether the file is still in that state, which a change since would show, if nobody hides it. */
bool digest_reading_unchanged(const struct digest_reading *r);
/* Closes it. Whether what was read is what a file of that state holds. */
bool digest_reading_end(struct digest_reading *r);

/* The digest of a text and of what the files (ends with NULL) hold behind it, kept or computed.
 * directory NULL: none is kept. -1 with errno, and *failed is the file. */
int digest_of_files(const char *directory, struct span text, const char *const *paths,
    char sha256[DIGEST_SIZE], const char **failed);

#endif
