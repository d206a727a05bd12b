/*
 * A file is read in pieces of a few milliseconds: the function to which the model shows its events
 * stops the reading when the time is over.
 */
#include "serve_runs/overview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/memory.h"
#include "serve_runs/log.h"
#include "transcript/event_keys.h"

#define PIECE_MS 4
#define PIECE_BYTES ((int64_t)8 << 20)
#define UNUSED_MS 60000      /* time for which an unused overview is kept */
#define UNUSED_MOST 64       /* number of unused overviews that are kept: the one unused longest is
                                freed first */
#define PIECE_OVER 1

/* ---- events ---- */

static struct overview_call *
call_of(struct overview *o, const struct model_call *call)
{
	while (call->number >= o->room) {
		size_t room = o->room == 0 ? 32 : o->room * 2;

		o->calls = memory_array(o->calls, room, sizeof *o->calls);
		memset(o->calls + o->room, 0, (room - o->room) * sizeof *o->calls);
		o->room = room;
	}
	return &o->calls[call->number];
}

static void
overview_add_model_answer(struct overview *o, const struct placed *p, struct overview_call *more)
{
	struct span usage = span_member(p->event->payload, KEY_USAGE);
	int64_t cost = o->all->priced ? cost_take(&o->all->prices, p) : COST_NONE;
	long long input = 0, output = 0, turn;

	span_integer(span_member(usage, KEY_INPUT_TOKENS), &input);
	span_integer(span_member(usage, KEY_OUTPUT_TOKENS), &output);
	o->tokens[0] = count_add(o->tokens[0], input);
	o->tokens[1] = count_add(o->tokens[1], output);
	if (cost >= 0)
		o->cost = count_add(o->cost, cost);
	o->cost_unknown |= cost == COST_UNKNOWN;
	if (more == NULL)
		return;
	more->input_tokens = count_add(more->input_tokens, input);
	more->output_tokens = count_add(more->output_tokens, output);
	/* An answer that was cut off may still be replaced by that of a new request. */
	if (!span_true(span_member(p->event->payload, KEY_PARTIAL)) &&
	    span_integer(span_member(p->event->payload, KEY_TURN), &turn) && turn >= more->answered)
		more->answered = count_add(turn, 1);
	if (cost == COST_UNKNOWN || more->cost == COST_UNKNOWN)
		more->cost = COST_UNKNOWN;
	else if (cost >= 0)
		more->cost = count_add(more->cost == COST_NONE ? 0 : more->cost, cost);
}

static void
overview_record_run_end(struct overview *o, const struct placed *p)
{
	struct span payload = p->event->payload, usage = span_member(payload, KEY_USAGE);
	static const char *const keys[] = { KEY_INPUT_TOKENS, KEY_OUTPUT_TOKENS };
	long long number;

	free(o->error);
	o->error = summary_error(payload);
	if (!span_copy(span_member(payload, KEY_STATUS), o->status, sizeof o->status))
		snprintf(o->status, sizeof o->status, "failed");
	o->exit_code = span_integer(span_member(payload, KEY_EXIT_CODE), &number) ? number : -1;
	o->duration_ms = span_integer(span_member(payload, KEY_DURATION_MS), &number) ? number : 0;
	o->calls_are_told = span_integer(span_member(usage, KEY_CALLS), &number);
	o->calls_told = o->calls_are_told ? number : 0;
	for (size_t i = 0; i < 2; i++)
		o->tokens_told[i] = span_integer(span_member(usage, keys[i]), &number) ? number : 0;
}

static int
overview_add_event(void *context, const struct placed *p, struct error *err)
{
	struct overview *o = context;
	struct overview_call *more = p->call != NULL ? call_of(o, p->call) : NULL;

	(void)err;
	o->seq = p->event->seq;
	if (o->started == 0)
		o->started = p->wall;
	if (more != NULL) {
		if (more->first_seq == 0)
			*more = (struct overview_call){ .first_seq = o->seq, .cost = COST_NONE };
		more->last_seq = o->seq;
	}
	switch (p->event->type) {
	case EVENT_RUN_STARTED:
		if (o->first.length == 0) {
			o->first = p->place;
			event_copy_id(span_member(p->event->payload, KEY_FORKED_FROM), o->forked_from);
		}
		o->status[0] = '\0';
		free(o->error);
		o->error = NULL;
		break;
	case EVENT_RUN_COMPLETED:
		overview_record_run_end(o, p);
		break;
	case EVENT_MESSAGE_ASSISTANT:
		overview_add_model_answer(o, p, more);
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
		if (more != NULL && p->call->end.offset == p->place.offset)
			more->ended = p->wall;
		break;
	default:
		break;
	}
	if (p->place.offset - o->piece_from > PIECE_BYTES ||
	    ((o->seq & 15) == 0 && clock_monotonic() >= o->piece_until))
		return PIECE_OVER;
	return 0;
}

