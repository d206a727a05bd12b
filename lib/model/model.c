/*
 * The id of a call is a chain that also names the enclosing call, and an event's cause names its
 * call. So starts and ends of calls can be placed without knowing the events between them:
 * MODEL_LIVE only glances at most lines, and MODEL_OPEN keeps nothing of them.
 *
 * Below MODEL_EVENTS a call that has ended is forgotten as soon as no call inside it is kept. A
 * failed call inside a call that is still open is kept, because its enclosing call decides whether
 * the failure counts.
 */
#include "model/model.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

const char *const model_usage_keys[MODEL_USAGE_KEYS] = {
	[MODEL_INPUT_TOKENS] = KEY_INPUT_TOKENS, [MODEL_OUTPUT_TOKENS] = KEY_OUTPUT_TOKENS,
	[MODEL_CACHE_READ_TOKENS] = KEY_CACHE_READ_TOKENS,
	[MODEL_CACHE_WRITE_TOKENS] = KEY_CACHE_WRITE_TOKENS,
	[MODEL_REASONING_TOKENS] = KEY_REASONING_TOKENS,
};

/* The members collected in one walk over the payload of a call's event. */
enum member {
	AGENT, CALL, DEFINITION, FAILURE, INPUT, KIND, MODE, MODEL_NAME, NAME, OUTCOME, PROVIDER,
	REASON, RETRIES, REUSED, SKIPPED, STDIN, STRATEGY, TOOL, TRY, MEMBERS
};
static const char *const member_names[MEMBERS] = {
	[AGENT] = KEY_AGENT, [CALL] = KEY_CALL, [DEFINITION] = KEY_DEFINITION_SHA256,
	[FAILURE] = KEY_ERROR, [INPUT] = KEY_INPUT_SHA256, [KIND] = KEY_KIND, [MODE] = KEY_MODE,
	[MODEL_NAME] = KEY_MODEL, [NAME] = KEY_NAME, [OUTCOME] = KEY_OUTCOME,
	[PROVIDER] = KEY_PROVIDER, [REASON] = KEY_REASON, [RETRIES] = KEY_RETRIES, [REUSED] = KEY_REUSED_FROM,
	[SKIPPED] = KEY_SKIPPED, [STDIN] = KEY_STDIN, [STRATEGY] = KEY_STRATEGY,
	[TOOL] = KEY_TOOL, [TRY] = KEY_TRY,
};

/* ---- members of a line ---- */

int64_t
event_wall(const struct event_view *event)
{
	char text[64];
	int64_t wall;

	if (!span_copy(event->timestamp, text, sizeof text) || clock_parse(text, 0, &wall) != 0)
		return 0;
	return wall;
}

/* Whether a member says something: null and false are as good as absent. */
static bool
model_member_is_given(struct span value)
{
	char type = span_type(value);

	return type != 0 && type != '0' && type != 'f';
}

/* A name, kind or the like: the same few texts occur again and again, so equal texts share one
 * pointer. NULL if value is not a string. */
static const char *
keep_text(struct model *m, struct span value)
{
	const size_t *at = value.at != NULL ? map_get(&m->index.text_places, value.at, value.len) : NULL;
	char *text;

	if (at != NULL)
		return m->index.texts[*at];
	text = span_text(value);
	if (text == NULL)
		return NULL;
	map_put(&m->index.text_places, value.at, value.len, m->index.text_count);
	m->index.texts = memory_array(m->index.texts, m->index.text_count + 1, sizeof *m->index.texts);
	return m->index.texts[m->index.text_count++] = text;
}

static const char *
keep_text_or_empty(struct model *m, struct span value)
{
	const char *text = keep_text(m, value);

	return text != NULL ? text : "";
}

_Static_assert(sizeof(struct model_step) == 9 * sizeof(char *),
    "a step is known by its bytes: nothing stands between its pointers");

/* The step that has these texts, which are compared by their pointers. */
static const struct model_step *
keep_step(struct model *m, const struct model_step *step)
{
	const char *bytes = (const char *)step;
	const size_t *at = map_get(&m->step_places, bytes, sizeof *step);
	struct model_step *kept;

	if (at != NULL)
		return m->steps[*at];
	map_put(&m->step_places, bytes, sizeof *step, m->step_count);
	kept = memory_alloc(sizeof *kept);
	*kept = *step;
	m->steps = memory_array(m->steps, m->step_count + 1, sizeof *m->steps);
	return m->steps[m->step_count++] = kept;
}

/* ---- the memory of calls ---- */

/* In front of each call that it may forget, a model keeps what is needed to unlink it: its
 * predecessors in the lists that have it; and, for MODEL_INSIDE, the messages and tools of an
 * open call. */
