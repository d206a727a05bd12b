/*
 * Replay: runs a recorded workflow again as it ran before, in an environment of its own
 * (cmd/replay_run/replay_env.h) and a storage of its own. The run and its events have the recorded
 * ids; its steps find the history in the run's directory, and take from it the results of calls
 * that must not be repeated, awf-step(1). The resulting transcript is compared with the recording
 * (lib/rerun/against.h).
 *
 * What the code relies on:
 *   - The run's key is derived from its id, so tokens are the same in two replays.
 *   - The recording is only read: everything is written to the storage of the replay, which is the
 *     only writable directory of the host.
 *   - The workflow is supervised as in awf-run, inside of the isolation: when replay_run() returns,
 *     none of its processes is left.
 */
#ifndef AWF_REPLAY_RUN_REPLAY_H
#define AWF_REPLAY_RUN_REPLAY_H

#include <stdbool.h>

#include "base/error.h"
#include "replay_run/replay_env.h"
#include "replay_run/source.h"

struct replay_end {
	int signal_number;       /* that ended it; 0: none */
};

/* Makes the directory that the user names for a replay, or uses it if it is empty; returns its
 * path, to be freed by the caller. Otherwise ERROR_USAGE. */
char *replay_place_at(const char *path, struct error *err);

/* Makes the replay; spec->place is an empty directory, which becomes a storage; stdout and stderr
 * are this process's. Returns 0 if it ended by itself or by a signal. -1: an error of the machine,
 * or a missing part of the isolation (ERROR_SYSTEM); or an invalid recording (ERROR_SCHEMA). This
 * process may be in another directory then. */
int replay_run(const struct replay_env_spec *spec, struct replay_end *end, struct error *err);

/* The path of the resulting transcript, to be freed by the caller. */
char *replay_transcript(const struct replay_env_spec *spec);

#endif
