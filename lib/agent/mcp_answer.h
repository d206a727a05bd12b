/*
 * Answers of MCP servers to calls of their tools, as results of tools: text as text,
 * structured content as JSON, and other content (images, resources) as the JSON that it
 * came as. What a server refuses, and what becomes of one that fails, is the call's error,
 * for the model to read.
 */
#ifndef AWF_AGENT_MCP_ANSWER_H
#define AWF_AGENT_MCP_ANSWER_H

#include "agent/mcp.h"
#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

struct tool_run;
struct turns;

/* answer() of a struct control (control.h); context is a struct mcp_tool. */
int mcp_answer(void *context, struct tool_run *run, struct error *err);
struct mcp_use mcp_use_of(const struct turns *turns);
/* Fills output, JSON, from the result of tools/call. ERROR_TOOL if it tells of a failure. */
int mcp_answer_read(struct span result, struct buffer *output, struct error *err);

#endif
