/*
 * While a history is read, a decision takes the place of the end that waited, which is kept
 * for a replay. While the attempt runs, the transcript is read on from where the index was
 * made, for a decision about one call.
 */
#include <string.h>

#include "run/history_reading.h"
#include "run/waiting.h"
#include "transcript/event.h"
#include "transcript/reader.h"

bool
recording_take_wait(struct recorded_call *c, const struct reading *at)
{
	if (at->members[APPROVAL].at == NULL || waiting_of(&at->view) == WAITING_NOTHING)
		return false;
	c->state = RECALL_WAITING;
	c->cut = NULL;
	return true;
}

static void
take_end(struct recorded_call *c, const struct reading *at)
{
	if (c->own_end.len == 0)
		c->own_end = c->end;
	c->end = at->place;
	if (recording_take_wait(c, at))
		return;
	c->state = at->members[FAILURE].at != NULL ? RECALL_FAILED : RECALL_SUCCEEDED;
	c->decided = true;
}

/* Those that have taken the call over, and not ended, go on with this end too. */
bool
recording_take_decision(struct recording *rec, const struct reading *at)
{
	size_t index;

	if (at->members[APPROVAL].at == NULL || !event_decides(&at->view))
		return false;
	index = reading_find(rec, at->view.parent_event_id);
	if (index == NO_CALL || rec->calls[index].state != RECALL_WAITING)
		return true;
	take_end(&rec->calls[index], at);
	map_put(&rec->by_event, at->id, ID_SIZE - 1, index);
	while ((index = rec->calls[index].claimed_by) != NO_CALL)
		if (rec->calls[index].state == RECALL_WAITING && rec->calls[index].own_end.len == 0)
			recording_inherit(rec, &rec->calls[index]);
	return true;
}

/* It does nothing of its own before its end, so if it does not get there, it waits, or is
 * decided, as before. A replay has one attempt alone. */
void
recording_inherit(struct recording *rec, struct recorded_call *c)
{
	const struct recorded_call *earlier;

	if (c->claims == NO_CALL || rec->spec->mode == RECALL_REPLAY)
		return;
	earlier = &rec->calls[c->claims];
	if ((earlier->state != RECALL_WAITING && !earlier->decided) ||
	    !recorded_call_went_on(c, earlier))
		return;
	c->state = earlier->state;
	c->end = earlier->end;
	c->decided = earlier->decided;
	c->result_from = earlier->result_from;
}

/* ---- while the attempt runs ---- */

static int
take_line(struct history *h, struct recalled *r, const struct reader *reader, size_t len,
    struct error *err)
{
	const struct place place = { reader->line_start, (uint32_t)len,
		h->records[r->record].completed.source };
	bool failed;

	recalled_event_free(&r->completed);
	if (history_line(h, &place, &r->completed, err) != 0)
		return -1;
	if (waiting_of(&r->completed.view) != WAITING_NOTHING)
		return 0;
	failed = span_type(span_member(r->completed.view.payload, "error")) == 'o';
	r->end = failed ? RECALL_FAILED : RECALL_SUCCEEDED;
	return 1;
}

static int
look_on(struct history *h, struct recalled *r, struct reader *reader, struct error *err)
{
	struct event_view event;
	const char *line;
	size_t len;
	int got = 0, decided = 0;

	while (decided == 0 && (got = reader_next(reader, &line, &len, err)) == 1)
		if (event_view(line, len, &event) == 0 && event_decides(&event) &&
		    span_is(event.parent_event_id, r->completed.id))
			decided = take_line(h, r, reader, len, err);
	return decided != 0 ? decided : got;
}

int
history_decided_since(void *history, struct recalled *r, struct error *err)
{
	struct history *h = history;
	const struct index_source *source = &h->sources[h->records[r->record].completed.source];
	struct reader reader;
	int decided;

	if (reader_open(&reader, h->text + source->path, err) != 0)
		return -1;
	reader_seek(&reader, source->size);
	decided = look_on(h, r, &reader, err);
	reader_close(&reader);
	return decided;
}
