/*
 * The first lines of an answer tell whether it is a stream of events or one message; received
 * messages are written to stdout at once. In the old transport the server names the URL for
 * messages in an event.
 */
#include "transfer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../program.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/terminal.h"
#include "json/jsonrpc.h"
#include "mcp_client/mcp_wire.h"
#include "proc/message.h"

enum {
	REFUSED_LIMIT = 1 << 20,     /* bytes of an error's body */
	RETRY_MS = 1000,             /* before a stream is requested again */
	RETRY_LIMIT_MS = 30000
};

/* ---- writing to stdout ---- */

static void
put_line(const struct buffer *line)
{
	if (terminal_write_json(STDOUT_FILENO, line->data, line->len) != 0)
		_exit(STATUS_SYSTEM); /* nobody listens */
}

/* The answer in place of one that the server does not give. */
static void
put_failure(struct span id, const char *text)
{
	struct buffer line = BUFFER_INIT;

	jsonrpc_error(&line, id, MCP_NO_ANSWER, text, SPAN_NONE);
	put_line(&line);
	buffer_free(&line);
}

/* The request has its answer. */
static void
forget_asked(struct bridge *b, struct span id)
{
	char **asked = b->asked;

	b->asked = NULL;
	for (size_t i = 0; asked != NULL && asked[i] != NULL; i++)
		if (strlen(asked[i]) != id.len || memcmp(asked[i], id.at, id.len) != 0)
			list_add(&b->asked, asked[i]);
	list_free(asked);
}

