#include "unit.h"

#include "json/writer.h"

static void
writes_a_document(void **state)
{
	struct buffer out = BUFFER_INIT, json = BUFFER_INIT, empty = BUFFER_INIT;
	struct writer w;

	(void)state;
	buffer_text(&json, "[ 1 ]");
	buffer_text(&out, "x=");
	writer_begin(&w, &out);
	writer_object(&w);
	writer_member_string(&w, "s", "v");
	writer_member_string(&w, "absent", NULL);
	writer_member_integer(&w, "i", INT64_MIN);
	writer_member_bool(&w, "t", true);
	writer_member_bool(&w, "f", false);
	writer_member_span(&w, "raw", span_of("1.50", 4));
	writer_member_span(&w, "absent", span_of(NULL, 0));
	writer_member_buffer(&w, "b", &json);
	writer_member_buffer(&w, "absent", &empty);
	writer_member_buffer(&w, "absent", NULL);
	writer_key(&w, "a");
	writer_array(&w);
	writer_array(&w);
	writer_array_end(&w);
	writer_object(&w);
	writer_object_end(&w);
	writer_string(&w, NULL);
	writer_string(&w, "");
	writer_null(&w);
	writer_integer(&w, -7);
	writer_bool(&w, true);
	writer_raw(&w, "{}", 2);
	writer_raw(&w, NULL, 0);
	writer_raw(&w, "", 0);
	writer_span(&w, span_of(NULL, 0));
	writer_array_end(&w);
	writer_key(&w, "last");
	writer_null(&w);
	writer_object_end(&w);
	assert_string_equal(out.data,
	    "x={\"s\":\"v\",\"i\":-9223372036854775808,\"t\":true,\"f\":false,\"raw\":1.50,"
	    "\"b\":[ 1 ],\"a\":[[],{},null,\"\",null,-7,true,{},null,null,null],\"last\":null}");
	buffer_free(&out);
	buffer_free(&json);
}

static void
quotes_no_more_than_needed(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *token;
	} rows[] = {
		{"", 0, "\"\""},
		{NULL, 0, "\"\""},
		{"plain / text", 12, "\"plain / text\""},
		{"\"\\", 2, "\"\\\"\\\\\""},
		{"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
		{"\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\""},
		{"Gr\xc3\xb6\xc3\x9f" "e", 7, "\"Größe\""},
		{"\xf0\x9f\x98\x80\xe2\x80\xa8", 7, "\"😀\xe2\x80\xa8\""},
		{"\xff", 1, "\"\xef\xbf\xbd\""},
		{"a\xc3", 2, "\"a\xef\xbf\xbd\""},
		{"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"0123456789abcdef0123456789abcde\"", 32, "\"0123456789abcdef0123456789abcde\\\"\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;
		size_t bad;

		json_quote(&out, rows[i].bytes, rows[i].len);
		assert_string_equal(out.data, rows[i].token);
		assert_null(scan_check(out.data, out.len, &bad));
		buffer_free(&out);
	}
}

/* Every byte and every pair of ASCII comes back from the scanner. */
static void
comes_back(void **state)
{
	(void)state;
	for (int a = 0; a < 128; a++) {
		for (int b = 0; b < 128; b++) {
			char bytes[] = {(char)a, 'x', (char)b};
			struct buffer token = BUFFER_INIT, back = BUFFER_INIT;

			json_quote(&token, bytes, sizeof bytes);
			span_decode(span_of(token.data, token.len), &back);
			assert_int_equal(back.len, sizeof bytes);
			assert_memory_equal(back.data, bytes, sizeof bytes);
			buffer_free(&token);
			buffer_free(&back);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_a_document),
		cmocka_unit_test(quotes_no_more_than_needed),
		cmocka_unit_test(comes_back),
	};

	return cmocka_run_group_tests_name("json/writer", tests, NULL, NULL);
}