struct back {
	struct model_call *previous, *beside;
	struct uuid *events;
	size_t event_count;
};

static struct back *
back_of(struct model_call *c)
{
	return (struct back *)(void *)c - 1;
}

/* id NULL: "". */
static struct model_call *
new_call(struct model *m, const char *id)
{
	size_t len = id != NULL ? strlen(id) : 0, size = offsetof(struct model_call, id) + len + 1;
	struct model_call *c;

	if (size < sizeof *c)
		size = sizeof *c;
	if (m->level == MODEL_EVENTS)
		c = arena_zero(&m->memory, size);
	else
		c = (void *)((struct back *)memory_zero(1, sizeof(struct back) + size) + 1);
	if (len > 0)
		memcpy(c->id, id, len);
	return c;
}

static const struct model_rare nothing_rare = { .child_run_id = "" };

/* Allocates the members that only few calls have, so that they can be set. */
static struct model_rare *
own_rare(struct model_call *c)
{
	struct model_rare *rare;

	if (c->rare != &nothing_rare)
		return (struct model_rare *)c->rare;
	rare = memory_alloc(sizeof *rare);
	*rare = nothing_rare;
	c->rare = rare;
	return rare;
}

static void
free_work(struct model_call *c)
{
	if (c->work != NULL)
		free(c->work->repeated_by);
	free(c->work);
	c->work = NULL;
}

static void
free_call(const struct model *m, struct model_call *c)
{
	free_work(c);
	if (c->rare != &nothing_rare) {
		if (c->rare->child_run_id != nothing_rare.child_run_id)
			free((char *)c->rare->child_run_id);
		free(c->rare->given.list);
		free(c->rare->given_to.list);
		free((struct model_rare *)c->rare);
	}
	if (m->level < MODEL_EVENTS) {
		free(back_of(c)->events);
		free(back_of(c));
	}
}

/* Forgets the messages and tools of the call, which are not needed any more. */
static void
forget_inside(struct model *m, struct model_call *c)
{
	struct back *back = back_of(c);

	for (size_t i = 0; i < back->event_count; i++)
		event_index_remove(&m->index.events, back->events[i]);
	free(back->events);
	back->events = NULL;
	back->event_count = 0;
}

/* ---- calls ---- */

struct model_call *
model_find(const struct model *m, const char *id, size_t len)
{
	return call_index_find(&m->index.calls, id, len);
}

char *
model_call_event_id(const struct model_call *call, char out[ID_SIZE])
{
	if (call->rare->event_id == NULL)
		return uuid_write(call->start, out);
	snprintf(out, ID_SIZE, "%s", call->rare->event_id);
	return out;
}

struct model_call *
model_call_of(const struct model *m, struct span event_id)
{
	const struct indexed_event *found = event_index_find(&m->index.events, event_key(event_id));

	return found != NULL ? found->call : NULL;
}

static void
add_to(struct model_calls *calls, struct model_call *call)
{
	calls->list = memory_array(calls->list, calls->count + 1, sizeof(struct model_call *));
	calls->list[calls->count++] = call;
}

static void
model_remove_call(struct model_calls *calls, const struct model_call *call)
{
	size_t kept = 0;

	for (size_t i = 0; i < calls->count; i++)
		if (calls->list[i] != call)
			calls->list[kept++] = calls->list[i];
	calls->count = kept;
}

/* Appends a call to the list of all calls, and to the call that encloses it according to its id. If
 * that is unknown: to the call that began before it, or that encloses what ended before it. */
static void
enter_tree(struct model *m, struct model_call *c, struct span parent)
{
	const char *slash = strrchr(c->id, '/');
	struct model_call *beside = NULL;

	if (m->level < MODEL_EVENTS)
		back_of(c)->previous = m->final;
	*(m->final != NULL ? &m->final->next : &m->first) = c;
	m->final = c;
	if (m->first_of_attempt == NULL)
		m->first_of_attempt = c;

	if (slash != NULL)
		c->around = model_find(m, c->id, (size_t)(slash - c->id));
	if (slash != NULL && c->around == NULL) {
		const struct indexed_event *cause = event_index_find(&m->index.events, event_key(parent));

		if (cause != NULL && cause->call != NULL)
			c->around = event_type_ends_call(event_index_type(&m->index.events, cause)) ?
			    cause->call->around : cause->call;
	}
	if (c->around == NULL)
		return;
	beside = c->around->last_inside;
	if (m->level < MODEL_EVENTS)
		back_of(c)->beside = beside;
	*(beside != NULL ? &beside->beside : &c->around->first_inside) = c;
	c->around->last_inside = c;
}

/* The work of a call is identified by: enclosing call, name, digest of the input, and item, one
 * per line. The input of a child run is known only at its end: until then the child run's id
 * identifies it. */
