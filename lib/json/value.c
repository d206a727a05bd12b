/*
 * The scanner looks at the bytes first: jansson sees only what is valid and not too deep, and
 * the messages are ours. Integers of more than 64 bits, which jansson refuses, are read again
 * as reals. Values are written by hand, as jansson writes 0.1 with seventeen digits.
 */
#include "json/value.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "json/bytes.h"
#include "json/scan.h"
#include "json/writer.h"

#define VALUE_LIMIT ((size_t)16 << 20)

static void
set_up(void)
{
	static bool done;

	if (!done)
		json_set_alloc_funcs(memory_alloc, free);
	done = true;
}

static json_t *
refuse(const char *place, size_t line, const char *what, enum error_code code, struct error *err)
{
	char *where = place ? memory_format("%s:%zu", place, line) :
	    memory_format("line %zu", line);

	error_set(err, code, where, "%s", what);
	free(where);
	return NULL;
}

static size_t
line_at(const char *bytes, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset; i++)
		line += bytes[i] == '\n';
	return line;
}

/* Whether the number token is an integer that jansson would refuse as too big. */
static bool
is_huge(struct span number)
{
	long long value;

	return !memchr(number.at, '.', number.len) && !memchr(number.at, 'e', number.len) &&
	    !memchr(number.at, 'E', number.len) && !span_integer(number, &value);
}

/* Copies checked JSON, with ".0" behind integers of more than 64 bits. */
static void
widen_integers(const char *bytes, size_t len, struct buffer *out)
{
	const char *at = bytes, *end = bytes + len;

	while (at < end) {
		const char *first = at;
		bool digit = *at == '-' || (*at >= '0' && *at <= '9');

		if (*at == '"') {
			for (at++; at < end && *at != '"';)
				at += *at == '\\' ? 2 : 1;
			at++;
		} else if (digit) {
			while (at < end && bytes_scalar(*at))
				at++;
		} else {
			at++;
		}
		buffer_append(out, first, (size_t)(at - first));
		if (digit && is_huge(span_of(first, (size_t)(at - first))))
			buffer_text(out, ".0");
	}
}

json_t *
value_parse(const char *bytes, size_t len, const char *place, enum error_code code,
    struct error *err)
{
	const size_t flags = JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
	size_t bad;
	const char *wrong = scan_check(bytes, len, &bad);
	json_error_t why;
	json_t *value;

	set_up();
	if (wrong)
		return refuse(place, line_at(bytes, bad), wrong, code, err);
	value = json_loadb(bytes, len, flags, &why);
	if (!value && json_error_code(&why) == json_error_numeric_overflow) {
		struct buffer wide = BUFFER_INIT;

		widen_integers(bytes, len, &wide);
		value = json_loadb(buffer_string(&wide), wide.len, flags, &why);
		buffer_free(&wide);
	}
	return value ? value : refuse(place, (size_t)why.line, why.text, code, err);
}

json_t *
value_load(const char *path, enum error_code code, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	json_t *value = NULL;

	if (file_load(path, VALUE_LIMIT, &text, err) == 0)
		value = value_parse(buffer_string(&text), text.len, path, code, err);
	buffer_free(&text);
	return value;
}

/* With as few digits as read back to the same number: 0.1, where jansson would
 * write 0.10000000000000001. */
static void
write_real(double number, struct buffer *out)
{
	char text[32];
	int digits = 14;

	do
		snprintf(text, sizeof text, "%.*g", ++digits, number);
	while (digits < 17 && strtod(text, NULL) != number);
	buffer_text(out, text);
	if (strpbrk(text, ".e") == NULL)
		buffer_text(out, ".0");
}

static void
write_members(json_t *object, struct buffer *out)
{
	const char *key;
	json_t *member;
	bool first = true;

	json_object_foreach(object, key, member) {
		if (!first)
			buffer_byte(out, ',');
		first = false;
		json_quote(out, key, strlen(key));
		buffer_byte(out, ':');
		value_write(member, out);
	}
}

static void
write_items(const json_t *array, struct buffer *out)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (i > 0)
			buffer_byte(out, ',');
		value_write(json_array_get(array, i), out);
	}
}

void
value_write(const json_t *value, struct buffer *out)
{
	static const char *const literals[] = {
		[JSON_TRUE] = "true", [JSON_FALSE] = "false", [JSON_NULL] = "null" };

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		buffer_byte(out, '{');
		write_members((json_t *)value, out); /* jansson's iterators take no const */
		buffer_byte(out, '}');
		break;
	case JSON_ARRAY:
		buffer_byte(out, '[');
		write_items(value, out);
		buffer_byte(out, ']');
		break;
	case JSON_STRING:
		json_quote(out, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		buffer_format(out, "%lld", (long long)json_integer_value(value));
		break;
	case JSON_REAL:
		write_real(json_real_value(value), out);
		break;
	default:
		buffer_text(out, literals[json_typeof(value)]);
	}
}
