/*
 * agent-event: a timeline for a user interface. Every payload has a message for
 * people; a step of kind `commit` or `deploy` is told in words of its own.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "inspect/excerpt.h"
#include "inspect/projection_write.h"
#include "run/waiting.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"

extern const char agent_event_schema[];

static void message(struct writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void
message(struct writer *w, const char *format, ...)
{
	struct buffer excerpt = BUFFER_INIT;
	char text[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	excerpt_text(&excerpt, text, strlen(text), EXCERPT_BYTES);
	writer_key(w, "message");
	writer_bytes(w, buffer_string(&excerpt), excerpt.len);
	buffer_free(&excerpt);
}

/* "WHAT done", "WHAT failed: why", … */
static void
outcome(struct writer *w, const char *what, const struct placed *at)
{
	char *why = span_text(span_path(at->event->payload, KEY_ERROR, KEY_MESSAGE, NULL));
	const char *how = placed_outcome(at);

	if (strcmp(how, "success") == 0)
		message(w, "%s done", what);
	else
		message(w, "%s %s%s%s", what, how, why ? ": " : "", why ? why : "");
	free(why);
}

static size_t
is_commit(const struct placed *at)
{
	return at->call && strcmp(at->call->kind, "commit") == 0 &&
	    strcmp(placed_outcome(at), "success") == 0;
}

static size_t
is_deploy(const struct placed *at)
{
	return at->call && strcmp(at->call->kind, "deploy") == 0;
}

/* A call that moved the branch of the workspace's repository on; a step that says that it
 * commits is told of as such. */
static size_t
has_committed(const struct placed *at)
{
	return member_set(span_member(at->event->payload, KEY_COMMIT)) && !is_commit(at);
}

/* The call goes on with what another agent said. */
static size_t
handed_over(const struct placed *at)
{
	return placed_by_agent(at) && at->call->before_count > 0 && at->call->before[0]->agent &&
	    strcmp(at->call->before[0]->agent, call_actor(at->call)) != 0;
}

static size_t
handed_over_within(const struct placed *at)
{
	return at->call && placed_handoff(at);
}

/* Several events may tell what a model is given for a turn. */
static size_t
starts_turn(const struct placed *at)
{
	return at->cause != EVENT_MESSAGE_USER;
}

/* A turn after another is first told of by its end. */
static size_t
untold(const struct placed *at)
{
	return placed_whole(at) && at->cause != EVENT_MESSAGE_USER;
}

static size_t
has_output(const struct placed *at)
{
	return excerpt_size(at->event, "output") > 0;
}

static size_t
has_stderr(const struct placed *at)
{
	return excerpt_size(at->event, "stderr") > 0;
}

static size_t
changed_files(const struct placed *at)
{
	size_t count = 0;

	for (struct span_walk file = span_walk(span_member(at->event->payload, KEY_CHANGED));
	    span_next(&file);)
		count++;
	return count;
}

static void
run_started(struct writer *w, const struct projection_line *line)
{
	message(w, "%s started", placed_actor(line->at));
	placed_copy(w, "attempt", line->at, "attempt");
	if (line->at->run->parent_run_id[0] != '\0')
		writer_member_string(w, "parentRunId", line->at->run->parent_run_id);
}

static void
run_completed(struct writer *w, const struct projection_line *line)
{
	message(w, "%s: %s", placed_actor(line->at), placed_status(line->at));
	placed_copy(w, "status", line->at, "status");
	placed_copy(w, "exitCode", line->at, "exit_code");
	writer_member_integer(w, "durationMs", placed_duration(line->at));
	placed_copy(w, "usage", line->at, "usage");
}

static void
step(struct writer *w, const struct placed *at)
{
	placed_copy(w, "step", at, "call");
	writer_member_span(w, "path", at->event->path);
	placed_copy(w, "kind", at, "kind");
}

static void
step_started(struct writer *w, const struct projection_line *line)
{
	message(w, "%s started", line->at->call->name);
	step(w, line->at);
	writer_member_string(w, "agent", line->at->call->agent);
	writer_member_string(w, "model", line->at->call->model);
}

static void
step_ended(struct writer *w, const struct projection_line *line)
{
	outcome(w, line->at->call ? line->at->call->name : "step", line->at);
	step(w, line->at);
	writer_member_integer(w, "durationMs", placed_duration(line->at));
	writer_member_string(w, "outcome", placed_outcome(line->at));
}

static char *
text_member(struct span object, const char *key)
{
	char *text = span_text(span_member(object, key));

	return text ? text : memory_text("");
}

