/*
 * daemon-event: the starts and ends of a session's steps, few enough for a status display; its tool
 * calls on request.
 */
#include "projection/projection_write.h"
#include "transcript/event_keys.h"

#define STEP \
	{ "stepId", PROJECT_PAYLOAD, KEY_CALL }, \
	{ "path", PROJECT_PATH, NULL }, \
	{ "iteration", PROJECT_ITERATION, NULL }, \
	{ "kind", PROJECT_PAYLOAD, KEY_KIND }, \
	{ "childSessionId", PROJECT_CHILD_RUN, NULL }, \
	{ "agentName", PROJECT_CALL_AGENT, NULL }, \
	{ "model", PROJECT_CALL_MODEL, NULL }
#define TOOL \
	{ "path", PROJECT_PATH, NULL }, \
	{ "tool", PROJECT_PAYLOAD, KEY_NAME }, \
	{ "callId", PROJECT_PAYLOAD, KEY_CALL_ID }
#define ENDED \
	{ "outcome", PROJECT_OUTCOME, NULL }, \
	{ "durationMs", PROJECT_DURATION, NULL }
#define ERROR { "error", PROJECT_ERROR, NULL }
#define LAST { NULL, 0, NULL }

static const struct projection_member
	step[] = { STEP, LAST },
	step_end[] = { STEP, ENDED, ERROR, LAST },
	tool_call[] = { TOOL, { "argsSummary", PROJECT_ARGUMENTS, NULL }, LAST },
	tool_result[] = { TOOL, ENDED, { "output", PROJECT_CONTENTS, KEY_OUTPUT }, ERROR, LAST },
	session_end[] = {
		{ "status", PROJECT_STATUS, NULL },
		{ "exitCode", PROJECT_PAYLOAD, KEY_EXIT_CODE },
		{ "durationMs", PROJECT_DURATION, NULL },
		ERROR, LAST
	};

static const struct projection_row rows[] = {
	{ EVENT_STEP_STARTED, 0, "step_start", NULL, NULL, step },
	{ EVENT_CALL_WORKFLOW_STARTED, 0, "step_start", NULL, NULL, step },
	{ EVENT_TOOL_CALL, WHEN_ASKED, "tool_call", NULL, NULL, tool_call },
	{ EVENT_TOOL_RESULT, WHEN_ASKED, "tool_result", NULL, NULL, tool_result },
	{ EVENT_STEP_COMPLETED, 0, "step_advance", NULL, NULL, step_end },
	{ EVENT_CALL_WORKFLOW_COMPLETED, 0, "step_advance", NULL, NULL, step_end },
	{ EVENT_RUN_COMPLETED, WHEN_RUN_SUCCEEDED, "session_complete", NULL, NULL, session_end },
	{ EVENT_RUN_COMPLETED, WHEN_RUN_WAITS, "session_paused", NULL, NULL, session_end },
	{ EVENT_RUN_COMPLETED, WHEN_RUN_FAILED, "session_failed", NULL, NULL, session_end },
	{ 0, 0, NULL, NULL, NULL, NULL },
};

static void
daemon_event_write_line(struct writer *w, const struct projection_line *line)
{
	writer_member_integer(w, "seq", line->number);
	writer_member_string(w, "type", "daemon_event");
	writer_member_string(w, "sessionId", line->at->run->run_id);
	writer_member_string(w, "eventKind", line->row->type);
	writer_member_span(w, "timestamp", line->at->event->timestamp);
	writer_member_object(w, "payload");
	projection_row_write(w, line);
	writer_object_end(w);
}

const struct projection projection_daemon_event = {
	"daemon-event", 1, rows, daemon_event_write_line, NULL
};
