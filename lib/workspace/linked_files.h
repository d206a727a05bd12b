/*
 * Files with several names (hard links) that sandboxed programs may have changed. Removing or
 * renaming one of the names later changes the ctime of the file, although nobody has reviewed its
 * contents. So such a file counts as written by the program until it is written or touched, which
 * changes its mtime.
 *
 * They are noted when a program has ended, as " =IDENTITY@MTIME" each, or as LINKED_UNKNOWN.
 */
#ifndef AWF_WORKSPACE_LINKED_FILES_H
#define AWF_WORKSPACE_LINKED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define LINKED_MARK " ="
#define LINKED_UNKNOWN " =?"   /* not known: there are too many, or they could not be examined */
#define LINKED_LIMIT 64        /* if there are more, they are not noted one by one */
#define LINKED_SIZE 128

/* Notes the files below a directory that have several names, if they were changed since a time (in
 * nanoseconds) or are inside of a moved directory (workspace/moved_directories.h; "*" means all).
 * Links are not followed. */
void linked_files_note(struct buffer *note, const char *directory, int64_t since,
    const char *moved);
/* A file at a path (a link itself), which is examined when needed. */
struct linked_file {
	const char *path;
	bool looked_at, there;
	char word[LINKED_SIZE];   /* its entry in a note */
	int64_t born, changed, written;
};
/* Whether a note, made at the time `end`, shows that a file still has the content that a sandboxed
 * program left, although its ctime is later. */
bool linked_files_tell(const char *note, size_t len, int64_t end, struct linked_file *file);

#endif