/* ---- reading ---- */

static void
overview_reset(struct overview *o, ino_t inode)
{
	model_free(&o->model);
	model_begin(&o->model, MODEL_EVENTS);
	o->model.watch = overview_add_event;
	o->model.context = o;
	o->inode = inode;
	free(o->calls);
	o->calls = NULL;
	o->room = 0;
	o->seq = o->started = o->cost = o->tokens[0] = o->tokens[1] = 0;
	o->cost_unknown = false;
	o->first = (struct event_place){ 0, 0 };
	free(o->error);
	o->error = NULL;
	o->forked_from[0] = o->status[0] = '\0';
}

static void
overview_notify_waiters(struct overview *o, const struct error *failed)
{
	struct overview_waiter *waiter;

	while ((waiter = o->waiters) != NULL) {
		o->waiters = waiter->next;
		waiter->next = NULL;
		waiter->ready(waiter, failed);
	}
}

static void
overview_read_piece(struct loop_task *task)
{
	struct overview *o = (struct overview *)(void *)((char *)task - offsetof(struct overview, task));
	struct stat status;
	struct error err;
	int got;

	/* Read everything again if the file was replaced or cut. */
	if (stat(o->path, &status) == 0 &&
	    (status.st_ino != o->inode || status.st_size < o->model.position))
		overview_reset(o, status.st_ino);
	o->piece_from = o->model.position;
	o->piece_until = clock_monotonic() + PIECE_MS;
	got = model_read_file(&o->model, o->path, &err);
	if (got == PIECE_OVER)
		return;
	loop_leave(o->all->loop, task);
	o->holders++; /* keep o: the last waiter may release it in its function */
	overview_notify_waiters(o, got == -1 ? &err : NULL);
	overview_drop(o);
}

void
overview_read(struct overview *o, struct overview_waiter *waiter)
{
	waiter->next = o->waiters;
	o->waiters = waiter;
	loop_enter(o->all->loop, &o->task);
}

void
overview_forget(struct overview *o, struct overview_waiter *waiter)
{
	for (struct overview_waiter **link = &o->waiters; *link != NULL; link = &(*link)->next)
		if (*link == waiter) {
			*link = waiter->next;
			return;
		}
}

/* ---- open and close ---- */

static void
overview_free(struct overview *o)
{
	struct overview **link = &o->all->first;

	while (*link != o)
		link = &(*link)->next;
	*link = o->next;
	loop_leave(o->all->loop, &o->task);
	o->all->unused -= o->unused.at != 0;
	loop_unset(o->all->loop, &o->unused);
	model_free(&o->model);
	free(o->calls);
	free(o->error);
	free(o->path);
	free(o);
}

static void
unused_due(struct loop_timer *timer)
{
	struct overview *o = (struct overview *)(void *)((char *)timer - offsetof(struct overview, unused));

	o->all->unused--; /* the timer is stopped */
	overview_free(o);
}

/* Keeps an overview that has no user any more for a while; if too many are kept, frees the one
 * unused longest. So a client that asks for every run of the storage does not fill the memory. */
static void
overview_keep(struct overview *o)
{
	struct overviews *all = o->all;
	struct overview *oldest = NULL;

	loop_set(all->loop, &o->unused, UNUSED_MS);
	if (++all->unused <= UNUSED_MOST)
		return;
	for (struct overview *each = all->first; each != NULL; each = each->next)
		if (each->unused.at != 0 && (oldest == NULL || each->unused.at < oldest->unused.at))
			oldest = each;
	overview_free(oldest);
}

struct overview *
overview_hold(struct overviews *all, const char *run_id)
{
	struct overview *o = all->first;

	while (o != NULL && strcmp(o->run_id, run_id) != 0)
		o = o->next;
	if (o == NULL) {
		o = memory_zero(1, sizeof *o);
		o->all = all;
		o->next = all->first;
		all->first = o;
		snprintf(o->run_id, sizeof o->run_id, "%s", run_id);
		o->path = storage_transcript(all->storage, run_id);
		o->task.step = overview_read_piece;
		o->unused.due = unused_due;
		overview_reset(o, 0);
	}
	all->unused -= o->unused.at != 0;
	loop_unset(all->loop, &o->unused);
	o->holders++;
	return o;
}

void
overview_release(struct overview *o)
{
	o->kept = true;
	overview_drop(o);
}

void
overview_drop(struct overview *o)
{
	if (--o->holders > 0)
		return;
	loop_leave(o->all->loop, &o->task);
	if (o->kept)
		overview_keep(o);
	else
		overview_free(o);
}

void
overviews_open(struct overviews *all, struct loop *loop, const struct storage *storage)
{
	struct error err;

	*all = (struct overviews){ .loop = loop, .storage = storage };
	all->priced = cost_begin(&all->prices, &err) == 0;
	if (!all->priced)
		log_warn(&err);
}

