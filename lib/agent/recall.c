#include "agent/recall.h"

#include <stdlib.h>
#include <string.h>

const struct recalled_event *
recalled_result(const struct recalled *r)
{
	return r->original.line.len > 0 ? &r->original : &r->completed;
}

bool
recalled_binary(const struct recalled_event *e, const char *pointer)
{
	struct span_walk walk;
	struct span key, ref;

	if (e->refs.len == 0)
		return false;
	span_walk_begin(&walk, span_of(e->refs.data, e->refs.len));
	while (span_walk_next(&walk, &key, &ref))
		if (span_is(span_member(ref, "at"), pointer) &&
		    span_is(span_member(ref, "encoding"), "raw"))
			return true;
	return false;
}

bool
recalled_error(const struct recalled_event *e, struct error *error)
{
	struct span found = span_member(e->view.payload, "error");
	char *code = span_text(span_member(found, "code"));
	char *message = span_text(span_member(found, "message"));
	enum error_code known = code != NULL ? error_from_name(code, strlen(code)) : ERROR_NONE;

	if (span_type(found) == 'o')
		error_set(error, known != ERROR_NONE ? known : ERROR_EXIT_STATUS, NULL, "%s",
		    message != NULL ? message : "");
	free(code);
	free(message);
	return span_type(found) == 'o';
}

bool
recalled_circumstance(enum error_code code)
{
	switch (code) {
	case ERROR_TIMEOUT:
	case ERROR_CANCELLED:
	case ERROR_INTERRUPTED:
	case ERROR_DOWNSTREAM_CLOSED:
	case ERROR_UPSTREAM_INCOMPLETE:
		return true;
	default:
		return code >= ERROR_RATE_LIMIT && code < ERROR_CODES;
	}
}

struct recalled_event *
recalled_answer(const struct recalled *r, int64_t turn)
{
	long long number;

	for (size_t i = r->event_count; i-- > 0;) {
		struct span payload = r->events[i].view.payload;

		if (r->events[i].view.type == EVENT_MESSAGE_ASSISTANT &&
		    !span_true(span_member(payload, "partial")) &&
		    span_integer(span_member(payload, "turn"), &number) && number == turn)
			return &r->events[i];
	}
	return NULL;
}

struct recalled_event *
recalled_tool_result(const struct recalled *r, const char *called)
{
	for (size_t i = 0; i < r->event_count; i++)
		if (r->events[i].view.type == EVENT_TOOL_RESULT &&
		    span_is(r->events[i].view.parent_event_id, called))
			return &r->events[i];
	return NULL;
}

struct recalled_event *
recalled_tool_call(const struct recalled *r, const char *cause, const char *call_id)
{
	struct recalled_event *found = NULL;

	for (size_t i = 0; i < r->event_count; i++) {
		struct recalled_event *e = &r->events[i];

		if (e->view.type != EVENT_TOOL_CALL || e->used ||
		    (cause != NULL && !span_is(e->view.parent_event_id, cause)) ||
		    !span_is(span_member(e->view.payload, "fidelity"), "router") ||
		    !span_is(span_member(e->view.payload, "call_id"), call_id))
			continue;
		found = e;
		if (recalled_tool_result(r, e->id) != NULL)
			break;
	}
	return found;
}

static void
event_free(struct recalled_event *e)
{
	buffer_free(&e->line);
	buffer_free(&e->refs);
}

void
recalled_free(struct recalled *r)
{
	event_free(&r->started);
	event_free(&r->completed);
	event_free(&r->original);
	for (size_t i = 0; i < r->event_count; i++)
		event_free(&r->events[i]);
	free(r->events);
	memset(r, 0, sizeof *r);
}
