/*
 * Makes a call for each item in order, and writes its lines as soon as it has ended: one call after
 * the other, several at a time (-j), or one call for all items (-s, stream_join.c). The exit status
 * is the worst of all calls.
 *
 * In a further attempt items may arrive at other positions than before. While some recorded calls
 * that have changed something have not been matched with an item, an item that matches no recorded
 * call must wait, because it may be such a call with another input. Until all of these are matched
 * or the input ends, the following items are read and kept, and recorded calls that match them are
 * reserved.
 *
 * The end of the input is checked after EOF: only then the locks of the writers tell whether they
 * died.
 *
 * With -j an item is sent to a worker as a struct and its bytes; the worker is this program after a
 * fork().
 */
#include "step/stream.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/polling.h"
#include "io/terminal.h"
#include "model/told_failures.h"
#include "step_call/work.h"
#include "step_call/workers.h"
#include "transcript/event_keys.h"

#define WAITS_MOST 256 /* calls that wait with their processes at a time; others wait without */

/* ---- the output ---- */

static size_t
stream_status_severity(int status)
{
	static const int ranks[] = { STATUS_OK, STATUS_WAITING, STATUS_USAGE, STATUS_WORK,
		STATUS_SYSTEM };

	for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
		if (ranks[i] == status)
			return i;
	return 0;
}

/* Prints a failure, unless enough similar ones, which are no questions, have been printed. No part of a message may be
 * stored in the directory of a masked run, so failures are counted there by error code. */
static void
report_failure(struct stream *s, const struct step_result *result)
{
	const bool shared = s->owner_counts, masked = s->step->place.run->transcript.masked;
	struct buffer kind = BUFFER_INIT;

	/* stream_report_fail_fast() reports these in one line */
	if (step_result_ended_by_failure(result)) {
		s->ended++;
		return;
	}
	/* Each needs an answer of its own, and --new answers all that were asked. */
	if (result->asks) {
		s->report(result->report);
		return;
	}
	if (result->report_message > 0)
		buffer_format(&kind, "%s: ", s->step->options.name);
	buffer_text(&kind, shared && masked ? error_name(result->error.code) :
	    result->report + result->report_message);
	if (!shared)
		folded_messages_add(&s->failures, buffer_string(&kind), result->report);
	else if (told_failures_add(s->step->place.run->directory, buffer_string(&kind)))
		s->report(result->report);
	buffer_free(&kind);
}

int
stream_deliver(struct stream *s, const struct step_result *result, struct error *err)
{
	const volatile int *signalled = s->step->place.interrupts.signal_number;
	const struct buffer *out = &result->out;
	struct buffer shown = BUFFER_INIT;
	int put;

	if (stream_status_severity(s->status) <= stream_status_severity(result->status))
		s->status = result->status;
	s->closed = s->closed || result->closed;
	s->gone = s->gone || result->gone;
	if (result->report[0] != '\0')
		report_failure(s, result);
	/* With -r, an empty text may be the whole output. */
	s->printed = s->printed || out->len > 0 || s->step->options.output.raw;
	if (s->out == -1 || s->closed || out->len == 0)
		return 0;

	/* On a terminal, remove control characters from texts and lines. */
	if (!terminal_is(s->out)) {
		put = state_put(s->out, out->data, out->len, signalled);
	} else {
		if (s->step->options.output.raw)
			terminal_text(&shown, out->data, out->len);
		else
			terminal_json(&shown, out->data, out->len);
		put = state_put(s->out, buffer_string(&shown), shown.len, signalled);
		buffer_free(&shown);
	}
	if (put == 0 || errno == EINTR)
		return 0; /* stream_run() then ends because of the signal */
	if (errno != EPIPE)
		return error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
	/* A replay makes all recorded calls, even if its reader has gone. */
	s->closed = s->step->place.reader == 0;
	s->gone = true;
	s->out = -1;
	return 0;
}

