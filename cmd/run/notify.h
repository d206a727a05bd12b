/*
 * Notices: a shell command that is told what a run came to, after its end was recorded.
 * It changes nothing of the run, so whatever goes wrong with it is for a warning.
 */
#ifndef AWF_RUN_NOTIFY_H
#define AWF_RUN_NOTIFY_H

#include <stdint.h>

#include "base/error.h"
#include "base/patience.h"
#include "json/scan.h"


/* Runs command with the text, of 64 KiB at most, on its stdin, which it need not read, out
 * (a descriptor, or PROCESS_…) and this process's stderr; environment ends with NULL. What
 * it leaves running is ended. With the signals that cancel held (supervise.h); one that
 * comes ends the command. -1 with *err, without a place: it could not be run, failed, or
 * took too long. */
int notify(const char *command, struct span text, int out, char *const *environment,
    struct error *err);

#endif
