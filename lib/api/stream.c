/*
 * An answer is a stream of server-sent events (net/sse.h); the data of each event is JSON, which
 * the API's table processes. Errors are recognized here, for all APIs and in all their forms: as an
 * event, as a line of JSON between the events, as a field `error:` of the stream.
 */
#include "api/stream.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/told_cost.h"
#include "base/clock.h"
#include "base/invariant.h"
#include "base/text.h"

#define ANSWER_LIMIT SCAN_LINE_LIMIT /* bytes; a longer message would be refused */
#define TOOL_NAME_LIMIT (64 << 10) /* bytes */
#define BLOCKS_LIMIT 10000 /* each new one, and each piece, is compared with those before it */
#define CALLING_PAUSE_MS 50 /* between two deltas of tool calls */
#define DONE "[DONE]" /* the only event that is not JSON */
#define WORDS_LIMIT 200 /* an event that is not JSON is quoted up to this length */
#define PAGE_LIMIT 65536 /* an HTML page is kept up to this length, to find its title */
#define BEGUN_MOST 8 /* as much of a secret goes on when text of another kind comes */
#define STRANGE_LIMIT 300 /* bytes of unknown events and lines that are kept */

void
stream_error(struct stream *s, enum error_code category, const char *format, ...)
{
	char text[sizeof s->failure.error.message];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	error_set(&s->failure.error, category, NULL, "%s", text);
	s->failed = true;
}

void
stream_refused(struct stream *s, struct span error)
{
	failure_from_json(&s->failure, error, s->secrets);
	s->refused = s->failed = true;
}

void
stream_end(struct stream *s, const struct end *ends, struct span word, struct span said)
{
	const char *reason = end_reason(ends, s->ends, word, said, &s->failure.error);

	if (reason == NULL)
		s->failed = true;
	else
		s->message.stop_reason = reason;
	if (reason != NULL && strcmp(reason, "refusal") == 0)
		text_once(&s->message.explanation, said);
}

void
stream_strange(struct stream *s, struct span text)
{
	if (s->strange.len > 0)
		buffer_byte(&s->strange, ' ');
	buffer_append(&s->strange, text.at, text.len);
	if (s->strange.len > STRANGE_LIMIT) {
		size_t drop = s->strange.len - STRANGE_LIMIT;

		/* Begin with a whole character. */
		while (drop < s->strange.len && (s->strange.data[drop] & 0xc0) == 0x80)
			drop++;
		buffer_drop(&s->strange, drop);
	}
}

static const char *const delta_kinds[] = { "text", "thinking", "tool" };
#define DELTA_KINDS (sizeof delta_kinds / sizeof *delta_kinds)

/* Passes on what is held back of a kind, except `left` bytes at its end. */
static void
stream_pass_held(struct stream *s, size_t kind, size_t left)
{
	struct buffer *held = &s->held[kind];

	if (held->len > left)
		s->delta(s->context, delta_kinds[kind], held->data, held->len - left);
	buffer_drop(held, held->len - left);
}

void
stream_end_deltas(struct stream *s)
{
	for (size_t i = 0; s->delta != NULL && i < DELTA_KINDS; i++)
		stream_pass_held(s, i, 0);
}

void
stream_delta(struct stream *s, const char *kind, const char *text, size_t len)
{
	size_t at = 0;

	if (s->delta == NULL || len == 0)
		return;
	if (s->secrets == NULL) {
		s->delta(s->context, kind, text, len);
		return;
	}
	/* A character or two that a secret begins with stay in their place. */
	for (size_t i = 0; i < DELTA_KINDS; i++)
		if (strcmp(delta_kinds[i], kind) == 0)
			at = i;
		else if (s->held[i].len < BEGUN_MOST)
			stream_pass_held(s, i, 0);
	buffer_append(&s->held[at], text, len);
	text_hide_in_data(s->held[at].data, s->held[at].len, s->secrets);
	stream_pass_held(s, at, text_secret_begun(s->held[at].data, s->held[at].len, s->secrets));
}

void
stream_text(struct stream *s, struct block *b, const char *kind, struct span text)
{
	size_t old = b->text.len;

	span_decode(text, &b->text);
	stream_delta(s, kind, buffer_string(&b->text) + old, b->text.len - old);
}

