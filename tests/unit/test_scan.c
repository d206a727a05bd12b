/* Checking, framing and minifying of JSON as bytes. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "json/scan.h"

static const char *const valid[] = {
	"null", "true", "false", "0", "-0", "-1", "12", "1.5", "-0.1e10", "1E+2", "1e-2", "0e0",
	"123456789012345678901234567890", "1e999",
	"\"\"", "\"a\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\"",
	"\"\\u0000\"", "\"\x7f\"", "\"Gr\xc3\xb6\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\"",
	"{}", "[]", "{ }", "[ ]", "[[]]", "[{}]", "{\"a\":{}}", "[1,2,3]", "{\"a\":1,\"a\":2}",
	" \t\r\n{ \"a\" : [ 1 , null , \"x\" ] , \"b\" : { } } \n",
	"[\"0123456789abcdef0123456789abcdef\",\"\\\"0123456789abcde\"]",
	"[true,false,null,-1.5e3]", "\"[{]},:\"",
};

/* What is wrong, and at which byte. */
static const struct {
	const char *text, *wrong;
	size_t bad;
} invalid[] = {
	{"", "ends too early", 0},
	{"  ", "ends too early", 2},
	{"x", "expected a value", 0},
	{"tru", "expected a value", 0},
	{"truex", "expected a value", 4},
	{"nul1", "expected a value", 0},
	{"True", "expected a value", 0},
	{"NaN", "expected a value", 0},
	{"'a'", "expected a value", 0},
	{"+1", "expected a value", 0},
	{".5", "expected a value", 0},
	{"-", "ends too early", 1},
	{"-x", "invalid number", 1},
	{"01", "invalid number", 1},
	{"-01", "invalid number", 2},
	{"1.", "ends too early", 2},
	{"1.x", "invalid number", 2},
	{"1e", "ends too early", 2},
	{"1e+", "ends too early", 3},
	{"[1e+]", "invalid number", 4},
	{"0x10", "invalid number", 1},
	{"1a", "invalid number", 1},
	{"1-2", "invalid number", 1},
	{"\"", "unterminated string", 1},
	{"\"abc", "unterminated string", 4},
	{"\"0123456789abcdef", "unterminated string", 17},
	{"\"\\\"", "unterminated string", 3},
	{"\"\\", "ends too early", 2},
	{"\"\\x\"", "invalid escape", 2},
	{"\"\\u12\"", "invalid escape", 5},
	{"\"\\u12", "ends too early", 5},
	{"\"\\uD83g\"", "invalid escape", 6},
	{"\"\\ud800\"", "half of a surrogate pair", 1},
	{"\"a\\udc00\"", "half of a surrogate pair", 2},
	{"\"\\ud83d\\u0041\"", "half of a surrogate pair", 1},
	{"\"\\ud83d\\n\"", "half of a surrogate pair", 1},
	{"\"\\ud83d\\ud83d\\ude00\"", "half of a surrogate pair", 1},
	{"\"\\ud83d\\uD\"", "invalid escape", 10},
	{"\"\\ud83d", "half of a surrogate pair", 1},
	{"\"a\nb\"", "control character in a string", 2},
	{"\"a\x1f\"", "control character in a string", 2},
	{"\"\xff\"", "invalid UTF-8", 1},
	{"\"\xc3\"", "invalid UTF-8", 1},
	{"\"\xed\xa0\x80\"", "invalid UTF-8", 1},
	{"\"\xc3\xa4\xc0\x80\"", "invalid UTF-8", 3},
	{"\xef\xbb\xbf{}", "expected a value", 0},
	{"[", "ends too early", 1},
	{"[1", "ends too early", 2},
	{"[1 2]", "expected ',' or ']'", 3},
	{"[1}", "expected ',' or ']'", 2},
	{"[1,]", "expected a value", 3},
	{"[,1]", "expected a value", 1},
	{"{", "ends too early", 1},
	{"{1:2}", "expected a key in double quotes", 1},
	{"{a:2}", "expected a key in double quotes", 1},
	{"{\"a\"}", "expected ':'", 4},
	{"{\"a\":}", "expected a value", 5},
	{"{\"a\":1]", "expected ',' or '}'", 6},
	{"{\"a\":1,}", "expected a key in double quotes", 7},
	{"{\"a\" 1}", "expected ':'", 5},
	{"{}{}", "something follows the value", 2},
	{"1 2", "something follows the value", 2},
	{"[] x", "something follows the value", 3},
	{"]", "expected a value", 0},
};

