/*
 * The id of an event is made from the first members of its line; the rest is not parsed.
 */
#include "serve_runs/frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/invariant.h"
#include "json/writer.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

bool
frame_id(const char *line, size_t len, char id[FRAME_ID_SIZE])
{
	char digest[DIGEST_SIZE];
	int64_t seq;

	if (!event_seq(line, len, &seq))
		return false;
	snprintf(id, FRAME_ID_SIZE, "%" PRId64 "-%.*s", seq, FRAME_DIGITS,
	    digest_blake2b(line, len, digest));
	INVARIANT(strlen(id) < FRAME_ID_SIZE && id[strlen(id) - FRAME_DIGITS - 1] == '-');
	return true;
}

bool
frame_id_read(const char *id, int64_t *seq, char digest[FRAME_DIGITS + 1])
{
	size_t digits = strspn(id, "0123456789");

	*seq = 0;
	digest[0] = '\0';
	if (digits == 0 || digits > 18)
		return false;
	for (size_t i = 0; i < digits; i++)
		*seq = *seq * 10 + (id[i] - '0');
	if (id[digits] == '\0')
		return true;
	if (id[digits] != '-' || strlen(id + digits + 1) != FRAME_DIGITS ||
	    strspn(id + digits + 1, "0123456789abcdef") != FRAME_DIGITS)
		return false;
	memcpy(digest, id + digits + 1, FRAME_DIGITS + 1);
	return true;
}

void
frame_event(struct buffer *out, const char *name, const char *id, const char *data, size_t len)
{
	const char *end = data + len;

	if (name != NULL)
		buffer_format(out, "event: %s\n", name);
	if (id != NULL)
		buffer_format(out, "id: %s\n", id);
	/* The client takes a CR, an LF, or both as the end of a field, so each line of the text
	 * gets a data field of its own. */
	for (;;) {
		const char *stop = data;

		while (stop < end && *stop != '\n' && *stop != '\r')
			stop++;
		INVARIANT(stop >= data && memchr(data, '\n', (size_t)(stop - data)) == NULL);
		buffer_text(out, "data: ");
		buffer_append(out, data, (size_t)(stop - data));
		buffer_byte(out, '\n');
		if (stop == end)
			break;
		data = stop + 1;
	}
	buffer_byte(out, '\n');
}

/* Writes, in place of a line that is too long, the first members and the size of it. */
static void
append_head(struct buffer *out, const char *id, const char *line, size_t len)
{
	static const char *const names[] = { KEY_SEQ, KEY_TIMESTAMP, KEY_EVENT_ID, KEY_RUN_ID,
		KEY_PARENT_EVENT_ID, KEY_TYPE, KEY_PATH, KEY_ITERATION };
	struct span values[sizeof names / sizeof *names];
	struct buffer json = BUFFER_INIT;
	struct writer w;

	span_members(span_of(line, len), names, sizeof names / sizeof *names, values);
	writer_begin(&w, &json);
	writer_object(&w);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		writer_member_span(&w, names[i], values[i]);
	writer_member_integer(&w, "bytes", (int64_t)len);
	writer_object_end(&w);
	frame_event(out, NULL, id, json.data, json.len);
	buffer_free(&json);
}

void
frame_line(struct buffer *out, const char *line, size_t len)
{
	char id[FRAME_ID_SIZE];

	if (!frame_id(line, len, id))
		return;
	if (len > FRAME_LINE_MOST)
		append_head(out, id, line, len);
	else if (memchr(line, '\r', len) != NULL)
		frame_event(out, NULL, id, line, len);
	else {
		buffer_format(out, "id: %s\ndata: ", id);
		buffer_append(out, line, len);
		buffer_append(out, "\n\n", 2);
	}
}
