/*
 * Removes what awf-run processes that were killed have left in runs/: directories of runs whose end
 * was recorded, or whose removal had begun. Later runs call this when they end. The directory of a
 * run without a recorded end stays until the run is resumed or pruned.
 */
#ifndef AWF_RUN_LEFTOVERS_H
#define AWF_RUN_LEFTOVERS_H

#include "storage/storage.h"

/* Removes what it can; errors are ignored. */
void leftovers_remove(const struct storage *s);

#endif
