/* json/schema: what each keyword takes, what it says of the rest, and which schemas
 * are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "json/schema.h"
#include "json/value.h"

static json_t *
parse(const char *text)
{
	struct error err = ERROR_INIT;
	json_t *value = value_parse(text, strlen(text), "test", ERROR_DEFINITION, &err);

	if (value == NULL)
		fail_msg("%s: %s", text, err.message);
	return value;
}

static struct schema *
compile(const char *text, struct error *err)
{
	json_t *document = parse(text);
	struct schema *schema = schema_compile(document, "x.json", err);

	json_decref(document);
	return schema;
}

/* why: NULL if the value fits, else the message. */
static const struct {
	const char *schema, *value, *why;
} checks[] = {
	{ "true", "1", NULL },
	{ "{}", "null", NULL },
	{ "false", "1", "nothing is allowed here" },
	{ "{\"properties\":{\"a\":false}}", "{\"a\":1}", "/a: nothing is allowed here" },

	{ "{\"type\":\"integer\"}", "1", NULL },
	{ "{\"type\":\"integer\"}", "1.0", NULL },
	{ "{\"type\":\"integer\"}", "18446744073709551616", NULL },
	{ "{\"type\":\"integer\"}", "1.5", "expected integer, got number" },
	{ "{\"type\":\"number\"}", "1", NULL },
	{ "{\"type\":\"number\"}", "\"1\"", "expected number, got string" },
	{ "{\"type\":\"object\"}", "[]", "expected object, got array" },
	{ "{\"type\":\"array\"}", "{}", "expected array, got object" },
	{ "{\"type\":\"boolean\"}", "false", NULL },
	{ "{\"type\":\"boolean\"}", "null", "expected boolean, got null" },
	{ "{\"type\":\"null\"}", "true", "expected null, got boolean" },
	{ "{\"type\":[\"string\",\"null\"]}", "null", NULL },
	{ "{\"type\":[\"string\",\"null\",\"array\"]}", "1",
	  "expected string, null or array, got integer" },
	{ "{\"properties\":{\"a\":{\"items\":{\"type\":\"integer\"}}}}", "{\"a\":[1,\"x\"]}",
	  "/a/1: expected integer, got string" },
	{ "{\"properties\":{\"a/b~c\":{\"type\":\"null\"}}}", "{\"a/b~c\":1}",
	  "/a~1b~0c: expected null, got integer" },
	{ "{\"additionalProperties\":{\"type\":\"null\"}}", "{\"a\\nb\":1}",
	  "/a\\nb: expected null, got integer" },

	{ "{\"enum\":[1,\"a\",null]}", "1.0", NULL },
	{ "{\"enum\":[1,\"a\",null]}", "\"b\"", "expected one of [1,\"a\",null], got \"b\"" },
	{ "{\"const\":{\"a\":1,\"b\":[2]}}", "{\"b\":[2.0],\"a\":1}", NULL },
	{ "{\"const\":{\"a\":1,\"b\":[2]}}", "{\"a\":1,\"c\":[2]}",
	  "expected {\"a\":1,\"b\":[2]}, got {\"a\":1,\"c\":[2]}" },
	{ "{\"const\":1}", "true", "expected 1, got true" },
	{ "{\"const\":0}", "false", "expected 0, got false" },
	{ "{\"const\":9007199254740993}", "9007199254740992.0",
	  "expected 9007199254740993, got 9007199254740992.0" },
	{ "{\"const\":\"a\\u0000b\"}", "\"a\\u0000c\"",
	  "expected \"a\\u0000b\", got \"a\\u0000c\"" },

	{ "{\"required\":[\"a\",\"b\"]}", "{\"a\":1}", "'b' is missing" },
	{ "{\"required\":[\"a\"]}", "[]", NULL },
	{ "{\"additionalProperties\":false,\"properties\":{\"a\":true},"
	  "\"patternProperties\":{\"^x-\":true}}", "{\"a\":1,\"x-y\":2}", NULL },
	{ "{\"additionalProperties\":false,\"properties\":{\"a\":true}}", "{\"b\":1}",
	  "unexpected 'b'" },
	{ "{\"additionalProperties\":{\"type\":\"string\"},\"properties\":{\"a\":true}}",
	  "{\"a\":1,\"b\":2}", "/b: expected string, got integer" },
	{ "{\"patternProperties\":{\"^n\":{\"type\":\"number\"}}}", "{\"s\":\"\",\"n1\":\"\"}",
	  "/n1: expected number, got string" },
	{ "{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}",
	  "/abc: expected at most 2 characters, got 3" },
	{ "{\"minProperties\":1}", "{}", "expected at least 1 property, got 0" },
	{ "{\"maxProperties\":1}", "{\"a\":1,\"b\":1}", "expected at most 1 property, got 2" },
	{ "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"c\":1}", NULL },
	{ "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
	  "'b' is missing, which 'a' needs" },
	{ "{\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}", "{\"a\":1}",
	  "'b' is missing" },
	{ "{\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}", "{}", NULL },

	{ "{\"prefixItems\":[{\"type\":\"string\"}],\"items\":{\"type\":\"null\"}}",
	  "[\"a\",null]", NULL },
	{ "{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}", "[\"a\",null]",
	  "/1: nothing is allowed here" },
	{ "{\"items\":[{\"type\":\"string\"}],\"additionalItems\":{\"type\":\"null\"}}",
	  "[\"a\",1]", "/1: expected null, got integer" },
	{ "{\"items\":[{\"type\":\"string\"}]}", "[1]", "/0: expected string, got integer" },
	{ "{\"items\":{\"type\":\"integer\"},\"additionalItems\":false}", "[1,2]", NULL },
	{ "{\"contains\":{\"const\":1}}", "[2,1]", NULL },
	{ "{\"contains\":{\"const\":1}}", "[]",
	  "expected at least 1 item as in 'contains', got 0" },
	{ "{\"contains\":{\"const\":1},\"minContains\":0}", "[]", NULL },
	{ "{\"contains\":{\"const\":1},\"minContains\":2}", "[1]",
	  "expected at least 2 items as in 'contains', got 1" },
	{ "{\"contains\":{\"const\":1},\"maxContains\":1}", "[1,1]",
	  "expected at most 1 item as in 'contains', got 2" },
	{ "{\"minItems\":2}", "[1]", "expected at least 2 items, got 1" },
	{ "{\"maxItems\":2.0}", "[1,2,3]", "expected at most 2 items, got 3" },
	{ "{\"uniqueItems\":true}", "[1,true,\"1\",[1],{\"a\":1}]", NULL },
	{ "{\"uniqueItems\":true}", "[{\"a\":1,\"b\":2},3,{\"b\":2,\"a\":1.0}]",
	  "expected items without repeats, got {\"b\":2,\"a\":1.0} twice" },
	{ "{\"uniqueItems\":false}", "[1,1]", NULL },

	{ "{\"minimum\":5}", "4", "expected at least 5, got 4" },
	{ "{\"minimum\":5}", "5.0", NULL },
	{ "{\"maximum\":5}", "5.5", "expected at most 5, got 5.5" },
	{ "{\"maximum\":9223372036854775807}", "9223372036854775808",
	  "expected at most 9223372036854775807, got 9.223372036854776e+18" },
	{ "{\"exclusiveMinimum\":0}", "0", "expected more than 0, got 0" },
	{ "{\"exclusiveMaximum\":1}", "1", "expected less than 1, got 1" },
	{ "{\"multipleOf\":3}", "9", NULL },
	{ "{\"multipleOf\":3}", "10", "expected a multiple of 3, got 10" },
	{ "{\"multipleOf\":0.01}", "4.35", NULL },
	{ "{\"multipleOf\":0.1}", "0.3", NULL },
	{ "{\"multipleOf\":0.1}", "0.375", "expected a multiple of 0.1, got 0.375" },
	{ "{\"multipleOf\":0.0001}", "0.0075", NULL },

	{ "{\"minLength\":2}", "\"\\u00e9\"", "expected at least 2 characters, got 1" },
	{ "{\"maxLength\":1}", "\"\\ud83d\\ude00\"", NULL },
	{ "{\"maxLength\":1}", "\"ab\"", "expected at most 1 character, got 2" },
	{ "{\"pattern\":\"^\\\\d+$\"}", "\"12\"", NULL },
	{ "{\"pattern\":\"^\\\\d+$\"}", "\"a\"", "expected a match of \"^\\\\d+$\", got \"a\"" },
	{ "{\"pattern\":\"^a\"}", "5", NULL },

	{ "{\"allOf\":[{\"minimum\":1},{\"maximum\":2}]}", "3", "expected at most 2, got 3" },
	{ "{\"anyOf\":[{\"type\":\"null\"},{\"minimum\":2}]}", "2", NULL },
	{ "{\"anyOf\":[{\"type\":\"null\"},{\"minimum\":2}]}", "1",
	  "fits none of the 2 schemas of 'anyOf' (the first: expected null, got integer)" },
	{ "{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "1", NULL },
	{ "{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "2",
	  "fits 2 of the 2 schemas of 'oneOf', expected one" },
	{ "{\"not\":{\"type\":\"null\"}}", "null", "fits what 'not' forbids" },
	{ "{\"not\":{\"type\":\"null\"}}", "1", NULL },
	{ "{\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10},\"else\":{\"maximum\":5}}", "20",
	  NULL },
	{ "{\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10}}", "11",
	  "expected a multiple of 10, got 11" },
	{ "{\"if\":{\"minimum\":10},\"else\":{\"maximum\":5}}", "7", "expected at most 5, got 7" },
	{ "{\"then\":{\"maximum\":5}}", "7", NULL },

	{ "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"null\"}}}", "1",
	  "expected null, got integer" },
	{ "{\"$ref\":\"#/definitions/a~1b%25\",\"definitions\":{\"a/b%\":{\"type\":\"null\"}}}",
	  "1", "expected null, got integer" },
	{ "{\"$ref\":\"#/allOf/1\",\"allOf\":[true,{\"type\":\"null\"}]}", "1",
	  "expected null, got integer" },
	{ "{\"$ref\":\"#a\",\"$defs\":{\"x\":{\"$anchor\":\"a\",\"type\":\"null\"}}}", "1",
	  "expected null, got integer" },
	{ "{\"properties\":{\"next\":{\"$ref\":\"#\"}},\"required\":[\"v\"]}",
	  "{\"v\":1,\"next\":{\"v\":1,\"next\":{}}}", "/next/next: 'v' is missing" },
	{ "{\"title\":\"t\",\"description\":\"d\",\"default\":1,\"examples\":[1],\"$comment\":\"\","
	  "\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"x\","
	  "\"format\":\"email\",\"deprecated\":true,\"readOnly\":true,\"writeOnly\":true,"
	  "\"contentMediaType\":\"text/plain\",\"contentEncoding\":\"base64\"}", "\"a\"", NULL },
};

static const struct {
	const char *schema, *message;
} refused[] = {
	{ "1", ": expected a schema" },
	{ "{\"typ\":\"string\"}", "/typ: unsupported keyword (did you mean 'type'?)" },
	{ "{\"unevaluatedProperties\":false}", "/unevaluatedProperties: unsupported keyword" },
	{ "{\"$defs\":{\"a\":{\"$dynamicRef\":\"#x\"}}}", "/$defs/a/$dynamicRef: unsupported keyword" },
	{ "{\"type\":\"text\"}", "/type: expected null, boolean, number, integer, string, array or "
	  "object, or an array of these" },
	{ "{\"type\":[]}", "/type: expected null, boolean, number, integer, string, array or "
	  "object, or an array of these" },
	{ "{\"properties\":[]}", "/properties: expected an object of schemas" },
	{ "{\"properties\":{\"a/b\":1}}", "/properties/a~1b: expected a schema" },
	{ "{\"items\":{\"items\":3}}", "/items/items: expected a schema" },
	{ "{\"allOf\":[]}", "/allOf: expected an array of schemas that is not empty" },
	{ "{\"anyOf\":[true,1]}", "/anyOf/1: expected a schema" },
	{ "{\"enum\":[]}", "/enum: expected an array of values that is not empty" },
	{ "{\"required\":\"a\"}", "/required: expected an array of strings" },
	{ "{\"required\":[1]}", "/required: expected an array of strings" },
	{ "{\"dependentRequired\":1}",
	  "/dependentRequired: expected an object of arrays of strings" },
	{ "{\"dependentRequired\":{\"a\":1}}", "/dependentRequired: a: expected an array of strings" },
	{ "{\"minItems\":-1}", "/minItems: expected a whole number of 0 or more" },
	{ "{\"maxLength\":1.5}", "/maxLength: expected a whole number of 0 or more" },
	{ "{\"exclusiveMinimum\":true}", "/exclusiveMinimum: expected a number" },
	{ "{\"multipleOf\":0}", "/multipleOf: expected a number above 0" },
	{ "{\"uniqueItems\":1}", "/uniqueItems: expected true or false" },
	{ "{\"pattern\":1}", "/pattern: expected a regular expression" },
	{ "{\"pattern\":\"(?=a)\"}", "/pattern: '(?=a)': lookaround is not supported" },
	{ "{\"patternProperties\":{\"(\":true}}", "/patternProperties: '(': ( has no )" },
	{ "{\"$ref\":\"other.json\"}",
	  "/$ref: only references within the schema (\"#\xe2\x80\xa6\") are supported" },
	{ "{\"$ref\":\"#/$defs/a\"}", "/$ref: '#/$defs/a' leads nowhere" },
	{ "{\"$ref\":\"#a\"}", "/$ref: '#a' leads nowhere" },
	{ "{\"$ref\":\"#/title\",\"title\":\"t\"}", "/title: expected a schema" },
	{ "{\"$anchor\":1}", "/$anchor: expected a string" },
	{ "{\"items\":{\"$id\":\"x\"}}", "/items/$id: only supported at the root of a schema" },
	{ "{\"$ref\":\"#\"}", "/: refers to itself without end" },
	{ "{\"items\":{\"allOf\":[{\"$ref\":\"#/items\"}]}}", "/items: refers to itself without end" },
	{ "{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"not\":{\"$ref\":\"#/$defs/a\"}}}}",
	  "/$defs/a: refers to itself without end" },
};

static void
values_are_checked(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		struct error err = ERROR_INIT;
		struct schema *schema = compile(checks[i].schema, &err);
		struct buffer why = BUFFER_INIT;
		json_t *value = parse(checks[i].value);

		if (schema == NULL)
			fail_msg("%s: %s", checks[i].schema, err.message);
		if (schema_check(schema, value, NULL) != (checks[i].why == NULL ? 0 : -1))
			fail_msg("%s on %s: wrong", checks[i].schema, checks[i].value);
		schema_check(schema, value, &why);
		if (strcmp(buffer_string(&why), checks[i].why == NULL ? "" : checks[i].why) != 0)
			fail_msg("%s on %s: %s", checks[i].schema, checks[i].value,
			    buffer_string(&why));
		buffer_free(&why);
		json_decref(value);
		schema_free(schema);
	}
}

