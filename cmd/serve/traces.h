/*
 * POST /v1/traces: spans of OpenTelemetry, which awf-import-otel makes runs of.
 *
 * What the code relies on, and keeps:
 *   - Spans of a trace come in several requests, those inside of others first. So they are kept, a file for
 *     each trace of a sender, with a line for each request:
 *
 *        <storage>/traces/<sender>/<trace-id>.jsonl   sender: a digest
 *
 *     and awf-import reads that file, also what was recorded of it, and adds what is new. It does so when a
 *     span has come that may be outermost (<trace-id>.begun), as before there is nothing to say.
 *   - Spans are on disk, and recorded as far as that is possible yet, when the request is answered. A request
 *     that is sent again changes nothing.
 *   - A file to which nothing was added for TRACES_KEPT_S is imported a last time, as what does not come any
 *     more need not be waited for, and removed, with a later request of its sender: every ten minutes it is
 *     looked for such files (the time of `looked`).
 */
#ifndef AWF_SERVE_TRACES_H
#define AWF_SERVE_TRACES_H

#include <time.h>

#include "serve/request.h"

#define TRACES_BODY ((size_t)64 << 20)
#define TRACES_KEPT_S ((time_t)12 * 3600)

void answer_traces(struct request *r);

#endif