static struct uuid
work_of(const struct model_call *c, const struct span members[], bool child)
{
	const char *slash = strrchr(c->id, '/'), *item = strrchr(c->id, ':');
	char *digest = span_text(members[child ? DEFINITION : INPUT]), *text;
	struct uuid work;

	text = memory_format("%.*s\n%s\n%s\n%s", slash != NULL ? (int)(slash - c->id) : 0, c->id,
	    c->step->name, digest != NULL ? digest : "", child || item == NULL ? "" : item);
	work = bytes_key(text, strlen(text));
	free(digest);
	free(text);
	return work;
}

/* Puts a call first into the list of calls with the same work that are open or failed. */
static void
enter_work(struct model *m, struct model_call *c)
{
	const struct indexed_event *last = event_index_find(&m->index.works, c->work->key);

	c->work->before = last != NULL ? last->call : NULL;
	event_index_put(&m->index.works, (struct indexed_event){ .id = c->work->key, .call = c }, EVENT_TYPES);
}

/* Removes a call from that list. If it succeeded, it replaces the failed ones before it: these are
 * marked and removed too. */
static void
leave_work(struct model *m, const struct model_call *c)
{
	struct indexed_event *last = event_index_find(&m->index.works, c->work->key);
	struct model_call **link = last != NULL ? &last->call : NULL;

	while (link != NULL && *link != c)
		link = *link != NULL ? &(*link)->work->before : NULL;
	if (link == NULL)
		return;
	*link = c->work->before;
	if (c->state == CALL_SUCCEEDED) {
		for (struct model_call *b = c->work->before; b != NULL; b = b->work->before)
			if (b->work->repeated_by == NULL)
				b->work->repeated_by = memory_text(c->id);
		*link = NULL;
	}
	if (last->call == NULL)
		event_index_remove(&m->index.works, c->work->key);
}

static bool
is_done(const struct model *m, const struct model_call *c)
{
	if (m->level == MODEL_LIVE)
		return c->state != CALL_OPEN;
	return c->state == CALL_SUCCEEDED || c->state == CALL_SKIPPED || c->state == CALL_CLOSED;
}

/* Forgets a call that has ended, then its enclosing calls, as long as they have ended too and
 * nothing inside them is kept. */
static void
forget_done(struct model *m, struct model_call *c)
{
	while (c != NULL && is_done(m, c) && c->first_inside == NULL) {
		struct model_call *around = c->around;
		const struct back *back = back_of(c);
		const struct model_rare *r = c->rare;

		INVARIANT(m->level < MODEL_EVENTS && c->work == NULL);
		INVARIANT(back->event_count == 0);
		/* Unlink it from the tree. */
		*(back->previous != NULL ? &back->previous->next : &m->first) = c->next;
		*(c->next != NULL ? &back_of(c->next)->previous : &m->final) = back->previous;
		if (m->first_of_attempt == c)
			m->first_of_attempt = c->next;
		if (around != NULL) {
			*(back->beside != NULL ? &back->beside->beside : &around->first_inside) = c->beside;
			*(c->beside != NULL ? &back_of(c->beside)->beside : &around->last_inside) =
			    back->beside;
		}
		for (size_t i = 0; i < r->given.count; i++)
			model_remove_call(&own_rare(r->given.list[i])->given_to, c);
		for (size_t i = 0; i < r->given_to.count; i++)
			model_remove_call(&own_rare(r->given_to.list[i])->given, c);
		call_index_remove(&m->index.calls, c);
		event_index_remove(&m->index.events, c->start);
		free_call(m, c);
		c = around;
	}
}

/* ---- the rules in model.h, checked ---- */

/* Checks a call that is kept, as far as its own data and its neighbours show. */
static bool
model_call_holds(const struct model *m, const struct model_call *c)
{
	const struct model_call *around = c->around, *beside = c->beside;
	bool holds = c->step != NULL && c->rare != NULL && c->number < m->count;

	/* The tree and the list of all calls are both in the order in which the calls began. */
	holds = holds && (around == NULL || (around->number < c->number &&
	    around->first_inside != NULL && around->last_inside != NULL &&
	    around->first_inside->number <= c->number && c->number <= around->last_inside->number));
	holds = holds && (beside == NULL || (beside->around == around && beside->number > c->number));
	holds = holds && (c->first_inside == NULL) == (c->last_inside == NULL);
	holds = holds && (c->last_inside == NULL || (c->last_inside->beside == NULL &&
	    c->first_inside->around == c && c->last_inside->around == c));
	holds = holds && (c->next == NULL ? m->final == c : c->next->number > c->number);
	if (m->level < MODEL_EVENTS) {
		const struct back *back = back_of((struct model_call *)c);

		holds = holds && (back->previous == NULL ? m->first == c : back->previous->next == c);
		holds = holds && (back->beside == NULL || back->beside->beside == c);
		holds = holds && (back->event_count == 0 ||
		    (m->level == MODEL_INSIDE && c->state == CALL_OPEN));
	}

	/* Its state. */
	holds = holds && (c->work == NULL || c->state == CALL_OPEN ||
	    (c->state == CALL_FAILED && m->level > MODEL_LIVE));
	holds = holds && (c->work != NULL || c->state != CALL_OPEN || c->id[0] == '\0');
	holds = holds && (!c->decided || c->state == CALL_WAITING ||
	    (c->state == CALL_OPEN && c->asks != WAITING_NOTHING));
	holds = holds && (!c->reused || c->state == CALL_SUCCEEDED);
	holds = holds && (!c->behind || c->state == CALL_SKIPPED);
	return holds && (c->before != NULL) == (c->before_count > 0) &&
	    (c->before_count == 0 || m->level == MODEL_EVENTS);
}

