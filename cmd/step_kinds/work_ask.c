/*
 * A question to an outside program (--ask): the call is recorded with its question, and waits for
 * an answer on its socket (decide/open_question.h). If an answer does not match the schema, or
 * --accept rejects it, its sender gets the reason, and the next answer may be better. An accepted
 * answer is recorded before its sender is told.
 *
 * The period --ask-grace runs while nobody is connected; after it, the call ends as one that waits
 * for its result. A resume uses a decision that was made meanwhile if it is acceptable, and
 * otherwise asks again.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "decide/decision.h"
#include "decide/open_question.h"
#include "definitions/output_schema.h"
#include "io/connection_limits.h"
#include "io/file.h"
#include "io/polling.h"
#include "json/line_input.h"
#include "proc/message.h"
#include "proc/process.h"
#include "step_call/step_call.h"
#include "step_call/step_files.h"
#include "step_kinds/kinds.h"
#include "step_kinds/template.h"
#include "transcript/event_keys.h"
#include "workspace/sandboxed_times.h"

#define REASON_SHOWN 1000 /* bytes of the reason from --accept that are shown */

struct client {
	int fd;                  /* -1: none */
	struct line_input input;
	int64_t until;           /* deadline for the rest of a line that has begun; 0: none */
};

struct asking {
	struct step_call *call;
	struct connection_limits limits;
	struct client *clients;  /* `count` clients, in the order in which they came */
	size_t count;
	int64_t refused;         /* answers refused so far */
	bool over;               /* the call has ended */
};

/* What is loaded for the step. */
struct ask_work {
	struct template question;
	struct output_schema schema; /* of the answer */
};

/* The question of a call. */
struct ask_call {
	struct buffer question;      /* empty: none */
	char token[QUESTION_TOKEN_SIZE];
	int listener;                /* the socket for answers (decide/open_question.h); -1: none */
	int answerer;                /* the client whose answer was accepted, which must be told;
	                                -1: none */
};

static bool
ask_asked(const struct step_options *o)
{
	return o->question.text != NULL;
}

static int
ask_load(struct step *s, struct error *err)
{
	struct ask_work *a = memory_zero(1, sizeof *a);

	s->definition.state = a;
	if (s->options.output_schema != NULL &&
	    output_schema_load(&a->schema, s->options.output_schema, NULL, err) == -1)
		return -1;
	if (template_load(&a->question, s->options.question.text, "--ask", err) == -1)
		return -1;
	/* The outside program that answers may be able to do anything. */
	if (a->question.file != NULL && sandboxed_times_have_file(a->question.file))
		return error_set(err, ERROR_DEFINITION, a->question.file, "a sandboxed program may have written "
		    "it, and who is asked would follow it in no sandbox: read it, then touch it");
	return 0;
}

static void
ask_unload(struct step *s)
{
	struct ask_work *a = s->definition.state;

	template_free(&a->question);
	output_schema_free(&a->schema);
	free(a);
}

static void
ask_define(const struct step *s, struct writer *w)
{
	const struct ask_work *a = s->definition.state;

	if (s->options.output.into != NULL)
		writer_string(w, s->options.output.into);
	writer_string(w, "--ask");
	writer_string(w, a->question.text);
	template_define_inputs(&a->question, s, w);
	writer_string(w, a->schema.text.len > 0 ? a->schema.text.data : NULL);
	writer_string(w, s->options.question.accept.text);
}

static void
ask_files(const struct step *s, struct step_files *f)
{
	const struct ask_work *a = s->definition.state;

	step_files_name(f, a->question.file);
	step_files_name(f, a->schema.path);
}

static int
ask_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	const struct ask_work *a = s->definition.state;
	struct writer w = step_describe_begin(out);

	(void)err;
	writer_member_string(&w, "ask", a->question.text);
	step_describe_end(&w, item);
	return 0;
}

static void
ask_label(const struct step *s, struct buffer *out)
{
	(void)s;
	buffer_text(out, "a question");
}

/* Builds the question; a missing value is the call's error. */
static void
ask_prepare(struct step_call *call)
{
	const struct ask_work *w = call->step->definition.state;
	struct ask_call *a = memory_zero(1, sizeof *a);

	a->listener = a->answerer = -1;
	call->state = a;
	template_render(&w->question, call->step, call->item, &a->question, &call->end.error);
}

static void
ask_record_work(const struct step_call *call, struct writer *w)
{
	const struct step *s = call->step;
	const struct ask_work *work = s->definition.state;
	const struct ask_call *a = call->state;

	step_write_timeout(s, w);
	if (a == NULL || a->question.len == 0)
		return;
	writer_member_object(w, KEY_QUESTION);
	writer_key(w, KEY_PROMPT);
	writer_bytes(w, a->question.data, a->question.len);
	if (work->schema.schema != NULL)
		writer_member_buffer(w, KEY_SCHEMA, &work->schema.text);
	writer_member_string(w, KEY_ACCEPT, s->options.question.accept.text);
	writer_object_end(w);
}

