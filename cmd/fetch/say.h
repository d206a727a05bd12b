/*
 * What is said on stdout: a JSON object a line, awf-fetch-run(1).
 */
#ifndef AWF_FETCH_SAY_H
#define AWF_FETCH_SAY_H

#include <stdint.h>

#include "base/error.h"

/* Where the copy lies, and of which server. */
void fetch_report_copy(const char *directory, const char *base);
/* All that there was is there, but for so many lines at its beginning. run_id NULL: no run. */
void fetch_report_ready(const char *run_id, int64_t skipped);
/* The record is another one after so many bytes, whose last event has this number. */
void fetch_report_replaced(const char *run_id, int64_t bytes, int64_t seq);
void fetch_report_warning(const struct error *warning);
/* Nothing more will come. */
void fetch_report_error(const struct error *err);

#endif
