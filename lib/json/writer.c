/*
 * The only state, at any depth, is whether a comma must come before the next value: after an
 * opening bracket or a key it must not, after anything else it must. A string is copied in runs of
 * bytes that need no escape; a byte that is not UTF-8 becomes U+FFFD.
 */
#include "json/writer.h"

#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/text.h"
#include "json/bytes.h"

void
writer_begin(struct writer *w, struct buffer *out)
{
	w->out = out;
	w->comma = false;
}

/* A comma is needed only after a value. (The bytes before a first member may be the caller's.) */
static bool
writer_holds(const struct writer *w)
{
	if (w->comma || w->out->len == 0)
		return w->out->len > 0 || !w->comma;
	return strchr("}]\"", w->out->data[w->out->len - 1]) == NULL;
}

/* Called before every value and key. */
static void
writer_put_comma(struct writer *w)
{
	INVARIANT(writer_holds(w));
	if (w->comma)
		buffer_byte(w->out, ',');
	w->comma = true;
}

void
writer_object(struct writer *w)
{
	writer_put_comma(w);
	buffer_byte(w->out, '{');
	w->comma = false;
}

void
writer_object_end(struct writer *w)
{
	INVARIANT(w->out->len > 0 && strchr(":,[", w->out->data[w->out->len - 1]) == NULL);
	buffer_byte(w->out, '}');
	w->comma = true;
}

void
writer_array(struct writer *w)
{
	writer_put_comma(w);
	buffer_byte(w->out, '[');
	w->comma = false;
}

void
writer_array_end(struct writer *w)
{
	INVARIANT(w->out->len > 0 && strchr(":,{", w->out->data[w->out->len - 1]) == NULL);
	buffer_byte(w->out, ']');
	w->comma = true;
}

void
writer_key(struct writer *w, const char *key)
{
	size_t len = strlen(key);
	char *to;

	INVARIANT(bytes_not_plain(key, key + len) == key + len);
	writer_put_comma(w);
	to = buffer_reserve(w->out, len + 3);
	*to++ = '"';
	memcpy(to, key, len + 1);
	to[len] = '"';
	to[len + 1] = ':';
	to[len + 2] = '\0';
	w->out->len += len + 3;
	w->comma = false;
}

void
writer_key_quoted(struct writer *w, const char *key, size_t len)
{
	writer_put_comma(w);
	json_quote(w->out, key, len);
	buffer_byte(w->out, ':');
	w->comma = false;
}

void
writer_string(struct writer *w, const char *text)
{
	if (text)
		writer_bytes(w, text, strlen(text));
	else
		writer_null(w);
}

void
writer_bytes(struct writer *w, const char *bytes, size_t len)
{
	writer_put_comma(w);
	json_quote(w->out, bytes, len);
}

void
writer_integer(struct writer *w, int64_t value)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%lld", (long long)value);

	writer_put_comma(w);
	buffer_append(w->out, digits, (size_t)len);
}

void
writer_bool(struct writer *w, bool value)
{
	writer_put_comma(w);
	buffer_text(w->out, value ? "true" : "false");
}

void
writer_null(struct writer *w)
{
	writer_put_comma(w);
	buffer_text(w->out, "null");
}

void
writer_raw(struct writer *w, const char *json, size_t len)
{
	if (!json || len == 0) {
		writer_null(w);
		return;
	}
	INVARIANT(span_type(span_of(json, len)) != 0);
	writer_put_comma(w);
	buffer_append(w->out, json, len);
}

void
writer_span(struct writer *w, struct span value)
{
	writer_raw(w, value.at, value.len);
}

void
writer_raw_member(struct writer *w, struct span key, struct span value)
{
	INVARIANT(span_type(key) == 's');
	writer_put_comma(w);
	buffer_append(w->out, key.at, key.len);
	buffer_byte(w->out, ':');
	w->comma = false;
	writer_raw(w, value.at, value.len);
}

void
writer_member_string(struct writer *w, const char *key, const char *text)
{
	if (!text)
		return;
	writer_key(w, key);
	writer_string(w, text);
}

void
writer_member_integer(struct writer *w, const char *key, int64_t value)
{
	writer_key(w, key);
	writer_integer(w, value);
}

void
writer_member_bool(struct writer *w, const char *key, bool value)
{
	writer_key(w, key);
	writer_bool(w, value);
}

void
writer_member_span(struct writer *w, const char *key, struct span value)
{
	if (!value.at)
		return;
	writer_key(w, key);
	writer_span(w, value);
}

void
writer_member_buffer(struct writer *w, const char *key, const struct buffer *json)
{
	if (json && json->len > 0)
		writer_member_span(w, key, span_of(json->data, json->len));
}

void
writer_member_object(struct writer *w, const char *key)
{
	writer_key(w, key);
	writer_object(w);
}

void
writer_member_array(struct writer *w, const char *key)
{
	writer_key(w, key);
	writer_array(w);
}

void
writer_members_error(struct writer *w, const struct error *error)
{
	writer_member_string(w, "code", error_name(error->code));
	writer_member_string(w, "message", error->message);
}

void
json_quote(struct buffer *out, const char *bytes, size_t len)
{
	static const char escaped[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
	static const char hex[] = "0123456789abcdef";
	const char *at = bytes ? bytes : "", *end = at + len, *run = at, *found;
	size_t before = out->len;
	uint32_t code;

	buffer_reserve(out, len + 2);
	buffer_byte(out, '"');
	while ((at = bytes_not_plain(at, end)) < end) {
		unsigned n = utf8_decode(at, (size_t)(end - at), &code);

		if (n > 1) {
			at += n;
			continue;
		}
		buffer_append(out, run, (size_t)(at - run));
		found = *at != '\0' ? strchr(escaped, *at) : NULL;
		if (n == 0) {
			utf8_append(out, 0xfffd);
		} else if (found != NULL) {
			buffer_byte(out, '\\');
			buffer_byte(out, names[found - escaped]);
		} else {
			const char unit[] = { '\\', 'u', '0', '0', hex[*at >> 4 & 15], hex[*at & 15] };

			buffer_append(out, unit, sizeof unit);
		}
		run = ++at;
	}
	if (run < end)
		buffer_append(out, run, (size_t)(end - run));
	buffer_byte(out, '"');
	INVARIANT(out->len - before >= len + 2 && out->len - before <= 6 * len + 2);
}
