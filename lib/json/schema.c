/*
 * - Every subschema is a node; a node is found again by its place in the document,
 *   so a reference to it, also to itself, is one pointer.
 * - Nodes are compiled from a list, not by recursion: no document exhausts the stack.
 * - A compiled schema has no circle of references that apply to one value; so a
 *   check ends, as it goes deeper into the value at each round. What it may cost is
 *   bounded nevertheless, for schemas that branch at every level.
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
#include "json/pattern.h"
#include "json/value.h"

#define NODE_LIMIT 20000
#define CHECK_DEPTH 1000
#define CHECK_LIMIT 10000000
#define SHOWN_BYTES 100 /* of a value in a message */

/* A subschema that a keyword applies, by name or by pattern where it has one. */
struct member {
	const char *name;
	struct pattern *pattern;
	struct node *node;
};

struct rule {
	const struct keyword *keyword;
	const struct node *node;  /* whose rule it is */
	json_t *value;
	struct member *members;
	size_t member_count;
	size_t count;             /* minLength … */
	struct pattern *pattern;
};

struct node {
	json_t *document;
	char *pointer;            /* of the node in the document */
	struct rule *rules;
	size_t rule_count;
	enum { UNSEEN, ENTERED, LEFT } visit; /* of the search for circles */
	struct node *next;
};

struct schema {
	json_t *document;
	struct node *first, *last;
	size_t node_count;
};

struct compiler {
	struct schema *schema;
	const char *place;
	struct error *err;
};

struct check {
	struct buffer pointer;    /* of the value at hand */
	struct buffer *why;       /* NULL: nobody asks */
	unsigned depth;
	long cost;
	const char *stopped;      /* a limit was met: nothing is known, all fails */
};

struct keyword {
	const char *name;
	char type;                /* of the values it speaks of ("anos"), 0: of any */
	bool same_value;          /* its subschemas apply to the value itself */
	int (*compile)(struct compiler *c, struct rule *r);
	int (*check)(struct check *c, const struct rule *r, json_t *value);
};

static const struct {
	const char *name;
	char letter;
} types[] = {
	{ "null", '0' }, { "boolean", 'b' }, { "number", 'n' }, { "integer", 'i' },
	{ "string", 's' }, { "array", 'a' }, { "object", 'o' },
};

static bool
is_integral(const json_t *value)
{
	return json_is_integer(value) ||
	    (json_is_real(value) && number_whole(json_real_value(value)) == json_real_value(value));
}

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
	char letter = is_integral(value) ? 'i' : type_of(value);

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
			return types[i].letter == 'i' ? is_integral(value)
			    : types[i].letter == type_of(value);
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

static void
pointer_key(struct buffer *pointer, const char *key)
{
	buffer_byte(pointer, '/');
	for (; *key != '\0'; key++)
		if (*key == '~' || *key == '/')
			buffer_text(pointer, *key == '~' ? "~0" : "~1");
		else
			buffer_byte(pointer, *key);
}

static int __attribute__((format(printf, 3, 4)))
refuse(struct compiler *c, const struct rule *r, const char *format, ...)
{
	struct buffer text = BUFFER_INIT;
	va_list list;
	char message[512];

	va_start(list, format);
	vsnprintf(message, sizeof message, format, list);
	va_end(list);
	buffer_text(&text, r->node->pointer);
	pointer_key(&text, r->keyword->name);
	error_set(c->err, ERROR_DEFINITION, c->place, "%s: %s", text.data, message);
	buffer_free(&text);
	return -1;
}

/* The node of a subschema at rule/key, made if it is new. NULL if it is none. */
static struct node *
node_of(struct compiler *c, json_t *document, char *pointer)
{
	struct schema *s = c->schema;
	struct node *n;

	for (n = s->first; n != NULL; n = n->next)
		if (n->document == document) {
			free(pointer);
			return n;
		}
	if ((!json_is_object(document) && !json_is_boolean(document)) ||
	    s->node_count >= NODE_LIMIT) {
		error_set(c->err, ERROR_DEFINITION, c->place, s->node_count >= NODE_LIMIT
		    ? "%s: the schema is too large" : "%s: expected a schema", pointer);
		free(pointer);
		return NULL;
	}
	n = memory_zero(1, sizeof *n);
	n->document = document;
	n->pointer = pointer;
	if (s->last != NULL)
		s->last->next = n;
	else
		s->first = n;
	s->last = n;
	s->node_count++;
	return n;
}

