#include "record/outcome.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/map.h"
#include "base/memory.h"
#include "json/writer.h"
#include "record/event.h"
#include "record/reader.h"

enum call_end { CALL_OPEN, CALL_SUCCEEDED, CALL_FAILED, CALL_WAITING, CALL_NEITHER };

struct call_record {
	char *id;               /* the chain NAME:OCCURRENCE:ITEM */
	char *repeats;          /* what a later call must share to make this one good */
	struct buffer rescues;  /* of a --rescue call: event ids of what it was given */
	enum call_end end;
	enum error_code code;
	char *message;
	bool excused;
};

static const char *const usage_keys[] = {
	"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
	"reasoning_tokens",
};
#define USAGE_KEYS (sizeof usage_keys / sizeof usage_keys[0])

struct tally {
	struct call_record *calls;
	size_t count, capacity;
	struct map by_id;       /* call -> index */
	struct map by_end;      /* event id of step.completed -> index */
	struct map good;        /* repeats -> index of the last that succeeded */
	int64_t usage[USAGE_KEYS];
	bool used[USAGE_KEYS];
};

static void
tally_reset(struct tally *t)
{
	for (size_t i = 0; i < t->count; i++) {
		free(t->calls[i].id);
		free(t->calls[i].repeats);
		free(t->calls[i].message);
		buffer_free(&t->calls[i].rescues);
	}
	free(t->calls);
	map_free(&t->by_id);
	map_free(&t->by_end);
	map_free(&t->good);
	*t = (struct tally){ .by_id = MAP_INIT };
}

/* Length of the enclosing call's chain: what stands before the last slash. */
static size_t
enclosing_len(const char *id)
{
	const char *slash = strrchr(id, '/');

	return slash != NULL ? (size_t)(slash - id) : 0;
}

/* Enclosing call, name, item and digest of the input, one per line. */
static char *
repeats_key(const char *id, struct span payload)
{
	const char *item = strrchr(id, ':');
	char *name = span_text(span_member(payload, "name"));
	char *digest = span_text(span_member(payload, "input_sha256"));
	char *key = memory_format("%.*s\n%s\n%s\n%s", (int)enclosing_len(id), id,
	    name != NULL ? name : "", item != NULL ? item : "", digest != NULL ? digest : "");

	free(name);
	free(digest);
	return key;
}

static void
add_rescued(struct call_record *c, struct span event_id)
{
	char id[ID_SIZE];

	if (span_copy(event_id, id, sizeof id))
		buffer_append(&c->rescues, id, sizeof id);
}

static void
read_mode(struct call_record *c, const struct event_view *view)
{
	struct span mode = span_member(view->payload, "mode"), key, link;
	struct span_walk walk;

	c->excused = span_is(mode, "try") || span_is(mode, "allow-failure");
	if (!span_is(mode, "rescue"))
		return;
	add_rescued(c, view->parent_event_id);
	if (view->links.at == NULL)
		return;
	span_walk_begin(&walk, view->links);
	while (span_walk_next(&walk, &key, &link))
		add_rescued(c, link);
}

static void
call_started(struct tally *t, const struct event_view *view)
{
	char *id = span_text(span_member(view->payload, "call"));
	struct call_record *c;

	if (id == NULL)
		return;
	if (t->count == t->capacity) {
		t->capacity = t->capacity == 0 ? 64 : t->capacity * 2;
		t->calls = memory_array(t->calls, t->capacity, sizeof *t->calls);
	}
	map_put(&t->by_id, id, strlen(id), t->count);
	c = &t->calls[t->count++];
	*c = (struct call_record){ .id = id, .repeats = repeats_key(id, view->payload),
		.rescues = BUFFER_INIT };
	read_mode(c, view);
}

static struct call_record *
find_call(const struct tally *t, const char *id, size_t len)
{
	const size_t *index = map_get(&t->by_id, id, len);

	return index != NULL ? &t->calls[*index] : NULL;
}

static bool
given(struct span value)
{
	char type = span_type(value);

	return type != 0 && type != '0' && type != 'f';
}

static void
read_error(struct call_record *c, struct span error)
{
	char *code = span_text(span_member(error, "code"));

	c->code = code != NULL ? error_from_name(code, strlen(code)) : ERROR_NONE;
	if (c->code == ERROR_NONE)
		c->code = ERROR_EXIT_STATUS;
	c->message = span_text(span_member(error, "message"));
	if (c->code == ERROR_WAITING)
		c->end = CALL_WAITING;
	else if (c->code == ERROR_DOWNSTREAM_CLOSED)
		c->end = CALL_NEITHER;
	else
		c->end = CALL_FAILED;
	free(code);
}

