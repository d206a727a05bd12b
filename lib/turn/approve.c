/* One step asks about all calls of a tool, its items, in the order in which the answer has them. The steps
 * get this process's standard error, so that they can ask at a terminal. */
#include "turn/approve.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "definitions/approvals.h"
#include "io/file.h"
#include "model/tool_approval.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "storage/traceparent.h"
#include "transcript/blob.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

#define ALWAYS "always"
#define RULE "rule"
#define TOOL "tool"
#define INPUT "input"

/* The step that asks about the calls of a tool. */
struct asking_step {
	char *tool;                  /* the run's */
	struct buffer data;          /* what is asked about: a line of JSON for each call */
	struct process process;      /* .pid 0: it was not started */
	struct buffer said;          /* its output: a state line for each */
	size_t taken;                /* bytes of these that were looked at */
	int exit_code;
};

/* A question about a tool call. */
struct asking {
	struct tool_run *run;
	const struct approval_rule *rule;
	size_t step;
};

struct askings {
	struct asking *list;
	struct asking_step *steps;
	size_t count, step_count;
};

/* ---- what was allowed for good ---- */

/* Whether the event begins the question about this very call, in an earlier attempt: an answer of a model
 * is the same event in all of them. */
static bool
approve_was_asked(const struct tool_runs *r, const struct tool_run *run, const struct event_view *event)
{
	struct span data = span_member(event->payload, KEY_INPUT), input = span_member(data, INPUT);

	return r->cause != NULL && span_is(event->parent_event_id, r->cause) &&
	    span_is(span_member(data, TOOL), run->name) && span_same(input, run->input);
}

/* Reads an event of an approval, with what of it is in blobs: -1 if it is none, or cannot be read. */
static int
approve_read_event(const struct tool_runs *r, const char *line, size_t len, struct buffer *whole,
    struct event_view *event)
{
	struct error ignored;

	if (event_view(line, len, event) != 0 ||
	    !span_is(span_member(event->payload, KEY_KIND), "approval"))
		return -1;
	if (event->refs.at == NULL)
		return 0;
	buffer_clear(whole);
	return blob_inline(r->turns->call->transcript->blobs, line, len, whole, &ignored) != 0 ? -1 :
	    event_view(whole->data, whole->len, event);
}

/* A question of this run, by the call of its step; its cause is the answer that has the tool's call. */
struct asked_before {
	char *call;
	char cause[ID_SIZE];
};

/* Whether the agent whose call was asked about is the one that works now. Another agent's rules are other
 * rules, though they may read the same. An answer names its agent after a hand-over, else the call around
 * it does. */
static bool
approve_is_same_agent(const struct tool_runs *r, const struct asked_before *asked)
{
	struct error ignored;
	struct reader reader;
	size_t len, around = 0;
	char *agent = NULL;
	const char *line;
	bool named = false, same;

	if (reader_open(&reader, r->turns->call->transcript->path, &ignored) != 0)
		return false;
	while (!named && reader_next(&reader, &line, &len, &ignored) == 1) {
		struct event_view event;
		struct event_head head;
		struct span said;
		char *call;

		if (event_peek(line, len, &head) != 0 ||
		    (head.type != EVENT_STEP_STARTED && head.type != EVENT_MESSAGE_ASSISTANT) ||
		    event_view(line, len, &event) != 0 ||
		    (said = span_member(event.payload, KEY_AGENT)).at == NULL)
			continue;
		call = span_text(span_member(event.payload, KEY_CALL));
		named = head.type == EVENT_MESSAGE_ASSISTANT && span_is(event.event_id, asked->cause);
		if (named || (call != NULL && strlen(call) >= around &&
		    strncmp(asked->call, call, strlen(call)) == 0 && asked->call[strlen(call)] == '/')) {
			around = call != NULL ? strlen(call) : around;
			free(agent);
			agent = span_text(said);
		}
		free(call);
	}
	reader_close(&reader);
	same = agent != NULL && strcmp(agent, r->turns->member->agent.name) == 0;
	free(agent);
	return same;
}

/* Whether a decision in this run's record allows all calls of the tool by the rule: an edit of what was
 * asked about a call of this agent. A fork records decisions of the run that it was forked from once more,
 * but they are not its own. What was decided about this call itself goes before that. */
