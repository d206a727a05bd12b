/*
 * Copying directory trees, for snapshots of a workspace. Regular files share their blocks with the
 * original where the file system can (reflink), and are copied inside the kernel otherwise;
 * symbolic links stay what they are; modes and times are kept, and owners where the user may give
 * files away. Hard links become files of their own. Sockets, pipes and devices are left out.
 * Symbolic links are not followed, and if the copy is inside the original, it is not copied
 * itself.
 */
#ifndef AWF_IO_COPYTREE_H
#define AWF_IO_COPYTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Copies what is in from to the new directory to. except: a directory inside from
 * that is left out; NULL. On failure (ERROR_SYSTEM;
 * ERROR_USAGE if from is the root directory) nothing of to is left. */
int copytree(const char *from, const char *to, const char *except, struct error *err);
/* The same, but asks between files whether to stop: ERROR_CANCELLED then. */
int copytree_until(const char *from, const char *to, const char *except, bool (*stopped)(void),
    struct error *err);
/* One regular file likewise, to a name that is not taken; symbolic links to it are
 * followed. */
int copytree_file(const char *from, const char *to, struct error *err);
/* Removes a directory with all its contents, even if directories in it have no permissions for
 * their owner. It is not an error if the path does not exist. */
int copytree_remove(const char *path, struct error *err);
/* The bytes of the regular files in a directory, or of one file; 0 if it does not exist. */
int64_t copytree_bytes(const char *path);

#endif
