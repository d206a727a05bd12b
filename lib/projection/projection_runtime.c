/*
 * runtime: the stream that a workflow runtime sends to its clients, numbered by offset from 0.
 */
#include <string.h>

#include "projection/projection_write.h"
#include "transcript/event_keys.h"

#define ID_DIGITS 16

#define STEP \
	{ "step", PROJECT_PAYLOAD, KEY_CALL }, \
	{ "path", PROJECT_PATH, NULL }, \
	{ "iteration", PROJECT_ITERATION, NULL }, \
	{ "kind", PROJECT_PAYLOAD, KEY_KIND }, \
	{ "child_workflow_id", PROJECT_CHILD_RUN, NULL }
#define AGENT \
	{ "agent_name", PROJECT_ACTOR, NULL }, \
	{ "path", PROJECT_PATH, NULL }, \
	{ "iteration", PROJECT_ITERATION, NULL }
#define TOOL \
	{ "tool", PROJECT_PAYLOAD, KEY_NAME }, \
	{ "call_id", PROJECT_PAYLOAD, KEY_CALL_ID }
#define DURATION { "duration_ms", PROJECT_DURATION, NULL }
#define OUTPUT_SIZE { "output_size", PROJECT_SIZE, NULL }
#define ERROR { "error", PROJECT_ERROR, NULL }
#define LAST { NULL, 0, NULL }

static const struct projection_member
	run_start[] = {
		{ "name", PROJECT_PAYLOAD, KEY_NAME },
		{ "attempt", PROJECT_PAYLOAD, KEY_ATTEMPT },
		{ "parent_workflow_id", PROJECT_PARENT_RUN, NULL },
		LAST
	},
	run_end[] = {
		{ "status", PROJECT_PAYLOAD, KEY_STATUS },
		{ "exit_code", PROJECT_PAYLOAD, KEY_EXIT_CODE },
		DURATION,
		{ "output_size", PROJECT_PRINTED, KEY_BYTES },
		{ "output_sha256", PROJECT_PRINTED, KEY_SHA256 },
		{ "usage", PROJECT_PAYLOAD, KEY_USAGE },
		ERROR, LAST
	},
	step[] = { STEP, LAST },
	step_end[] = { STEP, { "outcome", PROJECT_OUTCOME, NULL }, DURATION, OUTPUT_SIZE, ERROR, LAST },
	state[] = { STEP, OUTPUT_SIZE, { "output", PROJECT_CONTENTS, NULL }, LAST },
	agent_start[] = {
		AGENT,
		{ "provider", PROJECT_CALL_PROVIDER, NULL },
		{ "model", PROJECT_CALL_MODEL, NULL },
		LAST
	},
	agent_work[] = {
		AGENT,
		{ "turn", PROJECT_PAYLOAD, KEY_TURN },
		{ "model", PROJECT_PAYLOAD, KEY_MODEL },
		{ "stop_reason", PROJECT_PAYLOAD, KEY_STOP_REASON },
		{ "usage", PROJECT_PAYLOAD, KEY_USAGE },
		{ "duration_ms", PROJECT_PAYLOAD, KEY_DURATION_MS },
		{ "text", PROJECT_MESSAGE, NULL },
		LAST
	},
	agent_end[] = { AGENT, DURATION, OUTPUT_SIZE, ERROR, LAST },
	tool_start[] = { AGENT, TOOL, { "arguments", PROJECT_ARGUMENTS, NULL }, LAST },
	tool_end[] = {
		AGENT, TOOL, DURATION, { "output_size", PROJECT_SIZE, KEY_OUTPUT }, ERROR, LAST
	};

/* An agent is initialized when the first thing happens in its call, not when the call begins: the
 * call may be skipped, or take its result from an earlier attempt.
 * A call that was neither skipped nor failed saves a state. The vocabulary has no type for the
 * failure of a step without an agent. */
