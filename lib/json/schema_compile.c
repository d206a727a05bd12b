/*
 * Nodes are compiled from a list, not by recursion: no document exhausts the stack.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "json/compare.h"
#include "json/schema.h"
#include "json/schema_rule.h"

#define NODE_LIMIT 20000
#define REFERENCE_LIMIT 1000 /* in a row */
#define KEYWORD_LIMIT 128

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
	schema_pointer_key(&text, r->keyword->name);
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
	schema_pointer_key(&pointer, r->keyword->name);
	if (name != NULL)
		schema_pointer_key(&pointer, name);
	if (index >= 0)
		buffer_format(&pointer, "/%ld", index);
	r->members = memory_array(r->members, r->member_count + 1, sizeof *r->members);
	m = &r->members[r->member_count++];
	*m = (struct member){ name, NULL, node_of(c, document, buffer_take(&pointer)) };
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
		return refuse(c, r, "expected an array of schemas that is not empty");
	for (size_t i = 0; i < json_array_size(r->value); i++)
		if (add_member(c, r, NULL, (long)i, json_array_get(r->value, i)) != 0)
			return -1;
	return 0;
}

/* Draft-7 has arrays of schemas where 2020-12 has prefixItems. */
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
		return refuse(c, r, "expected a regular expression");
	r->pattern = make_pattern(c, r, json_string_value(r->value),
	    json_string_length(r->value));
	return r->pattern == NULL ? -1 : 0;
}

int
rule_compile_count(struct compiler *c, struct rule *r)
{
	double number = json_number_value(r->value);

	if (!json_is_number(r->value) || !number_is_whole(r->value) || number < 0 || number > 0x1p53)
		return refuse(c, r, "expected a whole number of 0 or more");
	r->count = (size_t)number;
	return 0;
}

int
rule_compile_number(struct compiler *c, struct rule *r)
{
	return json_is_number(r->value) ? 0 : refuse(c, r, "expected a number");
}

int
rule_compile_divisor(struct compiler *c, struct rule *r)
{
	return json_is_number(r->value) && json_number_value(r->value) > 0 ? 0
	    : refuse(c, r, "expected a number above 0");
}

int
rule_compile_flag(struct compiler *c, struct rule *r)
{
	return json_is_boolean(r->value) ? 0 : refuse(c, r, "expected true or false");
}

int
rule_compile_text(struct compiler *c, struct rule *r)
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

int
rule_compile_names(struct compiler *c, struct rule *r)
{
	return is_names(r->value) ? 0 : refuse(c, r, "expected an array of strings");
}

int
rule_compile_name_map(struct compiler *c, struct rule *r)
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

int
rule_compile_type(struct compiler *c, struct rule *r)
{
	bool known = schema_type_known(r->value) || json_array_size(r->value) > 0;

	for (size_t i = 0; i < json_array_size(r->value); i++)
		known = known && schema_type_known(json_array_get(r->value, i));
	return known ? 0 : refuse(c, r, "expected null, boolean, number, integer, string, "
	    "array or object, or an array of these");
}

int
rule_compile_enum(struct compiler *c, struct rule *r)
{
	return json_array_size(r->value) > 0 ? 0
	    : refuse(c, r, "expected an array of values that is not empty");
}

/* Below the root an $id would change what references mean. */
int
rule_compile_id(struct compiler *c, struct rule *r)
{
	if (r->node != c->schema->first)
		return refuse(c, r, "only supported at the root of a schema");
	return rule_compile_text(c, r);
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
	int high, low;

	buffer_text(&token, "");
	while (**at != '\0' && **at != '/') {
		c = *(*at)++;
		if (c == '%' && (high = hex_value((*at)[0])) >= 0 && (low = hex_value((*at)[1])) >= 0) {
			c = (char)(high << 4 | low);
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

static void
set_target(struct rule *r, struct node *target)
{
	r->members = memory_zero(1, sizeof *r->members);
	r->members[0].node = target;
	r->member_count = 1;
}

/* Pointers become nodes at once. Anchors have to wait until all nodes are known. */
int
rule_compile_reference(struct compiler *c, struct rule *r)
{
	const char *text = json_string_value(r->value);
	struct node *node;
	json_t *target;

	if (text == NULL || *text != '#')
		return refuse(c, r, "only references within the schema (\"#…\") are supported");
	if (text[1] != '\0' && text[1] != '/')
		return 0;
	target = pointer_target(c->schema->document, text + 1);
	if (target == NULL)
		return refuse(c, r, "'%s' leads nowhere", text);
	node = node_of(c, target, memory_text(text + 1));
	if (node == NULL)
		return -1;
	set_target(r, node);
	return 0;
}

static int
resolve_anchor(struct compiler *c, struct rule *r)
{
	struct node *target = anchor_target(c->schema, json_string_value(r->value) + 1);

	if (target == NULL)
		return refuse(c, r, "'%s' leads nowhere", json_string_value(r->value));
	set_target(r, target);
	return 0;
}

static const struct keyword *
find_keyword(const char *name)
{
	const struct keyword *k = schema_keywords;

	while (k->name != NULL && strcmp(k->name, name) != 0)
		k++;
	return k->name == NULL ? NULL : k;
}

static int
unknown_keyword(struct compiler *c, const struct node *n, const char *name)
{
	const char *names[KEYWORD_LIMIT] = { NULL }, *meant;
	struct keyword unknown = { .name = name };
	struct rule r = { .keyword = &unknown, .node = n };

	for (size_t i = 0; i + 1 < KEYWORD_LIMIT && schema_keywords[i].name != NULL; i++)
		names[i] = schema_keywords[i].name;
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

/* All that are left over by rule_compile_reference(). */
static int
resolve_anchors(struct compiler *c)
{
	for (struct node *n = c->schema->first; n != NULL; n = n->next)
		for (size_t i = 0; i < n->rule_count; i++)
			if (n->rules[i].keyword->compile == rule_compile_reference &&
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
	if (n->visit == ENTERED || depth > REFERENCE_LIMIT) {
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
