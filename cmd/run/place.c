/*
 * Each of these functions does nothing for a run at top level; for a run inside of another, it is a
 * step of a child's start or end (cmd/run_resume/child.h). So callers need not distinguish. To
 * compare standard input with the recorded input, it is read; then the workflow gets a descriptor
 * with the same bytes.
 */
#include "run/place.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/patience.h"
#include "io/terminal.h"
#include "model/excerpt.h"
#include "proc/descendants.h"
#include "proc/interrupts.h"
#include "start/supervise.h"

#define GIVEN_SHOWN ((size_t)40) /* bytes of an input in a question */

static const char *
place_script_of(const struct workflow *workflow)
{
	return workflow->script >= 0 ? workflow->argv[workflow->script] : NULL;
}

/* A child that keeps no transcript is told from others of its words by its input alone, also if it is killed: what
 * has arrived by its start is recorded there, if it is all. begin: how it begins. */
static void
note_input(struct place *p, const struct place_spec *spec, struct buffer *begin)
{
	if (!spec->unrecorded || spec->no_input || redactor_redaction(&p->redactor) != NULL)
		return;
	if (p->nested.way == NESTED_REPLAY)
		p->given = p->nested.given_early;
	else
		input_peek(STDIN_FILENO, &p->given, begin, GIVEN_SHOWN);
}

static struct child_start
place_describe_start(const struct place *p, const struct place_spec *spec)
{
	const struct workflow *workflow = spec->workflow;

	return (struct child_start){
		.argv = workflow->argv,
		.inputs = spec->inputs,
		.workflow_sha256 = *workflow->sha256 != '\0' ? workflow->sha256 : NULL,
		.timeout_ms = spec->timeout_ms,
		.detached = spec->detached,
		.no_transcript = spec->unrecorded,
		.given = p->given.sha256[0] != '\0' ? &p->given : NULL,
		.script = spec->script,
	};
}

/* A person must say whether the call is a recorded one. Records this question as the end of the
 * call, of which nothing was run. Returns -1. */
static int
record_question(struct place *p, const struct place_spec *spec, struct error *err)
{
	const struct child_recorded none = { "", NULL };
	const struct child_start start = place_describe_start(p, spec);
	const char *compared = p->nested.recalled.compared;
	const struct error question = *err;
	const struct child_end end = { .error = &question, .exit_code = -1,
		.compared_with = *compared != '\0' ? compared : NULL };

	p->asked = child_started(&p->child, &start, &none, err) == 0 &&
	    child_completed(&p->child, &end, err) == 0;
	return -1;
}

/* Several that ask differ in their input alone: the question shows how it begins. The record does not, as nothing of
 * this child is kept. */
static void
show_input(const struct buffer *begin, struct error *err)
{
	char message[sizeof err->message];
	struct buffer shown = BUFFER_INIT;

	excerpt_text(&shown, begin->data, begin->len, GIVEN_SHOWN);
	snprintf(message, sizeof message, "%s", err->message);
	if (begin->len > 0 && strlen(message) + shown.len + sizeof "given \"\": " < sizeof message)
		snprintf(err->message, sizeof err->message, "given \"%s\": %.*s", buffer_string(&shown),
		    (int)(sizeof message - sizeof "given \"\": "), message);
	buffer_free(&shown);
}

