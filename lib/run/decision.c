/*
 * The calls that wait are read from the transcript, and those lines alone that have come
 * since are read again under its lock: the append asks a function of ours that refuses, or
 * fills the event in. The check and the line are one step that way.
 */
#include "run/decision.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "run/origin.h"
#include "transcript/blob.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"
#include "transcript/transcript.h"

#define LISTED 8 /* calls in a message */

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
	/* An editor ends the last line, which says nothing. */
	return edited->base64 != original->base64 || edited->json.len != was.len ||
	    memcmp(edited->json.data, was.at, was.len) != 0;
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

/* ---- what waits ---- */

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
named(const struct waiting *at, const char *path, bool task)
{
	return task ? strcmp(at->task, path) == 0 :
	    call_is_named(path, at->call, at->path, at->iteration);
}

/* Appends the calls that wait for this; of path alone unless it is NULL. */
static void
list_calls(const struct undecided *u, enum waiting_for what, const char *path,
    struct buffer *out)
{
	size_t listed = 0;

	for (size_t i = 0; i < u->model.waits.count; i++) {
		const struct waiting *at = &u->model.waits.list[i];

		if (at->over || at->what != what || (path != NULL && !named(at, path, false)))
			continue;
		if (listed++ < LISTED)
			buffer_format(out, "%s%s", listed > 1 ? ", " : "", at->call);
	}
	if (listed > LISTED)
		buffer_format(out, " and %zu more", listed - LISTED);
}

/* None waits under this name. */
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
	return error_set(err, ERROR_BLOCKED, at->call, "waits no more: %s",
	    at->how != NULL ? at->how : "made anew in a further attempt of the run");
}

bool
undecided_knows(const struct undecided *u, const char *path, bool task)
{
	for (size_t i = 0; i < u->model.waits.count; i++)
		if (named(&u->model.waits.list[i], path, task))
			return true;
	return false;
}

const struct waiting *
undecided_find(const struct undecided *u, const char *path, bool task,
    enum decision_verdict verdict, struct error *err)
{
	const struct waiting *found = NULL, *over = NULL, *other = NULL;
	size_t count = 0;

	for (size_t i = 0; i < u->model.waits.count; i++) {
		const struct waiting *at = &u->model.waits.list[i];

		if (!named(at, path, task))
			continue;
		if (at->over)
			over = at;
		else if (at->what != decision_about(verdict))
			other = at;
		else if (count++ == 0)
			found = at;
	}
	if (count == 1)
		return found;
	if (count > 1) {
		struct buffer calls = BUFFER_INIT;

		list_calls(u, decision_about(verdict), path, &calls);
		error_set(err, ERROR_USAGE, path, "several calls of it wait, name one: %s", calls.data);
		buffer_free(&calls);
	} else if (other != NULL)
		error_set(err, ERROR_USAGE, verdicts[verdict].command, "%s waits for %s", other->call,
		    other->what == WAITING_APPROVAL ? "a decision: say approve or deny" :
		    "its result: say complete or heartbeat");
	else if (over != NULL)
		refuse_over(over, err);
	else
		refuse_unknown(u, path, verdict, err);
	return NULL;
}

/* ---- what it is about ---- */

int
undecided_input(struct undecided *u, const struct waiting *at, struct data *data,
    struct error *err)
{
	struct buffer line = BUFFER_INIT, whole = BUFFER_INIT;
	struct event_view event;
	struct span refs, input;
	int failed;

	if (at->begin.length == 0)
		return error_set(err, ERROR_SCHEMA, u->path, "has no step.started of %s", at->call);
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
		failed = error_set(err, ERROR_SCHEMA, u->path, "the call's step.started has no input");
	buffer_free(&whole);
	buffer_free(&line);
	return failed != 0 ? -1 : 0;
}

/* ---- the decision ---- */

struct deciding {
	struct undecided *undecided;
	size_t index;             /* of the wait */
	const struct decision *decision;
	struct buffer payload;
	char parent[ID_SIZE], *path;
};

/* Under the lock: whether the call waits still; what is written if so. */
static int
decide(void *context, struct event *e, struct error *err)
{
	struct deciding *g = context;
	struct undecided *u = g->undecided;
	const struct decision *d = g->decision;
	const struct waiting *at;
	struct error error = ERROR_INIT;
	char deadline[CLOCK_TEXT_SIZE];
	struct writer w;

	if (model_read_file(&u->model, u->path, err) != 0)
		return -1;
	at = &u->model.waits.list[g->index];
	if (at->over)
		return refuse_over(at, err);
	if (at->deadline != 0 && clock_wall() > at->deadline)
		return error_set(err, ERROR_BLOCKED, at->call, "waits no more: its time was over at %s",
		    clock_text(at->deadline, deadline));

	writer_begin(&w, &g->payload);
	writer_object(&w);
	writer_member_string(&w, KEY_NAME, at->name);
	writer_member_string(&w, KEY_KIND, at->kind);
	writer_member_string(&w, KEY_CALL, at->call);
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
	writer_member_string(&w, KEY_DECIDES, at->end);
	if (d->verdict == DECISION_HEARTBEAT)
		decision_write_limits(at->what, at->form, at->timeout_ms, &w);
	writer_object_end(&w);
	if (d->seal != NULL)
		seal_write(&w, d->seal);
	writer_object_end(&w);

	g->path = memory_text(at->path);
	memcpy(g->parent, at->end, ID_SIZE);
	e->parent_event_id = g->parent;
	e->path = g->path;
	e->iteration = at->iteration;
	e->payload = span_of(g->payload.data, g->payload.len);
	return 0;
}

int
undecided_decide(struct undecided *u, const struct waiting *at, const struct decision *d,
    struct error *err)
{
	struct deciding g = { .undecided = u, .index = (size_t)(at - u->model.waits.list),
		.decision = d };
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
	failed = transcript_append_deciding(&transcript, &e, decide, &g, err) != 0 ||
	    transcript_sync(&transcript, err) != 0;
	transcript_close(&transcript);
	binaries_free(&binaries);
	buffer_free(&g.payload);
	free(g.path);
	return failed ? -1 : 0;
}
