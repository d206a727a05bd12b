/*
 * Copies directory trees, for snapshots of a workspace. Regular files share their blocks with the
 * original if the file system supports that (reflink), and are otherwise copied in the kernel.
 * Symbolic links are copied as links, and never followed; modes and times are kept, and owners if
 * the user may set them. Hard links become separate files. Sockets, pipes and devices are skipped.
 * If the copy is inside the original, it is not copied itself.
 */
#ifndef AWF_IO_COPYTREE_H
#define AWF_IO_COPYTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Copies the contents of from to the new directory to. except: a directory inside from that is
 * skipped; NULL. On failure (ERROR_SYSTEM; ERROR_USAGE if from is the root directory) nothing of
 * to remains. */
int copytree(const char *from, const char *to, const char *except, struct error *err);
/* The same, but asks between files whether to stop: ERROR_CANCELLED then. */
int copytree_until(const char *from, const char *to, const char *except, bool (*stopped)(void),
    struct error *err);
/* Copies one regular file in the same way, to a new name; symbolic links to it are followed. */
int copytree_file(const char *from, const char *to, struct error *err);
/* Removes a directory with all its contents, even if directories in it have no permissions for
 * their owner. It is not an error if the path does not exist. */
int copytree_remove(const char *path, struct error *err);
/* The bytes of the regular files in a directory, or of one file; 0 if it does not exist. */
int64_t copytree_bytes(const char *path);

#endif
