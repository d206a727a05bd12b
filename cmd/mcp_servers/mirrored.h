/*
 * Arguments of tools that a server wants to see in headers, too (Model Context Protocol,
 * 2026-07-28, "Custom Headers from Tool Parameters"): which those are, the schemas of its tools
 * say (x-mcp-header). A tool whose schema says so wrongly is none that may be offered.
 */
#ifndef AWF_MCP_SERVERS_MIRRORED_H
#define AWF_MCP_SERVERS_MIRRORED_H

#include "base/buffer.h"
#include "json/scan.h"

struct mirrored_argument {
	char *tool;
	char *pointer;   /* where it stands in the arguments, a JSON pointer */
	char *name;      /* of the header behind Mcp-Param- */
};

struct mirrored {
	struct mirrored_argument *list;
	size_t count;
};

/* Takes what a result of tools/list says, and forgets what was known of its tools. What is
 * wrong with a tool is told on stderr. out becomes the result without such tools; it stays
 * empty if there are none. */
void mirrored_read(struct mirrored *m, struct span result, struct buffer *out);
/* Tells the headers of a call one by one, "Mcp-Param-NAME: VALUE". */
void mirrored_headers(const struct mirrored *m, struct span tool, struct span arguments,
    void (*take)(void *context, const char *header), void *context);
void mirrored_free(struct mirrored *m);

/* Appends a value as a header can have it: as it is, or in base64 where it is not plain. */
void mirrored_encode(struct buffer *out, const char *value, size_t len);

#endif