int
place_find(struct place *p, const struct place_spec *spec, struct error *err)
{
	const struct child_start start = place_describe_start(p, spec);
	struct buffer begin = BUFFER_INIT;
	int input = spec->no_input ? -1 : STDIN_FILENO;
	struct child *c = &p->child;
	char *workspace;
	int failed;

	id_new(p->completed);
	p->nested_in = run_in_environment();
	if (!p->nested_in) {
		if (spec->id != NULL)
			memcpy(p->id, spec->id, sizeof p->id);
		else
			id_new(p->id);
		return lineage_add(&p->lineage, p->id, place_script_of(spec->workflow), err);
	}
	if (child_enter(c, spec->name, place_script_of(spec->workflow), spec->tried, err) != 0 ||
	    redactor_join(&p->redactor, &c->parent, err) != 0)
		return -1;
	workspace = run_workspace(&c->parent);
	failed = marks_find(&c->marks, c->parent.directory, workspace, spec->workspace, err);
	free(workspace);
	if (failed == -1)
		return -1;
	child_define(c, &start);
	failed = nested_find(&p->nested, c, &input, err);
	if (nested_goes_on(&p->nested))
		p->around = memory_text(c->parent.directory);
	/* Standard input was read to compare it: give the workflow the same bytes. */
	if (input > STDIN_FILENO) {
		dup2(input, STDIN_FILENO);
		close(input);
	}
	if (failed == 0 || err->code == ERROR_WAITING)
		note_input(p, spec, &begin);
	if (failed != 0 && err->code == ERROR_WAITING) {
		record_question(p, spec, err);
		if (err->code == ERROR_WAITING)
			show_input(&begin, err);
	}
	buffer_free(&begin);
	if (failed != 0)
		return -1;

	/* A child that is resumed keeps its id; one that is taken as done beside it is none. */
	if (p->nested.way != NESTED_NEW && p->nested.way != NESTED_FORK && !p->nested.recalled.beside) {
		memcpy(c->run_id, p->nested.run_id, sizeof c->run_id);
		memcpy(c->lineage.runs[c->lineage.count - 1].run_id, c->run_id, sizeof c->run_id);
	}
	memcpy(p->id, c->run_id, sizeof p->id);
	p->lineage = c->lineage;
	/* The time in which a workflow must end is shorter for a child than for its parent. */
	descendants_hurry(HURRY_FIRST_MS + (int)(lineage_depth(&p->lineage) - 1) * HURRY_MORE_MS);
	return 0;
}

void
place_asks(struct place *p, const struct place_spec *spec)
{
	struct error err;

	error_set(&err, ERROR_WAITING, NULL, WAITING_FOR_PERSON);
	record_question(p, spec, &err);
}

int
place_resumed(struct place *p, const char *run_id, const struct workflow *workflow,
    struct error *err)
{
	id_new(p->completed);
	return lineage_add(&p->lineage, run_id, place_script_of(workflow), err);
}

int
place_begin(struct place *p, const struct place_spec *spec, struct error *err)
{
	const struct child_start start = place_describe_start(p, spec);

	if (!p->nested_in)
		return 0;
	if (child_started(&p->child, &start, &p->nested.claims, err) != 0)
		return -1;
	nested_claimed(&p->nested);
	p->cause = p->child.cause;
	return 0;
}

/* Prints the result. Everything is recorded by now, so signals may end the process again. */
static int
print_result(const struct data *result, struct error *err)
{
	const volatile int never = 0;
	struct buffer bytes = BUFFER_INIT, text = BUFFER_INIT;
	int failed;

	if (terminal_is(STDOUT_FILENO)) {
		data_feed(result, &text);
		terminal_text(&bytes, buffer_string(&text), text.len);
		buffer_free(&text);
	} else {
		data_feed(result, &bytes);
	}
	signals_let_go();
	failed = state_put(STDOUT_FILENO, buffer_string(&bytes), bytes.len, &never);
	buffer_free(&bytes);
	if (failed != 0 && errno == EPIPE)
		signals_die(SIGPIPE);
	return failed == 0 ? STATUS_OK :
	    error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
}

/* Outputs the recorded result of the call as this one's. Returns the recorded exit status. */
int
place_replay(struct place *p, const struct place_spec *spec, struct error *err)
{
	const struct child_end *end = &p->nested.end;

	if (place_begin(p, spec, err) != 0 || child_completed(&p->child, end, err) != 0 ||
	    (end->result != NULL && print_result(end->result, err) != 0))
		return -1;
	return end->exit_code >= 0 ? end->exit_code : STATUS_WAITING;
}

int
place_reuse(struct place *p, const struct place_spec *spec, struct error *err)
{
	const struct input_digests *given = &p->nested.given;
	const struct child_end end = {
		.reused_from = p->nested.reused_from,
		.result = p->nested.reused_from.event_id == NULL ? &p->nested.result : NULL,
		.stdin_sha256 = given->sha256[0] != '\0' ? given->sha256 : NULL,
		.stdin_data_sha256 = given->data_sha256[0] != '\0' ? given->data_sha256 : NULL,
		.stdin_bytes = given->bytes,
	};

	if (place_begin(p, spec, err) != 0 || child_completed(&p->child, &end, err) != 0)
		return -1;
	return print_result(&p->nested.result, err);
}

