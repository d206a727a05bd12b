/*
 * awf-run as the tool of who decides about a call that waits: --approve, --deny,
 * --complete, --heartbeat. Nothing is run; --resume does that afterwards.
 */
#ifndef AWF_RUN_DECIDE_H
#define AWF_RUN_DECIDE_H

#include "base/error.h"
#include "run/settings.h"

/* Records the decision. -1 with *err; ERROR_BLOCKED: the call waits no more. */
int decide(const struct settings *s, struct error *err);

#endif
