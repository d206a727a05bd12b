/*
 * Keywords that apply other schemas. c->seen collects which parts of the current value were
 * evaluated, for the "unevaluated" keywords. It is NULL if no keyword needs it, and is replaced
 * while a member or item is checked. c->why is NULL while a subschema may fail without an error, so
 * that no message is made.
 */
#include <stdint.h>
#include <string.h>

#include "json/value.h"
#include "schema/schema_rule.h"

/* Whether a subschema accepts the value; makes no message. */
static bool
schema_node_accepts(struct check *c, const struct node *n, json_t *value)
{
	struct buffer *why = c->why;
	int result;

	c->why = NULL;
	result = check_node(c, n, value);
	c->why = why;
	return result == 0;
}

/* Checks a member or item of the current value; it gets its own record of evaluated parts. */
static int
check_within(struct check *c, const struct node *n, json_t *value)
{
	struct seen *seen = c->seen;
	int result;

	c->seen = NULL;
	result = check_node(c, n, value);
	c->seen = seen;
	return result;
}

/* Checks the member with a key, or the item with an index, of the current value. */
static int
check_key(struct check *c, const struct node *n, const char *key, json_t *value)
{
	size_t len = c->pointer.len;
	int result;

	value_pointer_add(&c->pointer, key);
	result = check_within(c, n, value);
	c->pointer.len = len;
	return result;
}

static int
check_index(struct check *c, const struct node *n, size_t index, json_t *value)
{
	size_t len = c->pointer.len;
	int result;

	buffer_format(&c->pointer, "/%zu", index);
	result = check_within(c, n, value);
	c->pointer.len = len;
	return result;
}

static void
see_property(struct check *c, const char *key)
{
	if (c->seen == NULL)
		return;
	if (c->seen->properties == NULL)
		c->seen->properties = json_object();
	json_object_set_new(c->seen->properties, key, json_true());
}

static void
see_all_properties(struct check *c)
{
	if (c->seen != NULL)
		c->seen->all_properties = true;
}

/* Marks the items before `end` as evaluated. */
static void
see_items(struct check *c, size_t end)
{
	if (c->seen != NULL && c->seen->items < end)
		c->seen->items = end;
}

static bool
item_seen(const struct seen *seen, size_t index)
{
	return index < seen->items ||
	    (index < seen->contained.len && seen->contained.data[index]);
}

int
rule_check_dependent_schemas(struct check *c, const struct rule *r, json_t *value)
{
	for (size_t i = 0; i < r->member_count; i++)
		if (json_object_get(value, r->members[i].name) != NULL &&
		    check_node(c, r->members[i].node, value) != 0)
			return -1;
	return 0;
}

int
rule_check_properties(struct check *c, const struct rule *r, json_t *value)
{
	json_t *property;

	for (size_t i = 0; i < r->member_count; i++) {
		property = json_object_get(value, r->members[i].name);
		if (property == NULL)
			continue;
		if (check_key(c, r->members[i].node, r->members[i].name, property) != 0)
			return -1;
		see_property(c, r->members[i].name);
	}
	return 0;
}

int
rule_check_pattern_properties(struct check *c, const struct rule *r, json_t *value)
{
	const char *key;
	json_t *property;

	json_object_foreach(value, key, property)
		for (size_t i = 0; i < r->member_count; i++) {
			if (!check_matches(c, r->members[i].pattern, key, strlen(key)))
				continue;
			if (check_key(c, r->members[i].node, key, property) != 0)
				return -1;
			see_property(c, key);
		}
	return 0;
}

/* Whether the schema's properties or patternProperties apply to the key, so that the rule
 * (additionalProperties) does not. */
static bool
is_property(struct check *c, const struct rule *r, const char *key)
{
	const struct rule *patterns = node_rule(r->node, "patternProperties");

	if (json_object_get(json_object_get(r->node->document, "properties"), key) != NULL)
		return true;
	for (size_t i = 0; patterns != NULL && i < patterns->member_count; i++)
		if (check_matches(c, patterns->members[i].pattern, key, strlen(key)))
			return true;
	return false;
}

/* Checks a property to which no property keyword applies. */
static int
check_other(struct check *c, const struct rule *r, const char *key, json_t *property)
{
	if (json_is_false(r->value))
		return check_fail(c, "unexpected '%s'", key);
	return check_key(c, r->members[0].node, key, property);
}

int
rule_check_additional_properties(struct check *c, const struct rule *r, json_t *value)
{
	const char *key;
	json_t *property;

	json_object_foreach(value, key, property)
		if (!is_property(c, r, key) && check_other(c, r, key, property) != 0)
			return -1;
	see_all_properties(c);
	return 0;
}

int
rule_check_unevaluated_properties(struct check *c, const struct rule *r, json_t *value)
{
	const char *key;
	json_t *property;

	json_object_foreach(value, key, property)
		if (!c->seen->all_properties &&
		    json_object_get(c->seen->properties, key) == NULL &&
		    check_other(c, r, key, property) != 0)
			return -1;
	see_all_properties(c);
	return 0;
}

int
rule_check_property_names(struct check *c, const struct rule *r, json_t *value)
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

int
rule_check_dependencies(struct check *c, const struct rule *r, json_t *value)
{
	return rule_check_dependent_required(c, r, value) != 0 ? -1
	    : rule_check_dependent_schemas(c, r, value);
}