/* Reports the calls that --fail-fast has ended, in one line. */
static void
stream_report_fail_fast(const struct stream *s)
{
	char *line = s->ended > 0 ?
	    memory_format("%s: --fail-fast: %zu running %s ended, and no further item is begun",
	    s->step->options.name, s->ended, s->ended == 1 ? "call was" : "calls were") :
	    memory_format("%s: --fail-fast: no further item is begun", s->step->options.name);

	s->report(line);
	free(line);
}

bool
stream_must_stop(struct stream *s, const struct step_result *result)
{
	struct error why = ERROR_INIT;

	if (!result->stop && !s->closed && !interrupts_arrived(&s->step->place.interrupts, &why))
		return false;
	if (why.code == ERROR_DOWNSTREAM_CLOSED)
		s->closed = true;
	return true;
}

/* ---- the end of the input ---- */

int
stream_fail_input(struct stream *s, const struct item *item, const struct error *why,
    struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	struct item empty;
	int failed;

	memset(&empty, 0, sizeof empty);
	if (item == NULL) {
		data_null(&empty.data);
		item = &empty;
	}
	failed = step_fail(s->step, item, why, s->index++, &result, err);
	if (failed == 0)
		failed = stream_deliver(s, &result, err);
	buffer_free(&result.out);
	item_free(&empty);
	return failed;
}

bool
stream_lacks_input(const struct stream *s)
{
	const struct state_reader *r = s->reader;

	return !r->any_byte && !s->allow_empty && r->form != INPUT_LINES &&
	    r->form != INPUT_NUL && r->form != INPUT_JSON && r->form != INPUT_NONE;
}

int
stream_no_input(const struct stream *s, struct error *err)
{
	return error_set(err, ERROR_NO_INPUT, "stdin", s->joined ?
	    "no input (--allow-empty if there may be none)" :
	    "no input: is a | missing? (-n if there is none to be, --allow-empty if there may be none)");
}

/* Whether this step had items in an earlier attempt of the run. Lists may be empty, but a step that is
 * killed before it is in the roster leaves an empty one, too. */
static bool
had_items(const struct stream *s)
{
	const struct recall *recall = s->step->place.recall;
	struct recalled_event started = { .line = BUFFER_INIT };
	struct recall_query query;
	struct span input;
	char *call;
	bool had;

	if (recall == NULL || recall->mode != RECALL_RESUME)
		return false;
	query = step_query(s->step, 0);
	if (!recall->peek(recall->history, &query, &started))
		return false;
	call = memory_format("%s:0", s->step->place.process);
	input = span_member(started.view.payload, KEY_INPUT);
	had = span_is(span_member(started.view.payload, KEY_CALL), call) &&
	    span_is(started.view.run_id, s->step->place.run->id) &&
	    !(s->joined && input.len == 2 && memcmp(input.at, "[]", 2) == 0);
	free(call);
	recalled_event_free(&started);
	return had;
}

/* A replay cannot see by itself that the input ended wrongly where the runs around a child run, in which
 * a writer could have died, do not exist, or where an empty list was wrong. The recording shows it: there
 * is a call without an item. The error is taken from the recording by step_fail(). */
static bool
recorded_torn(const struct stream *s)
{
	const struct recall *recall = s->step->place.recall;
	struct recalled_event started = { .line = BUFFER_INIT };
	struct recall_query query;
	char *call;
	bool torn;

	if (!step_replays(s->step) || (!s->producers.foreign && s->reader->any_byte))
		return false;
	query = step_query(s->step, s->index);
	if (!recall->peek(recall->history, &query, &started))
		return false;
	call = memory_format("%s:%lld", s->step->place.process, (long long)s->index);
	torn = span_type(span_member(started.view.payload, KEY_INPUT)) == '0' &&
	    span_is(span_member(started.view.payload, KEY_CALL), call);
	free(call);
	recalled_event_free(&started);
	return torn;
}