/* Adds a subschema to a rule. name (NULL: none) and index (-1: none) say where in
 * the rule's value it stands. */
static int
add_member(struct compiler *c, struct rule *r, const char *name, long index, json_t *document)
{
	struct buffer pointer = BUFFER_INIT;
	struct member *m;

	buffer_text(&pointer, r->node->pointer);
	pointer_key(&pointer, r->keyword->name);
	if (name != NULL)
		pointer_key(&pointer, name);
	if (index >= 0)
		buffer_format(&pointer, "/%ld", index);
	r->members = memory_array(r->members, r->member_count + 1, sizeof *r->members);
	m = &r->members[r->member_count++];
	*m = (struct member){ name, NULL, node_of(c, document, buffer_take(&pointer)) };
	return m->node == NULL ? -1 : 0;
}

static int
compile_schema(struct compiler *c, struct rule *r)
{
	return add_member(c, r, NULL, -1, r->value);
}

static int
compile_schemas(struct compiler *c, struct rule *r)
{
	if (!json_is_array(r->value) || json_array_size(r->value) == 0)
		return refuse(c, r, "expected an array of schemas that is not empty");
	for (size_t i = 0; i < json_array_size(r->value); i++)
		if (add_member(c, r, NULL, (long)i, json_array_get(r->value, i)) != 0)
			return -1;
	return 0;
}

/* Draft-7 has arrays of schemas where 2020-12 has prefixItems. */
static int
compile_items(struct compiler *c, struct rule *r)
{
	return json_is_array(r->value) ? compile_schemas(c, r) : compile_schema(c, r);
}

static int
compile_schema_map(struct compiler *c, struct rule *r)
{
	const char *name;
	json_t *schema;

	if (!json_is_object(r->value))
		return refuse(c, r, "expected an object of schemas");
	json_object_foreach(r->value, name, schema)
		if (add_member(c, r, name, -1, schema) != 0)
			return -1;
	return 0;
}

static struct pattern *
make_pattern(struct compiler *c, const struct rule *r, const char *source, size_t len)
{
	const char *why;
	struct pattern *p = pattern_compile(source, len, &why);

	if (p == NULL)
		refuse(c, r, "'%s': %s", source, why);
	return p;
}

static int
compile_pattern_map(struct compiler *c, struct rule *r)
{
	struct member *m;

	if (compile_schema_map(c, r) != 0)
		return -1;
	for (size_t i = 0; i < r->member_count; i++) {
		m = &r->members[i];
		m->pattern = make_pattern(c, r, m->name, strlen(m->name));
		if (m->pattern == NULL)
			return -1;
	}
	return 0;
}

static int
compile_pattern(struct compiler *c, struct rule *r)
{
	if (!json_is_string(r->value))
		return refuse(c, r, "expected a regular expression");
	r->pattern = make_pattern(c, r, json_string_value(r->value),
	    json_string_length(r->value));
	return r->pattern == NULL ? -1 : 0;
}

static int
compile_count(struct compiler *c, struct rule *r)
{
	double number = json_number_value(r->value);

	if (!json_is_number(r->value) || !is_integral(r->value) || number < 0 || number > 0x1p53)
		return refuse(c, r, "expected a whole number of 0 or more");
	r->count = (size_t)number;
	return 0;
}

static int
compile_number(struct compiler *c, struct rule *r)
{
	return json_is_number(r->value) ? 0 : refuse(c, r, "expected a number");
}

static int
compile_divisor(struct compiler *c, struct rule *r)
{
	return json_is_number(r->value) && json_number_value(r->value) > 0 ? 0
	    : refuse(c, r, "expected a number above 0");
}

