/*
 * Tool calls that may change something are a list for each chain of calls, the latest first.
 * Each is in doubt from its beginning on, and gets out of it by its result, by being called
 * again, or by an answer of the model, who was told what came of it.
 */
#include "run/history_reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* What a tool did that ended with one of these, nobody saw to its end. `interrupted` is
 * what the user decided: it stands. */
static const char *const cut_codes[] = { "timeout", "cancelled", "downstream_closed", NULL };

static void
add_event(struct recorded_call *c, const struct place *place)
{
	if (c->event_count == c->event_capacity) {
		c->event_capacity = c->event_capacity == 0 ? 8 : c->event_capacity * 2;
		c->events = memory_array(c->events, c->event_capacity, sizeof *c->events);
	}
	c->events[c->event_count++] = *place;
}

/* What was called again, after it had been cut off, is not in doubt any more. */
static void
settle_repeated(struct recording *rec, const struct recorded_tool *t)
{
	bool operation = rec->calls[t->call].operation;
	size_t i = rec->calls[rec->calls[t->call].root].last_tool;

	for (; i != NO_TOOL; i = rec->tools[i].before) {
		struct recorded_tool *old = &rec->tools[i];

		if (!old->repeated && old->cut != NULL && old->call != t->call &&
		    strcmp(old->call_id, t->call_id) == 0 &&
		    (operation || strcmp(old->cause, t->cause) == 0)) {
			old->repeated = true;
			return;
		}
	}
}

static void
read_tool_call(struct recording *rec, size_t call, const struct reading *at)
{
	size_t *last = &rec->calls[rec->calls[call].root].last_tool;
	struct recorded_tool t = { .call = call, .place = at->place, .cut = "cut off",
		.before = *last, .idempotent = span_true(at->members[IDEMPOTENT]) };
	struct span effects = at->members[EFFECTS];

	if (!span_is(at->members[FIDELITY], "router") || span_is(effects, "none") ||
	    span_is(effects, "read"))
		return;
	memcpy(t.id, at->id, ID_SIZE);
	reading_reference(at->view.parent_event_id, t.cause);
	t.call_id = span_text(at->members[CALL_ID]);
	if (t.call_id == NULL)
		t.call_id = memory_text("");
	settle_repeated(rec, &t);
	if (rec->tool_count == rec->tool_capacity) {
		rec->tool_capacity = rec->tool_capacity == 0 ? 64 : rec->tool_capacity * 2;
		rec->tools = memory_array(rec->tools, rec->tool_capacity, sizeof *rec->tools);
	}
	*last = rec->tool_count;
	map_put(&rec->tool_by_event, t.id, ID_SIZE - 1, rec->tool_count);
	rec->tools[rec->tool_count++] = t;
}

static void
read_tool_result(struct recording *rec, const struct reading *at)
{
	char id[ID_SIZE];
	struct span code = span_member(at->members[FAILURE], "code");
	long long exit_code = 0;
	const size_t *found;

	reading_reference(at->view.parent_event_id, id);
	found = map_get(&rec->tool_by_event, id, ID_SIZE - 1);
	if (found == NULL)
		return;
	span_integer(at->members[EXIT_CODE], &exit_code);
	rec->tools[*found].cut = span_one_of(code, cut_codes);
	if (rec->tools[*found].cut == NULL && exit_code > 128)
		rec->tools[*found].cut = "ended by a signal";
	rec->tools[*found].blocked = span_is(code, "blocked");
}

/* The model was told what came of its tools, and went on. */
static void
settle_answered(struct recording *rec, size_t call)
{
	size_t i = rec->calls[rec->calls[call].root].last_tool;

	for (; i != NO_TOOL && !rec->tools[i].answered; i = rec->tools[i].before)
		rec->tools[i].answered = true;
}

/* The call that the event is one of, NO_CALL if that is not recorded. */
static size_t
take_event(struct recording *rec, const struct reading *at)
{
	size_t call = reading_find(rec, at->view.parent_event_id);

	if (call == NO_CALL)
		return NO_CALL;
	call = recording_latest(rec, call);
	add_event(&rec->calls[call], &at->place);
	map_put(&rec->by_event, at->id, ID_SIZE - 1, call);
	return call;
}

void
recording_take_inner(struct recording *rec, const struct reading *at)
{
	size_t call;

	/* A call goes on as if it had not been told. */
	if (rec->spec->mode == RECALL_RESUME && span_type(at->members[RETRY]) == 'o')
		return;
	call = take_event(rec, at);
	if (call == NO_CALL)
		return;
	if (at->view.type == EVENT_TOOL_CALL)
		read_tool_call(rec, call, at);
	else if (at->view.type == EVENT_TOOL_RESULT)
		read_tool_result(rec, at);
	else if (at->view.type == EVENT_MESSAGE_ASSISTANT && !span_true(at->members[PARTIAL]))
		settle_answered(rec, call);
}

/* Calls that were made in a phase were made in the call that it is part of. */
void
recording_take_phase(struct recording *rec, const struct reading *at)
{
	size_t call = take_event(rec, at);
	char *id = span_text(at->members[CALL]);

	if (call != NO_CALL && event_type_starts_call(at->view.type))
		map_put(&rec->by_id, id, strlen(id), call);
	free(id);
}
