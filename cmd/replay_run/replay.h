/*
 * Replay: a recorded run is made once more. Its workflow runs as it did, in an environment of
 * its own (cmd/replay_run/replay_env.h), in a storage of its own that nobody else looks into; the
 * run bears the recorded id, and so do its events; its steps find the history in its
 * directory and take from it what they must not do again, awf-step(1). What comes of
 * it is a transcript that is compared with the recording (lib/rerun/against.h).
 *
 * What the code relies on:
 *   - The run's key follows from its id, so the tokens of two replays are the same.
 *   - The recording is read only, and never by two names: what is appended goes to the
 *     storage of the replay, which is the only thing of the host that can be written.
 *   - The workflow is supervised as awf-run does it, inside of the isolation: when
 *     replay_run() returns nothing of it is left.
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

/* Makes the directory for a replay that the user names, or takes it if it is empty; its path is the
 * caller's. ERROR_USAGE else. */
char *replay_place_at(const char *path, struct error *err);

/* Runs it; spec->place is an empty directory, which becomes a storage; stdout and stderr are
 * this process's. 0: it came to its end, or was ended by a signal. -1: the machine failed, or a part of the isolation is missing
 * (ERROR_SYSTEM); or the recording is not what it should be (ERROR_SCHEMA). This
 * process may be in another directory then. */
int replay_run(const struct replay_env_spec *spec, struct replay_end *end, struct error *err);

/* The transcript that it made, in memory of its own. */
char *replay_transcript(const struct replay_env_spec *spec);

#endif
