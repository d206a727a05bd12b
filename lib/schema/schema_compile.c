/*
 * Compiles the values of keywords: limits, patterns, and subschemas, each of which becomes a new
 * node. A value of the wrong type is refused with its place.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/value.h"
#include "schema/compare.h"
#include "schema/schema.h"
#include "schema/schema_rule.h"

#define NODE_LIMIT 20000

int
rule_refuse(struct compiler *c, const struct rule *r, const char *format, ...)
{
	struct buffer text = BUFFER_INIT;
	va_list list;
	char message[512];

	va_start(list, format);
	vsnprintf(message, sizeof message, format, list);
	va_end(list);
	buffer_text(&text, r->node->pointer);
	value_pointer_add(&text, r->keyword->name);
	error_set(c->err, ERROR_DEFINITION, c->place, "%s: %s", text.data, message);
	buffer_free(&text);
	return -1;
}

struct node *
node_make(struct compiler *c, json_t *document, char *pointer, struct resource *resource)
{
	struct schema *s = c->schema;
	struct node *n;

	if ((!json_is_object(document) && !json_is_boolean(document)) ||
	    s->node_count >= NODE_LIMIT) {
		error_set(c->err, ERROR_DEFINITION, c->place, s->node_count >= NODE_LIMIT
		    ? "%s: the schema is too large" : "%s: expected a schema", pointer);
		free(pointer);
		return NULL;
	}
	n = memory_zero(1, sizeof *n);
	*n = (struct node){ .document = document, .pointer = pointer, .resource = resource,
		.foreign = c->foreign };
	if (s->last != NULL)
		s->last->next = n;
	else
		s->first = n;
	s->last = n;
	s->node_count++;
	return n;
}

/* Adds a subschema to a rule. name (NULL: none) or index (-1: none) is its place in the
 * rule's value. */
static int
add_member(struct compiler *c, struct rule *r, const char *name, long index, json_t *document)
{
	struct buffer pointer = BUFFER_INIT;
	struct member *m;

	buffer_text(&pointer, r->node->pointer);
	value_pointer_add(&pointer, r->keyword->name);
	if (name != NULL)
		value_pointer_add(&pointer, name);
	if (index >= 0)
		buffer_format(&pointer, "/%ld", index);
	r->members = memory_array(r->members, r->member_count + 1, sizeof *r->members);
	m = &r->members[r->member_count++];
	*m = (struct member){ name, NULL,
	    node_make(c, document, buffer_take(&pointer), r->node->resource) };
	return m->node == NULL ? -1 : 0;
}

int
rule_compile_schema(struct compiler *c, struct rule *r)
{
	return add_member(c, r, NULL, -1, r->value);
}

int
rule_compile_schemas(struct compiler *c, struct rule *r)
{
	if (!json_is_array(r->value) || json_array_size(r->value) == 0)
		return rule_refuse(c, r, "expected an array of schemas that is not empty");
	for (size_t i = 0; i < json_array_size(r->value); i++)
		if (add_member(c, r, NULL, (long)i, json_array_get(r->value, i)) != 0)
			return -1;
	return 0;
}

/* Draft 7 has an array of schemas where 2020-12 has prefixItems; both are accepted in
 * both drafts. */
int
rule_compile_items(struct compiler *c, struct rule *r)
{
	return json_is_array(r->value) ? rule_compile_schemas(c, r) : rule_compile_schema(c, r);
}

int
rule_compile_schema_map(struct compiler *c, struct rule *r)
{
	const char *name;
	json_t *schema;

	if (!json_is_object(r->value))
		return rule_refuse(c, r, "expected an object of schemas");
	json_object_foreach(r->value, name, schema)
		if (add_member(c, r, name, -1, schema) != 0)
			return -1;
	return 0;
}

static struct pattern *
make_pattern(struct compiler *c, const struct rule *r, const char *source, size_t len)
{
	const char *why;
	struct pattern *p = pattern_compile_as(source, len, PATTERN_REFERENCES, &why);

	if (p == NULL)
		rule_refuse(c, r, "'%s': %s", source, why);
	return p;
}

