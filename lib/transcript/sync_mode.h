/*
 * How much of a transcript is on disk before a program goes on, as the user has it.
 */
#ifndef AWF_TRANSCRIPT_SYNC_MODE_H
#define AWF_TRANSCRIPT_SYNC_MODE_H

#include "base/error.h"

enum sync_mode { SYNC_NONE, SYNC_STEP, SYNC_EVENT };

/* $AWF_SYNC (none, step, event); unset is step. ERROR_USAGE on anything else. */
int sync_mode_from_environment(enum sync_mode *mode, struct error *err);

#endif
