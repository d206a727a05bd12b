/*
 * Answering the questions of led runs, and answering requests when their result is known: when the
 * run asks something, has ended, or GATE_WAIT_MS have passed.
 */
#ifndef AWF_MCP_ANSWERS_H
#define AWF_MCP_ANSWERS_H

#include "mcp/led.h"

/* Finds the question with this token. NULL: no led run has it, and *err says why. */
struct gate *leading_find_gate(const struct leading *l, const char *token, struct error *err);

/* Answers a question with `answer`, JSON, for a request. The function takes the request, which
 * waits for the outcome. -1 with *err: the answer was refused at once, and the request is still
 * the caller's. */
int leading_answer(struct leading *l, struct gate *g, struct span answer, struct rpc_call *call,
    struct error *err);
/* The client has cancelled the request with this id: it is dropped and, for some tools, the run
 * is cancelled. */
void leading_cancelled(struct leading *l, struct span id);

/* A step of the loop: reads what questions have sent, connects to new ones, and answers the
 * requests whose result is known. */
void answers_step(struct leading *l);

#endif
