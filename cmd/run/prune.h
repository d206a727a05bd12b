/*
 * awf-run --prune: removes runs by age, count or size, and says which.
 */
#ifndef AWF_RUN_PRUNE_H
#define AWF_RUN_PRUNE_H

#include "base/error.h"
#include "record/storage.h"
#include "run/settings.h"

/* What goes is on stdout with --dry-run or --verbose. -1 with *err. */
int prune_runs(const struct settings *s, void (*warn)(const struct error *warning),
    struct error *err);
/* --keep, at the end of a run: older ones of the same name go. */
int prune_older(const char *age, const char *name, const char *run_id,
    void (*warn)(const struct error *warning), struct error *err);

#endif
