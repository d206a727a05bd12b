/*
 * Handing a run that is to be removed to a command: awf-ctl prune --archive.
 */
#ifndef AWF_CTL_ARCHIVE_H
#define AWF_CTL_ARCHIVE_H

#include "base/error.h"
#include "decide/prune.h"

struct archive {
	const char *command;     /* for the shell */
	const char *storage;     /* its root */
};

/* For prune_spec.archive: runs the command with the paths as its arguments, nothing on stdin, and
 * stderr for what it prints. It and all it started have ended then, and end with this process,
 * however that ends. -1 with *err: it could not be run or failed, ERROR_EXIT_STATUS. */
int archive_run(void *archive, const struct pruned *run, char *const *paths, struct error *err);

#endif