int
rule_check_prefix_items(struct check *c, const struct rule *r, json_t *value)
{
	for (size_t i = 0; i < r->member_count && i < json_array_size(value); i++)
		if (check_index(c, r->members[i].node, i, json_array_get(value, i)) != 0)
			return -1;
	see_items(c, r->member_count);
	return 0;
}

/* Applies one schema to all items from an index on. */
static int
check_rest(struct check *c, const struct rule *r, json_t *value, size_t from)
{
	for (size_t i = from; i < json_array_size(value); i++)
		if (check_index(c, r->members[0].node, i, json_array_get(value, i)) != 0)
			return -1;
	see_items(c, SIZE_MAX);
	return 0;
}

int
rule_check_items(struct check *c, const struct rule *r, json_t *value)
{
	if (json_is_array(r->value))
		return rule_check_prefix_items(c, r, value);
	return check_rest(c, r, value,
	    json_array_size(json_object_get(r->node->document, "prefixItems")));
}

int
rule_check_additional_items(struct check *c, const struct rule *r, json_t *value)
{
	json_t *items = json_object_get(r->node->document, "items");

	return json_is_array(items) ? check_rest(c, r, value, json_array_size(items)) : 0;
}

int
rule_check_unevaluated_items(struct check *c, const struct rule *r, json_t *value)
{
	for (size_t i = 0; i < json_array_size(value); i++)
		if (!item_seen(c->seen, i) &&
		    check_index(c, r->members[0].node, i, json_array_get(value, i)) != 0)
			return -1;
	see_items(c, SIZE_MAX);
	return 0;
}

static size_t
count_contained(struct check *c, const struct rule *r, json_t *value)
{
	struct buffer *why = c->why;
	size_t found = 0;

	c->why = NULL;
	for (size_t i = 0; i < json_array_size(value); i++)
		if (check_within(c, r->members[0].node, json_array_get(value, i)) == 0) {
			found++;
			if (c->seen != NULL)
				seen_item(c->seen, i);
		}
	c->why = why;
	return found;
}

int
rule_check_contains(struct check *c, const struct rule *r, json_t *value)
{
	const struct rule *least = node_rule(r->node, "minContains");
	const struct rule *most = node_rule(r->node, "maxContains");
	size_t min = least == NULL ? 1 : least->count, found = count_contained(c, r, value);

	if (found < min)
		return check_fail(c, "expected at least %zu %s as in 'contains', got %zu", min,
		    check_plural("item", min), found);
	if (most != NULL && found > most->count)
		return check_fail(c, "expected at most %zu %s as in 'contains', got %zu", most->count,
		    check_plural("item", most->count), found);
	return 0;
}

int
rule_check_all(struct check *c, const struct rule *r, json_t *value)
{
	for (size_t i = 0; i < r->member_count; i++)
		if (check_node(c, r->members[i].node, value) != 0)
			return -1;
	return 0;
}

/* Returns how many of the schemas accept the value; first gets the reason why the first one does
 * not. Stops after `most` of them, unless it must be known which parts were evaluated. */
static size_t
count_fitting(struct check *c, const struct rule *r, json_t *value, size_t most,
    struct buffer *first)
{
	struct buffer *why = c->why;
	size_t found = 0;

	for (size_t i = 0; i < r->member_count && (found < most || c->seen != NULL); i++) {
		c->why = why != NULL && i == 0 ? first : NULL;
		found += check_node(c, r->members[i].node, value) == 0;
	}
	c->why = why;
	return found;
}

int
rule_check_any(struct check *c, const struct rule *r, json_t *value)
{
	struct buffer first = BUFFER_INIT;
	size_t found = count_fitting(c, r, value, 1, &first);

	if (found == 0)
		check_fail(c, "fits none of the %zu schemas of 'anyOf' (the first: %s)",
		    r->member_count, buffer_string(&first));
	buffer_free(&first);
	return found > 0 ? 0 : -1;
}

int
rule_check_one(struct check *c, const struct rule *r, json_t *value)
{
	struct buffer first = BUFFER_INIT;
	size_t found = count_fitting(c, r, value, r->member_count, &first);

	if (found == 0)
		check_fail(c, "fits none of the %zu schemas of 'oneOf' (the first: %s)",
		    r->member_count, buffer_string(&first));
	else if (found > 1)
		check_fail(c, "fits %zu of the %zu schemas of 'oneOf', expected one", found,
		    r->member_count);
	buffer_free(&first);
	return found == 1 ? 0 : -1;
}

int
rule_check_not(struct check *c, const struct rule *r, json_t *value)
{
	struct seen *seen = c->seen;
	bool taken;

	c->seen = NULL;
	taken = schema_node_accepts(c, r->members[0].node, value);
	c->seen = seen;
	return taken ? check_fail(c, "fits what 'not' forbids") : 0;
}

int
rule_check_if(struct check *c, const struct rule *r, json_t *value)
{
	const struct rule *branch = node_rule(r->node,
	    schema_node_accepts(c, r->members[0].node, value) ? "then" : "else");

	return branch == NULL ? 0 : check_node(c, branch->members[0].node, value);
}

/* $dynamicRef: of the resources that the check is in, the outermost one with the anchor determines
 * the target. */
int
rule_check_dynamic(struct check *c, const struct rule *r, json_t *value)
{
	const struct node *target = r->members[0].node, *found;

	for (const struct scope *s = c->scope; r->anchor != NULL && s != NULL; s = s->outer) {
		found = resource_anchor(s->resource, r->anchor, true);
		if (found != NULL)
			target = found;
	}
	return check_node(c, target, value);
}
