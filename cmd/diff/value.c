/* A text that is JSON is compared as JSON, since most commands give their results so. */
#include "diff/value.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json/sorted.h"
#include "model/event_index.h"
#include "model/results.h"

#define EXACT 9007199254740992.0 /* 2^53: greater integers have other neighbours as numbers */

/* Appends the data of a text of state lines, a line each. False, with nothing appended, if it is none. */
static bool
diff_value_lines(struct span value, bool plain, struct buffer *out)
{
	struct buffer text = BUFFER_INIT;
	struct span first;
	const bool is = result_lines(value, &text, &first) > 0;
	const char *at = buffer_string(&text), *stop = at + text.len, *end;

	for (; is && at < stop; at = end + 1) {
		struct span data;

		end = memchr(at, '\n', (size_t)(stop - at));
		end = end != NULL ? end : stop;
		data = span_member(span_of(at, (size_t)(end - at)), "data");
		if (plain)
			span_plain(data, out);
		else
			buffer_append(out, data.at, data.len);
		buffer_byte(out, '\n');
	}
	buffer_free(&text);
	return is;
}

/* Appends a token of a number so that equal numbers are equal bytes. */
static void
diff_value_number(const char *at, size_t len, struct buffer *out)
{
	char text[64];
	double number;

	if (len >= sizeof text) {
		buffer_append(out, at, len);
		return;
	}
	memcpy(text, at, len);
	text[len] = '\0';
	number = strtod(text, NULL);
	if (strpbrk(text, ".eE") != NULL && number > -EXACT && number < EXACT && number == (double)(int64_t)number)
		buffer_format(out, "%.0f", number == 0 ? 0.0 : number);
	else
		buffer_append(out, at, len);
}

/* Appends JSON whose members are sorted, with its numbers in one form. */
static void
diff_value_numbers(const char *at, size_t len, struct buffer *out)
{
	const char *stop = at + len;

	while (at < stop) {
		const char *begin = at;

		if (*at == '"') {
			for (at++; at < stop && *at != '"'; at++)
				at += *at == '\\';
			at = at < stop ? at + 1 : stop;
			buffer_append(out, begin, (size_t)(at - begin));
		} else if (*at == '-' || (*at >= '0' && *at <= '9')) {
			at += strspn(at, "+-.0123456789eE");
			diff_value_number(begin, (size_t)(at - begin), out);
		} else {
			buffer_byte(out, *at++);
		}
	}
}

/* Whether the value is a state line: {"data":…,"metadata":{"run_id":…}}. */
static bool
diff_value_is_state(struct span value)
{
	size_t members = 0;

	for (struct span_walk member = span_walk(value); span_type(value) == 'o' && span_next(&member);)
		members++;
	return members == 2 && span_member(value, "data").at != NULL &&
	    span_path(value, "metadata", "run_id", NULL).at != NULL;
}

/* Appends a value with the data of state lines in their place, as the result of a group has them. */
static void
diff_value_write_data(struct span value, struct buffer *out)
{
	const char type = span_type(value);
	bool comma = false;

	if (diff_value_is_state(value)) {
		diff_value_write_data(span_member(value, "data"), out);
		return;
	}
	if (type != 'o' && type != 'a') {
		buffer_append(out, value.at, value.len);
		return;
	}
	buffer_byte(out, type == 'o' ? '{' : '[');
	for (struct span_walk part = span_walk(value); span_next(&part); comma = true) {
		buffer_text(out, comma ? "," : "");
		if (type == 'o') {
			buffer_append(out, part.key.at, part.key.len);
			buffer_byte(out, ':');
		}
		diff_value_write_data(part.value, out);
	}
	buffer_byte(out, type == 'o' ? '}' : ']');
}

static void
diff_value_canonical(struct span value, struct buffer *out)
{
	struct buffer sorted = BUFFER_INIT, text = BUFFER_INIT, data = BUFFER_INIT;

	if (span_holds_json(value)) {
		struct span inside;
		size_t bad;

		span_decode(value, &text);
		inside = span_trim(span_of(buffer_string(&text), text.len));
		if (scan_check(inside.at, inside.len, &bad) == NULL)
			value = inside;
	}
	diff_value_write_data(value, &data);
	sorted_write(span_of(data.data, data.len), &sorted);
	diff_value_numbers(buffer_string(&sorted), sorted.len, out);
	buffer_free(&data);
	buffer_free(&sorted);
	buffer_free(&text);
}

bool
diff_key_is(struct uuid key)
{
	return key.high != 0 || key.low != 0;
}

bool
diff_keys_equal(struct uuid a, struct uuid b)
{
	return a.high == b.high && a.low == b.low;
}

struct uuid
diff_value_key(struct span value)
{
	struct buffer bytes = BUFFER_INIT;
	struct uuid key = { 0, 0 };

	if (value.at != NULL && span_type(value) != '0') {
		if (!diff_value_lines(value, false, &bytes))
			diff_value_canonical(value, &bytes);
		key = bytes_key(buffer_string(&bytes), bytes.len);
	}
	buffer_free(&bytes);
	return key;
}

bool
diff_value_is_lines(struct span value)
{
	struct buffer ignored = BUFFER_INIT;
	const bool is = diff_value_lines(value, false, &ignored);

	buffer_free(&ignored);
	return is;
}

void
diff_value_json(struct span value, struct buffer *out)
{
	struct buffer lines = BUFFER_INIT;
	size_t count = 0;

	if (!diff_value_lines(value, false, &lines)) {
		diff_value_canonical(value, out);
	} else {
		for (size_t i = 0; i < lines.len; i++)
			count += lines.data[i] == '\n';
		buffer_text(out, count == 1 ? "" : "[");
		for (size_t i = 0; i + 1 < lines.len; i++)
			buffer_byte(out, lines.data[i] == '\n' ? ',' : lines.data[i]);
		buffer_text(out, count == 1 ? "" : "]");
	}
	buffer_free(&lines);
}

void
diff_value_show(struct span value, struct buffer *out)
{
	struct buffer data = BUFFER_INIT;

	if (value.at == NULL || span_type(value) == '0' || diff_value_lines(value, true, out))
		return;
	diff_value_write_data(value, &data);
	span_plain(span_of(data.data, data.len), out);
	buffer_free(&data);
}
