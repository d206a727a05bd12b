/* The recorded run that a command line names, and making a directory for its replay. */
#ifndef AWF_RERUN_FOUND_RUN_H
#define AWF_RERUN_FOUND_RUN_H

#include "base/error.h"
#include "storage/storage.h"

struct found_run {
	struct storage storage; /* that contains it; root NULL: a file outside of a storage */
	char *transcript;       /* its path; both are to be freed by the caller */
};

/* argument: RUN as for storage_resolve(), or the directory of a storage, whose latest run is used.
 * ERROR_USAGE if there is no such run. */
int found_run_find(struct found_run *f, const struct storage *storage, const char *argument,
    struct error *err);
/* Makes a directory for a replay in replays/ of a storage; returns its path, to be freed by the
 * caller, or NULL with *err. */
char *found_run_make_place(const struct storage *storage, struct error *err);

#endif
