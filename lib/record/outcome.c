#include "record/outcome.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/map.h"
#include "base/memory.h"
#include "json/writer.h"
#include "record/call.h"
#include "record/event.h"
#include "record/reader.h"

enum call_end { CALL_OPEN, CALL_SUCCEEDED, CALL_FAILED, CALL_WAITING, CALL_NEITHER };

/* A call that may still count: it is open, failed or waits. One that does not any more
 * is done: what is left of it is its place, until the next tally_compact(). */
struct call_record {
	char *id;               /* the chain NAME:OCCURRENCE:ITEM; NULL: done */
	char *repeats;          /* what a later call shares that looks like another try of it */
	size_t before;          /* the one before it that shares this, or NO_CALL */
	char *repeated_by;      /* the first such call that succeeded; NULL */
	int64_t try_number;     /* of the enclosing call, in which it was made; 0: the first */
	struct buffer rescues;  /* of a --rescue call: event ids of what it was given */
	enum call_end end;
	enum error_code code;
	char *message;
	char ended[ID_SIZE];    /* event id of its end, if that was one of failure */
	enum waiting_for asks;
	bool decided;           /* it waited, and somebody has decided since */
	bool lenient;           /* a group that may succeed though branches of it failed */
	bool try_only;          /* --try: neither its failure nor its death is the run's */
	bool allowed;           /* --allow-failure */
	bool excused;
};

#define NO_CALL SIZE_MAX
#define DONE_LEAST 64 /* calls that are done before it is worth to give their places back */

static const char *const usage_keys[] = {
	"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
	"reasoning_tokens",
};
#define USAGE_KEYS (sizeof usage_keys / sizeof usage_keys[0])

struct tally {
	struct call_record *calls; /* in the order in which they began */
	size_t count, capacity, done;
	int64_t begun;          /* in all */
	struct map by_id;       /* call -> index */
	struct map by_end;      /* event id of a step.completed with an error -> index */
	struct map last;        /* repeats -> index of the last */
	struct map tools;       /* event ids of tool.calls, as long as one of them is open */
	int64_t open_tools;
	enum outcome_decision decision; /* of the last terminal call */
	char *reason;
	int64_t usage[USAGE_KEYS];
	bool used[USAGE_KEYS];
};

static void
record_free(struct call_record *c)
{
	free(c->id);
	free(c->repeats);
	free(c->repeated_by);
	free(c->message);
	buffer_free(&c->rescues);
	c->id = c->repeats = c->repeated_by = c->message = NULL;
}

static void
tally_reset(struct tally *t)
{
	for (size_t i = 0; i < t->count; i++)
		record_free(&t->calls[i]);
	free(t->calls);
	free(t->reason);
	map_free(&t->by_id);
	map_free(&t->by_end);
	map_free(&t->last);
	map_free(&t->tools);
	*t = (struct tally){ .by_id = MAP_INIT };
}

/* Makes the last call known by what it is looked up by. */
static void
tally_enter(struct tally *t, size_t index)
{
	struct call_record *c = &t->calls[index];
	const size_t *before = map_get(&t->last, c->repeats, strlen(c->repeats));

	c->before = before != NULL ? *before : NO_CALL;
	map_put(&t->last, c->repeats, strlen(c->repeats), index);
	map_put(&t->by_id, c->id, strlen(c->id), index);
	if (c->ended[0] != '\0')
		map_put(&t->by_end, c->ended, ID_SIZE - 1, index);
}

static void
tally_compact(struct tally *t)
{
	size_t kept = 0;

	map_free(&t->by_id);
	map_free(&t->by_end);
	map_free(&t->last);
	for (size_t i = 0; i < t->count; i++) {
		if (t->calls[i].id == NULL)
			continue;
		t->calls[kept] = t->calls[i];
		tally_enter(t, kept++);
	}
	t->count = kept;
	t->done = 0;
}

/* Length of the enclosing call's chain: what stands before the last slash. */
static size_t
enclosing_len(const char *id)
{
	const char *slash = strrchr(id, '/');

	return slash != NULL ? (size_t)(slash - id) : 0;
}

/* Enclosing call, name, item and digest of the input, one per line. The input of a
 * child run is known at its end: until then it repeats none. */
static char *
repeats_key(const char *id, const struct event_view *view)
{
	struct span payload = view->payload;
	bool child = view->type == EVENT_CALL_WORKFLOW_STARTED;
	const char *item = child ? id : strrchr(id, ':');
	char *name = span_text(span_member(payload, "name"));
	char *digest = span_text(span_member(payload, child ? "definition_sha256" : "input_sha256"));
	char *key = memory_format("%.*s\n%s\n%s\n%s", (int)enclosing_len(id), id,
	    name != NULL ? name : "", digest != NULL ? digest : "", item != NULL ? item : "");

	free(name);
	free(digest);
	return key;
}

