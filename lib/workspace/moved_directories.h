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

/* More are not noted. */
#define DIRECTORIES_LIMIT 20000

/* Appends the note of what is there now to an empty buffer. -1: it is too much, or cannot be looked at. Links are
 * not followed. */
int directories_note(struct buffer *note, const char *directory);
/* Appends " INODE" for each directory that has moved or is new, except those created since this
 * time (in nanoseconds), and those inside of a listed one. -1: too many. */
int directories_compare(const char *note, size_t len, const char *directory, int64_t since, struct buffer *moved);
/* Whether the directory of this path had this inode then. */
bool directories_noted(const char *note, size_t len, const char *path, size_t path_len, uint64_t inode);

#endif
