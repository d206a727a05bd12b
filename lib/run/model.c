/*
 * Which call encloses another is told by its id, which is a chain; which call an event is
 * of, by its cause. So starts and ends of calls can be placed without knowing what stands
 * in between: MODEL_LIVE only glances at most lines, and MODEL_OPEN keeps nothing of them.
 *
 * What is done is forgotten there as soon as nothing is kept that is in it: a call in it may
 * have failed, and is judged by what it is in.
 */
#include "run/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/memory.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

const char *const model_usage_keys[MODEL_USAGE_KEYS] = {
	[MODEL_INPUT_TOKENS] = "input_tokens", [MODEL_OUTPUT_TOKENS] = "output_tokens",
	[MODEL_CACHE_READ_TOKENS] = "cache_read_tokens",
	[MODEL_CACHE_WRITE_TOKENS] = "cache_write_tokens",
	[MODEL_REASONING_TOKENS] = "reasoning_tokens",
};

/* What is looked for in the payloads of calls, in one walk over each. */
enum member {
	AGENT, CALL, DEFINITION, FAILURE, INPUT, KIND, MODE, MODEL_NAME, NAME, OUTCOME, PROVIDER,
	REASON, RETRIES, SKIPPED, STDIN, STRATEGY, TOOL, TRY, MEMBERS
};
static const char *const member_names[MEMBERS] = {
	[AGENT] = "agent", [CALL] = "call",
	[DEFINITION] = KEY_DEFINITION_SHA256, [FAILURE] = "error", [INPUT] = KEY_INPUT_SHA256,
	[KIND] = "kind", [MODE] = "mode", [MODEL_NAME] = "model", [NAME] = "name",
	[OUTCOME] = "outcome", [PROVIDER] = "provider", [REASON] = "reason",
	[RETRIES] = "retries", [SKIPPED] = "skipped", [STDIN] = "stdin",
	[STRATEGY] = "strategy", [TOOL] = "tool", [TRY] = "try",
};

/* ---- what stands in a line ---- */

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
given(struct span value)
{
	char type = span_type(value);

	return type != 0 && type != '0' && type != 'f';
}

static int64_t
count_elements(struct span array)
{
	int64_t count = 0;

	if (span_type(array) != 'a')
		return 0;
	for (struct span_walk element = span_walk(array); span_next(&element);)
		count++;
	return count;
}

/* A name, a kind …: the same few texts again and again. NULL if value is no text. */
static const char *
keep_text(struct model *m, struct span value)
{
	char *text = span_text(value);
	const size_t *at;

	if (text == NULL)
		return NULL;
	at = map_get(&m->text_places, text, strlen(text));
	if (at != NULL) {
		free(text);
		return m->texts[*at];
	}
	map_put(&m->text_places, text, strlen(text), m->text_count);
	m->texts = memory_array(m->texts, m->text_count + 1, sizeof *m->texts);
	return m->texts[m->text_count++] = text;
}

static const char *
keep_text_or_empty(struct model *m, struct span value)
{
	const char *text = keep_text(m, value);

	return text != NULL ? text : "";
}

/* ---- calls ---- */

struct model_call *
model_find(const struct model *m, const char *id, size_t len)
{
	const struct indexed_event *found = event_index_find(&m->calls, bytes_key(id, len));

	return found != NULL ? found->call : NULL;
}

struct model_call *
model_call_of(const struct model *m, struct span event_id)
{
	const struct indexed_event *found = event_index_find(&m->events, event_key(event_id));

	return found != NULL ? found->call : NULL;
}

static void
add_to(struct model_call ***list, size_t *count, struct model_call *call)
{
	*list = memory_array(*list, *count + 1, sizeof **list);
	(*list)[(*count)++] = call;
}

static void
take_from(struct model_call **list, size_t *count, const struct model_call *call)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++)
		if (list[i] != call)
			list[kept++] = list[i];
	*count = kept;
}

