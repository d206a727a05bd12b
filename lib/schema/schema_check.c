/*
 * Checks a value against the rules of a node; and what all keywords' checks use: the message, the
 * limit on work, the record of evaluated parts. A check always ends: schemas that apply to the same
 * value never refer to themselves in a cycle (except by dynamic references, for which the limit on
 * depth holds), so each turn of a cycle goes deeper into the value. Work is limited nevertheless,
 * since a schema may branch at every level.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/text.h"
#include "schema/schema_rule.h"

#define CHECK_DEPTH 1000
#define NODE_COST 20
#define MATCH_COST 20 /* work of starting a pattern, besides its steps */
#define LISTED_COST 5

char
schema_type_of(const json_t *value)
{
	static const char letters[] = { [JSON_OBJECT] = 'o', [JSON_ARRAY] = 'a',
		[JSON_STRING] = 's', [JSON_INTEGER] = 'n', [JSON_REAL] = 'n',
		[JSON_TRUE] = 'b', [JSON_FALSE] = 'b', [JSON_NULL] = '0' };

	return letters[json_typeof(value)];
}

const struct rule *
node_rule(const struct node *n, const char *keyword)
{
	for (size_t i = 0; i < n->rule_count; i++)
		if (strcmp(n->rules[i].keyword->name, keyword) == 0)
			return &n->rules[i];
	return NULL;
}

const char *
check_plural(const char *unit, size_t count)
{
	if (count == 1)
		return unit;
	return *unit == 'i' ? "items" : *unit == 'p' ? "properties" : "characters";
}

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

void
seen_item(struct seen *seen, size_t index)
{
	while (seen->contained.len <= index)
		buffer_byte(&seen->contained, 0);
	INVARIANT(index < seen->contained.len);
	seen->contained.data[index] = 1;
}

static void
seen_join(struct seen *seen, const struct seen *more)
{
	seen->all_properties |= more->all_properties;
	if (more->properties != NULL && seen->properties == NULL)
		seen->properties = json_incref(more->properties);
	else if (more->properties != NULL)
		json_object_update(seen->properties, more->properties);
	if (seen->items < more->items)
		seen->items = more->items;
	for (size_t i = 0; i < more->contained.len; i++)
		if (more->contained.data[i])
			seen_item(seen, i);
}

static void
seen_free(struct seen *seen)
{
	json_decref(seen->properties);
	buffer_free(&seen->contained);
}

int
check_node(struct check *c, const struct node *n, json_t *value)
{
	/* Parts that this node's rules evaluate are noted only for this node; the caller gets them
	 * if the value is valid. */
	struct seen own = { NULL, false, 0, BUFFER_INIT }, *outer = c->seen;
	struct scope scope = { n->resource, c->scope };
	char type = schema_type_of(value);
	int result = 0;

	if (c->depth >= CHECK_DEPTH)
		c->stopped = "nested too deeply for its schema";
	if (check_spend(c, NODE_COST) != 0)
		return -1;
	if (json_is_false(n->document))
		return check_fail(c, "nothing is allowed here");

	if (scope.outer == NULL || scope.outer->resource != n->resource)
		c->scope = &scope;
	c->seen = outer != NULL || n->counts ? &own : NULL;
	c->depth++;
	for (size_t i = 0; result == 0 && i < n->rule_count; i++) {
		const struct rule *r = &n->rules[i];
		/* Count one step of work for each entry of the rule: names, values, subschemas. */
		size_t listed = json_is_array(r->value) ? json_array_size(r->value)
		    : json_object_size(r->value);

		if (r->keyword->check != NULL && (r->keyword->type == 0 || r->keyword->type == type))
			result = check_spend(c, 1 + (long)listed * LISTED_COST) != 0 ? -1
			    : r->keyword->check(c, r, value);
	}
	INVARIANT(c->depth > 0);
	c->depth--;
	c->seen = outer;
	c->scope = scope.outer;
	if (result == 0 && outer != NULL)
		seen_join(outer, &own);
	seen_free(&own);
	INVARIANT(c->scope == scope.outer && c->seen == outer);
	return c->stopped != NULL ? -1 : result;
}
