/*
 * What the stream says about runs is stored as it arrives, and handled later, in latest_round():
 * adding a run needs a request to the server, which cannot be made while the stream is being read.
 * If the stream says that a run that had ended is alive again, it is fetched further.
 */
#include "latest.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/patience.h"
#include "json/scan.h"
#include "storage/storage.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define LIST_MOST 1000 /* runs that may begin while the server cannot be reached */

/* Stores the object of a run; events about removed runs are ignored. */
static int
latest_append_event(void *context, const char *event, const char *data, size_t len)
{
	struct latest *l = context;

	if (*event == '\0') {
		buffer_append(&l->arrived, data, len);
		buffer_byte(&l->arrived, '\n');
	}
	return 0;
}

static int
latest_feed_stream(void *context, const char *bytes, size_t len)
{
	struct latest *l = context;

	l->begun = true;
	return sse_feed(&l->events, bytes, len);
}

/* A run in the list or the stream. */
struct told {
	char run_id[ID_SIZE], started[CLOCK_TEXT_SIZE];
	bool alive;
};

/* Returns false if the run can never be the latest. */
static bool
read_told(struct span object, struct told *t)
{
	t->alive = span_true(span_member(object, "alive"));
	return span_member(object, "origin").at == NULL && !span_true(span_member(object, "child")) &&
	    event_copy_id(span_member(object, KEY_RUN_ID), t->run_id) &&
	    span_copy(span_member(object, "started"), t->started, sizeof t->started);
}

/* Whether it began after all known ones. */
static bool
is_newer(const struct latest *l, const struct told *t)
{
	int order = strcmp(t->started, l->newest);

	return order > 0 || (order == 0 && strcmp(t->run_id, l->newest_id) != 0);
}

static void
note_newest(struct latest *l, const struct told *t)
{
	if (!is_newer(l, t))
		return;
	memcpy(l->newest, t->started, sizeof l->newest);
	memcpy(l->newest_id, t->run_id, sizeof l->newest_id);
}

static int
latest_update_run(struct latest *l, const struct told *t, struct error *err)
{
	struct fetched *run = fetch_find(l->fetch, t->run_id);
	const size_t *going = map_get(&l->going, t->run_id, strlen(t->run_id));
	bool newer = is_newer(l, t), resumed = t->alive && (going == NULL || *going == 0);

	map_put(&l->going, t->run_id, strlen(t->run_id), t->alive);
	note_newest(l, t);
	if (run == NULL) {
		if (!newer && !resumed)
			return 0;
		run = fetch_add(l->fetch, t->run_id, t->alive, NULL, err);
	} else {
		if (run->phase != FETCH_OVER || !resumed)
			return 0;
		if (fetch_again(run, err) != 0)
			return -1;
	}
	if (run == NULL)
		return -1;
	run->latest = true;
	return 0;
}

/* Requests a list of runs and calls `each` for them, the oldest first: 0; 1: not
 * available now; -1. */
static int
ask_list(struct latest *l, char *path,
    int (*each)(struct latest *l, const struct told *t, struct error *err), struct error *err)
{
	struct buffer text = BUFFER_INIT;
	struct told *list = NULL;
	size_t count = 0, bad;
	struct span runs;
	enum answered answered = server_ask_text(&l->fetch->server, path, &text, err);
	int failed = answered == ANSWERED ? 0 : answered == ANSWERED_LATER ? 1 : -1;

	if (failed == 0 && scan_within(buffer_string(&text), text.len, SCAN_LINE_DEPTH, &bad) != NULL)
		failed = error_set(err, ERROR_SYSTEM, l->fetch->server.base,
		    "does not answer as awf-serve does");
	runs = failed == 0 ? span_member(span_of(text.data, text.len), "runs") : SPAN_NONE;
	if (span_type(runs) == 'a')
		for (struct span_walk run = span_walk(runs); span_next(&run);) {
			list = memory_array(list, count + 1, sizeof *list);
			count += read_told(run.value, &list[count]);
		}
	while (failed == 0 && count > 0)
		failed = each(l, &list[--count], err);
	free(list);
	buffer_free(&text);
	return failed;
}

/* Notes a run that existed before. */
static int
latest_note_known_run(struct latest *l, const struct told *t, struct error *err)
{
	(void)err;
	map_put(&l->going, t->run_id, strlen(t->run_id), t->alive);
	note_newest(l, t);
	return 0;
}

