/*
 * Removes what killed owners have left in runs/: directories of runs that had recorded their end,
 * or whose removal had begun. Later runs call this when they end. The directory of a run that died
 * before its end stays until the run is resumed or pruned.
 */
#ifndef AWF_RUN_LEFTOVERS_H
#define AWF_RUN_LEFTOVERS_H

#include "storage/storage.h"

/* Removes what it can; errors are ignored. */
void leftovers_remove(const struct storage *s);

#endif
