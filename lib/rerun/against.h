/*
 * Compares a replay with its recording, call by call: command and input, result or error, messages
 * and tool calls. The replay has the ids of the recording, so each event has a counterpart.
 *
 * Causes, attempts and numbers of calls are not compared: a resumed recording has the events of one
 * call in several attempts, its replay has them in one. For a result taken over from an earlier
 * attempt (reused_from) the original is compared. If the replay takes the result of a call from the
 * recording, the calls inside that call are not compared.
 */
#ifndef AWF_RERUN_AGAINST_H
#define AWF_RERUN_AGAINST_H

#include "base/error.h"
#include "rerun/canonical.h"

/* 0: they agree; 1: *d is the first difference, in the order of the recording (events that only the
 * replay has come last); -1: *err, as for canonical_open(). attempt: the recording's last. Call
 * difference_free() in all cases. */
int against_recording(const char *recording, const char *replay, int attempt,
    struct difference *d, struct error *err);

#endif