/* The call that one is in: its id, a chain, names that. If it is not known, that which began
 * before it, or which is around what ended before it. */
static struct model_call *
find_around(const struct model *m, const struct model_call *c, struct span parent)
{
	const char *slash = strrchr(c->id, '/');
	struct model_call *around = NULL;
	const struct indexed_event *cause;

	if (slash != NULL)
		around = model_find(m, c->id, (size_t)(slash - c->id));
	if (slash == NULL || around != NULL)
		return around;
	cause = event_index_find(&m->events, event_key(parent));
	if (cause == NULL || cause->call == NULL)
		return NULL;
	return event_type_ends_call(cause->type) ? cause->call->around : cause->call;
}

static void
enter_tree(struct model *m, struct model_call *c, struct span parent)
{
	c->previous = m->final;
	if (m->final != NULL)
		m->final->next = c;
	else
		m->first = c;
	m->final = c;
	if (m->first_of_attempt == NULL)
		m->first_of_attempt = c;
	c->around = find_around(m, c, parent);
	if (c->around == NULL)
		return;
	c->beside_before = c->around->last_inside;
	if (c->beside_before != NULL)
		c->beside_before->beside = c;
	else
		c->around->first_inside = c;
	c->around->last_inside = c;
}

static void
leave_tree(struct model *m, struct model_call *c)
{
	*(c->previous != NULL ? &c->previous->next : &m->first) = c->next;
	*(c->next != NULL ? &c->next->previous : &m->final) = c->previous;
	if (m->first_of_attempt == c)
		m->first_of_attempt = c->next;
	if (c->around == NULL)
		return;
	*(c->beside_before != NULL ? &c->beside_before->beside : &c->around->first_inside) = c->beside;
	*(c->beside != NULL ? &c->beside->beside_before : &c->around->last_inside) = c->beside_before;
}

/* Call around it, name, digest of what it was given and item, one per line. What a child run
 * was given is known at its end: until then it is told apart by its own id. */
static struct uuid
work_of(const struct model_call *c, const struct span members[], bool child)
{
	const char *slash = strrchr(c->id, '/'), *item = strrchr(c->id, ':');
	char *digest = span_text(members[child ? DEFINITION : INPUT]), *text;
	struct uuid work;

	text = memory_format("%.*s\n%s\n%s\n%s", slash != NULL ? (int)(slash - c->id) : 0, c->id,
	    c->name, digest != NULL ? digest : "", child || item == NULL ? "" : item);
	work = bytes_key(text, strlen(text));
	free(digest);
	free(text);
	return work;
}

static void
enter_work(struct model *m, struct model_call *c)
{
	const struct indexed_event *last = event_index_find(&m->works, c->work);

	if (last != NULL) {
		c->same_before = last->call;
		last->call->same_after = c;
	}
	event_index_put(&m->works, (struct indexed_event){ .id = c->work, .call = c });
}

static void
leave_work(struct model *m, struct model_call *c)
{
	const struct indexed_event *last = event_index_find(&m->works, c->work);

	if (c->same_before != NULL)
		c->same_before->same_after = c->same_after;
	if (c->same_after != NULL)
		c->same_after->same_before = c->same_before;
	else if (last != NULL && last->call == c && c->same_before != NULL)
		event_index_put(&m->works, (struct indexed_event){ .id = c->work, .call = c->same_before });
	else if (last != NULL && last->call == c)
		event_index_remove(&m->works, c->work);
}

static void
leave_rescues(const struct model_call *c)
{
	for (size_t i = 0; i < c->rescue_count; i++)
		take_from(c->rescues[i]->rescuers, &c->rescues[i]->rescuer_count, c);
	for (size_t i = 0; i < c->rescuer_count; i++)
		take_from(c->rescuers[i]->rescues, &c->rescuers[i]->rescue_count, c);
}

