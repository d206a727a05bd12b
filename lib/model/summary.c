/*
 * Reads the last lines, and more of them as long as they are only decisions, which may follow the
 * end of an attempt. A run is read whole, through its model, only if its end does not contain
 * everything.
 */
#include "model/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/follow.h"
#include "model/model.h"
#include "model/told_state.h"
#include "model/waiting.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

/* How many of the last lines are searched for the end of a run; each further search reads this many
 * times more. */
#define LAST_LINES 4
#define ERROR_MOST 4096

static void
get_integer(struct span object, const char *key, int64_t *out)
{
	long long value;

	if (span_integer(span_member(object, key), &value))
		*out = value;
}

static int
read_first(struct summary *s, struct reader *r, struct error *err)
{
	struct event_view event;
	const char *line;
	size_t len;
	int got = reader_next(r, &line, &len, err);

	if (got < 0)
		return -1;
	if (got == 0 || event_view(line, len, &event) != 0 ||
	    !event_copy_id(event.run_id, s->run_id))
		return error_set(err, ERROR_INVALID_INPUT, r->path, "does not begin with an event");
	s->name = span_text(span_member(event.payload, KEY_NAME));
	if (!s->name)
		s->name = memory_text("");
	s->child = event.parent_run_id.at != NULL;
	s->step = span_is(span_member(event.payload, KEY_KIND), "step");
	event_copy_id(event.parent_run_id, s->parent);
	event_copy_id(span_member(event.payload, KEY_FORKED_FROM), s->forked_from);
	s->started = s->ended = event_wall(&event);
	return 0;
}

char *
summary_error(struct span payload)
{
	struct span error = span_member(payload, KEY_ERROR);

	return span_type(error) == 'o' && error.len <= ERROR_MOST ?
	    memory_copy(error.at, error.len) : NULL;
}

/* Reads the figures in run.completed; false if the calls or tokens are missing there. */
static bool
summary_read_run_end(struct summary *s, const struct event_view *event)
{
	struct span usage = span_member(event->payload, KEY_USAGE);
	long long calls;

	if (!span_copy(span_member(event->payload, KEY_STATUS), s->status, sizeof s->status) ||
	    !name_valid(s->status))
		memcpy(s->status, "failed", sizeof "failed");
	free(s->error);
	s->error = summary_error(event->payload);
	get_integer(event->payload, KEY_EXIT_CODE, &s->exit_code);
	get_integer(event->payload, KEY_DURATION_MS, &s->duration_ms);
	get_integer(usage, model_usage_keys[MODEL_INPUT_TOKENS], &s->input_tokens);
	get_integer(usage, model_usage_keys[MODEL_OUTPUT_TOKENS], &s->output_tokens);
	if (!span_integer(span_member(usage, KEY_CALLS), &calls))
		return false;
	s->calls = calls;
	return true;
}

/* Searches for the end of the run. 1: the run has ended, and everything is known; 0: the transcript
 * must be read. Decisions about a waiting call may follow the end of its attempt: while only
 * decisions were found, and there are more lines, more are searched. */
static int
read_last(struct summary *s, struct reader *r, struct error *err)
{
	bool known = false, found = false;
	struct event_view event;
	const char *line;
	size_t len;
	int got;

	for (int64_t count = LAST_LINES; !known && !found; count *= LAST_LINES) {
		int64_t seen = 0;

		if (reader_seek_last(r, count, err) != 0)
			return -1;
		while ((got = reader_next(r, &line, &len, err)) == 1) {
			seen++;
			if (event_view(line, len, &event) != 0)
				continue;
			s->ended = event_wall(&event);
			found |= !event_decides(&event);
			if (event.type == EVENT_RUN_COMPLETED) {
				known = summary_read_run_end(s, &event);
			} else if (event.type == EVENT_RUN_STARTED) {
				s->status[0] = '\0';
				s->exit_code = -1;
				free(s->error);
				s->error = NULL;
				known = false;
			}
		}
		if (got < 0)
			return -1;
		found |= seen < count;
	}
	return known;
}

/* Sets the status of a run without an end, by whether it is alive, and what its calls did. Returns
 * whether it is alive. */
static bool
find_out_status(struct summary *s, const struct reader *r, const struct model *m)
{
	bool alive = transcript_alive(r->path, s->run_id);

	snprintf(s->status, sizeof s->status, "%s", !alive && told_state_only_waited(m) ?
	    view_words[VIEW_WAITING].text : told_state_status("", alive));
	return alive;
}

static int
read_summary(struct summary *s, const char *path, bool figures, struct error *err)
{
	struct reader r;
	struct model m;
	int known = -1;

	memset(s, 0, sizeof *s);
	s->exit_code = -1;
	if (reader_open(&r, path, err) != 0)
		return -1;
	if (read_first(s, &r, err) == 0)
		known = read_last(s, &r, err);
	if (known == 0 && (figures || s->status[0] == '\0')) {
		/* Only the last attempt is counted; the duration is the difference of its times. */
		model_begin(&m, MODEL_OPEN);
		reader_seek(&r, 0);
		known = model_read(&m, &r, err);
		s->calls = m.begun;
		s->input_tokens = m.usage[MODEL_INPUT_TOKENS];
		s->output_tokens = m.usage[MODEL_OUTPUT_TOKENS];
		if (known == 0 && s->status[0] == '\0') {
			int64_t last = find_out_status(s, &r, &m) ? clock_wall() : m.last;

			s->duration_ms = (last - (m.attempt > 0 ? m.started : s->started)) / 1000;
		}
		model_free(&m);
	}
	reader_close(&r);
	if (known < 0)
		summary_free(s);
	return known < 0 ? -1 : 0;
}

int
summary_read(struct summary *s, const char *path, struct error *err)
{
	return read_summary(s, path, true, err);
}

int
summary_read_ends(struct summary *s, const char *path, struct error *err)
{
	return read_summary(s, path, false, err);
}

bool
summary_asks(const struct summary *s)
{
	return told_state_asks(told_state_of_run(s->status));
}

void
summary_free(struct summary *s)
{
	free(s->name);
	free(s->origin);
	free(s->waits);
	free(s->error);
	s->name = s->origin = s->waits = s->error = NULL;
}
