/*
 * The paths that an index of git holds (versions 2, 3 and 4), read as git reads them: whatever git could read in
 * two ways counts as damaged.
 */
#ifndef AWF_ISOLATE_GIT_INDEX_H
#define AWF_ISOLATE_GIT_INDEX_H

#include <stddef.h>

#define GIT_INDEX_SPLIT 1  /* more entries are in a file sharedindex.*; a path "" stands for one of them */
#define GIT_INDEX_SPARSE 2 /* a path that ends in '/' stands for a whole directory */

/* Called with each path, in the index's order. */
typedef void git_index_take(void *context, const char *path);

/* hash: the length of an object's name in bytes, 20 or 32. Returns some of the flags above; -1: this is no index,
 * a damaged one, or of a version that is not known. Some paths may have been taken by then. */
int git_index_read(const char *bytes, size_t len, size_t hash, git_index_take *take, void *context);

#endif