static void
free_call(struct model_call *c)
{
	free(c->id);
	free(c->before);
	free(c->rescues);
	free(c->rescuers);
	free(c->repeated_by);
	free(c);
}

static bool
is_done(const struct model *m, const struct model_call *c)
{
	if (m->level == MODEL_LIVE)
		return c->state != CALL_OPEN;
	return c->state == CALL_SUCCEEDED || c->state == CALL_SKIPPED || c->state == CALL_CLOSED;
}

static void
forget_done(struct model *m, struct model_call *c)
{
	while (c != NULL && is_done(m, c) && c->first_inside == NULL) {
		struct model_call *around = c->around;

		leave_tree(m, c);
		leave_work(m, c);
		leave_rescues(c);
		if (model_find(m, c->id, strlen(c->id)) == c)
			event_index_remove(&m->calls, bytes_key(c->id, strlen(c->id)));
		event_index_remove(&m->events, c->start);
		event_index_remove(&m->events, c->ended);
		free_call(c);
		c = around;
	}
}

/* ---- starts ---- */

/* An event that the call follows: the result of a call before it, or, for a --rescue call, the
 * end of what it is to make good. */
static void
follow_result(struct model *m, struct model_call *c, struct span event_id, bool rescue)
{
	const struct indexed_event *cause = event_index_find(&m->events, event_key(event_id));

	if (cause == NULL || cause->call == NULL || !event_type_ends_call(cause->type))
		return;
	if (m->level == MODEL_EVENTS)
		add_to(&c->before, &c->before_count, cause->call);
	if (rescue) {
		add_to(&c->rescues, &c->rescue_count, cause->call);
		add_to(&cause->call->rescuers, &cause->call->rescuer_count, c);
	}
}

static void
follow_results(struct model *m, struct model_call *c, const struct event_view *event, bool rescue)
{
	follow_result(m, c, event->parent_event_id, rescue);
	if (span_type(event->links) != 'a')
		return;
	for (struct span_walk link = span_walk(event->links); span_next(&link);)
		follow_result(m, c, link.value, rescue);
}

static struct model_call *
start_call(struct model *m, const struct event_view *event, struct event_place place, int64_t wall)
{
	struct model_call *c = memory_zero(1, sizeof *c);
	struct span members[MEMBERS];
	long long number = 0;

	span_members(event->payload, member_names, MEMBERS, members);
	c->number = m->count++;
	c->id = span_text(members[CALL]);
	if (c->id == NULL)
		c->id = memory_text("");
	c->start = event_key(event->event_id);
	span_copy(event->event_id, c->event_id, sizeof c->event_id);
	span_copy(event->child_run_id, c->child_run_id, sizeof c->child_run_id);
	c->name = keep_text_or_empty(m, members[NAME]);
	c->kind = keep_text_or_empty(m, members[KIND]);
	c->path = keep_text_or_empty(m, event->path);
	c->iteration = event->iteration;
	c->tool = keep_text(m, members[TOOL]);
	c->agent = keep_text(m, members[AGENT]);
	c->provider = keep_text(m, members[PROVIDER]);
	c->model = keep_text(m, members[MODEL_NAME]);
	c->started = wall;
	c->begin = place;
	c->asks = WAITING_NOTHING;
	c->tried = span_is(members[MODE], "try");
	c->allowed = span_is(members[MODE], "allow-failure");
	c->lenient = span_is(members[STRATEGY], "any") || span_is(members[STRATEGY], "best-effort");
	c->by_tool = event_index_find(&m->tools, event_key(event->parent_event_id)) != NULL;
	if (span_integer(members[TRY], &number))
		c->try_number = number;
	follow_results(m, c, event, span_is(members[MODE], "rescue"));
	enter_tree(m, c, event->parent_event_id);
	if (c->id[0] != '\0') {
		m->begun++;
		event_index_put(&m->calls, (struct indexed_event){
			.id = bytes_key(c->id, strlen(c->id)), .call = c });
		c->work = work_of(c, members, event->type == EVENT_CALL_WORKFLOW_STARTED);
		if (event->type == EVENT_STEP_STARTED)
			enter_work(m, c);
	}
	return c;
}

