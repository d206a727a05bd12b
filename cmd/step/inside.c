/*
 * What was made inside of a call, by the models of its run and of child runs. A call that has
 * effects counts from its start, until its end tells that it failed by itself; so does that of
 * a tool. Of the run only what stands behind the start of the call is read, of which the model
 * knows no more than needed: what is in the call is told by ids.
 */
#include "step/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "json/scan.h"
#include "run/model.h"
#include "run/storage.h"
#include "transcript/event_keys.h"

#define DEPTH 16 /* of runs in runs */

/* One that has begun to change something. */
struct begun {
	char *name;
	bool harmless; /* it came to an end that is no change */
};

struct inside {
	const struct run *run;
	const char *call;       /* "": all of the run */
	struct map by_start;    /* event that began it → begun */
	struct begun *list;
	size_t count;
	int depth;
	bool told;              /* what has the name of something in a child run */
	struct buffer *what;
};

static bool read_run(struct inside *in, const char *path, int64_t from);

static bool
is_inside(const struct inside *in, const struct model_call *c)
{
	size_t len = strlen(in->call);

	return len == 0 || (strncmp(c->id, in->call, len) == 0 && c->id[len] == '/');
}

static bool
changes(struct span payload)
{
	struct span effects = span_member(payload, KEY_EFFECTS);

	return (span_is(effects, "workspace") || span_is(effects, "external")) &&
	    !span_true(span_member(payload, KEY_IDEMPOTENT));
}

static void
begin(struct inside *in, struct span start, struct span name)
{
	char id[ID_SIZE], *text;

	if (!event_copy_id(start, id))
		return;
	text = span_text(name);
	map_put(&in->by_start, id, ID_SIZE - 1, in->count);
	in->list = memory_array(in->list, in->count + 1, sizeof *in->list);
	in->list[in->count++] = (struct begun){ text != NULL ? text : memory_text(""), false };
}

/* It failed, and nothing around it ended it. */
static bool
failed_by_itself(struct span payload)
{
	static const char *const cut[] = { "timeout", "cancelled", "interrupted",
		"downstream_closed", NULL };
	struct span code = span_path(payload, KEY_ERROR, KEY_CODE, NULL);
	long long exit_code = 0;

	span_integer(span_member(payload, KEY_EXIT_CODE), &exit_code);
	return span_member(payload, KEY_SKIPPED).at != NULL ||
	    (code.at != NULL && span_one_of(code, cut) == NULL && exit_code <= 128);
}

/* What this event began has ended. */
static void
end(struct inside *in, const char *start, struct span payload)
{
	const size_t *found = map_get(&in->by_start, start, strlen(start));

	if (found != NULL && in->list != NULL && failed_by_itself(payload))
		in->list[*found].harmless = true;
}

static void
read_child(struct inside *in, const struct model_call *c)
{
	struct inside child = { .run = in->run, .call = "", .depth = in->depth + 1,
		.what = in->what };
	char *path;

	if (!id_valid(c->child_run_id, strlen(c->child_run_id)) || child.depth > DEPTH)
		return;
	path = storage_transcript(&in->run->storage, c->child_run_id);
	if (transcript_begun(path) && read_run(&child, path, 0))
		in->told = true;
	free(path);
}

static int
take(void *context, const struct placed *placed, struct error *err)
{
	struct inside *in = context;
	const struct event_view *event = placed->event;
	struct span payload = event->payload;
	char cause[ID_SIZE];

	(void)err;
	if (placed->call == NULL || !is_inside(in, placed->call))
		return 0;
	if (event_type_starts_call(event->type)) {
		/* The effects of an operation are those of its tool's calls. */
		if (changes(payload) && span_member(payload, KEY_TOOL).at == NULL)
			begin(in, event->event_id, span_member(payload, KEY_CALL));
		if (event->type == EVENT_CALL_WORKFLOW_STARTED)
			read_child(in, placed->call);
	} else if (event_type_ends_call(event->type)) {
		end(in, placed->call->event_id, payload);
	} else if (event->type == EVENT_TOOL_CALL) {
		if (changes(payload) && span_is(span_member(payload, KEY_FIDELITY), "router"))
			begin(in, event->event_id, span_member(payload, KEY_NAME));
	} else if (event->type == EVENT_TOOL_RESULT && event_copy_id(event->parent_event_id, cause)) {
		end(in, cause, payload);
	}
	return in->told;
}

/* Whether something in it has changed something, and what. */
static bool
read_run(struct inside *in, const char *path, int64_t from)
{
	struct error err;
	struct model m;
	bool found, unreadable;

	model_begin(&m, MODEL_EVENTS);
	m.position = from;
	m.watch = take;
	m.context = in;
	unreadable = model_read_file(&m, path, &err) == -1;
	model_free(&m);
	found = in->told;
	for (size_t i = 0; i < in->count && !found; i++)
		if (!in->list[i].harmless) {
			buffer_text(in->what, in->list[i].name);
			found = true;
		}
	if (!found && unreadable) {
		buffer_text(in->what, "something");
		found = true;
	}
	for (size_t i = 0; i < in->count; i++)
		free(in->list[i].name);
	free(in->list);
	map_free(&in->by_start);
	return found;
}

bool
inside_changed(const struct run *run, const char *call, int64_t from, struct buffer *what)
{
	struct inside in = { .run = run, .call = call, .what = what };

	return read_run(&in, run->transcript.path, from);
}
