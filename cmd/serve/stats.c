/*
 * A request waits a moment for the runs to be read (serve_runs/tally.h), then sums up what was read so far,
 * in pieces, and tells how far that reaches.
 */
#include "serve/stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "transcript/event_keys.h"

#define PIECE_MS 4
#define LOOK_MS 25
#define WAIT_MS 400              /* for runs that are being read */
#define ROWS_MOST 5000
#define CALLS_DEFAULT 50
#define CALLS_MOST 500

struct stats_call {
	struct figure figure;    /* its texts are of this list */
	char run_id[ID_SIZE];
	char *workflow, *reason;
};

struct stats {
	struct request *request;
	enum figures_by by;
	int64_t since;
	struct loop_timer timer;
	struct loop_task task;
	int64_t until;
	bool holds, summed;
	size_t at;               /* the run that is added next */
	struct tally_progress progress;
	struct figures figures;
	/* For the calls behind a row. */
	const char *name;        /* NULL: rows are asked for */
	bool failed, slowest;
	struct stats_call *calls;
	size_t count, limit;
	bool more;
	const struct tally_run *run; /* whose calls are added */
};

/* ---- the calls behind a row ---- */

static bool
stats_comes_before(const struct stats *x, const struct figure *one, const struct figure *other)
{
	return x->slowest && one->ms != other->ms ? one->ms > other->ms : one->wall > other->wall;
}

static void
stats_call_free(struct stats_call *call)
{
	free(call->workflow);
	free(call->reason);
}

static void
stats_take_call(void *context, const struct figure *figure)
{
	struct stats *x = context;
	struct stats_call *call;
	size_t place = x->count;

	if (!figure->ended || figure->wall < x->since || strcmp(figure->name, x->name) != 0 ||
	    (x->failed && figure->reason == NULL))
		return;
	while (place > 0 && stats_comes_before(x, figure, &x->calls[place - 1].figure))
		place--;
	if (x->count == x->limit) {
		x->more = true;
		if (place == x->count)
			return;
		stats_call_free(&x->calls[--x->count]);
	}
	memmove(x->calls + place + 1, x->calls + place, (x->count - place) * sizeof *x->calls);
	x->count++;
	call = &x->calls[place];
	*call = (struct stats_call){ .figure = *figure, .workflow = memory_text(tally_run_name(x->run)),
		.reason = figure->reason != NULL ? memory_text(figure->reason) : NULL };
	memcpy(call->run_id, figure->run_id, ID_SIZE);
}

static void
stats_write_call(const struct stats_call *call, struct writer *w)
{
	const struct figure *f = &call->figure;
	char at[CLOCK_TEXT_SIZE];

	writer_object(w);
	writer_member_string(w, KEY_RUN_ID, call->run_id);
	writer_member_string(w, "workflow", call->workflow);
	writer_member_integer(w, KEY_SEQ, f->seq);
	writer_member_string(w, "at", clock_text(f->wall, at));
	writer_member_integer(w, "ms", f->ms);
	writer_member_bool(w, "failed", call->reason != NULL);
	writer_member_string(w, "reason", call->reason);
	writer_member_integer(w, KEY_INPUT_TOKENS, f->tokens[0]);
	writer_member_integer(w, KEY_OUTPUT_TOKENS, f->tokens[1]);
	cost_write(w, f->cost_unknown ? COST_UNKNOWN : f->cost > 0 ? f->cost : COST_NONE);
	writer_object_end(w);
}

/* ---- summing up ---- */

static void
stats_step(struct loop_task *task)
{
	struct stats *x = (struct stats *)(void *)((char *)task - offsetof(struct stats, task));
	const struct request *r = x->request;
	const struct tally *t = &r->server->tally;
	const int64_t until = clock_monotonic() + PIECE_MS;

	while (x->at < t->count && tally_run_may_tell(t->runs[x->at], x->since)) {
		x->run = t->runs[x->at++];
		if (x->run->count > 0 && (r->token == NULL || token_names(r->token, tally_run_name(x->run))))
			tally_each(x->run, x->by, x->name != NULL ? stats_take_call : figures_add,
			    x->name != NULL ? (void *)x : (void *)&x->figures);
		if (clock_monotonic() >= until)
			return;
	}
	loop_leave(&x->request->server->loop, task);
	x->request->server->tally.holders--;
	x->holds = false;
	x->summed = true;
	request_wake(x->request);
}

static void
stats_look(struct loop_timer *timer)
{
	struct stats *x = (struct stats *)(void *)((char *)timer - offsetof(struct stats, timer));
	struct server *s = x->request->server;

	tally_progress(&s->tally, x->since, &x->progress);
	if (!x->progress.complete && clock_monotonic() < x->until) {
		loop_set(&s->loop, timer, LOOK_MS);
		return;
	}
	s->tally.holders++;
	x->holds = true;
	loop_enter(&s->loop, &x->task);
}

