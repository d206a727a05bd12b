/*
 * What the server says of itself: a line on standard error for each thing that went wrong.
 */
#ifndef AWF_SERVE_RUNS_LOG_H
#define AWF_SERVE_RUNS_LOG_H

#include "base/error.h"

/* "awf-serve: PLACE: MESSAGE", with stars for API keys. */
void log_warn(const struct error *warning);

#endif
