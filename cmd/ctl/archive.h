/* awf-ctl prune --archive: passes a run that is to be removed to a command. */
#ifndef AWF_CTL_ARCHIVE_H
#define AWF_CTL_ARCHIVE_H

#include "base/error.h"
#include "decide/prune.h"

struct archive {
	const char *command;     /* shell command */
	const char *storage;     /* root of the storage */
};

/* For prune_spec.archive: runs the command with the paths as arguments, without stdin, and with its
 * stdout on stderr. On return it and all its processes have ended; they also end if this process
 * ends in any way. -1 with *err: it could not be run, or failed (ERROR_EXIT_STATUS). */
int archive_run(void *archive, const struct pruned *run, char *const *paths, struct error *err);

#endif
