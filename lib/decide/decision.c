/*
 * The waiting calls are found in the transcript. When the decision is appended, the transcript's
 * lock is held, and only lines that were added since are read; then a function of this file refuses
 * the event or builds it. So the check and the append are one atomic step.
 */
#include "decide/decision.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "storage/origin.h"
#include "transcript/blob.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"
#include "transcript/transcript.h"

#define LISTED 8 /* most calls that a message lists */

static const struct {
	const char *word, *command;
	enum waiting_for about;
} verdicts[] = {
	[DECISION_APPROVED] = { "approved", "approve", WAITING_APPROVAL },
	[DECISION_EDITED] = { "edited", "approve", WAITING_APPROVAL },
	[DECISION_DENIED] = { "denied", "deny", WAITING_APPROVAL },
	[DECISION_COMPLETED] = { "completed", "complete", WAITING_COMPLETION },
	[DECISION_FAILED] = { "failed", "complete", WAITING_COMPLETION },
	[DECISION_HEARTBEAT] = { "heartbeat", "heartbeat", WAITING_COMPLETION },
};

const char *
decision_word(enum decision_verdict verdict)
{
	return verdicts[verdict].word;
}

enum waiting_for
decision_about(enum decision_verdict verdict)
{
	return verdicts[verdict].about;
}

int
decision_edit(const struct data *original, const char *bytes, size_t len, struct data *edited,
    struct error *err)
{
	struct span was = span_of(original->json.data, original->json.len);
	bool text = span_type(was) == 's';

	*edited = (struct data){ BUFFER_INIT, false, false };
	if (text || (data_from_json(edited, bytes, len, err) != 0 && span_type(was) == '0'))
		data_from_text(edited, bytes, len);
	else if (edited->json.len == 0)
		return -1;
	/* Editors add an LF at the end of the last line; that is no change. */
	return edited->base64 != original->base64 ||
	    !span_same(span_of(edited->json.data, edited->json.len), was);
}

void
decision_error(const struct decision *d, struct error *error)
{
	bool denied = d->verdict == DECISION_DENIED;

	error_set(error, denied ? ERROR_DENIED : ERROR_EXIT_STATUS, NULL, "%s by %s%s%s",
	    decision_word(d->verdict), d->by, d->reason != NULL ? ": " : "",
	    d->reason != NULL ? d->reason : "");
}

void
decision_write(const struct decision *d, struct writer *w)
{
	writer_member_string(w, KEY_DECISION, decision_word(d->verdict));
	writer_member_string(w, KEY_BY, d->by);
	writer_member_string(w, KEY_REASON, d->reason);
}

void
decision_write_limits(enum waiting_for what, const char *form, int64_t timeout_ms,
    struct writer *w)
{
	char deadline[CLOCK_TEXT_SIZE];

	writer_member_string(w, KEY_ASKS, waiting_word(what));
	writer_member_string(w, KEY_FORM, form);
	if (timeout_ms == 0)
		return;
	writer_member_integer(w, KEY_TIMEOUT_MS, timeout_ms);
	writer_member_string(w, KEY_DEADLINE, clock_text(clock_wall() + timeout_ms * 1000, deadline));
}

/* ---- waiting calls ---- */

int
undecided_open(struct undecided *u, const char *path, const char *blobs, const char *run_id,
    struct error *err)
{
	if (origin_check_own_at(path, run_id, err) != 0)
		return -1;
	*u = (struct undecided){ .path = memory_text(path) };
	model_begin(&u->model, MODEL_LIVE);
	u->blobs = memory_text(blobs);
	memcpy(u->run_id, run_id, sizeof u->run_id);
	if (model_read_file(&u->model, path, err) != 0) {
		undecided_close(u);
		return -1;
	}
	if (!u->model.waits.masked)
		return 0;
	undecided_close(u);
	return error_set(err, ERROR_USAGE, run_id,
	    "is masked (--mask), so that it cannot be gone on from, nor decided about");
}