/* Opens the socket: from now on answers can arrive. */
static void
ask_listen(const struct step_call *call, struct ask_call *a)
{
	const struct run *run = call->step->place.run;

	if (step_replays(call->step) || !run->keep_transcript || run->transcript.masked)
		return;
	question_token(run->id, call->started, a->token);
	a->listener = question_open(run->directory, a->token);
}

/* Called before the start is recorded, so that anybody who reads the question can answer it. */
static void
ask_open(struct step_call *call)
{
	if (call->verdict.says == VERDICT_DO)
		ask_listen(call, call->state);
}

static void
ask_close_question(struct step_call *call, struct ask_call *a)
{
	question_close(call->step->place.run->directory, a->token, &a->listener);
}

/* ---- answers ---- */

/* Whether --accept accepts the call's result: 1; 0, and *why is the reason; -1: a system error, or
 * the call was cancelled. */
static int
ask_condition(struct step_call *call, struct buffer *why, struct error *err)
{
	struct step *s = call->step;
	struct buffer line = BUFFER_INIT;
	char *argv[4];
	struct subprocess process = { .argv = argv, .environment = s->place.environment.list };
	int result;

	if (s->options.question.accept.text == NULL)
		return 1;
	step_put_results(call, NULL, &line);
	process.input = line.data;
	process.input_len = line.len;
	process_shell(argv, s->options.question.accept.text);
	result = subprocesses_run(&process, 1, &s->place.interrupts, err);
	if (result == 0 && process.error.code == ERROR_NONE) {
		result = 1;
	} else if (result == 0 && process.error.code != ERROR_EXIT_STATUS) {
		call->end.error = process.error;
		result = -1;
	} else if (result == 0) {
		struct span said = span_trim(span_of(buffer_string(&process.errors), process.errors.len));

		if (said.len > REASON_SHOWN)
			said = span_of(said.at + said.len - REASON_SHOWN, REASON_SHOWN);
		if (said.len > 0)
			buffer_append(why, said.at, said.len);
		else if (process.exit_code == 1)
			buffer_text(why, "--accept refuses it");
		else
			buffer_format(why, "the condition of --accept ended with status %d",
			    process.exit_code);
	}
	subprocess_free(&process);
	buffer_free(&line);
	return result;
}

/* Whether the call's result matches the schema and is accepted; same values as ask_condition(). */
static int
check_result(struct step_call *call, struct buffer *why, struct error *err)
{
	const struct buffer *json = &call->end.results[0].json;

	const struct ask_work *work = call->step->definition.state;

	if (output_schema_check(&work->schema, span_of(json->data, json->len), why) != 0)
		return 0;
	return ask_condition(call, why, err);
}

/* Whether a decision that was made while the question was not open may be the result. */
static int
ask_taken(struct step_call *call, struct error *err)
{
	const struct recalled *r = &call->verdict.recalled;
	bool decision = span_type(span_path(r->completed.view.payload, KEY_APPROVAL, KEY_DECIDES,
	    NULL)) == 's';
	struct buffer why = BUFFER_INIT;
	int taken;

	/* A decision that an earlier attempt used was checked there. */
	if (!decision || step_replays(call->step) || call->end.error.code != ERROR_NONE ||
	    call->end.result_count != 1)
		return 1;
	taken = check_result(call, &why, err);
	if (taken == 0) {
		struct buffer label = BUFFER_INIT;

		step_label(call->step, call->item, call->index, &label);
		message_print("awf-step", "%s: the answer that was given is not taken, and the question is "
		    "asked again: %s", buffer_string(&label), buffer_string(&why));
		buffer_free(&label);
		step_forget_results(&call->end);
		buffer_clear(&call->end.approval);
		call->end.reused = false;
	}
	buffer_free(&why);
	return taken == -1 && call->end.error.code != ERROR_NONE ? 1 : taken;
}

/* Tells a client whether its answer was accepted. If it has not read an earlier message, it is
 * disconnected: nothing must wait for it. */
static void
ask_send_verdict(int fd, const struct error *refused, const char *event_id)
{
	struct buffer line = BUFFER_INIT;

	question_write_verdict(&line, refused, event_id);
	if (write(fd, line.data, line.len) != (ssize_t)line.len)
		shutdown(fd, SHUT_RDWR);
	buffer_free(&line);
}