/* ---- ends ---- */

/* It looks as if its success was meant to make good those before it; before one that is marked
 * already all are. */
static void
mark_repeated(const struct model_call *good)
{
	for (struct model_call *c = good->same_before; c != NULL && c->repeated_by == NULL;
	    c = c->same_before)
		c->repeated_by = memory_text(good->id);
}

static void
catch_failures(const struct model_call *rescue)
{
	for (size_t i = 0; i < rescue->rescue_count; i++)
		rescue->rescues[i]->caught = true;
}

/* Nobody reads what the call prints any more: what was ended in it was ended for that. */
static void
leave_inside(const struct model_call *closed)
{
	for (struct model_call *c = closed->first_inside; c != NULL; c = c->beside) {
		c->left |= c->state == CALL_OPEN || c->code == ERROR_CANCELLED;
		leave_inside(c);
	}
}

static void
fail(struct model_call *c, struct span error)
{
	char *code = span_text(span_member(error, KEY_CODE));

	c->code = code != NULL ? error_from_name(code, strlen(code)) : ERROR_NONE;
	if (c->code == ERROR_NONE)
		c->code = ERROR_EXIT_STATUS;
	c->state = c->code == ERROR_WAITING ? CALL_WAITING :
	    c->code == ERROR_DOWNSTREAM_CLOSED ? CALL_CLOSED : CALL_FAILED;
	if (c->state == CALL_CLOSED)
		leave_inside(c);
	free(code);
}

/* What a child run was given is known now. */
static void
know_input(struct model *m, struct model_call *c, struct span stdin_kept)
{
	char *digest = span_text(span_member(stdin_kept, KEY_SHA256)), *text;

	text = memory_format("%016llx%016llx %s", (unsigned long long)c->work.high,
	    (unsigned long long)c->work.low, digest != NULL ? digest : "");
	c->work = bytes_key(text, strlen(text));
	free(digest);
	free(text);
	enter_work(m, c);
}

static void
end_call(struct model *m, struct model_call *c, const struct event_view *event,
    const struct span members[], struct event_place place)
{
	/* The one that ended it, whoever began it, in another attempt perhaps. */
	if (span_type(members[AGENT]) == 's')
		c->agent = keep_text(m, members[AGENT]);
	if (c->state != CALL_OPEN)
		return;
	if (event->type == EVENT_CALL_WORKFLOW_COMPLETED && c->id[0] != '\0')
		know_input(m, c, members[STDIN]);
	c->end = place;
	c->ended = event_key(event->event_id);
	c->asks = waiting_of(event);
	c->tries = count_elements(members[RETRIES]);
	if (given(members[SKIPPED])) {
		c->state = CALL_SKIPPED;
		/* What the user says was done has made good what it was for. */
		if (span_is(members[SKIPPED], "by_user"))
			catch_failures(c);
	} else if (given(members[FAILURE])) {
		fail(c, members[FAILURE]);
	} else {
		c->state = CALL_SUCCEEDED;
		mark_repeated(c);
		catch_failures(c);
	}
}

/* A terminal call that was made decides; the last one does. */
static void
take_decision(struct model *m, const struct span members[])
{
	bool success = span_is(members[OUTCOME], "success");

	if (!success && !span_is(members[OUTCOME], "failure"))
		return;
	m->decision = success ? RUN_SUCCEEDS : RUN_FAILS;
	free(m->reason);
	m->reason = span_text(members[REASON]);
}

