/*
 * Requests of OTLP in protocol buffers (ExportTraceServiceRequest), as OTLP/JSON has them: with what
 * awf-import-otel reads of them. Bytes come from outside: whatever they are, nothing beyond them is read.
 */
#ifndef AWF_SERVE_RUNS_OTLP_H
#define AWF_SERVE_RUNS_OTLP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Appends the request as JSON; false, with an unfinished text appended, if the bytes are none. */
bool otlp_write_json(const void *bytes, size_t len, struct buffer *out);

#endif