/* Whether a model below MODEL_EVENTS keeps a call: it has not ended, or something inside it is
 * kept. */
static bool
model_call_matters(const struct model *m, const struct model_call *c)
{
	return !is_done(m, c) || c->first_inside != NULL;
}

/* Checks all calls that are kept. This reads each of them, so it is called only before all are
 * freed, or when no more lines will be read. */
static bool
model_calls_hold(const struct model *m)
{
	size_t kept = 0;
	bool of_attempt = m->first_of_attempt == NULL;

	for (const struct model_call *c = m->first; c != NULL; c = c->next) {
		if (!model_call_holds(m, c) ||
		    (m->level < MODEL_EVENTS && !model_call_matters(m, c)))
			return false;
		of_attempt = of_attempt || c == m->first_of_attempt;
		kept++;
	}
	return of_attempt && (m->first == NULL) == (m->final == NULL) &&
	    (m->level == MODEL_EVENTS ? kept == m->count : kept <= m->count);
}

/* ---- starts ---- */

/* Adds the call that an event belongs to as a dependency of this call: the event is the result of
 * an earlier call or, for a --rescue call, the failed end that it handles. */
static void
follow_result(const struct model *m, struct model_call *c, struct span event_id, bool rescue,
    struct model_calls *before)
{
	const struct indexed_event *cause = event_index_find(&m->index.events, event_key(event_id));

	if (cause == NULL || cause->call == NULL ||
	    !event_type_ends_call(event_index_type(&m->index.events, cause)))
		return;
	if (m->level == MODEL_EVENTS)
		add_to(before, cause->call);
	if (!rescue)
		return;
	add_to(&own_rare(c)->given, cause->call);
	add_to(&own_rare(cause->call)->given_to, c);
}

/* Links a call to the calls on which it depends, by the causes of its event. */
static void
follow_results(struct model *m, struct model_call *c, const struct event_view *event, bool rescue)
{
	struct model_calls before = { .list = NULL };

	follow_result(m, c, event->parent_event_id, rescue, &before);
	if (span_type(event->links) == 'a') {
		for (struct span_walk link = span_walk(event->links); span_next(&link);)
			follow_result(m, c, link.value, rescue, &before);
	}
	if (before.count > 0) {
		c->before_count = (uint32_t)before.count;
		c->before = arena_zero(&m->memory, before.count * sizeof *c->before);
		memcpy(c->before, before.list, before.count * sizeof *c->before);
	}
	free(before.list);
}

