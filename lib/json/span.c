/*
 * Reads values that are known to be valid, and decodes only what is requested. Every loop stops at
 * the end of the span, valid or not.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/text.h"
#include "json/bytes.h"
#include "json/scan.h"

static const struct span nothing = {NULL, 0};

struct span
span_trim(struct span value)
{
	while (value.len > 0 && bytes_space(*value.at)) {
		value.at++;
		value.len--;
	}
	while (value.len > 0 && bytes_space(value.at[value.len - 1]))
		value.len--;
	return value;
}

struct span
span_trim_json(struct span text)
{
	size_t mark;

	text = span_trim(text);
	mark = text_byte_order_mark(text.at, text.len);
	return mark == 0 ? text : span_trim(span_of(text.at + mark, text.len - mark));
}

char
span_type(struct span value)
{
	value = span_trim(value);
	switch (value.len > 0 ? *value.at : '\0') {
	case '{':
		return 'o';
	case '[':
		return 'a';
	case '"':
		return 's';
	case 't': case 'f':
		return *value.at;
	case 'n':
		return '0';
	case '-': case '0': case '1': case '2': case '3': case '4':
	case '5': case '6': case '7': case '8': case '9':
		return 'n';
	default:
		return 0;
	}
}

static const char *
skip_space(const char *at, const char *end)
{
	while (at < end && bytes_space(*at))
		at++;
	return at;
}

/* From the opening quote to the byte after the closing one; end if there is none. */
static const char *
skip_string(const char *at, const char *end)
{
	for (at++; at < end;) {
		at = bytes_quote(at, end);
		if (at == end || *at == '"')
			return at == end ? end : at + 1;
		at = end - at > 2 ? at + 2 : end;
	}
	return end;
}

/* The position after the value that begins at `at`; `at` itself if none begins there. */
static const char *
skip_value(const char *at, const char *end)
{
	size_t depth = 0;

	if (at == end)
		return at;
	if (*at == '"')
		return skip_string(at, end);
	if (*at != '{' && *at != '[') {
		while (at < end && bytes_scalar(*at))
			at++;
		return at;
	}
	while ((at = bytes_structure(at, end)) < end) {
		if (*at == '"') {
			at = skip_string(at, end);
			continue;
		}
		depth = *at == '{' || *at == '[' ? depth + 1 : depth - 1;
		at++;
		if (depth == 0)
			break;
	}
	return at;
}

struct span_walk
span_walk(struct span container)
{
	struct span_walk w = { .at = NULL };
	char type = span_type(container);

	container = span_trim(container);
	w.object = type == 'o';
	if (type == 'o' || type == 'a') {
		w.at = container.at + 1;
		w.end = container.at + container.len;
	}
	return w;
}

bool
span_next(struct span_walk *w)
{
	const char *at = skip_space(w->at, w->end), *first;

	w->key = w->value = nothing;
	if (at < w->end && *at == ',')
		at = skip_space(at + 1, w->end);
	if (w->object) {
		if (at == w->end || *at != '"')
			return false;
		first = at;
		at = skip_string(at, w->end);
		w->key = span_of(first, (size_t)(at - first));
		at = skip_space(at, w->end);
		if (at == w->end || *at != ':')
			return false;
		at = skip_space(at + 1, w->end);
	}
	first = at;
	at = skip_value(at, w->end);
	if (at == first)
		return false;
	INVARIANT(at > w->at && at <= w->end);
	w->value = span_of(first, (size_t)(at - first));
	w->at = at;
	return true;
}

/* The text between the quotes; .at is NULL if value is not a complete string. */
static struct span
span_inside_quotes(struct span value)
{
	value = span_trim(value);
	if (value.len < 2 || *value.at != '"' || value.at[value.len - 1] != '"')
		return nothing;
	return span_of(value.at + 1, value.len - 2);
}

static bool
has_escape(struct span text)
{
	return memchr(text.at, '\\', text.len) != NULL;
}

