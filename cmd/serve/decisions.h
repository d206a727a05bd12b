/*
 * POST /api/runs/RUN/decisions: what awf-ctl does, for people and programs elsewhere.
 *
 *     {"decision": "approve", "call": "ok", "data": "…", "reason": "…"}
 *     {"decision": "deny", "call": "ok", "reason": "…"}
 *     {"decision": "complete", "call": "build:0:0", "data": {…}}      or "failed": true, "reason"
 *     {"decision": "heartbeat", "call": "build:0:0"}
 *     {"decision": "cancel"}
 *
 * Who has decided is the label of the token.
 */
#ifndef AWF_SERVE_DECISIONS_H
#define AWF_SERVE_DECISIONS_H

#include "serve/request.h"

void answer_decision(struct request *r);

#endif