void
undecided_close(struct undecided *u)
{
	model_free(&u->model);
	free(u->path);
	free(u->blobs);
	u->path = u->blobs = NULL;
}

static bool
decision_names_waiting(const struct waiting *at, const char *path, bool task)
{
	return task ? waiting_is_named(path, at->task, at->token, at->first) == WAITING_THIS :
	    call_is_named(path, at->call, at->path, at->iteration);
}

/* Whether the name is a task with several tries, of which this is one, or the token of an earlier
 * try, while this one waits. */
static bool
is_other_try(const struct waiting *at, const char *path, bool task)
{
	return task && waiting_is_named(path, at->task, at->token, at->first) == WAITING_OTHER_TRY &&
	    (!at->over || strcmp(path, at->task) == 0);
}

/* Appends a list of the calls that wait for this kind of decision; if path is not NULL, only those
 * with that name. */
static void
list_calls(const struct undecided *u, enum waiting_for what, const char *path,
    struct buffer *out)
{
	size_t listed = 0;

	for (size_t i = 0; i < u->model.waits.count; i++) {
		const struct waiting *at = &u->model.waits.list[i];

		if (at->over || at->what != what ||
		    (path != NULL && !decision_names_waiting(at, path, false)))
			continue;
		if (listed++ < LISTED)
			buffer_format(out, "%s%s", listed > 1 ? ", " : "", at->call);
	}
	if (listed > LISTED)
		buffer_format(out, " and %zu more", listed - LISTED);
}

/* Makes the error for a name that no waiting call has. */
static int
refuse_unknown(const struct undecided *u, const char *path, enum decision_verdict verdict,
    struct error *err)
{
	const char **names = memory_zero(2 * u->model.waits.count + 1, sizeof *names), *near;
	struct buffer calls = BUFFER_INIT;
	size_t count = 0;

	for (size_t i = 0; i < u->model.waits.count; i++)
		if (!u->model.waits.list[i].over) {
			names[count++] = u->model.waits.list[i].path;
			names[count++] = u->model.waits.list[i].call;
		}
	near = text_suggest(path, names);
	list_calls(u, decision_about(verdict), NULL, &calls);
	if (calls.len == 0 && u->model.waits.child[0] != '\0')
		error_set(err, ERROR_USAGE, path, "no call of run %s itself waits for %s, but one of "
		    "its child run %s", u->run_id,
		    decision_about(verdict) == WAITING_APPROVAL ? "a decision" : "a result",
		    u->model.waits.child);
	else if (calls.len == 0)
		error_set(err, ERROR_USAGE, path, "no call of run %s waits for %s", u->run_id,
		    decision_about(verdict) == WAITING_APPROVAL ? "a decision" : "a result");
	else if (near != NULL)
		error_set(err, ERROR_USAGE, path,
		    "no such call waits in run %s (did you mean '%s'?); these do: %s", u->run_id, near,
		    calls.data);
	else
		error_set(err, ERROR_USAGE, path, "no such call waits in run %s; these do: %s",
		    u->run_id, calls.data);
	buffer_free(&calls);
	free(names);
	return -1;
}

static int
refuse_over(const struct waiting *at, struct error *err)
{
	return error_set(err, ERROR_BLOCKED, at->call, "does not wait any more: %s",
	    at->how != NULL ? at->how : "made anew in a further attempt of the run");
}

/* Makes the error for a token of a try that has ended, or a task with several tries. */
static int
refuse_other_try(const char *name, const char *task, struct error *err)
{
	return error_set(err, ERROR_BLOCKED, name, strcmp(name, task) == 0 ?
	    "was tried more than once: say which try by its token, AWF_TASK_TOKEN" :
	    "that try of the call has ended, and its result is not accepted any more: another "
	    "try waits for one");
}