/* Makes an answer the result of the call, or refuses it. -1: a system error. */
static int
ask_apply_answer(struct asking *a, struct client *client, struct span line, struct error *err)
{
	struct step_call *call = a->call;
	struct step_end *end = &call->end;
	const struct step *s = call->step;
	struct data data = { BUFFER_INIT, false, false };
	struct buffer why = BUFFER_INIT;
	struct open_question_answer answer;
	struct error refused = ERROR_INIT;
	char *by, *reason;
	int taken = 0;

	if (question_read_answer(line, &answer, &by, &reason, &refused)) {
		struct decision d = { .by = by, .reason = reason, .verdict = answer.data.at != NULL ?
			DECISION_COMPLETED : DECISION_FAILED };

		taken = 1;
		if (answer.data.at != NULL) {
			scan_minify(answer.data, &data.json);
			data.no_newline = answer.no_newline && span_type(answer.data) == 's';
			step_add_result(end, &data);
			taken = check_result(call, &why, err);
		} else {
			decision_error(&d, &end->error);
		}
		if (taken == 1)
			step_note_decision(call, &d);
		else
			step_forget_results(end);
		if (taken == 0)
			error_set(&refused, ERROR_SCHEMA, NULL, "%.*s", (int)strcspn(buffer_string(&why), "\n"),
			    buffer_string(&why));
	}
	if (taken == 0)
		ask_send_verdict(client->fd, &refused, NULL);
	if (taken == 0 && s->options.question.max_answers > 0 && ++a->refused == s->options.question.max_answers) {
		error_set(&end->error, ERROR_SCHEMA, NULL, "no answer was taken in %lld: %s",
		    (long long)a->refused, refused.message);
		a->over = true;
	} else if (taken != 0) {
		a->over = true;
	}
	if (taken == 1) {
		((struct ask_call *)call->state)->answerer = client->fd;
		client->fd = -1;
	}
	free(by);
	free(reason);
	buffer_free(&why);
	return taken == -1 && end->error.code == ERROR_NONE ? -1 : 0;
}

/* Tells the client that its answer was accepted, after the end of the call has been recorded. */
static void
ask_ended(struct step_call *call, const struct event *completed)
{
	struct ask_call *a = call->state;
	struct error late = ERROR_INIT;

	if (a == NULL || a->answerer == -1)
		return;
	if (call->end.overruled)
		error_set(&late, ERROR_BLOCKED, NULL, "it was decided meanwhile");
	ask_send_verdict(a->answerer, call->end.overruled ? &late : NULL, completed->id);
	file_close(&a->answerer);
}

static void
ask_close(struct step_call *call)
{
	struct ask_call *a = call->state;

	if (a == NULL)
		return;
	file_close(&a->answerer);
	ask_close_question(call, a);
	buffer_free(&a->question);
	free(a);
}

/* ---- waiting ---- */

static void
ask_drop_client(struct asking *a, size_t number)
{
	struct client *client = &a->clients[number];

	line_input_free(&client->input);
	file_close(&client->fd);
	memmove(client, client + 1, (--a->count - number) * sizeof *client);
}

/* Disconnects a client and tells it the reason. */
static void
send_away(struct asking *a, size_t number, const char *why)
{
	struct error refused = ERROR_INIT;

	error_set(&refused, ERROR_BLOCKED, NULL, "%s", why);
	ask_send_verdict(a->clients[number].fd, &refused, NULL);
	ask_drop_client(a, number);
}

/* If there are too many clients, disconnects the oldest that has sent nothing, or else the
 * oldest. */
static void
make_room(struct asking *a)
{
	size_t number = 0;

	if (a->count < a->limits.connections)
		return;
	while (number < a->count && a->clients[number].until != 0)
		number++;
	send_away(a, number < a->count ? number : 0, "too many are connected, and others came later");
}

static void
accept_client(struct asking *a)
{
	int fd = question_accept(((const struct ask_call *)a->call->state)->listener);
	struct client *client;

	if (fd == -1)
		return;
	make_room(a);
	client = &a->clients[a->count++];
	*client = (struct client){ .fd = fd };
	line_input_begin(&client->input, fd, "an answer");
}

/* Disconnects all other clients, also those that are about to connect: they are too late. */
static void
turn_away(struct asking *a)
{
	do {
		while (a->count > 0)
			send_away(a, a->count - 1, "does not wait any more");
		accept_client(a);
	} while (a->count > 0);
}

/* Whether the line that a client has begun is too long, by itself or together with those of
 * others. */
static bool
is_too_long(const struct asking *a, const struct client *client)
{
	size_t all = 0;

	for (size_t i = 0; i < a->count; i++)
		all += line_input_unfinished(&a->clients[i].input);
	return line_input_unfinished(&client->input) > a->limits.body_bytes || all > a->limits.bodies_bytes;
}

