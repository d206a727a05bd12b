#include "run/progress.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "run/view.h"

static void
call_free(struct progress_call *call)
{
	free(call->call);
	free(call->label);
}

/* Forgets one call of a run, or all of them (call NULL). */
static void
forget(struct progress *p, const char *run_id, const char *call)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct progress_call *c = &p->calls[i];

		if (strcmp(c->run_id, run_id) == 0 && (!call || strcmp(c->call, call) == 0))
			call_free(c);
		else
			p->calls[kept++] = *c;
	}
	p->count = kept;
}

static void
begin(struct progress *p, const char *run_id, const char *call, const struct event_view *event)
{
	struct progress_call *c;
	struct buffer label = BUFFER_INIT;
	char timestamp[64];

	forget(p, run_id, call);
	p->calls = memory_array(p->calls, p->count + 1, sizeof *p->calls);
	c = &p->calls[p->count++];
	memcpy(c->run_id, run_id, sizeof c->run_id);
	c->call = memory_text(call);
	view_label(event, &label);
	c->label = buffer_take(&label);
	c->started = 0;
	if (!span_copy(event->timestamp, timestamp, sizeof timestamp) ||
	    clock_parse(timestamp, 0, &c->started) != 0)
		c->started = clock_wall();
}

/* What the types that matter here do to a run's calls. */
enum effect { NOTHING, BEGINS, ENDS, ENDS_ALL };
static const enum effect effects[EVENT_TYPES + 1] = {
	[EVENT_RUN_STARTED] = ENDS_ALL,
	[EVENT_RUN_COMPLETED] = ENDS_ALL,
	[EVENT_STEP_STARTED] = BEGINS,
	[EVENT_CALL_WORKFLOW_STARTED] = BEGINS,
	[EVENT_STEP_COMPLETED] = ENDS,
	[EVENT_CALL_WORKFLOW_COMPLETED] = ENDS,
};

static enum effect
effect_of(const char *line, size_t len)
{
	struct span type;
	int64_t seq;

	if (event_peek(line, len, &seq, &type) != 0)
		return NOTHING;
	return effects[event_type_from_name(type.at, type.len)];
}

void
progress_event(struct progress *p, const char *line, size_t len)
{
	enum effect effect = effect_of(line, len);
	struct event_view event;
	char run_id[ID_SIZE], *call;

	if (effect == NOTHING || event_view(line, len, &event) != 0 ||
	    !span_copy(event.run_id, run_id, sizeof run_id))
		return;
	call = span_text(span_member(event.payload, "call"));
	if (effect == ENDS_ALL)
		forget(p, run_id, NULL);
	else if (call && effect == BEGINS)
		begin(p, run_id, call, &event);
	else if (call)
		forget(p, run_id, call);
	free(call);
}

void
progress_text(const struct progress *p, int64_t now, struct buffer *out)
{
	char text[32];

	if (p->count == 0)
		return;
	buffer_format(out, "%zu %s:", p->count, p->count == 1 ? "call" : "calls");
	for (size_t i = 0; i < p->count; i++)
		buffer_format(out, "%s %s %s", i ? "," : "", p->calls[i].label,
		    duration_text((now - p->calls[i].started) / 1000, text, sizeof text));
}

void
progress_free(struct progress *p)
{
	for (size_t i = 0; i < p->count; i++)
		call_free(&p->calls[i]);
	free(p->calls);
	*p = (struct progress)PROGRESS_INIT;
}
