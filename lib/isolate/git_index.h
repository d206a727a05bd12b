/*
 * Reads the paths in a git index (versions 2, 3 and 4) as git does; an index that git could read in
 * two ways counts as damaged.
 */
#ifndef AWF_ISOLATE_GIT_INDEX_H
#define AWF_ISOLATE_GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

#define GIT_INDEX_SPLIT 1  /* more entries are in a file sharedindex.*; a path "" refers to
                              one of them */
#define GIT_INDEX_SPARSE 2 /* a path that ends in '/' is a whole directory */

#define GIT_INDEX_HASH 32 /* the longest checksum */

/* Flags of a path whose changes in the work tree git does not look for (git-update-index(1)). */
#define GIT_INDEX_ASSUMED 1 /* --assume-unchanged */
#define GIT_INDEX_SKIPPED 2 /* --skip-worktree; a sparse checkout sets it for files that are not
                               there */

/* Called with each path, in the order of the index, and its flags. */
typedef void git_index_take(void *context, const char *path, int flags);

/* hash: length of an object name in bytes, 20 or 32. Returns the flags of the index; -1 if it is no
 * index, is damaged, or has an unknown version; some paths may have been passed to take before. */
int git_index_read(const char *bytes, size_t len, size_t hash, git_index_take *take, void *context);

/* A file sharedindex.*, which other files name by its checksum, that has got another one. */
struct git_index_base { unsigned char from[GIT_INDEX_HASH], to[GIT_INDEX_HASH]; };

/* Appends the index without what git only knows from earlier: the sizes of files, except in entries
 * that another index has too, and all extensions that describe directories. So git reads the content
 * of each such file once more, instead of comparing its times (racy-git(7)). known: the other index;
 * it may be empty. bases: the files that it may name. -1: not an index. */
int git_index_distrust(const char *bytes, size_t len, size_t hash, const struct buffer *known,
    const struct git_index_base *bases, size_t base_count, struct buffer *out);
/* Whether an index names one of these files. */
bool git_index_has_base(const char *bytes, size_t len, size_t hash, const struct git_index_base *bases, size_t base_count);

#endif
