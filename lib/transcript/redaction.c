/*
 * Writes the event as it will be recorded, passes it to the filter, and compares the answer with it
 * member by member in both directions, so that nothing fixed is changed, missing or new. The event
 * table says which members are fixed, and which are data, in which no digests are searched for.
 * Bytes that will be stored in blobs are found in the answer by their pointers.
 */
#include "transcript/redaction.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "json/writer.h"
#include "transcript/event_keys.h"
#include "transcript/event_table.h"
#include "transcript/form.h"

#define PAYLOAD "/" KEY_PAYLOAD
#define QUOTED(key) span_of("\"" key "\"", sizeof key + 1)
#define MARK_PURPOSE "filter\n" /* makes these digests different from others that are made with the
                                   key */
#define DIGEST_PURPOSE "digest\n"

/* Whether a shape has a member with this key (a raw token) that has one of the flags. */
static bool
redaction_key_has_flag(struct span key, unsigned flags)
{
	for (size_t i = 0; i < event_shape_count; i++) {
		const struct event_shape *shape = event_shapes[i];

		for (size_t j = 0; j < shape->count; j++)
			if ((shape->members[j].flags & flags) && span_is(key, shape->members[j].key))
				return true;
	}
	return false;
}

/* Whether a key is that of a digest: sha256, input_sha256 … */
static bool
is_digest_name(struct span key)
{
	static const char last[] = "sha256\"";
	size_t len = sizeof last - 1;

	return span_is(key, KEY_BOUND) || (key.len > len &&
	    memcmp(key.at + key.len - len, last, len) == 0 &&
	    (key.len == len + 1 || key.at[key.len - len - 1] == '_'));
}

bool
redaction_is_data(struct span key)
{
	return redaction_key_has_flag(key, MEMBER_DATA);
}

bool
redaction_is_fixed(struct span key, bool step)
{
	return is_digest_name(key) ||
	    redaction_key_has_flag(key, step ? MEMBER_FIXED | MEMBER_FIXED_OF_STEP : MEMBER_FIXED);
}

char *
redaction_mark(const struct redaction *r, char mark[DIGEST_SIZE])
{
	struct buffer text = BUFFER_INIT;

	buffer_format(&text, MARK_PURPOSE "%s", r->program);
	digest_hmac(r->key, DIGEST_BYTES, text.data, text.len, mark);
	buffer_free(&text);
	return mark;
}

/* ---- what the filter is given ---- */

/* Appends a value that AWF has made, with its digests replaced by keyed ones, and without the
 * member `dropped`. */
static void
put_keyed(const struct redaction *r, struct span value, const char *dropped, struct buffer *out)
{
	char type = span_type(value), separator = type == 'o' ? '{' : '[';

	if (type != 'o' && type != 'a') {
		buffer_append(out, value.at, value.len);
		return;
	}
	for (struct span_walk member = span_walk(value); span_next(&member);) {
		struct span key = member.key, element = member.value;

		if (key.at != NULL && dropped != NULL && span_is(key, dropped))
			continue;
		buffer_byte(out, separator);
		separator = ',';
		if (key.at != NULL) {
			buffer_append(out, key.at, key.len);
			buffer_byte(out, ':');
		}
		if (key.at != NULL && redaction_is_data(key)) {
			buffer_append(out, element.at, element.len);
		} else if (key.at != NULL && is_digest_name(key) && span_type(element) == 's') {
			struct buffer text = BUFFER_INIT;
			char keyed[DIGEST_SIZE];

			buffer_text(&text, DIGEST_PURPOSE);
			buffer_append(&text, element.at, element.len);
			digest_hmac(r->key, DIGEST_BYTES, text.data, text.len, keyed);
			buffer_format(out, "\"%s\"", keyed);
			buffer_free(&text);
		} else if (key.at != NULL && is_digest_name(key)) {
			buffer_append(out, element.at, element.len);
		} else {
			put_keyed(r, element, NULL, out);
		}
	}
	if (separator != ',')
		buffer_byte(out, separator);
	buffer_byte(out, type == 'o' ? '}' : ']');
}

/* Writes the payload, with the bytes of raws as base64 in their places; raws are in the order of
 * their places. */
