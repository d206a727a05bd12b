/*
 * What killed owners have left in runs/: the directory of a run that had recorded its
 * end, or had begun to remove it. Others who end remove it; that of a run that died
 * stays until it is resumed or pruned.
 */
#ifndef AWF_RUN_LEFTOVERS_H
#define AWF_RUN_LEFTOVERS_H

#include "storage/storage.h"

/* As far as that can be done. */
void leftovers_remove(const struct storage *s);

#endif
