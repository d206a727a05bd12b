/* The recorded run that a command line names, and making a directory for its replay. */
#ifndef AWF_RERUN_FOUND_RUN_H
#define AWF_RERUN_FOUND_RUN_H

#include "base/error.h"
#include "storage/storage.h"

struct found_run {
	struct storage storage; /* the storage that contains the run; root NULL: the file is in
	                           none */
	char *transcript;       /* path of the transcript; the caller frees it and the storage */
};

/* argument: RUN as for storage_resolve(), or the directory of a storage, whose latest run is used.
 * ERROR_USAGE if there is no such run. */
int found_run_find(struct found_run *f, const struct storage *storage, const char *argument,
    struct error *err);
/* Makes a directory for a replay in replays/ of a storage; returns its path, to be freed by the
 * caller, or NULL with *err. */
char *found_run_make_place(const struct storage *storage, struct error *err);

#endif