static void
put_payload(const struct redaction *r, const struct event *e, struct writer *w)
{
	struct buffer payload = BUFFER_INIT;
	const char *copied = e->payload.at, *end;

	writer_key(w, KEY_PAYLOAD);
	if (copied == NULL) {
		writer_null(w);
		return;
	}
	end = copied + e->payload.len;
	for (size_t i = 0; i < e->raw_count; i++) {
		const struct event_raw *raw = &e->raws[i];
		struct span place = pointer_find(e->payload, raw->at + sizeof PAYLOAD - 1);

		INVARIANT(place.at >= copied && place.at + place.len <= end);
		buffer_append(&payload, copied, (size_t)(place.at - copied));
		buffer_byte(&payload, '"');
		base64_encode(raw->bytes, raw->len, &payload);
		buffer_byte(&payload, '"');
		copied = place.at + place.len;
	}
	buffer_append(&payload, copied, (size_t)(end - copied));
	put_keyed(r, span_of(payload.data, payload.len), e->seal != NULL ? KEY_SEAL : NULL, w->out);
	w->comma = true;
	buffer_free(&payload);
}

static void
put_line(const struct redaction *r, const char *run_id, const struct event *e, struct buffer *out)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_string(&w, KEY_EVENT_ID, e->id);
	writer_member_string(&w, KEY_RUN_ID, run_id);
	writer_member_string(&w, KEY_PARENT_RUN_ID, e->parent_run_id);
	writer_member_string(&w, KEY_CHILD_RUN_ID, e->child_run_id);
	writer_key(&w, KEY_PARENT_EVENT_ID);
	writer_string(&w, e->parent_event_id);
	event_write_links(&w, e->links);
	writer_member_string(&w, KEY_TYPE, event_named(e));
	writer_member_string(&w, KEY_PATH, e->path);
	writer_member_integer(&w, KEY_ITERATION, e->iteration);
	put_payload(r, e, &w);
	if (e->raw_count > 0) {
		writer_key(&w, KEY_REFS);
		writer_array(&w);
		for (size_t i = 0; i < e->raw_count; i++) {
			writer_object(&w);
			writer_member_string(&w, KEY_AT, e->raws[i].at);
			writer_member_string(&w, KEY_ENCODING, "base64");
			writer_object_end(&w);
		}
		writer_array_end(&w);
	}
	writer_object_end(&w);
}

/* ---- what the filter answers ---- */

static bool
redaction_same_span(struct span a, struct span b)
{
	return (a.at == NULL) == (b.at == NULL) && span_same(a, b);
}

static int
redaction_set_changed_error(struct span key, struct error *err)
{
	return error_set(err, ERROR_SYSTEM, REDACTION_PLACE,
	    "the filter changed %.*s of an event, which identifies it: nothing of the event is "
	    "written", (int)key.len, key.at);
}

/* The value of a member; .at NULL if there is none. key: a raw token. */
static struct span
member_of(struct span object, struct span key)
{
	char *name = span_text(key);
	struct span value = span_member(object, name != NULL ? name : "");

	free(name);
	return value;
}

/* Whether all fixed members of one payload have the same values in the other. */
static int
check_fixed(struct span payload, struct span other, bool step, struct error *err)
{
	for (struct span_walk member = span_walk(payload); span_next(&member);)
		if (redaction_is_fixed(member.key, step) &&
		    !redaction_same_span(member.value, member_of(other, member.key)))
			return redaction_set_changed_error(member.key, err);
	return 0;
}

/* Whether the answer is the event that was sent, with nothing fixed changed, and has a valid
 * form. */
static int
check_answer(enum event_type type, struct span sent, struct span answer, struct error *err)
{
	struct span before = span_member(sent, KEY_PAYLOAD), after = span_member(answer, KEY_PAYLOAD);
	bool step = event_type_starts_call(type) || event_type_ends_call(type);
	struct form_fault fault;

	for (struct span_walk member = span_walk(sent); span_next(&member);)
		if (!span_is(member.key, KEY_PAYLOAD) &&
		    !redaction_same_span(member.value, member_of(answer, member.key)))
			return redaction_set_changed_error(member.key, err);
	if (span_type(before) != span_type(after))
		return redaction_set_changed_error(QUOTED(KEY_PAYLOAD), err);
	if (span_type(before) != 'o')
		return 0;
	if (check_fixed(before, after, step, err) == -1 || check_fixed(after, before, step, err) == -1)
		return -1;
	if (!redaction_same_span(span_path(before, KEY_ERROR, KEY_CODE, NULL),
	    span_path(after, KEY_ERROR, KEY_CODE, NULL)))
		return redaction_set_changed_error(QUOTED(KEY_ERROR), err);
	if (event_is_foreign(type, before) != event_is_foreign(type, after))
		return redaction_set_changed_error(QUOTED(KEY_SOURCE), err);
	if (form_check_payload(type, after.at, after.len, &fault) == -1)
		return error_set(err, ERROR_SYSTEM, REDACTION_PLACE,
		    "the filter's answer has not the form of an event: %s", fault.what.message);
	return 0;
}

