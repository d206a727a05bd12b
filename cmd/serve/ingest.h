/*
 * What clients send: runs that are recorded elsewhere, events of which runs are made here, their
 * blobs, and their end. lib/ingest decides what is accepted, and to whom a run belongs.
 */
#ifndef AWF_SERVE_INGEST_H
#define AWF_SERVE_INGEST_H

#include "serve/request.h"

#define INGEST_BODY ((size_t)1 << 30)
#define INGEST_BLOB ((size_t)1 << 30)

/* POST /api/ingest */
const struct refusal *receive_ingest(struct request *r, struct span piece);
void answer_ingest(struct request *r);
/* PUT /api/runs/RUN/blobs/SHA256 */
const struct refusal *receive_blob(struct request *r, struct span piece);
void answer_blob_sent(struct request *r);
/* POST /api/runs/RUN/end */
void answer_run_end(struct request *r);

#endif
