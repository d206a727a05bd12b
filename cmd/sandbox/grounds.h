/*
 * Grounds: the directories that sandboxed programs could write to, now or in an earlier run.
 * Symbolic links there may have been made by them. AWF's storage keeps a file for each,
 * STORAGE/sandboxed/DIGEST, with its path; without a storage none is known.
 */
#ifndef AWF_SANDBOX_GROUNDS_H
#define AWF_SANDBOX_GROUNDS_H

#include <stdbool.h>

#include "base/error.h"

/* Records the directory. path: absolute, without links. ERROR_BLOCKED. */
int grounds_keep(const char *path, struct error *err);
/* Whether the path is such a directory, or is inside of one. */
bool grounds_have(const char *path);

#endif
