/* Cancelling: ends a run, which another process executes, or which is queued. */
#ifndef AWF_DECIDE_CANCEL_H
#define AWF_DECIDE_CANCEL_H

#include "base/error.h"
#include "storage/storage.h"

/* Ends the run as SIGTERM to its awf-run does, records the name of who cancels (by), and waits
 * until the run has ended, which may take as long as its processes are given to end. run: as for
 * storage_resolve(), or the id of a run without a transcript. ERROR_BLOCKED: it is not alive, or
 * has ended with another status than cancelled. */
int cancel_run(const struct storage *s, const char *run, const char *by, struct error *err);

#endif