/* An input may be a whole file, in pieces of a few bytes, so several of them are displayed at
 * once. */
void
stream_call(struct stream *s, const char *name, const char *input, size_t len)
{
	int64_t now;

	if (s->delta == NULL)
		return;
	if (name != NULL)
		buffer_format(&s->calling, "%s%s ", s->calls++ > 0 ? "\n" : "", name);
	buffer_append(&s->calling, input, len);
	now = clock_monotonic();
	if (s->called != 0 && now < s->called + CALLING_PAUSE_MS)
		return;
	INVARIANT(s->calls > 0 || name == NULL);
	stream_delta(s, "tool", buffer_string(&s->calling), s->calling.len);
	buffer_clear(&s->calling);
	s->called = now;
}

static bool
is_done(struct span data)
{
	data = span_trim(data);
	return data.len == strlen(DONE) && memcmp(data.at, DONE, data.len) == 0;
}

static int on_event(void *context, const char *name, const char *data, size_t len);

/* For servers that send no empty line between events: if each line of the data is an event of its
 * own, processes them one by one. False: the data is something else. */
static bool
stream_take_lines(struct stream *s, const char *data, size_t len)
{
	const char *const end = data + len;
	const char *at = data, *next;
	size_t bad;

	if (memchr(data, '\n', len) == NULL)
		return false;
	for (; at < end; at = next + 1) {
		struct span line;

		next = memchr(at, '\n', (size_t)(end - at));
		next = next == NULL ? end : next;
		line = span_trim(span_of(at, (size_t)(next - at)));
		if (line.len > 0 && !is_done(line) &&
		    (*line.at != '{' || scan_check(line.at, line.len, &bad) != NULL))
			return false;
	}
	for (at = data; at < end && !s->failed; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		next = next == NULL ? end : next;
		on_event(s, "", at, (size_t)(next - at));
	}
	return true;
}

/* Whether the last call of a tool has a name or an id that no transcript would hold as it is. */
static bool
has_long_name(const struct message *m)
{
	const struct block *last = m->count > 0 ? &m->blocks[m->count - 1] : NULL;

	return last != NULL && ((last->tool_name != NULL && strlen(last->tool_name) > TOOL_NAME_LIMIT) ||
	    (last->tool_id != NULL && strlen(last->tool_id) > TOOL_NAME_LIMIT));
}

static int
on_event(void *context, const char *name, const char *data, size_t len)
{
	struct stream *s = context;
	struct span value = span_of(data, len), error;
	const char *why;
	size_t bad;

	s->events++;
	if (s->message.ended || len == 0)
		return 0;
	if (is_done(value)) {
		s->message.ended = s->api->done_ends;
		return 0;
	}
	if (strcmp(name, "ping") != 0 && strcmp(name, "keepalive") != 0)
		s->progress++;
	why = scan_loosely(data, len, &bad);
	if (why != NULL && stream_take_lines(s, data, len))
		return s->failed;
	if (why != NULL && s->over) /* the rest of the event was cut off */
		return 0;
	if (why != NULL && s->message.stop_reason != NULL) { /* the answer was complete before */
		stream_strange(s, value);
		return 0;
	}
	if (why != NULL) {
		stream_fail(s, "event %ld of the stream is not JSON: byte %zu: %s", s->events,
		    bad + 1, why);
		if (span_type(value) != 'o' && len <= WORDS_LIMIT && utf8_valid(data, len))
			stream_fail(s, "event %ld of the stream is not JSON: %.*s", s->events, (int)len, data);
		return s->failed;
	}
	told_cost_take(&s->message.usage, value, s->cost);
	error = failure_find(value);
	if (error.at == NULL && strcmp(name, "error") == 0)
		error = value;
	if (error.at != NULL) {
		failure_take_request_id(&s->failure, value);
		stream_refused(s, error);
	} else {
		s->api->event(s, value);
	}
	INVARIANT((!s->refused || s->failed) && (!s->failed || s->failure.error.code != ERROR_NONE));
	if (s->message.count > BLOCKS_LIMIT)
		stream_fail(s, "the answer has more than %d blocks", BLOCKS_LIMIT);
	if (has_long_name(&s->message))
		stream_fail(s, "the answer has the name or id of a tool's call above %d KiB", TOOL_NAME_LIMIT >> 10);
	return s->failed;
}

