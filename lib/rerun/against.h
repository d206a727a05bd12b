/*
 * A replay against its recording, call by call: what was run and what it was given,
 * its result or error, its messages and tool calls. The ids of a replay are those of
 * the recording, so each event has its counterpart.
 *
 * Causes are not compared, nor attempts and how calls are counted: a recording that was
 * resumed has the events of one call in several attempts, and its replay has them in
 * one. What a call took over from an earlier attempt (reused_from) is compared with
 * where it was made. What was made inside of a call whose end a replay takes from the
 * recording is not compared.
 */
#ifndef AWF_RERUN_AGAINST_H
#define AWF_RERUN_AGAINST_H

#include "base/error.h"
#include "rerun/canonical.h"

/* 0: they agree; 1: *d is the first difference, in the order of the recording
 * (what only the replay has comes after all else); -1: *err, as canonical_open().
 * attempt: the recording's last. d is for difference_free() in all cases. */
int against_recording(const char *recording, const char *replay, int attempt,
    struct difference *d, struct error *err);

#endif
