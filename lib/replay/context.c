#include "replay/context.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "record/waiting.h"

struct context_event {
	const struct context_call *call;
	int64_t wall;
	enum event_type type;
};

static int64_t
wall_of(const struct event_view *event)
{
	char text[64];
	int64_t wall;

	if (!span_copy(event->timestamp, text, sizeof text) || clock_parse(text, 0, &wall) != 0)
		return 0;
	return wall;
}

static const struct context_event *
event_of(const struct context *c, struct span id)
{
	char text[ID_SIZE];
	const size_t *at;

	if (!span_copy(id, text, sizeof text))
		return NULL;
	at = map_get(&c->by_event, text, strlen(text));
	return at ? &c->events[*at] : NULL;
}

static void
remember_event(struct context *c, const struct placed *p)
{
	char id[ID_SIZE];

	if (!span_copy(p->event->event_id, id, sizeof id))
		return;
	c->events = memory_array(c->events, c->event_count + 1, sizeof *c->events);
	c->events[c->event_count] = (struct context_event){ p->call, p->wall,
		p->event->type };
	map_put(&c->by_event, id, strlen(id), c->event_count++);
}

static void
add_before(struct context_call *call, const struct context_event *event)
{
	if (!event || !event->call || !event_type_ends_call(event->type))
		return;
	call->before = memory_array(call->before, call->before_count + 1, sizeof *call->before);
	call->before[call->before_count++] = event->call;
}

/* The parent is the group that the call is in, or a call before it in there. What is
 * in another run is not known here. */
static void
find_causes(const struct context *c, struct context_call *call, const struct event_view *event)
{
	const struct context_event *parent = event_of(c, event->parent_event_id);
	struct span_walk walk;
	struct span key, link;

	if (parent && parent->call)
		call->around = event_type_ends_call(parent->type) ? parent->call->around : parent->call;
	add_before(call, parent);
	span_walk_begin(&walk, event->links);
	while (span_walk_next(&walk, &key, &link))
		add_before(call, event_of(c, link));
}

static char *
text_or_empty(struct span object, const char *key)
{
	char *text = span_text(span_member(object, key));

	return text ? text : memory_text("");
}

static void
start_call(struct context *c, struct placed *p)
{
	struct context_call *call = memory_zero(1, sizeof *call);
	struct span payload = p->event->payload;

	span_copy(p->event->event_id, call->event_id, sizeof call->event_id);
	span_copy(p->event->child_run_id, call->child_run_id, sizeof call->child_run_id);
	call->name = text_or_empty(payload, "name");
	call->call = text_or_empty(payload, "call");
	call->kind = text_or_empty(payload, "kind");
	call->agent = span_text(span_member(payload, "agent"));
	call->provider = span_text(span_member(payload, "provider"));
	call->model = span_text(span_member(payload, "model"));
	call->tool = span_text(span_member(payload, "tool"));
	call->started = p->wall;
	find_causes(c, call, p->event);
	c->calls = memory_array(c->calls, c->call_count + 1, sizeof *c->calls);
	c->calls[c->call_count] = call;
	call->index = c->call_count;
	map_put(&c->by_call, call->call, strlen(call->call), c->call_count++);
	p->call = call;
}

/* Calls of an earlier attempt that did not end will not. */
static void
start_attempt(struct context *c, const struct placed *p)
{
	long long attempt = 1;

	span_integer(span_member(p->event->payload, "attempt"), &attempt);
	c->attempt = attempt;
	c->started = p->wall;
	free(c->name);
	c->name = text_or_empty(p->event->payload, "name");
	map_free(&c->by_call);
	c->by_call = (struct map)MAP_INIT;
}

/* The one that ended the call, whoever began it, in another attempt perhaps. */
static void
take_agent(struct context_call *call, struct span payload)
{
	char *agent = span_text(span_member(payload, "agent"));

	if (!agent)
		return;
	free(call->agent);
	call->agent = agent;
}

static void
end_call(const struct context *c, struct placed *p)
{
	char *call = span_text(span_member(p->event->payload, "call"));
	const size_t *at = call ? map_get(&c->by_call, call, strlen(call)) : NULL;

	if (at) {
		p->call = c->calls[*at];
		p->started = p->call->started;
		take_agent(c->calls[*at], p->event->payload);
	}
	free(call);
}

/* From here on another agent works on the call. */
static void
hand_over(struct context_call *call, struct span payload)
{
	char **const texts[] = { &call->agent, &call->provider, &call->model };
	const struct span values[] = { span_path(payload, "handoff", "to", NULL),
		span_member(payload, "provider"), span_member(payload, "model") };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		free(*texts[i]);
		*texts[i] = span_text(values[i]);
	}
}

/* A decision is of the call that it is about, in whichever attempt, from when that began
 * to wait. */
static void
decide_call(const struct context *c, struct placed *p)
{
	const struct context_event *wait = event_of(c, p->event->parent_event_id);

	if (wait) {
		p->call = wait->call;
		p->started = wait->wall;
	}
}

static void
follow_cause(const struct context *c, struct placed *p)
{
	const struct context_event *cause = event_of(c, p->event->parent_event_id);
	long long duration;

	if (cause) {
		p->call = cause->call;
		p->cause = cause->type;
	}
	if (p->call && placed_handoff(p))
		hand_over(c->calls[p->call->index], p->event->payload);
	if (p->event->type == EVENT_TOOL_RESULT && cause)
		p->started = cause->wall;
	if (p->event->type == EVENT_MESSAGE_ASSISTANT &&
	    span_integer(span_member(p->event->payload, "duration_ms"), &duration) &&
	    duration >= 0 && duration <= p->wall / 1000)
		p->started = p->wall - duration * 1000;
	/* A replay has the durations of its recording: nothing begins before its call. */
	if (p->call && p->started < p->call->started && p->call->started <= p->wall)
		p->started = p->call->started;
}

bool
placed_handoff(const struct placed *p)
{
	return p->event->type == EVENT_MESSAGE_USER &&
	    span_type(span_member(p->event->payload, "handoff")) == 'o';
}

void
context_place(struct context *c, const struct event_view *event, struct placed *p)
{
	*p = (struct placed){ .event = event, .run = c, .cause = EVENT_TYPES,
		.wall = wall_of(event) };
	p->started = p->wall;
	if (c->run_id[0] == '\0') {
		span_copy(event->run_id, c->run_id, sizeof c->run_id);
		span_copy(event->parent_run_id, c->parent_run_id, sizeof c->parent_run_id);
	}
	switch (event->type) {
	case EVENT_RUN_STARTED:
		start_attempt(c, p);
		break;
	case EVENT_RUN_COMPLETED:
		p->started = c->started;
		break;
	case EVENT_STEP_STARTED:
	case EVENT_CALL_WORKFLOW_STARTED:
		start_call(c, p);
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
		if (waiting_decided(event))
			decide_call(c, p);
		else
			end_call(c, p);
		break;
	default:
		follow_cause(c, p);
	}
	remember_event(c, p);
}

static void
call_free(struct context_call *call)
{
	char *const texts[] = { call->name, call->call, call->kind, call->agent, call->provider,
		call->model, call->tool };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	free(call->before);
	free(call);
}

void
context_free(struct context *c)
{
	for (size_t i = 0; i < c->call_count; i++)
		call_free(c->calls[i]);
	free(c->calls);
	free(c->events);
	free(c->name);
	map_free(&c->by_call);
	map_free(&c->by_event);
}