bool
stream_wrong_end(const struct stream *s, struct error *why)
{
	const char *enclosing = s->step->place.enclosing;
	struct upstream u;
	struct roster_death death;

	roster_upstream(s->roster, s->reader->fd, &u);
	if (producers_dead(&s->producers, why))
		return true;
	/* A process that writes to this pipe has died. Or nothing was read and it is not known
	 * which processes write, because of a filter between: then any step beside this one that
	 * died counts. */
	if (u.died || (!s->reader->any_byte && !u.known && roster_died_beside(s->roster, &death))) {
		const bool beside = u.died && !u.relayed;

		error_set(why, ERROR_UPSTREAM_INCOMPLETE, NULL, "the step %s%s%s died before its end",
		    beside ? enclosing : "", beside && *enclosing != '\0' ? "/" : "",
		    u.died ? u.process : death.process);
		return true;
	}
	/* It is no error to get no items if all processes that write to this pipe had none
	 * either. */
	if ((stream_lacks_input(s) && !u.all_empty) || recorded_torn(s))
		stream_no_input(s, why);
	else if (!s->reader->any_byte && !u.known && !s->allow_empty && had_items(s))
		error_set(why, ERROR_NO_INPUT, "stdin", "no items, though there were some before this resume: did "
		    "what writes them fail? (--allow-empty if there may be none)");
	return why->code != ERROR_NONE;
}

/* Checks the end of the input. wrong: the error of the reader; NULL: none. An incomplete line of a
 * writer that died counts as cut off, not as invalid. */
static int
judge_input(struct stream *s, const struct error *wrong, struct error *err)
{
	struct error why = ERROR_INIT;

	if (wrong == NULL)
		return stream_wrong_end(s, &why) ? stream_fail_input(s, NULL, &why, err) : 0;
	if (wrong->code == ERROR_CANCELLED)
		return 0;
	if (wrong->code != ERROR_INVALID_INPUT) {
		*err = *wrong;
		return -1;
	}
	why = *wrong;
	producers_dead(&s->producers, &why);
	return stream_fail_input(s, NULL, &why, err);
}

/* ---- the items, in order ---- */

/* Called when the whole input has been read. Each item whose input and definition equal those of
 * a recorded call uses that call's result. This function takes the items that have no such call,
 * and chooses for each one of the recorded calls that are left: the item may be an edited form of
 * that call's item, and then the user is asked before effects are repeated. If the input was cut
 * off, a missing item might be the one of the recorded call, so that the item's call is refused
 * instead (STEP_CUT_OFF, call_gated()). */
static void
share_out(struct stream *s)
{
	struct ahead *a = &s->ahead;
	const struct recall *recall = s->step->place.recall;
	const struct recall_query query = step_query(s->step, 0);
	struct recall_item *items = memory_array(NULL, a->count + 1, sizeof *items);
	int64_t *compared = memory_array(NULL, a->count + 1, sizeof *compared);
	struct error why = ERROR_INIT;
	bool cut_off = a->end == -1 || producers_dead(&s->producers, &why);
	size_t count = 0;

	for (size_t i = a->first; i < a->first + a->count; i++)
		if (!a->items[i].expected)
			items[count++] = (struct recall_item){ a->items[i].index, a->items[i].input_sha256,
				span_of(a->items[i].item.data.json.data, a->items[i].item.data.json.len) };
	recall->share_out(recall->history, &query, items, count, compared);
	count = 0;
	for (size_t i = a->first; i < a->first + a->count; i++)
		if (!a->items[i].expected) {
			INVARIANT(items[count].item == a->items[i].index);
			a->items[i].compared = cut_off && compared[count] > 0 ? STEP_CUT_OFF :
			    compared[count];
			count++;
		}
	a->shared_out = true;
	free(items);
	free(compared);
}

/* Whether it is known with which recorded call the first item is compared. */
static bool
settle_first(struct stream *s)
{
	struct ahead *a = &s->ahead;
	struct ahead_item *first = &a->items[a->first];
	struct recall_query query = step_query(s->step, first->index);

	if (first->expected || a->shared_out)
		return true;
	if (!s->step->place.recall->left_over(s->step->place.recall->history, &query)) {
		first->compared = RECALL_COMPARED_WITH_NONE;
		return true;
	}
	if (a->ended)
		share_out(s);
	return a->ended;
}

