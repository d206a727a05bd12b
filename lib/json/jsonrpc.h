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

/* Error codes ("Error object"). */
enum { JSONRPC_PARSE = -32700, JSONRPC_INVALID = -32600, JSONRPC_NO_METHOD = -32601,
	JSONRPC_PARAMS = -32602 };

enum jsonrpc_kind {
	JSONRPC_REQUEST,       /* it has a method and an id */
	JSONRPC_NOTIFICATION,  /* it has a method and no id */
	JSONRPC_RESPONSE       /* it has no method: nothing has to be answered */
};
struct jsonrpc {
	enum jsonrpc_kind kind;
	struct span id, method, params, result, error; /* parts of the message; .at NULL: missing */
};

/* Checks a message of another program, as scan_within() does. JavaScript writes a lone surrogate
 * where it has cut a string inside a character: these are replaced by U+FFFD in *mended, and *value
 * then points there. */
const char *jsonrpc_check(struct span *value, unsigned depth, struct buffer *mended);
/* Reads a message (checked JSON) in one pass. If it is not an object, it has no members. */
struct jsonrpc jsonrpc_read(struct span message);

/* Begins a line at the end of the buffer: an object, to which the caller adds members. */
void jsonrpc_begin(struct writer *w, struct buffer *line);
/* The same for a response to the request with this id (JSON; .at NULL: the id could not be
 * read). */
void jsonrpc_begin_answer(struct writer *w, struct buffer *line, struct span id);
/* Ends the line. */
void jsonrpc_end(struct writer *w);
/* Writes a whole line: an error response; data: JSON, .at NULL: none. */
void jsonrpc_error(struct buffer *line, struct span id, int code, const char *message,
    struct span data);

#endif
