/* Messages on stdout: one JSON object per line, awf-fetch-run(1). */
#ifndef AWF_FETCH_SAY_H
#define AWF_FETCH_SAY_H

#include <stdint.h>

#include "base/error.h"

/* The directory of the copy, and the server's address. */
void fetch_report_copy(const char *directory, const char *base);
/* Everything that existed at the start is here, except for this many lines at the beginning. run_id
 * NULL: no run. */
void fetch_report_ready(const char *run_id, int64_t skipped);
/* The record has been replaced by one that differs after this many bytes, whose last event has
 * this number. */
void fetch_report_replaced(const char *run_id, int64_t bytes, int64_t seq);
void fetch_report_warning(const struct error *warning);
/* Nothing more will come. */
void fetch_report_error(const struct error *err);

#endif