/* Gets the next item to be processed, and its index; sets step.place.compared for it. Does not
 * wait: returns 0 also if there is no item yet, and taken_all() is then false. Otherwise like
 * state_reader_next(). */
static int
stream_try_next_item(struct stream *s, struct item *item, int64_t *index, struct error *wrong)
{
	struct ahead *a = &s->ahead;
	struct ahead_item *added;
	struct item next;
	int got;

	if (s->step->place.recall == NULL || s->step->place.recall->mode != RECALL_RESUME) {
		got = state_reader_take(s->reader, item, wrong);
		if (got == 1) {
			producers_note(&s->producers, item);
			*index = s->index++;
		}
		return got;
	}
	memset(&next, 0, sizeof next);
	for (;;) {
		if (a->count > 0 && settle_first(s)) {
			const struct ahead_item *first = &a->items[a->first++];

			a->count--;
			INVARIANT(a->count == 0 || a->items[a->first].index == first->index + 1);
			item_free(item);
			*item = first->item;
			*index = first->index;
			s->step->place.compared = first->compared;
			return 1;
		}
		if (a->ended) {
			*wrong = a->wrong;
			return a->end;
		}
		got = state_reader_take(s->reader, &next, &a->wrong);
		if (got == 0 && !s->reader->done)
			return 0;
		if (got != 1) {
			a->ended = true;
			a->end = got;
			continue;
		}
		producers_note(&s->producers, &next);
		if (a->first + a->count == a->capacity && a->first > 0) {
			memmove(a->items, a->items + a->first, a->count * sizeof *a->items);
			a->first = 0;
		}
		if (a->count == a->capacity) {
			a->capacity = a->capacity == 0 ? 16 : a->capacity * 2;
			a->items = memory_array(a->items, a->capacity, sizeof *a->items);
		}
		INVARIANT(a->first + a->count < a->capacity);
		added = &a->items[a->first + a->count++];
		*added = (struct ahead_item){ .item = next, .index = s->index++ };
		memset(&next, 0, sizeof next);
		added->expected = step_expects(s->step, &added->item, added->index, added->input_sha256);
	}
}

static bool
taken_all(const struct stream *s)
{
	return s->reader->done && s->ahead.count == 0;
}

/* Like stream_try_next_item(), but waits. */
static int
stream_next_item(struct stream *s, struct item *item, int64_t *index, struct error *wrong)
{
	struct ahead *a = &s->ahead;
	int got;

	while ((got = stream_try_next_item(s, item, index, wrong)) == 0 && !taken_all(s)) {
		int64_t deadline = clock_monotonic() + AHEAD_TOLD_MS;

		/* If the rest of the input takes long, report that an item waits for it. */
		if (a->count > 0 && !a->told && poll_one(s->reader->fd, POLLIN, deadline) == 0 &&
		    clock_monotonic() >= deadline) {
			struct buffer text = BUFFER_INIT;

			step_label(s->step, &a->items[a->first].item, a->items[a->first].index, &text);
			buffer_text(&text, ": waits for the rest of its input, as it may be a recorded call "
			    "that has changed something");
			s->report(buffer_string(&text));
			a->told = true;
			buffer_free(&text);
		}
		if (state_reader_fill(s->reader, wrong) == -1)
			return -1;
	}
	return got;
}

/* ---- one call after the other ---- */

/* Makes the call of an item if the gate accepts it. An item that failed in an earlier step is
 * passed on without a call. */
static int
call_gated(struct stream *s, const struct item *item, int64_t index, struct step_result *result,
    struct error *err)
{
	const struct gate *gate = &s->step->options.gate;
	struct error why = ERROR_INIT;
	bool failed = item_error(item).at != NULL;
	bool refused = gate->count > 0 && !failed && gate_pass(gate, item, &why) == -1;

