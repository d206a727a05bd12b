/*
 * Decodes the whole value, cuts it, and hashes it if something was cut off. A value in a blob is
 * not read: its size and digest are in refs.
 */
#include "model/excerpt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "storage/attached.h"
#include "transcript/event_keys.h"

#define ARGUMENT_BYTES 40
#define CUT "…"

bool
excerpt_text(struct buffer *out, const char *bytes, size_t len, size_t limit)
{
	size_t kept = len;
	const char *line;

	while (kept > 0 && bytes[kept - 1] == '\n')
		kept--;
	line = memchr(bytes, '\n', kept);
	if (line)
		kept = (size_t)(line - bytes);
	if (kept > limit)
		kept = utf8_whole(bytes, limit);
	buffer_append(out, bytes, kept);
	while (kept < len && bytes[kept] == '\n')
		kept++;
	if (kept < len)
		buffer_text(out, CUT);
	return kept == len;
}

/* The text of a string, or the JSON of anything else. */
static void
value_text(struct span value, struct buffer *out)
{
	if (span_type(value) == 's')
		span_decode(value, out);
	else
		buffer_append(out, value.at, value.len);
}

static bool
value_there(struct span value)
{
	return value.at && span_type(value) != '0';
}

/* The entry of refs for payload.MEMBER. */
static struct span
blob_of(const struct event_view *event, const char *member)
{
	char at[64];

	snprintf(at, sizeof at, "/payload/%s", member);
	for (struct span_walk entry = span_walk(event->refs); span_next(&entry);)
		if (span_is(span_member(entry.value, KEY_AT), at))
			return entry.value;
	return span_of(NULL, 0);
}

/* Finds a member, or a value below it such as result/0/data. */
static struct span
excerpt_value_of(const struct event_view *event, const char *member)
{
	char at[64];

	if (strchr(member, '/') == NULL)
		return span_member(event->payload, member);
	snprintf(at, sizeof at, "/%s", member);
	return pointer_find(event->payload, at);
}

static void
write_digest(struct writer *w, struct span whole)
{
	char digest[DIGEST_SIZE];

	writer_member_integer(w, "bytes", (int64_t)whole.len);
	writer_member_string(w, "sha256", digest_sha256(whole.at, whole.len, digest));
}

static void
write_excerpt(struct writer *w, const char *key, const struct buffer *whole, size_t limit)
{
	struct buffer excerpt = BUFFER_INIT;
	bool all = excerpt_text(&excerpt, buffer_string(whole), whole->len, limit);

	writer_key(w, key);
	writer_bytes(w, buffer_string(&excerpt), excerpt.len);
	if (!all)
		write_digest(w, span_of(buffer_string(whole), whole->len));
	buffer_free(&excerpt);
}

/* The limit for a value that may be the contents of a file. */
static size_t
contents_limit(const struct buffer *whole, size_t limit)
{
	if (!memchr(buffer_string(whole), '\n', whole->len) || whole->len / 2 > limit)
		return limit;
	return whole->len / 2;
}

static bool
write_member(struct writer *w, const char *key, const struct event_view *event,
    const char *member, bool contents)
{
	struct span value = excerpt_value_of(event, member), blob = blob_of(event, member);
	struct buffer whole = BUFFER_INIT;

	if (blob.at) {
		writer_member_span(w, "bytes", span_member(blob, KEY_BYTES));
		writer_member_span(w, "sha256", span_member(blob, KEY_SHA256));
		return false;
	}
	if (!value_there(value))
		return false;
	value_text(value, &whole);
	write_excerpt(w, key, &whole, contents ? contents_limit(&whole, EXCERPT_BYTES) : EXCERPT_BYTES);
	buffer_free(&whole);
	return true;
}

bool
excerpt_member(struct writer *w, const char *key, const struct event_view *event,
    const char *member)
{
	return write_member(w, key, event, member, false);
}

bool
excerpt_contents(struct writer *w, const char *key, const struct event_view *event,
    const char *member)
{
	return write_member(w, key, event, member, true);
}

bool
excerpt_message(struct writer *w, const char *key, const struct event_view *event)
{
	struct buffer whole = BUFFER_INIT;
	bool said;

	for (struct span_walk block = span_walk(span_member(event->payload, KEY_BLOCKS));
	    span_next(&block);)
		if (!attached_text(block.value, &whole) &&
		    span_is(span_member(block.value, KEY_TYPE), "text"))
			span_decode(span_member(block.value, KEY_TEXT), &whole);
	said = whole.len > 0;
	if (said)
		write_excerpt(w, key, &whole, EXCERPT_BYTES);
	buffer_free(&whole);
	return said;
}

void
excerpt_arguments(struct writer *w, const char *key, const struct event_view *event)
{
	struct span input = span_member(event->payload, KEY_INPUT);
	struct buffer list = BUFFER_INIT, text = BUFFER_INIT;
	bool all = true;

	if (span_type(input) != 'o') {
		excerpt_contents(w, key, event, KEY_INPUT);
		return;
	}
	for (struct span_walk member = span_walk(input); span_next(&member);) {
		if (list.len > 0)
			buffer_byte(&list, ' ');
		span_decode(member.key, &list);
		buffer_byte(&list, '=');
		buffer_clear(&text);
		value_text(member.value, &text);
		all = excerpt_text(&list, buffer_string(&text), text.len,
		    contents_limit(&text, ARGUMENT_BYTES)) && all;
	}
	buffer_clear(&text);
	all = excerpt_text(&text, buffer_string(&list), list.len, EXCERPT_BYTES) && all;
	writer_key(w, key);
	writer_bytes(w, buffer_string(&text), text.len);
	if (!all)
		write_digest(w, input);
	buffer_free(&list);
	buffer_free(&text);
}

int64_t
excerpt_size(const struct event_view *event, const char *member)
{
	struct span value = excerpt_value_of(event, member);
	struct buffer text = BUFFER_INIT;
	long long bytes = -1;

	if (!span_integer(span_member(blob_of(event, member), KEY_BYTES), &bytes) &&
	    value_there(value)) {
		value_text(value, &text);
		bytes = (long long)text.len;
		buffer_free(&text);
	}
	return bytes;
}
