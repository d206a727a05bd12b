/*
 * The output of a run: what its workflow wrote to stdout, a blob that run.completed names. A
 * request may wait for the end of the run: it is a member of the run's feed, and has a timer, so
 * any number of clients wait without a thread or process of their own.
 *
 * What counts as the end: an attempt that ended in another way than waiting for somebody, or that
 * died. While a further attempt is queued, the run has not ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "decide/due.h"
#include "json/scan.h"
#include "json/writer.h"
#include "model/summary.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve_runs/log.h"
#include "transcript/event_keys.h"

/* Proxies wait for about a minute for an answer, some only for 30 seconds unless told otherwise. */
#define WAIT_MOST INT64_C(55)

/* A request that waits. */
struct result {
	struct feed_waiter waiter;
	struct request *request;
	struct feed *feed;
	struct loop_timer timer;
	bool partial;            /* the output of a run that has failed, too */
	bool waiting, due;
	bool killed, only_waited; /* the run was killed; it did nothing but wait then (struct due) */
};

static const struct refusal revoked = { 401, "unauthorized", "the token is not valid any more" };

/* Whether the run waits for a decision, a result or a time, and has no process any more. */
static bool
is_waiting(const struct result *x)
{
	return x->feed->ended ? strcmp(x->feed->status, "waiting") == 0 : x->feed->over && x->only_waited;
}

/* Whether the request can be answered now. */
static bool
result_is_there(struct result *x)
{
	const struct feed *feed = x->feed;
	const bool killed = feed->over && !feed->ended && !feed->gone && !feed->coming;

	if (killed && !x->killed) {
		struct error ignored;
		struct due due;

		x->only_waited = due_read(&due, &x->request->server->storage, feed->run_id, false, &ignored) == 0 &&
		    due.waits;
	}
	x->killed = killed;
	if (feed->gone)
		return true;
	return !feed->coming && (feed->ended || feed->over) && !is_waiting(x);
}

static void
result_wake_if_there(struct feed_waiter *waiter)
{
	struct result *x = (struct result *)waiter;

	if (result_is_there(x))
		request_wake(x->request);
}

static void
result_time_over(struct loop_timer *timer)
{
	struct result *x = (struct result *)(void *)((char *)timer - offsetof(struct result, timer));

	x->due = true;
	request_wake(x->request);
}

static void
result_free(void *state)
{
	struct result *x = state;

	if (x->waiting)
		feed_forget(x->feed, &x->waiter);
	loop_unset(&x->request->server->loop, &x->timer);
	feed_release(x->feed);
	free(x);
}

/* ---- answers ---- */

/* 202: the run has not ended. */
static void
result_answer_later(struct request *r, const struct result *x)
{
	const struct feed *feed = x->feed;
	struct buffer json = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_string(&w, KEY_RUN_ID, feed->run_id);
	writer_member_string(&w, KEY_STATUS, feed->coming ? "queued" :
	    is_waiting(x) ? "waiting" : "running");
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_json(r, 202, &json);
}

/* 409: the run has ended without a result; the code is its status. */
static void
result_refuse(struct request *r, const struct feed *feed, const char *status)
{
	struct summary summary;
	struct error err;
	char *message = NULL;

	if (feed->ended && summary_read_ends(&summary, feed->path, &err) == 0) {
		if (summary.error != NULL)
			message = span_text(span_member(span_of(summary.error, strlen(summary.error)),
			    KEY_MESSAGE));
		summary_free(&summary);
	}
	request_error(r, 409, status, "run %s has no result, its status is %s%s%s", feed->run_id,
	    status, message != NULL ? ": " : "", message != NULL ? message : "");
	free(message);
}

static void
result_answer(struct request *r, struct result *x)
{
	const struct feed *feed = x->feed;
	char sha256[DIGEST_SIZE], run_id[ID_SIZE];
	const char *status = feed->ended ? feed->status : "died";

	if (feed->gone) {
		request_error(r, 404, "not_found",
		    "the run was removed, or left the queue before it began");
		return;
	}
	if (!result_is_there(x)) {
		result_answer_later(r, x);
		return;
	}
	if (strcmp(status, "success") != 0 && !x->partial) {
		result_refuse(r, feed, status);
		return;
	}
	if (feed->output[0] == '\0') {
		request_error(r, 404, "not_found", "nothing is kept of what the run has printed");
		return;
	}
	/* request_blob() may replace the request's state. */
	memcpy(sha256, feed->output, sizeof sha256);
	memcpy(run_id, feed->run_id, sizeof run_id);
	request_blob(r, run_id, sha256);
}

int
request_result(struct request *r, const char *run_id, int64_t seconds, bool partial,
    struct error *err)
{
	struct feed *feed = feed_hold(&r->server->feeds, run_id, err);
	struct result *x;

	if (feed == NULL)
		return -1;
	if (r->free_state != NULL)
		r->free_state(r->state);
	x = memory_zero(1, sizeof *x);
	*x = (struct result){ .waiter.changed = result_wake_if_there, .request = r, .feed = feed,
		.timer.due = result_time_over, .partial = partial };
	r->state = x;
	r->free_state = result_free;
	if (seconds == 0 || result_is_there(x)) {
		result_answer(r, x);
		return 0;
	}
	feed_await(feed, &x->waiter);
	x->waiting = true;
	loop_set(&r->server->loop, &x->timer, seconds * 1000);
	connection_forget_body(r->connection);
	r->connection->long_wait = true;
	request_wait(r);
	return 0;
}

bool
request_result_due(struct request *r)
{
	struct result *x = r->free_state == result_free ? r->state : NULL;
	struct error err;
	bool changed;

	if (x == NULL)
		return false;
	if (tokens_refresh(&r->server->access.tokens, &changed, &err) != 0)
		log_warn(&err);
	if (changed)
		streams_check(&r->server->streams);
	if (!token_good(r->token, clock_wall()))
		request_refuse(r, &revoked);
	else if (!x->due && !result_is_there(x))
		request_wait(r); /* a further attempt began meanwhile */
	else
		result_answer(r, x);
	return true;
}

bool
request_waits(struct request *r, int64_t *seconds)
{
	const char *text = request_parameter(r, "wait");
	int64_t ms = 0;

	*seconds = 0;
	if (text == NULL)
		return true;
	if (duration_parse(text, &ms) != 0 || ms > WAIT_MOST * 1000) {
		request_error(r, 400, "invalid_input",
		    "wait is to be a time of at most %d s, as in 30s: ask again after that",
		    (int)WAIT_MOST);
		return false;
	}
	/* Timers are kept in a list for each duration. */
	*seconds = (ms + 999) / 1000;
	return true;
}

void
answer_output(struct request *r)
{
	int64_t seconds, partial = 0;
	char run_id[ID_SIZE];
	struct error err;
	bool queued;

	if (request_blob_fetched(r) || request_result_due(r))
		return;
	if (request_waits(r, &seconds) && request_number(r, "partial", 1, &partial) &&
	    request_run_or_queued(r, request_segment(r, 0), run_id, &queued) &&
	    request_result(r, run_id, seconds, partial == 1, &err) != 0)
		request_unopened(r, run_id, &err);
}
