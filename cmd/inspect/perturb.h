/*
 * Perturbs a copy of a workspace in what no work should depend on: each file is a day
 * older than it was (all alike, so that which is newer does not change), and, where
 * the file system lists directories by when their entries were made, they stand in
 * another order.
 */
#ifndef AWF_INSPECT_PERTURB_H
#define AWF_INSPECT_PERTURB_H

#include "base/error.h"

/* ERROR_SYSTEM naming what could not be changed. */
int perturb_tree(const char *path, struct error *err);

#endif
