/*
 * The scanner against jansson, and against itself: what is valid, what minifying
 * keeps, where a value ends, what is found in it. Anything may be asked of bytes
 * that are no JSON.
 */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "json/scan.h"
#include "json/writer.h"

#define FLAGS (JSON_ALLOW_NUL | JSON_DECODE_ANY)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What jansson refuses although RFC 8259 allows it. */
static int
is_known_difference(const json_error_t *why)
{
	enum json_error_code code = json_error_code(why);

	return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
	    strstr(why->text, "invalid Unicode");
}

static void compare(struct span span, const json_t *value);

static void
compare_members(struct span span, const json_t *object)
{
	for (struct span_walk member = span_walk(span); span_next(&member);) {
		char *name = span_text(member.key);

		assert(span_is(member.key, name));
		compare(span_member(span, name), json_object_get(object, name));
		free(name);
	}
}

static void
compare_elements(struct span span, const json_t *array)
{
	size_t count = 0;

	for (struct span_walk element = span_walk(span); span_next(&element);)
		compare(element.value, json_array_get(array, count++));
	assert(count == json_array_size(array));
}

static void
compare_string(struct span span, const json_t *string)
{
	struct buffer text = BUFFER_INIT;

	span_decode(span, &text);
	assert(text.len == json_string_length(string));
	assert(memcmp(buffer_string(&text), json_string_value(string), text.len) == 0);
	buffer_free(&text);
}

static void
compare(struct span span, const json_t *value)
{
	long long number;

	switch (span_type(span)) {
	case 'o':
		assert(json_is_object(value));
		compare_members(span, value);
		break;
	case 'a':
		assert(json_is_array(value));
		compare_elements(span, value);
		break;
	case 's':
		assert(json_is_string(value));
		compare_string(span, value);
		break;
	case 'n':
		assert(json_is_number(value));
		assert(span_integer(span, &number) == json_is_integer(value));
		assert(!json_is_integer(value) || json_integer_value(value) == number);
		break;
	case 't': case 'f':
		assert(json_is_boolean(value) && span_true(span) == json_is_true(value));
		break;
	default:
		assert(span_type(span) == '0' && json_is_null(value));
	}
}

static void
minify(const char *text, size_t size, const json_t *value)
{
	struct buffer once = BUFFER_INIT, twice = BUFFER_INIT;
	json_error_t why;
	json_t *again;
	size_t bad;

	scan_minify(span_of(text, size), &once);
	assert(scan_check(buffer_string(&once), once.len, &bad) == NULL);
	scan_minify(span_of(once.data, once.len), &twice);
	assert(buffer_equal(&twice, once.data) || memchr(once.data, 0, once.len));
	again = json_loadb(once.data, once.len, FLAGS, &why);
	assert(!again == !value);
	assert(!value || json_equal(again, value));
	json_decref(again);
	buffer_free(&once);
	buffer_free(&twice);
}

/* The end of the first value, fed byte by byte. */
static void
frame(const char *text, size_t size, size_t end)
{
	enum frame result = FRAME_MORE;
	struct framer f;
	size_t at = 0;

	framer_begin(&f);
	while (at < size && result == FRAME_MORE) {
		size_t used;

		result = framer_feed(&f, text + at, 1, &used);
		at += used;
	}
	assert(at == end && (result == FRAME_DONE || f.scalar));
}

static void
valid(const char *text, size_t size)
{
	json_error_t why;
	json_t *value = json_loadb(text, size, FLAGS, &why);

	assert(value || is_known_difference(&why));
	if (value)
		compare(span_of(text, size), value);
	minify(text, size, value);
	json_decref(value);
}

static void
invalid(const char *text, size_t size, const char *wrong)
{
	struct buffer out = BUFFER_INIT;
	struct span s = span_of(text, size);
	json_error_t why;
	json_t *loaded = json_loadb(text, size, FLAGS, &why);
	long long number;
	size_t steps = 0;

	/* jansson reads a NUL behind the value as its end */
	assert(!loaded || memchr(text, 0, size) || strcmp(wrong, "nested too deep") == 0);
	json_decref(loaded);
	for (struct span_walk member = span_walk(s); span_next(&member);) {
		steps++;
		assert(steps <= size);
		span_decode(member.key, &out);
		pointer_append(&out, member.value);
	}
	span_decode(s, &out);
	scan_minify(s, &out);
	span_integer(s, &number);
	span_member(s, "a");
	pointer_find(s, "/0/a");
	buffer_free(&out);
}

/* Any bytes can be quoted; UTF-8 comes back as it was. */
static void
quote(const char *text, size_t size)
{
	struct buffer token = BUFFER_INIT, back = BUFFER_INIT;
	json_t *string = json_stringn(text, size);
	size_t bad;

	assert(utf8_valid(text, size) == (string != NULL));
	json_quote(&token, text, size);
	assert(scan_check(token.data, token.len, &bad) == NULL);
	span_decode(span_of(token.data, token.len), &back);
	if (string)
		assert(back.len == size && memcmp(buffer_string(&back), text, size) == 0);
	json_decref(string);
	buffer_free(&token);
	buffer_free(&back);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *wrong;
	size_t end, bad;

	if (size == 0)
		return 0; /* jansson wants a pointer */
	wrong = scan_check(text, size, &bad);
	if (wrong) {
		assert(bad <= size);
		invalid(text, size, wrong);
	} else {
		valid(text, size);
	}
	if (!scan_value(text, size, SCAN_DEPTH, &end, &bad))
		frame(text, size, end);
	quote(text, size);
	return 0;
}
