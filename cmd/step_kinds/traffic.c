/*
 * A JSON body is parsed (jansson) and its ignored members are removed; the text written from it
 * with sorted keys is hashed. Other bodies are hashed unchanged. The difference between two
 * requests is described by the first members that differ.
 */
#include "step_kinds/traffic.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/value.h"
#include "transcript/event_keys.h"

#define DIFFERENCES 3 /* at most so many are described */

struct span
traffic_request(const struct recalled_event *e)
{
	struct span payload = e->view.payload, request = SPAN_NONE;

	if (e->view.type == EVENT_MESSAGE_USER)
		request = span_member(payload, KEY_REQUEST);
	else if (e->view.type == EVENT_TOOL_CALL)
		request = span_member(payload, KEY_INPUT);
	return span_type(span_member(request, KEY_METHOD)) == 's' ? request : SPAN_NONE;
}

/* ---- the identity of a request ---- */

static void
leave_out(json_t *value, const char *pointer)
{
	while (*pointer == '/') {
		char *part = value_pointer_part(&pointer);
		json_t *inner = NULL;
		size_t index;

		if (json_is_object(value)) {
			inner = json_object_get(value, part);
			if (*pointer == '\0')
				json_object_del(value, part);
		} else if (json_is_array(value) && value_pointer_index(part, &index)) {
			inner = json_array_get(value, index);
			if (*pointer == '\0')
				json_array_remove(value, index);
		}
		value = inner;
		free(part);
	}
}

/* The body as a value; NULL: it is not JSON. */
static json_t *
body_value(const struct traffic *t, struct span request)
{
	struct buffer body = BUFFER_INIT;
	struct error err;
	json_t *value = NULL;

	if (span_member(request, KEY_ENCODING).at == NULL)
		span_decode(span_member(request, KEY_BODY), &body);
	if (body.len > 0)
		value = value_parse(body.data, body.len, "body", ERROR_SCHEMA, &err);
	for (char *const *pointer = t->ignored; value != NULL && pointer != NULL && *pointer != NULL;
	    pointer++)
		leave_out(value, *pointer);
	buffer_free(&body);
	return value;
}

void
traffic_key(const struct traffic *t, struct span request, char key[DIGEST_SIZE])
{
	struct span parts[] = { span_member(request, KEY_METHOD), span_member(request, KEY_PATH),
		span_member(request, KEY_BODY) };
	json_t *value = body_value(t, request);
	char *sorted = value == NULL ? NULL :
	    json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	struct digest digest;

	digest_begin(&digest);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (i == 2 && sorted != NULL)
			digest_add(&digest, sorted, strlen(sorted));
		else if (parts[i].at != NULL)
			digest_add(&digest, parts[i].at, parts[i].len);
		digest_add(&digest, "", 1);
	}
	digest_end(&digest, key);
	free(sorted);
	json_decref(value);
}

/* ---- the recording ---- */

static bool
is_whole(const struct recalled_event *answered)
{
	struct error error;

	return answered->view.type == EVENT_TOOL_RESULT ? !recalled_error(answered, &error) :
	    !answered->partial && span_member(answered->view.payload, KEY_RESPONSE).at != NULL;
}

/* Whether an exchange belongs to the attempt that is replayed: either its request was sent in that
 * attempt, or that attempt used the answer of an earlier one again, and then the call's last event
 * has a link to the answer. An attempt that sends all requests again (--models live) uses no earlier
 * answer. */
static bool
traffic_belongs_to_attempt(const struct recalled *r, const struct exchanged *x)
{
	if (span_is(x->asked->view.parent_event_id, r->started.id))
		return true;
	for (struct span_walk link = span_walk(recalled_result(r)->view.links);
	    x->answered != NULL && span_next(&link);)
		if (span_is(link.value, x->answered->id))
			return true;
	return false;
}

void
traffic_begin(struct traffic *t, struct recalled *r, char *const *ignored)
{
	*t = (struct traffic){ .ignored = ignored };
	for (size_t i = 0; i < r->event_count; i++) {
		struct recalled_event *e = &r->events[i];
		struct exchanged x = { .asked = e };
		struct span request = traffic_request(e);

		if (request.at == NULL)
			continue;
		x.answered = recalled_effect(r, e->id,
		    e->view.type == EVENT_TOOL_CALL ? EVENT_TOOL_RESULT : EVENT_MESSAGE_ASSISTANT);
		if (recalled_replays(r) && !traffic_belongs_to_attempt(r, &x))
			continue;
		x.whole = x.answered != NULL && is_whole(x.answered);
		traffic_key(t, request, x.key);
		t->list = memory_array(t->list, t->count + 1, sizeof *t->list);
		t->list[t->count++] = x;
	}
}

