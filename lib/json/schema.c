/*
 * A compiled schema has no circle of references that apply to one value; so a check
 * ends, as it goes deeper into the value at each round. What it may cost is bounded
 * nevertheless, for schemas that branch at every level.
 */
#include "json/schema.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "json/compare.h"
#include "json/schema_rule.h"
#include "json/value.h"

#define CHECK_DEPTH 1000
#define CHECK_LIMIT 10000000
#define SHOWN_BYTES 100 /* of a value in a message */

struct check {
	struct buffer pointer;    /* of the value at hand */
	struct buffer *why;       /* NULL: nobody asks */
	unsigned depth;
	long cost;
	const char *stopped;      /* a limit was met: nothing is known, all fails */
};

static const struct {
	const char *name;
	char letter;
} types[] = {
	{ "null", '0' }, { "boolean", 'b' }, { "number", 'n' }, { "integer", 'i' },
	{ "string", 's' }, { "array", 'a' }, { "object", 'o' },
};

static char
type_of(const json_t *value)
{
	static const char letters[] = { [JSON_OBJECT] = 'o', [JSON_ARRAY] = 'a',
		[JSON_STRING] = 's', [JSON_INTEGER] = 'n', [JSON_REAL] = 'n',
		[JSON_TRUE] = 'b', [JSON_FALSE] = 'b', [JSON_NULL] = '0' };

	return letters[json_typeof(value)];
}

static const char *
type_name(const json_t *value)
{
	char letter = number_is_whole(value) ? 'i' : type_of(value);

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].letter == letter)
			return types[i].name;
	return "number";
}

static bool
type_fits(const char *name, const json_t *value)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].name, name) == 0)
			return types[i].letter == 'i' ? number_is_whole(value)
			    : types[i].letter == type_of(value);
	return false;
}

bool
schema_type_known(const json_t *name)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (json_is_string(name) && strcmp(types[i].name, json_string_value(name)) == 0)
			return true;
	return false;
}

static const struct rule *
rule_of(const struct node *n, const char *keyword)
{
	for (size_t i = 0; i < n->rule_count; i++)
		if (strcmp(n->rules[i].keyword->name, keyword) == 0)
			return &n->rules[i];
	return NULL;
}

void
schema_pointer_key(struct buffer *pointer, const char *key)
{
	buffer_byte(pointer, '/');
	for (; *key != '\0'; key++)
		if (*key == '~' || *key == '/')
			buffer_text(pointer, *key == '~' ? "~0" : "~1");
		else
			buffer_byte(pointer, *key);
}

static int check_node(struct check *c, const struct node *n, json_t *value);

/* Says what is wrong with the value at hand; the first reason stays. */
static int __attribute__((format(printf, 2, 3)))
fail(struct check *c, const char *format, ...)
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

/* A value for a message: its JSON, cut. Returns out. */
static const char *
shown(const json_t *value, char out[SHOWN_BYTES + 4])
{
	struct buffer json = BUFFER_INIT;
	size_t len;

	value_write(value, &json);
	len = json.len > SHOWN_BYTES ? utf8_whole(json.data, SHOWN_BYTES) : json.len;
	memcpy(out, json.data, len);
	snprintf(out + len, 4, "%s", json.len > len ? "…" : "");
	buffer_free(&json);
	return out;
}

/* Fails with what the rule's own value is to the value at hand: "at least " … */
static int
unexpected(struct check *c, const char *relation, const struct rule *r, const json_t *value)
{
	char want[SHOWN_BYTES + 4], have[SHOWN_BYTES + 4];

	if (c->why == NULL)
		return -1;
	return fail(c, "expected %s%s, got %s", relation, shown(r->value, want),
	    shown(value, have));
}

/* Whether a subschema takes the value, when that alone is asked. */
static bool
fits(struct check *c, const struct node *n, json_t *value)
{
	struct buffer *why = c->why;
	int result;

	c->why = NULL;
	result = check_node(c, n, value);
	c->why = why;
	return result == 0;
}

/* Checks what stands under a key, or at an index, of the value at hand. */
static int
check_key(struct check *c, const struct node *n, const char *key, json_t *value)
{
	size_t len = c->pointer.len;
	int result;

	schema_pointer_key(&c->pointer, key);
	result = check_node(c, n, value);
	c->pointer.len = len;
	return result;
}

