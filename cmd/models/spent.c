/*
 * In both directions all other bytes stay unchanged. With include_usage a server sends one more
 * chunk without choices before the end, and "usage": null in each of the others.
 */
#include "spent.h"

#include <string.h>

#include "base/text.h"

static const char asks[] = "\"include_usage\":true";

bool
spent_ask(struct span body, struct buffer *out)
{
	struct span options = span_member(body, "stream_options"), object;
	const char *at;

	if (span_type(body) != 'o' || !span_true(span_member(body, "stream")) ||
	    span_member(options, "include_usage").at != NULL ||
	    (options.at != NULL && span_type(options) != 'o' && span_type(options) != '0'))
		return false;
	object = span_type(options) == 'o' ? options : span_trim(body);
	if (span_type(options) == '0') { /* null: replace it */
		buffer_append(out, body.at, (size_t)(options.at - body.at));
		buffer_text(out, "{");
		buffer_text(out, asks);
		buffer_text(out, "}");
		at = options.at + options.len;
	} else {
		struct span_walk first = span_walk(object);
		bool empty = !span_next(&first);

		buffer_append(out, body.at, (size_t)(object.at - body.at) + 1);
		if (span_type(options) != 'o')
			buffer_text(out, "\"stream_options\":{");
		buffer_text(out, asks);
		if (span_type(options) != 'o')
			buffer_text(out, "}");
		if (!empty)
			buffer_byte(out, ',');
		at = object.at + 1;
	}
	buffer_append(out, at, (size_t)(body.at + body.len - at));
	return true;
}

static bool
ends_line(char c)
{
	return c == '\n' || c == '\r';
}

/* Appends an event and its empty line, without what was requested additionally. */
static void
pass_event(const char *event, size_t len, struct buffer *out)
{
	static const char field[] = "data:";
	const char *data = event, *end = event + len, *stop, *before;
	struct span value, usage, key = SPAN_NONE;
	size_t bad;

	data += text_byte_order_mark(data, len);
	while ((size_t)(end - data) > sizeof field - 1 && memcmp(data, field, sizeof field - 1) != 0) {
		while (data < end && !ends_line(*data))
			data++;
		data += data < end;
	}
	stop = data;
	while (stop < end && !ends_line(*stop))
		stop++;
	value = stop < end && (size_t)(stop - data) > sizeof field - 1 ?
	    span_trim(span_of(data + sizeof field - 1, (size_t)(stop - data) - (sizeof field - 1))) :
	    SPAN_NONE;
	if (value.at == NULL || scan_loosely(value.at, value.len, &bad) != NULL || span_type(value) != 'o') {
		buffer_append(out, event, len);
		return;
	}
	usage = span_member(value, "usage");
	if (span_type(usage) == 'o' && span_type(span_member(value, "choices")) == 'a' &&
	    span_element(span_member(value, "choices"), 0).at == NULL)
		return;
	for (struct span_walk member = span_walk(value); span_next(&member);)
		if (member.value.at == usage.at)
			key = member.key;
	if (span_type(usage) != '0' || key.at == NULL) {
		buffer_append(out, event, len);
		return;
	}
	/* Remove "usage": null with the comma before it, or after it if it is the first member. */
	before = key.at;
	while (before > value.at && before[-1] != ',' && before[-1] != '{')
		before--;
	stop = usage.at + usage.len;
	if (before[-1] == ',') {
		before--;
	} else {
		const char *comma = stop;

		while (comma < value.at + value.len && strchr(" \t", *comma) != NULL)
			comma++;
		stop = *comma == ',' ? comma + 1 : stop;
	}
	buffer_append(out, event, (size_t)(before - event));
	buffer_append(out, stop, (size_t)(end - stop));
}

/* The end of the first event, including its empty line; 0: it has not arrived. After a final CR,
 * waits for an LF if the line before ends in CR LF. */
static size_t
event_end(const char *bytes, size_t len, size_t searched)
{
	for (size_t i = searched; i + 1 < len; i++) {
		bool both = bytes[i] == '\r' && bytes[i + 1] == '\n';
		size_t empty = i + 1 + both;

		if (ends_line(bytes[i]) && empty < len && ends_line(bytes[empty])) {
			size_t end = empty + 1;

			if (bytes[empty] == '\r' && end < len && bytes[end] == '\n')
				return end + 1;
			if (bytes[empty] == '\n' || !both || end < len)
				return end;
		}
		i += both;
	}
	return 0;
}

void
spent_take(struct spent *s, const char *bytes, size_t len, struct buffer *out)
{
	size_t end, used = 0;

	buffer_append(&s->event, bytes, len);
	while ((end = event_end(s->event.data + used, s->event.len - used,
	    s->searched > used ? s->searched - used : 0)) > 0) {
		pass_event(s->event.data + used, end, out);
		used += end;
		s->searched = used;
	}
	buffer_drop(&s->event, used);
	s->searched = s->event.len > 3 ? s->event.len - 3 : 0;
}

void
spent_end(struct spent *s, struct buffer *out)
{
	if (s->event.len > 0)
		pass_event(s->event.data, s->event.len, out);
	buffer_clear(&s->event);
}

void
spent_free(struct spent *s)
{
	buffer_free(&s->event);
}