void
transfer_fail(struct transfer *t, const char *format, ...)
{
	char text[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	text_line(text);
	if (t->id.at == NULL || t->answered || t->unheard) {
		message_print(NULL, "%s", text);
		if (t->unheard && t->bridge->lost == NULL)
			t->bridge->lost = memory_text(text);
		return;
	}
	t->answered = true;
	forget_asked(t->bridge, t->id);
	put_failure(t->id, text);
}

void
transfer_await(struct transfer *t)
{
	if (t->id.at != NULL)
		list_take(&t->bridge->asked, memory_copy(t->id.at, t->id.len));
}

bool
transfer_answers(const struct transfer *t, const struct jsonrpc *m)
{
	return m->kind == JSONRPC_RESPONSE && t->id.at != NULL && span_same(m->id, t->id);
}

int
transfer_take(struct transfer *t, const char *bytes, size_t len)
{
	struct span message = span_trim(span_of(bytes, len));
	struct buffer line = BUFFER_INIT, changed = BUFFER_INIT, mended = BUFFER_INIT;
	struct bridge *b = t->bridge;
	struct jsonrpc m;
	int result = -1;

	if ((span_type(message) != 'o' && span_type(message) != 'a') ||
	    jsonrpc_check(&message, SCAN_DEPTH, &mended) != NULL)
		goto done;
	/* A batch, as 2025-03-26 has them. */
	if (span_type(message) == 'a') {
		result = 0;
		for (struct span_walk x = span_walk(message); result == 0 && span_next(&x);)
			result = transfer_take(t, x.value.at, x.value.len);
		goto done;
	}
	m = jsonrpc_read(message);
	if (m.kind == JSONRPC_RESPONSE && m.id.at != NULL)
		forget_asked(b, m.id);
	if (transfer_answers(t, &m)) {
		t->answered = true;
		if (t->initializes && m.result.at != NULL) {
			free(b->version);
			b->version = span_text(span_member(m.result, "protocolVersion"));
		}
		if (t->lists && m.result.at != NULL)
			mirrored_read(&b->mirrored, m.result, &changed);
	}
	if (changed.len > 0) {
		buffer_append(&line, message.at, (size_t)(m.result.at - message.at));
		buffer_append(&line, changed.data, changed.len);
		buffer_append(&line, m.result.at + m.result.len,
		    (size_t)(message.at + message.len - m.result.at) - m.result.len);
		message = span_of(line.data, line.len);
		buffer_clear(&changed);
	}
	scan_minify(message, &changed);
	buffer_byte(&changed, '\n');
	if (!t->unheard)
		put_line(&changed);
	result = 0;
done:
	buffer_free(&mended);
	buffer_free(&changed);
	buffer_free(&line);
	return result;
}

/* ---- transfers ---- */

bool
bridge_refuse_waiting(struct bridge *b)
{
	const char *rest = buffer_string(&b->waiting), *line;
	bool told = false;
	size_t len;

	while ((line = text_part(&rest, '\n', &len)) != NULL) {
		struct jsonrpc m = jsonrpc_read(span_of(line, len));

		if (m.kind == JSONRPC_REQUEST) {
			put_failure(m.id, b->lost);
			told = true;
		}
	}
	buffer_clear(&b->waiting);
	return told;
}

void
bridge_fail(struct bridge *b, const char *format, ...)
{
	char text[1024];
	va_list list;
	bool told = false;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	text_line(text);
	for (char **id = b->asked; id != NULL && *id != NULL; id++, told = true)
		put_failure(span_of(*id, strlen(*id)), text);
	free(b->lost);
	b->lost = memory_text(text);
	if (!bridge_refuse_waiting(b) && !told)
		message_print(NULL, "%s", text);
}

/* The URL for messages in the old transport, as the server names it. */
static void
transfer_set_endpoint(struct bridge *b, const char *named)
{
	static const CURLUPart origin[] = { CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT };
	CURLU *url = curl_url(), *base = curl_url();
	char *whole = NULL;
	bool same = curl_url_set(base, CURLUPART_URL, b->url, 0) == CURLUE_OK &&
	    curl_url_set(url, CURLUPART_URL, b->url, 0) == CURLUE_OK &&
	    curl_url_set(url, CURLUPART_URL, named, 0) == CURLUE_OK &&
	    curl_url_get(url, CURLUPART_URL, &whole, 0) == CURLUE_OK;

	for (size_t i = 0; same && i < sizeof origin / sizeof *origin; i++) {
		char *one = NULL, *other = NULL;

		same = curl_url_get(url, origin[i], &one, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		    curl_url_get(base, origin[i], &other, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		    strcasecmp(one, other) == 0;
		curl_free(one);
		curl_free(other);
	}
	if (same) {
		free(b->endpoint);
		b->endpoint = memory_text(whole);
	} else {
		bridge_fail(b, "names an endpoint that is not its own: %.200s", named);
	}
	curl_free(whole);
	curl_url_cleanup(url);
	curl_url_cleanup(base);
}

static int
on_event(void *context, const char *event, const char *data, size_t len)
{
	struct transfer *t = context;

	if (t->purpose == GET_SSE && strcmp(event, "endpoint") == 0)
		transfer_set_endpoint(t->bridge, data);
	else if ((*event == '\0' || strcmp(event, "message") == 0) && len > 0 &&
	    transfer_take(t, data, len) != 0)
		message_print(NULL, "it says what is no message: %.100s", data);
	return t->bridge->lost != NULL ? 1 : 0;
}

static size_t
on_header(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	size_t len = size * count, name;
	char *line, *value;

	if (!handle_take_line(&t->heads, len)) {
		t->wrong = HANDLE_HEAD_LONG;
		return 0;
	}
	line = memory_copy(bytes, len);
	line[strcspn(line, "\r\n")] = '\0';
	if (strncmp(line, "HTTP/", 5) == 0) {
		t->stream = false;
		t->location[0] = '\0';
	}
	name = strcspn(line, ":");
	value = line + name + (line[name] == ':');
	value += strspn(value, " \t");
	line[name] = '\0';
	if (strcasecmp(line, "content-type") == 0) {
		t->stream = strncasecmp(value, "text/event-stream", sizeof "text/event-stream" - 1) == 0;
	} else if (strcasecmp(line, "location") == 0) {
		snprintf(t->location, sizeof t->location, "%s", value);
	} else if (strcasecmp(line, "retry-after") == 0) {
		t->retry_after = strtoll(value, NULL, 10);
	} else if (strcasecmp(line, "mcp-session-id") == 0 && t->initializes && *value != '\0') {
		free(t->bridge->session);
		t->bridge->session = memory_text(value);
	}
	free(line);
	return len;
}

static size_t
on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	size_t len = size * count, limit;
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status / 100 == 2 && t->stream) {
		int fed = sse_feed(&t->sse, bytes, len);

		if (fed == -1)
			t->wrong = "an event of its stream is above 64 MiB";
		return fed == 0 ? len : 0;
	}
	limit = status / 100 == 2 ? SCAN_LINE_LIMIT : REFUSED_LIMIT;
	if (len > limit - t->body.len && status / 100 == 2) {
		t->wrong = "the answer is above 256 MiB";
		return 0;
	}
	/* Of an error's body, only what is kept is read. */
	t->cut = len > limit - t->body.len;
	buffer_append(&t->body, bytes, t->cut ? limit - t->body.len : len);
	return t->cut ? 0 : len;
}

static void
add_header(void *context, const char *header)
{
	struct transfer *t = context;

	t->headers = curl_slist_append(t->headers, header);
}

static void
add_member_header(struct transfer *t, const char *name, const char *value)
{
	struct buffer header = BUFFER_INIT;

	buffer_format(&header, "%s: ", name);
	mirrored_encode(&header, value, strlen(value));
	add_header(t, buffer_string(&header));
	buffer_free(&header);
}

/* The headers with which 2026-07-28 repeats parts of a message. */
static void
add_metadata(struct transfer *t, struct span message)
{
	struct span params = span_member(message, "params"), name = span_member(params, "name");
	char *method = span_text(span_member(message, "method")), *text;

	if (method != NULL)
		add_member_header(t, "Mcp-Method", method);
	text = span_text(name.at != NULL ? name : span_member(params, "uri"));
	if (text != NULL)
		add_member_header(t, "Mcp-Name", text);
	if (method != NULL && strcmp(method, "tools/call") == 0)
		mirrored_headers(&t->bridge->mirrored, name, span_member(params, "arguments"), add_header,
		    t);
	free(text);
	free(method);
}

void
transfer_add_headers(struct transfer *t)
{
	struct bridge *b = t->bridge;
	struct span message = span_of(buffer_string(&t->message), t->message.len);
	char *modern = span_text(span_path(message, "params", "_meta", META_VERSION, NULL));

	for (char **header = b->headers; header != NULL && *header != NULL; header++)
		add_header(t, *header);
	if (t->purpose == POST_MESSAGE) {
		add_header(t, "Content-Type: application/json");
		add_header(t, "Accept: application/json, text/event-stream");
		add_header(t, "Expect:");
	} else {
		add_header(t, "Accept: text/event-stream");
	}
	if (modern != NULL || (b->version != NULL && !b->sse && !t->initializes))
		add_member_header(t, "MCP-Protocol-Version", modern != NULL ? modern : b->version);
	if (modern != NULL)
		add_metadata(t, message);
	else if (b->session != NULL && !t->initializes)
		add_member_header(t, "Mcp-Session-Id", b->session);
	if (t->sse.id.len > 0 && t->purpose != GET_SSE)
		add_member_header(t, "Last-Event-ID", buffer_string(&t->sse.id));
	free(modern);
}

void
transfer_start(struct transfer *t)
{
	struct bridge *b = t->bridge;

	t->running = true;
	t->due = 0;
	free(t->session);
	t->session = b->session == NULL ? NULL : memory_text(b->session);
	t->why[0] = '\0';
	t->heads = 0;
	t->cut = false;
	t->wrong = NULL;
	t->retry_after = 0;
	buffer_clear(&t->body);
	sse_again(&t->sse);
	curl_slist_free_all(t->headers);
	t->headers = NULL;
	handle_prepare(t->easy, t->purpose == POST_MESSAGE ? b->endpoint : b->url, b->authorities);
	transfer_add_headers(t);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->why);
	curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, (void *)t);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, (void *)t);
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, (void *)t);
	if (t->purpose == POST_MESSAGE) {
		t->posted = (struct handle_body){ .bytes = t->message.data, .len = t->message.len };
		handle_post(t->easy, &t->posted);
	}
	curl_multi_add_handle(b->multi, t->easy);
}

