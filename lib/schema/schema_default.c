/*
 * Fills in properties that a schema requires and has a default for. The value is walked together
 * with all nodes that apply to it, including those of "$ref" and "allOf": one node may require a
 * property for which another has the default. Its bytes are copied; missing members are appended to
 * those of their object. Defaults are inserted unchanged. This is a convenience, not validation: if
 * a schema would take much work, the rest is left as it is.
 */
#include "schema/schema.h"

#include <string.h>

#include "base/invariant.h"
#include "json/value.h"
#include "json/writer.h"
#include "schema/schema_rule.h"

#define FILL_LIMIT 5000000 /* most rules and names that are examined */
#define NODES_LIMIT 64     /* most nodes that apply to one value */

/* The nodes that apply to one value. */
struct applied {
	const struct node *nodes[NODES_LIMIT];
	size_t count;
};

struct filling {
	struct span schema;
	struct buffer *out;
	long work;
	bool filled;
};

static void fill_value(struct filling *f, const struct applied *a, struct span value);

static void
schema_add_applied_node(struct filling *f, struct applied *a, const struct node *n)
{
	static const char *const same[] = { "$ref", "allOf" };

	for (size_t i = 0; i < a->count; i++)
		if (a->nodes[i] == n)
			return;
	f->work -= (long)(a->count + n->rule_count);
	if (a->count == NODES_LIMIT || f->work < 0)
		return;
	a->nodes[a->count++] = n;
	INVARIANT(a->count <= NODES_LIMIT);
	for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
		const struct rule *r = node_rule(n, same[k]);

		for (size_t i = 0; r != NULL && i < r->member_count; i++)
			schema_add_applied_node(f, a, r->members[i].node);
	}
}

/* Adds the nodes that apply to a property: that in "properties"; if there is none, that for all
 * other properties. */
static void
apply_property(struct filling *f, struct applied *to, const struct node *n, struct span key)
{
	const struct rule *r = node_rule(n, "properties");

	f->work -= (long)n->rule_count;
	for (size_t i = 0; r != NULL && i < r->member_count && f->work-- > 0; i++)
		if (span_is(key, r->members[i].name)) {
			schema_add_applied_node(f, to, r->members[i].node);
			return;
		}
	r = node_rule(n, "additionalProperties");
	if (r != NULL && r->member_count == 1 && node_rule(n, "patternProperties") == NULL)
		schema_add_applied_node(f, to, r->members[0].node);
}

/* The first default for a property in the nodes that apply to the object, as bytes in the text of
 * the schema. */
static struct span
find_default(struct filling *f, const struct applied *a, struct span key)
{
	struct span value = { NULL, 0 };

	for (size_t i = 0; value.at == NULL && i < a->count; i++) {
		struct applied property = { .count = 0 };

		apply_property(f, &property, a->nodes[i], key);
		for (size_t j = 0; value.at == NULL && j < property.count; j++) {
			const struct node *n = property.nodes[j];
			struct buffer pointer = BUFFER_INIT;

			if (n->foreign || node_rule(n, "default") == NULL)
				continue;
			buffer_text(&pointer, n->pointer);
			value_pointer_add(&pointer, "default");
			value = pointer_find(f->schema, buffer_string(&pointer));
			buffer_free(&pointer);
		}
	}
	return value;
}

static void
write_key(struct filling *f, size_t from, const char *key, size_t len)
{
	if (f->out->len > from)
		buffer_byte(f->out, ',');
	buffer_append(f->out, key, len);
	buffer_byte(f->out, ':');
}

/* Adds the required properties that are missing. from: position of the object's first member. */
static void
add_required(struct filling *f, const struct applied *a, const struct rule *required,
    struct span object, json_t *added, size_t from)
{
	const char *name;
	json_t *each;
	size_t i;

	json_array_foreach(required->value, i, each) {
		struct buffer key = BUFFER_INIT;
		struct span value;

		name = json_string_value(each);
		f->work -= (long)object.len / 16 + 1;
		if (f->work < 0)
			return;
		if (json_object_get(added, name) != NULL || span_member(object, name).at != NULL)
			continue;
		json_quote(&key, name, strlen(name));
		value = find_default(f, a, span_of(key.data, key.len));
		if (value.at != NULL) {
			write_key(f, from, key.data, key.len);
			buffer_append(f->out, value.at, value.len);
			json_object_set_new(added, name, json_true());
			f->filled = true;
		}
		buffer_free(&key);
	}
}

static void
fill_object(struct filling *f, const struct applied *a, struct span object)
{
	json_t *added = json_object();
	size_t from;

	buffer_byte(f->out, '{');
	from = f->out->len;
	for (struct span_walk member = span_walk(object); span_next(&member);) {
		struct applied property = { .count = 0 };

		for (size_t i = 0; i < a->count && f->work > 0; i++)
			apply_property(f, &property, a->nodes[i], member.key);
		write_key(f, from, member.key.at, member.key.len);
		fill_value(f, &property, member.value);
	}
	for (size_t i = 0; i < a->count; i++) {
		const struct rule *required = node_rule(a->nodes[i], "required");

		if (required != NULL)
			add_required(f, a, required, object, added, from);
	}
	json_decref(added);
	buffer_byte(f->out, '}');
}

static void
fill_array(struct filling *f, const struct applied *a, struct span array)
{
	struct applied items = { .count = 0 };
	const char *comma = "";

	for (size_t i = 0; i < a->count; i++) {
		const struct rule *r = node_rule(a->nodes[i], "items");

		if (r != NULL && !json_is_array(r->value) && node_rule(a->nodes[i], "prefixItems") == NULL)
			schema_add_applied_node(f, &items, r->members[0].node);
	}
	buffer_byte(f->out, '[');
	for (struct span_walk member = span_walk(array); span_next(&member);) {
		buffer_text(f->out, comma);
		fill_value(f, &items, member.value);
		comma = ",";
	}
	buffer_byte(f->out, ']');
}

static void
fill_value(struct filling *f, const struct applied *a, struct span value)
{
	if (a->count > 0 && f->work > 0 && span_type(value) == 'o')
		fill_object(f, a, value);
	else if (a->count > 0 && f->work > 0 && span_type(value) == 'a')
		fill_array(f, a, value);
	else
		buffer_append(f->out, value.at, value.len);
}

bool
schema_fill(const struct schema *schema, struct span text, struct span value, struct buffer *out)
{
	struct filling f = { .schema = text, .out = out, .work = FILL_LIMIT };
	struct applied a = { .count = 0 };

	if (!schema->defaults)
		return false;
	schema_add_applied_node(&f, &a, schema->first);
	fill_value(&f, &a, span_trim(value));
	if (!f.filled)
		buffer_clear(out);
	return f.filled;
}
