/*
 * Exports: a recording with everything that its replay needs, in a directory that can be copied to
 * another machine. It is a storage, awf(7), with the run, its child runs and theirs, their blobs,
 * inputs and snapshots, `latest`, and the files described in source.h: scripts and the definitions
 * of steps. It does not include files of AWF itself, files in a snapshot, and files of a child run
 * that no longer exist.
 */
#ifndef AWF_REPLAY_EXPORT_H
#define AWF_REPLAY_EXPORT_H

#include <stdbool.h>

#include "base/error.h"
#include "replay_run/source.h"

/* Makes the directory, or uses an empty one. today: include the current workspace if there is no
 * snapshot; visible: as for recorded_file_check(). ERROR_USAGE if it is not empty, or the script or
 * another file no longer exists; ERROR_SYSTEM. After an error the incomplete export is removed. */
int export_run(const struct source *s, const char *directory, bool today, char *const *visible,
    struct error *err);

#endif
