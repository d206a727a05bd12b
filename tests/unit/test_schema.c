/* schema/schema: what each keyword takes, what it says of the rest, and which schemas
 * are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "json/value.h"
#include "schema/schema.h"

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
	struct schema *schema = schema_compile(document, SCHEMA_TYPOS, "x.json", err);

	json_decref(document);
	return schema;
}

#define DRAFT_7 "{\"$schema\":\"http://json-schema.org/draft-07/schema#\","
#define LIST "{\"$id\":\"urn:root\",\"$ref\":\"urn:list\","
#define LIST_DEFS "\"list\":{\"$id\":\"urn:list\",\"items\":{\"$dynamicRef\":\"#T\"},\"$defs\":" \
	"{\"any\":{\"$dynamicAnchor\":\"T\"}}}"

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
	{ "{\"multipleOf\":0.0001}", "0.00751", "expected a multiple of 0.0001, got 0.00751" },
	{ "{\"multipleOf\":1e-8}", "12391239123", NULL },
	{ "{\"multipleOf\":0.123456789}", "1e308",
	  "expected a multiple of 0.123456789, got 1e+308" },
	{ "{\"multipleOf\":0.5}", "1e308", NULL },
	{ "{\"multipleOf\":1e308}", "1e308", NULL },
	{ "{\"multipleOf\":1e308}", "1", "expected a multiple of 1e+308, got 1" },
	{ "{\"multipleOf\":9223372036854775807}", "-9223372036854775807", NULL },
	{ "{\"multipleOf\":9223372036854775783}", "9223372036854775783e9", "expected a multiple of "
	  "9223372036854775783, got 9.223372036854776e+27" },
	{ "{\"multipleOf\":3}", "0", NULL },

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
	{ "{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "0",
	  "fits none of the 2 schemas of 'oneOf' (the first: expected at least 1, got 0)" },
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
	{ "{\"$ref\":\"#/x-own/a\",\"x-own\":{\"a\":{\"type\":\"null\"}}}", "1",
	  "expected null, got integer" },
	{ "{\"$id\":\"http://a/b/c\",\"$ref\":\"d\",\"$defs\":{\"x\":{\"$id\":\"d\",\"$ref\":\"#/$defs/y\","
	  "\"$defs\":{\"y\":{\"type\":\"null\"}}}}}", "1", "expected null, got integer" },
	{ "{\"$id\":\"urn:a:b\",\"items\":{\"$ref\":\"urn:a:b\"},\"type\":\"array\"}", "[[1]]",
	  "/0/0: expected array, got integer" },
	{ "{\"items\":{\"$ref\":\"e#f\"},\"$defs\":{\"x\":{\"$id\":\"e\",\"not\":{\"$anchor\":\"f\","
	  "\"type\":\"null\"}}}}", "[1]", "/0: expected null, got integer" },
	{ "{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}", "{\"items\":{\"minLength\":-1}}",
	  "/items/minLength: expected at least 0, got -1" },
	{ "{\"$ref\":\"https://json-schema.org/draft/2020-12/meta/core#/$defs/anchorString\"}", "\"1\"",
	  "expected a match of \"^[A-Za-z_][-A-Za-z0-9._]*$\", got \"1\"" },
	{ "{\"$ref\":\"http://json-schema.org/draft-07/schema#\"}", "{\"required\":[\"a\",\"a\"]}",
	  "/required: expected items without repeats, got \"a\" twice" },
	{ "{\"$ref\":\"http://json-schema.org/draft-07/schema#\"}", "{\"items\":[{},true]}", NULL },

	/* A list of what the one that refers to it says. */
	{ LIST "\"$defs\":{\"s\":{\"$dynamicAnchor\":\"T\",\"type\":\"string\"}," LIST_DEFS "}}",
	  "[\"a\",1]", "/1: expected string, got integer" },
	{ LIST "\"$defs\":{\"s\":{\"$anchor\":\"T\",\"type\":\"string\"}," LIST_DEFS "}}",
	  "[\"a\",1]", NULL },
	{ "{\"$dynamicRef\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"null\"}}}", "1",
	  "expected null, got integer" },
	{ "{\"$dynamicAnchor\":\"a\",\"allOf\":[{\"$dynamicRef\":\"#a\"}]}", "1",
	  "nested too deeply for its schema" },

	{ DRAFT_7 "\"$ref\":\"#/definitions/a\",\"maxLength\":1,\"definitions\":{\"a\":{\"type\":"
	  "\"string\"}}}", "\"ab\"", NULL },
	{ DRAFT_7 "\"items\":{\"$ref\":\"#a\"},\"definitions\":{\"a\":{\"$id\":\"#a\",\"type\":"
	  "\"string\"}}}", "[1]", "/0: expected string, got integer" },
	{ DRAFT_7 "\"items\":[true],\"additionalItems\":false}", "[1,2]",
	  "/1: nothing is allowed here" },
	{ DRAFT_7 "\"dependencies\":{\"a\":[\"b\"],\"c\":{\"required\":[\"d\"]}}}", "{\"a\":1}",
	  "'b' is missing, which 'a' needs" },
	{ DRAFT_7 "\"dependencies\":{\"a\":[\"b\"],\"c\":{\"required\":[\"d\"]}}}", "{\"c\":1}",
	  "'d' is missing" },
	{ DRAFT_7 "\"$id\":\"http://a/b\",\"items\":{\"$id\":\"c\",\"$schema\":"
	  "\"https://json-schema.org/draft/2020-12/schema\",\"prefixItems\":[false]}}", "[[1]]",
	  "/0/0: nothing is allowed here" },

	{ "{\"properties\":{\"a\":true},\"patternProperties\":{\"^x\":true},"
	  "\"unevaluatedProperties\":false}", "{\"a\":1,\"xy\":1}", NULL },
	{ "{\"unevaluatedProperties\":false,\"allOf\":[{\"properties\":{\"a\":true}}]}",
	  "{\"a\":1,\"b\":1}", "unexpected 'b'" },
	{ "{\"unevaluatedProperties\":{\"type\":\"null\"}}", "{\"b\":1}",
	  "/b: expected null, got integer" },
	{ "{\"anyOf\":[{\"required\":[\"c\"]},{\"properties\":{\"a\":true}},{\"properties\":"
	  "{\"b\":true}}],\"unevaluatedProperties\":false}", "{\"a\":1,\"b\":1}", NULL },
	{ "{\"oneOf\":[{\"properties\":{\"a\":true},\"required\":[\"a\"]},{\"properties\":"
	  "{\"b\":true},\"required\":[\"b\"]}],\"unevaluatedProperties\":false}", "{\"a\":1,\"c\":1}",
	  "unexpected 'c'" },
	{ "{\"not\":{\"not\":{\"properties\":{\"a\":true}}},\"unevaluatedProperties\":false}",
	  "{\"a\":1}", "unexpected 'a'" },
	{ "{\"if\":{\"properties\":{\"a\":{\"const\":1}},\"required\":[\"a\"]},\"then\":{\"properties\":"
	  "{\"b\":true}},\"unevaluatedProperties\":false}", "{\"a\":1,\"b\":1}", NULL },
	{ "{\"if\":{\"properties\":{\"a\":{\"const\":1}},\"required\":[\"a\"]},\"then\":{\"properties\":"
	  "{\"b\":true}},\"unevaluatedProperties\":false}", "{\"a\":2}", "unexpected 'a'" },
	{ "{\"$ref\":\"#/$defs/a\",\"unevaluatedProperties\":false,\"$defs\":{\"a\":{\"properties\":"
	  "{\"a\":true}}}}", "{\"a\":1}", NULL },
	{ "{\"properties\":{\"a\":true},\"allOf\":[{\"unevaluatedProperties\":false}]}", "{\"a\":1}",
	  "unexpected 'a'" },
	{ "{\"allOf\":[{\"additionalProperties\":true}],\"unevaluatedProperties\":false}", "{\"a\":1}",
	  NULL },
	{ "{\"dependentSchemas\":{\"a\":{\"properties\":{\"b\":true}}},\"properties\":{\"a\":true},"
	  "\"unevaluatedProperties\":false}", "{\"a\":1,\"b\":1}", NULL },
	{ "{\"properties\":{\"a\":{\"properties\":{\"b\":true}}},\"unevaluatedProperties\":false}",
	  "{\"a\":{},\"b\":1}", "unexpected 'b'" },
	{ "{\"prefixItems\":[true],\"unevaluatedItems\":false}", "[1]", NULL },
	{ "{\"prefixItems\":[true],\"unevaluatedItems\":false}", "[1,2]",
	  "/1: nothing is allowed here" },
	{ "{\"allOf\":[{\"prefixItems\":[true,true]}],\"contains\":{\"const\":9},"
	  "\"unevaluatedItems\":{\"type\":\"null\"}}", "[1,2,9,null,9]", NULL },
	{ "{\"allOf\":[{\"contains\":{\"const\":9}}],\"unevaluatedItems\":{\"type\":\"null\"}}",
	  "[null,9,8]", "/2: expected null, got integer" },
	{ "{\"allOf\":[{\"items\":true}],\"unevaluatedItems\":false}", "[1,2]", NULL },
	{ "{\"items\":{\"unevaluatedItems\":false},\"unevaluatedItems\":false}", "[[]]", NULL },

	{ "{\"nullable\":true,\"x-order\":1,\"example\":1,\"$recursiveRef\":\"#\"}", "null", NULL },
	{ "{\"title\":\"t\",\"description\":\"d\",\"default\":1,\"examples\":[1],\"$comment\":\"\","
	  "\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"x\","
	  "\"format\":\"email\",\"deprecated\":true,\"readOnly\":true,\"writeOnly\":true,"
	  "\"contentMediaType\":\"text/plain\",\"contentEncoding\":\"base64\"}", "\"a\"", NULL },
};

