/*
 * Keywords that check a value by itself. A type is a letter; "integer" is any whole number, also
 * 1.0. Duplicates are found by sorting the items in the total order of schema/compare.h: comparing
 * all pairs would be slow for large model answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "json/value.h"
#include "schema/compare.h"
#include "schema/schema_rule.h"

#define SHOWN_BYTES 100 /* length of a value in a message */

static const struct {
	const char *name;
	char letter;
} types[] = {
	{ "null", '0' }, { "boolean", 'b' }, { "number", 'n' }, { "integer", 'i' },
	{ "string", 's' }, { "array", 'a' }, { "object", 'o' },
};

static const char *
type_name(const json_t *value)
{
	char letter = number_is_whole(value) ? 'i' : schema_type_of(value);

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
			    : types[i].letter == schema_type_of(value);
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

/* Formats a value for a message: JSON, truncated. Returns out. */
static const char *
schema_write_shown_value(const json_t *value, char out[SHOWN_BYTES + 4])
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

/* Fails with a message that names the relation ("at least " …) and the rule's value. */
static int
schema_fail_comparison(struct check *c, const char *relation, const struct rule *r,
    const json_t *value)
{
	char want[SHOWN_BYTES + 4], have[SHOWN_BYTES + 4];

	if (c->why == NULL)
		return -1;
	return check_fail(c, "expected %s%s, got %s", relation,
	    schema_write_shown_value(r->value, want), schema_write_shown_value(value, have));
}

int
rule_check_type(struct check *c, const struct rule *r, json_t *value)
{
	struct buffer names = BUFFER_INIT;
	size_t count = json_array_size(r->value);

	if (json_is_string(r->value))
		return type_fits(json_string_value(r->value), value) ? 0
		    : check_fail(c, "expected %s, got %s", json_string_value(r->value), type_name(value));
	for (size_t i = 0; i < count; i++) {
		const char *name = json_string_value(json_array_get(r->value, i));

		if (type_fits(name, value)) {
			buffer_free(&names);
			return 0;
		}
		buffer_format(&names, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", name);
	}
	check_fail(c, "expected %s, got %s", buffer_string(&names), type_name(value));
	buffer_free(&names);
	return -1;
}

int
rule_check_const(struct check *c, const struct rule *r, json_t *value)
{
	return value_compare(r->value, value) == 0 ? 0 : schema_fail_comparison(c, "", r, value);
}

int
rule_check_enum(struct check *c, const struct rule *r, json_t *value)
{
	for (size_t i = 0; i < json_array_size(r->value); i++)
		if (value_compare(json_array_get(r->value, i), value) == 0)
			return 0;
	return schema_fail_comparison(c, "one of ", r, value);
}

int
rule_check_minimum(struct check *c, const struct rule *r, json_t *value)
{
	return number_compare(value, r->value) >= 0 ? 0 :
	    schema_fail_comparison(c, "at least ", r, value);
}

int
rule_check_maximum(struct check *c, const struct rule *r, json_t *value)
{
	return number_compare(value, r->value) <= 0 ? 0 :
	    schema_fail_comparison(c, "at most ", r, value);
}

int
rule_check_above(struct check *c, const struct rule *r, json_t *value)
{
	return number_compare(value, r->value) > 0 ? 0 :
	    schema_fail_comparison(c, "more than ", r, value);
}

int
rule_check_below(struct check *c, const struct rule *r, json_t *value)
{
	return number_compare(value, r->value) < 0 ? 0 :
	    schema_fail_comparison(c, "less than ", r, value);
}

int
rule_check_multiple(struct check *c, const struct rule *r, json_t *value)
{
	return number_divides(r->value, value) ? 0 :
	    schema_fail_comparison(c, "a multiple of ", r, value);
}

/* The length of the current value: code points, items or properties. */
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

int
rule_check_at_least(struct check *c, const struct rule *r, json_t *value)
{
	const char *unit;
	size_t size = size_of(value, &unit);

	return size >= r->count ? 0
	    : check_fail(c, "expected at least %zu %s, got %zu", r->count, check_plural(unit, r->count), size);
}

int
rule_check_at_most(struct check *c, const struct rule *r, json_t *value)
{
	const char *unit;
	size_t size = size_of(value, &unit);

	return size <= r->count ? 0
	    : check_fail(c, "expected at most %zu %s, got %zu", r->count, check_plural(unit, r->count), size);
}

int
rule_check_pattern(struct check *c, const struct rule *r, json_t *value)
{
	return check_matches(c, r->pattern, json_string_value(value), json_string_length(value)) ? 0
	    : schema_fail_comparison(c, "a match of ", r, value);
}

int
rule_check_format(struct check *c, const struct rule *r, json_t *value)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);

	if (r->format == NULL)
		return 0;
	if (check_spend(c, r->format->work) == 0 &&
	    (r->pattern == NULL || check_matches(c, r->pattern, text, len)) &&
	    (r->format->fits == NULL || r->format->fits(text, len)))
		return 0;
	return schema_fail_comparison(c, "a value of format ", r, value);
}

int
rule_check_required(struct check *c, const struct rule *r, json_t *value)
{
	const char *name;

	for (size_t i = 0; i < json_array_size(r->value); i++) {
		name = json_string_value(json_array_get(r->value, i));
		if (json_object_get(value, name) == NULL)
			return check_fail(c, "'%s' is missing", name);
	}
	return 0;
}

int
rule_check_dependent_required(struct check *c, const struct rule *r, json_t *value)
{
	const char *name, *needed;
	json_t *names;

	json_object_foreach(r->value, name, names) {
		if (json_object_get(value, name) == NULL)
			continue;
		for (size_t i = 0; i < json_array_size(names); i++) {
			needed = json_string_value(json_array_get(names, i));
			if (json_object_get(value, needed) == NULL)
				return check_fail(c, "'%s' is missing, which '%s' needs", needed, name);
		}
	}
	return 0;
}

static int
items_compare(const void *a, const void *b)
{
	return value_compare(*(json_t *const *)a, *(json_t *const *)b);
}

int
rule_check_unique(struct check *c, const struct rule *r, json_t *value)
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
			result = check_fail(c, "expected items without repeats, got %s twice",
			    schema_write_shown_value(items[i], have));
	free(items);
	return result;
}
