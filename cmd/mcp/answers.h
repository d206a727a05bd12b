/*
 * Answers to the questions of runs that are led, and requests that wait for what comes of them: until
 * the run asks something, ends, or has gone on for GATE_WAIT_MS.
 */
#ifndef AWF_MCP_ANSWERS_H
#define AWF_MCP_ANSWERS_H

#include "mcp/led.h"

/* By its token; NULL with *err: why none of those that are led has it. */
struct gate *leading_find_gate(const struct leading *l, const char *token, struct error *err);

/* Gives an answer, JSON, for a request, which is taken over and waits for what comes of it. -1 with
 * *err: it was refused at once, and nothing is taken over. */
int leading_answer(struct leading *l, struct gate *g, struct span answer, struct rpc_call *call,
    struct error *err);
/* A request is not waited for any more: that with this id. */
void leading_cancelled(struct leading *l, struct span id);

/* For the loop: takes what has come from questions, connects to new ones, and answers the requests
 * that know now what they wait for. */
void answers_step(struct leading *l);

#endif