static int
check_index(struct check *c, const struct node *n, size_t index, json_t *value)
{
	size_t len = c->pointer.len;
	int result;

	buffer_format(&c->pointer, "/%zu", index);
	result = check_node(c, n, value);
	c->pointer.len = len;
	return result;
}

static int
check_type(struct check *c, const struct rule *r, json_t *value)
{
	struct buffer names = BUFFER_INIT;
	size_t count = json_array_size(r->value);

	if (json_is_string(r->value))
		return type_fits(json_string_value(r->value), value) ? 0
		    : fail(c, "expected %s, got %s", json_string_value(r->value), type_name(value));
	for (size_t i = 0; i < count; i++) {
		const char *name = json_string_value(json_array_get(r->value, i));

		if (type_fits(name, value)) {
			buffer_free(&names);
			return 0;
		}
		buffer_format(&names, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", name);
	}
	fail(c, "expected %s, got %s", buffer_string(&names), type_name(value));
	buffer_free(&names);
	return -1;
}

static int
check_const(struct check *c, const struct rule *r, json_t *value)
{
	return value_compare(r->value, value) == 0 ? 0 : unexpected(c, "", r, value);
}

static int
check_enum(struct check *c, const struct rule *r, json_t *value)
{
	for (size_t i = 0; i < json_array_size(r->value); i++)
		if (value_compare(json_array_get(r->value, i), value) == 0)
			return 0;
	return unexpected(c, "one of ", r, value);
}

static int
check_minimum(struct check *c, const struct rule *r, json_t *value)
{
	return number_compare(value, r->value) >= 0 ? 0 : unexpected(c, "at least ", r, value);
}

static int
check_maximum(struct check *c, const struct rule *r, json_t *value)
{
	return number_compare(value, r->value) <= 0 ? 0 : unexpected(c, "at most ", r, value);
}

static int
check_above(struct check *c, const struct rule *r, json_t *value)
{
	return number_compare(value, r->value) > 0 ? 0 : unexpected(c, "more than ", r, value);
}

static int
check_below(struct check *c, const struct rule *r, json_t *value)
{
	return number_compare(value, r->value) < 0 ? 0 : unexpected(c, "less than ", r, value);
}

/* Integers divide exactly. Decimal fractions such as 0.1 have no exact double, so
 * for reals the quotient may be off by the error of both. */
static bool
divides(const json_t *divisor, const json_t *value)
{
	double quotient, nearest;

	if (json_is_integer(divisor) && json_is_integer(value))
		return json_integer_value(value) % json_integer_value(divisor) == 0;
	quotient = json_number_value(value) / json_number_value(divisor);
	nearest = number_whole(quotient < 0 ? quotient - 0.5 : quotient + 0.5);
	return isfinite(quotient) &&
	    fabs(quotient - nearest) <= 2 * DBL_EPSILON * fabs(quotient);
}

static int
check_multiple(struct check *c, const struct rule *r, json_t *value)
{
	return divides(r->value, value) ? 0 : unexpected(c, "a multiple of ", r, value);
}

/* Code points, items or properties. */
static size_t
size_of(const json_t *value, const char **unit)
{
	const char *text = json_string_value(value);
	size_t count = 0;

	*unit = json_is_array(value) ? "item" : json_is_object(value) ? "property" : "character";
	if (text == NULL)
		return json_is_array(value) ? json_array_size(value) : json_object_size(value);
	for (size_t i = 0; i < json_string_length(value); i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

static const char *
plural(const char *unit, size_t count)
{
	if (count == 1)
		return unit;
	return *unit == 'i' ? "items" : *unit == 'p' ? "properties" : "characters";
}

static int
check_at_least(struct check *c, const struct rule *r, json_t *value)
{
	const char *unit;
	size_t size = size_of(value, &unit);

	return size >= r->count ? 0
	    : fail(c, "expected at least %zu %s, got %zu", r->count, plural(unit, r->count), size);
}

static int
check_at_most(struct check *c, const struct rule *r, json_t *value)
{
	const char *unit;
	size_t size = size_of(value, &unit);

	return size <= r->count ? 0
	    : fail(c, "expected at most %zu %s, got %zu", r->count, plural(unit, r->count), size);
}

static int
check_pattern(struct check *c, const struct rule *r, json_t *value)
{
	return pattern_matches(r->pattern, json_string_value(value), json_string_length(value)) ? 0
	    : unexpected(c, "a match of ", r, value);
}

static int
check_required(struct check *c, const struct rule *r, json_t *value)
{
	const char *name;

	for (size_t i = 0; i < json_array_size(r->value); i++) {
		name = json_string_value(json_array_get(r->value, i));
		if (json_object_get(value, name) == NULL)
			return fail(c, "'%s' is missing", name);
	}
	return 0;
}

static int
check_dependent_required(struct check *c, const struct rule *r, json_t *value)
{
	const char *name, *needed;
	json_t *names;

	json_object_foreach(r->value, name, names) {
		if (json_object_get(value, name) == NULL)
			continue;
		for (size_t i = 0; i < json_array_size(names); i++) {
			needed = json_string_value(json_array_get(names, i));
			if (json_object_get(value, needed) == NULL)
				return fail(c, "'%s' is missing, which '%s' needs", needed, name);
		}
	}
	return 0;
}

static int
check_dependent_schemas(struct check *c, const struct rule *r, json_t *value)
{
	for (size_t i = 0; i < r->member_count; i++)
		if (json_object_get(value, r->members[i].name) != NULL &&
		    check_node(c, r->members[i].node, value) != 0)
			return -1;
	return 0;
}

static int
check_properties(struct check *c, const struct rule *r, json_t *value)
{
	json_t *property;

	for (size_t i = 0; i < r->member_count; i++) {
		property = json_object_get(value, r->members[i].name);
		if (property != NULL &&
		    check_key(c, r->members[i].node, r->members[i].name, property) != 0)
			return -1;
	}
	return 0;
}

static int
check_pattern_properties(struct check *c, const struct rule *r, json_t *value)
{
	const char *key;
	json_t *property;

	json_object_foreach(value, key, property)
		for (size_t i = 0; i < r->member_count; i++)
			if (pattern_matches(r->members[i].pattern, key, strlen(key)) &&
			    check_key(c, r->members[i].node, key, property) != 0)
				return -1;
	return 0;
}

/* Whether properties or patternProperties beside the rule speak of the key. */
static bool
is_property(const struct rule *r, const char *key)
{
	const struct rule *patterns = rule_of(r->node, "patternProperties");

	if (json_object_get(json_object_get(r->node->document, "properties"), key) != NULL)
		return true;
	for (size_t i = 0; patterns != NULL && i < patterns->member_count; i++)
		if (pattern_matches(patterns->members[i].pattern, key, strlen(key)))
			return true;
	return false;
}

static int
check_additional_properties(struct check *c, const struct rule *r, json_t *value)
{
	const char *key;
	json_t *property;

	json_object_foreach(value, key, property) {
		if (is_property(r, key))
			continue;
		if (json_is_false(r->value))
			return fail(c, "unexpected '%s'", key);
		if (check_key(c, r->members[0].node, key, property) != 0)
			return -1;
	}
	return 0;
}

static int
check_property_names(struct check *c, const struct rule *r, json_t *value)
{
	const char *key;
	json_t *property, *name;
	int result = 0;

	json_object_foreach(value, key, property) {
		name = json_string(key);
		result = check_key(c, r->members[0].node, key, name);
		json_decref(name);
		if (result != 0)
			break;
	}
	return result;
}

static int
check_prefix_items(struct check *c, const struct rule *r, json_t *value)
{
	for (size_t i = 0; i < r->member_count && i < json_array_size(value); i++)
		if (check_index(c, r->members[i].node, i, json_array_get(value, i)) != 0)
			return -1;
	return 0;
}

/* One schema for all items from the given one on. */
static int
check_rest(struct check *c, const struct rule *r, json_t *value, size_t from)
{
	for (size_t i = from; i < json_array_size(value); i++)
		if (check_index(c, r->members[0].node, i, json_array_get(value, i)) != 0)
			return -1;
	return 0;
}

static int
check_items(struct check *c, const struct rule *r, json_t *value)
{
	if (json_is_array(r->value))
		return check_prefix_items(c, r, value);
	return check_rest(c, r, value,
	    json_array_size(json_object_get(r->node->document, "prefixItems")));
}

static int
check_additional_items(struct check *c, const struct rule *r, json_t *value)
{
	json_t *items = json_object_get(r->node->document, "items");

	return json_is_array(items) ? check_rest(c, r, value, json_array_size(items)) : 0;
}

static int
check_contains(struct check *c, const struct rule *r, json_t *value)
{
	const struct rule *least = rule_of(r->node, "minContains");
	const struct rule *most = rule_of(r->node, "maxContains");
	size_t min = least == NULL ? 1 : least->count, found = 0;

	for (size_t i = 0; i < json_array_size(value); i++)
		found += fits(c, r->members[0].node, json_array_get(value, i));
	if (found < min)
		return fail(c, "expected at least %zu %s as in 'contains', got %zu", min,
		    plural("item", min), found);
	if (most != NULL && found > most->count)
		return fail(c, "expected at most %zu %s as in 'contains', got %zu", most->count,
		    plural("item", most->count), found);
	return 0;
}

static int
items_compare(const void *a, const void *b)
{
	return value_compare(*(json_t *const *)a, *(json_t *const *)b);
}

static int
check_unique(struct check *c, const struct rule *r, json_t *value)
{
	size_t count = json_array_size(value), i;
	char have[SHOWN_BYTES + 4];
	json_t **items;
	int result = 0;

	if (!json_is_true(r->value) || count < 2)
		return 0;
	items = memory_array(NULL, count, sizeof(json_t *));
	for (i = 0; i < count; i++)
		items[i] = json_array_get(value, i);
	qsort(items, count, sizeof(json_t *), items_compare);
	for (i = 1; result == 0 && i < count; i++)
		if (value_compare(items[i - 1], items[i]) == 0)
			result = fail(c, "expected items without repeats, got %s twice",
			    shown(items[i], have));
	free(items);
	return result;
}

static int
check_all(struct check *c, const struct rule *r, json_t *value)
{
	for (size_t i = 0; i < r->member_count; i++)
		if (check_node(c, r->members[i].node, value) != 0)
			return -1;
	return 0;
}

static int
check_any(struct check *c, const struct rule *r, json_t *value)
{
	struct buffer first = BUFFER_INIT, *why = c->why;
	int result = -1;

	for (size_t i = 0; result != 0 && i < r->member_count; i++) {
		c->why = why != NULL && i == 0 ? &first : NULL;
		result = check_node(c, r->members[i].node, value);
	}
	c->why = why;
	if (result != 0)
		fail(c, "fits none of the %zu schemas of 'anyOf' (the first: %s)", r->member_count,
		    buffer_string(&first));
	buffer_free(&first);
	return result;
}

static int
check_one(struct check *c, const struct rule *r, json_t *value)
{
	size_t found = 0;

	for (size_t i = 0; i < r->member_count; i++)
		found += fits(c, r->members[i].node, value);
	return found == 1 ? 0 : fail(c, "fits %zu of the %zu schemas of 'oneOf', expected one",
	    found, r->member_count);
}

static int
check_not(struct check *c, const struct rule *r, json_t *value)
{
	return fits(c, r->members[0].node, value) ? fail(c, "fits what 'not' forbids") : 0;
}

static int
check_if(struct check *c, const struct rule *r, json_t *value)
{
	const struct rule *branch = rule_of(r->node,
	    fits(c, r->members[0].node, value) ? "then" : "else");

	return branch == NULL ? 0 : check_node(c, branch->members[0].node, value);
}

/* Every keyword there is; awf-tool(5) lists the same. Those without a compile
 * function say nothing about values; those without a check function serve others. */
const struct keyword schema_keywords[] = {
	{ "type", 0, false, rule_compile_type, check_type },
	{ "enum", 0, false, rule_compile_enum, check_enum },
	{ "const", 0, false, NULL, check_const },
	{ "required", 'o', false, rule_compile_names, check_required },
	{ "properties", 'o', false, rule_compile_schema_map, check_properties },
	{ "patternProperties", 'o', false, rule_compile_pattern_map, check_pattern_properties },
	{ "additionalProperties", 'o', false, rule_compile_schema, check_additional_properties },
	{ "propertyNames", 'o', false, rule_compile_schema, check_property_names },
	{ "minProperties", 'o', false, rule_compile_count, check_at_least },
	{ "maxProperties", 'o', false, rule_compile_count, check_at_most },
	{ "dependentRequired", 'o', false, rule_compile_name_map, check_dependent_required },
	{ "dependentSchemas", 'o', true, rule_compile_schema_map, check_dependent_schemas },
	{ "prefixItems", 'a', false, rule_compile_schemas, check_prefix_items },
	{ "items", 'a', false, rule_compile_items, check_items },
	{ "additionalItems", 'a', false, rule_compile_schema, check_additional_items },
	{ "contains", 'a', false, rule_compile_schema, check_contains },
	{ "minContains", 'a', false, rule_compile_count, NULL },
	{ "maxContains", 'a', false, rule_compile_count, NULL },
	{ "minItems", 'a', false, rule_compile_count, check_at_least },
	{ "maxItems", 'a', false, rule_compile_count, check_at_most },
	{ "uniqueItems", 'a', false, rule_compile_flag, check_unique },
	{ "minimum", 'n', false, rule_compile_number, check_minimum },
	{ "maximum", 'n', false, rule_compile_number, check_maximum },
	{ "exclusiveMinimum", 'n', false, rule_compile_number, check_above },
	{ "exclusiveMaximum", 'n', false, rule_compile_number, check_below },
	{ "multipleOf", 'n', false, rule_compile_divisor, check_multiple },
	{ "minLength", 's', false, rule_compile_count, check_at_least },
	{ "maxLength", 's', false, rule_compile_count, check_at_most },
	{ "pattern", 's', false, rule_compile_pattern, check_pattern },
	{ "allOf", 0, true, rule_compile_schemas, check_all },
	{ "anyOf", 0, true, rule_compile_schemas, check_any },
	{ "oneOf", 0, true, rule_compile_schemas, check_one },
	{ "not", 0, true, rule_compile_schema, check_not },
	{ "if", 0, true, rule_compile_schema, check_if },
	{ "then", 0, true, rule_compile_schema, NULL },
	{ "else", 0, true, rule_compile_schema, NULL },
	{ "$ref", 0, true, rule_compile_reference, check_all },
	{ "$defs", 0, false, rule_compile_schema_map, NULL },
	{ "definitions", 0, false, rule_compile_schema_map, NULL },
	{ "$anchor", 0, false, rule_compile_text, NULL },
	{ "$id", 0, false, rule_compile_id, NULL },
	{ "$schema", 0, false, NULL, NULL },
	{ "$comment", 0, false, NULL, NULL },
	{ "title", 0, false, NULL, NULL },
	{ "description", 0, false, NULL, NULL },
	{ "default", 0, false, NULL, NULL },
	{ "examples", 0, false, NULL, NULL },
	{ "format", 0, false, NULL, NULL },
	{ "deprecated", 0, false, NULL, NULL },
	{ "readOnly", 0, false, NULL, NULL },
	{ "writeOnly", 0, false, NULL, NULL },
	{ "contentMediaType", 0, false, NULL, NULL },
	{ "contentEncoding", 0, false, NULL, NULL },
	{ NULL, 0, false, NULL, NULL },
};

static int
check_rules(struct check *c, const struct node *n, json_t *value)
{
	const struct rule *r;
	char type = type_of(value);

	for (size_t i = 0; i < n->rule_count; i++) {
		r = &n->rules[i];
		if (r->keyword->check == NULL ||
		    (r->keyword->type != 0 && r->keyword->type != type))
			continue;
		if (r->keyword->check(c, r, value) != 0)
			return -1;
	}
	return 0;
}

static int
check_node(struct check *c, const struct node *n, json_t *value)
{
	int result;

	if (c->depth >= CHECK_DEPTH)
		c->stopped = "nested too deeply for its schema";
	if (++c->cost > CHECK_LIMIT)
		c->stopped = "too much to check against its schema";
	if (c->stopped != NULL)
		return -1;
	if (json_is_false(n->document))
		return fail(c, "nothing is allowed here");
	c->depth++;
	result = check_rules(c, n, value);
	c->depth--;
	return c->stopped != NULL ? -1 : result;
}

int
schema_check(const struct schema *schema, const json_t *instance, struct buffer *why)
{
	struct buffer reason = BUFFER_INIT;
	struct check c = { BUFFER_INIT, why == NULL ? NULL : &reason, 0, 0, NULL };
	int result;

	/* jansson's iterators take no const; nothing here changes the value. */
	result = check_node(&c, schema->first, (json_t *)instance);
	if (result != 0 && why != NULL)
		buffer_text(why, c.stopped != NULL ? c.stopped : buffer_string(&reason));
	buffer_free(&reason);
	buffer_free(&c.pointer);
	return result;
}
