/*
 * JSON-RPC 2.0 messages, one per line, as used by the Model Context Protocol over pipes: reading
 * messages, and writing our own. Callers write the members that are specific to their protocol.
 *
 * Source: jsonrpc.org/specification.
 */
#ifndef AWF_JSON_JSONRPC_H
#define AWF_JSON_JSONRPC_H

#include "base/buffer.h"
#include "json/scan.h"
#include "json/writer.h"

/* Codes of errors ("Error object"). */
enum { JSONRPC_PARSE = -32700, JSONRPC_INVALID = -32600, JSONRPC_NO_METHOD = -32601,
	JSONRPC_PARAMS = -32602 };

enum jsonrpc_kind {
	JSONRPC_REQUEST,       /* it has a method and an id */
	JSONRPC_NOTIFICATION,  /* it has a method alone */
	JSONRPC_RESPONSE       /* it has none: whatever else it is, nothing is asked */
};
struct jsonrpc {
	enum jsonrpc_kind kind;
	struct span id, method, params, result, error; /* in the message; .at NULL: it has none */
};

/* Checks what another program wrote, as scan_within() does. JavaScript writes half of a surrogate pair
 * where it has cut a text in the midst of a character: these are U+FFFD then, in *mended, where *value
 * stands from then on. */
const char *jsonrpc_check(struct span *value, unsigned depth, struct buffer *mended);
/* Reads a message (checked JSON) in one walk. What is no object has no members. */
struct jsonrpc jsonrpc_read(struct span message);

/* Begins a line at the end of the buffer: an object, to which the caller adds members. */
void jsonrpc_begin(struct writer *w, struct buffer *line);
/* The same of an answer to the request with this id (JSON; .at NULL: it could not be read). */
void jsonrpc_begin_answer(struct writer *w, struct buffer *line, struct span id);
/* Ends the line. */
void jsonrpc_end(struct writer *w);
/* A whole line, which answers with an error; data: JSON, .at NULL: none. */
void jsonrpc_error(struct buffer *line, struct span id, int code, const char *message,
    struct span data);

#endif
