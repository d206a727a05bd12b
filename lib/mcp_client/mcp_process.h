/*
 * The process of an MCP server, for mcp.c, mcp_wire.c and mcp_tools.c only: how it is started, in
 * which environment and sandbox, what is reported if it fails, and how it is ended.
 */
#ifndef AWF_MCP_CLIENT_MCP_PROCESS_H
#define AWF_MCP_CLIENT_MCP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "json/scan.h"
#include "mcp_client/mcp.h"

/* Starts the server. */
int mcp_spawn(struct mcp_server *s, const struct mcp_use *use, struct error *err);
/* Sets *err: what is wrong with the server, and its last output. */
int mcp_fault(const struct mcp_server *s, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Replaces the keys that the server was given by stars. */
void mcp_hide(const struct mcp_server *s, char *bytes, size_t len);
/* Whether its output contains one of these keys. */
bool mcp_says_secret(const struct mcp_server *s, struct span said);

/* Ends it with peer_end(); peer_hang_up() may be called before. A server that the run keeps is left
 * running. */
int mcp_end(struct mcp_server *s);
/* The same, and marks it as not ready, so that no further request is sent to it. */
void mcp_give_up(struct mcp_server *s);

#endif
