/*
 * The grounds of sandboxes: the directories that programs in one could write to, now or in
 * an earlier run. Symbolic links in there may be theirs. AWF's storage keeps a file for each,
 * STORAGE/sandboxed/DIGEST, with its path; where there is no storage none is known.
 */
#ifndef AWF_SANDBOX_GROUNDS_H
#define AWF_SANDBOX_GROUNDS_H

#include <stdbool.h>

#include "base/error.h"

/* Keeps it from now on. path: absolute, without links. ERROR_BLOCKED. */
int grounds_keep(const char *path, struct error *err);
/* Whether the path is one, or lies in one. */
bool grounds_have(const char *path);

#endif
