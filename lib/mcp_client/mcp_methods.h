/*
 * Features of MCP servers besides tools (resources and prompts), offered to agents as tools: each
 * corresponds to a method of the protocol, and the tool's arguments are the method's params. They
 * only read.
 */
#ifndef AWF_MCP_CLIENT_MCP_METHODS_H
#define AWF_MCP_CLIENT_MCP_METHODS_H

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

struct mcp_method {
	const char *tool;          /* its name, unless the server has a tool with this name */
	const char *method;
	unsigned feature;          /* the server must have this feature (mcp.h) */
	const char *description;
	const char *schema;        /* of its arguments; JSON */
	/* The member of the result that is passed on unchanged, with the cursor to the next page of
	 * a list. */
	const char *member;
};

/* Ends with .tool NULL. */
extern const struct mcp_method mcp_methods[];

/* The entry with this method (a JSON string); NULL: none. */
const struct mcp_method *mcp_method_find(struct span method);
/* Appends the result for a tool (JSON): contents of a resource are text if all of them are, else
 * a list of content blocks (content.h). ERROR_TOOL if the server answers with something else. */
int mcp_method_read(const struct mcp_method *m, struct span result, struct buffer *output,
    struct error *err);

#endif
