/*
 * Walks through the schema and stops at the first keyword, or value of one, that the API does not
 * accept. References are not followed. Unless the API accepts circular schemas, a reference is
 * accepted only outside all definitions: only such a reference certainly makes no circle.
 */
#include "strict.h"

#include <stdlib.h>
#include <string.h>

#include "pass.h"
#include "transcript/event_keys.h"

/* Deeper schemas are not checked, and count as not accepted. */
#define DEPTH 32

/* Keywords whose values are checked; the values of all others are left to the API. */
static const struct {
	const char *keyword;
	enum { SCHEMA, SCHEMAS, DEFINITIONS, FALSE, FORMAT, REFERENCE } value;
} values[] = {
	{ "properties", SCHEMAS },
	{ "$defs", DEFINITIONS },
	{ "definitions", DEFINITIONS },
	{ "anyOf", SCHEMAS },
	{ "allOf", SCHEMAS },
	{ "items", SCHEMA },
	{ "additionalProperties", FALSE },
	{ "format", FORMAT },
	{ "$ref", REFERENCE }
};

/* What a schema says of itself, which APIs refuse. */
static const char *const about[] = { "$id", "$schema", NULL };

struct look {
	const struct strict *strict;
	bool defining; /* inside a definition, to which references lead */
	int depth;
};

static bool is_within(struct look look, struct span schema);

static bool
keyword_within(struct look look, struct span key, struct span value)
{
	size_t i = 0, count = sizeof values / sizeof values[0];
	char text[256];

	if (look.depth == 1 && span_one_of(key, about) != NULL)
		return true;
	if (span_one_of(key, look.strict->keywords) == NULL)
		return false;
	while (i < count && !span_is(key, values[i].keyword))
		i++;
	if (i == count)
		return true;
	switch (values[i].value) {
	case SCHEMA:
		return is_within(look, value);
	case DEFINITIONS:
		look.defining = true; /* fall through */
	case SCHEMAS: /* a list or an object of schemas */
		for (struct span_walk member = span_walk(value); span_next(&member);)
			if (!is_within(look, member.value))
				return false;
		return true;
	case FALSE:
		return span_type(value) == 'f';
	case FORMAT:
		return span_one_of(value, look.strict->formats) != NULL;
	case REFERENCE: /* within the schema */
		return span_copy(value, text, sizeof text) && text[0] == '#' &&
		    (look.strict->recursive || (!look.defining && text[1] == '/'));
	}
	return false;
}

static bool
strict_list_contains(struct span list, struct span name)
{
	for (struct span_walk member = span_walk(list); span_next(&member);)
		if (span_same(member.value, name))
			return true;
	return false;
}

static bool
is_within(struct look look, struct span schema)
{
	struct span properties = span_member(schema, "properties"), type, required;
	bool is_object = properties.at != NULL;

	if (span_type(schema) != 'o' || ++look.depth > DEPTH)
		return false;
	for (struct span_walk member = span_walk(schema); span_next(&member);)
		if (!keyword_within(look, member.key, member.value))
			return false;

	/* `type` is object, alone or among others. */
	type = span_member(schema, "type");
	is_object |= span_is(type, "object");
	for (struct span_walk each = span_walk(type); !each.object && span_next(&each);)
		is_object |= span_is(each.value, "object");
	if (!is_object)
		return true;
	if (span_member(schema, "additionalProperties").at == NULL)
		return false;
	required = span_member(schema, "required");
	for (struct span_walk member = span_walk(properties);
	    look.strict->all_required && span_next(&member);)
		if (!strict_list_contains(required, member.key))
			return false;
	return true;
}

bool
strict_object(struct span schema)
{
	return span_is(span_member(schema, "type"), "object");
}

bool
strict_takes(const struct strict *strict, struct span schema)
{
	return strict_object(schema) && is_within((struct look){ strict, false, 0 }, schema);
}

void
strict_write(struct writer *w, const char *name, struct span schema)
{
	writer_member_object(w, name);
	pass_others(w, schema, about);
	writer_object_end(w);
}

void
strict_write_input(struct writer *w, const char *key, struct span schema)
{
	writer_member_object(w, key);
	if (!strict_object(schema))
		writer_member_string(w, "type", "object");
	for (struct span_walk member = span_walk(schema); member.object && span_next(&member);)
		if (span_one_of(member.key, about) == NULL &&
		    (strict_object(schema) || !span_is(member.key, "type")))
			pass_raw(w, member.key, member.value);
	if (span_member(schema, "properties").at == NULL) {
		writer_member_object(w, "properties");
		writer_object_end(w);
	}
	writer_object_end(w);
}

void
strict_write_tool(struct writer *w, struct span tool, const char *schema_key)
{
	pass_of(w, "name", tool, KEY_NAME);
	pass_of(w, "description", tool, KEY_DESCRIPTION);
	strict_write_input(w, schema_key, span_member(tool, KEY_INPUT_SCHEMA));
}

int
strict_check_tools(struct span tools, const char *api, struct error *err)
{
	static const char *const alternatives[] = { "anyOf", "oneOf", "allOf" };

	for (struct span_walk tool = span_walk(tools); span_next(&tool);)
		for (size_t i = 0; i < sizeof alternatives / sizeof *alternatives; i++) {
			struct span schema = span_member(tool.value, KEY_INPUT_SCHEMA);
			char *name;

			if (span_member(schema, alternatives[i]).at == NULL)
				continue;
			name = span_text(span_member(tool.value, KEY_NAME));
			error_set(err, ERROR_INVALID, NULL, "the tool '%s': %s takes no %s at the root of "
			    "input_schema; put it into a property", name == NULL ? "" : name, api,
			    alternatives[i]);
			free(name);
			return -1;
		}
	return 0;
}
