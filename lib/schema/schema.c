/*
 * A check ends: what applies to one value never refers to itself in a circle (but by
 * dynamic references, which the limit of depth cuts), so it goes deeper into the value
 * at each round. What it may cost is bounded nevertheless, for schemas that branch at
 * every level.
 */
#include "schema/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "json/value.h"
#include "schema/schema_rule.h"

#define CHECK_DEPTH 1000
#define CHECK_LIMIT 250000000 /* steps of patterns; all else is counted in these */
#define NODE_COST 20
#define MATCH_COST 20 /* beside its steps */
#define LISTED_COST 5

/* Every keyword there is; awf-tool(5) lists the same. Those without a compile
 * function say nothing about values; those without a check function serve others.
 * "example" is OpenAPI's, and too near to "examples". */
const struct keyword schema_keywords[] = {
	{ "type", DRAFTS, 0, 0, rule_compile_type, rule_check_type },
	{ "enum", DRAFTS, 0, 0, rule_compile_enum, rule_check_enum },
	{ "const", DRAFTS, 0, 0, NULL, rule_check_const },
	{ "required", DRAFTS, 'o', 0, rule_compile_names, rule_check_required },
	{ "properties", DRAFTS, 'o', 0, rule_compile_schema_map, rule_check_properties },
	{ "patternProperties", DRAFTS, 'o', 0, rule_compile_pattern_map,
	  rule_check_pattern_properties },
	{ "additionalProperties", DRAFTS, 'o', 0, rule_compile_schema,
	  rule_check_additional_properties },
	{ "propertyNames", DRAFTS, 'o', 0, rule_compile_schema, rule_check_property_names },
	{ "minProperties", DRAFTS, 'o', 0, rule_compile_count, rule_check_at_least },
	{ "maxProperties", DRAFTS, 'o', 0, rule_compile_count, rule_check_at_most },
	{ "dependentRequired", DRAFT_2020, 'o', 0, rule_compile_name_map,
	  rule_check_dependent_required },
	{ "dependentSchemas", DRAFT_2020, 'o', KEYWORD_SAME, rule_compile_schema_map,
	  rule_check_dependent_schemas },
	{ "dependencies", DRAFTS, 'o', KEYWORD_SAME, rule_compile_dependencies,
	  rule_check_dependencies },
	{ "unevaluatedProperties", DRAFT_2020, 'o', KEYWORD_LAST, rule_compile_schema,
	  rule_check_unevaluated_properties },
	{ "prefixItems", DRAFT_2020, 'a', 0, rule_compile_schemas, rule_check_prefix_items },
	{ "items", DRAFTS, 'a', 0, rule_compile_items, rule_check_items },
	{ "additionalItems", DRAFTS, 'a', 0, rule_compile_schema, rule_check_additional_items },
	{ "contains", DRAFTS, 'a', 0, rule_compile_schema, rule_check_contains },
	{ "minContains", DRAFT_2020, 'a', 0, rule_compile_count, NULL },
	{ "maxContains", DRAFT_2020, 'a', 0, rule_compile_count, NULL },
	{ "minItems", DRAFTS, 'a', 0, rule_compile_count, rule_check_at_least },
	{ "maxItems", DRAFTS, 'a', 0, rule_compile_count, rule_check_at_most },
	{ "uniqueItems", DRAFTS, 'a', 0, rule_compile_flag, rule_check_unique },
	{ "unevaluatedItems", DRAFT_2020, 'a', KEYWORD_LAST, rule_compile_schema,
	  rule_check_unevaluated_items },
	{ "minimum", DRAFTS, 'n', 0, rule_compile_number, rule_check_minimum },
	{ "maximum", DRAFTS, 'n', 0, rule_compile_number, rule_check_maximum },
	{ "exclusiveMinimum", DRAFTS, 'n', 0, rule_compile_number, rule_check_above },
	{ "exclusiveMaximum", DRAFTS, 'n', 0, rule_compile_number, rule_check_below },
	{ "multipleOf", DRAFTS, 'n', 0, rule_compile_divisor, rule_check_multiple },
	{ "minLength", DRAFTS, 's', 0, rule_compile_count, rule_check_at_least },
	{ "maxLength", DRAFTS, 's', 0, rule_compile_count, rule_check_at_most },
	{ "pattern", DRAFTS, 's', 0, rule_compile_pattern, rule_check_pattern },
	{ "allOf", DRAFTS, 0, KEYWORD_SAME, rule_compile_schemas, rule_check_all },
	{ "anyOf", DRAFTS, 0, KEYWORD_SAME, rule_compile_schemas, rule_check_any },
	{ "oneOf", DRAFTS, 0, KEYWORD_SAME, rule_compile_schemas, rule_check_one },
	{ "not", DRAFTS, 0, KEYWORD_SAME, rule_compile_schema, rule_check_not },
	{ "if", DRAFTS, 0, KEYWORD_SAME, rule_compile_schema, rule_check_if },
	{ "then", DRAFTS, 0, KEYWORD_SAME, rule_compile_schema, NULL },
	{ "else", DRAFTS, 0, KEYWORD_SAME, rule_compile_schema, NULL },
	{ "$comment", DRAFTS, 0, 0, NULL, NULL },
	{ "$ref", DRAFTS, 0, KEYWORD_SAME, rule_compile_reference, rule_check_all },
	{ "$dynamicRef", DRAFT_2020, 0, 0, rule_compile_reference, rule_check_dynamic },
	{ "$defs", DRAFTS, 0, 0, rule_compile_schema_map, NULL },
	{ "definitions", DRAFTS, 0, 0, rule_compile_schema_map, NULL },
	{ "format", DRAFTS, 's', 0, rule_compile_format, rule_check_format },
	{ "$anchor", DRAFT_2020, 0, 0, rule_compile_text, NULL },
	{ "$dynamicAnchor", DRAFT_2020, 0, 0, rule_compile_text, NULL },
	{ "$id", DRAFTS, 0, 0, rule_compile_text, NULL },
	{ "$schema", DRAFTS, 0, 0, rule_compile_text, NULL },
	{ "$vocabulary", DRAFT_2020, 0, 0, NULL, NULL },
	{ "title", DRAFTS, 0, 0, NULL, NULL },
	{ "description", DRAFTS, 0, 0, NULL, NULL },
	{ "default", DRAFTS, 0, 0, NULL, NULL },
	{ "examples", DRAFTS, 0, 0, NULL, NULL },
	{ "deprecated", DRAFT_2020, 0, 0, NULL, NULL },
	{ "readOnly", DRAFTS, 0, 0, NULL, NULL },
	{ "writeOnly", DRAFTS, 0, 0, NULL, NULL },
	{ "contentMediaType", DRAFTS, 0, 0, NULL, NULL },
	{ "contentEncoding", DRAFTS, 0, 0, NULL, NULL },
	{ "contentSchema", DRAFT_2020, 0, 0, NULL, NULL },
	{ "example", DRAFTS, 0, 0, NULL, NULL },
	{ NULL, 0, 0, 0, NULL, NULL },
};