struct exchanged *
traffic_find(const struct traffic *t, const char *key, bool whole)
{
	struct exchanged *other = NULL;

	for (size_t i = 0; i < t->count; i++) {
		struct exchanged *x = &t->list[i];

		if (x->used || x->answered == NULL || strcmp(x->key, key) != 0)
			continue;
		if (x->whole)
			return x;
		if (other == NULL)
			other = x;
	}
	return whole ? NULL : other;
}

bool
traffic_left(const struct traffic *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (!t->list[i].used && t->list[i].whole)
			return true;
	return false;
}

/* ---- how two requests differ ---- */

struct telling {
	struct buffer *out;
	int left;
};

static void
traffic_describe_difference(struct telling *t, const char *pointer, const json_t *now,
    const json_t *then)
{
	struct buffer texts[2] = { BUFFER_INIT, BUFFER_INIT };

	if (t->left-- <= 0)
		return;
	for (int i = 0; i < 2; i++) {
		const json_t *value = i == 0 ? now : then;

		if (json_is_string(value))
			buffer_append(&texts[i], json_string_value(value), json_string_length(value));
		else if (value != NULL)
			value_write(value, &texts[i]);
	}
	buffer_format(t->out, "; %s is ", *pointer != '\0' ? pointer : "the body");
	if (now == NULL)
		buffer_text(t->out, "not there, but in the recorded one");
	else if (then == NULL)
		buffer_text(t->out, "not in the recorded one");
	else
		recalled_difference(t->out, span_of(texts[0].data, texts[0].len),
		    span_of(texts[1].data, texts[1].len));
	buffer_free(&texts[0]);
	buffer_free(&texts[1]);
}

static void
traffic_compare_values(struct telling *t, struct buffer *pointer, json_t *now, json_t *then)
{
	const size_t len = pointer->len;
	const char *key;
	json_t *value;
	size_t i;

	if (now != NULL && then != NULL && json_equal(now, then))
		return;
	if (json_is_object(now) && json_is_object(then)) {
		json_object_foreach(now, key, value) {
			value_pointer_add(pointer, key);
			traffic_compare_values(t, pointer, value, json_object_get(then, key));
			pointer->len = len;
		}
		json_object_foreach(then, key, value) {
			if (json_object_get(now, key) != NULL)
				continue;
			value_pointer_add(pointer, key);
			traffic_compare_values(t, pointer, NULL, value);
			pointer->len = len;
		}
	} else if (json_is_array(now) && json_is_array(then)) {
		for (i = 0; i < json_array_size(now) || i < json_array_size(then); i++) {
			buffer_format(pointer, "/%zu", i);
			traffic_compare_values(t, pointer, json_array_get(now, i),
			    json_array_get(then, i));
			pointer->len = len;
		}
	} else {
		traffic_describe_difference(t, buffer_string(pointer), now, then);
	}
}

struct exchanged *
traffic_likely(const struct traffic *t, struct span request)
{
	struct span path = span_member(request, KEY_PATH);
	struct exchanged *other = NULL;

	for (size_t i = 0; i < t->count; i++) {
		struct span recorded = span_member(traffic_request(t->list[i].asked), KEY_PATH);

		if (t->list[i].used)
			continue;
		if (span_same(recorded, path))
			return &t->list[i];
		if (other == NULL)
			other = &t->list[i];
	}
	return other;
}

void
traffic_differs(const struct traffic *t, struct span request, struct buffer *out)
{
	const struct exchanged *x = traffic_likely(t, request);
	struct telling telling = { out, DIFFERENCES };
	struct buffer pointer = BUFFER_INIT;
	struct span recorded, path = span_member(request, KEY_PATH), was;
	json_t *now, *then;

	if (t->count == 0) {
		buffer_text(out, "; there is none of this call");
		return;
	}
	if (x == NULL) {
		buffer_text(out, "; all that were recorded have been asked");
		return;
	}
	recorded = traffic_request(x->asked);
	was = span_member(recorded, KEY_PATH);
	if (!span_same(was, path)) {
		buffer_text(out, "; the next of the record is ");
		span_decode(span_member(recorded, KEY_METHOD), out);
		buffer_byte(out, ' ');
		span_decode(was, out);
		return;
	}
	now = body_value(t, request);
	then = body_value(t, recorded);
	if (now != NULL && then != NULL) {
		traffic_compare_values(&telling, &pointer, now, then);
		if (telling.left < 0)
			buffer_format(out, "; and %d more", -telling.left);
	} else {
		buffer_text(out, "; its body is another");
	}
	json_decref(now);
	json_decref(then);
	buffer_free(&pointer);
}

void
traffic_free(struct traffic *t)
{
	free(t->list);
	*t = (struct traffic){ .count = 0 };
}
