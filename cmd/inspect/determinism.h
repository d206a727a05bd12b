/*
 * Determinism: a recording is replayed twice, in two processes. The second replay is
 * given what must not matter (cmd/inspect/replay_env.h): another pid, host name and umask, and a
 * workspace whose files are older and stand in another order. The two must come to
 * the same, causes included, and to what was recorded.
 *
 * Where both replays come to the same but not to what was recorded, the work depends on
 * something that the recording does not hold; where they differ, on chance.
 */
#ifndef AWF_INSPECT_DETERMINISM_H
#define AWF_INSPECT_DETERMINISM_H

#include "base/error.h"
#include "inspect/canonical.h"
#include "inspect/source.h"
#include "inspect/replay_env.h"

enum determinism_verdict {
	DETERMINISM_AGREES,
	DETERMINISM_REPLAYS_DIFFER,
	DETERMINISM_OUTPUT_DIFFERS,    /* of the replays: their stdout */
	DETERMINISM_RECORDING_DIFFERS,
	DETERMINISM_ENDED              /* by a signal */
};

struct determinism {
	enum determinism_verdict verdict;
	struct difference difference;  /* of events */
	struct buffer text;            /* about it, lines for people */
	int signal_number;
	char *places[2];               /* of the replays, each with files stdout and stderr;
	                                  NULL if they were removed, as nothing differs */
};

/* common: what both replays have, without a place. 0: *d tells; -1: a replay could not
 * be made, as replay_run(), or compared. d is for determinism_free() in all cases. */
int determinism_check(const struct replay_env_spec *common, const struct storage *storage,
    struct determinism *d, struct error *err);
void determinism_free(struct determinism *d);

#endif
