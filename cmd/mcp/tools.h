/*
 * The tools that an outside agent has: those that lead a workflow, in one table, and the workflows
 * that say what they do.
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

/* The member tools of what tools/list answers. */
void tools_list(const struct tools *t, struct buffer *members);
/* Answers a tools/call, now or later; params: of the request, which is taken over then. */
void tools_call(struct tools *t, struct rpc_call *call, struct span params);

#endif
