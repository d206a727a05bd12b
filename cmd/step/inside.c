/*
 * What was made inside of a call, read from the transcript, and from those of child runs.
 * A call that has effects counts from its start, until its end tells that it failed by
 * itself; so does that of a tool. What an agent's events belong to is told by their causes.
 */
#include "step/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "json/scan.h"
#include "run/storage.h"
#include "transcript/event.h"
#include "transcript/reader.h"

#define DEPTH 16 /* of runs in runs */

/* One that has begun to change something. */
struct begun {
	char *name;
	bool harmless; /* it came to an end that is no change */
};

struct inside {
	const struct run *run;
	const char *call;       /* "": all of the run */
	struct map events;      /* start of a call or tool → begun; others inside → NOTHING */
	struct map by_call;     /* call → begun */
	struct begun *list;
	size_t count;
	int depth;
	bool told;              /* what has the name of something in a child run */
	struct buffer *what;
};

#define NOTHING SIZE_MAX

static bool read_run(struct inside *in, const char *path, int64_t from);

static bool
is_inside(const struct inside *in, struct span call)
{
	char *id = span_text(call);
	size_t len = strlen(in->call);
	bool inside = id != NULL && (len == 0 ||
	    (strncmp(id, in->call, len) == 0 && id[len] == '/'));

	free(id);
	return inside;
}

static bool
changes(struct span payload)
{
	struct span effects = span_member(payload, "effects");

	return (span_is(effects, "workspace") || span_is(effects, "external")) &&
	    !span_true(span_member(payload, "idempotent"));
}

static size_t
begin(struct inside *in, struct span name)
{
	char *text = span_text(name);

	in->list = memory_array(in->list, in->count + 1, sizeof *in->list);
	in->list[in->count] = (struct begun){ text != NULL ? text : memory_text(""), false };
	return in->count++;
}

/* It failed, and nothing around it ended it. */
static bool
failed_by_itself(struct span payload)
{
	static const char *const cut[] = { "timeout", "cancelled", "interrupted",
		"downstream_closed", NULL };
	struct span code = span_path(payload, "error", "code", NULL);
	long long exit_code = 0;

	span_integer(span_member(payload, "exit_code"), &exit_code);
	return span_member(payload, "skipped").at != NULL ||
	    (code.at != NULL && span_one_of(code, cut) == NULL && exit_code <= 128);
}

static void
take_child(struct inside *in, const struct event_view *view)
{
	char id[ID_SIZE];
	struct inside child = { .run = in->run, .call = "", .depth = in->depth + 1,
		.what = in->what };
	char *path;

	if (!event_copy_id(view->child_run_id, id) || child.depth > DEPTH)
		return;
	path = storage_transcript(&in->run->storage, id);
	if (transcript_begun(path) && read_run(&child, path, 0))
		in->told = true;
	free(path);
}

static void
take_started(struct inside *in, const struct event_view *view, const char *id)
{
	struct span call = span_member(view->payload, "call");
	size_t number = NOTHING;
	char *text;

	if (!is_inside(in, call))
		return;
	/* The effects of an operation are those of its tool's calls. */
	if (changes(view->payload) && span_member(view->payload, "tool").at == NULL) {
		number = begin(in, call);
		text = span_text(call);
		map_put(&in->by_call, text, strlen(text), number);
		free(text);
	}
	map_put(&in->events, id, ID_SIZE - 1, number);
	if (view->type == EVENT_CALL_WORKFLOW_STARTED)
		take_child(in, view);
}

static void
take_completed(struct inside *in, const struct event_view *view)
{
	char *call = span_text(span_member(view->payload, "call"));
	const size_t *found = call != NULL ? map_get(&in->by_call, call, strlen(call)) : NULL;

	if (found != NULL && in->list != NULL && failed_by_itself(view->payload))
		in->list[*found].harmless = true;
	free(call);
}

/* Messages and tools. */
static void
take_inner(struct inside *in, const struct event_view *view, const char *id)
{
	char cause[ID_SIZE];
	const size_t *found = NULL;
	size_t number = NOTHING;

	if (event_copy_id(view->parent_event_id, cause))
		found = map_get(&in->events, cause, ID_SIZE - 1);
	if (found == NULL || in->list == NULL)
		return;
	if (view->type == EVENT_TOOL_RESULT && *found != NOTHING &&
	    failed_by_itself(view->payload))
		in->list[*found].harmless = true;
	if (view->type == EVENT_TOOL_CALL && changes(view->payload) &&
	    span_is(span_member(view->payload, "fidelity"), "router"))
		number = begin(in, span_member(view->payload, "name"));
	map_put(&in->events, id, ID_SIZE - 1, number);
}

static void
take(struct inside *in, const struct event_view *view)
{
	char id[ID_SIZE];

	if (!event_copy_id(view->event_id, id))
		return;
	if (event_type_starts_call(view->type))
		take_started(in, view, id);
	else if (view->type == EVENT_STEP_COMPLETED || view->type == EVENT_CALL_WORKFLOW_COMPLETED)
		take_completed(in, view);
	else
		take_inner(in, view, id);
}

static void
forget(struct inside *in)
{
	for (size_t i = 0; i < in->count; i++)
		free(in->list[i].name);
	free(in->list);
	map_free(&in->events);
	map_free(&in->by_call);
}

/* Whether something in it has changed something, and what. */
static bool
read_run(struct inside *in, const char *path, int64_t from)
{
	struct event_view view;
	struct reader reader;
	struct error err;
	const char *line;
	size_t len;
	bool found = false;
	int got = -1;

	if (reader_open(&reader, path, &err) == 0) {
		reader_seek(&reader, from);
		while (!in->told && (got = reader_next(&reader, &line, &len, &err)) == 1)
			if (event_view(line, len, &view) == 0)
				take(in, &view);
		reader_close(&reader);
	}
	for (size_t i = 0; i < in->count && !found && !in->told; i++)
		if (!in->list[i].harmless) {
			buffer_text(in->what, in->list[i].name);
			found = true;
		}
	found = found || in->told;
	if (!found && got == -1) {
		buffer_text(in->what, "something");
		found = true;
	}
	forget(in);
	return found;
}

bool
inside_changed(const struct run *run, const char *call, int64_t from, struct buffer *what)
{
	struct inside in = { .run = run, .call = call, .what = what };

	return read_run(&in, run->transcript.path, from);
}