/* ---- replacing the event ---- */

/* Keeps the answer's payload, with null for bytes that will be stored in blobs. The filter may have
 * changed the order of members, so each is searched for again. If it has replaced base64 by another
 * text, that text stays in the payload. */
static void
keep_payload(struct redaction *r, const struct event *e, struct span payload)
{
	r->raws = memory_zero(e->raw_count + 1, sizeof *r->raws);
	r->bytes = memory_zero(e->raw_count + 1, sizeof *r->bytes);
	buffer_append(&r->payload, payload.at, payload.len);
	for (size_t i = 0; i < e->raw_count; i++) {
		struct span all = span_of(r->payload.data, r->payload.len);
		struct span place = pointer_find(all, e->raws[i].at + sizeof PAYLOAD - 1);
		struct buffer text = BUFFER_INIT, bytes = BUFFER_INIT, rest = BUFFER_INIT;
		const char *after;

		if (span_type(place) != 's')
			continue;
		after = place.at + place.len;
		span_decode(place, &text);
		if (base64_decode(buffer_string(&text), text.len, &bytes) != 0) {
			buffer_free(&text);
			buffer_free(&bytes);
			continue;
		}
		buffer_free(&text);
		r->raws[r->raw_count] = (struct event_raw){ e->raws[i].at, buffer_string(&bytes),
			bytes.len };
		r->bytes[r->raw_count++] = bytes;
		buffer_append(&rest, all.at, (size_t)(place.at - all.at));
		buffer_text(&rest, "null");
		buffer_append(&rest, after, (size_t)(all.at + all.len - after));
		buffer_free(&r->payload);
		r->payload = rest;
	}
	INVARIANT(r->raw_count <= e->raw_count);
}

int
redaction_apply(struct redaction *r, const char *run_id, struct event *e, struct error *err)
{
	struct buffer line = BUFFER_INIT, given = BUFFER_INIT, answer = BUFFER_INIT;
	struct span sent, text, payload = SPAN_NONE, seal;
	const char *why;
	size_t bad;
	int result;

	INVARIANT(id_valid(e->id, strlen(e->id)));
	put_line(r, run_id, e, &line);
	sent = span_of(line.data, line.len);
	INVARIANT(memchr(sent.at, '\n', sent.len) == NULL);
	INVARIANT(e->seal == NULL || span_path(sent, KEY_PAYLOAD, KEY_SEAL, NULL).at == NULL);
	result = r->pass(r->context, sent, &given, err);
	if (result == 0) {
		text = span_of(buffer_string(&given), given.len);
		why = scan_within(text.at, text.len, SCAN_LINE_DEPTH, &bad);
		if (why != NULL) {
			result = error_set(err, ERROR_SYSTEM, REDACTION_PLACE,
			    "the filter's answer is no JSON: byte %zu: %s", bad + 1, why);
		} else if (span_type(text) != 'o') {
			result = error_set(err, ERROR_SYSTEM, REDACTION_PLACE,
			    "the filter's answer is no JSON object");
		} else {
			scan_minify(text, &answer);
			text = span_of(buffer_string(&answer), answer.len);
			payload = span_member(text, KEY_PAYLOAD);
			result = check_answer(e->type, sent, text, err);
		}
	}
	if (result == 0)
		redaction_forget_raws(r);
	if (result == 0 && span_type(payload) == 'o') {
		keep_payload(r, e, payload);
		/* The seal is the last member, where seal_write() put it. */
		if (e->seal != NULL) {
			seal = span_member(e->payload, KEY_SEAL);
			r->payload.len--;
			buffer_text(&r->payload, r->payload.len > 1 ? "," : "");
			buffer_text(&r->payload, "\"" KEY_SEAL "\":");
			buffer_append(&r->payload, seal.at, seal.len);
			buffer_byte(&r->payload, '}');
		}
		e->payload = span_of(r->payload.data, r->payload.len);
		e->raws = r->raws;
		e->raw_count = r->raw_count;
	}
	buffer_free(&line);
	buffer_free(&given);
	buffer_free(&answer);
	return result;
}

struct span
redaction_member(const struct redaction *r, const char *name)
{
	return span_member(span_of(buffer_string(&r->payload), r->payload.len), name);
}
