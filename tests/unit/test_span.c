/* Looking into values. */
#include "unit.h"

#include <limits.h>
#include <stdlib.h>

#include "json/scan.h"

static struct span
text(const char *json)
{
	return span_of(json, strlen(json));
}

static void
assert_span(struct span have, const char *want)
{
	if (!want) {
		assert_null(have.at);
		return;
	}
	assert_non_null(have.at);
	assert_int_equal(have.len, strlen(want));
	assert_memory_equal(have.at, want, have.len);
}

static void
types(void **state)
{
	static const struct {
		const char *json;
		char type;
	} rows[] = {
		{"{}", 'o'}, {" [1]", 'a'}, {"\"x\"", 's'}, {"-1", 'n'}, {"0", 'n'}, {"9", 'n'},
		{"true", 't'}, {"false", 'f'}, {"\nnull", '0'}, {"", 0}, {"  ", 0}, {"x", 0}, {"}", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(span_type(text(rows[i].json)), rows[i].type);
	assert_int_equal(span_type(span_of(NULL, 0)), 0);
	assert_span(span_trim(text(" \t\r\n a b \n")), "a b");
	assert_span(span_trim(text(" ")), "");
}

static void
same_bytes(void **state)
{
	static const struct {
		const char *one, *other;
		bool same;
	} rows[] = {
		{"{\"a\":1}", "{\"a\":1}", true}, {"{\"a\":1}", "{\"a\": 1}", false}, {"\"a\"", "\"\\u0061\"", false},
		{"1", "10", false}, {"10", "1", false}, {"", "", true}, {"", "0", false}, {"1.0", "1.1", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(span_same(text(rows[i].one), text(rows[i].other)), rows[i].same);
	assert_true(span_same(span_of(NULL, 0), text("")));
	assert_true(span_same(text(""), span_of(NULL, 0)));
	assert_false(span_same(span_of(NULL, 0), text("null")));
}

static const char document[] =
    " { \"a\" : 1 , \"b\":{\"c\":[10,\"x\",{\"d\":null}, [ ]],\"\":true}, \"a/b\":2,"
    "\"m~n\":3,\"\\u006bey\":\"v\",\"twice\":1,\"twice\":2,\"q\\\"k\":4,\"s\":\"}{\\\"][\"} ";

static void
members(void **state)
{
	static const struct {
		const char *key, *value;
	} rows[] = {
		{"a", "1"}, {"key", "\"v\""}, {"twice", "2"}, {"q\"k", "4"}, {"s", "\"}{\\\"][\""},
		{"c", NULL}, {"", NULL}, {"\\u006bey", NULL}, {"ab", NULL}, {"ke", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_span(span_member(text(document), rows[i].key), rows[i].value);
	assert_span(span_path(text(document), "b", "", NULL), "true");
	assert_span(span_path(text(document), "b", "x", "y", NULL), NULL);
	assert_span(span_path(text(document), "a", "x", NULL), NULL);
	assert_span(span_path(text("1"), NULL), "1");
	assert_span(span_member(text("[\"a\",1]"), "a"), NULL);
	assert_span(span_member(text("\"a\""), "a"), NULL);
	assert_span(span_member(span_of(NULL, 0), "a"), NULL);
}

/* In one walk it finds what it finds one by one; bytes that are no JSON, a NUL in a key, too. */
static void
members_at_once(void **state)
{
	static const char nul[] = "{\"a\0bcdefghijklmnopqrstuvwxyz\":1,\"a\":2}";
	static const char *const names[] = { "a", "key", "twice", "q\"k", "no", "" };
	struct span objects[] = { text(document), span_of(nul, sizeof nul - 1), text("[1]"), text("{\"a") };
	struct span values[COUNT(names)];

	(void)state;
	for (size_t i = 0; i < COUNT(objects); i++) {
		span_members(objects[i], names, COUNT(names), values);
		for (size_t n = 0; n < COUNT(names); n++) {
			struct span alone = span_member(objects[i], names[n]);

			assert_ptr_equal(values[n].at, alone.at);
			assert_int_equal(values[n].len, alone.len);
		}
	}
	span_members(objects[1], names, 1, values);
	assert_span(values[0], "2");
}

static void
elements(void **state)
{
	struct span list = span_path(text(document), "b", "c", NULL);

	(void)state;
	assert_span(span_element(list, 0), "10");
	assert_span(span_element(list, 1), "\"x\"");
	assert_span(span_element(list, 2), "{\"d\":null}");
	assert_span(span_element(list, 3), "[ ]");
	assert_span(span_element(list, 4), NULL);
	assert_span(span_element(text("{\"a\":1}"), 0), NULL);
	assert_span(span_element(text("[]"), 0), NULL);
	assert_span(span_element(span_of(NULL, 0), 0), NULL);
}

static void
walks(void **state)
{
	static const char *const keys[] = {"\"a\"", "\"b c\"", "\"d\""};
	static const char *const values[] = {"1", "[1, 2]", "\"x\""};
	struct span_walk w = span_walk(text("{ \"a\" :1 ,\"b c\": [1, 2],\"d\":\"x\" }"));
	size_t i = 0;

	(void)state;
	for (; span_next(&w); i++) {
		assert_span(w.key, keys[i]);
		assert_span(w.value, values[i]);
	}
	assert_int_equal(i, 3);
	assert_null(w.key.at);
	assert_null(w.value.at);
	w = span_walk(text("[1,2]"));
	assert_true(span_next(&w));
	assert_null(w.key.at);
	assert_span(w.value, "1");
	w = span_walk(text("12"));
	assert_false(span_next(&w));
	w = span_walk(SPAN_NONE);
	assert_false(span_next(&w));
}

static void
strings(void **state)
{
	static const struct {
		const char *token, *decoded;
		size_t len;
	} rows[] = {
		{"\"\"", "", 0},
		{" \"plain\" ", "plain", 5},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
		{"\"\\u00e9\\u20AC\\uD83D\\uDE00\"", "é€😀", 9},
		{"\"a\\u0000b\"", "a\0b", 3},
		{"\"\\ud83d\"", "\xef\xbf\xbd", 3},
		{"\"\\ude00x\"", "\xef\xbf\xbdx", 4},
		{"\"\\ud83d\\ud83d\\ude00\"", "\xef\xbf\xbd😀", 7},
		{"\"\\ud83d\\n\"", "\xef\xbf\xbd\n", 4},
		{"\"é\"", "é", 2},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;
		char *copy = span_text(text(rows[i].token));

		buffer_text(&out, ">");
		span_decode(text(rows[i].token), &out);
		assert_int_equal(out.len, rows[i].len + 1);
		assert_memory_equal(out.data + 1, rows[i].decoded, rows[i].len);
		assert_string_equal(copy, rows[i].decoded);
		if (strlen(rows[i].decoded) == rows[i].len)
			assert_true(span_is(text(rows[i].token), rows[i].decoded));
		assert_false(span_is(text(rows[i].token), "something else"));
		free(copy);
		buffer_free(&out);
	}
}

static void
no_strings(void **state)
{
	static const char *const rows[] = {"", "1", "null", "\"", "\"a", "a\"", "[\"a\"]"};
	struct buffer out = BUFFER_INIT;
	char copy[8];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		span_decode(text(rows[i]), &out);
		assert_int_equal(out.len, 0);
		assert_null(span_text(text(rows[i])));
		assert_false(span_copy(text(rows[i]), copy, sizeof copy));
		assert_false(span_is(text(rows[i]), "a"));
	}
	assert_null(span_text(span_of(NULL, 0)));
	buffer_free(&out);
}

static void
copies(void **state)
{
	char copy[5];

	(void)state;
	assert_true(span_copy(text(" \"abcd\""), copy, sizeof copy));
	assert_string_equal(copy, "abcd");
	assert_true(span_copy(text("\"\""), copy, sizeof copy));
	assert_string_equal(copy, "");
	assert_false(span_copy(text("\"abcde\""), copy, sizeof copy));
	assert_false(span_copy(text("\"a\\n\""), copy, sizeof copy));
	assert_false(span_copy(text("\"\""), copy, 0));
}

static void
integers(void **state)
{
	static const struct {
		const char *token;
		bool is;
		long long value;
	} rows[] = {
		{"0", true, 0}, {"-0", true, 0}, {" 42 ", true, 42}, {"-7", true, -7},
		{"9223372036854775807", true, LLONG_MAX}, {"-9223372036854775808", true, LLONG_MIN},
		{"9223372036854775808", false, 0}, {"-9223372036854775809", false, 0},
		{"99999999999999999999999", false, 0}, {"1.0", false, 0}, {"1e2", false, 0},
		{"", false, 0}, {"-", false, 0}, {"\"1\"", false, 0}, {"null", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		long long value = 0;

		if (span_integer(text(rows[i].token), &value) != rows[i].is || value != rows[i].value)
			fail_msg("%s: %lld", rows[i].token, value);
	}
	assert_true(span_true(text(" true ")));
	assert_false(span_true(text("false")));
	assert_false(span_true(text("\"true\"")));
	assert_false(span_true(span_of(NULL, 0)));
}

/* RFC 6901, section 5, and what points nowhere. */
static void
pointers(void **state)
{
	static const char json[] = "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,"
	    "\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8,\"01\":9}";
	static const struct {
		const char *pointer, *value;
	} rows[] = {
		{"/foo", "[\"bar\",\"baz\"]"}, {"/foo/0", "\"bar\""}, {"/foo/1", "\"baz\""}, {"/", "0"},
		{"/a~1b", "1"}, {"/c%d", "2"}, {"/e^f", "3"}, {"/g|h", "4"}, {"/i\\j", "5"},
		{"/k\"l", "6"}, {"/ ", "7"}, {"/m~0n", "8"}, {"/01", "9"},
		{"/foo/2", NULL}, {"/foo/-", NULL}, {"/foo/01", NULL}, {"/foo/", NULL}, {"/foo/0/x", NULL},
		{"/foo/99999999999999999999", NULL}, {"/bar", NULL}, {"foo", NULL}, {"/m~n", "8"},
	};
	struct buffer pointer = BUFFER_INIT;

	(void)state;
	assert_span(pointer_find(text(json), ""), json);
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_span(pointer_find(text(json), rows[i].pointer), rows[i].value);
	pointer_append(&pointer, text("\"a\\/b\""));
	pointer_append(&pointer, text("\"m~n\\u00e9\""));
	pointer_append(&pointer, text("\"\""));
	assert_string_equal(pointer.data, "/a~1b/m~0né/");
	buffer_free(&pointer);
}

/* Anything may be asked of bytes that are no JSON, cut at any place. */
static void
nonsense_is_harmless(void **state)
{
	static const char *const rows[] = {
		"{\"a\":1,,\"b\":}", "{\"a\" \"b\"}", "{\"a\":\"\\", "[[[", "]]]", "{\"\\u12\":\"\\u", "[1 2 3]",
		"{:1}", "\"\\ud800\\u\"", "{\"a\":]}", ",", ":", "\\", "[\"\\\"]", document,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (size_t len = 0; len <= strlen(rows[i]); len++) {
			char *bytes = malloc(len ? len : 1);
			struct buffer out = BUFFER_INIT;
			struct span s;
			long long number;
			size_t steps = 0;

			assert_non_null(bytes);
			memcpy(bytes, rows[i], len);
			s = span_of(bytes, len);
			for (struct span_walk member = span_walk(s); span_next(&member);) {
				span_decode(member.key, &out);
				span_decode(member.value, &out);
				assert_true(++steps <= len);
			}
			span_decode(s, &out);
			scan_minify(s, &out);
			span_integer(s, &number);
			span_member(s, "nowhere");
			pointer_find(s, "/a/0");
			buffer_free(&out);
			free(bytes);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types),
		cmocka_unit_test(same_bytes),
		cmocka_unit_test(members),
		cmocka_unit_test(members_at_once),
		cmocka_unit_test(elements),
		cmocka_unit_test(walks),
		cmocka_unit_test(strings),
		cmocka_unit_test(no_strings),
		cmocka_unit_test(copies),
		cmocka_unit_test(integers),
		cmocka_unit_test(pointers),
		cmocka_unit_test(nonsense_is_harmless),
	};

	return cmocka_run_group_tests_name("json/span", tests, NULL, NULL);
}