bool
undecided_knows(const struct undecided *u, const char *path, bool task)
{
	for (size_t i = 0; i < u->model.waits.count; i++)
		if (decision_names_waiting(&u->model.waits.list[i], path, task))
			return true;
	return false;
}

const struct waiting *
undecided_find(const struct undecided *u, const char *path, bool task,
    enum decision_verdict verdict, struct error *err)
{
	const struct waiting *found = NULL, *over = NULL, *other = NULL, *later = NULL;
	char deadline[CLOCK_TEXT_SIZE];
	size_t count = 0;

	for (size_t i = 0; i < u->model.waits.count; i++) {
		const struct waiting *at = &u->model.waits.list[i];

		if (is_other_try(at, path, task))
			later = at;
		if (!decision_names_waiting(at, path, task))
			continue;
		if (at->over)
			over = at;
		else if (at->what != decision_about(verdict))
			other = at;
		else if (found == NULL || at->attempt > found->attempt || strcmp(at->call, found->call) != 0) {
			/* If the call waits in several attempts, only the latest counts; it may
			 * have been reached again or not. */
			count = found != NULL && strcmp(at->call, found->call) == 0 ? count : count + 1;
			found = at;
		}
	}
	if (count == 1)
		return found;
	if (count > 1) {
		struct buffer calls = BUFFER_INIT;

		list_calls(u, decision_about(verdict), path, &calls);
		error_set(err, ERROR_USAGE, path, "several calls of it wait, name one: %s", calls.data);
		buffer_free(&calls);
	} else if (other != NULL && other->what == WAITING_TIME)
		error_set(err, ERROR_USAGE, verdicts[verdict].command, "%s sleeps until %s: there is nothing to "
		    "decide", other->call, clock_text(other->deadline, deadline));
	else if (other != NULL)
		error_set(err, ERROR_USAGE, verdicts[verdict].command, "%s waits for %s", other->call,
		    other->what == WAITING_APPROVAL ? "a decision: say approve or deny" :
		    "its result: say complete or heartbeat");
	else if (later != NULL)
		refuse_other_try(path, later->task, err);
	else if (over != NULL)
		refuse_over(over, err);
	else
		refuse_unknown(u, path, verdict, err);
	return NULL;
}

const struct waiting *
undecided_find_completed(const struct undecided *u, const char *path, bool task)
{
	const struct waiting *found = NULL;

	for (size_t i = 0; i < u->model.waits.count; i++) {
		const struct waiting *at = &u->model.waits.list[i];

		if (is_other_try(at, path, task))
			return NULL;
		if (at->over && at->what == WAITING_COMPLETION && at->decision.length > 0 &&
		    decision_names_waiting(at, path, task))
			found = at;
	}
	return found;
}

/* ---- the call's data ---- */

int
undecided_input(struct undecided *u, const struct waiting *at, struct data *data,
    struct error *err)
{
	struct buffer line = BUFFER_INIT, whole = BUFFER_INIT;
	struct event_view event;
	struct span refs, input;
	int failed;

	if (at->begin.length == 0)
		return error_set(err, ERROR_SCHEMA, u->path, "the record does not have how %s began", at->call);
	failed = event_load(u->path, at->begin, &line, err);
	if (failed != 0) {
		buffer_free(&line);
		return -1;
	}
	*data = (struct data){ BUFFER_INIT, false, false };
	failed = blob_inline(u->blobs, line.data, line.len, &whole, err);
	if (failed == 0 && event_view(whole.data, whole.len, &event) == 0) {
		input = span_member(event.payload, KEY_INPUT);
		buffer_append(&data->json, input.at, input.len);
		data->no_newline = span_true(span_member(event.payload, KEY_NO_NEWLINE));
	}
	refs = span_member(span_of(line.data, line.len), KEY_REFS);
	if (span_type(refs) == 'a') {
		for (struct span_walk ref = span_walk(refs); span_next(&ref);)
			data->base64 |= span_is(span_member(ref.value, KEY_AT), "/payload/input") &&
			    span_is(span_member(ref.value, KEY_ENCODING), "raw");
	}
	if (failed == 0 && data->json.len == 0)
		failed = error_set(err, ERROR_SCHEMA, u->path, "the record does not have the call's input");
	buffer_free(&whole);
	buffer_free(&line);
	return failed != 0 ? -1 : 0;
}

