/*
 * POST /api/runs/RUN/decisions: what awf-ctl does, for remote people and programs.
 *
 *    {"decision": "approve", "call": "ok", "data": "…", "reason": "…"}
 *    {"decision": "deny", "call": "ok", "reason": "…"}
 *    {"decision": "complete", "call": "build:0:0", "data": {…}}      or "failed": true, "reason"
 *    {"decision": "heartbeat", "call": "build:0:0"}
 *    {"decision": "cancel"}
 *
 * The label of the token is recorded as the name of who decided.
 */
#ifndef AWF_SERVE_DECISIONS_H
#define AWF_SERVE_DECISIONS_H

#include "serve/request.h"

void answer_decision(struct request *r);

#endif
