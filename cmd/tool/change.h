/*
 * Files that tools write: a file appears whole or not at all, its directories are made, and
 * the permissions of one that was there stay. A file that its user may not write is not
 * replaced, though its directory would allow it.
 */
#ifndef AWF_TOOL_CHANGE_H
#define AWF_TOOL_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* Whether there is a regular file; -1 if there is something else, a file that may not be
 * written, or a place that the sandbox does not show outside. */
int change_check(const char *path, bool *exists, struct error *err);
int change_write(const char *path, const char *bytes, size_t len, struct error *err);
/* What came of it: "created PATH (7 bytes)". */
void change_tell(const char *path, bool existed, size_t len, struct buffer *answer);

#endif