/* ---- comparing results ---- */

/* Whether a given value is equal to the recorded one. */
static bool
is_same_data(const struct data *data, struct span recorded)
{
	return recorded.at != NULL && span_same(span_of(data->json.data, data->json.len), recorded);
}

/* Whether the given texts lack a final LF in the same places as the recorded ones. */
static bool
is_same_form(const struct results *results, struct span payload)
{
	struct buffer text = BUFFER_INIT;
	struct span now, recorded = span_member(payload, KEY_NO_NEWLINE);
	struct writer w;
	bool same;

	writer_begin(&w, &text);
	writer_object(&w);
	results_write(results, &w);
	writer_object_end(&w);
	now = span_member(span_of(text.data, text.len), KEY_NO_NEWLINE);
	same = span_same(now, recorded);
	buffer_free(&text);
	return same;
}

/* 1: the decision is equal to the recorded one; 0: it differs; -1: *err. */
static int
is_same_decision(const struct undecided *u, struct event_place place, const struct decision *d,
    struct error *err)
{
	struct buffer line = BUFFER_INIT, whole = BUFFER_INIT;
	const struct results *given = &d->results;
	struct event_view event;
	struct span said, result;
	size_t count = 0;
	int same = -1;

	if (event_load(u->path, place, &line, err) != 0 ||
	    blob_inline(u->blobs, line.data, line.len, &whole, err) != 0 ||
	    event_view(whole.data, whole.len, &event) != 0)
		goto out;
	said = span_member(event.payload, KEY_APPROVAL);
	result = span_member(event.payload, KEY_RESULT);
	same = span_is(span_member(said, KEY_DECISION), decision_word(d->verdict));
	if (same && d->verdict == DECISION_FAILED) {
		same = span_is(span_member(said, KEY_REASON), d->reason != NULL ? d->reason : "") ||
		    (d->reason == NULL && span_type(span_member(said, KEY_REASON)) != 's');
	} else if (same && !given->several) {
		same = is_same_data(&given->list[0], result) && is_same_form(given, event.payload);
	} else if (same) {
		for (struct span_walk part = span_walk(result); same && span_next(&part); count++)
			same = count < given->count && is_same_data(&given->list[count], part.value);
		same = same && count == given->count && is_same_form(given, event.payload);
	}
out:
	buffer_free(&whole);
	buffer_free(&line);
	return same;
}

int
undecided_repeat(struct undecided *u, const struct waiting *at, const struct decision *d,
    struct error *err)
{
	int same = is_same_decision(u, at->decision, d, err);

	return same == 1 ? 0 : same == 0 ? refuse_over(at, err) : -1;
}

/* ---- the decision ---- */

struct deciding {
	struct undecided *undecided;
	size_t index;             /* of the waiting call in the model */
	const struct working *working; /* the call, if its command is still running; NULL */
	const struct decision *decision;
	struct buffer payload;
	char parent[ID_SIZE], *path;
	bool repeats;             /* the same result was recorded before */
	bool ended;               /* the try for which the result is has ended */
};

/* The event that is the subject of the decision: its members, and those of its payload. */
struct decided {
	const char *name, *kind, *call, *path;
	const char *end;          /* id of that event: the call's end; of a running call, its
	                             start */
	int64_t iteration;
};

static void
write_decision(struct deciding *g, const struct decided *about, const struct waiting *at,
    struct event *e)
{
	const struct decision *d = g->decision;
	struct error error = ERROR_INIT;
	struct writer w;

