/* The table of keywords, and the operations on whole schemas: compiling, checking, freeing. */
#include "schema/schema.h"

#include <stdlib.h>

#include "base/memory.h"
#include "json/value.h"
#include "schema/schema_rule.h"

#define CHECK_LIMIT 250000000 /* work of one check, in steps of patterns; other work is converted
                                 into these */

/* All known keywords; awf-tool(5) lists the same. A keyword without a compile function does not
 * affect validity; one without a check function is read by other keywords' functions. "example" is
 * from OpenAPI; without its entry it would be refused as a misspelling of "examples". */
static const struct keyword keywords[] = {
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

struct schema *
schema_compile(json_t *document, unsigned options, const char *place, struct error *err)
{
	struct schema *s = memory_zero(1, sizeof *s);
	struct compiler c = { s, keywords, options, false, place, err };

	s->documents = json_array();
	if (document_begin(&c, json_incref(document)) == 0 && nodes_compile(&c, s->first) == 0 &&
	    references_resolve(&c) == 0 && circles_refuse(&c) == 0)
		return s;
	schema_free(s);
	return NULL;
}

void
schema_free(struct schema *s)
{
	struct node *n, *next;

	if (s == NULL)
		return;
	for (n = s->first; n != NULL; n = next) {
		next = n->next;
		/* rules is NULL if there are none. */
		for (size_t rule = 0; rule < n->rule_count; rule++) {
			const struct rule *r = &n->rules[rule];

			for (size_t i = 0; i < r->member_count; i++)
				pattern_free(r->members[i].pattern);
			free(r->members);
			pattern_free(r->pattern);
		}
		free(n->rules);
		free(n->pointer);
		free(n);
	}
	resources_free(s);
	json_decref(s->documents);
	free(s);
}

int
schema_check(const struct schema *schema, const json_t *instance, struct buffer *why)
{
	struct buffer reason = BUFFER_INIT;
	struct check c = { .why = why == NULL ? NULL : &reason, .work = CHECK_LIMIT };
	int result;

	/* jansson's iterators do not take const; the value is not changed. */
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