static const struct projection_row rows[] = {
	{ EVENT_RUN_STARTED, 0, "workflow.started", NULL, NULL, run_start },
	{ EVENT_STEP_STARTED, 0, "workflow.step_started", NULL, NULL, step },
	{ EVENT_CALL_WORKFLOW_STARTED, 0, "workflow.step_started", NULL, NULL, step },
	{ EVENT_MESSAGE_USER, WHEN_AGENT_BEGINS, "agent.initialized", NULL, NULL, agent_start },
	{ EVENT_MESSAGE_USER, 0, "agent.processing", NULL, NULL, agent_work },
	{ EVENT_MESSAGE_ASSISTANT, WHEN_AGENT_BEGINS, "agent.initialized", NULL, NULL, agent_start },
	{ EVENT_MESSAGE_ASSISTANT, WHEN_WHOLE, "agent.processing", NULL, NULL, agent_work },
	{ EVENT_TOOL_CALL, WHEN_AGENT_BEGINS, "agent.initialized", NULL, NULL, agent_start },
	{ EVENT_TOOL_CALL, 0, "tool.call_started", NULL, NULL, tool_start },
	{ EVENT_TOOL_RESULT, WHEN_SUCCESS | WHEN_SKIPPED | WHEN_WAITING, "tool.call_completed",
	    NULL, NULL, tool_end },
	{ EVENT_TOOL_RESULT, WHEN_FAILED, "tool.call_failed", NULL, NULL, tool_end },
	{ EVENT_STEP_COMPLETED, WHEN_AGENT_BEGINS, "agent.initialized", NULL, NULL, agent_start },
	{ EVENT_STEP_COMPLETED, WHEN_AGENT | WHEN_AGENT_BEGUN | WHEN_SUCCESS, "agent.completed", NULL,
	    NULL, agent_end },
	{ EVENT_STEP_COMPLETED, WHEN_AGENT | WHEN_FAILED, "agent.failed", NULL, NULL, agent_end },
	{ EVENT_STEP_COMPLETED, WHEN_NO_AGENT | WHEN_FAILED, "system.error", NULL, NULL, step_end },
	{ EVENT_STEP_COMPLETED, WHEN_SUCCESS, "system.state_saved", NULL, NULL, state },
	{ EVENT_STEP_COMPLETED, WHEN_SUCCESS | WHEN_SKIPPED, "workflow.step_completed", NULL, NULL,
	    step_end },
	{ EVENT_CALL_WORKFLOW_COMPLETED, WHEN_NO_AGENT | WHEN_FAILED, "system.error", NULL, NULL,
	    step_end },
	{ EVENT_CALL_WORKFLOW_COMPLETED, WHEN_SUCCESS, "system.state_saved", NULL, NULL, state },
	{ EVENT_CALL_WORKFLOW_COMPLETED, WHEN_SUCCESS | WHEN_SKIPPED, "workflow.step_completed", NULL,
	    NULL, step_end },
	{ EVENT_RUN_COMPLETED, WHEN_RUN_SUCCEEDED, "workflow.completed", NULL, NULL, run_end },
	{ EVENT_RUN_COMPLETED, WHEN_RUN_FAILED, "workflow.failed", NULL, NULL, run_end },
	{ EVENT_RUN_COMPLETED, WHEN_RUN_WAITS, "system.state_saved", NULL, NULL, run_end },
	{ 0, 0, NULL, NULL, NULL, NULL },
};

static void
runtime_write_line(struct writer *w, const struct projection_line *line)
{
	char id[] = "evt_0123456789abcdef";

	derive_hex_of(line->row->type, line->at->event->event_id, ID_DIGITS, id + strlen("evt_"));
	writer_member_string(w, "id", id);
	writer_member_integer(w, "offset", line->number);
	writer_member_span(w, "timestamp", line->at->event->timestamp);
	writer_member_string(w, "type", line->row->type);
	writer_member_string(w, "workflow_id", line->at->run->run_id);
	writer_member_object(w, "data");
	projection_row_write(w, line);
	writer_object_end(w);
}

const struct projection projection_runtime = {
	"runtime", 0, rows, runtime_write_line, NULL
};