	if (!refused && !failed && s->step->place.compared == STEP_CUT_OFF) {
		error_set(&why, ERROR_UPSTREAM_INCOMPLETE, "stdin", "broke off before it was known "
		    "which of the recorded calls this is");
		refused = true;
	}
	return step_call(s->step, item, NULL, refused ? &why : NULL, index, result, err);
}

int
stream_call_item(struct stream *s, const struct item *item, int64_t index,
    struct step_result *result, struct error *err)
{
	int called;

	step_result_clear(result);
	called = call_gated(s, item, index, result, err);
	if (called == 0)
		called = stream_deliver(s, result, err);
	return called;
}

static int
run_serially(struct stream *s, struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	struct error wrong = ERROR_INIT;
	struct item item;
	int64_t index = 0;
	bool failed = false;
	int got, done = 0;

	memset(&item, 0, sizeof item);
	while ((got = stream_next_item(s, &item, &index, &wrong)) == 1) {
		if (stream_must_stop(s, &result))
			break;
		stream_tell_total(s);
		done = stream_call_item(s, &item, index, &result, err);
		failed = s->step->options.fail_fast && step_result_failed(&result);
		if (done == -1 || failed || stream_must_stop(s, &result))
			break;
	}
	if (done == 0 && failed)
		stream_report_fail_fast(s);
	if (done == 0 && got != 1)
		done = judge_input(s, got == -1 ? &wrong : NULL, err);
	item_free(&item);
	buffer_free(&result.out);
	return done;
}

static int
run_without_input(struct stream *s, struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	const volatile int *signalled = s->step->place.interrupts.signal_number;
	struct item item;
	int done;

	if (signalled != NULL && *signalled != 0)
		return 0; /* nothing has begun, so nothing needs to be recorded */
	memset(&item, 0, sizeof item);
	data_null(&item.data);
	done = stream_call_item(s, &item, s->index++, &result, err);
	if (done == 0)
		stream_must_stop(s, &result);
	item_free(&item);
	buffer_free(&result.out);
	return done;
}

/* ---- several at a time ---- */

/* Sent to a worker before the bytes of an item. */
struct job_head {
	int64_t index, compared;
	bool no_newline, base64, foreign;
	bool unattended;       /* if the call waits, its process does not */
	size_t lens[3];        /* lengths of data, metadata and line */
};

static void
pack_job(const struct item *item, int64_t index, int64_t compared, bool unattended,
    struct buffer *job)
{
	const struct buffer *parts[] = { &item->data.json, &item->metadata, &item->line };
	struct job_head head;

	memset(&head, 0, sizeof head); /* padding is sent too: initialize it */
	head.index = index;
	head.compared = compared;
	head.no_newline = item->data.no_newline;
	head.base64 = item->data.base64;
	head.foreign = item->foreign;
	head.unattended = unattended;
	for (size_t i = 0; i < 3; i++)
		head.lens[i] = parts[i]->len;
	buffer_clear(job);
	buffer_append(job, &head, sizeof head);
	for (size_t i = 0; i < 3; i++)
		buffer_append(job, buffer_string(parts[i]), parts[i]->len);
}

/* In a worker: makes one call. */
static void
stream_run_job(void *context, const struct buffer *job, struct buffer *answer)
{
	struct stream *s = context;
	struct step_result result = { .out = BUFFER_INIT };
	struct error err = ERROR_INIT;
	struct item item;
	struct buffer *parts[] = { &item.data.json, &item.metadata, &item.line };
	struct job_head head;
	const char *at = job->data + sizeof head;
	int called;

	memset(&item, 0, sizeof item);
	memcpy(&head, job->data, sizeof head);
	s->step->place.compared = head.compared;
	s->step->place.unattended = head.unattended;
	item.data.no_newline = head.no_newline;
	item.data.base64 = head.base64;
	item.foreign = head.foreign;
	for (size_t i = 0; i < 3; i++) {
		buffer_append(parts[i], at, head.lens[i]);
		at += head.lens[i];
	}
	called = call_gated(s, &item, head.index, &result, &err);
	step_result_pack(answer, &result, called == -1 ? &err : NULL);
	item_free(&item);
	buffer_free(&result.out);
}

