/*
 * The outline of a run: a few words about each event, and what is known of its call, so that a page
 * can show a run of a hundred thousand events without their bytes. The overview says to which call
 * each event belongs; for the rest, the lines of the requested part are read, in pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "model/event_index.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve_runs/feed.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define LIMIT_DEFAULT 2000
#define LIMIT_MOST 20000
#define LABEL 80             /* most characters of a label */
#define PIECE_MS 4

/* ---- one event ---- */

/* The number of bytes in the first `characters` characters of a text. */
static size_t
bytes_of(const char *text, size_t len, size_t characters)
{
	size_t at = 0;

	for (; at < len; at++)
		if (((unsigned char)text[at] & 0xc0) != 0x80 && characters-- == 0)
			break;
	return at;
}

/* Appends the first line of a text that is not empty, cut to the length of a label. The page does
 * the same for new events (share/www/record.js). */
static void
append_label(struct buffer *out, struct span text)
{
	struct buffer plain = BUFFER_INIT;
	size_t from = 0, to, room = LABEL, len;

	for (size_t i = 0; i < out->len && room > 0; i++)
		room -= ((unsigned char)out->data[i] & 0xc0) != 0x80;

	span_plain(text, &plain);
	while (from < plain.len && (plain.data[from] == '\n' || plain.data[from] == '\r'))
		from++;
	for (to = from; to < plain.len && plain.data[to] != '\n' && plain.data[to] != '\r';)
		to++;
	len = bytes_of(buffer_string(&plain) + from, to - from, room);
	if (len < to - from && room > 0)
		len = bytes_of(plain.data + from, len, room - 1);
	buffer_append(out, buffer_string(&plain) + from, len);
	if (from + len < to && room > 0)
		buffer_text(out, "…");
	buffer_free(&plain);
}

/* Appends the beginning of a message: of its text, else of its thinking, else the tools that it
 * calls. */
static void
append_message(struct buffer *out, struct span payload)
{
	static const char *const keys[] = { KEY_TEXT, KEY_THINKING };
	struct span blocks = span_member(payload, KEY_BLOCKS);

	for (size_t i = 0; i < 2; i++)
		for (struct span_walk block = span_walk(blocks);
		    span_type(blocks) == 'a' && span_next(&block);) {
			struct span text = span_member(block.value, keys[i]);

			if (span_type(text) == 's' && text.len > 2) {
				append_label(out, text);
				return;
			}
		}
	for (struct span_walk block = span_walk(blocks); span_type(blocks) == 'a' && span_next(&block);)
		if (span_member(block.value, KEY_TOOL_NAME).at != NULL) {
			append_label(out, span_member(block.value, KEY_TOOL_NAME));
			return;
		}
}

static void
append_event_label(struct buffer *out, const struct event_view *event)
{
	struct span error = span_member(event->payload, KEY_ERROR);

	if (span_type(error) == 'o') {
		append_label(out, span_member(error, KEY_MESSAGE));
		return;
	}
	switch (event->told) {
	case EVENT_MESSAGE_USER:
	case EVENT_MESSAGE_ASSISTANT:
		append_message(out, event->payload);
		break;
	case EVENT_RUN_COMPLETED:
		append_label(out, span_member(event->payload, KEY_STATUS));
		break;
	case EVENT_TOOL_CALL:
		append_label(out, span_member(event->payload, KEY_NAME));
		buffer_byte(out, ' ');
		append_label(out, span_member(event->payload, KEY_INPUT));
		break;
	default:
		append_label(out, span_member(event->payload, KEY_NAME));
		break;
	}
}

/* The time at which the call, tool call, model request or attempt began that this event ends, in µs
 * since 1970; 0 if the event ends none. */
static int64_t
outline_event_start(const struct overview *o, const struct event_view *event,
    const struct model_call *call, int64_t wall)
{
	const struct indexed_event *cause;
	long long duration;

	if (event_type_ends_call(event->type))
		return call != NULL && !event_decides(event) ? call->started : 0;
	if (event->type == EVENT_TOOL_RESULT) {
		cause = event_index_find(&o->model.index.events, event_key(event->parent_event_id));
		return cause != NULL ? cause->wall : 0;
	}
	if ((event->type == EVENT_MESSAGE_ASSISTANT || event->type == EVENT_RUN_COMPLETED) &&
	    span_integer(span_member(event->payload, KEY_DURATION_MS), &duration) && duration >= 0)
		return wall - duration * 1000;
	return 0;
}

/* Writes [seq, type, call, µs since the run began, duration in µs, bytes, label, error code, event
 * id]. The id is written only while the event's call is open, because later events may name it as
 * their cause. */
static void
write_event(const struct overview *o, const char *line, size_t len, struct writer *w,
    struct model_call **call)
{
	struct buffer label = BUFFER_INIT;
	struct event_view event;
	struct span code;
	int64_t wall, since;

	*call = NULL;
	if (event_view(line, len, &event) != 0)
		return;
	*call = model_call_of(&o->model, event.event_id);
	wall = event_wall(&event);
	since = outline_event_start(o, &event, *call, wall);
	append_event_label(&label, &event);
	writer_array(w);
	writer_integer(w, event.seq);
	writer_span(w, event.type_name);
	writer_integer(w, *call != NULL ? (int64_t)(*call)->number : -1);
	writer_integer(w, wall > o->started ? wall - o->started : 0);
	writer_integer(w, since != 0 && since < wall ? wall - since : 0);
	writer_integer(w, (int64_t)len);
	writer_bytes(w, buffer_string(&label), label.len);
	code = span_member(span_member(event.payload, KEY_ERROR), KEY_CODE);
	if (span_type(code) == 's')
		writer_span(w, code);
	else
		writer_null(w);
	if (*call != NULL && (*call)->state == CALL_OPEN)
		writer_span(w, event.event_id);
	else
		writer_null(w);
	writer_array_end(w);
	buffer_free(&label);
}

