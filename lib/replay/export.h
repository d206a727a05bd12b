/*
 * Exports: a recording with all that its replay needs, in a directory that can be
 * carried elsewhere. It is a storage, awf(7), with the run and its children, their
 * blobs and inputs, the run's snapshot if it has one, `latest`, and what source.h tells
 * of: the workflow's script and the files that steps are made of. Those of AWF itself
 * and what lies in the snapshot are not among them.
 */
#ifndef AWF_REPLAY_EXPORT_H
#define AWF_REPLAY_EXPORT_H

#include <stdbool.h>

#include "base/error.h"
#include "replay/source.h"

/* Makes the directory, or takes one that is empty; today: the workspace as it is
 * now stands in for a snapshot. ERROR_USAGE if it is not empty, or the script or another
 * file is not there any more; ERROR_SYSTEM. What was made then stays incomplete, and
 * is removed. */
int export_run(const struct source *s, const char *directory, bool today, struct error *err);

#endif