static void
work_ended(void *context)
{
	struct stream *s = context;

	step_stop(s->step);
	transcript_close(&s->step->place.run->transcript);
}

/* Prepares --fail-fast: a flag in shared memory, which a worker checks when a signal wakes it. */
static int
prepare_fail_fast(struct stream *s, struct error *err)
{
	void *shared;

	if (!s->step->options.fail_fast)
		return 0;
	shared = mmap(NULL, sizeof *s->failed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to share memory");
	s->step->place.ended_by_failure = s->failed = shared;
	return 0;
}

/* Whether a call has failed, according to answers that have arrived since the last check. */
static bool
notice_failure(struct stream *s, struct workers *w)
{
	const struct buffer *answer;
	struct step_result result;
	bool failed = false;

	while (s->step->options.fail_fast && workers_notice(w, &answer) != -1)
		failed = failed || (step_result_peek(answer, &result) && step_result_failed(&result));
	return failed;
}

/* Whether to make the item's call. When a replay repeats a step that --fail-fast ended, it makes
 * only the recorded calls: which items had begun when one failed was chance. */
static bool
was_begun(const struct stream *s, int64_t index)
{
	const struct recall *recall = s->step->place.recall;
	struct recalled_event started = { .line = BUFFER_INIT };
	struct recall_query query;
	bool begun;

	if (!s->step->options.fail_fast || !step_replays(s->step))
		return true;
	query = step_query(s->step, index);
	begun = recall->peek(recall->history, &query, &started);
	recalled_event_free(&started);
	return begun;
}

/* How many calls are made at the same time. */
static size_t
stream_jobs(const struct stream *s)
{
	const struct work *work = s->step->definition.work;
	const int most = work->most_at_once != NULL ? work->most_at_once(s->step) : 0;

	return most > 0 && (size_t)most < s->jobs ? (size_t)most : s->jobs;
}

static int
run_parallel(struct stream *s, struct error *err)
{
	const struct interrupts *interrupts = &s->step->place.interrupts;
	struct error wrong = ERROR_INIT, why = ERROR_INIT;
	struct step_result result = { .out = BUFFER_INIT };
	struct buffer message = BUFFER_INIT;
	struct item item;
	struct workers w;
	bool stop = false, failed = false, reading; /* stop: give no further job to workers */
	bool beyond = false; /* the next item has no recorded call */
	int64_t index = 0;
	int got = 0, done = 0, woken;

	if (prepare_fail_fast(s, err) == -1)
		return -1;
	memset(&item, 0, sizeof item);
	workers_open(&w, stream_jobs(s), stream_run_job, work_ended, s);
	s->step->place.waits = workers_tell_wait;
	if (step_may_attend(s->step))
		workers_allow_waits(&w, WAITS_MOST);
	for (;;) {
		/* Then end the running calls; but a replay lets each reach its recorded end. */
		failed = notice_failure(s, &w) || failed;
		if (failed && !stop && !step_replays(s->step)) {
			*s->failed = stop = true;
			workers_signal(&w, SIGTERM);
		}

		/* Write the answers that have arrived, in order. */
		while (done == 0 && workers_answer(&w, &message) == 1) {
			step_result_clear(&result);
			done = step_result_unpack(&message, &result, err);
			if (done == 0) {
				done = stream_deliver(s, &result, err);
				/* A replay of a step that --fail-fast ended still makes the other
				 * calls. */
				stop = stop || s->closed || (result.stop &&
				    !(step_replays(s->step) && step_result_ended_by_failure(&result)));
			}
		}
		stop = stop || (beyond && failed);
		if (done == 0 && !stop && interrupts_arrived(interrupts, &why)) {
			s->closed = s->closed || why.code == ERROR_DOWNSTREAM_CLOSED;
			stop = true;
			if (why.code == ERROR_CANCELLED)
				workers_signal(&w, *interrupts->signal_number);
		}

		/* Give jobs to free workers. */
		reading = done == 0 && !stop && got != -1 && (beyond || !taken_all(s));
		while (reading && done == 0 && workers_ready(&w) &&
		    (beyond || (got = stream_try_next_item(s, &item, &index, &wrong)) == 1)) {
			/* Whether a call has failed is certain only when all have ended, though it
			 * may be known earlier. */
			beyond = !was_begun(s, index) && (failed || workers_pending(&w) > 0);
			stop = beyond && failed;
			if (beyond)
				break;
			pack_job(&item, index, s->step->place.compared, !workers_may_wait(&w), &message);
			done = workers_job(&w, &message, err);
		}

		/* Wait for an answer or, if an item could be processed, for input. */
		reading = !stop && got != -1 && (beyond || !taken_all(s));
		if (done == -1 || (!reading && workers_pending(&w) == 0))
			break;
		stream_tell_total(s);
		woken = workers_wait(&w,
		    reading && !beyond && !s->ahead.ended && workers_ready(&w) ? s->reader->fd : -1, err);
		if (woken == 1 && state_reader_fill(s->reader, &wrong) == -1)
			got = -1;
		if (woken == -1) {
			done = -1;
			break;
		}
	}
	if (done == -1)
		workers_signal(&w, SIGTERM);
	else if (failed)
		stream_report_fail_fast(s);
	workers_close(&w);
	if (s->failed != NULL)
		munmap(s->failed, sizeof *s->failed);
	s->step->place.ended_by_failure = s->failed = NULL;
	item_free(&item);
	buffer_free(&message);
	buffer_free(&result.out);
	if (done == 0 && (got == -1 || !stop))
		done = judge_input(s, got == -1 ? &wrong : NULL, err);
	return done;
}

int
stream_run(struct stream *s, struct error *err)
{
	int done;

	s->producers.roster = s->roster;
	s->producers.enclosing = s->step->place.enclosing;
	s->producers.run = s->step->place.run;
	if (s->reader->form == INPUT_NONE)
		return run_without_input(s, err);
	if (s->joined)
		return stream_run_joined(s, err);
	live_begin(&s->live, step_replays(s->step) ? NULL : live_place(s->step->place.run));
	/* Calls that wait do not hold up those of the next items. */
	done = s->jobs > 1 || step_may_attend(s->step) ? run_parallel(s, err) : run_serially(s, err);
	live_end(&s->live);
	return done;
}

/* ---- dry run ---- */

int
stream_describe_item(struct stream *s, const struct item *item, struct buffer *out,
    struct error *err)
{
	bool failed = item_error(item).at != NULL;

	return failed == s->step->options.rescue ? s->step->definition.work->describe(s->step, item, out, err) : 0;
}

int
stream_describe(struct stream *s, struct buffer *out, struct error *err)
{
	struct item item;
	int got = 0;

	memset(&item, 0, sizeof item);
	if (s->reader->form == INPUT_NONE) {
		data_null(&item.data);
		got = stream_describe_item(s, &item, out, err);
	} else if (s->joined) {
		got = stream_describe_joined(s, out, err);
	} else {
		while (got == 0 && (got = state_reader_next(s->reader, &item, err)) == 1)
			got = stream_describe_item(s, &item, out, err);
		if (got == 0 && stream_lacks_input(s))
			got = stream_no_input(s, err);
	}
	item_free(&item);
	return got;
}

void
stream_free(struct stream *s)
{
	struct ahead *a = &s->ahead;

	for (size_t i = a->first; i < a->first + a->count; i++)
		item_free(&a->items[i].item);
	free(a->items);
	memset(a, 0, sizeof *a);
	producers_free(&s->producers);
}