/* In memory of its own size, so that a read beyond it is noticed. */
static char *
exact(const char *text, size_t len)
{
	char *copy = memory_alloc(len);

	memcpy(copy, text, len);
	return copy;
}

static void
accepts(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(valid); i++) {
		size_t len = strlen(valid[i]), bad;
		char *text = exact(valid[i], len);
		const char *wrong = scan_check(text, len, &bad);

		if (wrong)
			fail_msg("%s: %s at %zu", valid[i], wrong, bad);
		free(text);
	}
}

static void
refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(invalid); i++) {
		size_t len = strlen(invalid[i].text), bad = 999;
		char *text = exact(invalid[i].text, len);
		const char *wrong = scan_check(text, len, &bad);

		if (!wrong || strcmp(wrong, invalid[i].wrong) != 0 || bad != invalid[i].bad)
			fail_msg("%s: %s at %zu", invalid[i].text, wrong ? wrong : "accepted", bad);
		free(text);
	}
	assert_non_null(scan_check("{\"a\":1}\0", 8, &(size_t){0}));
	assert_non_null(scan_check("\"\0\"", 3, &(size_t){0}));
	assert_string_equal(scan_check(NULL, 0, &(size_t){0}), "ends too early");
}

/* A whole value may be cut anywhere but behind its end: never valid before it. */
static void
refuses_what_is_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(valid); i++) {
		const char type = span_type(span_of(valid[i], strlen(valid[i])));
		size_t end, bad;

		if (type == 'n')
			continue;
		assert_null(scan_value(valid[i], strlen(valid[i]), SCAN_DEPTH, &end, &bad));
		for (size_t len = 0; len < end; len++) {
			char *text = exact(valid[i], len);

			if (!scan_check(text, len, &bad))
				fail_msg("%s cut to %zu", valid[i], len);
			assert_true(bad <= len);
			free(text);
		}
	}
}

/* Behind each member that is known to be right it finds what it finds from the start on. */
static void
checks_the_rest_of_an_object(void **state)
{
	static const char *const rests[] = {
		"}", " } ", ",\"c\":3}", ",\"c\":[{\"d\":\"\\n\"}]}", "", ",", ",}", "]", "}}", "},", "x}",
		"\"c\":3}", ",\"c\"}", ",\"c\":}", ",\"c\":[}", ",\"c\":[[]]}", ",\"c\":[[[]]]}", ",c:1}",
	};
	static const char begin[] = "{\"a\":\"x\",\"b\":[1]";
	const size_t known[] = { sizeof "{\"a\":\"x\"" - 1, sizeof begin - 1 };

	(void)state;
	for (size_t i = 0; i < COUNT(rests); i++) {
		char *text = memory_format("%s%s", begin, rests[i]);
		size_t len = strlen(text), bad = 0, found;
		const char *wrong = scan_within(text, len, 3, &bad);

		for (size_t k = 0; k < COUNT(known); k++) {
			const char *why = scan_object(text, len, known[k], 3, &found);

			if ((why == NULL) != (wrong == NULL) ||
			    (why != NULL && (strcmp(why, wrong) != 0 || found != bad)))
				fail_msg("%s: %s", text, why != NULL ? why : "valid");
		}
		free(text);
	}
}

static void
value_ends(void **state)
{
	static const struct {
		const char *text;
		size_t end;
	} rows[] = {
		{"{}{}", 2}, {" [1] [2]", 4}, {"\"a\"b", 3}, {"12 13", 2}, {"12,13", 2}, {"null\n", 4},
		{"1\"a\"", 1}, {"{}garbage", 2},
	};
	size_t end, bad;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_null(scan_value(rows[i].text, strlen(rows[i].text), SCAN_DEPTH, &end, &bad));
		assert_int_equal(end, rows[i].end);
	}
}

static char *
nested(size_t depth, const char *open, const char *close)
{
	struct buffer b = BUFFER_INIT;

	for (size_t i = 0; i < depth; i++)
		buffer_text(&b, open);
	buffer_text(&b, "1");
	for (size_t i = 0; i < depth; i++)
		buffer_text(&b, close);
	return buffer_take(&b);
}