static struct model_call *
start_call(struct model *m, const struct event_view *event, struct event_place place, int64_t wall)
{
	struct span members[MEMBERS];
	struct model_step step = { .name = NULL };
	struct model_call *c;
	long long number;
	char *id, *child, event_id[ID_SIZE];

	span_members(event->payload, member_names, MEMBERS, members);
	id = span_text(members[CALL]);
	c = new_call(m, id);
	free(id);
	c->rare = &nothing_rare;
	c->number = (uint32_t)m->count++;
	if (!span_copy(event->event_id, event_id, sizeof event_id))
		event_id[0] = '\0';
	if (!uuid_read(event_id, strlen(event_id), &c->start)) {
		c->start = event_key(event->event_id);
		own_rare(c)->event_id = event_id[0] != '\0' ? keep_text(m, event->event_id) : "";
	}
	child = span_text(event->child_run_id);
	if (child != NULL && child[0] != '\0')
		own_rare(c)->child_run_id = child;
	else
		free(child);
	step.name = keep_text_or_empty(m, members[NAME]);
	step.kind = keep_text_or_empty(m, members[KIND]);
	step.path = keep_text_or_empty(m, event->path);
	step.tool = keep_text(m, members[TOOL]);
	step.agent = keep_text(m, members[AGENT]);
	step.provider = keep_text(m, members[PROVIDER]);
	step.model = keep_text(m, members[MODEL_NAME]);
	c->step = keep_step(m, &step);
	c->iteration = event->iteration;
	c->started = wall;
	c->begin = place;
	c->asks = WAITING_NOTHING;
	c->tried = span_is(members[MODE], "try");
	c->allowed = span_is(members[MODE], "allow-failure");
	c->race = span_is(members[STRATEGY], "any");
	c->lenient = span_is(members[STRATEGY], "best-effort");
	c->by_tool = event_index_find(&m->index.tools, event_key(event->parent_event_id)) != NULL;
	if (span_integer(members[TRY], &number) && number != 0)
		own_rare(c)->try_number = number;

	follow_results(m, c, event, span_is(members[MODE], "rescue"));
	enter_tree(m, c, event->parent_event_id);
	if (c->id[0] != '\0') {
		m->begun++;
		call_index_put(&m->index.calls, c);
		c->work = memory_zero(1, sizeof *c->work);
		c->work->key = work_of(c, members, event->type == EVENT_CALL_WORKFLOW_STARTED);
		if (event->type == EVENT_STEP_STARTED)
			enter_work(m, c);
	}
	return c;
}

/* ---- ends ---- */

static void
catch_failures(const struct model_call *rescue)
{
	for (size_t i = 0; i < rescue->rare->given.count; i++)
		rescue->rare->given.list[i]->caught = true;
}

/* The reader of the call's output has closed it: mark the calls inside that were open or cancelled
 * as ended for that reason. */
static void
leave_inside(const struct model_call *closed)
{
	for (struct model_call *c = closed->first_inside; c != NULL; c = c->beside) {
		c->left |= c->state == CALL_OPEN || c->code == ERROR_CANCELLED;
		leave_inside(c);
	}
}

/* Whether the call was skipped because its input was to come from a call that waits. Earlier
 * versions recorded only that it was skipped. */
static bool
is_behind_waiting(const struct model_call *c)
{
	for (size_t i = 0; i < c->before_count; i++)
		if (c->before[i]->state == CALL_WAITING || c->before[i]->behind)
			return true;
	return false;
}

static void
end_call(struct model *m, struct model_call *c, const struct event_view *event,
    const struct span members[], struct event_place place)
{
	/* Record the agent that ended it; another agent may have begun it, perhaps in another
	 * attempt. */
	if (span_type(members[AGENT]) == 's') {
		struct model_step step = *c->step;

		step.agent = keep_text(m, members[AGENT]);
		c->step = keep_step(m, &step);
	}
	if (c->state != CALL_OPEN)
		return;
	if (event->type == EVENT_CALL_WORKFLOW_COMPLETED && c->id[0] != '\0') {
		/* The input of a child run is known now. */
		char *digest = span_text(span_member(members[STDIN], KEY_SHA256));
		char *text = memory_format("%016llx%016llx %s", (unsigned long long)c->work->key.high,
		    (unsigned long long)c->work->key.low, digest != NULL ? digest : "");

		leave_work(m, c); /* it began as a step's call; the record is inconsistent */
		c->work->key = bytes_key(text, strlen(text));
		free(digest);
		free(text);
		enter_work(m, c);
	}
	c->end = place;
	c->asks = waiting_of(event);
	c->decided = false;
	if (span_type(members[RETRIES]) == 'a') {
		for (struct span_walk retry = span_walk(members[RETRIES]); span_next(&retry);)
			own_rare(c)->tries++;
	}
	if (model_member_is_given(members[SKIPPED])) {
		c->state = CALL_SKIPPED;
		c->behind = span_is(members[SKIPPED], "upstream_waiting") ||
		    (span_is(members[SKIPPED], "upstream_failed") && is_behind_waiting(c));
		/* The user said that the work was done: then the failures that it was to handle are
		 * handled. */
		if (span_is(members[SKIPPED], "by_user"))
			catch_failures(c);
	} else if (model_member_is_given(members[FAILURE])) {
		char *code = span_text(span_member(members[FAILURE], KEY_CODE));

		c->code = ERROR_EXIT_STATUS;
		if (code != NULL && error_from_name(code, strlen(code)) != ERROR_NONE)
			c->code = error_from_name(code, strlen(code));
		c->state = c->code == ERROR_WAITING ? CALL_WAITING :
		    c->code == ERROR_DOWNSTREAM_CLOSED ? CALL_CLOSED : CALL_FAILED;
		if (c->state == CALL_CLOSED)
			leave_inside(c);
		free(code);
	} else {
		c->state = CALL_SUCCEEDED;
		c->reused = model_member_is_given(members[REUSED]);
		catch_failures(c);
	}
	if (c->work != NULL && (c->state != CALL_FAILED || m->level == MODEL_LIVE)) {
		leave_work(m, c);
		free_work(c);
	}
}