static void
handoff(struct writer *w, const struct projection_line *line)
{
	const char *from = line->at->call->before[0]->agent, *to = call_actor(line->at->call);

	message(w, "%s hands over to %s", from, to);
	writer_member_string(w, "from", from);
	writer_member_string(w, "to", to);
	step(w, line->at);
}

static void
handoff_within(struct writer *w, const struct projection_line *line)
{
	struct span handoff = span_member(line->at->event->payload, KEY_HANDOFF);
	char *from = text_member(handoff, "from"), *to = text_member(handoff, "to");

	message(w, "%s hands over to %s", from, to);
	writer_member_string(w, "from", from);
	writer_member_string(w, "to", to);
	writer_member_string(w, "step", line->at->call->id);
	writer_member_span(w, "path", line->at->event->path);
	writer_member_string(w, "kind", line->at->call->kind);
	free(from);
	free(to);
}

static void
child(struct writer *w, const struct projection_line *line)
{
	message(w, "%s started", line->at->call->name);
	step(w, line->at);
	writer_member_span(w, "childRunId", line->at->event->child_run_id);
}

static void
turn(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	long long number = 0;

	span_integer(span_member(at->event->payload, KEY_TURN), &number);
	message(w, "%s: turn %lld", placed_actor(at), number);
	writer_member_integer(w, "turn", number);
	writer_member_span(w, "path", at->event->path);
	if (at->call)
		writer_member_string(w, "model", at->call->model);
}

static void
turn_ended(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;

	if (!excerpt_message(w, "message", at->event))
		message(w, "%s wants tools", placed_actor(at));
	placed_copy(w, "turn", at, "turn");
	writer_member_span(w, "path", at->event->path);
	placed_copy(w, "model", at, "model");
	placed_copy(w, "stopReason", at, "stop_reason");
	writer_member_integer(w, "durationMs", placed_duration(at));
	placed_copy(w, "usage", at, "usage");
}

static void
tool(struct writer *w, const struct placed *at)
{
	placed_copy(w, "tool", at, "name");
	placed_copy(w, "callId", at, "call_id");
	writer_member_span(w, "path", at->event->path);
}

static char *
tool_name(const struct placed *at)
{
	return span_text(span_member(at->event->payload, KEY_NAME));
}

static void
tool_started(struct writer *w, const struct projection_line *line)
{
	char *name = tool_name(line->at);

	message(w, "%s called", name ? name : "tool");
	tool(w, line->at);
	excerpt_arguments(w, "argsSummary", line->at->event);
	free(name);
}

static void
tool_ended(struct writer *w, const struct projection_line *line)
{
	char *name = tool_name(line->at);

	outcome(w, name ? name : "tool", line->at);
	tool(w, line->at);
	writer_member_integer(w, "durationMs", placed_duration(line->at));
	writer_member_string(w, "outcome", placed_outcome(line->at));
	free(name);
}

static void
output(struct writer *w, const struct placed *at, const char *member, const char *stream)
{
	if (!excerpt_contents(w, "message", at->event, member))
		message(w, "%lld bytes", (long long)excerpt_size(at->event, member));
	tool(w, at);
	writer_member_string(w, "stream", stream);
}

static void
tool_output(struct writer *w, const struct projection_line *line)
{
	output(w, line->at, "output", "stdout");
}

static void
tool_stderr(struct writer *w, const struct projection_line *line)
{
	output(w, line->at, "stderr", "stderr");
}

/* Who it was: a tool, or a command. */
static void
changer(struct writer *w, const struct placed *at)
{
	if (at->event->type == EVENT_TOOL_RESULT) {
		tool(w, at);
		return;
	}
	placed_copy(w, "step", at, "call");
	writer_member_span(w, "path", at->event->path);
}

static void
commit(struct writer *w, const struct projection_line *line)
{
	struct span id = span_member(line->at->event->payload, KEY_COMMIT);
	char *text = span_text(id);

	message(w, "commit %.12s", text ? text : "");
	writer_member_span(w, "commit", id);
	changer(w, line->at);
	free(text);
}

static void
file_changed(struct writer *w, const struct projection_line *line)
{
	struct span file = span_element(span_member(line->at->event->payload, KEY_CHANGED),
	    line->index);
	char *path = span_text(span_member(file, "path"));

	message(w, "%s changed", path ? path : "file");
	writer_member_span(w, "file", span_member(file, "path"));
	if (span_type(span_member(file, "sha256")) == 's')
		writer_member_span(w, "sha256", span_member(file, "sha256"));
	writer_member_span(w, "change", span_member(file, "change"));
	changer(w, line->at);
	free(path);
}