static void
depth_has_a_limit(void **state)
{
	static const struct {
		const char *open, *close;
	} kinds[] = {{"[", "]"}, {"{\"a\":", "}"}, {"[{\"a\": ", "}]"}};

	(void)state;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		size_t deepest = i == 2 ? SCAN_DEPTH / 2 : SCAN_DEPTH, bad, used;
		char *fits = nested(deepest, kinds[i].open, kinds[i].close);
		char *over = nested(deepest + 1, kinds[i].open, kinds[i].close);
		struct framer f;

		assert_null(scan_check(fits, strlen(fits), &bad));
		assert_string_equal(scan_check(over, strlen(over), &bad), "nested too deep");
		assert_int_equal(bad, deepest * strlen(kinds[i].open));
		framer_begin(&f);
		assert_int_equal(framer_feed(&f, fits, strlen(fits), &used), FRAME_DONE);
		assert_null(scan_within(over, strlen(over), SCAN_DEPTH + 2, &bad));
		free(over);
		over = nested(SCAN_LINE_DEPTH + 1, kinds[i].open, kinds[i].close);
		framer_begin(&f);
		assert_int_equal(framer_feed(&f, over, strlen(over), &used), FRAME_TOO_DEEP);
		free(fits);
		free(over);
	}
}

/* Feeds text in pieces of step bytes: the bytes of the first value, or SIZE_MAX
 * if it did not end. */
static size_t
frame(const char *text, size_t len, size_t step)
{
	struct framer f;
	size_t at = 0, used;

	framer_begin(&f);
	while (at < len) {
		size_t n = len - at < step ? len - at : step;
		char *piece = exact(text + at, n);
		enum frame result = framer_feed(&f, piece, n, &used);

		free(piece);
		assert_true(result != FRAME_TOO_DEEP);
		at += used;
		if (result == FRAME_DONE)
			return at;
		assert_int_equal(used, n);
	}
	return f.started && f.scalar ? len : SIZE_MAX;
}

static void
frames_as_it_scans(void **state)
{
	static const char *const followers[] = {"", " ", "\n{}", " 1"};

	(void)state;
	for (size_t i = 0; i < COUNT(valid); i++) {
		for (size_t k = 0; k < COUNT(followers); k++) {
			char *text = memory_format("%s%s", valid[i], followers[k]);
			size_t len = strlen(text), end, bad;

			assert_null(scan_value(text, len, SCAN_DEPTH, &end, &bad));
			for (size_t step = 1; step <= len; step++)
				if (frame(text, len, step) != end)
					fail_msg("%s by %zu: %zu, not %zu", text, step,
					    frame(text, len, step), end);
			free(text);
		}
	}
}

static void
frame_waits_for_the_end(void **state)
{
	static const char *const open[] = {"", "  ", "{", "[1,{}", "\"a", "\"a\\\"", "{\"}\"", "[\"\\\\"};
	struct framer f;
	size_t used;

	(void)state;
	for (size_t i = 0; i < COUNT(open); i++)
		assert_true(frame(open[i], strlen(open[i]), 3) == SIZE_MAX);
	framer_begin(&f);
	assert_int_equal(framer_feed(&f, NULL, 0, &used), FRAME_MORE);
	assert_int_equal(used, 0);
	assert_int_equal(framer_feed(&f, "}]", 2, &used), FRAME_DONE);
	assert_int_equal(used, 1); /* never stands still, whatever comes */
}

static void
minifies(void **state)
{
	static const struct {
		const char *text, *minified;
	} rows[] = {
		{" 1 ", "1"},
		{"{ \"a\" : [ 1 , 2.50 , -0 ] }", "{\"a\":[1,2.50,-0]}"},
		{"{\"a b\" :\"c  d\\\" e\"}\n", "{\"a b\":\"c  d\\\" e\"}"},
		{"[\r\n\t1,\r\n\t\"\\\\\" ,2]", "[1,\"\\\\\",2]"},
		{"{\"a\":1}", "{\"a\":1}"},
		{"\"\\u00e9 \"", "\"\\u00e9 \""},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;

		buffer_text(&out, ">");
		scan_minify(span_of(rows[i].text, strlen(rows[i].text)), &out);
		assert_string_equal(buffer_string(&out) + 1, rows[i].minified);
		scan_minify(span_of(NULL, 0), &out);
		assert_string_equal(buffer_string(&out) + 1, rows[i].minified);
		buffer_free(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts),
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_what_is_cut),
		cmocka_unit_test(checks_the_rest_of_an_object),
		cmocka_unit_test(value_ends),
		cmocka_unit_test(depth_has_a_limit),
		cmocka_unit_test(frames_as_it_scans),
		cmocka_unit_test(frame_waits_for_the_end),
		cmocka_unit_test(minifies),
	};

	return cmocka_run_group_tests_name("json/scan", tests, NULL, NULL);
}
