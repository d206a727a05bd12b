/*
 * Tool arguments that a server wants to be repeated in headers (Model Context Protocol, 2026-07-28,
 * "Custom Headers from Tool Parameters"): the schemas of its tools list them (x-mcp-header). A tool
 * whose schema does this incorrectly must not be offered.
 */
#ifndef AWF_MCP_SERVERS_MIRRORED_H
#define AWF_MCP_SERVERS_MIRRORED_H

#include "base/buffer.h"
#include "json/scan.h"

struct mirrored_argument {
	char *tool;
	char *pointer;   /* JSON pointer to the argument */
	char *name;      /* of the header, after Mcp-Param- */
};

struct mirrored {
	struct mirrored_argument *list;
	size_t count;
};

/* Reads a result of tools/list, and forgets earlier tools. Errors in a tool are printed to stderr.
 * out becomes the result without these tools; it stays empty if there are none. */
void mirrored_read(struct mirrored *m, struct span result, struct buffer *out);
/* Calls take() for each header of a call: "Mcp-Param-NAME: VALUE". */
void mirrored_headers(const struct mirrored *m, struct span tool, struct span arguments,
    void (*take)(void *context, const char *header), void *context);
void mirrored_free(struct mirrored *m);

/* Appends a value as a header can have it: as it is, or in base64 where it is not plain. */
void mirrored_encode(struct buffer *out, const char *value, size_t len);

#endif
