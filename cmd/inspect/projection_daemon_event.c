/*
 * daemon-event: the steps of a session as they begin and end, few enough for a
 * status display; its tools on request.
 */
#include "inspect/excerpt.h"
#include "inspect/projection_write.h"

extern const char daemon_event_schema[];

static void
step(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;

	placed_copy(w, "stepId", at, "call");
	writer_member_span(w, "path", at->event->path);
	writer_member_integer(w, "iteration", at->event->iteration);
	placed_copy(w, "kind", at, "kind");
	writer_member_span(w, "childSessionId", at->event->child_run_id);
	if (at->call) {
		writer_member_string(w, "agentName", at->call->agent);
		writer_member_string(w, "model", at->call->model);
	}
}

static void
step_end(struct writer *w, const struct projection_line *line)
{
	step(w, line);
	writer_member_string(w, "outcome", placed_outcome(line->at));
	writer_member_integer(w, "durationMs", placed_duration(line->at));
	placed_error(w, line->at);
}

static void
session_end(struct writer *w, const struct projection_line *line)
{
	writer_member_string(w, "status", placed_status(line->at));
	placed_copy(w, "exitCode", line->at, "exit_code");
	writer_member_integer(w, "durationMs", placed_duration(line->at));
	placed_error(w, line->at);
}

static void
tool(struct writer *w, const struct placed *at)
{
	writer_member_span(w, "path", at->event->path);
	placed_copy(w, "tool", at, "name");
	placed_copy(w, "callId", at, "call_id");
}

static void
tool_call(struct writer *w, const struct projection_line *line)
{
	tool(w, line->at);
	excerpt_arguments(w, "argsSummary", line->at->event);
}

static void
tool_result(struct writer *w, const struct projection_line *line)
{
	tool(w, line->at);
	writer_member_string(w, "outcome", placed_outcome(line->at));
	writer_member_integer(w, "durationMs", placed_duration(line->at));
	excerpt_contents(w, "output", line->at->event, "output");
	placed_error(w, line->at);
}

static const struct projection_row rows[] = {
	{ EVENT_STEP_STARTED, false, "step_start", NULL, step },
	{ EVENT_CALL_WORKFLOW_STARTED, false, "step_start", NULL, step },
	{ EVENT_TOOL_CALL, true, "tool_call", NULL, tool_call },
	{ EVENT_TOOL_RESULT, true, "tool_result", NULL, tool_result },
	{ EVENT_STEP_COMPLETED, false, "step_advance", NULL, step_end },
	{ EVENT_CALL_WORKFLOW_COMPLETED, false, "step_advance", NULL, step_end },
	{ EVENT_RUN_COMPLETED, false, "session_complete", run_succeeded, session_end },
	{ EVENT_RUN_COMPLETED, false, "session_paused", run_waits, session_end },
	{ EVENT_RUN_COMPLETED, false, "session_failed", run_failed, session_end },
	{ 0, false, NULL, NULL, NULL },
};

static void
write_members(struct writer *w, const struct projection_line *line)
{
	writer_member_integer(w, "seq", line->number);
	writer_member_string(w, "type", "daemon_event");
	writer_member_string(w, "sessionId", line->at->run->run_id);
	writer_member_string(w, "eventKind", line->row->type);
	writer_member_span(w, "timestamp", line->at->event->timestamp);
	writer_key(w, "payload");
	writer_object(w);
	line->row->body(w, line);
	writer_object_end(w);
}

const struct projection projection_daemon_event = {
	"daemon-event", daemon_event_schema, 1, rows, write_members, NULL
};
