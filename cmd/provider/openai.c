#include "openai.h"

#include <stddef.h>

#include "message.h"

static const char *const keywords[] = { "$defs", "$ref", "additionalProperties", "anyOf",
    "const", "definitions", "description", "enum", "exclusiveMaximum", "exclusiveMinimum",
    "format", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf",
    "pattern", "properties", "required", "title", "type", NULL };
static const char *const formats[] = { "date", "date-time", "duration", "email", "hostname",
    "ipv4", "ipv6", "time", "uuid", NULL };
const struct strict openai_strict = { keywords, formats, true, true };

const char *
openai_effort(struct span thinking)
{
	long long budget = 0;

	if (span_true(thinking))
		return "medium";
	number_set(&budget, thinking);
	if (budget <= 0)
		return NULL;
	return budget <= 2048 ? "low" : budget <= 8192 ? "medium" : "high";
}
