/*
 * The tools for clients: those for leading a run, which are in a table, and one for each workflow
 * that has a description.
 */
#ifndef AWF_MCP_TOOLS_H
#define AWF_MCP_TOOLS_H

#include "mcp/led.h"
#include "mcp/rpc.h"
#include "mcp/workflows.h"

struct tools {
	struct leading *leading;
	struct workflows *workflows;
};

/* Writes the member tools of the result of tools/list. */
void tools_list(const struct tools *t, struct buffer *members);
/* Responds to a tools/call, now or later. Takes ownership of the request; params are those of the
 * request. */
void tools_call(struct tools *t, struct rpc_call *call, struct span params);

#endif
