/* What a message of JSON-RPC is, and our own lines. */
#include "unit.h"

#include <stdlib.h>

#include "json/jsonrpc.h"

static void
kinds(void **state)
{
	static const struct {
		const char *message;
		enum jsonrpc_kind kind;
		const char *id, *result;
	} table[] = {
		{ "{\"id\":1,\"method\":\"m\",\"params\":{}}", JSONRPC_REQUEST, "1", NULL },
		{ "{\"id\":null,\"method\":\"m\"}", JSONRPC_REQUEST, "null", NULL },
		{ "{\"method\":\"m\"}", JSONRPC_NOTIFICATION, NULL, NULL },
		{ "{\"\\u0069d\":\"a\",\"result\":{\"id\":2,\"method\":\"m\"}}", JSONRPC_RESPONSE, "\"a\"",
		    "{\"id\":2,\"method\":\"m\"}" },
		{ "{\"id\":3,\"method\":null,\"result\":[]}", JSONRPC_RESPONSE, "3", "[]" },
		{ "{}", JSONRPC_RESPONSE, NULL, NULL },
		{ "[{\"id\":1,\"method\":\"m\"}]", JSONRPC_RESPONSE, NULL, NULL },
		{ "\"id\"", JSONRPC_RESPONSE, NULL, NULL },
		{ "", JSONRPC_RESPONSE, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct jsonrpc m = jsonrpc_read(span_of(table[i].message, strlen(table[i].message)));
		const struct { struct span have; const char *want; } members[] = {
			{ m.id, table[i].id }, { m.result, table[i].result } };

		assert_int_equal(m.kind, table[i].kind);
		for (size_t k = 0; k < 2; k++) {
			assert_int_equal(members[k].have.at != NULL, members[k].want != NULL);
			if (members[k].want == NULL)
				continue;
			assert_int_equal(members[k].have.len, strlen(members[k].want));
			assert_memory_equal(members[k].have.at, members[k].want, members[k].have.len);
		}
	}
}

static void
halves(void **state)
{
	static const struct { const char *value, *mended, *wrong; } table[] = {
		{ "[\"\\ud83d\\ude00\"]", "[\"\\ud83d\\ude00\"]", NULL },
		{ "[\"a\\ud83d\"]", "[\"a\\ufffd\"]", NULL },
		{ "[\"\\uDE00\\ud83d\\u0041\\ud83d\\ud83d\\ude00\"]",
		    "[\"\\ufffd\\ufffd\\u0041\\ufffd\\ud83d\\ude00\"]", NULL },
		{ "[\"\\\\ud83d\\ud83d\\n\"]", "[\"\\\\ud83d\\ufffd\\n\"]", NULL },
		{ "[\"\\ud83d\",]", "[\"\\ufffd\",]", "expected a value" },
		{ "[\"\\ud83\"]", "[\"\\ud83\"]", "invalid escape" },
	};
	struct buffer mended = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct span value = span_of(table[i].value, strlen(table[i].value));
		const char *wrong = jsonrpc_check(&value, SCAN_DEPTH, &mended);

		assert_int_equal(value.len, strlen(table[i].mended));
		assert_memory_equal(value.at, table[i].mended, value.len);
		assert_int_equal(wrong != NULL, table[i].wrong != NULL);
		if (wrong != NULL)
			assert_string_equal(wrong, table[i].wrong);
	}
	buffer_free(&mended);
}

static void
lines(void **state)
{
	struct buffer out = BUFFER_INIT;
	struct writer w;

	(void)state;
	jsonrpc_begin(&w, &out);
	writer_member_string(&w, "method", "m");
	jsonrpc_end(&w);
	jsonrpc_begin_answer(&w, &out, span_of("\"a\"", 3));
	writer_member_bool(&w, "result", true);
	jsonrpc_end(&w);
	jsonrpc_error(&out, SPAN_NONE, JSONRPC_PARSE, "no \"JSON\"", SPAN_NONE);
	jsonrpc_error(&out, span_of("7", 1), JSONRPC_PARAMS, "no", span_of("{}", 2));
	assert_string_equal(buffer_string(&out),
	    "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":true}\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no \\\"JSON\\\"\"}}\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\":\"no\",\"data\":{}}}\n");
	buffer_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(halves),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests_name("json/jsonrpc", tests, NULL, NULL);
}
