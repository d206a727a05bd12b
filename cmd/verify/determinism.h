/*
 * awf-verify --determinism: a recording is replayed twice, by two processes of awf-replay. The second
 * replay is given what must not matter (awf-replay --vary): another pid, host name and umask, and a
 * workspace whose files are older and stand in another order. The two must come to
 * the same, causes included, and to what was recorded. Each child run that the record tells of
 * is replayed by itself, and theirs; what differs is told with the run it differs in.
 *
 * Where both replays come to the same but not to what was recorded, the work depends on
 * something that the recording does not hold; where they differ, on chance.
 */
#ifndef AWF_VERIFY_DETERMINISM_H
#define AWF_VERIFY_DETERMINISM_H

#include <stdbool.h>

#include "storage/storage.h"

struct determinism_spec {
	const struct storage *storage;
	const char *isolation;      /* its name */
	char *const *visible;
	bool quiet, verbose;
};

/* argument: as of found_run_find(). Says what there is to say, and returns the exit status;
 * dies of a signal that ends a replay. */
int determinism_check(const struct determinism_spec *spec, const char *argument);

#endif
