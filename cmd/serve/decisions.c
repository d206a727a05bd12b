/*
 * The body is parsed here. All else, which locks and syncs the transcript or waits for the end of a
 * run, is done by a child process (serve_runs/work.h), with the functions that awf-ctl uses. Data
 * comes as JSON and is turned into the bytes that awf-ctl would have read on standard input: data
 * that was not edited keeps its bytes, and edited data gets the form that it had.
 */
#include "serve/decisions.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/patience.h"
#include "decide/cancel.h"
#include "decide/deciding.h"
#include "decide/telling.h"
#include "json/writer.h"
#include "serve/body.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve_runs/work.h"
#include "storage/origin.h"
#include "storage/queue.h"
#include "transcript/event_keys.h"

#define CALL_SHOWN 1024
#define BY_SHOWN 512

enum { DECISION, CALL, DATA, REASON, FAILED, ALWAYS, MEMBERS };

static const struct body_member members[MEMBERS] = {
	[DECISION] = { "decision", BODY_TEXT }, [CALL] = { "call", BODY_TEXT },
	[DATA] = { "data", BODY_ANY }, [REASON] = { "reason", BODY_TEXT },
	[FAILED] = { "failed", BODY_BOOLEAN }, [ALWAYS] = { "always", BODY_BOOLEAN },
};

#define TAKES(member) (1u << (member))

static const struct verb {
	const char *name;
	bool cancels, tells;
	enum decision_verdict verdict;
	unsigned takes;          /* members that the body may have besides the decision */
} verbs[] = {
	{ "approve", false, false, DECISION_APPROVED,
	    TAKES(CALL) | TAKES(DATA) | TAKES(REASON) | TAKES(ALWAYS) },
	{ "deny", false, false, DECISION_DENIED, TAKES(CALL) | TAKES(REASON) },
	{ "complete", false, false, DECISION_COMPLETED,
	    TAKES(CALL) | TAKES(DATA) | TAKES(REASON) | TAKES(FAILED) },
	{ "heartbeat", false, false, DECISION_HEARTBEAT, TAKES(CALL) },
	{ "tell", false, true, 0, TAKES(CALL) | TAKES(DATA) },
	{ "cancel", true, false, 0, 0 },
	{ NULL, false, false, 0, 0 },
};

/* The child's answer. */
struct outcome {
	unsigned status;         /* HTTP status */
	enum decision_verdict verdict;
	enum deciding_next next;
	char call[CALL_SHOWN];   /* the call; "" if its name is too long */
	char by[BY_SHOWN];
	struct error err;
};
_Static_assert(sizeof (struct outcome) <= WORK_ANSWER, "an outcome is written at once");

/* A request that waits for its decision to be made. */
struct decide_request {
	struct request *request;
	const struct verb *verb;
	char run_id[ID_SIZE];
	char *call, *reason;     /* NULL */
	const char *task;        /* the call to which a task's token belongs; NULL */
	struct span data;
	bool always;             /* a tool is allowed for all of the run */
	enum decision_verdict verdict;
	struct work *work;       /* the child process; NULL: it has ended */
	struct loop_timer late;  /* answers a cancel before the run has ended */
	bool died;               /* the child process ended without a result */
	struct outcome outcome;
};

/* ---- in the child process ---- */

/* Who decides: the label of the token, or else its digest; without a token, the user whose
 * server it is. */
static char *
decisions_decider_name(const struct token *token)
{
	if (token->label[0] != '\0')
		return memory_text(token->label);
	while (token->parent != NULL)
		token = token->parent;
	/* A browser's session from the login link has no token of the file; nor has a request
	 * through the Unix socket. */
	if (token->expires != 0 || token->digest[0] == '\0')
		return decision_maker();
	return memory_format("token %.12s", token->digest);
}

static int
decisions_set_status(struct outcome *o, unsigned status)
{
	o->status = status;
	if (o->err.code == ERROR_SYSTEM)
		o->status = 500;
	else if (o->err.code == ERROR_SCHEMA)
		o->status = 400;
	return -1;
}

