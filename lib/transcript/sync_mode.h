/* How much of a transcript must be on disk before a program continues, as chosen by the user. */
#ifndef AWF_TRANSCRIPT_SYNC_MODE_H
#define AWF_TRANSCRIPT_SYNC_MODE_H

#include "base/error.h"

enum sync_mode { SYNC_NONE, SYNC_STEP, SYNC_EVENT };

/* Reads $AWF_SYNC (none, step, event); the default is step. ERROR_USAGE for another value. */
int sync_mode_from_environment(enum sync_mode *mode, struct error *err);

#endif
