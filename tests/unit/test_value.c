#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "json/value.h"

/* As an editor keeps its settings. */
static void
relaxed(void **state)
{
	static const struct {
		const char *text, *written; /* NULL: refused, */
		const char *place;          /* there */
	} rows[] = {
		{ "{// a\n\"a\": 1, /* b\n */ \"b\": [1, 2,],\n}", "{\"a\":1,\"b\":[1,2]}", NULL },
		{ "\xef\xbb\xbf{\"u\": \"http://x/* y */\", \"q\": \"\\\"//\"}", "{\"u\":\"http://x/* y */\",\"q\":\"\\\"//\"}", NULL },
		{ "[1, // the last\n]", "[1]", NULL },
		{ "[1,,]", NULL, "x:1" },
		{ "{}\n/* no end", NULL, "x:2" },
		{ "{\n\"a\": /", NULL, "x:2" },
		{ "", NULL, "x:1" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;
		struct error err = ERROR_INIT;
		struct buffer text = BUFFER_INIT;
		json_t *value;

		buffer_text(&text, rows[i].text);
		value = value_parse_relaxed(&text, "x", ERROR_SCHEMA, &err);
		buffer_free(&text);
		if (rows[i].written == NULL) {
			assert_null(value);
			assert_string_equal(err.place, rows[i].place);
			continue;
		}
		if (value == NULL)
			fail_msg("%s: %s", rows[i].text, err.message);
		value_write(value, &out);
		assert_string_equal(buffer_string(&out), rows[i].written);
		json_decref(value);
		buffer_free(&out);
	}
}

static void
parses_and_writes(void **state)
{
	static const struct {
		const char *json, *written;
	} rows[] = {
		{"{ \"z\" : 1, \"a\" : [true, null, \"x\"] }", "{\"z\":1,\"a\":[true,null,\"x\"]}"},
		{"\"a\\u0000b\"", "\"a\\u0000b\""},
		{" 12 ", "12"},
		{"9223372036854775807", "9223372036854775807"},
		{"-9223372036854775808", "-9223372036854775808"},
		{"[\"\\\"1\",18446744073709551616,-1e2]", "[\"\\\"1\",1.8446744073709552e+19,-100.0]"},
		{"[0.1,0.30000000000000004,1e-7]", "[0.1,0.30000000000000004,1e-07]"},
		{"\"é\"", "\"é\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;
		struct error err = ERROR_INIT;
		json_t *value = value_parse(rows[i].json, strlen(rows[i].json), "x", ERROR_SCHEMA, &err);

		if (!value)
			fail_msg("%s: %s", rows[i].json, err.message);
		buffer_text(&out, ">");
		value_write(value, &out);
		assert_string_equal(out.data + 1, rows[i].written);
		json_decref(value);
		buffer_free(&out);
	}
}

static void
refuses_by_line(void **state)
{
	static const struct {
		const char *json, *place, *message;
	} rows[] = {
		{"", "f.json:1", "no JSON: ends too early"},
		{"{\n\"a\": 1,\n}", "f.json:3", "no JSON: expected a key in double quotes"},
		{"{\"a\":1,\n\"a\":2}", "f.json:2", "duplicate object key near '\"a\"'"},
		{"[1e999]", "f.json:1", "real number overflow near '1e999'"},
		{"1 2", "f.json:1", "no JSON: something follows the value"},
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_null(value_parse(rows[i].json, strlen(rows[i].json), "f.json", ERROR_DEFINITION,
		    &err));
		assert_int_equal(err.code, ERROR_DEFINITION);
		assert_string_equal(err.place, rows[i].place);
		assert_string_equal(err.message, rows[i].message);
	}
	assert_null(value_parse("x", 1, NULL, ERROR_INVALID_INPUT, &err));
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	assert_string_equal(err.place, "line 1");
}

static void
loads_files(void **state)
{
	char path[] = "/tmp/awf-test-XXXXXX";
	int fd = mkstemp(path);
	struct error err;
	json_t *value;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "{\"a\":1}\n", 8), 8);
	value = value_load(path, ERROR_DEFINITION, &err);
	assert_non_null(value);
	assert_int_equal(json_integer_value(json_object_get(value, "a")), 1);
	json_decref(value);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_null(value_load(path, ERROR_DEFINITION, &err));
	assert_int_equal(err.code, ERROR_DEFINITION);
	assert_string_equal(err.place + strlen(path), ":2");
	assert_int_equal(ftruncate(fd, (17 << 20)), 0);
	assert_null(value_load(path, ERROR_DEFINITION, &err));
	assert_string_equal(err.message, "larger than 16777216 bytes");
	close(fd);
	unlink(path);
	assert_null(value_load(path, ERROR_DEFINITION, &err));
	assert_string_equal(err.message, "unable to open: No such file or directory");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_and_writes),
		cmocka_unit_test(relaxed),
		cmocka_unit_test(refuses_by_line),
		cmocka_unit_test(loads_files),
	};

	return cmocka_run_group_tests_name("json/value", tests, NULL, NULL);
}