static void
add_rescued(struct call_record *c, struct span event_id)
{
	char id[ID_SIZE];

	if (span_copy(event_id, id, sizeof id))
		buffer_append(&c->rescues, id, sizeof id - 1);
}

static void
read_mode(struct call_record *c, const struct event_view *view)
{
	struct span mode = span_member(view->payload, "mode"), key, link;
	struct span_walk walk;

	c->try_only = span_is(mode, "try");
	c->allowed = span_is(mode, "allow-failure");
	c->excused = c->try_only;
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
tool_called(struct tally *t, const struct event_view *view)
{
	char id[ID_SIZE];

	if (!span_copy(view->event_id, id, sizeof id))
		return;
	map_put(&t->tools, id, ID_SIZE - 1, 1);
	t->open_tools++;
}

static void
tool_answered(struct tally *t)
{
	if (t->open_tools > 0 && --t->open_tools == 0)
		map_free(&t->tools);
}

/* What a tool ran is for the tool to judge, and for who called it. */
static bool
by_tool(const struct tally *t, const struct event_view *view)
{
	char id[ID_SIZE];

	return span_copy(view->parent_event_id, id, sizeof id) &&
	    map_get(&t->tools, id, ID_SIZE - 1) != NULL;
}

static bool
is_lenient(struct span payload)
{
	struct span strategy = span_member(payload, "strategy");

	return span_is(strategy, "any") || span_is(strategy, "best-effort");
}

static void
call_started(struct tally *t, const struct event_view *view)
{
	char *id = span_text(span_member(view->payload, "call"));
	long long number;
	struct call_record *c;

	if (id == NULL)
		return;
	if (!span_integer(span_member(view->payload, "try"), &number))
		number = 0;
	if (t->done > DONE_LEAST && t->done > t->count / 2)
		tally_compact(t);
	if (t->count == t->capacity) {
		t->capacity = t->capacity == 0 ? 64 : t->capacity * 2;
		t->calls = memory_array(t->calls, t->capacity, sizeof *t->calls);
	}
	c = &t->calls[t->count];
	*c = (struct call_record){ .id = id, .repeats = repeats_key(id, view),
		.rescues = BUFFER_INIT, .lenient = is_lenient(view->payload), .try_number = number };
	read_mode(c, view);
	c->excused |= by_tool(t, view);
	tally_enter(t, t->count++);
	t->begun++;
}

static struct call_record *
find_call(const struct tally *t, const char *id, size_t len)
{
	const size_t *index = map_get(&t->by_id, id, len);

	if (index == NULL || *index >= t->count || t->calls[*index].id == NULL)
		return NULL;
	return &t->calls[*index];
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
	if (c->code == ERROR_WAITING) {
		c->end = CALL_WAITING;
		c->excused = false; /* its step lets failures pass, and this is none */
	} else if (c->code == ERROR_DOWNSTREAM_CLOSED) {
		c->end = CALL_NEITHER;
	} else {
		c->end = CALL_FAILED;
		c->excused |= c->allowed && error_of_work(c->code);
	}
	free(code);
}

/* The calls before it that look as if a success was meant to make them good: for people,
 * as it may as well be other work. Before one that is marked already all are. */
static void
mark_repeated(struct tally *t, const struct call_record *good)
{
	for (size_t i = good->before; i != NO_CALL; i = t->calls[i].before) {
		struct call_record *c = &t->calls[i];

		if (c->repeated_by != NULL)
			break;
		c->repeated_by = memory_text(good->id);
	}
}

static void
excuse_rescued(struct tally *t, const struct call_record *rescue)
{
	for (size_t at = 0; at < rescue->rescues.len; at += ID_SIZE - 1) {
		const size_t *index = map_get(&t->by_end, rescue->rescues.data + at, ID_SIZE - 1);

		if (index != NULL)
			t->calls[*index].excused = true;
	}
}

/* Whether a call was made in another one, not in a call of that. */
static bool
is_directly_in(const struct call_record *c, const char *id, size_t len)
{
	return c->id != NULL && enclosing_len(c->id) == len && memcmp(c->id, id, len) == 0;
}

/* The branches of a group that need not all succeed: of one that waits those that failed. */
static void
excuse_branches(struct tally *t, const struct call_record *group)
{
	size_t len = strlen(group->id);

	for (size_t i = (size_t)(group - t->calls) + 1; i < t->count; i++) {
		struct call_record *c = &t->calls[i];

		if (is_directly_in(c, group->id, len) &&
		    (group->end == CALL_SUCCEEDED || c->end == CALL_FAILED))
			c->excused = true;
	}
}

/* What was made in the tries before the one that succeeded. */
static void
excuse_tries(struct tally *t, const struct call_record *good, int64_t tries)
{
	size_t len = strlen(good->id);

	for (size_t i = (size_t)(good - t->calls) + 1; tries > 0 && i < t->count; i++)
		if (is_directly_in(&t->calls[i], good->id, len) && t->calls[i].try_number < tries)
			t->calls[i].excused = true;
}

/* Nobody reads what the call prints any more: what was ended in it was ended for that. */
static void
excuse_ended(struct tally *t, const struct call_record *outer)
{
	size_t len = strlen(outer->id);

	for (size_t i = (size_t)(outer - t->calls) + 1; i < t->count; i++) {
		struct call_record *c = &t->calls[i];
		bool inside = c->id != NULL && strncmp(c->id, outer->id, len) == 0 && c->id[len] == '/';

		if (inside && (c->end == CALL_OPEN || c->code == ERROR_CANCELLED))
			c->excused = true;
	}
}

/* How often a call was tried before, as its end says. */
static int64_t
count_tries(struct span payload)
{
	struct span retries = span_member(payload, "retries"), key, value;
	struct span_walk walk;
	int64_t count = 0;

	if (span_type(retries) != 'a')
		return 0;
	span_walk_begin(&walk, retries);
	while (span_walk_next(&walk, &key, &value))
		count++;
	return count;
}

static void
call_succeeded(struct tally *t, struct call_record *c, struct span payload)
{
	c->end = CALL_SUCCEEDED;
	mark_repeated(t, c);
	excuse_rescued(t, c);
	excuse_tries(t, c, count_tries(payload));
}

/* A child run's input is known: another of the same name, arguments and input looks like
 * another try. */
static void
know_input(struct tally *t, struct call_record *c, struct span payload)
{
	char *digest = span_text(span_path(payload, "stdin", "sha256", NULL)), *key;

	key = memory_format("%.*s\n%s", (int)(strrchr(c->repeats, '\n') - c->repeats), c->repeats,
	    digest != NULL ? digest : "");
	free(c->repeats);
	free(digest);
	c->repeats = key;
	tally_enter(t, (size_t)(c - t->calls));
}

/* What neither failed nor waits is done; its place stays, as others know it. */
static void
call_done(struct tally *t, struct call_record *c)
{
	record_free(c);
	t->done++;
}

/* A call that waits may end again, decided by somebody: this attempt has waited all the
 * same. A heartbeat lets it wait on. */
static void
call_decided(struct call_record *c, const struct event_view *view)
{
	c->decided |= c->end == CALL_WAITING && waiting_of(view) == WAITING_NOTHING;
}

static void
call_completed(struct tally *t, const struct event_view *view)
{
	char *id = span_text(span_member(view->payload, "call"));
	struct call_record *c = id != NULL ? find_call(t, id, strlen(id)) : NULL;
	struct span error = span_member(view->payload, "error");

	free(id);
	if (c != NULL && waiting_decided(view)) {
		call_decided(c, view);
		return;
	}
	if (c == NULL || c->end != CALL_OPEN)
		return;
	if (view->type == EVENT_CALL_WORKFLOW_COMPLETED)
		know_input(t, c, view->payload);
	c->asks = waiting_of(view);
	if (given(span_member(view->payload, "skipped"))) {
		c->end = CALL_NEITHER;
		/* What the user says was done has made good what it was for. */
		if (span_is(span_member(view->payload, "skipped"), "by_user"))
			excuse_rescued(t, c);
	} else if (given(error)) {
		read_error(c, error);
		if (c->code == ERROR_DOWNSTREAM_CLOSED)
			excuse_ended(t, c);
	} else {
		call_succeeded(t, c, view->payload);
	}
	if (c->lenient && (c->end == CALL_SUCCEEDED || c->end == CALL_WAITING))
		excuse_branches(t, c);
	if (c->end == CALL_SUCCEEDED || c->end == CALL_NEITHER)
		call_done(t, c);
	else if (span_copy(view->event_id, c->ended, sizeof c->ended))
		map_put(&t->by_end, c->ended, ID_SIZE - 1, (size_t)(c - t->calls));
}

/* A terminal call that was made decides; the last one does. */
static void
read_decision(struct tally *t, const struct event_view *view)
{
	struct span outcome = span_member(view->payload, "outcome");
	bool success = span_is(outcome, "success");

	if (!success && !span_is(outcome, "failure"))
		return;
	t->decision = success ? OUTCOME_SUCCESS : OUTCOME_FAILURE;
	free(t->reason);
	t->reason = span_text(span_member(view->payload, "reason"));
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
		read_decision(t, view);
		call_completed(t, view);
		break;
	case EVENT_CALL_WORKFLOW_COMPLETED:
		call_completed(t, view);
		break;
	case EVENT_TOOL_CALL:
		tool_called(t, view);
		break;
	case EVENT_TOOL_RESULT:
		tool_answered(t);
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

/* From the last: a rescue that failed, but was rescued itself, is as good as one that
 * succeeded. */
static void
excuse_rescued_in_turn(struct tally *t)
{
	for (size_t i = t->count; i-- > 0;)
		if (failed(&t->calls[i]) && t->calls[i].excused)
			excuse_rescued(t, &t->calls[i]);
}

/* A call within one that is excused is excused with it. Calls stand
 * after what encloses them. */
static void
excuse_enclosed(struct tally *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct call_record *c = &t->calls[i];
		const struct call_record *outer = find_call(t, c->id, enclosing_len(c->id));

		c->excused |= outer != NULL && outer->excused;
	}
}

static void
set_failed(struct outcome *o, const struct call_record *c)
{
	if (o->failed++ > 0)
		return;
	snprintf(o->first_failed, sizeof o->first_failed, "%s", c->id);
	snprintf(o->repeated_by, sizeof o->repeated_by, "%s",
	    c->repeated_by != NULL ? c->repeated_by : "");
	if (c->end == CALL_OPEN)
		error_set(&o->error, ERROR_INTERRUPTED, NULL, "it never ended");
	else
		error_set(&o->error, c->code, NULL, "%s", c->message != NULL ? c->message : "");
}

static void
set_waiting(struct outcome *o, const struct call_record *c)
{
	bool asks = c->asks != WAITING_NOTHING && !c->decided;

	if (o->waiting++ == 0 || (o->asking == 0 && asks)) {
		snprintf(o->first_waiting, sizeof o->first_waiting, "%s", c->id);
		o->asks = asks ? c->asks : WAITING_NOTHING;
	}
	o->asking += asks;
	o->decisions += c->decided;
}

static void
write_usage(const struct tally *t, struct buffer *out)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_integer(&w, "calls", t->begun);
	for (size_t i = 0; i < USAGE_KEYS; i++)
		if (t->used[i])
			writer_member_integer(&w, usage_keys[i], t->usage[i]);
	writer_object_end(&w);
}

