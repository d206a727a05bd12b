/*
 * The model has what was recorded about each call; this file decides whether it counts as a
 * failure. A rule about an enclosing call applies to everything inside it, at any depth, except
 * rules about branches or tries, which are directly inside.
 */
#include "model/outcome.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "json/writer.h"
#include "model/model.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"

static bool
outcome_call_failed(const struct model_call *c)
{
	return c->state == CALL_OPEN || c->state == CALL_FAILED;
}

/* Whether a call's failure, or its missing end, is excused by a rule about the call itself, about
 * the call directly around it, or about a call that handled the failure. */
static bool
excused_itself(const struct model_call *c)
{
	const struct model_call *around = c->around;

	/* Options that excuse a failure do not excuse waiting. */
	if (outcome_call_failed(c) && (c->tried || c->by_tool ||
	    (c->state == CALL_FAILED && c->allowed && error_of_work(c->code))))
		return true;
	if (c->caught || c->left)
		return true;
	if (around != NULL && (around->race || around->lenient) && (around->state == CALL_SUCCEEDED ||
	    (around->state == CALL_WAITING && c->state == CALL_FAILED)))
		return true;
	if (around != NULL && around->state == CALL_SUCCEEDED && c->rare->try_number < around->rare->tries)
		return true;
	/* A rescue that failed but was rescued itself counts as one that succeeded. */
	for (size_t i = 0; i < c->rare->given_to.count; i++)
		if (outcome_call_failed(c->rare->given_to.list[i]) &&
		    excused_itself(c->rare->given_to.list[i]))
			return true;
	return false;
}

static bool
outcome_call_excused(const struct model_call *c)
{
	const bool failed = outcome_call_failed(c);

	if (excused_itself(c))
		return true;
	/* A failure inside a call that waits does not count: with the answer, that call is made
	 * again. */
	for (c = c->around; c != NULL; c = c->around)
		if ((outcome_call_failed(c) && excused_itself(c)) ||
		    (c->state == CALL_WAITING && (failed || excused_itself(c))))
			return true;
	return false;
}

/* The position of the end of a failed call, which contains its stderr. For a group, the end of the
 * call inside it that failed says more. */
static struct event_place
innermost_end(const struct model_call *c)
{
	const struct model_call *failed = NULL;

	for (const struct model_call *in = c->first_inside; in != NULL; in = in->beside)
		if (in->state == CALL_FAILED && !excused_itself(in))
			failed = in;
	return failed != NULL ? innermost_end(failed) :
	    c->state == CALL_FAILED ? c->end : (struct event_place){ 0 };
}

/* The error message in the end of a call, read from its line; NULL: it cannot be read. */
static char *
end_message(const struct model_call *c, const char *path)
{
	struct buffer line = BUFFER_INIT;
	struct error ignored = ERROR_INIT;
	struct event_view event;
	char *message = NULL;

	if (event_load(path, c->end, &line, &ignored) == 0 && event_view(line.data, line.len, &event) == 0)
		message = span_text(span_path(event.payload, KEY_ERROR, KEY_MESSAGE, NULL));
	buffer_free(&line);
	return message;
}

static void
set_failed(struct outcome *o, const struct model_call *c, const char *path)
{
	const char *number = strrchr(c->id, ':');
	struct buffer name = BUFFER_INIT;
	char *message;

	/* The first failure is reported, but a cancellation only if nothing else failed: another
	 * failure may have caused it. */
	if (o->failed++ > 0 && (o->error.code != ERROR_CANCELLED || c->state == CALL_OPEN ||
	    c->code == ERROR_CANCELLED))
		return;
	o->failed_item[0] = '\0';
	o->failed_end = (struct event_place){ 0 };
	snprintf(o->first_failed, sizeof o->first_failed, "%s", c->id);
	snprintf(o->repeated_by, sizeof o->repeated_by, "%s",
	    c->work != NULL && c->work->repeated_by != NULL ? c->work->repeated_by : "");
	if (c->state == CALL_OPEN) {
		error_set(&o->error, ERROR_INTERRUPTED, NULL, "it never ended");
	} else {
		message = end_message(c, path);
		error_set(&o->error, c->code, NULL, "%s", message != NULL ? message : "");
		free(message);
		o->failed_end = innermost_end(c);
	}
	/* The item is looked up only for a failed call: the inputs of other calls are not kept. */
	if (number == NULL || strcmp(number, ":0") == 0 || call_is_member(c->id))
		return;
	item_name_find(path, c, &name);
	snprintf(o->failed_item, sizeof o->failed_item, "%s", buffer_string(&name));
	buffer_free(&name);
}

