/*
 * Exports: a recording with all that its replay needs, in a directory that can be
 * carried elsewhere. It is a storage, awf(7), with the run, its children and theirs, their
 * blobs, inputs and snapshots, `latest`, and what source.h tells of: the workflows'
 * scripts and the files that steps are made of. Those of AWF itself and what lies in a
 * snapshot are not among them, nor those of a child that are not there any more.
 */
#ifndef AWF_REPLAY_EXPORT_H
#define AWF_REPLAY_EXPORT_H

#include <stdbool.h>

#include "base/error.h"
#include "replay_run/source.h"

/* Makes the directory, or takes one that is empty; today: the workspace as it is
 * now stands in for a snapshot; visible: as for recorded_file_check(). ERROR_USAGE if it is
 * not empty, or the script or another file is not there any more; ERROR_SYSTEM. What was made
 * then stays incomplete, and is removed. */
int export_run(const struct source *s, const char *directory, bool today, char *const *visible,
    struct error *err);

#endif
