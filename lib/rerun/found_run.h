/*
 * The recorded run that a command line names, and a directory for a replay of it.
 */
#ifndef AWF_RERUN_FOUND_RUN_H
#define AWF_RERUN_FOUND_RUN_H

#include "base/error.h"
#include "storage/storage.h"

struct found_run {
	struct storage storage; /* that it lies in; root NULL: a file by itself */
	char *transcript;       /* its path; both are the caller's */
};

/* argument: RUN as in storage_resolve(), or a directory: a storage, whose latest run is meant.
 * ERROR_USAGE if there is none such. */
int found_run_find(struct found_run *f, const struct storage *storage, const char *argument,
    struct error *err);
/* Makes a directory for a replay in replays/ of a storage; its path is the caller's, NULL with
 * *err. */
char *found_run_make_place(const struct storage *storage, struct error *err);

#endif
