/*
 * The connection to a question is non-blocking: what cannot be written yet of an answer is kept,
 * and the reply is read as it arrives. No function here waits.
 */
#include "mcp/answers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "mcp/approvals.h"
#include "mcp/status.h"

#define ANSWERED_OTHERWISE "this question has an answer already, which is another one: nothing was " \
	"changed"

/* Connects to questions, which stay open while somebody is connected. */
static void
connect_gates(struct leading *l)
{
	for (size_t i = 0; i < l->gate_count; i++) {
		struct gate *g = l->gates[i];
		struct error none;
		char *directory;

		if (g->over || g->fd != -1 || gate_answered(g))
			continue;
		directory = storage_run_directory(&l->storage, g->run->run_id);
		g->fd = question_connect(directory, g->token, &none);
		if (g->fd != -1 && fcntl(g->fd, F_SETFL, O_NONBLOCK) == -1)
			file_close(&g->fd);
		if (g->fd != -1)
			line_input_begin(&g->input, g->fd, "a question");
		free(directory);
	}
}

/* Handles a call's reply, which says whether it accepts an answer. */
static void
send_answer(struct gate *g)
{
	ssize_t sent = g->answer.len > 0 ? write(g->fd, g->answer.data, g->answer.len) : 0;

	if (sent > 0)
		buffer_drop(&g->answer, (size_t)sent);
}

struct gate *
leading_find_gate(const struct leading *l, const char *token, struct error *err)
{
	const struct led *led = NULL;

	for (size_t i = 0; i < l->gate_count; i++)
		if (strcmp(l->gates[i]->token, token) == 0)
			return l->gates[i];
	for (size_t i = 0; i < l->count && led == NULL; i++)
		if (strncmp(l->list[i]->run_id, token, 8) == 0 && token[8] == '-')
			led = l->list[i];
	if (led != NULL)
		error_set(err, ERROR_BLOCKED, token, "no question of run %.8s has this token: copy the "
		    "continueToken of a pending question exactly (wait_workflow tells them)", led->run_id);
	else
		error_set(err, ERROR_BLOCKED, token, "is a token of no run that this session leads: "
		    "resume_session with the run takes one over");
	return NULL;
}

int
leading_answer(struct leading *l, struct gate *g, struct span answer, struct rpc_call *call,
    struct error *err)
{
	const char *taken = g->given[0] != '\0' ? g->given : g->sha256;
	struct open_question_answer given = { .by = l->client };
	struct buffer json = BUFFER_INIT;
	char sha256[DIGEST_SIZE];
	int result = 0;

	scan_minify(answer, &json);
	digest_sha256(json.data, json.len, sha256);
	if (gate_answered(g) && strcmp(taken, sha256) != 0)
		result = error_set(err, ERROR_BLOCKED, g->token, ANSWERED_OTHERWISE);
	else if (!gate_answered(g) && (g->over || g->fd == -1))
		result = error_set(err, ERROR_BLOCKED, g->token, "nobody waits for the answer to "
		    "this question any more: resume_session with run %s returns the current "
		    "ones", g->led->run_id);
	else if (!gate_answered(g)) /* after the answer the shell goes on reading the workflow's
	                               file, so that must be unchanged */
		result = workflow_check(g->led->workflow, err);
	if (result == 0) {
		struct waiter *w = leading_wait(l, call, g->led);

		/* If the reply to an answer was lost, the client sends the same answer again, to
		 * find out how the run goes on. */
		w->answered = g;
		if (!gate_answered(g)) {
			given.data = span_of(json.data, json.len);
			question_write_answer(&g->answer, &given);
			send_answer(g);
			memcpy(g->given, sha256, sizeof g->given);
		}
	}
	buffer_free(&json);
	return result;
}

void
leading_cancelled(struct leading *l, struct span id)
{
	struct error none;

	for (struct waiter *w = l->waiters; w != NULL; w = w->next)
		if (w->call.id != NULL && id.len == strlen(w->call.id) &&
		    memcmp(id.at, w->call.id, id.len) == 0) {
			if (w->cancels)
				leading_cancel(l, w->led, &none);
			waiter_drop(l, w);
			return;
		}
}

