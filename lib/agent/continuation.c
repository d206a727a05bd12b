#include "agent/continuation.h"

#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "agent/toolrun.h"
#include "base/map.h"
#include "base/memory.h"
#include "run/state.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/reader.h"

struct conversation {
	char *session, *provider;
	struct buffer messages;  /* inside of a JSON array */
	struct buffer results;   /* blocks of tools, which go before the next message */
	bool lacks;              /* the bytes of an attachment */
};

/* The calls of one path, found again by any of their events. */
struct search {
	const char *path;
	struct conversation *list;
	size_t count;
	struct map events;          /* event id → its call, in list */
	size_t latest;
	char completed[ID_SIZE];    /* "": none yet */
};

#define NO_CALL ((size_t)-1)

static size_t
call_of(const struct search *s, struct span event_id)
{
	char id[ID_SIZE];
	const size_t *call = event_copy_id(event_id, id) ? map_get(&s->events, id, strlen(id)) : NULL;

	return call == NULL ? NO_CALL : *call;
}

/* A call, or another attempt at one. */
static size_t
begin_call(struct search *s, const struct event_view *e)
{
	size_t call = call_of(s, span_member(e->payload, "claims"));

	if (call != NO_CALL)
		return call;
	s->list = memory_array(s->list, s->count + 1, sizeof *s->list);
	s->list[s->count] = (struct conversation){
		.provider = span_text(span_member(e->payload, "provider")) };
	return s->count++;
}

static void
add_message(struct conversation *c, const char *role, const struct buffer *blocks)
{
	if (blocks->len == 0)
		return;
	buffer_format(&c->messages, "%s{\"role\":\"%s\",\"blocks\":[", c->messages.len > 0 ? "," : "",
	    role);
	buffer_append(&c->messages, blocks->data, blocks->len);
	buffer_text(&c->messages, "]}");
}

static void
add_results(struct conversation *c)
{
	add_message(c, "user", &c->results);
	buffer_clear(&c->results);
}

/* As it was sent: what AWF says, without that it did. */
static void
write_asked(struct writer *w, struct span block)
{
	struct span_walk walk;
	struct span key, value;

	writer_object(w);
	span_walk_begin(&walk, block);
	while (span_walk_next(&walk, &key, &value))
		if (!span_is(key, "fidelity"))
			writer_raw_member(w, key, value);
	writer_object_end(w);
}

static void
take_message(struct conversation *c, const struct event_view *e)
{
	bool answer = e->type == EVENT_MESSAGE_ASSISTANT;
	struct buffer blocks = BUFFER_INIT;
	struct span_walk walk;
	struct span key, block;
	struct writer w;

	writer_begin(&w, &blocks);
	span_walk_begin(&walk, span_member(e->payload, "blocks"));
	while (span_walk_next(&walk, &key, &block)) {
		(answer ? loop_write_original : write_asked)(&w, block);
		c->lacks = c->lacks || span_type(span_member(block, "data")) == '0';
	}
	add_results(c);
	add_message(c, answer ? "assistant" : "user", &blocks);
	buffer_free(&blocks);
}

/* A call that was made again asks anew. What else is recorded of its first turn, such as a
 * change of it, has no blocks. */
static void
take_prompt(struct conversation *c, const struct event_view *e)
{
	bool says = span_element(span_member(e->payload, "blocks"), 0).at != NULL;
	long long turn;

	if (says && span_integer(span_member(e->payload, "turn"), &turn) && turn == 0) {
		buffer_clear(&c->messages);
		buffer_clear(&c->results);
		c->lacks = false;
	}
	take_message(c, e);
}

/* Of one that was cut off, and asked for again, no model knows. */
static void
take_answer(struct conversation *c, const struct event_view *e)
{
	char *session;

	if (span_true(span_member(e->payload, "partial")))
		return;
	session = span_text(span_member(e->payload, "session_id"));
	if (session != NULL) {
		free(c->session);
		c->session = session;
	}
	take_message(c, e);
}

static void
add_result(struct conversation *c, const struct event_view *e)
{
	struct span output = span_member(e->payload, "output");
	struct error why = ERROR_INIT;
	struct buffer errors = BUFFER_INIT;
	struct writer w;

	span_decode(span_member(e->payload, "stderr"), &errors);
	buffer_text(&c->results, c->results.len > 0 ? "," : "");
	writer_begin(&w, &c->results);
	writer_object(&w);
	writer_member_string(&w, "type", "tool_result");
	writer_member_span(&w, "tool_id", span_member(e->payload, "call_id"));
	if (state_error(span_member(e->payload, "error"), &why))
		tool_write_failure(&w, &why, output, &errors);
	else
		writer_member_span(&w, "tool_content", output);
	writer_object_end(&w);
	buffer_free(&errors);
}