bool
span_same(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

static bool
span_equals_text(struct span value, const char *text, size_t len)
{
	struct span raw = span_inside_quotes(value);
	struct buffer decoded = BUFFER_INIT;
	bool equal;

	if (!raw.at || raw.len < len)
		return false;
	if (raw.len == len && memcmp(raw.at, text, len) == 0)
		return !has_escape(raw);
	if (!has_escape(raw))
		return false;
	span_decode(value, &decoded);
	equal = decoded.len == len && memcmp(buffer_string(&decoded), text, len) == 0;
	buffer_free(&decoded);
	return equal;
}

bool
span_is(struct span value, const char *text)
{
	return span_equals_text(value, text, strlen(text));
}

static struct span
find_member(struct span object, const char *key, size_t len)
{
	struct span found = nothing;

	for (struct span_walk w = span_walk(object); w.object && span_next(&w);)
		if (span_equals_text(w.key, key, len))
			found = w.value;
	return found;
}

struct span
span_member(struct span object, const char *key)
{
	return find_member(object, key, strlen(key));
}

void
span_members(struct span object, const char *const *names, size_t count, struct span *values)
{
	for (size_t i = 0; i < count; i++)
		values[i] = nothing;
	for (struct span_walk member = span_walk(object); member.object && span_next(&member);) {
		struct span raw = span_inside_quotes(member.key);
		bool plain = raw.at != NULL && !has_escape(raw);

		for (size_t i = 0; i < count; i++)
			if (plain ? strlen(names[i]) == raw.len && memcmp(names[i], raw.at, raw.len) == 0 :
			    span_is(member.key, names[i]))
				values[i] = member.value;
	}
}

struct span
span_path(struct span object, ...)
{
	va_list keys;
	const char *key;

	va_start(keys, object);
	while (object.at && (key = va_arg(keys, const char *)) != NULL)
		object = span_member(object, key);
	va_end(keys);
	return object;
}

struct span
span_element(struct span array, size_t index)
{
	for (struct span_walk w = span_walk(array); !w.object && span_next(&w);)
		if (index-- == 0)
			return w.value;
	return nothing;
}

/* The value of "\uXXXX"; -1 if there is no such escape. */
static long
unicode_escape(const char *at, const char *end)
{
	long code = 0;

	if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		const char *digits = "0123456789abcdef0123456789ABCDEF";
		const char *digit = at[i] ? strchr(digits, at[i]) : NULL;

		if (!digit)
			return -1;
		code = code << 4 | ((digit - digits) & 15);
	}
	return code;
}

/* Appends the character of the escape at `at`; returns the position after it. */
static const char *
decode_escape(const char *at, const char *end, struct buffer *out)
{
	static const char names[] = "bfnrt", bytes[] = "\b\f\n\r\t";
	const char *name;
	long code, low;

	if (end - at < 2)
		return end;
	if (at[1] != 'u') {
		name = at[1] ? strchr(names, at[1]) : NULL;
		buffer_byte(out, name ? bytes[name - names] : at[1]);
		return at + 2;
	}
	code = unicode_escape(at, end);
	if (code >= 0xd800 && code <= 0xdbff) {
		low = unicode_escape(at + 6, end);
		if (low >= 0xdc00 && low <= 0xdfff) {
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
			at += 6;
		}
	}
	if (code < 0 || (code >= 0xd800 && code <= 0xdfff))
		code = 0xfffd;
	utf8_append(out, (uint32_t)code);
	return end - at > 6 ? at + 6 : end;
}

const char *
span_one_of(struct span value, const char *const *texts)
{
	while (*texts != NULL && !span_is(value, *texts))
		texts++;
	return *texts;
}