static int
compile_flag(struct compiler *c, struct rule *r)
{
	return json_is_boolean(r->value) ? 0 : refuse(c, r, "expected true or false");
}

static int
compile_text(struct compiler *c, struct rule *r)
{
	return json_is_string(r->value) ? 0 : refuse(c, r, "expected a string");
}

static bool
is_names(const json_t *value)
{
	for (size_t i = 0; i < json_array_size(value); i++)
		if (!json_is_string(json_array_get(value, i)))
			return false;
	return json_is_array(value);
}

static int
compile_names(struct compiler *c, struct rule *r)
{
	return is_names(r->value) ? 0 : refuse(c, r, "expected an array of strings");
}

static int
compile_name_map(struct compiler *c, struct rule *r)
{
	const char *name;
	json_t *names;

	if (!json_is_object(r->value))
		return refuse(c, r, "expected an object of arrays of strings");
	json_object_foreach(r->value, name, names)
		if (!is_names(names))
			return refuse(c, r, "%s: expected an array of strings", name);
	return 0;
}

static bool
is_type(const json_t *name)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (json_is_string(name) && strcmp(types[i].name, json_string_value(name)) == 0)
			return true;
	return false;
}

static int
compile_type(struct compiler *c, struct rule *r)
{
	bool known = is_type(r->value) || json_array_size(r->value) > 0;

	for (size_t i = 0; i < json_array_size(r->value); i++)
		known = known && is_type(json_array_get(r->value, i));
	return known ? 0 : refuse(c, r, "expected null, boolean, number, integer, string, "
	    "array or object, or an array of these");
}

static int
compile_enum(struct compiler *c, struct rule *r)
{
	return json_array_size(r->value) > 0 ? 0
	    : refuse(c, r, "expected an array of values that is not empty");
}

/* Below the root an $id would change what references mean. */
static int
compile_id(struct compiler *c, struct rule *r)
{
	if (r->node != c->schema->first)
		return refuse(c, r, "only supported at the root of a schema");
	return compile_text(c, r);
}

static int
hex_value(char digit)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = digit == '\0' ? NULL : strchr(digits, digit | 0x20);

	return found == NULL ? -1 : (int)(found - digits);
}

/* One token of a pointer in a URI fragment (RFC 6901, section 6), decoded; *at is
 * moved to what follows it. */
static char *
reference_token(const char **at)
{
	struct buffer token = BUFFER_INIT;
	char c;

	buffer_text(&token, "");
	while (**at != '\0' && **at != '/') {
		c = *(*at)++;
		if (c == '%' && hex_value((*at)[0]) >= 0 && hex_value((*at)[1]) >= 0) {
			c = (char)(hex_value((*at)[0]) << 4 | hex_value((*at)[1]));
			*at += 2;
		}
		if (c == '~' && (**at == '0' || **at == '1'))
			c = *(*at)++ == '0' ? '~' : '/';
		buffer_byte(&token, c);
	}
	return buffer_take(&token);
}

static json_t *
child_of(const json_t *value, const char *token)
{
	char *end;
	unsigned long index;

	if (!json_is_array(value))
		return json_object_get(value, token);
	index = strtoul(token, &end, 10);
	return *token >= '0' && *token <= '9' && *end == '\0' ? json_array_get(value, index)
	    : NULL;
}

static json_t *
pointer_target(json_t *document, const char *pointer)
{
	char *token;

	while (document != NULL && *pointer == '/') {
		pointer++;
		token = reference_token(&pointer);
		document = child_of(document, token);
		free(token);
	}
	return document;
}

static struct node *
anchor_target(const struct schema *s, const char *name)
{
	const char *anchor;

	for (struct node *n = s->first; n != NULL; n = n->next) {
		anchor = json_string_value(json_object_get(n->document, "$anchor"));
		if (anchor != NULL && strcmp(anchor, name) == 0)
			return n;
	}
	return NULL;
}