static bool
approve_is_allowed(const struct tool_runs *r, const struct tool_run *run, const char *rule)
{
	struct asked_before *before = NULL;
	struct buffer whole = BUFFER_INIT;
	size_t count = 0;
	struct event_view event;
	struct event_head head;
	struct error ignored;
	struct reader reader;
	const char *line;
	bool allowed = false, asked = false;
	size_t len;

	if (reader_open(&reader, r->turns->call->transcript->path, &ignored) != 0)
		return false;
	while (!asked && reader_next(&reader, &line, &len, &ignored) == 1) {
		struct tool_approval a;
		struct span result;
		size_t i = 0;
		char *call;

		if (event_peek(line, len, &head) != 0 ||
		    (head.type != EVENT_STEP_COMPLETED && head.type != EVENT_STEP_STARTED) ||
		    approve_read_event(r, line, len, &whole, &event) != 0)
			continue;
		if (head.type == EVENT_STEP_STARTED) {
			asked = approve_was_asked(r, run, &event);
			if (span_is(span_member(event.payload, KEY_NAME), run->name)) {
				before = memory_array(before, count + 1, sizeof *before);
				before[count].call = span_text(span_member(event.payload, KEY_CALL));
				event_copy_id(event.parent_event_id, before[count].cause);
				count += before[count].call != NULL;
			}
			continue;
		}
		if (allowed || span_type(span_member(event.payload, KEY_REUSED_FROM)) == 'o')
			continue;
		result = span_member(event.payload, KEY_RESULT);
		call = span_text(span_member(event.payload, KEY_CALL));
		allowed = call != NULL && tool_approval_read(call, result, &a) && a.always &&
		    span_is(a.tool, run->name) && span_is(a.rule, rule) &&
		    span_is(span_path(event.payload, KEY_APPROVAL, KEY_DECISION, NULL), "edited");
		for (i = count; allowed && i > 0 && strcmp(before[i - 1].call, call) != 0; i--)
			;
		allowed = allowed && i > 0 && approve_is_same_agent(r, &before[i - 1]);
		free(call);
	}
	reader_close(&reader);
	while (count > 0)
		free(before[--count].call);
	free(before);
	buffer_free(&whole);
	return allowed && !asked;
}

/* The rule of approve_tools that demands approval of the call; NULL: none does. */
static const struct approval_rule *
approve_rule_of(const struct tool_runs *r, const struct tool_run *run)
{
	const struct turns *t = r->turns;
	const struct approval_rule *rule;

	if (t->member == NULL || run->refused || run->tool == NULL ||
	    (run->control != NULL && !run->control->foreign))
		return NULL;
	rule = approvals_find(&t->member->agent.limits.approvals, run->name, run->input);
	return rule != NULL && !approve_is_allowed(r, run, rule->tool) ? rule : NULL;
}

/* ---- asking ---- */

static void
approve_add_question(struct askings *a, struct tool_run *run, const struct approval_rule *rule)
{
	struct writer w;
	size_t i = 0;

	while (i < a->step_count && strcmp(a->steps[i].tool, run->name) != 0)
		i++;
	if (i == a->step_count)
		a->steps[a->step_count++] = (struct asking_step){ .tool = run->name, .process.out = -1 };
	a->list[a->count++] = (struct asking){ .run = run, .rule = rule, .step = i };
	writer_begin(&w, &a->steps[i].data);
	writer_object(&w);
	writer_member_string(&w, TOOL, run->name);
	writer_member_span(&w, INPUT, run->input);
	writer_member_string(&w, RULE, rule->tool);
	writer_member_bool(&w, ALWAYS, false);
	writer_object_end(&w);
	buffer_byte(&a->steps[i].data, '\n');
}

static int
approve_start(const struct tool_runs *r, struct asking_step *a, struct error *err)
{
	char *awf_step = libexec_sibling("awf-step");
	/* A denial is a result of the tool's call, and does not fail the run. */
	char *argv[] = { awf_step, (char *)"-i", (char *)"json", (char *)"--allow-failure", (char *)"--approve",
		a->tool, NULL };
	struct environment environment;
	struct process_spec spec = { .argv = argv, .in = PROCESS_INPUT, .input = a->data.data,
		.input_len = a->data.len, .out = PROCESS_PIPE, .err = PROCESS_INHERIT };
	int failed;

	environment_copy(&environment, r->turns->environment);
	environment_set(&environment, "AWF_PARENT", r->cause);
	traceparent_enter(&environment, r->cause);
	spec.environment = environment.list;
	failed = process_start(&a->process, &spec, NULL, err);
	if (failed != 0)
		a->process.pid = 0;
	environment_free(&environment);
	free(awf_step);
	return failed;
}