/* Refuses a decision about a sealed run, which accepts only decisions signed with its own key. */
static int
decisions_sign_decision(struct deciding *d, struct outcome *o)
{
	char sealed_by[DIGEST_SIZE];
	int sealed = deciding_sealed(d, sealed_by, &o->err);

	if (sealed == -1 || deciding_sign(d, NULL, false, &o->err) != 0)
		return decisions_set_status(o, 409);
	if (sealed == 0 || (d->decision.seal != NULL &&
	    strcmp(d->decision.seal->public_key, sealed_by) == 0))
		return 0;
	error_set(&o->err, ERROR_BLOCKED, d->undecided.run_id, "is sealed, and %s: "
	    "awf-ctl --seal=KEYFILE decides about it where the key is", d->decision.seal != NULL ?
	    "the key of this server's user is another" : "this server's user has no key");
	return decisions_set_status(o, 409);
}

/* Encodes the approved data as the recorded input is encoded, with a final LF if that has one. */
static int
decisions_edit_input(struct deciding *d, struct span data, struct error *err)
{
	const struct data *input = &d->results[0];
	struct buffer text = BUFFER_INIT;
	bool is_text = span_type(span_of(input->json.data, input->json.len)) == 's';
	int failed;

	if (!is_text)
		return deciding_edit(d, data.at, data.len, err);
	if (span_type(data) != 's')
		return error_set(err, ERROR_INVALID_INPUT, NULL,
		    "the input of the call is text: 'data' is to be text, too");
	span_decode(data, &text);
	if (!input->no_newline)
		buffer_byte(&text, '\n');
	failed = deciding_edit(d, buffer_string(&text), text.len, err);
	buffer_free(&text);
	return failed;
}

/* Builds the result: one JSON value for a step that reads JSON (-O json), otherwise text. */
static int
decisions_complete_result(struct deciding *d, struct span data, struct error *err)
{
	enum input_form form = deciding_form(d);
	struct buffer bytes = BUFFER_INIT;
	struct state_reader reader;
	int failed;

	if (form == INPUT_JSON) {
		buffer_append(&bytes, data.at, data.len);
	} else if (span_type(data) == '0') {
		return deciding_complete(d, NULL, err);
	} else if (span_type(data) != 's') {
		return error_set(err, ERROR_INVALID_INPUT, NULL,
		    "the result of the call is text: 'data' is to be text, or null");
	} else {
		span_decode(data, &bytes);
		if (form == INPUT_TEXT)
			buffer_byte(&bytes, '\n');
	}
	state_reader_begin(&reader, -1, form, "");
	state_reader_give(&reader, &bytes);
	failed = deciding_complete(d, &reader, err);
	state_reader_free(&reader);
	return failed;
}

/* A client on the Unix socket, without a token, may itself be a step of a run, so its process id is
 * checked; a client with a token is trusted with it. */
static pid_t
decisions_asking_process(const struct request *r)
{
	return r->token == r->server->access.own ? r->connection->peer.pid : getpid();
}

static int
decisions_decide_call(const struct decide_request *q, struct deciding *d, struct outcome *o)
{
	const struct storage *storage = &q->request->server->storage;
	const char *call = q->task != NULL ? q->task : q->call;
	int failed = 0;

	if (deciding_allowed(storage, q->run_id, q->verdict, decisions_asking_process(q->request),
	    &o->err) != 0)
		return decisions_set_status(o, 403);
	if (deciding_open(d, storage, q->run_id, q->verdict, &o->err) != 0)
		return decisions_set_status(o, 409);
	if (deciding_find(d, call, q->task != NULL, &o->err) != 0)
		return decisions_set_status(o, undecided_knows(&d->undecided, call,
		    q->task != NULL) ? 409 : 404);
	if (strlen(d->at->call) < sizeof o->call)
		snprintf(o->call, sizeof o->call, "%s", d->at->call);
	if (decisions_sign_decision(d, o) != 0)
		return -1;
	if (q->verdict == DECISION_APPROVED) {
		failed = deciding_approve(d, &o->err);
		if (failed == 0 && q->data.at != NULL)
			failed = decisions_edit_input(d, q->data, &o->err);
		if (failed == 0 && q->always)
			failed = deciding_always(d, &o->err);
	} else if (q->verdict == DECISION_COMPLETED) {
		failed = decisions_complete_result(d, q->data, &o->err);
	}
	if (failed != 0)
		return decisions_set_status(o, 400);
	d->decision.by = o->by;
	d->decision.reason = q->reason;
	if (deciding_record(d, &o->err) != 0)
		return decisions_set_status(o, 409);
	o->verdict = d->decision.verdict;
	o->next = deciding_next(d);
	return 0;
}

