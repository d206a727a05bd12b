/*
 * Most lines are passed over by their bytes alone: a line that does not have the longest plain part of the text,
 * and no escape of a plain character, does not hold the text.
 */
#define _GNU_SOURCE /* memmem() */
#include "serve_runs/search.h"

#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/scan.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

#define BEFORE 80               /* bytes of what stands around */
#define AFTER 160
#define PLAIN_ESCAPE "\\u00"

/* In the locale C only of ASCII: whoever searches has set another. */
static uint32_t
search_fold(uint32_t character)
{
	return character < 0x80 ? (uint32_t)(character >= 'A' && character <= 'Z' ? character + 32 : character) :
	    (uint32_t)towlower((wint_t)character);
}

/* Whether it stands in JSON as it is, in one byte. */
static bool
search_is_plain(unsigned char byte)
{
	return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\' && byte != '/';
}

bool
search_text_make(struct search_text *s, const char *text)
{
	const size_t len = strlen(text);
	size_t best = 0, best_len = 0;
	uint32_t code;
	unsigned step;

	*s = (struct search_text){ .part = memory_text("") };
	for (size_t at = 0; at < len; at += step) {
		step = utf8_decode(text + at, len - at, &code);
		if (step == 0)
			return false;
		s->characters = memory_array(s->characters, s->count + 1, sizeof *s->characters);
		s->characters[s->count++] = search_fold(code);
	}
	for (size_t at = 0, from = 0; at <= len; at++)
		if (at == len || !search_is_plain((unsigned char)text[at])) {
			if (at - from > best_len) {
				best = from;
				best_len = at - from;
			}
			from = at + 1;
		}
	free(s->part);
	s->part = memory_copy(text + best, best_len);
	for (char *at = s->part; *at != '\0'; at++)
		*at = (char)search_fold((unsigned char)*at);
	return s->count > 0;
}

void
search_text_free(struct search_text *s)
{
	free(s->characters);
	free(s->part);
}

const char *
search_find(const struct search_text *s, const char *text, size_t len, size_t *length)
{
	unsigned step;

	for (size_t at = 0; at < len; at += step) {
		size_t from = at, count = 0;
		uint32_t code;

		step = 1;
		for (; count < s->count && from < len; count++) {
			unsigned one = utf8_decode(text + from, len - from, &code);

			if (count == 0)
				step = one > 0 ? one : 1;
			if (one == 0 || search_fold(code) != s->characters[count])
				break;
			from += one;
		}
		if (count == s->count) {
			*length = from - at;
			return text + at;
		}
	}
	return NULL;
}

/* Whether the bytes have the plain part, in any case. */
static bool
search_line_may_hold(const struct search_text *s, const char *line, size_t len)
{
	const size_t part = strlen(s->part);
	const char first = *s->part, other = (char)(first >= 'a' && first <= 'z' ? first - 32 : first);

	if (part == 0)
		return true;
	for (size_t at = 0; at + part <= len; at++) {
		size_t i = 1;

		if (line[at] != first && line[at] != other)
			continue;
		while (i < part && (char)search_fold((unsigned char)line[at + i]) == s->part[i])
			i++;
		if (i == part)
			return true;
	}
	return memmem(line, len, PLAIN_ESCAPE, sizeof PLAIN_ESCAPE - 1) != NULL;
}

/* Looks in a value and all that it holds. If it is found, text has the value, *at and *length where. */
static bool
search_value(const struct search_text *s, struct span value, struct buffer *text, const char **at, size_t *length)
{
	const char type = (char)span_type(value);

	if (type == 'o' || type == 'a') {
		for (struct span_walk each = span_walk(value); span_next(&each);)
			if (search_value(s, each.value, text, at, length))
				return true;
		return false;
	}
	buffer_clear(text);
	if (type == 's')
		span_decode(value, text);
	else if (value.at != NULL)
		buffer_append(text, value.at, value.len);
	*at = search_find(s, buffer_string(text), text->len, length);
	return *at != NULL;
}

static void
search_write_hit(const struct event_view *event, const struct buffer *text, const char *at, size_t length,
    struct writer *w)
{
	const char *begin = text->data, *end = begin + text->len;
	const char *from = at - begin > BEFORE ? at - BEFORE : begin;
	const size_t left = (size_t)(end - (at + length));

	/* Whole characters. */
	while (from < at && ((unsigned char)*from & 0xc0) == 0x80)
		from++;
	writer_object(w);
	writer_member_integer(w, KEY_SEQ, event->seq);
	writer_member_span(w, KEY_TYPE, event->type_name);
	writer_member_span(w, KEY_PATH, event->path);
	writer_member_span(w, "at", event->timestamp);
	writer_member_bool(w, "begins", from == begin);
	writer_key(w, "before");
	writer_bytes(w, from, (size_t)(at - from));
	writer_key(w, "found");
	writer_bytes(w, at, length);
	writer_key(w, "after");
	writer_bytes(w, at + length, left > AFTER ? utf8_whole(at + length, AFTER) : left);
	writer_object_end(w);
}

enum search_end
search_run(const struct search_text *s, const struct storage *storage, const char *run_id,
    const struct search_limits *limits, struct writer *w, size_t *hits)
{
	char *path = storage_transcript(storage, run_id);
	struct buffer text = BUFFER_INIT;
	enum search_end end = SEARCH_WHOLE;
	struct reader reader;
	struct error err;
	const char *line;
	size_t len, found = 0;
	int got = reader_open(&reader, path, &err);

	free(path);
	*hits = 0;
	if (got != 0)
		return SEARCH_UNREADABLE;
	while (end == SEARCH_WHOLE && (got = reader_next(&reader, &line, &len, &err)) == 1) {
		struct event_view event;
		const char *at;
		size_t length;

		if (search_line_may_hold(s, line, len) && event_view_whole(line, len, &event) &&
		    (search_value(s, event.path, &text, &at, &length) ||
		    search_value(s, event.payload, &text, &at, &length))) {
			if (found == limits->hits) {
				end = SEARCH_MORE;
				break;
			}
			search_write_hit(&event, &text, at, length, w);
			found++;
		}
		if (clock_monotonic() > limits->until)
			end = SEARCH_CUT;
	}
	if (got == -1)
		end = SEARCH_UNREADABLE;
	reader_close(&reader);
	buffer_free(&text);
	*hits = found;
	return end;
}
