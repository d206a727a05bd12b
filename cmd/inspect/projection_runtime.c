/*
 * runtime: what a workflow runtime streams to its clients, by offset from 0.
 */
#include <string.h>

#include "inspect/excerpt.h"
#include "inspect/projection_write.h"
#include "run/results.h"

#define ID_DIGITS 16

extern const char runtime_schema[];

static size_t
step_succeeded(const struct placed *at)
{
	const char *outcome = placed_outcome(at);

	return strcmp(outcome, "success") == 0 || strcmp(outcome, "skipped") == 0;
}

/* There is a new state: what was not skipped has made one. */
static size_t
state_made(const struct placed *at)
{
	return strcmp(placed_outcome(at), "success") == 0;
}

static size_t
agent_succeeded(const struct placed *at)
{
	return placed_by_agent(at) && state_made(at);
}

static size_t
agent_failed(const struct placed *at)
{
	return placed_by_agent(at) && placed_failed(at);
}

/* The vocabulary has no word of its own for any other step that fails. */
static size_t
other_failed(const struct placed *at)
{
	return !placed_by_agent(at) && placed_failed(at);
}

static size_t
tool_succeeded(const struct placed *at)
{
	return !placed_failed(at);
}

static void
run_start(struct writer *w, const struct projection_line *line)
{
	placed_copy(w, "name", line->at, "name");
	placed_copy(w, "attempt", line->at, "attempt");
	if (line->at->run->parent_run_id[0] != '\0')
		writer_member_string(w, "parent_workflow_id", line->at->run->parent_run_id);
}

static void
run_end(struct writer *w, const struct projection_line *line)
{
	placed_copy(w, "status", line->at, "status");
	placed_copy(w, "exit_code", line->at, "exit_code");
	writer_member_integer(w, "duration_ms", placed_duration(line->at));
	placed_copy(w, "usage", line->at, "usage");
	placed_error(w, line->at);
}

static void
step(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;

	placed_copy(w, "step", at, "call");
	writer_member_span(w, "path", at->event->path);
	writer_member_integer(w, "iteration", at->event->iteration);
	placed_copy(w, "kind", at, "kind");
	writer_member_span(w, "child_workflow_id", at->event->child_run_id);
}

static void
output_size(struct writer *w, const struct placed *at, const char *member)
{
	int64_t size = excerpt_size(at->event, member);

	if (size >= 0)
		writer_member_integer(w, "output_size", size);
}

static void
step_end(struct writer *w, const struct projection_line *line)
{
	step(w, line);
	writer_member_string(w, "outcome", placed_outcome(line->at));
	writer_member_integer(w, "duration_ms", placed_duration(line->at));
	output_size(w, line->at, result_member(line->at->event->payload));
	placed_error(w, line->at);
}

static void
state(struct writer *w, const struct projection_line *line)
{
	step(w, line);
	output_size(w, line->at, result_member(line->at->event->payload));
	excerpt_contents(w, "output", line->at->event, result_member(line->at->event->payload));
}

static void
agent(struct writer *w, const struct placed *at)
{
	writer_member_string(w, "agent_name", placed_actor(at));
	writer_member_span(w, "path", at->event->path);
	writer_member_integer(w, "iteration", at->event->iteration);
}

static void
agent_start(struct writer *w, const struct projection_line *line)
{
	agent(w, line->at);
	placed_copy(w, "provider", line->at, "provider");
	placed_copy(w, "model", line->at, "model");
}

static void
agent_work(struct writer *w, const struct projection_line *line)
{
	agent(w, line->at);
	placed_copy(w, "turn", line->at, "turn");
	placed_copy(w, "model", line->at, "model");
	placed_copy(w, "stop_reason", line->at, "stop_reason");
	placed_copy(w, "usage", line->at, "usage");
	placed_copy(w, "duration_ms", line->at, "duration_ms");
	excerpt_message(w, "text", line->at->event);
}

