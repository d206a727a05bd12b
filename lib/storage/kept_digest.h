/*
 * Digests of files, kept in the directory of the run, so that who needs one again asks the
 * kernel for the state of the file (device, inode, size and times) and reads nothing. One is a
 * symbolic link, whose name says of what and in which state, and whose text is the digest: it
 * is there whole or not at all.
 *
 * A state tells what is in a file if no change can have left it as it is: the same before and
 * after the file was read, and so old by then that the file's clock has ticked since. And only
 * where nobody but root can write: whoever can write a file gives it other contents in the same
 * state, by a mapping of the memory that it lies in, by another file system mounted there, or by
 * the clock. What this user may write is read each time.
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