static void
take_end(struct model *m, struct placed *p, struct event_place place)
{
	struct span members[MEMBERS];
	char *id;

	span_members(p->event->payload, member_names, MEMBERS, members);
	if (p->event->type == EVENT_STEP_COMPLETED)
		take_decision(m, members);
	id = span_text(members[CALL]);
	p->call = id != NULL ? model_find(m, id, strlen(id)) : NULL;
	free(id);
	if (p->call == NULL)
		return;
	p->started = p->call->started;
	end_call(m, p->call, p->event, members, place);
}

/* A decision is about a call that waits, in whichever attempt, from when that began to wait.
 * That attempt has waited all the same. */
static void
take_verdict(struct model *m, struct placed *p)
{
	const struct indexed_event *wait = event_index_find(&m->events,
	    event_key(p->event->parent_event_id));

	if (wait == NULL)
		return;
	p->call = wait->call;
	p->started = wait->wall;
	if (p->call != NULL)
		p->call->decided |= p->call->state == CALL_WAITING &&
		    waiting_of(p->event) == WAITING_NOTHING;
}

/* ---- what stands in between ---- */

bool
placed_handoff(const struct placed *p)
{
	return p->event->type == EVENT_MESSAGE_USER &&
	    span_type(span_member(p->event->payload, KEY_HANDOFF)) == 'o';
}

/* From here on another agent works on the call. */
static void
hand_over(struct model *m, struct model_call *c, struct span payload)
{
	c->agent = keep_text(m, span_path(payload, KEY_HANDOFF, "to", NULL));
	c->provider = keep_text(m, span_member(payload, KEY_PROVIDER));
	c->model = keep_text(m, span_member(payload, KEY_MODEL));
	c->fallback_provider = c->fallback_model = NULL;
}

/* An answer names its provider only where another than the call's was asked. */
static void
fall_back(struct model *m, struct model_call *c, struct span payload)
{
	static const char *const names[] = { "provider", "model" };
	struct span said[2];

	span_members(payload, names, 2, said);
	if (span_type(said[0]) != 's' || span_type(said[1]) != 's')
		return;
	c->fallback_provider = keep_text(m, said[0]);
	c->fallback_model = keep_text(m, said[1]);
}

/* Whose it is, by its cause. */
static void
follow_cause(struct model *m, struct placed *p)
{
	const struct event_view *event = p->event;
	const struct indexed_event *cause = event_index_find(&m->events,
	    event_key(event->parent_event_id));
	long long duration;

	if (cause != NULL) {
		p->call = cause->call;
		p->cause = cause->type;
	}
	if (p->call != NULL && placed_handoff(p))
		hand_over(m, p->call, event->payload);
	else if (p->call != NULL && event->type == EVENT_MESSAGE_ASSISTANT)
		fall_back(m, p->call, event->payload);
	if (event->type == EVENT_TOOL_RESULT && cause != NULL)
		p->started = cause->wall;
	if (event->type == EVENT_MESSAGE_ASSISTANT &&
	    span_integer(span_member(event->payload, KEY_DURATION_MS), &duration) &&
	    duration >= 0 && duration <= p->wall / 1000)
		p->started = p->wall - duration * 1000;
	/* A replay has the durations of its recording: nothing begins before its call. */
	if (p->call != NULL && p->started < p->call->started && p->call->started <= p->wall)
		p->started = p->call->started;
}

static void
add_usage(struct model *m, struct span usage)
{
	struct span counts[MODEL_USAGE_KEYS];

	if (span_type(usage) != 'o')
		return;
	span_members(usage, model_usage_keys, MODEL_USAGE_KEYS, counts);
	for (size_t i = 0; i < MODEL_USAGE_KEYS; i++) {
		long long tokens;

		if (!span_integer(counts[i], &tokens))
			continue;
		m->usage[i] = count_add(m->usage[i], tokens);
		m->used[i] = true;
	}
}