static void
agent_end(struct writer *w, const struct projection_line *line)
{
	agent(w, line->at);
	writer_member_integer(w, "duration_ms", placed_duration(line->at));
	output_size(w, line->at, result_member(line->at->event->payload));
	placed_error(w, line->at);
}

static void
tool_start(struct writer *w, const struct projection_line *line)
{
	agent(w, line->at);
	placed_copy(w, "tool", line->at, "name");
	placed_copy(w, "call_id", line->at, "call_id");
	excerpt_arguments(w, "arguments", line->at->event);
}

static void
tool_end(struct writer *w, const struct projection_line *line)
{
	agent(w, line->at);
	placed_copy(w, "tool", line->at, "name");
	placed_copy(w, "call_id", line->at, "call_id");
	writer_member_integer(w, "duration_ms", placed_duration(line->at));
	output_size(w, line->at, "output");
	placed_error(w, line->at);
}

static const struct projection_row rows[] = {
	{ EVENT_RUN_STARTED, false, "workflow.started", NULL, run_start },
	{ EVENT_STEP_STARTED, false, "workflow.step_started", NULL, step },
	{ EVENT_STEP_STARTED, false, "agent.initialized", placed_by_agent, agent_start },
	{ EVENT_CALL_WORKFLOW_STARTED, false, "workflow.step_started", NULL, step },
	{ EVENT_MESSAGE_USER, false, "agent.processing", NULL, agent_work },
	{ EVENT_MESSAGE_ASSISTANT, false, "agent.processing", placed_whole, agent_work },
	{ EVENT_TOOL_CALL, false, "tool.call_started", NULL, tool_start },
	{ EVENT_TOOL_RESULT, false, "tool.call_completed", tool_succeeded, tool_end },
	{ EVENT_TOOL_RESULT, false, "tool.call_failed", placed_failed, tool_end },
	{ EVENT_STEP_COMPLETED, false, "agent.completed", agent_succeeded, agent_end },
	{ EVENT_STEP_COMPLETED, false, "agent.failed", agent_failed, agent_end },
	{ EVENT_STEP_COMPLETED, false, "system.error", other_failed, step_end },
	{ EVENT_STEP_COMPLETED, false, "system.state_saved", state_made, state },
	{ EVENT_STEP_COMPLETED, false, "workflow.step_completed", step_succeeded, step_end },
	{ EVENT_CALL_WORKFLOW_COMPLETED, false, "system.error", other_failed, step_end },
	{ EVENT_CALL_WORKFLOW_COMPLETED, false, "system.state_saved", state_made, state },
	{ EVENT_CALL_WORKFLOW_COMPLETED, false, "workflow.step_completed", step_succeeded, step_end },
	{ EVENT_RUN_COMPLETED, false, "workflow.completed", run_succeeded, run_end },
	{ EVENT_RUN_COMPLETED, false, "workflow.failed", run_failed, run_end },
	{ EVENT_RUN_COMPLETED, false, "system.state_saved", run_waits, run_end },
	{ 0, false, NULL, NULL, NULL },
};

static void
write_members(struct writer *w, const struct projection_line *line)
{
	char id[] = "evt_0123456789abcdef", event_id[ID_SIZE] = "";

	span_copy(line->at->event->event_id, event_id, sizeof event_id);
	derive_hex(line->row->type, event_id, ID_DIGITS, id + strlen("evt_"));
	writer_member_string(w, "id", id);
	writer_member_integer(w, "offset", line->number);
	writer_member_span(w, "timestamp", line->at->event->timestamp);
	writer_member_string(w, "type", line->row->type);
	writer_member_string(w, "workflow_id", line->at->run->run_id);
	writer_key(w, "data");
	writer_object(w);
	line->row->body(w, line);
	writer_object_end(w);
}

const struct projection projection_runtime = {
	"runtime", runtime_schema, 0, rows, write_members, NULL
};
