/*
 * awf-verify --determinism: a recorded run is replayed, and each child run that its record
 * tells of, and theirs, by itself; what differs is told with the run it differs in.
 */
#ifndef AWF_INSPECT_REPLAYS_H
#define AWF_INSPECT_REPLAYS_H

#include <stdbool.h>

#include "inspect/replay_env.h"
#include "run/storage.h"

struct replays_spec {
	const struct storage *storage;
	enum isolation isolation;
	char *const *visible;
	bool quiet, verbose;
};

/* argument: as of source_open(). Says what there is to say, and returns the exit status;
 * dies of a signal that ends a replay. */
int replays_check(const struct replays_spec *spec, const char *argument);

#endif
