/* Server-sent events: what a stream means, however its bytes are split. */
#include "unit.h"

#include "base/buffer.h"
#include "net/sse.h"

/* Each event comes out as "[name|data]". */
static const struct {
	const char *about, *stream, *events;
} cases[] = {
	{ "one event", "data: a\n\n", "[|a]" },
	{ "a name", "event: ping\ndata: {}\n\n", "[ping|{}]" },
	{ "the name counts for one event", "event: x\ndata: 1\n\ndata: 2\n\n", "[x|1][|2]" },
	{ "the last name counts", "event: x\nevent: y\ndata: 1\n\n", "[y|1]" },
	{ "lines of data are joined", "data: a\ndata: b\n\n", "[|a\nb]" },
	{ "no space after the colon", "data:a\n\n", "[|a]" },
	{ "one space goes, not two", "data:  a \n\n", "[| a ]" },
	{ "empty data is data", "data:\n\n", "[|]" },
	{ "a field without a colon", "data\ndata\n\n", "[|\n]" },
	{ "no data, no event", "event: x\n\ndata: 1\n\n", "[|1]" },
	{ "comments", ": hello\ndata: 1\n:\n\n", "[|1]" },
	{ "id, retry and others", "id: 7\nretry: 10\ndatum: x\ndata: 1\n\n", "[|1]" },
	{ "CR", "data: a\rdata: b\r\rdata: c\r\r", "[|a\nb][|c]" },
	{ "CRLF", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", "[|a\nb][|c]" },
	{ "a mixture", "data: a\r\ndata: b\n\rdata: c\r\n\n", "[|a\nb][|c]" },
	{ "a BOM", "\xef\xbb\xbf" "data: a\n\n", "[|a]" },
	{ "a BOM alone on its line", "\xef\xbb\xbf\ndata: a\n\n", "[|a]" },
	{ "no second BOM", "data: a\n\n\xef\xbb\xbf" "data: b\n\n", "[|a]" },
	{ "several empty lines", "\n\n\ndata: a\n\n\n\ndata: b\n\n", "[|a][|b]" },
	{ "a cut event is none", "data: a\n\ndata: b\n", "[|a]" },
	{ "a cut line is none", "data: a\n\ndata: b", "[|a]" },
	{ "colons in data", "data: a: b\n\n", "[|a: b]" },
	{ "UTF-8", "data: \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n\n", "[|\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80]" },
	{ "nothing", "", "" }
};

static int
collect(void *context, const char *event, const char *data, size_t len)
{
	struct buffer *out = context;

	buffer_format(out, "[%s|", event);
	buffer_append(out, data, len);
	buffer_byte(out, ']');
	return 0;
}

/* Feeds a stream in pieces of one size. */
static void
feed(const char *stream, size_t piece, struct buffer *out)
{
	size_t len = strlen(stream), at;
	struct sse s;

	sse_begin(&s, collect, out);
	for (at = 0; at < len; at += piece)
		assert_int_equal(sse_feed(&s, stream + at, len - at < piece ? len - at : piece), 0);
	sse_free(&s);
}

static void
test_all_sizes(void **state)
{
	size_t i, piece;

	(void)state;
	for (i = 0; i < COUNT(cases); i++) {
		for (piece = 1; piece <= strlen(cases[i].stream) + 1; piece++) {
			struct buffer out = BUFFER_INIT;

			feed(cases[i].stream, piece, &out);
			if (!buffer_equal(&out, cases[i].events))
				fail_msg("%s, in pieces of %zu: %s", cases[i].about, piece,
				    buffer_string(&out));
			buffer_free(&out);
		}
	}
}

/* Every place where a stream can be cut in two. */
static void
test_all_cuts(void **state)
{
	size_t i, cut, len;
	struct sse s;

	(void)state;
	for (i = 0; i < COUNT(cases); i++) {
		len = strlen(cases[i].stream);
		for (cut = 0; cut <= len; cut++) {
			struct buffer out = BUFFER_INIT;

			sse_begin(&s, collect, &out);
			sse_feed(&s, cases[i].stream, cut);
			sse_feed(&s, cases[i].stream + cut, len - cut);
			sse_free(&s);
			if (!buffer_equal(&out, cases[i].events))
				fail_msg("%s, cut at %zu: %s", cases[i].about, cut, buffer_string(&out));
			buffer_free(&out);
		}
	}
}

/* What whoever asks again has to know, and what a cut leaves behind. */
static void
test_again(void **state)
{
	static const char first[] = "id: a\nretry: 1500\ndata: 1\n\nid: b\nretry: x\ndata: 2\n\ndata: lost",
	    rest[] = "data: 3\n\nid: \ndata: 4\n\n";
	struct buffer out = BUFFER_INIT;
	struct sse s;

	(void)state;
	sse_begin(&s, collect, &out);
	assert_int_equal(sse_feed(&s, first, sizeof first - 1), 0);
	assert_true(buffer_equal(&s.id, "b"));
	assert_int_equal(s.retry_ms, 1500);
	sse_again(&s);
	assert_true(buffer_equal(&s.id, "b"));
	assert_int_equal(sse_feed(&s, rest, sizeof rest - 1), 0);
	assert_string_equal(buffer_string(&out), "[|1][|2][|3][|4]");
	assert_int_equal(s.id.len, 0);
	sse_free(&s);
	buffer_free(&out);
}

static int
stop_at_second(void *context, const char *event, const char *data, size_t len)
{
	int *count = context;

	(void)event;
	(void)data;
	(void)len;
	return ++*count == 2 ? 7 : 0;
}

static void
test_stop(void **state)
{
	static const char stream[] = "data: 1\n\ndata: 2\n\ndata: 3\n\n";
	struct sse s;
	int count = 0;

	(void)state;
	sse_begin(&s, stop_at_second, &count);
	assert_int_equal(sse_feed(&s, stream, sizeof stream - 1), 7);
	assert_int_equal(count, 2);
	sse_free(&s);
}

/* Feeds len bytes of line, in pieces, until sse_feed() refuses. */
static int
feed_much(struct sse *s, const char *piece, size_t len, size_t total)
{
	size_t sent;
	int result = 0;

	for (sent = 0; sent < total && result == 0; sent += len)
		result = sse_feed(s, piece, len);
	return result;
}

static void
test_long_line(void **state)
{
	static char piece[1 << 20];
	struct buffer out = BUFFER_INIT;
	struct sse s;

	(void)state;
	memset(piece, 'x', sizeof piece);
	sse_begin(&s, collect, &out);
	assert_int_equal(sse_feed(&s, "data: ", 6), 0);
	assert_int_equal(feed_much(&s, piece, sizeof piece, SSE_EVENT_LIMIT), 0);
	assert_int_equal(feed_much(&s, piece, sizeof piece, SSE_EVENT_LIMIT), -1);
	assert_int_equal(sse_feed(&s, "\n\ndata: 1\n\n", 11), -1);
	assert_int_equal(out.len, 0);
	sse_free(&s);
	buffer_free(&out);
}

static void
test_many_lines(void **state)
{
	static char line[1 << 20];
	struct buffer out = BUFFER_INIT;
	struct sse s;

	(void)state;
	memset(line, 'x', sizeof line);
	memcpy(line, "data: ", 6);
	line[sizeof line - 1] = '\n';
	sse_begin(&s, collect, &out);
	assert_int_equal(feed_much(&s, line, sizeof line, 2 * SSE_EVENT_LIMIT), -1);
	assert_int_equal(out.len, 0);
	sse_free(&s);
	buffer_free(&out);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_sizes),
		cmocka_unit_test(test_all_cuts),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_many_lines),
		cmocka_unit_test(test_again)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