int
place_detached(struct place *p, struct error *err)
{
	struct data result = { BUFFER_INIT, true, false };
	const struct child_end end = { .result = &result };
	int failed;

	if (!p->nested_in)
		return 0;
	data_from_text(&result, p->id, strlen(p->id));
	result.no_newline = false; /* print the result with a newline */
	failed = child_completed(&p->child, &end, err);
	data_free(&result);
	return failed;
}

void
place_leave(struct place *p)
{
	if (p->around != NULL) {
		p->left_call = memory_text(p->child.call);
		p->left_path = memory_text(p->child.path);
		p->left_directory = p->child.marks.directory != NULL ? memory_text(p->child.marks.directory) : NULL;
	}
	child_leave(&p->child);
	p->nested_in = false;
}

int
place_failed(struct place *p, const struct error *why, struct error *err)
{
	const struct child_end end = { .error = why, .exit_code = CONCLUSION_FAILED };

	return p->nested_in ? child_completed(&p->child, &end, err) : 0;
}

int
place_end(struct place *p, const struct conclusion *e, const struct input *input,
    const char *stdin_sha256, struct error *err)
{
	struct error error = e->error;
	struct data result = { BUFFER_INIT, false, false };
	const struct child_end end = {
		.result = p->output.overflow ? NULL : &result,
		.error = &error,
		.exit_code = e->exit_code,
		.completed = p->unchanged ? NULL : p->completed,
		.stdin_sha256 = input->kept || input->digested ? stdin_sha256 : NULL,
		.stdin_data_sha256 = input->data_sha256[0] != '\0' ? input->data_sha256 : NULL,
		.stdin_bytes = input->bytes,
		.stdout_bytes = p->output.bytes,
	};
	int failed;

	if (!p->nested_in)
		return 0;
	/* The end of the call may differ from that of the run. */
	if (error.code == ERROR_NONE && p->output.closed)
		error_set(&error, ERROR_DOWNSTREAM_CLOSED, NULL, "nobody reads its output any more");
	/* While a question inside the run is open, the call ends as waiting: the workflow must not
	 * handle it as a failure. */
	else if (p->waits && error.code != ERROR_NONE && error_of_work(error.code))
		error_set(&error, ERROR_WAITING, NULL, WAITING_FOR_PERSON);
	if (!p->output.overflow)
		data_from_text(&result, buffer_string(&p->output.kept), p->output.kept.len);
	failed = child_completed(&p->child, &end, err);
	data_free(&result);
	return failed;
}

void
place_waits(struct place *p)
{
	struct error waits = ERROR_INIT;

	error_set(&waits, ERROR_WAITING, NULL, ROSTER_WAITS);
	if (p->nested_in && !p->asked)
		child_fail(&p->child, &waits);
}

void
place_unrecorded(struct place *p, const struct error *why)
{
	if (why->code == ERROR_WAITING)
		place_waits(p);
	else if (p->nested_in && why->code == ERROR_SYSTEM)
		child_fail(&p->child, why);
}

void
place_skipped(struct place *p)
{
	if (p->nested_in)
		roster_end(&p->child.roster);
}

int
place_set_around(const struct place *p, const char *run_directory, struct error *err)
{
	const char *call = p->left_call != NULL ? p->left_call : p->child.call;
	const char *path = p->left_call != NULL ? p->left_path : p->child.path;
	const char *directory = p->left_call != NULL ? p->left_directory : p->child.marks.directory;

	return p->around != NULL ? history_set_around(run_directory, p->around, directory, call, path, err) : 0;
}

int
place_nest_input(const struct place *p, struct input *in, const char *run_directory,
    struct error *err)
{
	return p->nested_in ? input_nest(in, &p->child.roster, run_directory, err) : 0;
}

int
place_open_output(struct place *p, struct printed *printed, struct output **output,
    struct error *err)
{
	*output = p->nested_in || printed->relayed ? &p->output : NULL;
	if (*output == NULL)
		return 0;
	if (output_open(&p->output, STDOUT_FILENO, err) != 0)
		return -1;
	if (!p->nested_in)
		p->output.printed = printed;
	return 0;
}

void
place_free(struct place *p)
{
	output_close(&p->output);
	nested_free(&p->nested);
	child_leave(&p->child);
	free(p->around);
	free(p->left_call);
	free(p->left_path);
	free(p->left_directory);
	redactor_free(&p->redactor);
}
