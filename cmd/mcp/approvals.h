/*
 * Decisions of the client's user about calls that wait for an approval. The client is asked with
 * elicitation/create; a client of RPC_MODERN is told to ask its user, and to send the request again
 * with the answer.
 */
#ifndef AWF_MCP_APPROVALS_H
#define AWF_MCP_APPROVALS_H

#include "mcp/led.h"

/* Whether a request waits for the user: its client has been asked, or is asked now. A client of
 * RPC_MODERN is asked by the response, so its request is finished. */
bool approvals_ask(struct leading *l, struct waiter *w);
/* Applies what the user has said about a waiting call, as in a result of elicitation/create, and
 * continues the run. Takes ownership of the request, which then waits for the run. -1 with *err:
 * the decision was refused, and the caller still owns the request. */
int leading_decide(struct leading *l, struct led *led, const char *wait, struct span said,
    struct rpc_call *call, struct error *err);
/* The same for a client's response to the request with this id; said: its result; .at NULL if the
 * request has failed. */
void leading_said(struct leading *l, struct span id, struct span said);

#endif