static void
model_apply_end(struct model *m, struct placed *p)
{
	struct span members[MEMBERS];
	bool success;
	char *id;

	span_members(p->event->payload, member_names, MEMBERS, members);
	/* A terminal call that ran decides the outcome of the run; the last such call counts. */
	success = span_is(members[OUTCOME], "success");
	if (p->event->type == EVENT_STEP_COMPLETED &&
	    (success || span_is(members[OUTCOME], "failure"))) {
		m->decision = success ? RUN_SUCCEEDS : RUN_FAILS;
		free(m->reason);
		m->reason = span_text(members[REASON]);
	}
	id = span_text(members[CALL]);
	p->call = id != NULL ? model_find(m, id, strlen(id)) : NULL;
	free(id);
	if (p->call == NULL)
		return;
	p->started = p->call->started;
	end_call(m, p->call, p->event, members, p->place);
}

/* A decision is about the end of a call that waits, in any attempt. The call is marked as decided;
 * its state remains waiting, because this attempt did end with it waiting. */
static void
model_apply_decision(struct model *m, struct placed *p)
{
	const struct indexed_event *wait = event_index_find(&m->index.events,
	    event_key(p->event->parent_event_id));

	if (wait == NULL)
		return;
	p->call = wait->call;
	p->started = wait->wall;
	if (p->call != NULL)
		p->call->decided |= waiting_of(p->event) == WAITING_NOTHING &&
		    (p->call->state == CALL_WAITING ||
		    (p->call->state == CALL_OPEN && p->call->asks != WAITING_NOTHING));
}

/* A call waits, and its process with it. */
static void
model_apply_wait(struct model *m, struct placed *p)
{
	char *id = span_text(span_member(p->event->payload, KEY_CALL));

	p->call = id != NULL ? model_find(m, id, strlen(id)) : NULL;
	free(id);
	if (p->call != NULL && p->call->state == CALL_OPEN)
		p->call->asks = waiting_of(p->event);
}

/* ---- messages and tools ---- */

bool
placed_handoff(const struct placed *p)
{
	return p->event->type == EVENT_MESSAGE_USER &&
	    span_type(span_member(p->event->payload, KEY_HANDOFF)) == 'o';
}

/* Finds the call of an event by its cause. */
static void
follow_cause(struct model *m, struct placed *p)
{
	static const char *const names[] = { KEY_PROVIDER, KEY_MODEL };
	const struct event_view *event = p->event;
	const struct indexed_event *cause = event_index_find(&m->index.events,
	    event_key(event->parent_event_id));
	struct model_call *c = cause != NULL ? cause->call : NULL;
	struct span said[2];
	long long duration;

	p->call = c;
	if (cause != NULL)
		p->cause = event_index_type(&m->index.events, cause);
	if (c != NULL && placed_handoff(p)) {
		/* From here on another agent works on the call. */
		struct model_step step = *c->step;

		step.agent = keep_text(m, span_path(event->payload, KEY_HANDOFF, KEY_TO, NULL));
		step.provider = keep_text(m, span_member(event->payload, KEY_PROVIDER));
		step.model = keep_text(m, span_member(event->payload, KEY_MODEL));
		step.fallback_provider = step.fallback_model = NULL;
		c->step = keep_step(m, &step);
	} else if (c != NULL && event->type == EVENT_MESSAGE_ASSISTANT &&
	    !span_true(span_member(event->payload, KEY_COMPACT))) {
		/* An answer names its provider only if a provider other than the call's was
		 * asked. That of a summary goes on with nothing. */
		span_members(event->payload, names, 2, said);
		if (span_type(said[0]) == 's' && span_type(said[1]) == 's') {
			struct model_step step = *c->step;

			step.fallback_provider = keep_text(m, said[0]);
			step.fallback_model = keep_text(m, said[1]);
			c->step = keep_step(m, &step);
		}
	}
	if (event->told == EVENT_TOOL_RESULT && cause != NULL)
		p->started = cause->wall;
	if (event->told == EVENT_MESSAGE_ASSISTANT &&
	    span_integer(span_member(event->payload, KEY_DURATION_MS), &duration) &&
	    duration >= 0 && duration <= p->wall / 1000)
		p->started = p->wall - duration * 1000;
	/* A replay repeats the durations of its recording: do not let anything begin before its
	 * call. */
	if (c != NULL && p->started < c->started && c->started <= p->wall)
		p->started = c->started;
}

