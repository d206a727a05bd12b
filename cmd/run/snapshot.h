/*
 * Snapshots: the workspace of a run as it was before the workflow started, kept in
 * the storage, at snapshots/<run-id>/, for replays. They outlive the run.
 */
#ifndef AWF_RUN_SNAPSHOT_H
#define AWF_RUN_SNAPSHOT_H

#include <stdbool.h>

#include "base/error.h"
#include "run/storage.h"

/* Copies the workspace, without the storage if that lies inside it. stopped: asked
 * between files (ERROR_CANCELLED). What cannot be copied whole is not kept at all. */
int snapshot_take(const struct storage *s, const char *run_id, const char *workspace,
    bool (*stopped)(void), struct error *err);
/* Of a run that did not come to be. */
void snapshot_drop(const struct storage *s, const char *run_id);

#endif