static void
failure(struct writer *w, const struct projection_line *line)
{
	struct span error = span_member(line->at->event->payload, KEY_ERROR);
	struct event_view inside = { .payload = error };

	if (!excerpt_member(w, "message", &inside, "message"))
		message(w, "%s failed", placed_actor(line->at));
	writer_member_span(w, "code", span_member(error, "code"));
	placed_copy(w, "step", line->at, "call");
	writer_member_span(w, "path", line->at->event->path);
	if (line->at->event->type == EVENT_TOOL_RESULT)
		placed_copy(w, "tool", line->at, "name");
}

static const struct projection_row rows[] = {
	{ EVENT_RUN_STARTED, false, "run.started", NULL, run_started },
	{ EVENT_STEP_STARTED, false, "run.phase", NULL, step_started },
	{ EVENT_STEP_STARTED, false, "handoff", handed_over, handoff },
	{ EVENT_STEP_STARTED, false, "deploy.triggered", is_deploy, step_started },
	{ EVENT_CALL_WORKFLOW_STARTED, false, "run.phase", NULL, step_started },
	{ EVENT_CALL_WORKFLOW_STARTED, false, "child_job.started", NULL, child },
	{ EVENT_MESSAGE_USER, false, "handoff", handed_over_within, handoff_within },
	{ EVENT_MESSAGE_USER, false, "llm.turn.start", starts_turn, turn },
	{ EVENT_MESSAGE_ASSISTANT, false, "llm.turn.start", untold, turn },
	{ EVENT_MESSAGE_ASSISTANT, false, "llm.turn.end", placed_whole, turn_ended },
	{ EVENT_TOOL_CALL, false, "tool.start", NULL, tool_started },
	{ EVENT_TOOL_RESULT, false, "tool.output", has_output, tool_output },
	{ EVENT_TOOL_RESULT, false, "tool.output", has_stderr, tool_stderr },
	{ EVENT_TOOL_RESULT, false, "file.changed", changed_files, file_changed },
	{ EVENT_TOOL_RESULT, false, "git.commit", has_committed, commit },
	{ EVENT_TOOL_RESULT, false, "safety.block", placed_blocked, failure },
	{ EVENT_TOOL_RESULT, false, "tool.end", NULL, tool_ended },
	{ EVENT_STEP_COMPLETED, false, "file.changed", changed_files, file_changed },
	{ EVENT_STEP_COMPLETED, false, "git.commit", has_committed, commit },
	{ EVENT_STEP_COMPLETED, false, "safety.block", placed_blocked, failure },
	{ EVENT_STEP_COMPLETED, false, "error", placed_failed, failure },
	{ EVENT_STEP_COMPLETED, false, "git.commit", is_commit, step_ended },
	{ EVENT_STEP_COMPLETED, false, "deploy.status", is_deploy, step_ended },
	{ EVENT_STEP_COMPLETED, false, "run.phase", NULL, step_ended },
	{ EVENT_CALL_WORKFLOW_COMPLETED, false, "error", placed_failed, failure },
	{ EVENT_CALL_WORKFLOW_COMPLETED, false, "run.phase", NULL, step_ended },
	{ EVENT_RUN_COMPLETED, false, "error", placed_failed, failure },
	{ EVENT_RUN_COMPLETED, false, "run.completed", NULL, run_completed },
	{ 0, false, NULL, NULL, NULL },
};

static const char *
phase(const struct placed *at)
{
	static const struct { const char *status, *phase; } phases[] = {
		{ "success", "completed" }, { "cancelled", "stopped" }, { "waiting", "stopped" },
	};

	if (event_decides(at->event))
		return "stopped"; /* until it is gone on with */
	if (at->event->type != EVENT_RUN_COMPLETED)
		return "running";
	for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
		if (strcmp(placed_status(at), phases[i].status) == 0)
			return phases[i].phase;
	return "failed";
}

static void
write_members(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;

	writer_member_integer(w, "seq", line->number);
	writer_member_span(w, "ts", at->event->timestamp);
	writer_member_string(w, "runId", at->run->run_id);
	writer_member_string(w, "runKind", at->run->parent_run_id[0] != '\0' ? "job" : "session");
	writer_member_string(w, "phase", phase(at));
	writer_member_string(w, "type", line->row->type);
	writer_key(w, "payload");
	writer_object(w);
	line->row->body(w, line);
	writer_object_end(w);
}

const struct projection projection_agent_event = {
	"agent-event", agent_event_schema, 1, rows, write_members, NULL
};
