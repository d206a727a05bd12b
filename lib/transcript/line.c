/*
 * A line is built with room before it for seq and timestamp, and with zeros in the places of prev
 * and of a signature; so only these have to be filled in while the transcript is locked. Blobs are
 * written while the line is built, before the line can name them.
 */
#include "transcript/line.h"

#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/text.h"
#include "json/writer.h"
#include "transcript/blob.h"
#include "transcript/event_keys.h"
#include "transcript/seal.h"

#define LINE_HEAD "{\"seq\":%lld,\"timestamp\":\"%s\""
#define LINE_ROOM (sizeof "{\"seq\":9223372036854775807,\"timestamp\":\"\"" + CLOCK_TEXT_SIZE)
#define LINE_TAIL ",\"prev\":\"0000000000000000000000000000000000000000000000000000000000000000\"}\n"
#define LINE_PREV_BACK (DIGEST_SIZE - 1 + sizeof "\"}\n" - 1) /* length of the end of a line, from
                                                                 the digest in prev on */
#define PAYLOAD "/" KEY_PAYLOAD
#define LINE_KEPT ((size_t)1 << 20) /* bytes of memory that are kept for the next line */

/* Whether null is in all places whose values event_raw has. */
static bool
raws_in_place(const struct event *e)
{
	for (size_t i = 0; i < e->raw_count; i++) {
		const char *at = e->raws[i].at;

		if (strncmp(at, PAYLOAD, sizeof PAYLOAD - 1) != 0 ||
		    span_type(pointer_find(e->payload, at + sizeof PAYLOAD - 1)) != '0')
			return false;
	}
	return true;
}

/* Whether readers will accept it as the line with this seq after a line with this digest. */
static bool
line_holds(const struct line *l, int64_t seq, const char *prev)
{
	const char *line = l->bytes.data + l->start;
	size_t len = l->bytes.len - l->start - 1;
	int64_t found;

	return line[len] == '\n' && memchr(line, '\n', len) == NULL &&
	    event_line_whole(line, len, &found) && found == seq &&
	    memcmp(line + len + 1 - LINE_PREV_BACK, prev, DIGEST_SIZE - 1) == 0;
}

/* Appends the members between timestamp and prev. */
static int
line_members(struct line *l, const struct line_place *place, const struct event *e,
    struct buffer *refs, struct error *err)
{
	struct buffer *out = &l->bytes;
	char name[DIGEST_SIZE];
	struct writer w;

	writer_begin(&w, out);
	w.comma = true;
	writer_member_string(&w, KEY_EVENT_ID, e->id);
	writer_member_string(&w, KEY_RUN_ID, place->run_id);
	writer_member_string(&w, KEY_PARENT_RUN_ID, e->parent_run_id);
	writer_member_string(&w, KEY_CHILD_RUN_ID, e->child_run_id);
	writer_key(&w, KEY_PARENT_EVENT_ID);
	writer_string(&w, e->parent_event_id);
	event_write_links(&w, e->links);
	writer_member_string(&w, KEY_TYPE, event_named(e));
	writer_member_string(&w, KEY_PATH, e->path);
	writer_member_integer(&w, KEY_ITERATION, e->iteration);

	/* Large strings go into blobs, and so do raw bytes. */
	writer_key(&w, KEY_PAYLOAD);
	if (e->payload.len <= BLOB_THRESHOLD)
		writer_span(&w, e->payload);
	else if (blob_externalise(place->blobs, e->payload, PAYLOAD, place->sync, out, refs, err) == -1)
		return -1;
	w.comma = true;
	INVARIANT(raws_in_place(e));
	for (size_t i = 0; i < e->raw_count; i++) {
		const struct event_raw *raw = &e->raws[i];

		if (blob_write(place->blobs, raw->bytes, raw->len, place->sync, name, err) == -1)
			return -1;
		blob_reference(raw->at, name, raw->len, "raw", refs);
	}
	if (e->seal != NULL) {
		l->signature = out->len - SEAL_BACK;
		INVARIANT(text_prefix_of(out->data + l->signature, SEAL_BACK, "0") == SEAL_SIGNATURE);
	}
	if (refs->len > 0) {
		writer_key(&w, KEY_REFS);
		buffer_byte(out, '[');
		buffer_append(out, refs->data, refs->len);
		buffer_byte(out, ']');
	}
	return 0;
}

int
line_make(struct line *l, const struct line_place *place, struct event *e, struct error *err)
{
	struct buffer refs = BUFFER_INIT, *bytes = &l->bytes;
	const char *members;
	size_t len;

	if (bytes->capacity > LINE_KEPT)
		buffer_free(bytes);
	buffer_clear(bytes);
	buffer_reserve(bytes, LINE_ROOM);
	bytes->len = LINE_ROOM;
	int result = line_members(l, place, e, &refs, err);
	buffer_free(&refs);
	if (result == -1)
		return -1;

	/* Refuse anything that would break the file's framing, or that readers would not accept. */
	members = bytes->data + LINE_ROOM;
	len = bytes->len - LINE_ROOM;
	if (memchr(members, '\n', len) != NULL || memchr(members, '\0', len) != NULL)
		return error_set(err, ERROR_INVALID_INPUT, place->path,
		    "an event holds a line feed or NUL: its JSON must be minified");
	if (bytes->len + sizeof LINE_TAIL > SCAN_LINE_LIMIT)
		return error_set(err, ERROR_INVALID_INPUT, place->path,
		    "an event of %zu bytes is above the limit of %zu", bytes->len, SCAN_LINE_LIMIT);
	buffer_append(bytes, LINE_TAIL, sizeof LINE_TAIL - 1);
	return 0;
}

void
line_finish(struct line *l, struct event *e, int64_t seq, int64_t wall,
    const char prev[DIGEST_SIZE])
{
	char head[LINE_ROOM];

	e->seq = seq;
	int len = snprintf(head, sizeof head, LINE_HEAD, (long long)seq,
	    clock_text(wall, e->timestamp));
	INVARIANT(len > 0 && (size_t)len < sizeof head);
	l->start = LINE_ROOM - (size_t)len;
	memcpy(l->bytes.data + l->start, head, (size_t)len);
	memcpy(l->bytes.data + l->bytes.len - LINE_PREV_BACK, prev, DIGEST_SIZE - 1);
	if (e->seal != NULL)
		seal_sign(e->seal, l->bytes.data + l->start, l->bytes.len - l->start - 1,
		    l->signature - l->start);
	INVARIANT(line_holds(l, seq, prev));
}

struct span
line_span(const struct line *l)
{
	return span_of(l->bytes.data + l->start, l->bytes.len - l->start);
}