/* Pointers become nodes at once. Anchors have to wait until all nodes are known. */
static int
compile_reference(struct compiler *c, struct rule *r)
{
	const char *text = json_string_value(r->value);
	json_t *target;

	if (text == NULL || *text != '#')
		return refuse(c, r, "only references within the schema (\"#…\") are supported");
	if (text[1] != '\0' && text[1] != '/')
		return 0;
	target = pointer_target(c->schema->document, text + 1);
	if (target == NULL)
		return refuse(c, r, "'%s' leads nowhere", text);
	r->members = memory_zero(1, sizeof *r->members);
	r->member_count = 1;
	r->members[0].node = node_of(c, target, memory_text(text + 1));
	return r->members[0].node == NULL ? -1 : 0;
}

static int
resolve_anchor(struct compiler *c, struct rule *r)
{
	struct node *target = anchor_target(c->schema, json_string_value(r->value) + 1);

	if (target == NULL)
		return refuse(c, r, "'%s' leads nowhere", json_string_value(r->value));
	r->members = memory_zero(1, sizeof *r->members);
	r->member_count = 1;
	r->members[0].node = target;
	return 0;
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
	strcpy(out + len, json.len > len ? "…" : "");
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

	pointer_key(&c->pointer, key);
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
static const struct keyword keywords[] = {
	{ "type", 0, false, compile_type, check_type },
	{ "enum", 0, false, compile_enum, check_enum },
	{ "const", 0, false, NULL, check_const },
	{ "required", 'o', false, compile_names, check_required },
	{ "properties", 'o', false, compile_schema_map, check_properties },
	{ "patternProperties", 'o', false, compile_pattern_map, check_pattern_properties },
	{ "additionalProperties", 'o', false, compile_schema, check_additional_properties },
	{ "propertyNames", 'o', false, compile_schema, check_property_names },
	{ "minProperties", 'o', false, compile_count, check_at_least },
	{ "maxProperties", 'o', false, compile_count, check_at_most },
	{ "dependentRequired", 'o', false, compile_name_map, check_dependent_required },
	{ "dependentSchemas", 'o', true, compile_schema_map, check_dependent_schemas },
	{ "prefixItems", 'a', false, compile_schemas, check_prefix_items },
	{ "items", 'a', false, compile_items, check_items },
	{ "additionalItems", 'a', false, compile_schema, check_additional_items },
	{ "contains", 'a', false, compile_schema, check_contains },
	{ "minContains", 'a', false, compile_count, NULL },
	{ "maxContains", 'a', false, compile_count, NULL },
	{ "minItems", 'a', false, compile_count, check_at_least },
	{ "maxItems", 'a', false, compile_count, check_at_most },
	{ "uniqueItems", 'a', false, compile_flag, check_unique },
	{ "minimum", 'n', false, compile_number, check_minimum },
	{ "maximum", 'n', false, compile_number, check_maximum },
	{ "exclusiveMinimum", 'n', false, compile_number, check_above },
	{ "exclusiveMaximum", 'n', false, compile_number, check_below },
	{ "multipleOf", 'n', false, compile_divisor, check_multiple },
	{ "minLength", 's', false, compile_count, check_at_least },
	{ "maxLength", 's', false, compile_count, check_at_most },
	{ "pattern", 's', false, compile_pattern, check_pattern },
	{ "allOf", 0, true, compile_schemas, check_all },
	{ "anyOf", 0, true, compile_schemas, check_any },
	{ "oneOf", 0, true, compile_schemas, check_one },
	{ "not", 0, true, compile_schema, check_not },
	{ "if", 0, true, compile_schema, check_if },
	{ "then", 0, true, compile_schema, NULL },
	{ "else", 0, true, compile_schema, NULL },
	{ "$ref", 0, true, compile_reference, check_all },
	{ "$defs", 0, false, compile_schema_map, NULL },
	{ "definitions", 0, false, compile_schema_map, NULL },
	{ "$anchor", 0, false, compile_text, NULL },
	{ "$id", 0, false, compile_id, NULL },
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

static const struct keyword *
find_keyword(const char *name)
{
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
		if (strcmp(keywords[i].name, name) == 0)
			return &keywords[i];
	return NULL;
}

static int
unknown_keyword(struct compiler *c, const struct node *n, const char *name)
{
	const char *names[sizeof keywords / sizeof *keywords + 1] = { NULL };
	struct keyword unknown = { .name = name };
	struct rule r = { .keyword = &unknown, .node = n };
	const char *meant;

	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
		names[i] = keywords[i].name;
	meant = text_suggest(name, names);
	if (meant == NULL)
		return refuse(c, &r, "unsupported keyword");
	return refuse(c, &r, "unsupported keyword (did you mean '%s'?)", meant);
}

static int
compile_node(struct compiler *c, struct node *n)
{
	const char *name;
	json_t *value;
	struct rule *r;
	const struct keyword *keyword;

	n->rules = memory_zero(json_object_size(n->document) + 1, sizeof *n->rules);
	json_object_foreach(n->document, name, value) {
		keyword = find_keyword(name);
		if (keyword == NULL)
			return unknown_keyword(c, n, name);
		r = &n->rules[n->rule_count++];
		*r = (struct rule){ .keyword = keyword, .node = n, .value = value };
		if (keyword->compile != NULL && keyword->compile(c, r) != 0)
			return -1;
	}
	return 0;
}

/* All that are left over by compile_reference(). */
static int
resolve_anchors(struct compiler *c)
{
	for (struct node *n = c->schema->first; n != NULL; n = n->next)
		for (size_t i = 0; i < n->rule_count; i++)
			if (n->rules[i].keyword->compile == compile_reference &&
			    n->rules[i].member_count == 0 && resolve_anchor(c, &n->rules[i]) != 0)
				return -1;
	return 0;
}

/* Follows what applies to the same value; a node met while it is entered closes a
 * circle. The depth of the recursion is that of the longest such chain. */
static int
find_circle(struct compiler *c, struct node *n, unsigned depth)
{
	if (n->visit == LEFT)
		return 0;
	if (n->visit == ENTERED || depth > CHECK_DEPTH) {
		error_set(c->err, ERROR_DEFINITION, c->place, n->visit == ENTERED
		    ? "%s: refers to itself without end" : "%s: refers on too often",
		    *n->pointer == '\0' ? "/" : n->pointer);
		return -1;
	}
	n->visit = ENTERED;
	for (size_t i = 0; i < n->rule_count; i++)
		for (size_t j = 0; n->rules[i].keyword->same_value &&
		    j < n->rules[i].member_count; j++)
			if (find_circle(c, n->rules[i].members[j].node, depth + 1) != 0)
				return -1;
	n->visit = LEFT;
	return 0;
}

static int
compile_all(struct compiler *c)
{
	if (node_of(c, c->schema->document, memory_text("")) == NULL)
		return -1;
	for (struct node *n = c->schema->first; n != NULL; n = n->next)
		if (compile_node(c, n) != 0)
			return -1;
	if (resolve_anchors(c) != 0)
		return -1;
	for (struct node *n = c->schema->first; n != NULL; n = n->next)
		if (find_circle(c, n, 0) != 0)
			return -1;
	return 0;
}

struct schema *
schema_compile(json_t *document, const char *place, struct error *err)
{
	struct schema *s = memory_zero(1, sizeof *s);
	struct compiler c = { s, place, err };

	s->document = json_incref(document);
	if (compile_all(&c) == 0)
		return s;
	schema_free(s);
	return NULL;
}

static void
rule_free(struct rule *r)
{
	for (size_t i = 0; i < r->member_count; i++)
		pattern_free(r->members[i].pattern);
	free(r->members);
	pattern_free(r->pattern);
}

void
schema_free(struct schema *s)
{
	struct node *n, *next;

	if (s == NULL)
		return;
	for (n = s->first; n != NULL; n = next) {
		next = n->next;
		for (size_t i = 0; i < n->rule_count; i++)
			rule_free(&n->rules[i]);
		free(n->rules);
		free(n->pointer);
		free(n);
	}
	json_decref(s->document);
	free(s);
}