int
rule_compile_pattern_map(struct compiler *c, struct rule *r)
{
	struct member *m;

	if (rule_compile_schema_map(c, r) != 0)
		return -1;
	for (size_t i = 0; i < r->member_count; i++) {
		m = &r->members[i];
		m->pattern = make_pattern(c, r, m->name, strlen(m->name));
		if (m->pattern == NULL)
			return -1;
	}
	return 0;
}

int
rule_compile_pattern(struct compiler *c, struct rule *r)
{
	if (!json_is_string(r->value))
		return rule_refuse(c, r, "expected a regular expression");
	r->pattern = make_pattern(c, r, json_string_value(r->value),
	    json_string_length(r->value));
	return r->pattern == NULL ? -1 : 0;
}

int
rule_compile_format(struct compiler *c, struct rule *r)
{
	if (rule_compile_text(c, r) != 0)
		return -1;
	if (c->options & SCHEMA_FORMATS)
		r->format = format_find(json_string_value(r->value));
	if (r->format == NULL || r->format->pattern == NULL)
		return 0;
	r->pattern = make_pattern(c, r, r->format->pattern, strlen(r->format->pattern));
	return r->pattern == NULL ? -1 : 0;
}

int
rule_compile_count(struct compiler *c, struct rule *r)
{
	double number = json_number_value(r->value);

	if (!json_is_number(r->value) || !number_is_whole(r->value) || number < 0 || number > 0x1p53)
		return rule_refuse(c, r, "expected a whole number of 0 or more");
	r->count = (size_t)number;
	return 0;
}

int
rule_compile_number(struct compiler *c, struct rule *r)
{
	return json_is_number(r->value) ? 0 : rule_refuse(c, r, "expected a number");
}

int
rule_compile_divisor(struct compiler *c, struct rule *r)
{
	return json_is_number(r->value) && json_number_value(r->value) > 0 ? 0
	    : rule_refuse(c, r, "expected a number above 0");
}

int
rule_compile_flag(struct compiler *c, struct rule *r)
{
	return json_is_boolean(r->value) ? 0 : rule_refuse(c, r, "expected true or false");
}

int
rule_compile_text(struct compiler *c, struct rule *r)
{
	return json_is_string(r->value) ? 0 : rule_refuse(c, r, "expected a string");
}

static bool
is_names(const json_t *value)
{
	for (size_t i = 0; i < json_array_size(value); i++)
		if (!json_is_string(json_array_get(value, i)))
			return false;
	return json_is_array(value);
}

int
rule_compile_names(struct compiler *c, struct rule *r)
{
	return is_names(r->value) ? 0 : rule_refuse(c, r, "expected an array of strings");
}

int
rule_compile_name_map(struct compiler *c, struct rule *r)
{
	const char *name;
	json_t *names;

	if (!json_is_object(r->value))
		return rule_refuse(c, r, "expected an object of arrays of strings");
	json_object_foreach(r->value, name, names)
		if (!is_names(names))
			return rule_refuse(c, r, "%s: expected an array of strings", name);
	return 0;
}

int
rule_compile_dependencies(struct compiler *c, struct rule *r)
{
	const char *name;
	json_t *needed;

	if (!json_is_object(r->value))
		return rule_refuse(c, r, "expected an object of schemas or arrays of strings");
	json_object_foreach(r->value, name, needed) {
		if (json_is_array(needed) && !is_names(needed))
			return rule_refuse(c, r, "%s: expected an array of strings", name);
		if (!json_is_array(needed) && add_member(c, r, name, -1, needed) != 0)
			return -1;
	}
	return 0;
}

int
rule_compile_type(struct compiler *c, struct rule *r)
{
	bool known = schema_type_known(r->value) || json_array_size(r->value) > 0;

	for (size_t i = 0; i < json_array_size(r->value); i++)
		known = known && schema_type_known(json_array_get(r->value, i));
	return known ? 0 : rule_refuse(c, r, "expected null, boolean, number, integer, string, "
	    "array or object, or an array of these");
}

int
rule_compile_enum(struct compiler *c, struct rule *r)
{
	return json_is_array(r->value) ? 0 : rule_refuse(c, r, "expected an array of values");
}

int
rule_compile_reference(struct compiler *c, struct rule *r)
{
	return json_is_string(r->value) ? 0 : rule_refuse(c, r, "expected a string");
}
