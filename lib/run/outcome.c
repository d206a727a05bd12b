/*
 * The model says what was recorded of each call; here it is judged. A rule that looks at
 * what a call is in holds for all that is in there, however deep, unless it says branches or
 * tries: those are what is in a call directly.
 */
#include "run/outcome.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/writer.h"
#include "run/model.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"

static bool
failed(const struct model_call *c)
{
	return c->state == CALL_OPEN || c->state == CALL_FAILED;
}

/* Whether the failure of a call, or that it never ended, is excused by what it is itself, by
 * what it is directly in, or by one that was given it. */
static bool
excused_itself(const struct model_call *c)
{
	const struct model_call *around = c->around;

	/* What lets failures pass does not let pass that it waits. */
	if (failed(c) && (c->tried || c->by_tool ||
	    (c->state == CALL_FAILED && c->allowed && error_of_work(c->code))))
		return true;
	if (c->caught || c->left)
		return true;
	if (around != NULL && around->lenient && (around->state == CALL_SUCCEEDED ||
	    (around->state == CALL_WAITING && c->state == CALL_FAILED)))
		return true;
	if (around != NULL && around->state == CALL_SUCCEEDED && c->try_number < around->tries)
		return true;
	/* A rescue that failed, but was rescued itself, is as good as one that succeeded. */
	for (size_t i = 0; i < c->rescuer_count; i++)
		if (failed(c->rescuers[i]) && excused_itself(c->rescuers[i]))
			return true;
	return false;
}

static bool
excused(const struct model_call *c)
{
	if (excused_itself(c))
		return true;
	for (c = c->around; c != NULL; c = c->around)
		if ((failed(c) || c->state == CALL_WAITING) && excused_itself(c))
			return true;
	return false;
}

/* The message of its error, read again where it is recorded. */
static void
read_error(struct error *error, const struct model_call *c, const char *path)
{
	struct buffer line = BUFFER_INIT;
	struct error ignored = ERROR_INIT;
	struct event_view event;
	char *message = NULL;

	if (event_load(path, c->end, &line, &ignored) == 0 &&
	    event_view(line.data, line.len, &event) == 0)
		message = span_text(span_path(event.payload, KEY_ERROR, KEY_MESSAGE, NULL));
	error_set(error, c->code, NULL, "%s", message != NULL ? message : "");
	free(message);
	buffer_free(&line);
}

/* Only a failed call's item is looked for: what others began with is not kept. */
static void
name_failed_item(struct outcome *o, const struct model_call *c, const char *path)
{
	const char *number = strrchr(c->id, ':');
	struct buffer name = BUFFER_INIT;

	if (number == NULL || strcmp(number, ":0") == 0 || call_is_member(c->id))
		return;
	item_name_find(path, c, &name);
	snprintf(o->failed_item, sizeof o->failed_item, "%s", buffer_string(&name));
	buffer_free(&name);
}

static void
set_failed(struct outcome *o, const struct model_call *c, const char *path)
{
	if (o->failed++ > 0)
		return;
	snprintf(o->first_failed, sizeof o->first_failed, "%s", c->id);
	snprintf(o->repeated_by, sizeof o->repeated_by, "%s",
	    c->repeated_by != NULL ? c->repeated_by : "");
	if (c->state == CALL_OPEN)
		error_set(&o->error, ERROR_INTERRUPTED, NULL, "it never ended");
	else
		read_error(&o->error, c, path);
	name_failed_item(o, c, path);
}

static void
set_waiting(struct outcome *o, const struct model_call *c)
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
write_usage(const struct model *m, struct buffer *out)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_integer(&w, "calls", m->begun);
	for (size_t i = 0; i < MODEL_USAGE_KEYS; i++)
		if (m->used[i])
			writer_member_integer(&w, model_usage_keys[i], m->usage[i]);
	writer_object_end(&w);
}

void
outcome_of(struct outcome *o, const struct model *m, const char *path)
{
	*o = (struct outcome){ .asks = WAITING_NOTHING, .error = ERROR_INIT, .decided = ERROR_INIT,
		.usage = BUFFER_INIT };
	o->calls = m->begun;
	o->decision = m->decision;
	if (m->decision == RUN_FAILS)
		error_set(&o->decided, ERROR_TERMINAL, NULL, "%s",
		    m->reason != NULL && *m->reason != '\0' ? m->reason : "a terminal step said so");
	for (const struct model_call *c = m->first_of_attempt; c != NULL; c = c->next) {
		if (c->id[0] == '\0' || excused(c))
			continue;
		if (failed(c))
			set_failed(o, c, path);
		else if (c->state == CALL_WAITING)
			set_waiting(o, c);
	}
	write_usage(m, &o->usage);
}

int
outcome_read(struct outcome *o, const char *path, int64_t from, struct error *err)
{
	struct model m;
	struct reader r;
	int failed;

	*o = (struct outcome){ .usage = BUFFER_INIT };
	if (reader_open(&r, path, err) != 0)
		return -1;
	reader_seek(&r, from);
	model_begin(&m, MODEL_OPEN);
	failed = model_read(&m, &r, err);
	reader_close(&r);
	if (failed == 0)
		outcome_of(o, &m, path);
	model_free(&m);
	return failed;
}

void
outcome_free(struct outcome *o)
{
	buffer_free(&o->usage);
}
