/*
 * The calls that wait are those of the model (model/waiting.h). A decision is used when a further
 * attempt claims the call, or the call's own process ends it.
 */
#include "decide/due.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "model/model.h"
#include "model/summary.h"
#include "model/told_state.h"
#include "storage/resumes.h"
#include "transcript/event_keys.h"

#define INSIDE_MOST 64 /* runs inside of each other */

struct reading {
	struct due *due;
	bool waiting;        /* the last attempt has ended as waiting */
	int64_t began;       /* the last attempt */
	int64_t since;       /* when the last one began that has ended, and was not killed */
};

static int
due_read_event(void *context, const struct placed *placed, struct error *err)
{
	struct reading *r = context;
	const struct event_view *event = placed->event;

	(void)err;
	if (event->type == EVENT_RUN_STARTED) {
		r->waiting = false;
		r->began = event_wall(event);
		r->due->by_itself |= span_is(span_member(event->payload, KEY_RESUME), RESUME_AUTO);
	} else if (event->type == EVENT_RUN_COMPLETED) {
		r->waiting = span_is(span_member(event->payload, KEY_STATUS), view_words[VIEW_WAITING].text);
		r->since = r->began;
	}
	return 0;
}

static void
due_note_time(struct due *d, int64_t time)
{
	if (time != 0 && (d->next == 0 || time < d->next))
		d->next = time;
}

/* Nothing waits in a run without a record: it keeps none, or was removed. */
static bool
is_recorded(const struct storage *s, const char *run_id)
{
	char *path = storage_transcript(s, run_id);
	const bool is = access(path, F_OK) == 0 || errno != ENOENT;

	free(path);
	return is;
}

/* When a decision came; 0: that cannot be read. */
static int64_t
time_of_decision(const char *path, struct event_place place)
{
	struct buffer line = BUFFER_INIT;
	struct error ignored;
	struct event_view event;
	int64_t time = 0;

	if (event_load(path, place, &line, &ignored) == 0 && event_view(line.data, line.len, &event) == 0)
		time = event_wall(&event);
	buffer_free(&line);
	return time;
}

/* Something has come at this time. */
static void
due_note(struct due *d, int64_t time, int64_t since)
{
	d->came = true;
	d->ready |= time >= since;
}

/* since: what came before has not helped an attempt of a run around that began since. */
static int
due_read_nested(struct due *d, const struct storage *s, const char *run_id, bool own, int depth, int64_t since,
    struct error *err)
{
	char *path = storage_transcript(s, run_id);
	struct reading r = { .due = d };
	const int64_t now = clock_wall();
	struct model m;
	int failed;

	INVARIANT(depth <= INSIDE_MOST);
	*d = (struct due){ .waits = false };
	model_begin(&m, MODEL_OPEN);
	m.watch = due_read_event;
	m.context = &r;
	failed = model_read_file(&m, path, err);
	since = r.since > since ? r.since : since;
	d->attempt = m.attempt;
	d->ended = m.ended;
	d->waits = failed == 0 && (m.ended ? r.waiting : told_state_only_waited(&m)) &&
	    (own || !storage_run_alive(s, run_id));
	for (size_t i = 0; d->waits && i < m.waits.count; i++) {
		const struct waiting *at = &m.waits.list[i];

		if (at->over) {
			if (at->decision.length > 0 && !at->used)
				due_note(d, time_of_decision(path, at->decision), since);
		} else if (at->deadline != 0 && at->deadline <= now) {
			due_note(d, at->deadline, since);
		} else {
			due_note_time(d, at->deadline);
		}
	}
	for (const struct model_call *c = m.first_of_attempt; d->waits && failed == 0 && c != NULL; c = c->next) {
		struct due inside;

		if (c->rare->child_run_id[0] == '\0' || c->state == CALL_SUCCEEDED || depth == INSIDE_MOST ||
		    !is_recorded(s, c->rare->child_run_id))
			continue;
		failed = due_read_nested(&inside, s, c->rare->child_run_id, false, depth + 1, since, err);
		d->came |= inside.came;
		d->ready |= inside.ready;
		due_note_time(d, inside.next);
	}
	INVARIANT(d->waits || (!d->ready && d->next == 0));
	model_free(&m);
	free(path);
	return failed;
}

int
due_read(struct due *d, const struct storage *s, const char *run_id, bool own, struct error *err)
{
	return due_read_nested(d, s, run_id, own, 0, 0, err);
}

void
due_tell(const struct storage *s, const char *run_id)
{
	char id[ID_SIZE];

	memcpy(id, run_id, sizeof id);
	for (int depth = 0; depth < INSIDE_MOST && id[0] != '\0'; depth++) {
		char *path = storage_transcript(s, id);
		struct summary summary;
		struct error ignored;

		resumes_tell(s, id);
		id[0] = '\0';
		if (summary_read_ends(&summary, path, &ignored) == 0) {
			memcpy(id, summary.parent, sizeof id);
			summary_free(&summary);
		}
		free(path);
	}
}