static const struct {
	const char *schema, *message;
} refused[] = {
	{ "1", ": expected a schema" },
	{ "{\"typ\":\"string\"}", "/typ: unknown keyword (did you mean 'type'?)" },
	{ "{\"items\":{\"require\":[]}}", "/items/require: unknown keyword (did you mean 'required'?)" },
	{ "{\"unevaluatedProperty\":false}",
	  "/unevaluatedProperty: unknown keyword (did you mean 'unevaluatedProperties'?)" },
	{ "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"prefixItems\":[]}",
	  "/prefixItems: draft 7 has no such keyword, and \"$schema\" says draft 7" },
	{ "{\"$schema\":\"http://json-schema.org/draft-04/schema#\"}",
	  "/$schema: 'http://json-schema.org/draft-04/schema#' is not supported (known are "
	  "https://json-schema.org/draft/2020-12/schema and http://json-schema.org/draft-07/schema#)" },
	{ "{\"$schema\":5}", "/$schema: '' is not supported (known are "
	  "https://json-schema.org/draft/2020-12/schema and http://json-schema.org/draft-07/schema#)" },
	{ "{\"$defs\":{\"a\":{\"$id\":\"b\",\"$schema\":\"c\"}}}",
	  "/$defs/a/$schema: 'c' is not supported (known are "
	  "https://json-schema.org/draft/2020-12/schema and http://json-schema.org/draft-07/schema#)" },
	{ "{\"type\":\"text\"}", "/type: expected null, boolean, number, integer, string, array or "
	  "object, or an array of these" },
	{ "{\"type\":[]}", "/type: expected null, boolean, number, integer, string, array or "
	  "object, or an array of these" },
	{ "{\"properties\":[]}", "/properties: expected an object of schemas" },
	{ "{\"properties\":{\"a/b\":1}}", "/properties/a~1b: expected a schema" },
	{ "{\"items\":{\"items\":3}}", "/items/items: expected a schema" },
	{ "{\"allOf\":[]}", "/allOf: expected an array of schemas that is not empty" },
	{ "{\"anyOf\":[true,1]}", "/anyOf/1: expected a schema" },
	{ "{\"enum\":1}", "/enum: expected an array of values" },
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
	{ "{\"pattern\":\"(?i)a\"}", "/pattern: '(?i)a': inline flags are not supported" },
	{ "{\"pattern\":\"a\\\\1\"}", "/pattern: 'a\\1': a backreference leads to no group" },
	{ "{\"patternProperties\":{\"(\":true}}", "/patternProperties: '(': ( has no )" },
	{ "{\"$ref\":\"other.json\"}",
	  "/$ref: 'other.json' is not in this schema, and nothing is fetched" },
	{ "{\"$id\":\"http://a/b\",\"items\":{\"$ref\":\"other.json#/x\"}}",
	  "/items/$ref: 'http://a/other.json' is not in this schema, and nothing is fetched" },
	{ "{\"$ref\":\"https://json-schema.org/draft/2020-12/meta/none\"}", "/$ref: "
	  "'https://json-schema.org/draft/2020-12/meta/none' is not in this schema, and nothing is "
	  "fetched" },
	{ "{\"$ref\":1}", "/$ref: expected a string" },
	{ "{\"$dynamicRef\":\"#x\"}", "/$dynamicRef: '#x' leads nowhere" },
	{ "{\"format\":1}", "/format: expected a string" },
	{ "{\"dependencies\":1}",
	  "/dependencies: expected an object of schemas or arrays of strings" },
	{ "{\"dependencies\":{\"a\":[1]}}", "/dependencies: a: expected an array of strings" },
	{ "{\"dependencies\":{\"a\":1}}", "/dependencies/a: expected a schema" },
	{ "{\"$id\":\"http://a/b#c\"}",
	  "/$id: 'http://a/b#c' has a fragment (\"$anchor\" makes one)" },
	{ "{\"$id\":\"a\",\"$defs\":{\"x\":{\"$id\":\"a\"}}}", "/$defs/x/$id: 'a' is there twice" },
	{ "{\"$anchor\":\"a\",\"$defs\":{\"x\":{\"$dynamicAnchor\":\"a\"}}}",
	  "/$defs/x/$dynamicAnchor: 'a' is there twice" },
	{ "{\"$ref\":\"#/$defs/a\"}", "/$ref: '#/$defs/a' leads nowhere" },
	{ "{\"$ref\":\"#a\"}", "/$ref: '#a' leads nowhere" },
	{ "{\"$ref\":\"#/title\",\"title\":\"t\"}", "/title: expected a schema" },
	{ "{\"$anchor\":1}", "/$anchor: expected a string" },
	{ "{\"$id\":1}", "/$id: expected a string" },
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

static const struct {
	const char *format, *value;
	bool fits;
} formats[] = {
	{ "date", "2024-02-29", true },
	{ "date", "2023-02-29", false },
	{ "date", "2000-02-29", true },
	{ "date", "1900-02-29", false },
	{ "date", "2024-04-31", false },
	{ "time", "23:59:60Z", true },
	{ "time", "12:00:60Z", false },
	{ "time", "15:59:60-08:00", true },
	{ "time", "01:29:60.25+01:30", true },
	{ "time", "00:29:60-23:30", true },
	{ "time", "23:29:60+23:30", true },
	{ "time", "23:59:60+01:00", false },
	{ "time", "22:59:60-00:30", false },
	{ "date-time", "1990-12-31T15:59:60-08:00", true },
	{ "date-time", "1991-01-01t00:59:60+01:00", true },
	{ "date-time", "1990-12-31T16:59:60-08:00", false },
	{ "time", "12:00:00.5+05:30", true },
	{ "time", "12:00:00", false },
	{ "date-time", "2024-02-29t12:00:00z", true },
	{ "date-time", "2024-02-29 12:00:00Z", false },
	{ "email", "a.b+c@example.org", true },
	{ "email", "\\\"a b\\\"@example.org", true },
	{ "email", "a..b@example.org", false },
	{ "email", "a", false },
	{ "ipv4", "192.168.0.1", true },
	{ "ipv4", "192.168.00.1", false },
	{ "ipv4", "256.0.0.1", false },
	{ "ipv4", "127.0.0.1\\u0000", false },
	{ "ipv6", "2001:db8::1", true },
	{ "ipv6", "2001:db8:::1", false },
	{ "uri", "http://user@[::1]:80/a%20b?c#d", true },
	{ "uri", "urn:a:b", true },
	{ "uri", "/a", false },
	{ "uri", "http://a b", false },
	{ "uri-reference", "/a", true },
	{ "uri-reference", "1:2", false },
	{ "uuid", "6ba7b810-9dad-41d1-80b4-00c04fd430c8", true },
	{ "uuid", "6ba7b8109dad41d180b400c04fd430c8", false },
	{ "regex", "^a$", true },
	{ "regex", "(", false },
	{ "json-pointer", "/a~0b/", true },
	{ "json-pointer", "a", false },
	{ "json-pointer", "/~2", false },
	{ "unheard-of", "a", true },
};

/* 0 or -1, of the value against the schema. */
static int
check_format(size_t i, unsigned options)
{
	struct buffer text = BUFFER_INIT, value_text = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct schema *schema;
	json_t *document, *value;
	int result;

	buffer_format(&text, "{\"format\":\"%s\"}", formats[i].format);
	buffer_format(&value_text, "\"%s\"", formats[i].value);
	document = parse(text.data);
	value = parse(value_text.data);
	schema = schema_compile(document, options, "x.json", &err);
	assert_non_null(schema);
	result = schema_check(schema, value, NULL);
	schema_free(schema);
	json_decref(document);
	json_decref(value);
	buffer_free(&text);
	buffer_free(&value_text);
	return result;
}

static void
formats_are_checked_when_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		assert_int_equal(check_format(i, 0), 0);
		if (check_format(i, SCHEMA_FORMATS) != (formats[i].fits ? 0 : -1))
			fail_msg("%s: %s: wrong", formats[i].format, formats[i].value);
	}
}