/* What AWF ran; what the model's side ran is in its answer. */
static void
take_result(struct conversation *c, const struct event_view *e)
{
	if (span_is(span_member(e->payload, "fidelity"), "router"))
		add_result(c, e);
}

static const struct {
	enum event_type type;
	void (*take)(struct conversation *c, const struct event_view *e);
} parts[] = {
	{ EVENT_MESSAGE_USER, take_prompt },
	{ EVENT_MESSAGE_ASSISTANT, take_answer },
	{ EVENT_TOOL_RESULT, take_result }
};

/* One that took its result over names the event that has it. */
static void
take_end(struct search *s, const struct event_view *e, size_t call)
{
	struct span reused = span_member(e->payload, "reused_from");
	struct span id = span_type(reused) == 's' ? reused : e->event_id;
	char type = span_type(span_member(e->payload, "error"));

	if (type == 'o' || span_type(span_member(e->payload, "skipped")) == 's')
		return;
	s->latest = span_type(reused) == 's' ? call_of(s, reused) : call;
	event_copy_id(id, s->completed);
}

static void
take_event(struct search *s, const struct event_view *e)
{
	size_t call = e->type == EVENT_STEP_STARTED ? begin_call(s, e) :
	    call_of(s, e->parent_event_id);
	char id[ID_SIZE];

	if (call != NO_CALL && event_copy_id(e->event_id, id))
		map_put(&s->events, id, strlen(id), call);
	for (size_t i = 0; i < sizeof parts / sizeof parts[0] && call < s->count; i++)
		if (parts[i].type == e->type)
			parts[i].take(&s->list[call], e);
	if (e->type == EVENT_STEP_COMPLETED)
		take_end(s, e, call);
}

/* Takes a line of the path, its blobs put back. */
static int
take_line(struct search *s, const char *blobs, const char *line, size_t len,
    struct error *err)
{
	struct buffer whole = BUFFER_INIT;
	struct event_view e;
	int result = 0;

	if (event_view(line, len, &e) != 0 || !span_is(e.path, s->path))
		return 0;
	if (e.refs.at != NULL) {
		result = blob_inline(blobs, line, len, &whole, err);
		if (result == 0)
			result = event_view(whole.data, whole.len, &e);
	}
	if (result == 0)
		take_event(s, &e);
	buffer_free(&whole);
	return result;
}

static int
search_lines(struct search *s, const char *blobs, struct reader *reader, struct error *err)
{
	const char *line;
	size_t len;
	int more;

	while ((more = reader_next(reader, &line, &len, err)) == 1)
		if (take_line(s, blobs, line, len, err) == -1)
			return -1;
	return more;
}

static void
search_free(struct search *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].session);
		free(s->list[i].provider);
		buffer_free(&s->list[i].messages);
		buffer_free(&s->list[i].results);
	}
	free(s->list);
	map_free(&s->events);
}

static void
take_found(struct continuation *c, struct search *s)
{
	struct conversation *found;

	memcpy(c->completed, s->completed, ID_SIZE);
	if (s->latest == NO_CALL)
		return;
	found = &s->list[s->latest];
	add_results(found);
	c->session = found->session;
	c->provider = found->provider;
	c->messages = found->messages;
	c->lacks = found->lacks;
	*found = (struct conversation){ .results = found->results };
}

int
continuation_find(struct continuation *c, const struct transcript *transcript,
    const char *path, struct error *err)
{
	struct search s = { .path = path, .latest = NO_CALL };
	struct reader reader;
	int result;

	*c = (struct continuation){ .session = NULL };
	if (reader_open(&reader, transcript->path, err) == -1)
		return -1;
	result = search_lines(&s, transcript->blobs, &reader, err);
	reader_close(&reader);
	if (result == 0 && s.completed[0] == '\0')
		result = error_set(err, ERROR_INVALID_INPUT, NULL,
		    "continue_from: no call of '%s' has completed in this run", path);
	if (result == 0)
		take_found(c, &s);
	search_free(&s);
	return result;
}

void
continuation_free(struct continuation *c)
{
	free(c->session);
	free(c->provider);
	buffer_free(&c->messages);
	*c = (struct continuation){ .session = NULL };
}
