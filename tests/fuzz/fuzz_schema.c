/*
 * Schemas: the input is a schema and values, one after the other. What is refused
 * is refused with a reason, in one line of UTF-8; asking twice gives one answer.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "json/scan.h"
#include "json/value.h"
#include "schema/compare.h"
#include "schema/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next of the values, or NULL; *at is moved behind it. */
static json_t *
next_value(const char **at, const char *end)
{
	size_t len, bad;
	json_t *value;

	if (scan_value(*at, (size_t)(end - *at), SCAN_DEPTH, &len, &bad) != NULL)
		return NULL;
	value = value_parse(*at, len, NULL, ERROR_DEFINITION, NULL);
	*at += len;
	return value;
}

static void
check(const struct schema *schema, const json_t *value)
{
	struct buffer why = BUFFER_INIT;
	int result = schema_check(schema, value, &why);

	assert(schema_check(schema, value, NULL) == result);
	assert((why.len == 0) == (result == 0));
	assert(utf8_valid(buffer_string(&why), why.len));
	assert(strchr(buffer_string(&why), '\n') == NULL);
	assert(value_compare(value, value) == 0);
	buffer_free(&why);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	struct error err = ERROR_INIT;
	struct schema *schema;
	json_t *value;

	value = size == 0 ? NULL : next_value(&at, end);
	if (value == NULL)
		return 0;
	schema = schema_compile(value, SCHEMA_TYPOS | SCHEMA_FORMATS, "x.json", &err);
	json_decref(value);
	if (schema == NULL) {
		assert(err.code == ERROR_DEFINITION && err.message[0] != '\0');
		return 0;
	}
	while (at < end && (value = next_value(&at, end)) != NULL) {
		check(schema, value);
		json_decref(value);
	}
	schema_free(schema);
	return 0;
}