	writer_begin(&w, &g->payload);
	writer_object(&w);
	writer_member_string(&w, KEY_NAME, about->name);
	writer_member_string(&w, KEY_KIND, about->kind);
	writer_member_string(&w, KEY_CALL, about->call);
	if (d->verdict == DECISION_HEARTBEAT)
		error_set(&error, ERROR_WAITING, NULL, WAITING_FOR_RESULT);
	else if (d->verdict == DECISION_DENIED || d->verdict == DECISION_FAILED)
		decision_error(d, &error);
	if (error.code == ERROR_NONE)
		results_write(&d->results, &w);
	else
		call_write_error(&w, KEY_ERROR, &error);
	writer_key(&w, KEY_APPROVAL);
	writer_object(&w);
	decision_write(d, &w);
	writer_member_string(&w, KEY_DECIDES, about->end);
	if (d->verdict == DECISION_HEARTBEAT && at != NULL)
		decision_write_limits(at->what, at->form, at->timeout_ms, &w);
	if (g->working != NULL) {
		writer_member_string(&w, KEY_TASK, g->working->task);
		writer_member_integer(&w, KEY_TRY, g->working->number);
	}
	writer_object_end(&w);
	if (d->seal != NULL)
		seal_write(&w, d->seal);
	writer_object_end(&w);

	g->path = memory_text(about->path);
	memcpy(g->parent, about->end, ID_SIZE);
	e->parent_event_id = g->parent;
	e->path = g->path;
	e->iteration = about->iteration;
	e->payload = span_of(g->payload.data, g->payload.len);
}

/* Called with the lock held: checks that the call still waits, and builds the event if so. */
static int
decision_check_and_write(void *context, struct event *e, struct error *err)
{
	struct deciding *g = context;
	struct undecided *u = g->undecided;
	const struct waiting *at;
	char deadline[CLOCK_TEXT_SIZE];

	if (model_read_file(&u->model, u->path, err) != 0)
		return -1;
	at = &u->model.waits.list[g->index];
	if (at->over && at->decision.length > 0 && g->decision->verdict != DECISION_HEARTBEAT &&
	    at->what == WAITING_COMPLETION) {
		g->repeats = undecided_repeat(u, at, g->decision, err) == 0;
		return -1;
	}
	if (at->over)
		return refuse_over(at, err);
	if (at->deadline != 0 && clock_wall() > at->deadline)
		return error_set(err, ERROR_BLOCKED, at->call, "does not wait any more: its time "
		    "was over at %s",
		    clock_text(at->deadline, deadline));
	write_decision(g, &(struct decided){ at->name, at->kind, at->call, at->path, at->end,
	    at->iteration }, at, e);
	return 0;
}

/* Appends the event that a function builds while the lock is held, and syncs it. */
static int
append_decision(struct deciding *g, int (*function)(void *, struct event *, struct error *),
    struct error *err)
{
	struct undecided *u = g->undecided;
	const struct decision *d = g->decision;
	struct binaries binaries = BINARIES_INIT;
	struct event e = { .type = EVENT_STEP_COMPLETED, .path = "", .seal = d->seal };
	struct transcript transcript;
	int failed;

	signal(SIGXFSZ, SIG_IGN);
	if (transcript_open(&transcript, u->path, u->blobs, u->run_id, err) != 0)
		return -1;
	binaries_add_results(&binaries, &d->results);
	e.raws = binaries.list;
	e.raw_count = binaries.count;
	failed = transcript_append_deciding(&transcript, &e, function, g, err) != 0 ||
	    transcript_sync(&transcript, err) != 0;
	transcript_close(&transcript);
	binaries_free(&binaries);
	buffer_free(&g->payload);
	free(g->path);
	return failed ? -1 : 0;
}

