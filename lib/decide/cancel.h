/* Cancelling: another process ends a run that lives or waits for its turn. */
#ifndef AWF_DECIDE_CANCEL_H
#define AWF_DECIDE_CANCEL_H

#include "base/error.h"
#include "storage/storage.h"

/* Ends the run as SIGTERM to its awf-run does, records who does so, and waits until it has ended,
 * which may take as long as its processes have to end. run: as for storage_resolve(), or the id of
 * a run without a transcript. ERROR_BLOCKED: it does not live, or has ended with another status. */
int cancel_run(const struct storage *s, const char *run, const char *by, struct error *err);

#endif