int
check_fail(struct check *c, const char *format, ...)
{
	va_list list;
	char message[512];

	if (c->why == NULL || c->why->len > 0)
		return -1;
	va_start(list, format);
	vsnprintf(message, sizeof message, format, list);
	va_end(list);
	if (c->pointer.len > 0) {
		text_visible(c->why, c->pointer.data, c->pointer.len, 0);
		buffer_text(c->why, ": ");
	}
	text_visible(c->why, message, utf8_whole(message, strlen(message)), 0);
	return -1;
}

int
check_spend(struct check *c, long work)
{
	c->work -= work;
	if (c->work < 0)
		c->stopped = "too much to check against its schema";
	return c->stopped == NULL ? 0 : -1;
}

bool
check_matches(struct check *c, const struct pattern *p, const char *text, size_t len)
{
	int result;

	if (check_spend(c, MATCH_COST) != 0)
		return false;
	result = pattern_match(p, text, len, &c->work);
	if (result == -1)
		c->stopped = "too much to check against its schema";
	return result == 1;
}

/* What a rule lists may all have to be looked at: names, values, subschemas. */
static long
rule_cost(const struct rule *r)
{
	size_t listed = json_is_array(r->value) ? json_array_size(r->value)
	    : json_object_size(r->value);

	return 1 + (long)listed * LISTED_COST;
}

static int
check_rules(struct check *c, const struct node *n, json_t *value)
{
	const struct rule *r;
	char type = schema_type_of(value);

	for (size_t i = 0; i < n->rule_count; i++) {
		r = &n->rules[i];
		if (r->keyword->check == NULL ||
		    (r->keyword->type != 0 && r->keyword->type != type))
			continue;
		if (check_spend(c, rule_cost(r)) != 0 || r->keyword->check(c, r, value) != 0)
			return -1;
	}
	return 0;
}

/* The rules of a node, within its resource. What they evaluate counts for the node
 * alone, and for who asked if the value passes. */
static int
check_scoped(struct check *c, const struct node *n, json_t *value)
{
	struct seen own = { NULL, false, 0, BUFFER_INIT }, *outer = c->seen;
	struct scope scope = { n->resource, c->scope };
	int result;

	if (scope.outer == NULL || scope.outer->resource != n->resource)
		c->scope = &scope;
	c->seen = outer != NULL || n->counts ? &own : NULL;
	c->depth++;
	result = check_rules(c, n, value);
	c->depth--;
	c->seen = outer;
	c->scope = scope.outer;
	if (result == 0 && outer != NULL)
		seen_join(outer, &own);
	seen_free(&own);
	return result;
}

int
check_node(struct check *c, const struct node *n, json_t *value)
{
	int result;

	if (c->depth >= CHECK_DEPTH)
		c->stopped = "nested too deeply for its schema";
	if (check_spend(c, NODE_COST) != 0)
		return -1;
	if (json_is_false(n->document))
		return check_fail(c, "nothing is allowed here");
	result = check_scoped(c, n, value);
	return c->stopped != NULL ? -1 : result;
}

int
schema_check(const struct schema *schema, const json_t *instance, struct buffer *why)
{
	struct buffer reason = BUFFER_INIT;
	struct check c = { .why = why == NULL ? NULL : &reason, .work = CHECK_LIMIT };
	int result;

	/* jansson's iterators take no const; nothing here changes the value. */
	result = check_node(&c, schema->first, (json_t *)instance);
	if (result != 0 && why != NULL)
		buffer_text(why, c.stopped != NULL ? c.stopped : buffer_string(&reason));
	buffer_free(&reason);
	buffer_free(&c.pointer);
	return result;
}

int
schema_check_bytes(const struct schema *schema, const char *bytes, size_t len,
    struct buffer *why)
{
	struct error err = ERROR_INIT;
	json_t *value = value_parse(bytes, len, NULL, ERROR_INVALID_INPUT, &err);
	int result;

	if (value == NULL) {
		buffer_format(why, "not JSON: %s", err.message);
		return -1;
	}
	result = schema_check(schema, value, why);
	json_decref(value);
	return result;
}
