#include "agent/continuation.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "record/event.h"
#include "record/reader.h"

struct conversation {
	char *session, *provider;
};

/* The calls of one path, found again by any of their events. */
struct search {
	const char *path;
	struct conversation *list;
	size_t count;
	struct map events;          /* event id → its call, in list */
	const struct conversation *found;
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
	s->list[s->count] = (struct conversation){ NULL,
		span_text(span_member(e->payload, "provider")) };
	return s->count++;
}

static void
take_answer(struct search *s, const struct event_view *e, size_t call)
{
	char *session = span_text(span_member(e->payload, "session_id"));

	if (session == NULL || call >= s->count) {
		free(session);
		return;
	}
	free(s->list[call].session);
	s->list[call].session = session;
}

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
	if (e->type == EVENT_MESSAGE_ASSISTANT)
		take_answer(s, e, call);
	if (e->type == EVENT_STEP_COMPLETED)
		take_end(s, e, call);
}

static int
search_lines(struct search *s, struct reader *reader, struct error *err)
{
	struct event_view e;
	const char *line;
	size_t len;
	int more;

	while ((more = reader_next(reader, &line, &len, err)) == 1)
		if (event_view(line, len, &e) == 0 && span_is(e.path, s->path))
			take_event(s, &e);
	return more;
}

static void
search_free(struct search *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].session);
		free(s->list[i].provider);
	}
	free(s->list);
	map_free(&s->events);
}

static void
take_found(struct continuation *c, const struct search *s)
{
	memcpy(c->completed, s->completed, ID_SIZE);
	if (s->latest == NO_CALL)
		return;
	if (s->list[s->latest].session != NULL)
		c->session = memory_text(s->list[s->latest].session);
	if (s->list[s->latest].provider != NULL)
		c->provider = memory_text(s->list[s->latest].provider);
}

int
continuation_find(struct continuation *c, const char *transcript, const char *path,
    struct error *err)
{
	struct search s = { .path = path, .latest = NO_CALL };
	struct reader reader;
	int result;

	*c = (struct continuation){ NULL, NULL, "" };
	if (reader_open(&reader, transcript, err) == -1)
		return -1;
	result = search_lines(&s, &reader, err);
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
	*c = (struct continuation){ NULL, NULL, "" };
}
