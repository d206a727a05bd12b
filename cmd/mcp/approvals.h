/*
 * Decisions of the client's user about calls that wait for an approval. The client is asked with
 * elicitation/create; a client of RPC_MODERN is told to ask its user, and to send the request again
 * with the answer.
 */
#ifndef AWF_MCP_APPROVALS_H
#define AWF_MCP_APPROVALS_H

#include "mcp/led.h"

/* Whether the request waits for a person: its client has been asked, or is now. One of RPC_MODERN is
 * answered so, and gone. */
bool approvals_ask(struct leading *l, struct waiter *w);
/* Applies what the user has said about a wait, as in a result of elicitation/create, and continues
 * the run. The function takes the request, which waits. -1 with *err: the decision was refused, and
 * the request is still the caller's. */
int leading_decide(struct leading *l, struct led *led, const char *wait, struct span said,
    struct rpc_call *call, struct error *err);
/* The same, for the client's answer to the request with this id; said: .at NULL if that failed. */
void leading_said(struct leading *l, struct span id, struct span said);

#endif
