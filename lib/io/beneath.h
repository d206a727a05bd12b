/*
 * Files that others name: recordings, state lines, agent files, repositories. Such a name
 * may say "../../.ssh/id_rsa", or be a link to there that was made a moment ago. What is
 * opened here lies below a directory, its root, whatever the name says and whoever changes
 * the tree meanwhile: links are followed as long as they stay below the root (kernels
 * before Linux 5.6 follow none at all), those of /proc never, and only regular files are
 * read. Opening never waits, as it would for a pipe.
 */
#ifndef AWF_IO_BENEATH_H
#define AWF_IO_BENEATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* What is left of path below root, by its text: "a/b" of "/r/a/b" below "/r"; "." for
 * root itself. A relative path is taken from the root as it is. NULL if path begins elsewhere.
 * Within path. */
const char *beneath_part(const char *root, const char *path);

/* Opens the regular file for reading; path is relative to root, a directory's descriptor.
 * -1 with errno: EXDEV if it leads out of the root, ELOOP where a link is not followed,
 * EISDIR or EINVAL if it is no regular file. */
int beneath_open(int root, const char *path);
/* Opens a directory likewise, O_PATH. */
int beneath_open_directory(int root, const char *path);

/* Whether something lies there, of any kind, that is reached without leaving root (a
 * directory's name); path as beneath_part() takes it. */
bool beneath_there(const char *root, const char *path);
/* beneath_open() of a path as beneath_part() takes it, with a root by name, which the
 * caller trusts. ERROR_INVALID_INPUT at path, saying what is wrong; errno is left too. */
int beneath_open_file(const char *root, const char *path, struct error *err);
/* Appends that file; at most limit bytes (EFBIG). Errors as before. */
int beneath_load(const char *root, const char *path, size_t limit, struct buffer *b,
    struct error *err);

#endif