/* Messages and tools. */
static void
take_inner(struct model *m, struct placed *p)
{
	const struct event_view *event = p->event;

	if (event->type == EVENT_MESSAGE_ASSISTANT) {
		add_usage(m, span_member(event->payload, KEY_USAGE));
	} else if (event->type == EVENT_TOOL_CALL) {
		event_index_put(&m->tools, (struct indexed_event){ .id = event_key(event->event_id) });
		m->open_tools++;
	} else if (event->type == EVENT_TOOL_RESULT && m->open_tools > 0 && --m->open_tools == 0) {
		event_index_free(&m->tools);
	}
	if (m->level == MODEL_EVENTS)
		follow_cause(m, p);
}

/* ---- attempts ---- */

static void
forget_all(struct model *m)
{
	struct model_call *next;

	for (struct model_call *c = m->first; c != NULL; c = next) {
		next = c->next;
		free_call(c);
	}
	m->first = m->final = NULL;
	event_index_free(&m->events);
}

/* Calls of an earlier attempt that did not end will not. */
static void
start_attempt(struct model *m, const struct placed *p)
{
	struct span payload = p->event->payload;
	long long attempt = 1;

	if (m->level < MODEL_EVENTS)
		forget_all(m);
	event_index_free(&m->calls);
	event_index_free(&m->works);
	event_index_free(&m->tools);
	m->open_tools = 0;
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
	free(m->name);
	m->name = span_text(span_member(payload, KEY_NAME));
	if (m->name == NULL)
		m->name = memory_text("");
}

static void
end_attempt(struct model *m, struct placed *p)
{
	p->started = m->started;
	m->ended = true;
}

/* Which events are asked for later. */
static void
index_event(struct model *m, const struct placed *p, bool verdict)
{
	bool matters = m->level == MODEL_EVENTS || verdict ||
	    event_type_starts_call(p->event->type) ||
	    (event_type_ends_call(p->event->type) && p->call != NULL && !is_done(m, p->call));

	if (matters)
		event_index_put(&m->events, (struct indexed_event){
			.id = event_key(p->event->event_id), .call = p->call, .wall = p->wall,
			.type = p->event->type });
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
	if (event->type == EVENT_RUN_STARTED)
		start_attempt(m, p);
	else if (event->type == EVENT_RUN_COMPLETED)
		end_attempt(m, p);
	else if (event_type_starts_call(event->type))
		p->call = start_call(m, event, place, p->wall);
	else if (verdict)
		take_verdict(m, p);
	else if (ends)
		take_end(m, p, place);
	else if (m->level > MODEL_LIVE)
		take_inner(m, p);
	waitings_take(&m->waits, event,
	    p->call != NULL ? p->call->begin : (struct event_place){ 0, 0 });
	index_event(m, p, verdict);
	if (m->level < MODEL_EVENTS && ends && p->call != NULL && is_done(m, p->call)) {
		forget_done(m, p->call);
		p->call = NULL;
	}
}

/* Found out as fast as can be: most lines are of messages and tools. */
static bool
is_inner(const char *line, size_t len)
{
	struct span name;
	enum event_type type;
	int64_t seq;

	if (event_peek(line, len, &seq, &name) != 0)
		return false;
	type = event_type_from_name(name.at, name.len);
	return type == EVENT_MESSAGE_USER || type == EVENT_MESSAGE_ASSISTANT ||
	    type == EVENT_TOOL_CALL || type == EVENT_TOOL_RESULT;
}

bool
model_line(struct model *m, const char *line, size_t len, struct event_place place,
    struct event_view *event, struct placed *placed)
{
	if (m->level == MODEL_LIVE && is_inner(line, len))
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

void
model_free(struct model *m)
{
	forget_all(m);
	event_index_free(&m->calls);
	event_index_free(&m->works);
	event_index_free(&m->tools);
	waitings_free(&m->waits);
	for (size_t i = 0; i < m->text_count; i++)
		free(m->texts[i]);
	free(m->texts);
	map_free(&m->text_places);
	free(m->name);
	free(m->reason);
	*m = (struct model){ .level = m->level };
}
