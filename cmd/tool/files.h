/*
 * The regular files below a directory, links to files included: links to directories are
 * not followed, and what is called .git is left out. They are in the order of their paths,
 * byte by byte, so that the same directory gives the same list everywhere.
 */
#ifndef AWF_TOOL_FILES_H
#define AWF_TOOL_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct files {
	char **list;          /* each begins with the directory, unless that is "." */
	size_t count;
	size_t skip;          /* what of each path is the directory */
	size_t unread;        /* directories that could not be read */
};

/* Those for which wanted (the path from the directory on) is true. */
int files_find(struct files *f, const char *directory,
    bool (*wanted)(const void *context, const char *path), const void *context,
    struct error *err);
void files_free(struct files *f);

#endif
