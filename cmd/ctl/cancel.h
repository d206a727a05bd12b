/*
 * awf-ctl cancel: ends a run that lives.
 */
#ifndef AWF_CTL_CANCEL_H
#define AWF_CTL_CANCEL_H

#include "base/error.h"

/* Ends the run as SIGTERM to its awf-run does, and waits until it has ended: a killed
 * descendant may take its grace. ERROR_BLOCKED: it does not live. */
int cancel(const char *run, struct error *err);

#endif