/* Disconnects clients whose line is not complete in time; returns the next deadline, 0: none. */
static int64_t
ask_expire_clients(struct asking *a)
{
	int64_t now = clock_monotonic(), next = 0;

	for (size_t i = a->count; i-- > 0;) {
		int64_t until = a->clients[i].until;

		/* First read what has arrived while others were served. */
		if (until != 0 && until <= now && poll_now(a->clients[i].fd, POLLIN) == 0)
			send_away(a, i, "the answer did not come in time");
		else if (until != 0 && (next == 0 || until < next))
			next = until;
	}
	return next;
}

/* Reads from a client and handles its answer. */
static int
ask_serve_client(struct asking *a, size_t number, struct error *err)
{
	struct client *client = &a->clients[number];
	ssize_t got = line_input_read(&client->input);
	const char *line;
	size_t len;
	int result = 0, taken = 0;

	while (!a->over && result == 0 &&
	    (taken = line_input_take(&client->input, &line, &len)) == 1)
		result = ask_apply_answer(a, client, span_of(line, len), err);
	if (result != 0 || a->over)
		return result;
	if (line_input_unfinished(&client->input) == 0)
		client->until = 0;
	else if (client->until == 0)
		client->until = clock_monotonic() + a->limits.body_ms;
	if (got == 0 || (got == -1 && errno != EAGAIN && errno != EINTR))
		ask_drop_client(a, number);
	else if (taken == -1 || is_too_long(a, client))
		send_away(a, number, "the answer is too large");
	return result;
}

/* Serves clients until an answer is accepted, or nobody was connected for the grace period. -1: a
 * system error. */
static int
wait_for_answer(struct asking *a, struct error *err)
{
	struct step_call *call = a->call;
	const struct ask_call *asked = call->state;
	struct step *s = call->step;
	struct pollfd *fds = memory_zero(2 + a->limits.connections, sizeof *fds);
	int64_t alone = clock_monotonic(), next = 0;
	int result = 0;

	while (!a->over) {
		size_t count = a->count;

		fds[1] = (struct pollfd){ .fd = asked->listener, .events = POLLIN };
		for (size_t i = 0; i < count; i++)
			fds[2 + i] = (struct pollfd){ .fd = a->clients[i].fd, .events = POLLIN };
		if (interrupts_wait(&s->place.interrupts, fds, 2 + count,
		    count > 0 ? next : alone + s->options.question.grace_ms, &call->end.error) == -1)
			break;
		for (size_t i = count; i-- > 0 && !a->over && result == 0;)
			if (fds[2 + i].revents != 0)
				result = ask_serve_client(a, i, err);
		if (result != 0)
			break;
		if (!a->over)
			next = ask_expire_clients(a);
		if (!a->over && fds[1].revents != 0)
			accept_client(a);
		if (count > 0 && a->count == 0)
			alone = clock_monotonic();
		if (a->count == 0 && count == 0 && clock_monotonic() >= alone + s->options.question.grace_ms)
			break;
	}
	free(fds);
	return result;
}

static int
ask_run(struct step_call *call, int repeats, struct error *err)
{
	const struct ask_work *work = call->step->definition.state;
	struct ask_call *asked = call->state;
	struct asking a = { .call = call, .limits = connection_limits_of(CONNECTION_ANSWER) };
	int result = 0;

	(void)repeats;
	a.clients = memory_zero(a.limits.connections, sizeof *a.clients);
	/* The decision was not accepted: ask again. */
	if (asked->listener == -1)
		ask_listen(call, asked);
	if (asked->listener != -1) {
		/* The user's signing key, if there is one, signs answers given here like later
		 * decisions. */
		result = seal_key_find(&call->end.seal, NULL, false, err) < 0 ? -1 : 0;
		if (result == 0)
			result = wait_for_answer(&a, err);
	}
	turn_away(&a);
	free(a.clients);
	ask_close_question(call, asked);
	if (result == 0 && !a.over && call->end.error.code == ERROR_NONE) {
		seal_key_forget(&call->end.seal);
		step_wait(call, WAITING_COMPLETION, work->schema.schema != NULL ? "value" : "text", 0);
	}
	return result;
}

const struct work work_ask = {
	.kind = "question",
	.asks = true,
	.asked = ask_asked,
	.load = ask_load,
	.define = ask_define,
	.files = ask_files,
	.describe = ask_describe,
	.prepare = ask_prepare,
	.label = ask_label,
	.judge = step_judge_decision,
	.open = ask_open,
	.record_work = ask_record_work,
	.taken = ask_taken,
	.run = ask_run,
	.ended = ask_ended,
	.close = ask_close,
	.unload = ask_unload,
};
