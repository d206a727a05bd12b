/*
 * The scanner checks the bytes first: jansson only gets JSON that is valid and not too deep, and
 * the error messages are AWF's. Integers of more than 64 bits, which jansson rejects, are parsed
 * again as reals. Values are not written by jansson, since it writes 0.1 with seventeen digits.
 */
#include "json/value.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "json/bytes.h"
#include "json/scan.h"
#include "json/writer.h"

#define VALUE_LIMIT ((size_t)16 << 20)

static json_t *
value_set_error(const char *place, size_t line, const char *what, enum error_code code,
    struct error *err)
{
	char *where = place ? memory_format("%s:%zu", place, line) :
	    memory_format("line %zu", line);

	error_set(err, code, where, "%s", what);
	free(where);
	return NULL;
}

/* Copies checked JSON, and appends ".0" to integers of more than 64 bits. */
static void
widen_integers(const char *bytes, size_t len, struct buffer *out)
{
	const char *at = bytes, *end = bytes + len;

	while (at < end) {
		const char *first = at;
		bool digit = *at == '-' || (*at >= '0' && *at <= '9'), real = false;
		long long value;

		if (*at == '"') {
			for (at++; at < end && *at != '"';)
				at += *at == '\\' ? 2 : 1;
			at++;
		} else if (digit) {
			for (; at < end && bytes_scalar(*at); at++)
				real = real || *at == '.' || *at == 'e' || *at == 'E';
		} else {
			at++;
		}
		buffer_append(out, first, (size_t)(at - first));
		if (digit && !real && !span_integer(span_of(first, (size_t)(at - first)), &value))
			buffer_text(out, ".0");
	}
	INVARIANT(at == end);
}

json_t *
value_parse(const char *bytes, size_t len, const char *place, enum error_code code,
    struct error *err)
{
	const size_t flags = JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
	static bool set_up;
	const size_t mark = text_byte_order_mark(bytes, len);
	size_t bad, line = 1;
	const char *wrong;
	char no_json[128];
	json_error_t why;
	json_t *value;

	bytes += mark;
	len -= mark;
	wrong = scan_check(bytes, len, &bad);
	if (!set_up)
		json_set_alloc_funcs(memory_alloc, free);
	set_up = true;
	if (wrong) {
		for (size_t i = 0; i < bad; i++)
			line += bytes[i] == '\n';
		/* A caller that gives no place has a message of its own. */
		if (!place)
			return value_set_error(place, line, wrong, code, err);
		snprintf(no_json, sizeof no_json, "no JSON: %s", wrong);
		return value_set_error(place, line, no_json, code, err);
	}
	value = json_loadb(bytes, len, flags, &why);
	if (!value && json_error_code(&why) == json_error_numeric_overflow) {
		struct buffer wide = BUFFER_INIT;

		widen_integers(bytes, len, &wide);
		value = json_loadb(buffer_string(&wide), wide.len, flags, &why);
		buffer_free(&wide);
	}
	return value ? value : value_set_error(place, (size_t)why.line, why.text, code, err);
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

/* Replaces comments, and commas before the end of an array or an object, by spaces; line ends are
 * kept. */
static void
blank_out(char *at, const char *end)
{
	char *comma = NULL;

	while (at < end) {
		char *first = at;

		if (*at == '"') {
			for (at++; at < end && *at != '"';)
				at += *at == '\\' ? 2 : 1;
			at++;
			comma = NULL;
		} else if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
			for (; at < end && *at != '\n'; at++)
				*at = ' ';
		} else if (end - at >= 4 && at[0] == '/' && at[1] == '*') {
			for (at += 2; end - at >= 2 && (at[0] != '*' || at[1] != '/');)
				at++;
			if (end - at < 2)
				return; /* it is not closed: the error is reported at its beginning */
			at += 2;
			for (char *byte = first; byte < at; byte++)
				*byte = *byte == '\n' ? '\n' : ' ';
		} else {
			if (comma != NULL && (*at == ']' || *at == '}'))
				*comma = ' ';
			if (strchr(" \t\r\n", *at) == NULL)
				comma = *at == ',' ? at : NULL;
			at++;
		}
	}
}

json_t *
value_parse_relaxed(struct buffer *text, const char *place, enum error_code code, struct error *err)
{
	buffer_drop(text, text_byte_order_mark(text->data, text->len));
	if (text->len > 0)
		blank_out(text->data, text->data + text->len);
	return value_parse(buffer_string(text), text->len, place, code, err);
}

void
value_write(const json_t *value, struct buffer *out)
{
	static const char *const literals[] = {
		[JSON_TRUE] = "true", [JSON_FALSE] = "false", [JSON_NULL] = "null" };
	json_t *object = (json_t *)value, *member; /* jansson's iterators take no const */
	const char *key, *comma = "";
	char real[32];
	int digits = 14;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		buffer_byte(out, '{');
		json_object_foreach(object, key, member) {
			buffer_text(out, comma);
			comma = ",";
			json_quote(out, key, strlen(key));
			buffer_byte(out, ':');
			value_write(member, out);
		}
		buffer_byte(out, '}');
		break;
	case JSON_ARRAY:
		buffer_byte(out, '[');
		for (size_t i = 0; i < json_array_size(value); i++) {
			if (i > 0)
				buffer_byte(out, ',');
			value_write(json_array_get(value, i), out);
		}
		buffer_byte(out, ']');
		break;
	case JSON_STRING:
		json_quote(out, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		buffer_format(out, "%lld", (long long)json_integer_value(value));
		break;
	case JSON_REAL:
		/* Use the fewest digits that read back as the same number: 0.1, where jansson would
		 * write 0.10000000000000001. */
		do
			snprintf(real, sizeof real, "%.*g", ++digits, json_real_value(value));
		while (digits < 17 && strtod(real, NULL) != json_real_value(value));
		INVARIANT(strtod(real, NULL) == json_real_value(value));
		buffer_text(out, real);
		if (strpbrk(real, ".e") == NULL)
			buffer_text(out, ".0");
		break;
	default:
		buffer_text(out, literals[json_typeof(value)]);
	}
}

void
value_pointer_add(struct buffer *pointer, const char *key)
{
	buffer_byte(pointer, '/');
	for (; *key != '\0'; key++)
		if (*key == '~' || *key == '/')
			buffer_text(pointer, *key == '~' ? "~0" : "~1");
		else
			buffer_byte(pointer, *key);
}

char *
value_pointer_part(const char **pointer)
{
	struct buffer part = BUFFER_INIT;
	const char *at = *pointer + 1;

	INVARIANT(**pointer == '/');
	for (; *at != '\0' && *at != '/'; at++)
		if (*at == '~' && (at[1] == '0' || at[1] == '1'))
			buffer_byte(&part, *++at == '0' ? '~' : '/');
		else
			buffer_byte(&part, *at);
	*pointer = at;
	return buffer_take(&part);
}

bool
value_pointer_index(const char *part, size_t *index)
{
	char *end;

	if (*part < '0' || *part > '9')
		return false;
	*index = strtoul(part, &end, 10);
	return *end == '\0';
}