struct transfer *
transfer_add(struct bridge *b, enum purpose purpose, struct span message)
{
	struct transfer *t = memory_zero(1, sizeof *t), **link = &b->transfers;
	struct jsonrpc m;

	t->bridge = b;
	t->purpose = purpose;
	t->easy = curl_easy_init();
	buffer_append(&t->message, message.at, message.len);
	m = jsonrpc_read(span_of(buffer_string(&t->message), t->message.len));
	if (m.kind == JSONRPC_REQUEST)
		t->id = m.id;
	t->initializes = span_is(m.method, "initialize");
	t->lists = span_is(m.method, "tools/list");
	sse_begin(&t->sse, on_event, t);
	while (*link != NULL)
		link = &(*link)->next;
	*link = t;
	return t;
}

static void
free_transfer(struct transfer *t)
{
	if (t->running)
		curl_multi_remove_handle(t->bridge->multi, t->easy);
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	buffer_free(&t->message);
	buffer_free(&t->body);
	sse_free(&t->sse);
	free(t->session);
	free(t);
}

void
transfer_remove(struct transfer *t)
{
	struct transfer **link = &t->bridge->transfers;

	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	free_transfer(t);
}

void
transfer_remove_all(struct bridge *b)
{
	for (struct transfer *t = b->transfers, *next; t != NULL; t = next) {
		next = t->next;
		free_transfer(t);
	}
	b->transfers = NULL;
}

void
transfer_again(struct transfer *t)
{
	int64_t wait = t->sse.retry_ms > 0 ? t->sse.retry_ms : RETRY_MS;

	for (unsigned i = 1; i < t->tries && wait < RETRY_LIMIT_MS; i++)
		wait *= 2;
	t->tries++;
	t->due = clock_monotonic() + (wait < RETRY_LIMIT_MS ? wait : RETRY_LIMIT_MS);
}
