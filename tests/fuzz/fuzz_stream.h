/*
 * The body of the fuzz targets of model APIs, which include the provider's file before
 * it, and name the table of the API's answers and what writes a request. Any lines of JSON as the events of a stream: what comes of them is an answer
 * that awf-step can read, and that can be sent back.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../cmd/provider/foreign.h"
#include "json/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
			s->api->event(s, span_of(at, (size_t)(stop - at)));
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
send_back(struct span answer)
{
	static const char text[] = "{\"protocol\":\"chat\",\"base_url\":\"http://localhost\"}";
	static const struct foreign foreign = { .own = "p/m", .echoes = true, .ids = "[a-zA-Z0-9_-]{1,64}" };
	static struct provider_request request;
	static struct endpoint *endpoint;
	struct bound bound;
	const struct exchange x = { .request = &request, .base = "http://localhost", .model = "m",
		.endpoint = endpoint, .bound = &bound };
	struct buffer messages = BUFFER_INIT, fitted = BUFFER_INIT, body = BUFFER_INIT;
	struct span blocks = span_member(answer, "blocks");
	struct error err;
	struct writer w;

	if (endpoint == NULL) {
		assert(endpoint_given(&endpoint, "fuzz", text, &err) == 0);
		send_back(answer);
		return;
	}

	buffer_text(&messages, "[{\"role\":\"assistant\",\"blocks\":");
	buffer_append(&messages, blocks.at, blocks.len);
	buffer_text(&messages, "},{\"role\":\"user\",\"blocks\":");
	buffer_append(&messages, blocks.at, blocks.len);
	buffer_text(&messages, "},{\"role\":\"assistant\",\"from\":\"p/other\",\"blocks\":");
	buffer_append(&messages, blocks.at, blocks.len);
	buffer_text(&messages, "}]");
	request.model = span_of("\"m\"", 3);
	request.messages = span_of(messages.data, messages.len);
	if (foreign_write(&foreign, request.messages, &fitted)) {
		check(&fitted);
		request.messages = span_of(fitted.data, fitted.len);
	}
	writer_begin(&w, &body);
	WRITE_BODY(&x, &w);
	check(&body);
	buffer_free(&body);
	buffer_free(&fitted);
	buffer_free(&messages);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stream s;
	struct buffer answer = BUFFER_INIT;
	struct writer w;

	stream_open(&s, &STREAM);
	feed(&s, (const char *)data, size);
	stream_finish(&s);
	writer_begin(&w, &answer);
	writer_object(&w);
	message_write(&s.message, &w);
	writer_object_end(&w);
	check(&answer);
	send_back(span_of(answer.data, answer.len));
	stream_close(&s);
	buffer_free(&answer);
	return 0;
}