static int
decisions_tell_call(const struct decide_request *q, struct outcome *o)
{
	struct buffer text = BUFFER_INIT;
	struct telling t = { .run_id = q->run_id, .call = q->call, .by = o->by,
		.asker = decisions_asking_process(q->request) };
	struct telling_outcome told;

	span_decode(q->data, &text);
	t.text = span_of(buffer_string(&text), text.len);
	if (telling_send(&q->request->server->storage, &t, &told, &o->err) != 0)
		decisions_set_status(o, told.forbidden ? 403 : told.unknown ? 404 :
		    o->err.code == ERROR_BLOCKED ? 409 : 400);
	else if (strlen(told.call) < sizeof o->call)
		snprintf(o->call, sizeof o->call, "%s", told.call);
	o->next = told.next;
	free(told.call);
	buffer_free(&text);
	return 0;
}

static void
decisions_run_in_worker(void *context, void *answer)
{
	const struct decide_request *q = context;
	struct outcome *o = answer;
	struct deciding d = DECIDING_INIT;
	char *by = decisions_decider_name(q->request->token);
	sigset_t none;

	o->status = 200;
	snprintf(o->by, sizeof o->by, "%s", by);
	free(by);
	if (q->verb->tells) {
		decisions_tell_call(q, o);
		return;
	}
	if (!q->verb->cancels) {
		decisions_decide_call(q, &d, o);
		deciding_close(&d);
		return;
	}
	/* Unblock signals: the child only waits, and any signal may end it. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (cancel_run(&q->request->server->storage, q->run_id, o->by, &o->err) != 0)
		decisions_set_status(o, 409);
}

static void
decisions_store_outcome(void *context, const void *answer)
{
	struct decide_request *q = context;

	q->work = NULL;
	loop_unset(&q->request->server->loop, &q->late);
	q->died = answer == NULL;
	if (answer != NULL)
		memcpy(&q->outcome, answer, sizeof q->outcome);
	request_wake(q->request);
}

/* The run was told to cancel but has not ended yet: answer the client without waiting longer. */
static void
late_due(struct loop_timer *timer)
{
	struct decide_request *q = (struct decide_request *)(void *)((char *)timer -
	    offsetof(struct decide_request, late));

	q->outcome.status = 202;
	request_wake(q->request);
}

static void
free_request(void *state)
{
	struct decide_request *q = state;

	if (q->work != NULL)
		work_abandon(q->work);
	loop_unset(&q->request->server->loop, &q->late);
	free(q->call);
	free(q->reason);
	free(q);
}

/* Reads the request's parameters; false: it was refused. */
static bool
read_body(struct request *r, struct decide_request *q)
{
	struct span values[MEMBERS];
	const struct verb *v = verbs;

	if (!body_read(r, members, MEMBERS, values))
		return false;
	while (v->name != NULL && !span_is(values[DECISION], v->name))
		v++;
	if (v->name == NULL) {
		request_error(r, 400, "invalid_input",
		    "'decision' is to be approve, deny, complete, heartbeat, tell or cancel");
		return false;
	}
	q->verb = v;
	q->verdict = v->verdict;
	for (size_t i = CALL; i < MEMBERS; i++)
		if (values[i].at != NULL && (v->takes & TAKES(i)) == 0) {
			request_error(r, 400, "invalid_input", "%s takes no '%s'", v->name, members[i].name);
			return false;
		}
	if ((v->takes & TAKES(CALL)) && values[CALL].at == NULL) {
		request_error(r, 400, "invalid_input", "'call' is missing: which one %s is about", v->name);
		return false;
	}
	if (v->tells && span_type(values[DATA]) != 's') {
		request_error(r, 400, "invalid_input", "'data' is to be text: what is told");
		return false;
	}
	if (v->verdict == DECISION_COMPLETED && !v->cancels && !v->tells) {
		bool failed = span_true(values[FAILED]);

		if (failed == (values[DATA].at != NULL)) {
			request_error(r, 400, "invalid_input", failed ? "a call that failed has no 'data'" :
			    "'data' is missing: the result, or null");
			return false;
		}
		if (!failed && values[REASON].at != NULL) {
			request_error(r, 400, "invalid_input", "'reason' goes with 'failed' alone");
			return false;
		}
		if (failed)
			q->verdict = DECISION_FAILED;
	}
	q->call = span_text(values[CALL]);
	q->reason = span_text(values[REASON]);
	q->data = values[DATA];
	q->always = span_true(values[ALWAYS]);
	return true;
}

/* Whether a run is in the queue. Such a run has no transcript yet, so only its whole id is
 * accepted. */
static bool
is_queued(struct request *r, const char *name, char run_id[ID_SIZE])
{
	struct queued *list = NULL;
	size_t count = 0;
	bool found = false;

	if (!id_valid(name, strlen(name)) ||
	    queued_list(&r->server->storage, &list, &count, NULL) != 0)
		return false;
	for (size_t i = 0; i < count; i++)
		found |= strcmp(list[i].run_id, name) == 0 && token_names(r->token, list[i].name);
	queued_free(list, count);
	if (found)
		memcpy(run_id, name, ID_SIZE);
	return found;
}

/* Whether the server may decide about the run; false: the request was refused. */
static bool
decisions_find_run(struct request *r, struct decide_request *q)
{
	const char *name = request_segment(r, 0);
	char of_task[ID_SIZE];
	struct error err;

	if (!(q->verb->cancels && is_queued(r, name, q->run_id)) && !request_run(r, name, q->run_id))
		return false;
	if (origin_check_own(&r->server->storage, q->run_id, &err) != 0) {
		request_error(r, 403, "forbidden", "%s: %s", err.place, err.message);
		return false;
	}
	q->task = q->call != NULL ? deciding_task(q->call, of_task) : NULL;
	if (q->task != NULL && strcmp(of_task, q->run_id) != 0) {
		request_error(r, 400, "invalid_input", "the task is one of another run");
		return false;
	}
	return true;
}

static void
decisions_answer_request(struct request *r, const struct decide_request *q)
{
	const struct outcome *o = &q->outcome;
	struct buffer json = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_string(&w, KEY_RUN_ID, q->run_id);
	if (o->call[0] != '\0')
		writer_member_string(&w, KEY_CALL, o->call);
	writer_member_string(&w, KEY_DECISION, q->verb->cancels ? "cancelled" :
	    q->verb->tells ? "told" : decision_word(o->verdict));
	if (o->by[0] != '\0')
		writer_member_string(&w, KEY_BY, o->by);
	if (!q->verb->cancels && o->verdict != DECISION_HEARTBEAT)
		writer_member_string(&w, "goes_on", deciding_next_word(o->next));
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_json(r, o->status, &json);
}

void
answer_decision(struct request *r)
{
	struct decide_request *q = r->state;
	struct error err;

	if (q != NULL && q->died) {
		error_set(&err, ERROR_SYSTEM, q->run_id, "the process that was to decide has died");
		request_fail(r, &err);
	} else if (q != NULL && q->outcome.status < 400) {
		decisions_answer_request(r, q);
	} else if (q != NULL && q->outcome.status == 500) {
		request_fail(r, &q->outcome.err);
	} else if (q != NULL) {
		const struct outcome *o = &q->outcome;

		request_error(r, o->status, o->status == 400 ? "invalid_input" : o->status == 403 ?
		    "forbidden" : o->status == 404 ? "not_found" : "conflict", "%s%s%s", o->err.place, o->err.place[0] != '\0' ? ": " : "",
		    o->err.message);
	}
	if (q != NULL)
		return;

	q = memory_zero(1, sizeof *q);
	q->request = r;
	q->late.due = late_due;
	r->state = q;
	r->free_state = free_request;
	if (!read_body(r, q) || !decisions_find_run(r, q))
		return;
	q->work = work_start(&r->server->works, decisions_run_in_worker, q, sizeof (struct outcome),
	    decisions_store_outcome);
	if (q->verb->cancels)
		loop_set(&r->server->loop, &q->late, CANCEL_ANSWER_MS);
	request_wait(r);
}