/* Reads what the steps print, until all have ended. -1: an interrupt ends the call. */
static int
approve_wait(const struct tool_runs *r, struct asking_step *list, size_t count, struct error *err)
{
	struct pollfd *fds = memory_zero(count + 1, sizeof *fds);
	int failed = 0, wait_status;
	size_t open = 0;
	char bytes[4096];

	for (size_t i = 0; i < count; i++)
		open += list[i].process.out != -1;
	while (open > 0 && failed == 0) {
		for (size_t i = 0; i < count; i++)
			fds[i + 1] = (struct pollfd){ list[i].process.out, POLLIN, 0 };
		failed = interrupts_wait(r->turns->interrupts, fds, count + 1, 0, err);
		for (size_t i = 0; failed == 0 && i < count; i++) {
			ssize_t got = fds[i + 1].revents == 0 ? -1 : read(list[i].process.out, bytes, sizeof bytes);

			if (got > 0) {
				buffer_append(&list[i].said, bytes, (size_t)got);
			} else if (got == 0 || (fds[i + 1].revents != 0 && errno != EINTR && errno != EAGAIN)) {
				file_close(&list[i].process.out);
				open--;
			}
		}
	}
	for (size_t i = 0; i < count; i++) {
		file_close(&list[i].process.out);
		if (list[i].process.pid == 0)
			continue;
		if (failed != 0)
			kill(list[i].process.pid, SIGTERM);
		while (waitpid(list[i].process.pid, &wait_status, 0) == -1 && errno == EINTR)
			;
		list[i].exit_code = process_exit_code(wait_status);
	}
	free(fds);
	return failed;
}

/* ---- answers ---- */

/* The next whole line of what a step has said; empty: there is none more. */
static struct span
approve_next_line(struct asking_step *a)
{
	const char *at = buffer_string(&a->said) + a->taken;
	const char *end = memchr(at, '\n', a->said.len - a->taken);

	if (end == NULL)
		return SPAN_NONE;
	a->taken += (size_t)(end - at) + 1;
	return span_trim(span_of(at, (size_t)(end - at)));
}

/* Takes over what was decided. -1: nobody has, or the step could not ask. */
static int
approve_take(struct asking *asking, struct asking_step *a, bool *edited, struct error *err)
{
	struct tool_run *run = asking->run;
	const struct span line = approve_next_line(a);
	const struct span metadata = span_member(line, "metadata");
	const struct span failure = span_member(metadata, "failure");
	const struct span error = failure.at != NULL ? failure : span_member(metadata, "error");
	struct span input = span_path(line, "data", INPUT, NULL);
	char *message = span_text(span_member(error, KEY_MESSAGE)), *code = span_text(span_member(error, KEY_CODE));
	enum error_code known = code != NULL ? error_from_name(code, strlen(code)) : ERROR_NONE;
	int failed = 0;

	INVARIANT(!run->refused && a->process.out == -1);
	if (known == ERROR_DENIED || known == ERROR_BLOCKED) {
		error_set(&run->error, known, NULL, "%s", message != NULL ? message : "denied");
		run->refused = true;
	} else if (known == ERROR_WAITING || (line.at == NULL && a->exit_code == STATUS_WAITING)) {
		failed = error_set(err, ERROR_WAITING, run->name, "waits for approval");
	} else if (input.at == NULL) {
		failed = error_set(err, known != ERROR_NONE ? known : ERROR_SYSTEM, run->name,
		    "its approval: %s", message != NULL ? message : "awf-step --approve gave no answer");
	} else if (!span_same(input, run->input)) {
		buffer_clear(&run->edited);
		buffer_append(&run->edited, input.at, input.len);
		run->asked = run->input = span_of(run->edited.data, run->edited.len);
		*edited = true;
	}
	/* Whatever runs is what was decided about, byte for byte. */
	INVARIANT(failed != 0 || run->refused || span_same(run->input, input));
	free(code);
	free(message);
	return failed;
}

int
tool_runs_approve(struct tool_runs *r, bool *edited, struct error *err)
{
	struct askings a = { .list = memory_zero(r->count + 1, sizeof *a.list),
		.steps = memory_zero(r->count + 1, sizeof *a.steps) };
	const int64_t began = clock_monotonic();
	struct error each;
	int failed = 0;

	*edited = false;
	for (size_t i = 0; i < r->count; i++) {
		const struct approval_rule *rule = approve_rule_of(r, &r->list[i]);

		if (rule != NULL)
			approve_add_question(&a, &r->list[i], rule);
	}
	for (size_t i = 0; i < a.step_count && failed == 0; i++)
		failed = approve_start(r, &a.steps[i], err);
	if (a.count > 0 && approve_wait(r, a.steps, a.step_count, failed == 0 ? err : &each) != 0)
		failed = -1;
	/* The time in which a person decides is not the agent's. */
	if (a.count > 0 && r->turns->deadline != 0)
		r->turns->deadline += clock_monotonic() - began;
	for (size_t i = 0; i < a.count && failed == 0; i++)
		failed = approve_take(&a.list[i], &a.steps[a.list[i].step], edited, err);
	for (size_t i = 0; i < a.step_count; i++) {
		buffer_free(&a.steps[i].data);
		buffer_free(&a.steps[i].said);
	}
	free(a.steps);
	free(a.list);
	return failed;
}
