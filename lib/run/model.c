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
	[MODEL_INPUT_TOKENS] = KEY_INPUT_TOKENS, [MODEL_OUTPUT_TOKENS] = KEY_OUTPUT_TOKENS,
	[MODEL_CACHE_READ_TOKENS] = KEY_CACHE_READ_TOKENS,
	[MODEL_CACHE_WRITE_TOKENS] = KEY_CACHE_WRITE_TOKENS,
	[MODEL_REASONING_TOKENS] = KEY_REASONING_TOKENS,
};

/* What is looked for in the payloads of calls, in one walk over each. */
enum member {
	AGENT, CALL, DEFINITION, FAILURE, INPUT, KIND, MODE, MODEL_NAME, NAME, OUTCOME, PROVIDER,
	REASON, RETRIES, SKIPPED, STDIN, STRATEGY, TOOL, TRY, MEMBERS
};
static const char *const member_names[MEMBERS] = {
	[AGENT] = KEY_AGENT, [CALL] = KEY_CALL, [DEFINITION] = KEY_DEFINITION_SHA256,
	[FAILURE] = KEY_ERROR, [INPUT] = KEY_INPUT_SHA256, [KIND] = KEY_KIND, [MODE] = KEY_MODE,
	[MODEL_NAME] = KEY_MODEL, [NAME] = KEY_NAME, [OUTCOME] = KEY_OUTCOME,
	[PROVIDER] = KEY_PROVIDER, [REASON] = KEY_REASON, [RETRIES] = KEY_RETRIES,
	[SKIPPED] = KEY_SKIPPED, [STDIN] = KEY_STDIN, [STRATEGY] = KEY_STRATEGY,
	[TOOL] = KEY_TOOL, [TRY] = KEY_TRY,
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

/* A name, a kind …: the same few texts again and again, known by how they are spelled. NULL
 * if value is no text. */
static const char *
keep_text(struct model *m, struct span value)
{
	const size_t *at = value.at != NULL ? map_get(&m->text_places, value.at, value.len) : NULL;
	char *text;

	if (at != NULL)
		return m->texts[*at];
	text = span_text(value);
	if (text == NULL)
		return NULL;
	map_put(&m->text_places, value.at, value.len, m->text_count);
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

/* Puts a call behind all others, and into the one that it is in: its id, a chain, names that. If
 * it is not known, that which began before it, or which is around what ended before it. */
static void
enter_tree(struct model *m, struct model_call *c, struct span parent)
{
	const char *slash = strrchr(c->id, '/');
	const struct indexed_event *cause = event_index_find(&m->events, event_key(parent));

	c->previous = m->final;
	*(m->final != NULL ? &m->final->next : &m->first) = c;
	m->final = c;
	if (m->first_of_attempt == NULL)
		m->first_of_attempt = c;

	if (slash != NULL)
		c->around = model_find(m, c->id, (size_t)(slash - c->id));
	if (slash != NULL && c->around == NULL && cause != NULL && cause->call != NULL)
		c->around = event_type_ends_call(cause->type) ? cause->call->around : cause->call;
	if (c->around == NULL)
		return;
	c->beside_before = c->around->last_inside;
	*(c->beside_before != NULL ? &c->beside_before->beside : &c->around->first_inside) = c;
	c->around->last_inside = c;
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

/* Calls of the same work are a list, the last first, while they are open or failed. */
static void
enter_work(struct model *m, struct model_call *c)
{
	const struct indexed_event *last = event_index_find(&m->works, c->work);

	c->same_before = last != NULL ? last->call : NULL;
	event_index_put(&m->works, (struct indexed_event){ .id = c->work, .call = c });
}

/* Takes a call out of them that is neither any more. If it succeeded it looks as if that was
 * meant to make good those before it: they are marked, and are out of it too. */
static void
leave_work(struct model *m, const struct model_call *c)
{
	struct indexed_event *last = event_index_find(&m->works, c->work);
	struct model_call **link = last != NULL ? &last->call : NULL;

	while (link != NULL && *link != c)
		link = *link != NULL ? &(*link)->same_before : NULL;
	if (link == NULL)
		return;
	*link = c->same_before;
	if (c->state == CALL_SUCCEEDED) {
		for (struct model_call *b = c->same_before; b != NULL; b = b->same_before)
			b->repeated_by = memory_text(c->id);
		*link = NULL;
	}
	if (last->call == NULL)
		event_index_remove(&m->works, c->work);
}

static void
free_call(struct model_call *c)
{
	if (c->child_run_id[0] != '\0')
		free((char *)c->child_run_id);
	if (c->rescue != NULL) {
		free(c->rescue->given);
		free(c->rescue->given_to);
	}
	free(c->rescue);
	free(c->fallback);
	free(c->before);
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

/* Forgets a call that is done, and what it is in, if nothing is kept in it any more. */
static void
forget_done(struct model *m, struct model_call *c)
{
	while (c != NULL && is_done(m, c) && c->first_inside == NULL) {
		struct model_call *around = c->around;
		struct model_rescue *r = c->rescue;

		/* Out of the tree. */
		*(c->previous != NULL ? &c->previous->next : &m->first) = c->next;
		*(c->next != NULL ? &c->next->previous : &m->final) = c->previous;
		if (m->first_of_attempt == c)
			m->first_of_attempt = c->next;
		if (around != NULL) {
			*(c->beside_before != NULL ? &c->beside_before->beside :
			    &around->first_inside) = c->beside;
			*(c->beside != NULL ? &c->beside->beside_before :
			    &around->last_inside) = c->beside_before;
		}
		for (size_t i = 0; r != NULL && i < r->given_count; i++)
			take_from(r->given[i]->rescue->given_to, &r->given[i]->rescue->given_to_count, c);
		for (size_t i = 0; r != NULL && i < r->given_to_count; i++)
			take_from(r->given_to[i]->rescue->given, &r->given_to[i]->rescue->given_count, c);
		if (model_find(m, c->id, strlen(c->id)) == c)
			event_index_remove(&m->calls, bytes_key(c->id, strlen(c->id)));
		event_index_remove(&m->events, c->start);
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
	if (!rescue)
		return;
	if (c->rescue == NULL)
		c->rescue = memory_zero(1, sizeof *c->rescue);
	if (cause->call->rescue == NULL)
		cause->call->rescue = memory_zero(1, sizeof *c->rescue);
	add_to(&c->rescue->given, &c->rescue->given_count, cause->call);
	add_to(&cause->call->rescue->given_to, &cause->call->rescue->given_to_count, c);
}

static struct model_call *
start_call(struct model *m, const struct event_view *event, struct event_place place, int64_t wall)
{
	struct span members[MEMBERS];
	struct model_call *c;
	long long number;
	bool rescue;
	char *id;

	span_members(event->payload, member_names, MEMBERS, members);
	id = span_text(members[CALL]);
	c = memory_zero(1, sizeof *c + (id != NULL ? strlen(id) : 0) + 1);
	if (id != NULL)
		memcpy(c->id, id, strlen(id) + 1);
	free(id);
	c->number = m->count++;
	c->start = event_key(event->event_id);
	span_copy(event->event_id, c->event_id, sizeof c->event_id);
	c->child_run_id = span_text(event->child_run_id);
	if (c->child_run_id == NULL || c->child_run_id[0] == '\0') {
		free((char *)c->child_run_id);
		c->child_run_id = "";
	}
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
	c->race = span_is(members[STRATEGY], "any");
	c->lenient = span_is(members[STRATEGY], "best-effort");
	c->by_tool = event_index_find(&m->tools, event_key(event->parent_event_id)) != NULL;
	if (span_integer(members[TRY], &number))
		c->try_number = number;

	rescue = span_is(members[MODE], "rescue");
	follow_result(m, c, event->parent_event_id, rescue);
	if (span_type(event->links) == 'a') {
		for (struct span_walk link = span_walk(event->links); span_next(&link);)
			follow_result(m, c, link.value, rescue);
	}
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

static void
catch_failures(const struct model_call *rescue)
{
	for (size_t i = 0; rescue->rescue != NULL && i < rescue->rescue->given_count; i++)
		rescue->rescue->given[i]->caught = true;
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
end_call(struct model *m, struct model_call *c, const struct event_view *event,
    const struct span members[], struct event_place place)
{
	/* The one that ended it, whoever began it, in another attempt perhaps. */
	if (span_type(members[AGENT]) == 's')
		c->agent = keep_text(m, members[AGENT]);
	if (c->state != CALL_OPEN)
		return;
	if (event->type == EVENT_CALL_WORKFLOW_COMPLETED && c->id[0] != '\0') {
		/* What a child run was given is known now. */
		char *digest = span_text(span_member(members[STDIN], KEY_SHA256));
		char *text = memory_format("%016llx%016llx %s", (unsigned long long)c->work.high,
		    (unsigned long long)c->work.low, digest != NULL ? digest : "");

		leave_work(m, c); /* it began as a step's, in a record that is not what it should be */
		c->work = bytes_key(text, strlen(text));
		free(digest);
		free(text);
		enter_work(m, c);
	}
	c->end = place;
	c->asks = waiting_of(event);
	if (span_type(members[RETRIES]) == 'a') {
		for (struct span_walk retry = span_walk(members[RETRIES]); span_next(&retry);)
			c->tries++;
	}
	if (given(members[SKIPPED])) {
		c->state = CALL_SKIPPED;
		/* What the user says was done has made good what it was for. */
		if (span_is(members[SKIPPED], "by_user"))
			catch_failures(c);
	} else if (given(members[FAILURE])) {
		char *code = span_text(span_member(members[FAILURE], KEY_CODE));

		c->code = code != NULL ? error_from_name(code, strlen(code)) : ERROR_NONE;
		if (c->code == ERROR_NONE)
			c->code = ERROR_EXIT_STATUS;
		c->state = c->code == ERROR_WAITING ? CALL_WAITING :
		    c->code == ERROR_DOWNSTREAM_CLOSED ? CALL_CLOSED : CALL_FAILED;
		if (c->state == CALL_CLOSED)
			leave_inside(c);
		free(code);
	} else {
		c->state = CALL_SUCCEEDED;
		catch_failures(c);
	}
	if (c->state != CALL_FAILED || m->level == MODEL_LIVE)
		leave_work(m, c);
}

static void
take_end(struct model *m, struct placed *p)
{
	struct span members[MEMBERS];
	bool success;
	char *id;

	span_members(p->event->payload, member_names, MEMBERS, members);
	/* A terminal call that was made decides; the last one does. */
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

/* Whose it is, by its cause. */
static void
follow_cause(struct model *m, struct placed *p)
{
	static const char *const names[] = { KEY_PROVIDER, KEY_MODEL };
	const struct event_view *event = p->event;
	const struct indexed_event *cause = event_index_find(&m->events,
	    event_key(event->parent_event_id));
	struct model_call *c = cause != NULL ? cause->call : NULL;
	struct span said[2];
	long long duration;

	p->call = c;
	if (cause != NULL)
		p->cause = cause->type;
	if (c != NULL && placed_handoff(p)) {
		/* From here on another agent works on the call. */
		c->agent = keep_text(m, span_path(event->payload, KEY_HANDOFF, KEY_TO, NULL));
		c->provider = keep_text(m, span_member(event->payload, KEY_PROVIDER));
		c->model = keep_text(m, span_member(event->payload, KEY_MODEL));
		free(c->fallback);
		c->fallback = NULL;
	} else if (c != NULL && event->type == EVENT_MESSAGE_ASSISTANT) {
		/* An answer names its provider only where another than the call's was asked. */
		span_members(event->payload, names, 2, said);
		if (span_type(said[0]) == 's' && span_type(said[1]) == 's') {
			if (c->fallback == NULL)
				c->fallback = memory_zero(1, sizeof *c->fallback);
			*c->fallback = (struct model_fallback){ keep_text(m, said[0]),
				keep_text(m, said[1]) };
		}
	}
	if (event->type == EVENT_TOOL_RESULT && cause != NULL)
		p->started = cause->wall;
	if (event->type == EVENT_MESSAGE_ASSISTANT &&
	    span_integer(span_member(event->payload, KEY_DURATION_MS), &duration) &&
	    duration >= 0 && duration <= p->wall / 1000)
		p->started = p->wall - duration * 1000;
	/* A replay has the durations of its recording: nothing begins before its call. */
	if (c != NULL && p->started < c->started && c->started <= p->wall)
		p->started = c->started;
}

/* Messages and tools. */
static void
take_inner(struct model *m, struct placed *p)
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

/* Which events are asked for later. */
static void
index_event(struct model *m, const struct placed *p, bool verdict)
{
	bool matters = m->level == MODEL_EVENTS || verdict ||
	    event_type_starts_call(p->event->type) ||
	    (event_type_ends_call(p->event->type) && p->call != NULL && !is_done(m, p->call));
	/* A decision that is none, as its call does not wait, may outlive the call. */
	bool outlives = verdict && m->level < MODEL_EVENTS && p->call != NULL &&
	    p->call->state != CALL_WAITING;

	if (matters)
		event_index_put(&m->events, (struct indexed_event){
			.id = event_key(p->event->event_id), .call = outlives ? NULL : p->call,
			.wall = p->wall, .type = p->event->type });
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
		take_verdict(m, p);
	} else if (ends) {
		take_end(m, p);
	} else if (m->level > MODEL_LIVE) {
		take_inner(m, p);
	}
	waitings_take(&m->waits, event,
	    p->call != NULL ? p->call->begin : (struct event_place){ 0, 0 });
	index_event(m, p, verdict);
	if (m->level < MODEL_EVENTS && ends && p->call != NULL && is_done(m, p->call)) {
		forget_done(m, p->call);
		p->call = NULL;
	}
}

bool
model_line(struct model *m, const char *line, size_t len, struct event_place place,
    struct event_view *event, struct placed *placed)
{
	struct span name;
	int64_t seq;

	/* Found out as fast as can be: most lines are of messages and tools. */
	if (m->level == MODEL_LIVE && event_peek(line, len, &seq, &name) == 0) {
		enum event_type type = event_type_from_name(name.at, name.len);

		if (type == EVENT_MESSAGE_USER || type == EVENT_MESSAGE_ASSISTANT ||
		    type == EVENT_TOOL_CALL || type == EVENT_TOOL_RESULT)
			return false;
	}
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
	event_index_free(&m->events);
	event_index_free(&m->calls);
	event_index_free(&m->works);
	event_index_free(&m->tools);
}

void
model_free(struct model *m)
{
	forget_all(m);
	model_settle(m);
	waitings_free(&m->waits);
	for (size_t i = 0; i < m->text_count; i++)
		free(m->texts[i]);
	free(m->texts);
	map_free(&m->text_places);
	free(m->name);
	free(m->reason);
	*m = (struct model){ .level = m->level };
}