void
overviews_close(struct overviews *all)
{
	for (struct overview *o = all->first, *next; o != NULL; o = next) {
		next = o->next;
		overview_free(o);
	}
	cost_free(&all->prices);
}

/* ---- for requests ---- */

void
overview_summary(const struct overview *o, bool alive, struct summary *s)
{
	const struct model *m = &o->model;
	bool ended = o->status[0] != '\0';
	int64_t last = alive ? clock_wall() : m->last;

	*s = (struct summary){ .name = memory_text(m->name != NULL ? m->name : ""),
		.child = m->parent_run_id[0] != '\0', .started = o->started, .ended = m->last,
		.exit_code = ended ? o->exit_code : -1, .cost = overview_cost(o),
		.error = o->error != NULL ? memory_text(o->error) : NULL };
	memcpy(s->run_id, o->run_id, ID_SIZE);
	memcpy(s->parent, m->parent_run_id, ID_SIZE);
	memcpy(s->forked_from, o->forked_from, ID_SIZE);
	snprintf(s->status, sizeof s->status, "%s", !ended && !alive && told_state_only_waited(m) ?
	    view_words[VIEW_WAITING].text : told_state_status(o->status, alive));
	s->duration_ms = ended ? o->duration_ms :
	    (last - (m->attempt > 0 ? m->started : o->started)) / 1000;
	s->calls = ended && o->calls_are_told ? o->calls_told : m->begun;
	s->input_tokens = ended && o->calls_are_told ? o->tokens_told[0] : m->usage[MODEL_INPUT_TOKENS];
	s->output_tokens = ended && o->calls_are_told ? o->tokens_told[1] :
	    m->usage[MODEL_OUTPUT_TOKENS];
}

size_t
overview_waiting(const struct overview *o)
{
	const struct waitings *w = &o->model.waits;
	size_t count = 0;

	for (size_t i = 0; i < w->count; i++)
		count += !w->list[i].over && w->list[i].what != WAITING_NOTHING;
	return count;
}

int64_t
overview_answered(const struct overview *o, const struct model_call *call)
{
	return call->number < o->room ? o->calls[call->number].answered - 1 : -1;
}

int64_t
overview_cost(const struct overview *o)
{
	return o->cost_unknown || !o->all->priced ? COST_UNKNOWN : o->cost;
}

static void
write_dollars(struct writer *w, int64_t cost)
{
	char dollars[MONEY_SIZE];

	if (cost >= 0)
		writer_member_string(w, "cost", money_number(cost, dollars));
}

const char *
overview_state_word(enum view_saying state)
{
	switch (state) {
	case VIEW_RUNNING:
	case VIEW_UNFINISHED:
		return "open";
	case VIEW_DONE:
		return "succeeded";
	default:
		return view_words[state].text;
	}
}

void
overview_write_call(const struct overview *o, const struct model_call *c, struct writer *w)
{
	static const struct overview_call nothing = { .cost = COST_NONE };
	const struct overview_call *more = c->number < o->room ? &o->calls[c->number] : &nothing;
	char text[CLOCK_TEXT_SIZE], id[ID_SIZE];

	writer_object(w);
	writer_member_integer(w, "n", (int64_t)c->number);
	writer_member_string(w, "id", c->id);
	writer_member_string(w, "event_id", model_call_event_id(c, id));
	writer_member_string(w, "name", c->step->name);
	writer_member_string(w, "kind", c->step->kind);
	writer_member_string(w, "path", c->step->path);
	writer_member_integer(w, "iteration", c->iteration);
	if (c->around != NULL)
		writer_member_integer(w, "around", (int64_t)c->around->number);
	writer_member_string(w, "state", overview_state_word(told_state_of_call(c)));
	if (c->state == CALL_FAILED || c->state == CALL_CLOSED || c->state == CALL_WAITING)
		writer_member_string(w, "code", error_name(c->code));
	writer_member_string(w, "started", clock_text(c->started, text));
	if (more->ended != 0)
		writer_member_string(w, "ended", clock_text(more->ended, text));
	writer_member_string(w, "tool", c->step->tool);
	writer_member_string(w, "agent", c->step->agent);
	writer_member_string(w, "provider", c->step->provider);
	writer_member_string(w, "model", c->step->model);
	if (c->rare->child_run_id[0] != '\0')
		writer_member_string(w, "child_run_id", c->rare->child_run_id);
	if (more->input_tokens > 0 || more->output_tokens > 0) {
		writer_member_integer(w, "tokens_in", more->input_tokens);
		writer_member_integer(w, "tokens_out", more->output_tokens);
	}
	write_dollars(w, more->cost);
	writer_member_integer(w, "first_seq", more->first_seq);
	writer_member_integer(w, "last_seq", more->last_seq);
	writer_object_end(w);
}