void
span_decode(struct span value, struct buffer *out)
{
	struct span raw = span_inside_quotes(value);
	const char *at = raw.at, *end;

	if (!at)
		return;
	end = at + raw.len;
	while (at < end) {
		const char *escape = memchr(at, '\\', (size_t)(end - at));
		const char *run_end = escape ? escape : end;

		buffer_append(out, at, (size_t)(run_end - at));
		at = escape ? decode_escape(escape, end, out) : end;
		INVARIANT(at <= end && (escape == NULL || at > escape));
	}
}

void
span_plain(struct span value, struct buffer *out)
{
	if (span_type(value) == 's')
		span_decode(value, out);
	else
		buffer_append(out, value.at, value.len);
}

bool
span_holds_json(struct span value)
{
	struct buffer text = BUFFER_INIT;
	struct span trimmed;
	size_t bad;
	bool holds = false;

	if (span_type(value) != 's')
		return false;
	span_decode(value, &text);
	trimmed = span_trim(span_of(text.data, text.len));
	if (trimmed.len > 0 && (*trimmed.at == '{' || *trimmed.at == '['))
		holds = scan_check(trimmed.at, trimmed.len, &bad) == NULL;
	buffer_free(&text);
	return holds;
}

char *
span_text(struct span value)
{
	struct buffer decoded = BUFFER_INIT;

	if (!span_inside_quotes(value).at)
		return NULL;
	span_decode(value, &decoded);
	return buffer_take(&decoded);
}

bool
span_copy(struct span value, char *out, size_t size)
{
	struct span raw = span_inside_quotes(value);

	if (!raw.at || raw.len >= size || has_escape(raw))
		return false;
	INVARIANT(raw.at > value.at && raw.at + raw.len < value.at + value.len);
	memcpy(out, raw.at, raw.len);
	out[raw.len] = '\0';
	return true;
}

bool
span_integer(struct span value, long long *out)
{
	long long number = 0; /* negative, because the negative range is larger */
	bool minus;
	size_t i;

	value = span_trim(value);
	minus = value.len > 0 && *value.at == '-';
	for (i = minus; i < value.len; i++) {
		int digit = value.at[i] - '0';

		if (digit < 0 || digit > 9 || number < (LLONG_MIN + digit) / 10)
			return false;
		number = number * 10 - digit;
	}
	if (i == (size_t)minus || (!minus && number == LLONG_MIN))
		return false;
	*out = minus ? number : -number;
	return true;
}

bool
span_true(struct span value)
{
	value = span_trim(value);
	return value.len == 4 && memcmp(value.at, "true", 4) == 0;
}

void
pointer_append(struct buffer *pointer, struct span key)
{
	struct buffer text = BUFFER_INIT;

	span_decode(key, &text);
	buffer_byte(pointer, '/');
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '~' || text.data[i] == '/')
			buffer_text(pointer, text.data[i] == '~' ? "~0" : "~1");
		else
			buffer_byte(pointer, text.data[i]);
	}
	buffer_free(&text);
}

struct span
pointer_find(struct span value, const char *pointer)
{
	const struct span whole = value;

	value = span_trim(value);
	while (value.at && *pointer) {
		struct buffer token = BUFFER_INIT;
		long long index;
		bool plain;

		if (*pointer++ != '/')
			return nothing;
		/* A reference token, up to the next slash, without its escapes. */
		for (; *pointer != '\0' && *pointer != '/'; pointer++) {
			bool escape = *pointer == '~' && (pointer[1] == '0' || pointer[1] == '1');

			pointer += escape;
			buffer_byte(&token, !escape ? *pointer : *pointer == '0' ? '~' : '/');
		}
		plain = token.len > 0 && strspn(token.data, "0123456789") == token.len &&
		    (token.len == 1 || token.data[0] != '0');
		if (span_type(value) != 'a')
			value = find_member(value, buffer_string(&token), token.len);
		else if (plain && span_integer(span_of(token.data, token.len), &index))
			value = span_element(value, (size_t)index);
		else
			value = nothing;
		buffer_free(&token);
	}
	INVARIANT(value.at == NULL || value.at + value.len <= whole.at + whole.len);
	return value;
}
