/*
 * Passes answers on to the questions of runs, and responds to requests when their result is known:
 * when the run asks something, has ended, or GATE_WAIT_MS have passed.
 */
#ifndef AWF_MCP_ANSWERS_H
#define AWF_MCP_ANSWERS_H

#include "mcp/led.h"

/* The question with this token. NULL with *err: no run of this session has it. */
struct gate *leading_find_gate(const struct leading *l, const char *token, struct error *err);

/* Answers a question with `answer`, JSON, because of a request. Takes ownership of the request,
 * which waits for the outcome. -1 with *err: the answer was refused at once, and the caller still
 * owns the request. */
int leading_answer(struct leading *l, struct gate *g, struct span answer, struct rpc_call *call,
    struct error *err);
/* The client has cancelled the request with this id: drops it, and, for some tools, cancels the
 * run. */
void leading_cancelled(struct leading *l, struct span id);

/* One round of the loop: reads the replies of calls, connects to new questions, and responds to
 * requests whose result is known. */
void answers_step(struct leading *l);

#endif
