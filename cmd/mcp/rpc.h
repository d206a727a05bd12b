/*
 * JSON-RPC 2.0 on standard input and output, one message a line, as an MCP server uses it (Model
 * Context Protocol). Revisions 2024-11-05 to 2025-11-25 begin with `initialize`; with 2026-07-28,
 * each request names its revision in _meta.
 */
#ifndef AWF_MCP_RPC_H
#define AWF_MCP_RPC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/jsonrpc.h"
#include "json/scan.h"
#include "json/writer.h"

/* MCP's error code for a revision that is not supported; others are those of JSON-RPC. */
enum { RPC_VERSION = -32022 };

#define RPC_MODERN "2026-07-28"
extern const char *const rpc_handshaken[]; /* The supported revisions with `initialize`, the newest
                                              first; ends with NULL. */

/* A request. It must get exactly one response. */
struct rpc_call {
	char *id;           /* JSON; NULL: it is a notification, and gets no response */
	char *progress;     /* token for notifications of progress, JSON; NULL: none are wanted */
	bool modern;        /* its revision is RPC_MODERN */
	bool elicits;       /* the client can ask its user questions */
};
/* Whether a client with these capabilities can ask its user by a form. */
bool rpc_elicits(struct span capabilities);
/* Sets the members from a message; params: a span in it. */
void rpc_call_begin(struct rpc_call *c, struct span message, struct span params);
void rpc_call_free(struct rpc_call *c);

/* Responds with an object whose members, without braces, the caller has written. listed: it is a
 * list, which a client of RPC_MODERN may keep for some time. */
void rpc_result(const struct rpc_call *c, const struct buffer *members, bool listed);
/* Responds to a tool's call with an object: as text and, unless the tool failed, as structured
 * content. */
void rpc_tool_result(const struct rpc_call *c, const struct buffer *json, bool failed);
/* Sends a request to the client, with this id. */
void rpc_ask(const char *id, const char *method, const struct buffer *params);
/* The same for a client of RPC_MODERN: responds that it is to ask its user, and to send the request
 * again with the answer under this key, and with the state. */
void rpc_input_required(const struct rpc_call *c, const char *key, const char *method,
    const struct buffer *params, const char *state);
/* Responds with an error. data: JSON; .at NULL: none. */
void rpc_error(const struct rpc_call *c, int code, struct span data, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Sends a notification of progress; message: NULL if there is none. */
void rpc_progress(const struct rpc_call *c, int64_t progress, const char *message);

#endif