static void
schemas_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct error err = ERROR_INIT;
		struct schema *schema = compile(refused[i].schema, &err);

		if (schema != NULL)
			fail_msg("%s was taken", refused[i].schema);
		assert_int_equal(err.code, ERROR_DEFINITION);
		assert_string_equal(err.place, "x.json");
		assert_string_equal(err.message, refused[i].message);
	}
}

/* Appends the opening text n times. */
static char *
nested(const char *open, const char *middle, const char *close, size_t n)
{
	struct buffer text = BUFFER_INIT;

	for (size_t i = 0; i < n; i++)
		buffer_text(&text, open);
	buffer_text(&text, middle);
	for (size_t i = 0; i < n; i++)
		buffer_text(&text, close);
	return buffer_take(&text);
}

/* Each level doubles the work: 2^40 checks, if nobody stopped them. */
static void
cost_is_limited(void **state)
{
	struct error err = ERROR_INIT;
	struct buffer text = BUFFER_INIT, why = BUFFER_INIT;
	struct schema *schema;
	json_t *value = parse("1");

	(void)state;
	buffer_text(&text, "{\"$ref\":\"#/$defs/0\",\"$defs\":{");
	for (int i = 0; i < 40; i++)
		buffer_format(&text, "\"%d\":{\"oneOf\":[{\"$ref\":\"#/$defs/%d\"},"
		    "{\"$ref\":\"#/$defs/%d\"}]},", i, i + 1, i + 1);
	buffer_text(&text, "\"40\":true}}");
	schema = compile(text.data, &err);
	assert_non_null(schema);
	assert_int_equal(schema_check(schema, value, &why), -1);
	assert_string_equal(why.data, "too much to check against its schema");
	schema_free(schema);
	json_decref(value);
	buffer_free(&text);
	buffer_free(&why);
}

