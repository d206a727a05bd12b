/*
 * The parser of server-sent events: however a stream is split, the same events
 * come out, and data never holds more than it was fed.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "net/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
collect(void *context, const char *event, const char *data, size_t len)
{
	struct buffer *out = context;

	buffer_append(out, event, strlen(event) + 1);
	buffer_append(out, data, len);
	buffer_byte(out, '\n');
	return 0;
}

static void
feed(const char *stream, size_t len, size_t piece, struct buffer *out)
{
	struct sse s;
	size_t at;

	sse_begin(&s, collect, out);
	for (at = 0; at < len; at += piece)
		assert(sse_feed(&s, stream + at, len - at < piece ? len - at : piece) == 0);
	sse_free(&s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer whole = BUFFER_INIT, pieces = BUFFER_INIT;
	const char *stream = (const char *)data + 1;

	if (size < 2)
		return 0;
	feed(stream, size - 1, size, &whole);
	feed(stream, size - 1, (size_t)data[0] % 16 + 1, &pieces);
	assert(whole.len == pieces.len);
	assert(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
	assert(whole.len <= 3 * size);
	buffer_free(&whole);
	buffer_free(&pieces);
	return 0;
}
