/*
 * Cancelling: ends a run that lives, or waits for its turn, from outside.
 */
#ifndef AWF_DECIDE_CANCEL_H
#define AWF_DECIDE_CANCEL_H

#include "base/error.h"
#include "storage/storage.h"

/* Ends the run as SIGTERM to its awf-run does, notes who does so, and waits until it has ended: a
 * killed descendant may take its grace. run: as storage_resolve() takes it, or the id of one that
 * has no transcript. ERROR_BLOCKED: it does not live, or has ended otherwise. */
int cancel_run(const struct storage *s, const char *run, const char *by, struct error *err);

#endif