/* Handles the refusal of an answer: the request that has sent it is answered with the reason. */
static void
answers_refuse_waiters(struct leading *l, struct gate *g, const struct error *err)
{
	for (struct waiter *w = l->waiters, *next; w != NULL; w = next) {
		next = w->next;
		if (w->answered == g) {
			status_refused(&w->call, err, g->over ? NULL : g);
			waiter_drop(l, w);
		}
	}
	free(g->refused);
	g->refused = memory_text(err->message);
}

/* Handles a call that has closed the connection without a reply to the answer: it may have accepted
 * another answer. The transcript will tell when it has the call's end. */
static void
find_out(struct leading *l, struct gate *g)
{
	struct error err = ERROR_INIT;

	if (!g->over && !led_has_ended(g->led) && g->run->end != RUN_DIED)
		return;
	g->over = true;
	if (g->sha256[0] == '\0')
		error_set(&err, ERROR_SYSTEM, NULL, QUESTION_GONE);
	else if (strcmp(g->sha256, g->given) != 0)
		error_set(&err, ERROR_BLOCKED, g->token, ANSWERED_OTHERWISE);
	if (err.code != ERROR_NONE)
		answers_refuse_waiters(l, g, &err);
	g->given[0] = '\0';
}

/* Reads what a call has replied. */
static void
read_gate(struct leading *l, struct gate *g)
{
	struct error err = ERROR_INIT;
	bool answering = g->given[0] != '\0';
	const char *line;
	ssize_t got;
	size_t len;

	if (g->fd == -1) {
		if (answering)
			find_out(l, g);
		return;
	}
	send_answer(g);
	got = line_input_read(&g->input);
	if (line_input_take(&g->input, &line, &len) == 1 && answering) {
		if (question_read_verdict(span_of(line, len), &err) == 0) {
			memcpy(g->sha256, g->given, sizeof g->sha256);
			g->over = true;
			gate_disconnect(g);
		} else if (err.code == ERROR_BLOCKED) {
			/* Another answer, or the same one by another client, was accepted
			 * before. */
			gate_disconnect(g);
			find_out(l, g);
			return;
		} else {
			answers_refuse_waiters(l, g, &err);
		}
		g->given[0] = '\0';
	} else if (got == 0 || (got == -1 && errno != EAGAIN && errno != EINTR)) {
		gate_disconnect(g);
		if (answering)
			find_out(l, g);
	}
}

/* Whether a request can be answered now. */
static bool
is_done(const struct leading *l, const struct waiter *w)
{
	if (clock_monotonic() >= w->deadline)
		return true;
	if (w->answered != NULL && w->answered->given[0] != '\0')
		return false;
	if (led_has_ended(w->led) || (!w->for_end && led_attends(l, w->led)))
		return true;
	for (size_t i = 0; i < l->gate_count && !w->for_end; i++)
		if (l->gates[i]->led == w->led && gate_pending(l->gates[i]))
			return true;
	return false;
}

static void
answer_waiters(struct leading *l)
{
	for (struct waiter *w = l->waiters, *next; w != NULL; w = next) {
		struct buffer json = BUFFER_INIT;

		next = w->next;
		if (w->told < w->led->done) {
			w->told = w->led->done;
			rpc_progress(&w->call, w->told, w->led->last);
		}
		if (w->led->run == NULL && w->led->failed.code != ERROR_NONE) {
			/* The run could not be started. */
			status_refused(&w->call, &w->led->failed, NULL);
			waiter_drop(l, w);
		} else if (is_done(l, w) && !approvals_ask(l, w)) {
			status_write(l, w->led, w->takes_over, &json);
			rpc_tool_result(&w->call, &json, false);
			buffer_free(&json);
			waiter_drop(l, w);
		}
	}
}

void
answers_step(struct leading *l)
{
	for (size_t i = 0; i < l->gate_count; i++)
		read_gate(l, l->gates[i]);
	connect_gates(l);
	answer_waiters(l);
}