/* Whether a call waits that is not excused. */
static bool
outcome_waits(const struct model *m)
{
	for (const struct model_call *c = m->first_of_attempt; c != NULL; c = c->next)
		if (c->id[0] != '\0' && c->state == CALL_WAITING && !outcome_call_excused(c))
			return true;
	return false;
}

static bool
outcome_holds(const struct outcome *o)
{
	return (o->failed > 0) == (o->first_failed[0] != '\0') &&
	    (o->failed > 0) == (o->error.code != ERROR_NONE) &&
	    (o->waiting > 0) == (o->first_waiting[0] != '\0') &&
	    (o->asking > 0) == (o->asks != WAITING_NOTHING) && o->asking + o->decisions <= o->waiting &&
	    (o->decided.code != ERROR_NONE) == (o->decision == RUN_FAILS);
}

void
outcome_of(struct outcome *o, const struct model *m, const char *path)
{
	const bool waits = outcome_waits(m);
	struct writer w;

	*o = (struct outcome){ .asks = WAITING_NOTHING, .error = ERROR_INIT, .decided = ERROR_INIT,
		.usage = BUFFER_INIT };
	o->calls = m->begun;
	o->decision = m->decision;
	if (m->decision == RUN_FAILS)
		error_set(&o->decided, ERROR_TERMINAL, NULL, "%s",
		    m->reason != NULL && *m->reason != '\0' ? m->reason : "a terminal step said so");
	for (const struct model_call *c = m->first_of_attempt; c != NULL; c = c->next) {
		bool asks = c->asks != WAITING_NOTHING && !c->decided;
		char *message;

		if (c->id[0] == '\0' || outcome_call_excused(c))
			continue;
		/* What waits prints nothing with -r: a step that finds no input then waits with it. */
		if (outcome_call_failed(c) && !(waits && c->code == ERROR_NO_INPUT))
			set_failed(o, c, path);
		if (c->state != CALL_WAITING)
			continue;
		if (o->waiting++ == 0 || (o->asking == 0 && asks)) {
			snprintf(o->first_waiting, sizeof o->first_waiting, "%s", c->id);
			o->asks = asks ? c->asks : WAITING_NOTHING;
			message = asks ? NULL : end_message(c, path);
			o->asleep = message != NULL && strcmp(message, WAITING_ASLEEP) == 0;
			free(message);
		}
		o->asking += asks;
		o->decisions += c->decided;
	}
	INVARIANT(outcome_holds(o));
	writer_begin(&w, &o->usage);
	writer_object(&w);
	writer_member_integer(&w, KEY_CALLS, m->begun);
	for (size_t i = 0; i < MODEL_USAGE_KEYS; i++)
		if (m->used[i])
			writer_member_integer(&w, model_usage_keys[i], m->usage[i]);
	writer_object_end(&w);
}

int
outcome_read(struct outcome *o, const char *path, int64_t from, struct error *err)
{
	struct model m;
	int failed;

	*o = (struct outcome){ .usage = BUFFER_INIT };
	model_begin(&m, MODEL_OPEN);
	m.position = from;
	failed = model_read_file(&m, path, err);
	if (failed == 0)
		outcome_of(o, &m, path);
	model_free(&m);
	return failed;
}

/* Whether the call waits, or a step in it has died, has the call with that id around it, and neither it nor a
 * call between them is excused. */
static bool
is_unfinished_inside(const struct model_call *c, const char *around)
{
	const size_t len = strlen(around);

	if ((c->state != CALL_WAITING && (c->state != CALL_FAILED || c->code != ERROR_INTERRUPTED)) ||
	    strncmp(c->id, around, len) != 0 || c->id[len] != '/')
		return false;
	for (; c != NULL && strcmp(c->id, around) != 0; c = c->around)
		if (excused_itself(c))
			return false;
	return true;
}

char *
outcome_unfinished_inside(const char *path, int64_t from, const char *around, enum error_code *code)
{
	const struct model_call *last = NULL;
	struct error ignored = ERROR_INIT;
	char *message = NULL;
	struct model m;

	model_begin(&m, MODEL_OPEN);
	m.position = from;
	if (model_read_file(&m, path, &ignored) == 0)
		for (const struct model_call *c = m.first; c != NULL; c = c->next)
			if (is_unfinished_inside(c, around))
				last = c;
	if (last != NULL) {
		*code = last->state == CALL_WAITING ? ERROR_WAITING : ERROR_INTERRUPTED;
		message = end_message(last, path);
		if (message == NULL)
			message = memory_text(error_name(*code));
	}
	model_free(&m);
	return message;
}

void
outcome_free(struct outcome *o)
{
	buffer_free(&o->usage);
}
