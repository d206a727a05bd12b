/*
 * The way of an answer: the bytes are server-sent events (net/sse.h); the data of each event is
 * JSON, which the API's table processes. An event {"error": …} is an error in all APIs, and is
 * recognized here.
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
#define BLOCKS_LIMIT 100000
#define CALLING_PAUSE_MS 50 /* between two deltas of tool calls */
#define DONE "[DONE]" /* the only event that is not JSON */

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
	failure_from_json(&s->failure, error, s->secret);
	s->refused = s->failed = true;
}

void
stream_end(struct stream *s, const struct end *ends, struct span word, struct span said)
{
	const char *reason = end_reason(ends, word, said, &s->failure.error);

	if (reason != NULL)
		s->message.stop_reason = reason;
	else
		s->failed = true;
}

void
stream_delta(const struct stream *s, const char *kind, const char *text, size_t len)
{
	if (s->delta != NULL && len > 0)
		s->delta(s->context, kind, text, len);
}

void
stream_text(struct stream *s, struct block *b, const char *kind, struct span text)
{
	size_t old = b->text.len;

	span_decode(text, &b->text);
	stream_delta(s, kind, buffer_string(&b->text) + old, b->text.len - old);
}

/* An input may be a whole file, in pieces of a few bytes, which are not needed one by one. */
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
	if (len == strlen(DONE) && memcmp(data, DONE, len) == 0) {
		s->message.ended = s->api->done_ends;
		return 0;
	}
	if (strcmp(name, "ping") != 0 && strcmp(name, "keepalive") != 0)
		s->progress++;
	why = scan_loosely(data, len, &bad);
	if (why != NULL) {
		stream_fail(s, "event %ld of the stream is not JSON: byte %zu: %s", s->events,
		    bad + 1, why);
		return s->failed;
	}
	told_cost_take(&s->message.usage, value, s->cost);
	/* An error of any API: {"error": …}, or an array with it. */
	error = span_member(failure_object(value), "error");
	if (span_type(error) == 'o' || span_type(error) == 's') {
		failure_take_request_id(&s->failure, value);
		stream_refused(s, error);
	} else {
		s->api->event(s, value);
	}
	INVARIANT((!s->refused || s->failed) && (!s->failed || s->failure.error.code != ERROR_NONE));
	if (s->message.count > BLOCKS_LIMIT)
		stream_fail(s, "the answer has more than %d blocks", BLOCKS_LIMIT);
	return s->failed;
}

void
stream_open(struct stream *s, const struct stream_api *api)
{
	*s = (struct stream){ .api = api };
	message_begin(&s->message);
	message_begin(&s->draft);
	sse_begin(&s->sse, on_event, s);
}

int
stream_feed(struct stream *s, const char *bytes, size_t len)
{
	int result;

	for (size_t i = 0; i < len && s->first == '\0'; i++)
		if (strchr(" \t\r\n", bytes[i]) == NULL)
			s->first = bytes[i];
	s->bytes += len;
	if (s->bytes > ANSWER_LIMIT) {
		stream_fail(s, "the answer is above %zu MiB", ANSWER_LIMIT >> 20);
		return -1;
	}
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
	error = span_member(failure_object(body), "error");
	if (span_type(error) == 'o' || span_type(error) == 's')
		stream_refused(s, error);
	else
		s->api->body(s, body);
	told_cost_take(&s->message.usage, body, s->cost);
}

void
stream_finish(struct stream *s)
{
	s->api->finish(s);
}

void
stream_close(struct stream *s)
{
	sse_free(&s->sse);
	message_free(&s->message);
	message_free(&s->draft);
	buffer_free(&s->calling);
}