int
latest_open(struct latest *l, struct fetch *f, struct error *err)
{
	char run_id[ID_SIZE];
	struct fetched *run;
	bool alive;
	enum answered answered;

	*l = (struct latest){ .fetch = f, .delay_ms = SERVER_RETRY_MS, .again_at = clock_monotonic() };
	l->get.request.take = latest_feed_stream;
	l->get.request.context = l;
	sse_begin(&l->events, latest_append_event, l);
	answered = fetch_ask(f, "@", run_id, &alive, NULL, err);
	if ((answered != ANSWERED && answered != ANSWERED_NONE) ||
	    ask_list(l, memory_text("/api/runs?limit=1"), latest_note_known_run, err) != 0 ||
	    ask_list(l, memory_format("/api/runs?status=running&limit=%d", LIST_MOST),
	    latest_note_known_run, err) != 0)
		return -1;
	if (answered == ANSWERED_NONE)
		return 0;
	run = fetch_add(f, run_id, alive, NULL, err);
	if (run != NULL)
		run->latest = true;
	return run != NULL ? 0 : -1;
}

/* ---- the stream ---- */

static void
put_off(struct latest *l, const struct error *why)
{
	http_stop(l->fetch->http, &l->get);
	l->get.ended = false;
	fetch_tell_lost(l->fetch, why);
	l->again_at = clock_monotonic() + l->delay_ms;
	l->delay_ms = 2 * l->delay_ms > SERVER_RETRY_MOST_MS ? SERVER_RETRY_MOST_MS : 2 * l->delay_ms;
}

static int
begin_stream(struct latest *l, struct error *err)
{
	l->again_at = 0;
	l->begun = l->listed = false;
	sse_free(&l->events);
	sse_begin(&l->events, latest_append_event, l);
	l->get.request.idle_timeout_ms = STREAM_SILENT_MS;
	return server_get(&l->fetch->server, l->fetch->http, &l->get, memory_text("/api/runs/stream"), err);
}

/* Requests the runs that began while there was no stream. */
static int
catch_up(struct latest *l, struct error *err)
{
	struct error why = ERROR_INIT;
	int got = ask_list(l, memory_format("/api/runs?limit=%d%s%s", LIST_MOST,
	    l->newest[0] != '\0' ? "&since=" : "", l->newest), latest_update_run, &why);

	if (got == 1)
		put_off(l, &why);
	else if (got == -1)
		*err = why;
	else
		l->listed = true;
	return got == -1 ? -1 : 0;
}

static int
latest_read_events(struct latest *l, struct error *err)
{
	const char *at = l->arrived.data, *end = at + l->arrived.len, *lf;
	struct told told;
	size_t bad;

	for (; at < end; at = lf + 1) {
		lf = memchr(at, '\n', (size_t)(end - at));
		if (scan_within(at, (size_t)(lf - at), SCAN_LINE_DEPTH, &bad) == NULL &&
		    read_told(span_of(at, (size_t)(lf - at)), &told) &&
		    latest_update_run(l, &told, err) != 0)
			return -1;
	}
	buffer_clear(&l->arrived);
	return 0;
}

/* Sets `latest` to a new run once the beginning of its record is here. */
static int
name_latest(const struct fetch *f, struct error *err)
{
	const struct storage copy = { .root = f->directory };
	int failed = 0;

	for (size_t i = 0; i < f->count && failed == 0; i++) {
		struct fetched *run = f->runs[i];

		if (run->latest && run->copy.end > 0) {
			run->latest = false;
			failed = storage_set_latest(&copy, run->run_id, err);
		}
	}
	return failed;
}

int
latest_round(struct latest *l, struct error *err)
{
	struct error why = ERROR_INIT;
	enum answered answered;

	if (l->again_at != 0 && clock_monotonic() >= l->again_at && begin_stream(l, err) != 0)
		return -1;
	if (l->begun && !l->listed) {
		l->delay_ms = SERVER_RETRY_MS;
		l->fetch->lost = false;
		if (catch_up(l, err) != 0)
			return -1;
	}
	if (l->listed && l->arrived.len > 0 && latest_read_events(l, err) != 0)
		return -1;
	if (l->get.ended) {
		l->get.ended = false;
		answered = server_judge(&l->fetch->server, &l->get, &why);
		if (answered == ANSWERED_NEVER || answered == ANSWERED_NONE) {
			*err = why;
			return -1;
		}
		/* A stream of runs should not end. */
		if (answered == ANSWERED)
			error_set(&why, ERROR_SYSTEM, l->fetch->server.base, "has ended");
		put_off(l, &why);
	}
	return name_latest(l->fetch, err);
}

int64_t
latest_patience(const struct latest *l)
{
	int64_t left = l->again_at == 0 ? INT64_MAX : l->again_at - clock_monotonic();

	return left > 0 ? left : 0;
}

void
latest_close(struct latest *l)
{
	if (l->fetch == NULL)
		return;
	http_stop(l->fetch->http, &l->get);
	http_answer_free(&l->get.answer);
	sse_free(&l->events);
	buffer_free(&l->arrived);
	map_free(&l->going);
}
