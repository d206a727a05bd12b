/*
 * Calls that wait for a person, decided about as the client's user says: the client is asked by
 * elicitation/create, or, one of RPC_MODERN, told to ask and to send its request again.
 */
#ifndef AWF_MCP_APPROVALS_H
#define AWF_MCP_APPROVALS_H

#include "mcp/led.h"

/* Whether the request waits for a person: its client has been asked, or is now. One of RPC_MODERN is
 * answered so, and gone. */
bool approvals_ask(struct leading *l, struct waiter *w);
/* What a person has said about a wait, as the result of elicitation/create: decides it and goes on,
 * for the request, which is taken over and waits. -1 with *err: it was refused, and nothing is taken
 * over. */
int leading_decide(struct leading *l, struct led *led, const char *wait, struct span said,
    struct rpc_call *call, struct error *err);
/* The same, as an answer to what the client was asked under this id; said: .at NULL if it failed. */
void leading_said(struct leading *l, struct span id, struct span said);

#endif