static void
depth_is_limited(void **state)
{
	struct error err = ERROR_INIT;
	struct schema *schema = compile("{\"items\":{\"not\":{\"not\":{\"anyOf\":[{\"allOf\":"
	    "[{\"$ref\":\"#/$defs/a\"}]}]}}},\"$defs\":{\"a\":{\"not\":{\"not\":{\"not\":{\"not\":"
	    "{\"allOf\":[{\"$ref\":\"#\"}]}}}}}}}", &err);
	char *text = nested("[", "", "]", 120);
	json_t *value = parse(text);
	struct buffer why = BUFFER_INIT;

	(void)state;
	assert_non_null(schema);
	assert_int_equal(schema_check(schema, value, &why), -1);
	assert_string_equal(why.data, "nested too deeply for its schema");
	buffer_free(&why);
	json_decref(value);
	free(text);
	schema_free(schema);
}

static void
long_values_are_cut_in_messages(void **state)
{
	struct error err = ERROR_INIT;
	struct schema *schema = compile("{\"const\":1}", &err);
	char *text = nested("\xc3\xa9", "", "", 5000);
	json_t *value = json_string(text);
	struct buffer why = BUFFER_INIT;

	(void)state;
	assert_int_equal(schema_check(schema, value, &why), -1);
	assert_in_range(why.len, 50, 200);
	assert_string_equal(why.data + why.len - 3, "\xe2\x80\xa6");
	buffer_free(&why);
	json_decref(value);
	free(text);
	schema_free(schema);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_checked),
		cmocka_unit_test(schemas_are_refused),
		cmocka_unit_test(cost_is_limited),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(long_values_are_cut_in_messages),
	};

	return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