/* A foreign schema may say what it likes beside what is known. */
static void
typos_pass_unless_asked(void **state)
{
	struct error err = ERROR_INIT;
	json_t *document = parse("{\"typ\":\"string\",\"items\":{\"maxLenght\":1}}");
	struct schema *schema = schema_compile(document, 0, "x.json", &err);

	(void)state;
	assert_non_null(schema);
	assert_int_equal(schema_check(schema, document, NULL), 0);
	schema_free(schema);
	json_decref(document);
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

/* Appends a text, with a number for each # in it. */
static void
append_number(struct buffer *b, const char *text, int number)
{
	for (; *text != '\0'; text++)
		if (*text == '#')
			buffer_format(b, "%d", number);
		else
			buffer_byte(b, *text);
}

/* What a pattern takes counts, what a keyword lists, and a pattern that none can match in
 * time; what is asked of a few of them passes. */
static void
costs_of_patterns_and_lists_are_limited(void **state)
{
	static const struct {
		const char *before, *each, *after, *value_each;
		int count;
		bool array, passes;
	} costs[] = {
		{ "{\"patternProperties\":{", "\"(x|#)*(y|z)*[^k#]{2}_\":true", "}}", "\"k#\":1", 2000, false, false },
		{ "{\"patternProperties\":{", "\"^(x|#)*y\":true", "}}", "\"k#\":1", 50, false, true },
		{ "{\"items\":{\"enum\":[", "#", ",\"x\"]}}", "\"x\"", 8000, true, false },
		{ "{\"items\":{\"enum\":[", "#", ",\"x\"]}}", "\"x\"", 500, true, true },
		{ "{\"items\":{\"pattern\":\"^(a*)*(a*)*(a*)*\\\\1c$\"},\"const\":[", "#", "]}",
		  "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"", 1, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
		struct error err = ERROR_INIT;
		struct buffer text = BUFFER_INIT, data = BUFFER_INIT, why = BUFFER_INIT;
		struct schema *schema;
		json_t *value;

		buffer_text(&text, costs[i].before);
		buffer_text(&data, costs[i].array ? "[" : "{");
		for (int n = 0; n < costs[i].count; n++) {
			buffer_text(&text, n > 0 ? "," : "");
			buffer_text(&data, n > 0 ? "," : "");
			append_number(&text, costs[i].each, n);
			append_number(&data, costs[i].value_each, n);
		}
		buffer_text(&text, costs[i].after);
		buffer_text(&data, costs[i].array ? "]" : "}");
		schema = compile(text.data, &err);
		if (schema == NULL)
			fail_msg("%s: %s", costs[i].before, err.message);
		value = parse(data.data);
		assert_int_equal(schema_check(schema, value, &why), costs[i].passes ? 0 : -1);
		assert_string_equal(buffer_string(&why), costs[i].passes ? ""
		    : "too much to check against its schema");
		json_decref(value);
		schema_free(schema);
		buffer_free(&text);
		buffer_free(&data);
		buffer_free(&why);
	}
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

/* filled: NULL if there is nothing to fill in. */
static const struct {
	const char *schema, *value, *filled;
} fills[] = {
	{ "{\"required\":[\"a\"],\"properties\":{\"a\":{\"default\":1.50}}}", "{}", "{\"a\":1.50}" },
	{ "{\"required\":[\"a\"],\"properties\":{\"a\":{\"default\":null}}}", "{\"b\":1e2}",
	  "{\"b\":1e2,\"a\":null}" },
	{ "{\"required\":[\"a\"],\"properties\":{\"a\":{\"default\":1}}}", "{\"\\u0061\":2}", NULL },
	{ "{\"required\":[\"a\"],\"properties\":{\"a\":{\"default\":1}}}", "[1]", NULL },
	{ "{\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"null\"}}}", "{}", NULL },
	{ "{\"properties\":{\"a\":{\"default\":1}}}", "{}", NULL },
	{ "{\"required\":[\"a/~\\\"\"],\"properties\":{\"a/~\\\"\":{\"default\":1}}}", "{}",
	  "{\"a/~\\\"\":1}" },
	{ "{\"required\":[\"a\",\"a\"],\"allOf\":[{\"required\":[\"a\"]},{\"properties\":{\"a\":{\"default\":1}}}]}",
	  "{}", "{\"a\":1}" },
	{ "{\"items\":{\"$ref\":\"#/$defs/o\"},\"$defs\":{\"o\":{\"required\":[\"a\"],\"properties\":{\"a\":{\"default\":[]}}}}}",
	  "[{},{\"a\":1},2]", "[{\"a\":[]},{\"a\":1},2]" },
	{ "{\"additionalProperties\":{\"required\":[\"a\"],\"properties\":{\"a\":{\"default\":1}}}}",
	  "{\"x\":{}}", "{\"x\":{\"a\":1}}" },
	/* What is filled in is not filled in again: this one would not end. */
	{ "{\"required\":[\"a\"],\"properties\":{\"a\":{\"$ref\":\"#\",\"default\":{}}}}", "{\"a\":{}}",
	  "{\"a\":{\"a\":{}}}" },
};

static void
defaults_are_filled_in(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
		struct error err = ERROR_INIT;
		struct schema *schema = compile(fills[i].schema, &err);
		struct buffer out = BUFFER_INIT;
		bool filled = schema_fill(schema, span_of(fills[i].schema, strlen(fills[i].schema)),
		    span_of(fills[i].value, strlen(fills[i].value)), &out);

		if (filled != (fills[i].filled != NULL) ||
		    (filled && strcmp(buffer_string(&out), fills[i].filled) != 0))
			fail_msg("%s with %s: %s", fills[i].value, fills[i].schema, buffer_string(&out));
		buffer_free(&out);
		schema_free(schema);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_checked),
		cmocka_unit_test(schemas_are_refused),
		cmocka_unit_test(formats_are_checked_when_asked),
		cmocka_unit_test(typos_pass_unless_asked),
		cmocka_unit_test(cost_is_limited),
		cmocka_unit_test(costs_of_patterns_and_lists_are_limited),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(defaults_are_filled_in),
		cmocka_unit_test(long_values_are_cut_in_messages),
	};

	return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
