/*
 * Reads the paths in a git index (versions 2, 3 and 4) as git does; an index that git could read in
 * two ways counts as damaged.
 */
#ifndef AWF_ISOLATE_GIT_INDEX_H
#define AWF_ISOLATE_GIT_INDEX_H

#include <stddef.h>

#define GIT_INDEX_SPLIT 1  /* more entries are in a file sharedindex.*; a path "" refers to
                              one of them */
#define GIT_INDEX_SPARSE 2 /* a path that ends in '/' is a whole directory */

/* What git does not look for changes of in the work tree, as git-update-index(1) says it of a path. */
#define GIT_INDEX_ASSUMED 1 /* --assume-unchanged */
#define GIT_INDEX_SKIPPED 2 /* --skip-worktree, which a sparse checkout says of what is not there */

/* Called with each path, in the index's order; with some of the flags above. */
typedef void git_index_take(void *context, const char *path, int flags);

/* hash: length of an object name in bytes, 20 or 32. Returns flags of those above; -1: not an
 * index, damaged, or of an unknown version. Some paths may have been passed to take by then. */
int git_index_read(const char *bytes, size_t len, size_t hash, git_index_take *take, void *context);

#endif
