/* The log of the server: a line on standard error for each problem. */
#ifndef AWF_SERVE_RUNS_LOG_H
#define AWF_SERVE_RUNS_LOG_H

#include "base/error.h"

/* "awf-serve: PLACE: MESSAGE", with stars for API keys. */
void log_warn(const struct error *warning);

#endif
