/*
 * Finds directories that a program has moved: the directories below another one are listed before
 * it runs, and compared with those after it. This is needed because renaming a directory does not
 * change the times of the files in it.
 *
 * A note is a text of entries, INODE PATH and a NUL, the path relative to the directory.
 */
#ifndef AWF_WORKSPACE_MOVED_DIRECTORIES_H
#define AWF_WORKSPACE_MOVED_DIRECTORIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/* Largest number of directories in a note. */
#define DIRECTORIES_LIMIT 20000

/* Makes a note of the directories that exist now, in an empty buffer. -1: there are too many, or
 * they cannot be examined. Links are not followed. */
int directories_note(struct buffer *note, const char *directory);
/* Appends " INODE" for each directory that is new or was moved; except those that were created
 * since this time (in nanoseconds), and those inside of one that was appended. -1: there are too
 * many. */
int directories_compare(const char *note, size_t len, const char *directory, int64_t since, struct buffer *moved);
/* Whether a directory with this path and inode is in the note. */
bool directories_noted(const char *note, size_t len, const char *path, size_t path_len, uint64_t inode);

#endif
