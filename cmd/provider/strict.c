/*
 * A walk through the schema that stops at the first keyword, or value of one, that the API
 * does not take. References are not followed: only one that starts outside of all definitions
 * is sure to lead to no circle, unless the API takes circles.
 */
#include "strict.h"

#include <string.h>

#include "pass.h"

/* How deep a schema may be nested to be looked at. */
#define DEPTH 32

struct look {
	const struct strict *strict;
	bool defining; /* inside of what references lead to */
	int depth;
};

static bool is_within(struct look look, struct span schema);

/* A list or an object of schemas. */
static bool
are_schemas(struct look look, struct span values)
{
	for (struct span_walk member = span_walk(values); span_next(&member);)
		if (!is_within(look, member.value))
			return false;
	return true;
}

static bool
are_definitions(struct look look, struct span values)
{
	look.defining = true;
	return are_schemas(look, values);
}

static bool
is_closed(struct look look, struct span value)
{
	(void)look;
	return span_type(value) == 'f';
}

static bool
is_format(struct look look, struct span value)
{
	return span_one_of(value, look.strict->formats) != NULL;
}

/* A reference within the schema. Only what is no definition itself surely leads to no
 * circle. */
static bool
is_reference(struct look look, struct span value)
{
	char text[256];

	return span_copy(value, text, sizeof text) && text[0] == '#' &&
	    (look.strict->recursive || (!look.defining && text[1] == '/'));
}

/* Keywords with a value that is looked at; that of the others is the API's own matter. */
static const struct {
	const char *keyword;
	bool (*check)(struct look look, struct span value);
} checks[] = {
	{ "properties", are_schemas },
	{ "$defs", are_definitions },
	{ "definitions", are_definitions },
	{ "anyOf", are_schemas },
	{ "allOf", are_schemas },
	{ "items", is_within },
	{ "additionalProperties", is_closed },
	{ "format", is_format },
	{ "$ref", is_reference }
};

static bool
keyword_within(struct look look, struct span key, struct span value)
{
	if (look.depth == 1 && span_is(key, "$schema"))
		return true;
	if (span_one_of(key, look.strict->keywords) == NULL)
		return false;
	for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
		if (span_is(key, checks[i].keyword))
			return checks[i].check(look, value);
	return true;
}

static bool
names(struct span list, struct span name)
{
	for (struct span_walk member = span_walk(list); span_next(&member);)
		if (member.value.len == name.len && memcmp(member.value.at, name.at, name.len) == 0)
			return true;
	return false;
}

static bool
requires_all(struct span schema)
{
	struct span required = span_member(schema, "required");
	struct span properties = span_member(schema, "properties");

	for (struct span_walk member = span_walk(properties); span_next(&member);)
		if (!names(required, member.key))
			return false;
	return true;
}

/* Whether `type` says object, alone or among others. */
static bool
may_be_object(struct span type)
{
	if (span_is(type, "object"))
		return true;
	if (span_type(type) != 'a')
		return false;
	for (struct span_walk member = span_walk(type); span_next(&member);)
		if (span_is(member.value, "object"))
			return true;
	return false;
}

static bool
object_within(const struct strict *strict, struct span schema)
{
	bool has_properties = span_member(schema, "properties").at != NULL;

	if (!has_properties && !may_be_object(span_member(schema, "type")))
		return true;
	return span_member(schema, "additionalProperties").at != NULL &&
	    (!strict->all_required || requires_all(schema));
}

static bool
is_within(struct look look, struct span schema)
{
	if (span_type(schema) != 'o' || ++look.depth > DEPTH)
		return false;
	for (struct span_walk member = span_walk(schema); span_next(&member);)
		if (!keyword_within(look, member.key, member.value))
			return false;
	return object_within(look.strict, schema);
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
	static const char *const without[] = { "$schema", NULL };

	writer_member_object(w, name);
	pass_others(w, schema, without);
	writer_object_end(w);
}