int
undecided_decide(struct undecided *u, const struct waiting *at, const struct decision *d,
    struct error *err)
{
	struct deciding g = { .undecided = u, .index = (size_t)(at - u->model.waits.list),
		.decision = d };
	int failed = append_decision(&g, decision_check_and_write, err);

	return g.repeats ? 0 : failed;
}

/* ---- decisions before the end of a call ---- */

/* The number of the running try of the call that began at `begin`; -1: *err. */
static int64_t
find_try(const char *path, struct event_place begin, const char *started, struct error *err)
{
	struct event_view event;
	struct reader r;
	const char *line;
	long long number = 1;
	size_t len;
	int got;

	if (reader_open(&r, path, err) == -1)
		return -1;
	reader_seek(&r, begin.offset);
	while ((got = reader_next(&r, &line, &len, err)) == 1)
		if (event_view(line, len, &event) == 0 && event_tells_retry(&event) &&
		    span_is(event.parent_event_id, started))
			span_integer(span_path(event.payload, KEY_RETRY, KEY_TRY, NULL), &number);
	reader_close(&r);
	return got == 0 ? number : -1;
}

void
working_free(struct working *w)
{
	char *const texts[] = { w->name, w->kind, w->call, w->path, w->task, w->token };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	memset(w, 0, sizeof *w);
}

/* Reads a call that may end as pending, and is still running. 1; 0: it is no such call; -1:
 * *err. */
static int
read_working(const struct undecided *u, const struct model_call *c, struct working *w,
    struct error *err)
{
	struct buffer line = BUFFER_INIT;
	struct event_view event;
	struct span pending;
	int found = 0;

	*w = (struct working){ .begin = c->begin };
	if (c->state != CALL_OPEN || c->id[0] == '\0' || c->begin.length == 0)
		return 0;
	if (event_load(u->path, c->begin, &line, err) != 0)
		return -1;
	if (event_view(line.data, line.len, &event) == 0) {
		pending = span_member(event.payload, KEY_PENDING);
		w->task = span_text(span_member(pending, KEY_TASK));
		found = w->task != NULL;
		if (!span_copy(span_member(pending, KEY_FORM), w->form, sizeof w->form))
			memcpy(w->form, "text", sizeof "text");
	}
	buffer_free(&line);
	if (found != 1)
		return 0;
	model_call_event_id(c, w->started);
	w->attempt = u->model.attempt;
	w->iteration = c->iteration;
	w->name = memory_text(c->step->name);
	w->kind = memory_text(c->step->kind);
	w->path = memory_text(c->step->path);
	w->call = memory_text(c->id);
	w->number = find_try(u->path, c->begin, w->started, err);
	if (w->number < 0) {
		working_free(w);
		return -1;
	}
	w->token = waiting_token(w->call, w->attempt, w->number);
	return 1;
}

int
undecided_find_working(const struct undecided *u, const char *path, bool task, struct working *w,
    struct error *err)
{
	struct working each;
	int found = 0;

	for (const struct model_call *c = u->model.first_of_attempt; c != NULL && found != -1;
	    c = c->next) {
		enum waiting_named is = WAITING_OTHER;
		int read;

		if (!task && !call_is_named(path, c->id, c->step->path, c->iteration))
			continue;
		read = read_working(u, c, &each, err);
		if (read == 1)
			is = task ? waiting_is_named(path, each.task, each.token,
			    waiting_is_first(each.task, each.attempt, each.number)) : WAITING_THIS;
		if (read == -1) {
			found = -1;
		} else if (is == WAITING_OTHER_TRY) {
			found = refuse_other_try(path, each.task, err);
		} else if (is == WAITING_THIS && found == 1) {
			found = error_set(err, ERROR_USAGE, path, "several calls of it work, name one: %s, %s",
			    w->call, each.call);
			working_free(w);
		} else if (is == WAITING_THIS) {
			*w = each;
			found = 1;
			continue;
		}
		if (read == 1)
			working_free(&each);
	}
	return found;
}

