/*
 * Features of MCP servers besides tools (resources and prompts), as tools that an agent may call:
 * each stands for a method of the protocol, whose params are the tool's arguments. They only read.
 */
#ifndef AWF_MCP_CLIENT_MCP_METHODS_H
#define AWF_MCP_CLIENT_MCP_METHODS_H

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

struct mcp_method {
	const char *tool;          /* its name, unless the server has a tool of this name */
	const char *method;
	unsigned feature;          /* of servers that have it (mcp.h) */
	const char *description;
	const char *schema;        /* of its arguments; JSON */
	/* The member of the result that is passed on unchanged, and the cursor to the next page
	 * of a list. */
	const char *member;
};

/* Ends with .tool NULL. */
extern const struct mcp_method mcp_methods[];

/* The one of a method (JSON string); NULL: none. */
const struct mcp_method *mcp_method_find(struct span method);
/* Appends the result for a tool (JSON): contents of a resource are text if all of them are, else
 * a list of content blocks (content.h). ERROR_TOOL if the server answers with something else. */
int mcp_method_read(const struct mcp_method *m, struct span result, struct buffer *output,
    struct error *err);

#endif