/* Messages and tools. */
static void
model_apply_inner_event(struct model *m, struct placed *p)
{
	const struct event_view *event = p->event;
	struct span usage, counts[MODEL_USAGE_KEYS];
	long long tokens;

	if (event->type == EVENT_MESSAGE_ASSISTANT &&
	    span_type(usage = span_member(event->payload, KEY_USAGE)) == 'o') {
		span_members(usage, model_usage_keys, MODEL_USAGE_KEYS, counts);
		for (size_t i = 0; i < MODEL_USAGE_KEYS; i++) {
			if (!span_integer(counts[i], &tokens))
				continue;
			m->usage[i] = count_add(m->usage[i], tokens);
			m->used[i] = true;
		}
	} else if (event->type == EVENT_TOOL_CALL) {
		event_index_put(&m->index.tools, (struct indexed_event){ .id = event_key(event->event_id) },
		    event->type);
		m->index.open_tools++;
	} else if (event->type == EVENT_TOOL_RESULT && m->index.open_tools > 0 && --m->index.open_tools == 0) {
		event_index_free(&m->index.tools);
	}
	if (m->level >= MODEL_INSIDE)
		follow_cause(m, p);
}

/* ---- attempts ---- */

static void
forget_all(struct model *m)
{
	struct model_call *next;

	INVARIANT(model_calls_hold(m));
	for (struct model_call *c = m->first; c != NULL; c = next) {
		next = c->next;
		free_call(m, c);
	}
	arena_free(&m->memory);
	m->first = m->final = NULL;
	event_index_free(&m->index.events);
}

/* Calls of an earlier attempt that have no end will not get one. */
static void
start_attempt(struct model *m, const struct placed *p)
{
	struct span payload = p->event->payload;
	long long attempt = 1;
	char *traceparent;

	if (m->level < MODEL_EVENTS)
		forget_all(m);
	call_index_free(&m->index.calls);
	event_index_free(&m->index.works);
	event_index_free(&m->index.tools);
	m->index.open_tools = 0;
	m->first_of_attempt = NULL;
	span_integer(span_member(payload, KEY_ATTEMPT), &attempt);
	m->attempt = attempt;
	m->ended = false;
	m->started = p->wall;
	m->begun = 0;
	memset(m->usage, 0, sizeof m->usage);
	memset(m->used, 0, sizeof m->used);
	m->decision = RUN_UNDECIDED;
	free(m->reason);
	m->reason = NULL;
	traceparent = span_text(span_member(payload, KEY_TRACEPARENT));
	m->trace = (struct traceparent){ .flags = 0 };
	if (!traceparent_read(traceparent, &m->trace))
		trace_id_of_run(m->run_id, m->trace.trace_id);
	free(traceparent);
	free(m->name);
	m->name = span_text(span_member(payload, KEY_NAME));
	if (m->name == NULL)
		m->name = memory_text("");
}

/* Adds the event to the index if a later event may refer to it. */
static void
index_event(struct model *m, const struct placed *p, bool verdict)
{
	bool matters = m->level == MODEL_EVENTS || verdict ||
	    event_type_starts_call(p->event->type) || p->event->type == EVENT_STEP_WAITING ||
	    (event_type_ends_call(p->event->type) && p->call != NULL && !is_done(m, p->call));
	/* A decision about a call that does not wait has no effect; do not point to that call,
	 * which may be forgotten first. */
	bool outlives = verdict && m->level < MODEL_EVENTS && p->call != NULL &&
	    p->call->state != CALL_WAITING;
	const struct uuid id = event_key(p->event->event_id);

	if (m->level == MODEL_INSIDE && !matters && p->call != NULL && p->call->state == CALL_OPEN &&
	    event_index_find(&m->index.events, id) == NULL) {
		struct back *back = back_of(p->call);

		back->events = memory_array(back->events, back->event_count + 1, sizeof *back->events);
		back->events[back->event_count++] = id;
		matters = true;
	}
	if (matters)
		event_index_put(&m->index.events, (struct indexed_event){
			.id = id, .call = outlives ? NULL : p->call, .wall = p->wall }, p->event->type);
}

void
model_begin(struct model *m, enum model_level level)
{
	*m = (struct model){ .level = level };
}

void
model_take(struct model *m, const struct event_view *event, struct event_place place,
    struct placed *p)
{
	bool ends = event_type_ends_call(event->type), verdict = ends && event_decides(event);

