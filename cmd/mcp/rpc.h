/*
 * JSON-RPC 2.0 on standard input and output, one message a line, as an MCP server speaks it (Model
 * Context Protocol): revisions 2024-11-05 to 2025-11-25, which begin with `initialize`, and
 * 2026-07-28, where each request says in its _meta which one it is of.
 */
#ifndef AWF_MCP_RPC_H
#define AWF_MCP_RPC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/jsonrpc.h"
#include "json/scan.h"
#include "json/writer.h"

/* The code of MCP for a revision that is not spoken, beside those of JSON-RPC. */
enum { RPC_VERSION = -32022 };

#define RPC_MODERN "2026-07-28"
extern const char *const rpc_handshaken[]; /* the newest first; ends with NULL */

/* A request, which must be answered once. */
struct rpc_call {
	char *id;           /* JSON; NULL: a notification, which is not */
	char *progress;     /* the token for notifications of progress, JSON; NULL */
	bool modern;        /* of RPC_MODERN */
	bool elicits;       /* its client passes questions on to its user */
};
/* Whether a client of these capabilities asks its user, by a form. */
bool rpc_elicits(struct span capabilities);
/* Sets the members from a message; params is a span of it. */
void rpc_call_begin(struct rpc_call *c, struct span message, struct span params);
void rpc_call_free(struct rpc_call *c);

/* Answers with an object whose members the caller has written, without its braces. listed: it is a
 * list of what there is, which a client of RPC_MODERN may keep. */
void rpc_result(const struct rpc_call *c, const struct buffer *members, bool listed);
/* Answers the call of a tool with an object, as text and, unless it failed, structured. */
void rpc_tool_result(const struct rpc_call *c, const struct buffer *json, bool failed);
/* Sends a request to the client; the response will have this id. */
void rpc_ask(const char *id, const char *method, const struct buffer *params);
/* The same of a client of RPC_MODERN, which is to send the request again with the answer, under this
 * key, and with the state. */
void rpc_input_required(const struct rpc_call *c, const char *key, const char *method,
    const struct buffer *params, const char *state);
/* data: JSON; .at NULL. */
void rpc_error(const struct rpc_call *c, int code, struct span data, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Tells how far it is; message: NULL. */
void rpc_progress(const struct rpc_call *c, int64_t progress, const char *message);

#endif