/* ---- a part of the events ---- */

struct outline {
	struct loop_task task;
	struct request *request;
	const struct overview *overview;
	struct reader reader;
	bool open, done;
	int64_t after, left, next; /* next: the last event that was written; 0: none */
	struct buffer events;
	struct writer w;
	bool *told;              /* indexed by a call's number: whether it has an event in this
	                            part */
	size_t told_room;
	void *question;          /* the request's state before this one, which holds the reference
	                            to the overview */
	void (*free_question)(void *state);
};

static void
outline_free(void *state)
{
	struct outline *x = state;

	loop_leave(&x->request->server->loop, &x->task);
	if (x->open)
		reader_close(&x->reader);
	buffer_free(&x->events);
	free(x->told);
	x->free_question(x->question);
	free(x);
}

static void
outline_read_piece(struct loop_task *task)
{
	struct outline *x = (struct outline *)(void *)((char *)task - offsetof(struct outline, task));
	const struct overview *o = x->overview;
	int64_t until = clock_monotonic() + PIECE_MS;
	const char *line;
	struct error err;
	size_t len;

	while (clock_monotonic() < until) {
		struct model_call *call;

		/* Events that were added since the overview was read are left for the next
		 * request. */
		if (x->left == 0 || x->reader.position >= o->model.position ||
		    reader_next(&x->reader, &line, &len, &err) != 1) {
			x->done = true;
			loop_leave(&x->request->server->loop, task);
			request_wake(x->request);
			return;
		}
		if (!event_seq(line, len, &x->next))
			continue;
		write_event(o, line, len, &x->w, &call);
		if (call != NULL && call->number < x->told_room)
			x->told[call->number] = true;
		x->left--;
	}
}

/* Marks the calls that have an event in this part, and the calls around them. */
static void
write_calls(struct outline *x, struct writer *w)
{
	const struct overview *o = x->overview;

	for (const struct model_call *c = o->model.first; c != NULL; c = c->next) {
		const struct overview_call *more = c->number < o->room ? &o->calls[c->number] : NULL;

		/* Compare the range from its first to its last event: a call may have several ends,
		 * for example if a decision replaced one. */
		if (c->number >= x->told_room)
			break; /* the call began after this part was read */
		if (more != NULL && more->last_seq > x->after && more->first_seq <= x->next)
			x->told[c->number] = true;
		for (const struct model_call *a = x->told[c->number] ? c->around : NULL;
		    a != NULL && !x->told[a->number]; a = a->around)
			x->told[a->number] = true;
	}
	writer_member_array(w, "calls");
	for (const struct model_call *c = o->model.first; c != NULL; c = c->next)
		if (c->number < x->told_room && x->told[c->number])
			overview_write_call(o, c, w);
	writer_array_end(w);
}

static void
outline_answer_request(struct request *r, struct outline *x)
{
	struct buffer json = BUFFER_INIT;
	bool more = x->left == 0 && x->reader.position < x->overview->model.position;
	struct writer w;

	writer_begin(&w, &json);
	writer_object(&w);
	write_calls(x, &w);
	writer_key(&w, "events");
	buffer_byte(&json, '[');
	buffer_append(&json, buffer_string(&x->events), x->events.len);
	buffer_byte(&json, ']');
	w.comma = true;
	writer_key(&w, "next");
	if (more)
		writer_integer(&w, x->next);
	else
		writer_null(&w);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_json(r, 200, &json);
}

void
answer_outline(struct request *r)
{
	const struct overview *o;
	int64_t after = 0, limit = LIMIT_DEFAULT;
	struct buffer json = BUFFER_INIT;
	char run_id[ID_SIZE];
	struct outline *x;
	struct error err;
	bool queued;

	if (r->free_state == outline_free) {
		outline_answer_request(r, r->state);
		return;
	}
	if (!request_number(r, "after", INT64_MAX / 4, &after) ||
	    !request_number(r, "limit", LIMIT_MOST, &limit))
		return;
	if (r->state == NULL) {
		if (!request_run_or_queued(r, request_segment(r, 0), run_id, &queued))
			return;
		if (queued) {
			buffer_text(&json, "{\"calls\":[],\"events\":[],\"next\":null}\n");
			request_json(r, 200, &json);
			return;
		}
	}
	o = request_overview(r);
	if (o == NULL)
		return;
	x = memory_zero(1, sizeof *x);
	x->task.step = outline_read_piece;
	x->request = r;
	x->overview = o;
	x->after = x->next = after;
	x->left = limit;
	x->question = r->state;
	x->free_question = r->free_state;
	x->told_room = o->model.count;
	x->told = memory_zero(x->told_room + 1, sizeof *x->told);
	r->state = x;
	r->free_state = outline_free;
	writer_begin(&x->w, &x->events);
	if (reader_open(&x->reader, o->path, &err) != 0) {
		request_fail(r, &err);
		return;
	}
	x->open = true;
	if (after > 0 && reader_seek_after(&x->reader, after, &err) != 0) {
		request_fail(r, &err);
		return;
	}
	request_wait(r);
	loop_enter(&r->server->loop, &x->task);
}