	*p = (struct placed){ .event = event, .place = place, .run = m, .cause = EVENT_TYPES,
		.wall = event_wall(event) };
	p->started = p->wall;
	if (m->run_id[0] == '\0') {
		span_copy(event->run_id, m->run_id, sizeof m->run_id);
		span_copy(event->parent_run_id, m->parent_run_id, sizeof m->parent_run_id);
	}
	if (!verdict)
		m->last = p->wall;
	if (event->type == EVENT_RUN_STARTED) {
		start_attempt(m, p);
	} else if (event->type == EVENT_RUN_COMPLETED) {
		p->started = m->started;
		m->ended = true;
	} else if (event_type_starts_call(event->type)) {
		p->call = start_call(m, event, place, p->wall);
	} else if (verdict) {
		model_apply_decision(m, p);
	} else if (ends) {
		model_apply_end(m, p);
	} else if (event->type == EVENT_STEP_WAITING) {
		model_apply_wait(m, p);
	} else if (m->level > MODEL_LIVE) {
		model_apply_inner_event(m, p);
	}
	if (p->call != NULL) {
		p->step = p->call->step;
		p->number = p->call->number;
	}
	waitings_take(&m->waits, event,
	    p->call != NULL ? p->call->begin : (struct event_place){ 0, 0 }, place);
	if (m->level == MODEL_INSIDE && p->call != NULL && p->call->state != CALL_OPEN)
		forget_inside(m, p->call);
	index_event(m, p, verdict);
	INVARIANT(p->call == NULL || model_call_holds(m, p->call));
	INVARIANT(p->call == NULL || (p->step == p->call->step && p->number == p->call->number));
	INVARIANT(m->level > MODEL_LIVE || (m->index.open_tools == 0 && m->index.tools.count == 0));
	INVARIANT(m->index.open_tools >= 0 && (m->index.open_tools > 0 || m->index.tools.count == 0));
	INVARIANT(p->cause == EVENT_TYPES || m->level >= MODEL_INSIDE);
	if (m->level < MODEL_EVENTS && ends && p->call != NULL && is_done(m, p->call)) {
		forget_done(m, p->call);
		p->call = NULL;
	}
	INVARIANT((m->first == NULL) == (m->final == NULL));
	INVARIANT(m->final == NULL || m->final->next == NULL);
}

bool
model_line(struct model *m, const char *line, size_t len, struct event_place place,
    struct event_view *event, struct placed *placed)
{
	struct event_head head;

	/* Decide this as fast as possible: most lines are messages and tool calls. */
	if (m->level == MODEL_LIVE && event_peek(line, len, &head) == 0 &&
	    (head.type == EVENT_MESSAGE_USER || head.type == EVENT_MESSAGE_ASSISTANT ||
	    head.type == EVENT_TOOL_CALL || head.type == EVENT_TOOL_RESULT))
		return false;
	if (event_view(line, len, event) != 0) {
		m->damaged++;
		return false;
	}
	model_take(m, event, place, placed);
	placed->line = span_of(line, len);
	return true;
}

int
model_read(struct model *m, struct reader *r, struct error *err)
{
	struct event_view event;
	struct placed placed;
	const char *line;
	size_t len;
	int got, ended = 0;

	while (ended == 0 && (got = reader_next(r, &line, &len, err)) == 1) {
		const struct event_place place = { r->line_start, (uint32_t)len };

		m->position = r->position;
		if (model_line(m, line, len, place, &event, &placed) && m->watch != NULL)
			ended = m->watch(m->context, &placed, err);
	}
	return ended != 0 ? ended : got;
}

int
model_read_file(struct model *m, const char *path, struct error *err)
{
	struct reader r;
	int failed;

	if (reader_open(&r, path, err) != 0)
		return -1;
	reader_seek(&r, m->position);
	failed = model_read(m, &r, err);
	reader_close(&r);
	return failed;
}

int
model_lines(const char *path, int64_t from, model_take_line *take, void *context,
    struct error *err)
{
	struct reader r;
	const char *line;
	size_t len;
	int got, ended = 0;

	if (reader_open(&r, path, err) != 0)
		return -1;
	reader_seek(&r, from);
	while (ended == 0 && (got = reader_next(&r, &line, &len, err)) == 1)
		ended = take(context, line, len, r.line_start, err);
	reader_close(&r);
	return ended != 0 ? ended : got;
}

void
model_settle(struct model *m)
{
	INVARIANT(model_calls_hold(m));
	event_index_free(&m->index.events);
	call_index_free(&m->index.calls);
	event_index_free(&m->index.works);
	event_index_free(&m->index.tools);
}

void
model_free(struct model *m)
{
	model_settle(m);
	forget_all(m);
	waitings_free(&m->waits);
	for (size_t i = 0; i < m->index.text_count; i++)
		free(m->index.texts[i]);
	free(m->index.texts);
	map_free(&m->index.text_places);
	for (size_t i = 0; i < m->step_count; i++)
		free(m->steps[i]);
	free(m->steps);
	map_free(&m->step_places);
	free(m->name);
	free(m->reason);
	*m = (struct model){ .level = m->level };
}
