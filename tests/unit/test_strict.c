/* Schemas that an API enforces: what it takes, and the ids of failed requests. */
#include "unit.h"

#include "../../cmd/provider/strict.h"
#include "api/failure.h"
#include "base/buffer.h"

static const char *const keywords[] = { "$defs", "$ref", "additionalProperties", "anyOf", "format",
	"items", "properties", "required", "type", NULL };
static const char *const formats[] = { "date", NULL };

#define CLOSED "\"type\":\"object\",\"additionalProperties\":false"

static const struct {
	const char *schema;
	bool all_required, recursive, taken;
} cases[] = {
	{ "{" CLOSED "}", true, true, true },
	{ "{\"$schema\":\"x\"," CLOSED "}", false, false, true },
	{ "{" CLOSED ",\"properties\":{\"$schema\":{\"$schema\":\"x\"}}}", false, false, false },
	{ "{\"type\":\"object\"}", false, false, false },
	{ "{\"type\":\"object\",\"additionalProperties\":true}", false, false, false },
	{ "{\"type\":\"string\"}", false, false, false },
	{ "{" CLOSED ",\"title\":\"x\"}", false, false, false },
	{ "{" CLOSED ",\"properties\":{\"a\":{\"type\":\"string\"}}}", false, false, true },
	{ "{" CLOSED ",\"properties\":{\"a\":{\"type\":\"string\"}}}", true, false, false },
	{ "{" CLOSED ",\"properties\":{\"a\":{}},\"required\":[\"b\",\"a\"]}", true, false, true },
	{ "{" CLOSED ",\"properties\":{\"a\":{\"properties\":{}}}}", false, false, false },
	{ "{" CLOSED ",\"properties\":{\"a\":{\"type\":[\"null\",\"object\"]}}}", false, false, false },
	{ "{" CLOSED ",\"properties\":{\"a\":{\"format\":\"date\"}}}", false, false, true },
	{ "{" CLOSED ",\"properties\":{\"a\":{\"format\":\"time\"}}}", false, false, false },
	{ "{" CLOSED ",\"properties\":{\"a\":{\"items\":{\"anyOf\":[{}, 1]}}}}", false, false, false },
	{ "{" CLOSED ",\"properties\":{\"a\":{\"$ref\":\"#\"}}}", false, true, true },
	{ "{" CLOSED ",\"properties\":{\"a\":{\"$ref\":\"#\"}}}", false, false, false },
	{ "{" CLOSED ",\"properties\":{\"a\":{\"$ref\":\"x\"}}}", false, true, false },
	{ "{" CLOSED ",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/a\"}}}", false, true, true },
	{ "{" CLOSED ",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/a\"}}}", false, false, false },
	{ "{" CLOSED ",\"$defs\":{\"a\":{}},\"properties\":{\"a\":{\"$ref\":\"#/$defs/a\"}}}",
	  false, false, true },
	{ "[]", false, false, false }
};

static void
test_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct strict strict = { keywords, formats, cases[i].all_required, cases[i].recursive };
		const char *schema = cases[i].schema;

		if (strict_takes(&strict, span_of(schema, strlen(schema))) != cases[i].taken)
			fail_msg("%s: taken or not", schema);
	}
}

/* However deep a schema is nested, it ends. */
static void
test_deep(void **state)
{
	struct strict strict = { keywords, formats, false, false };
	struct buffer schema = BUFFER_INIT;

	(void)state;
	buffer_text(&schema, "{" CLOSED ",\"properties\":{\"a\":");
	for (int i = 0; i < 100; i++)
		buffer_text(&schema, "{\"items\":");
	buffer_text(&schema, "{}");
	for (int i = 0; i < 100; i++)
		buffer_text(&schema, "}");
	buffer_text(&schema, "}}");
	assert_false(strict_takes(&strict, span_of(schema.data, schema.len)));
	buffer_free(&schema);
}

static void
test_request_id(void **state)
{
	static const char body[] = "{\"error\":{\"message\":\"no\"},\"request_id\":\"r1\"}";
	struct failure failure = { .status = 400 }, known = { .status = 400,
		.request_id = "r0" };
	struct buffer text = BUFFER_INIT;

	(void)state;
	buffer_text(&text, body);
	failure_from_body(&failure, &text, NULL);
	assert_string_equal(failure.request_id, "r1");
	assert_string_equal(failure.error.message, "HTTP 400 (request r1): no");
	failure_from_body(&known, &text, NULL);
	assert_string_equal(known.request_id, "r0");
	buffer_free(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_request_id)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