static void
conclude(struct tally *t, struct outcome *o)
{
	tally_compact(t);
	excuse_rescued_in_turn(t);
	excuse_enclosed(t);
	o->calls = t->begun;
	o->decision = t->decision;
	if (t->decision == OUTCOME_FAILURE)
		error_set(&o->decided, ERROR_TERMINAL, NULL, "%s",
		    t->reason != NULL && *t->reason != '\0' ? t->reason : "a terminal step said so");
	for (size_t i = 0; i < t->count; i++) {
		const struct call_record *c = &t->calls[i];

		if (c->excused)
			continue;
		if (failed(c))
			set_failed(o, c);
		else if (c->end == CALL_WAITING)
			set_waiting(o, c);
	}
	write_usage(t, &o->usage);
}

/* Only a failed call's item is looked for, in the whole record: what others began with is
 * not kept. */
static void
name_failed_item(struct outcome *o, const char *path)
{
	const char *number = strrchr(o->first_failed, ':');
	struct buffer name = BUFFER_INIT;

	if (number == NULL || strcmp(number, ":0") == 0 || call_is_member(o->first_failed))
		return;
	item_name_find(path, o->first_failed, &name);
	snprintf(o->failed_item, sizeof o->failed_item, "%s", buffer_string(&name));
	buffer_free(&name);
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

	*o = (struct outcome){ .asks = WAITING_NOTHING, .error = ERROR_INIT, .decided = ERROR_INIT,
		.usage = BUFFER_INIT };
	if (reader_open(&r, path, err) != 0)
		return -1;
	while ((got = reader_next(&r, &line, &len, err)) == 1)
		if (event_view(line, len, &view) == 0)
			tally_event(&t, &view);
	if (got == 0)
		conclude(&t, o);
	tally_reset(&t);
	reader_close(&r);
	name_failed_item(o, path);
	return got;
}

void
outcome_free(struct outcome *o)
{
	buffer_free(&o->usage);
}