static void
call_completed(struct tally *t, const struct event_view *view)
{
	char *id = span_text(span_member(view->payload, "call")), event_id[ID_SIZE];
	struct call_record *c = id != NULL ? find_call(t, id, strlen(id)) : NULL;
	struct span error = span_member(view->payload, "error");

	free(id);
	if (c == NULL)
		return;
	if (given(span_member(view->payload, "skipped"))) {
		c->end = CALL_NEITHER;
	} else if (given(error)) {
		read_error(c, error);
	} else {
		c->end = CALL_SUCCEEDED;
		map_put(&t->good, c->repeats, strlen(c->repeats), (size_t)(c - t->calls));
	}
	if (span_copy(view->event_id, event_id, sizeof event_id))
		map_put(&t->by_end, event_id, ID_SIZE, (size_t)(c - t->calls));
}

static void
add_usage(struct tally *t, struct span usage)
{
	for (size_t i = 0; i < USAGE_KEYS; i++) {
		long long tokens;

		if (usage.at == NULL || !span_integer(span_member(usage, usage_keys[i]), &tokens))
			continue;
		t->usage[i] = count_add(t->usage[i], tokens);
		t->used[i] = true;
	}
}

static void
tally_event(struct tally *t, const struct event_view *view)
{
	switch (view->type) {
	case EVENT_RUN_STARTED:
		tally_reset(t);
		break;
	case EVENT_STEP_STARTED:
	case EVENT_CALL_WORKFLOW_STARTED:
		call_started(t, view);
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
		call_completed(t, view);
		break;
	case EVENT_MESSAGE_ASSISTANT:
		add_usage(t, span_member(view->payload, "usage"));
		break;
	default:
		break;
	}
}

static bool
failed(const struct call_record *c)
{
	return c->end == CALL_OPEN || c->end == CALL_FAILED;
}

static void
excuse_repeated(struct tally *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct call_record *c = &t->calls[i];
		const size_t *good = map_get(&t->good, c->repeats, strlen(c->repeats));

		c->excused |= good != NULL && *good > i;
	}
}

/* From the last: a rescue that failed, but was rescued itself, is as good as one that
 * succeeded. */
static void
excuse_rescued(struct tally *t)
{
	for (size_t i = t->count; i-- > 0;) {
		const struct call_record *c = &t->calls[i];

		if (c->end != CALL_SUCCEEDED && !(failed(c) && c->excused))
			continue;
		for (size_t at = 0; at < c->rescues.len; at += ID_SIZE) {
			const size_t *index = map_get(&t->by_end, c->rescues.data + at, ID_SIZE);

			if (index != NULL)
				t->calls[*index].excused = true;
		}
	}
}

/* A call within a failed one that is excused is excused with it. Calls stand
 * after what encloses them. */
static void
excuse_enclosed(struct tally *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct call_record *c = &t->calls[i];
		const struct call_record *outer = find_call(t, c->id, enclosing_len(c->id));

		c->excused |= outer != NULL && failed(outer) && outer->excused;
	}
}

static void
set_failed(struct outcome *o, const struct call_record *c)
{
	if (o->failed++ > 0)
		return;
	snprintf(o->first_failed, sizeof o->first_failed, "%s", c->id);
	if (c->end == CALL_OPEN)
		error_set(&o->error, ERROR_INTERRUPTED, NULL, "it never ended");
	else
		error_set(&o->error, c->code, NULL, "%s", c->message != NULL ? c->message : "");
}

static void
write_usage(const struct tally *t, struct buffer *out)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_integer(&w, "calls", (int64_t)t->count);
	for (size_t i = 0; i < USAGE_KEYS; i++)
		if (t->used[i])
			writer_member_integer(&w, usage_keys[i], t->usage[i]);
	writer_object_end(&w);
}

static void
conclude(struct tally *t, struct outcome *o)
{
	excuse_repeated(t);
	excuse_rescued(t);
	excuse_enclosed(t);
	o->calls = (int64_t)t->count;
	for (size_t i = 0; i < t->count; i++) {
		const struct call_record *c = &t->calls[i];

		if (c->excused)
			continue;
		if (failed(c))
			set_failed(o, c);
		else if (c->end == CALL_WAITING && o->waiting++ == 0)
			snprintf(o->first_waiting, sizeof o->first_waiting, "%s", c->id);
	}
	write_usage(t, &o->usage);
}

int
outcome_read(struct outcome *o, const char *path, struct error *err)
{
	struct tally t = { .by_id = MAP_INIT };
	struct event_view view;
	struct reader r;
	const char *line;
	size_t len;
	int got;

	*o = (struct outcome){ .error = ERROR_INIT, .usage = BUFFER_INIT };
	if (reader_open(&r, path, err) != 0)
		return -1;
	while ((got = reader_next(&r, &line, &len, err)) == 1)
		if (event_view(line, len, &view) == 0)
			tally_event(&t, &view);
	if (got == 0)
		conclude(&t, o);
	tally_reset(&t);
	reader_close(&r);
	return got;
}

void
outcome_free(struct outcome *o)
{
	buffer_free(&o->usage);
}
