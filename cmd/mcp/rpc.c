/*
 * Each message is written as a whole. If the client does not read, this program waits; it has
 * nothing else to do then.
 */
#include "mcp/rpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/version.h"
#include "io/terminal.h"

#define META "_meta"
#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_SERVER "io.modelcontextprotocol/serverInfo"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

const char *const rpc_handshaken[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", NULL };

static char *
rpc_copy_span(struct span value)
{
	return value.at != NULL ? memory_copy(value.at, value.len) : NULL;
}

void
rpc_call_begin(struct rpc_call *c, struct span message, struct span params)
{
	struct span meta = span_member(params, META);

	*c = (struct rpc_call){ .id = rpc_copy_span(span_member(message, "id")),
		.progress = rpc_copy_span(span_member(meta, "progressToken")),
		.modern = span_member(meta, META_VERSION).at != NULL,
		.elicits = rpc_elicits(span_member(meta, META_CAPABILITIES)) };
}

/* A client that names no modes supports forms, which were the only mode in earlier versions. */
bool
rpc_elicits(struct span capabilities)
{
	struct span elicitation = span_member(capabilities, "elicitation");

	return span_type(elicitation) == 'o' && (span_member(elicitation, "form").at != NULL ||
	    span_member(elicitation, "url").at == NULL);
}

void
rpc_call_free(struct rpc_call *c)
{
	free(c->id);
	free(c->progress);
	*c = (struct rpc_call){ .id = NULL };
}

static struct span
id_of(const struct rpc_call *c)
{
	return c->id != NULL ? span_of(c->id, strlen(c->id)) : SPAN_NONE;
}

static void
send_line(struct buffer *line)
{
	terminal_write_json(STDOUT_FILENO, line->data, line->len);
	buffer_free(line);
}

static void
rpc_write_result(const struct rpc_call *c, const char *type, const struct buffer *members,
    bool listed)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	if (c->id == NULL)
		return;
	jsonrpc_begin_answer(&w, &line, id_of(c));
	writer_member_object(&w, "result");
	if (c->modern) {
		writer_member_string(&w, "resultType", type);
		if (listed) {
			writer_member_integer(&w, "ttlMs", 0);
			writer_member_string(&w, "cacheScope", "private");
		}
		writer_member_object(&w, META);
		writer_member_object(&w, META_SERVER);
		writer_member_string(&w, "name", "awf-mcp");
		writer_member_string(&w, "version", AWF_VERSION);
		writer_object_end(&w);
		writer_object_end(&w);
	}
	if (members != NULL && members->len > 0) {
		if (c->modern)
			buffer_byte(&line, ',');
		buffer_append(&line, members->data, members->len);
	}
	writer_object_end(&w);
	jsonrpc_end(&w);
	send_line(&line);
}

void
rpc_result(const struct rpc_call *c, const struct buffer *members, bool listed)
{
	rpc_write_result(c, "complete", members, listed);
}

void
rpc_input_required(const struct rpc_call *c, const char *key, const char *method,
    const struct buffer *params, const char *state)
{
	struct buffer members = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &members);
	writer_member_object(&w, "inputRequests");
	writer_member_object(&w, key);
	writer_member_string(&w, "method", method);
	writer_member_buffer(&w, "params", params);
	writer_object_end(&w);
	writer_object_end(&w);
	writer_member_string(&w, "requestState", state);
	rpc_write_result(c, "input_required", &members, false);
	buffer_free(&members);
}

void
rpc_ask(const char *id, const char *method, const struct buffer *params)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	jsonrpc_begin(&w, &line);
	writer_member_string(&w, "id", id);
	writer_member_string(&w, "method", method);
	writer_member_buffer(&w, "params", params);
	jsonrpc_end(&w);
	send_line(&line);
}

void
rpc_tool_result(const struct rpc_call *c, const struct buffer *json, bool failed)
{
	struct buffer members = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &members);
	writer_member_array(&w, "content");
	writer_object(&w);
	writer_member_string(&w, "type", "text");
	writer_key(&w, "text");
	writer_bytes(&w, json->data, json->len);
	writer_object_end(&w);
	writer_array_end(&w);
	/* Clients check structured content against the tool's schema, which describes only
	 * successful results. */
	if (!failed)
		writer_member_buffer(&w, "structuredContent", json);
	writer_member_bool(&w, "isError", failed);
	rpc_result(c, &members, false);
	buffer_free(&members);
}

void
rpc_error(const struct rpc_call *c, int code, struct span data, const char *format, ...)
{
	struct buffer line = BUFFER_INIT;
	char message[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	jsonrpc_error(&line, id_of(c), code, message, data);
	send_line(&line);
}

void
rpc_progress(const struct rpc_call *c, int64_t progress, const char *message)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	if (c->progress == NULL)
		return;
	jsonrpc_begin(&w, &line);
	writer_member_string(&w, "method", "notifications/progress");
	writer_member_object(&w, "params");
	writer_member_span(&w, "progressToken", span_of(c->progress, strlen(c->progress)));
	writer_member_integer(&w, "progress", progress);
	writer_member_string(&w, "message", message);
	writer_object_end(&w);
	jsonrpc_end(&w);
	send_line(&line);
}