/* Called with the lock held: checks whether the try is still running, and whether it has its result
 * already. */
static int
decide_early(void *context, struct event *e, struct error *err)
{
	struct deciding *g = context;
	struct undecided *u = g->undecided;
	const struct working *w = g->working;
	struct event_place place;
	char started[ID_SIZE];
	bool open = false;
	int found;

	if (model_read_file(&u->model, u->path, err) != 0)
		return -1;
	for (const struct model_call *c = u->model.first_of_attempt; c != NULL && !open; c = c->next)
		open = c->state == CALL_OPEN && strcmp(model_call_event_id(c, started), w->started) == 0;
	g->ended = !open || find_try(u->path, w->begin, w->started, err) != w->number;
	if (g->ended)
		return -1;
	found = decision_find_early(u->path, w->begin.offset, w->started, w->number, &place, err);
	if (found == 1) {
		found = is_same_decision(u, place, g->decision, err);
		g->repeats = found == 1;
		if (found == 0)
			error_set(err, ERROR_BLOCKED, w->call, "has another result already");
		return -1;
	}
	if (found == -1)
		return -1;
	write_decision(g, &(struct decided){ w->name, w->kind, w->call, w->path, w->started,
	    w->iteration }, NULL, e);
	return 0;
}

int
undecided_decide_early(struct undecided *u, const struct working *w, const struct decision *d,
    struct error *err)
{
	struct deciding g = { .undecided = u, .working = w, .decision = d };
	int failed = append_decision(&g, decide_early, err);

	return g.repeats ? 0 : g.ended ? 1 : failed;
}

int
decision_find_early(const char *path, int64_t from, const char *started, int64_t number,
    struct event_place *place, struct error *err)
{
	struct event_view event;
	struct reader r;
	const char *line;
	long long of = 0;
	size_t len;
	int got, found = 0;

	if (reader_open(&r, path, err) == -1)
		return -1;
	reader_seek(&r, from);
	while (found == 0 && (got = reader_next(&r, &line, &len, err)) == 1)
		if (event_view(line, len, &event) == 0 && event_decides(&event) &&
		    span_is(event.parent_event_id, started) &&
		    span_integer(span_path(event.payload, KEY_APPROVAL, KEY_TRY, NULL), &of) && of == number) {
			*place = (struct event_place){ r.line_start, (uint32_t)len };
			found = 1;
		}
	reader_close(&r);
	return found == 1 ? 1 : got == 0 ? 0 : -1;
}

int
decision_find(const char *path, struct attended_wait *wait, struct event_place *place,
    struct error *err)
{
	struct event_view event;
	struct event_head head;
	struct reader r;
	const char *line;
	size_t len;
	int got, found = 0;

	if (reader_open(&r, path, err) == -1)
		return -1;
	reader_seek(&r, wait->from);
	while (found == 0 && (got = reader_next(&r, &line, &len, err)) == 1) {
		char deadline[CLOCK_TEXT_SIZE];

		wait->from = r.position;
		if (event_peek(line, len, &head) != 0 || head.type != EVENT_STEP_COMPLETED ||
		    event_view(line, len, &event) != 0 || !event_decides(&event) ||
		    !span_is(event.parent_event_id, wait->event))
			continue;
		if (waiting_of(&event) == WAITING_NOTHING) {
			*place = (struct event_place){ r.line_start, (uint32_t)len };
			found = 1;
			continue;
		}
		event_copy_id(event.event_id, wait->event);
		wait->deadline = 0;
		if (span_copy(span_path(event.payload, KEY_APPROVAL, KEY_DEADLINE, NULL), deadline,
		    sizeof deadline) && clock_parse(deadline, 0, &wait->deadline) != 0)
			wait->deadline = 0;
	}
	reader_close(&r);
	return found == 1 ? 1 : got == 0 ? 0 : -1;
}
