/*
 * Members are written in the order of the specification's examples, and read in any order. A result
 * may have many megabytes, so a message is read in one pass.
 */
#include "json/jsonrpc.h"

const char *
jsonrpc_check(struct span *value, unsigned depth, struct buffer *mended)
{
	size_t bad;
	const char *wrong = scan_within(value->at, value->len, depth, &bad);

	if (wrong == NULL)
		return NULL;
	buffer_clear(mended);
	scan_mend(*value, mended);
	*value = span_of(buffer_string(mended), mended->len);
	return scan_within(value->at, value->len, depth, &bad);
}

struct jsonrpc
jsonrpc_read(struct span message)
{
	static const char *const names[] = { "id", "method", "params", "result", "error" };
	struct span values[sizeof names / sizeof *names];
	struct jsonrpc m;

	span_members(message, names, sizeof names / sizeof *names, values);
	m = (struct jsonrpc){ .id = values[0], .method = values[1], .params = values[2],
		.result = values[3], .error = values[4] };
	if (span_type(m.method) != 's')
		m.kind = JSONRPC_RESPONSE;
	else
		m.kind = m.id.at != NULL ? JSONRPC_REQUEST : JSONRPC_NOTIFICATION;
	return m;
}

void
jsonrpc_begin(struct writer *w, struct buffer *line)
{
	writer_begin(w, line);
	writer_object(w);
	writer_member_string(w, "jsonrpc", "2.0");
}

void
jsonrpc_begin_answer(struct writer *w, struct buffer *line, struct span id)
{
	jsonrpc_begin(w, line);
	writer_key(w, "id");
	writer_raw(w, id.at, id.len);
}

void
jsonrpc_end(struct writer *w)
{
	writer_object_end(w);
	buffer_byte(w->out, '\n');
}

void
jsonrpc_error(struct buffer *line, struct span id, int code, const char *message, struct span data)
{
	struct writer w;

	jsonrpc_begin_answer(&w, line, id);
	writer_member_object(&w, "error");
	writer_member_integer(&w, "code", code);
	writer_member_string(&w, "message", message);
	writer_member_span(&w, "data", data);
	writer_object_end(&w);
	jsonrpc_end(&w);
}
