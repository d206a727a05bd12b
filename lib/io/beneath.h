/*
 * Opening files whose names come from others: recordings, state lines, agent files, repositories.
 * Such a name may be "../../.ssh/id_rsa", or a symbolic link to that. The functions here only open
 * files below a root directory, whatever the name is and even if the tree is changed at the same
 * time: links are followed only while they stay below the root (before Linux 5.6 not at all),
 * links in /proc never, and only regular files are read. Opening never blocks, as it would for a
 * pipe.
 */
#ifndef AWF_IO_BENEATH_H
#define AWF_IO_BENEATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* The part of path below root, comparing only the text: "a/b" for "/r/a/b" and "/r"; "." for
 * root itself. A relative path is returned unchanged. NULL if path is not below root. Points
 * into path. */
const char *beneath_part(const char *root, const char *path);

/* Opens a regular file for reading; path is relative to root, a directory's descriptor. -1 with
 * errno: EXDEV if it leads out of the root, ELOOP if a link is not followed, EISDIR or EINVAL if it
 * is not a regular file. */
int beneath_open(int root, const char *path);
/* Opens a directory in the same way, with O_PATH. */
int beneath_open_directory(int root, const char *path);

/* Whether a file of any kind exists there and can be reached without leaving root (the path of a
 * directory); path as for beneath_part(). */
bool beneath_there(const char *root, const char *path);
/* Like beneath_open(), with the path of a root that the caller trusts; path as for beneath_part().
 * On error ERROR_INVALID_INPUT with place path, and errno. */
int beneath_open_file(const char *root, const char *path, struct error *err);
/* Appends the contents of that file, at most limit bytes (EFBIG). Errors as for
 * beneath_open_file(). */
int beneath_load(const char *root, const char *path, size_t limit, struct buffer *b,
    struct error *err);

#endif
