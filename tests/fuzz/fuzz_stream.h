/*
 * The body of the fuzz targets of model APIs, which include the API's file before
 * it. Any lines of JSON as the events of a stream: what comes of them is an answer
 * that awf-step can read, and that can be sent back.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "json/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A provider that nobody listens to: all that is asked of it is whether to stream. */
static max_align_t nobody[1024];

static void
feed(struct stream *s, const char *at, size_t size)
{
	const char *end = at + size, *stop;
	size_t bad;

	for (; at < end && !s->failed && !s->message.ended; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		if (stop == NULL)
			stop = end;
		s->events++;
		if (scan_check(at, (size_t)(stop - at), &bad) == NULL)
			take_event(s, span_of(at, (size_t)(stop - at)));
	}
}

static void
check(const struct buffer *json)
{
	size_t bad;

	assert(scan_within(json->data, json->len, SCAN_LINE_DEPTH, &bad) == NULL);
}

/* Sends the answer's blocks back, as the next request of a conversation does. */
static void
send_back(struct stream *s, struct span answer)
{
	static struct provider_request request;
	struct buffer messages = BUFFER_INIT, body = BUFFER_INIT;
	struct span blocks = span_member(answer, "blocks");
	struct writer w;

	buffer_text(&messages, "[{\"role\":\"assistant\",\"blocks\":");
	buffer_append(&messages, blocks.at, blocks.len);
	buffer_text(&messages, "},{\"role\":\"user\",\"blocks\":");
	buffer_append(&messages, blocks.at, blocks.len);
	buffer_text(&messages, "}]");
	request.model = span_of("\"m\"", 3);
	request.messages = span_of(messages.data, messages.len);
	s->request = &request;
	s->base = "http://localhost";
	writer_begin(&w, &body);
	write_body(s, &w);
	check(&body);
	buffer_free(&body);
	buffer_free(&messages);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct provider_request nothing;
	struct stream s = { .provider = (struct provider *)(void *)nobody, .request = &nothing };
	struct buffer answer = BUFFER_INIT;
	struct writer w;

	message_begin(&s.message);
	message_begin(&s.draft);
	feed(&s, (const char *)data, size);
	finish(&s);
	writer_begin(&w, &answer);
	writer_object(&w);
	message_write(&s.message, &w);
	writer_object_end(&w);
	check(&answer);
	send_back(&s, span_of(answer.data, answer.len));
	message_free(&s.message);
	message_free(&s.draft);
	buffer_free(&answer);
	return 0;
}