/* A line between the events. Ollama and others send an error as such a line of JSON; llama.cpp sent
 * it as a field `error: {…}`. */
static int
on_other_line(void *context, const char *line, size_t len)
{
	static const char field[] = "error:";
	struct stream *s = context;
	struct span value = span_trim(span_of(line, len)), error;
	const bool named = len >= sizeof field - 1 && memcmp(line, field, sizeof field - 1) == 0;
	size_t bad;

	if (s->message.ended)
		return 0;
	if (named)
		value = span_trim(span_of(line + sizeof field - 1, len - (sizeof field - 1)));
	if (value.len == 0 || scan_check(value.at, value.len, &bad) != NULL) {
		if (!s->over) /* otherwise it is part of a line */
			stream_strange(s, span_of(line, len));
		return 0;
	}
	error = failure_find(value);
	if (error.at == NULL && !named) {
		/* It is a line of an answer that is not a stream. */
		if (s->whole.len == 0)
			stream_strange(s, value);
		return 0;
	}
	failure_take_request_id(&s->failure, value);
	stream_refused(s, error.at == NULL ? value : error);
	return 1;
}

void
stream_open(struct stream *s, const struct stream_api *api)
{
	*s = (struct stream){ .api = api };
	message_begin(&s->message);
	message_begin(&s->draft);
	sse_begin(&s->sse, on_event, s);
	s->sse.other = on_other_line;
}

int
stream_feed(struct stream *s, const char *bytes, size_t len)
{
	int result;

	/* Skip white space and a byte order mark. */
	for (size_t i = 0; i < len && s->first == '\0'; i++)
		if (strchr(" \t\r\n\xef\xbb\xbf", bytes[i]) == NULL)
			s->first = bytes[i];
	s->bytes += len;
	if (s->bytes > ANSWER_LIMIT) {
		stream_fail(s, "the answer is above %zu MiB", ANSWER_LIMIT >> 20);
		return -1;
	}
	if ((s->first == '{' || s->first == '[' || (s->first == '<' && s->whole.len < PAGE_LIMIT)) &&
	    s->events == 0)
		buffer_append(&s->whole, bytes, len);
	result = sse_feed(&s->sse, bytes, len);
	if (result == -1)
		stream_fail(s, "an event of the stream is above %zu MiB", SSE_EVENT_LIMIT >> 20);
	return result;
}

void
stream_body(struct stream *s, const char *bytes, size_t len)
{
	const size_t mark = text_byte_order_mark(bytes, len);
	struct span body = span_of(bytes + mark, len - mark), error;
	size_t bad;

	s->bytes = len;
	if (scan_check(body.at, body.len, &bad) != NULL) {
		stream_fail(s, "the answer is no JSON: byte %zu", bad + 1);
		return;
	}
	error = failure_find(body);
	if (error.at != NULL)
		stream_refused(s, error);
	else
		s->api->body(s, body);
	told_cost_take(&s->message.usage, body, s->cost);
}

void
stream_finish(struct stream *s)
{
	size_t bad, mark;

	s->over = true;
	if (!s->failed && !s->message.ended && sse_finish(&s->sse) != 0 && !s->failed)
		stream_fail(s, "the last event of the stream cannot be read");
	mark = text_byte_order_mark(buffer_string(&s->whole), s->whole.len);
	if (!s->failed && s->events == 0 && s->whole.len > 0 &&
	    scan_check(s->whole.data + mark, s->whole.len - mark, &bad) == NULL)
		stream_body(s, s->whole.data, s->whole.len);
	if (!s->failed)
		s->api->finish(s);
}

size_t
stream_memory(const struct stream *s)
{
	size_t bytes = s->sse.line.capacity + s->sse.data.capacity + s->whole.capacity;

	for (size_t i = 0; i < s->message.count; i++)
		bytes += s->message.blocks[i].text.capacity;
	return bytes;
}

void
stream_close(struct stream *s)
{
	sse_free(&s->sse);
	message_free(&s->message);
	message_free(&s->draft);
	map_free(&s->items);
	joined_free(&s->kept);
	for (size_t i = 0; i < DELTA_KINDS; i++)
		buffer_free(&s->held[i]);
	buffer_free(&s->calling);
	buffer_free(&s->strange);
	buffer_free(&s->whole);
}
