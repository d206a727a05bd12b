/* What a call asks about stands in the line of its start, which is read when it is told. */
#include "serve_runs/asked.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "model/waiting.h"
#include "transcript/event_keys.h"

#define INPUT_SHOWN ((size_t)64 << 10)

static void
asked_add(struct asked **list, size_t *count, struct asked a)
{
	*list = memory_array(*list, *count + 1, sizeof **list);
	(*list)[(*count)++] = a;
}

size_t
asked_list(const struct overview *o, bool alive, struct asked **list)
{
	const struct waitings *waits = &o->model.waits;
	size_t count = 0;

	*list = NULL;
	for (size_t i = 0; i < waits->count; i++) {
		const struct waiting *at = &waits->list[i];
		struct asked a = { .wait = at };

		if (at->over || at->what == WAITING_NOTHING)
			continue;
		a.call = model_find(&o->model, at->call, strlen(at->call));
		if (a.call != NULL && (strcmp(a.call->step->kind, "question") == 0 || a.call->state == CALL_OPEN))
			a.since = a.call->started;
		else if (a.call != NULL && a.call->number < o->room)
			a.since = o->calls[a.call->number].ended;
		asked_add(list, &count, a);
	}
	/* If a question is not answered in time, its call ends as waiting. */
	for (const struct model_call *c = alive ? o->model.first_of_attempt : NULL; c != NULL; c = c->next)
		if (c->state == CALL_OPEN && strcmp(c->step->kind, "question") == 0)
			asked_add(list, &count, (struct asked){ .call = c, .since = c->started });
	return count;
}

bool
asked_person(const struct asked *a)
{
	return a->wait == NULL || a->wait->what != WAITING_TIME;
}

/* Writes what a waiting call asks: its input, as text or JSON, and its question, if it has one. */
static void
asked_write_data(const struct overview *o, struct event_place begin, struct writer *w)
{
	struct buffer line = BUFFER_INIT, text = BUFFER_INIT;
	struct event_view event;
	struct span input, question;
	struct error err;

	if (begin.length == 0 || event_load(o->path, begin, &line, &err) != 0 ||
	    event_view(line.data, line.len, &event) != 0) {
		buffer_free(&line);
		return;
	}
	input = span_member(event.payload, KEY_INPUT);
	writer_member_object(w, "input");
	if (input.len > INPUT_SHOWN) {
		writer_member_integer(w, "bytes", (int64_t)input.len);
	} else if (span_type(input) == 's') {
		span_decode(input, &text);
		writer_key(w, "text");
		writer_bytes(w, buffer_string(&text), text.len);
	} else if (span_type(input) != '0' && input.at != NULL) {
		writer_member_span(w, "json", input);
	}
	writer_object_end(w);
	question = span_member(event.payload, KEY_QUESTION);
	if (question.at != NULL)
		writer_member_span(w, "question", question);
	buffer_free(&text);
	buffer_free(&line);
}

void
asked_write(const struct overview *o, const struct asked *a, bool alive, struct writer *w)
{
	const struct waiting *wait = a->wait;
	char text[CLOCK_TEXT_SIZE];

	writer_member_string(w, "call", wait != NULL ? wait->call : a->call->id);
	writer_member_string(w, "path", wait != NULL ? wait->path : a->call->step->path);
	writer_member_integer(w, "iteration", wait != NULL ? wait->iteration : a->call->iteration);
	writer_member_string(w, "for", waiting_word(wait != NULL ? wait->what : WAITING_COMPLETION));
	if (a->since != 0)
		writer_member_string(w, "since", clock_text(a->since, text));
	if (wait != NULL && wait->deadline != 0)
		writer_member_string(w, "deadline", clock_text(wait->deadline, text));
	if (wait != NULL && wait->attended && alive)
		writer_member_bool(w, "attended", true);
	if (wait != NULL && wait->form[0] != '\0')
		writer_member_string(w, "form", wait->form);
	asked_write_data(o, wait != NULL ? wait->begin : a->call->begin, w);
}