static void
stats_free(void *state)
{
	struct stats *x = state;
	struct server *s = x->request->server;

	loop_unset(&s->loop, &x->timer);
	loop_leave(&s->loop, &x->task);
	if (x->holds)
		s->tally.holders--;
	for (size_t i = 0; i < x->count; i++)
		stats_call_free(&x->calls[i]);
	free(x->calls);
	figures_free(&x->figures);
	free(x);
}

/* Reads the parameters that both requests have; false: the request was refused. */
static bool
stats_begin(struct request *r, struct stats **made)
{
	const char *text = request_parameter(r, "by");
	const int by = text != NULL ? text_index(text, figures_by_words) : BY_WORKFLOW;
	int64_t since = 0;
	struct stats *x;

	if (by == -1) {
		request_error(r, 400, "invalid_input", "by is workflow, step, tool or model");
		return false;
	}
	if ((text = request_parameter(r, "since")) != NULL && clock_parse(text, clock_wall(), &since) != 0) {
		request_error(r, 400, "invalid_input", "since is no time (as in 2026-11-21, 2h)");
		return false;
	}
	x = memory_zero(1, sizeof *x);
	x->request = r;
	x->by = (enum figures_by)by;
	x->since = since;
	x->figures.by = x->by;
	x->figures.since = since;
	x->figures.until = clock_wall();
	x->timer.due = stats_look;
	x->task.step = stats_step;
	x->until = clock_monotonic() + WAIT_MS;
	r->state = x;
	r->free_state = stats_free;
	*made = x;
	return true;
}

static void
stats_wait(struct request *r, struct stats *x)
{
	tally_refresh(&r->server->tally);
	if (r->server->tally.unread) {
		request_refuse(r, &storage_unreadable);
		return;
	}
	request_wait(r);
	loop_set(&r->server->loop, &x->timer, LOOK_MS);
}

static void
stats_write_progress(const struct stats *x, struct writer *w)
{
	char text[CLOCK_TEXT_SIZE];
	const struct tally_progress *p = &x->progress;

	writer_member_integer(w, "runs", p->runs);
	writer_member_integer(w, "read", p->read);
	writer_member_integer(w, "unreadable", p->unreadable);
	writer_member_bool(w, "complete", p->complete);
	writer_key(w, "whole_since");
	writer_string(w, p->whole_since != 0 ? clock_text(p->whole_since, text) : NULL);
}

/* ---- requests ---- */

void
answer_stats(struct request *r)
{
	struct stats *x = r->state;
	struct buffer json = BUFFER_INIT;
	struct writer w;

	if (x == NULL) {
		if (stats_begin(r, &x))
			stats_wait(r, x);
		return;
	}
	figures_sort(&x->figures);
	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_string(&w, "by", figures_by_words[x->by]);
	writer_member_array(&w, "rows");
	for (size_t i = 0; i < x->figures.count && i < ROWS_MOST; i++) {
		writer_object(&w);
		figures_write_row(&x->figures, &x->figures.rows[i], &w);
		writer_object_end(&w);
	}
	writer_array_end(&w);
	writer_member_integer(&w, "left_out", x->figures.count > ROWS_MOST ? (int64_t)x->figures.count - ROWS_MOST : 0);
	stats_write_progress(x, &w);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_json(r, 200, &json);
}

void
answer_stats_calls(struct request *r)
{
	struct stats *x = r->state;
	struct buffer json = BUFFER_INIT;
	int64_t limit = CALLS_DEFAULT, failed = 0, slowest = 0;
	struct writer w;

	if (x == NULL) {
		if (request_parameter(r, "name") == NULL) {
			request_error(r, 400, "invalid_input", "name says of which row of the figures");
			return;
		}
		if (!request_number(r, "limit", CALLS_MOST, &limit) || !request_number(r, "failed", 1, &failed) ||
		    !request_number(r, "slowest", 1, &slowest) || !stats_begin(r, &x))
			return;
		x->name = request_parameter(r, "name");
		x->failed = failed == 1;
		x->slowest = slowest == 1;
		x->limit = limit > 0 ? (size_t)limit : 1;
		x->calls = memory_zero(x->limit + 1, sizeof *x->calls);
		stats_wait(r, x);
		return;
	}
	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_array(&w, "calls");
	for (size_t i = 0; i < x->count; i++)
		stats_write_call(&x->calls[i], &w);
	writer_array_end(&w);
	writer_member_bool(&w, "more", x->more);
	stats_write_progress(x, &w);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_json(r, 200, &json);
}
