/*
 * awf-verify --determinism: replays a recording twice with awf-replay. For the second replay
 * conditions that must not matter are changed (awf-replay --vary): the pid, host name and umask,
 * and the age and order of the workspace's files. Both must give the same events, with the same
 * causes, as each other and as the recording. Each child run in the record is replayed by itself,
 * and so on for its children; a difference is reported with the run that it is in.
 *
 * If both replays agree but differ from the recording, the work depends on something that was not
 * recorded; if they differ from each other, it depends on chance.
 */
#ifndef AWF_VERIFY_DETERMINISM_H
#define AWF_VERIFY_DETERMINISM_H

#include <stdbool.h>

#include "storage/storage.h"

struct determinism_spec {
	const struct storage *storage;
	const char *isolation;      /* name of the isolation */
	char *const *visible;
	bool quiet, verbose;
};

/* argument: as for found_run_find(). Prints the result and returns the exit status; if a signal
 * ended a replay, this process dies of it too. */
int determinism_check(const struct determinism_spec *spec, const char *argument);

#endif
