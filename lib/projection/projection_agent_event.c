/*
 * agent-event: a timeline for a user interface. Every payload has a message for people; a step of
 * kind `commit` or `deploy` has its own wording.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/excerpt.h"
#include "model/waiting.h"
#include "projection/projection_write.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"

/* ---- how many lines each event makes ---- */

static size_t
is_commit(const struct placed *at)
{
	return at->call && strcmp(at->call->step->kind, "commit") == 0 &&
	    strcmp(placed_outcome(at), "success") == 0;
}

static size_t
is_deploy(const struct placed *at)
{
	return at->call && strcmp(at->call->step->kind, "deploy") == 0;
}

/* A call that advanced the branch of the workspace's repository; a step that says it commits is
 * reported as a commit. */
static size_t
has_committed(const struct placed *at)
{
	return member_set(span_member(at->event->payload, KEY_COMMIT)) && !is_commit(at);
}

/* The call continues with the output of another agent. */
static size_t
handed_over(const struct placed *at)
{
	return placed_by_agent(at) && at->call->before_count > 0 && at->call->before[0]->step->agent &&
	    strcmp(at->call->before[0]->step->agent, call_actor(at->call)) != 0;
}

/* If messages to the model come before an answer, the turn starts with the first of them. A later
 * turn starts when the last tool has answered. If that is not known, it starts with the answer
 * itself. */
static size_t
starts_turn(const struct placed *at)
{
	return at->cause != EVENT_MESSAGE_USER;
}

static size_t
has_output(const struct placed *at)
{
	return excerpt_size(at->event, KEY_OUTPUT) > 0;
}

static size_t
has_stderr(const struct placed *at)
{
	return excerpt_size(at->event, KEY_STDERR) > 0;
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

/* ---- messages and their details ---- */

static void agent_event_write_message(struct writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void
agent_event_write_message(struct writer *w, const char *format, ...)
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

/* The text of a member or, if it has none, `otherwise`; allocated. */
static char *
text_member(struct span object, const char *key, const char *otherwise)
{
	char *text = span_text(span_member(object, key));

	return text ? text : memory_text(otherwise);
}

static void
agent_event_write_started(struct writer *w, const struct projection_line *line)
{
	agent_event_write_message(w, "%s started", line->at->call ? line->at->call->step->name :
	    placed_actor(line->at));
}

/* "WHAT done", "WHAT failed: why", … */
static void
agent_event_write_ended(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	char *what = at->event->told == EVENT_TOOL_RESULT ?
	    text_member(at->event->payload, KEY_NAME, "tool") :
	    memory_text(at->call ? at->call->step->name : "step");
	char *why = span_text(span_path(at->event->payload, KEY_ERROR, KEY_MESSAGE, NULL));
	const char *how = placed_outcome(at);

	if (strcmp(how, "success") == 0)
		agent_event_write_message(w, "%s done", what);
	else
		agent_event_write_message(w, "%s %s%s%s", what, how, why ? ": " : "", why ? why :
		    "");
	free(why);
	free(what);
}

static void
run_ended(struct writer *w, const struct projection_line *line)
{
	agent_event_write_message(w, "%s: %s", placed_actor(line->at), placed_status(line->at));
}

static void
agent_event_write_handoff(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	struct span within = span_member(at->event->payload, KEY_HANDOFF);
	bool is_within = at->event->told == EVENT_MESSAGE_USER;
	char *from = is_within ? text_member(within, KEY_FROM, "") :
	    memory_text(at->call->before[0]->step->agent);
	char *to = is_within ? text_member(within, KEY_TO, "") : memory_text(call_actor(at->call));

	agent_event_write_message(w, "%s hands over to %s", from, to);
	writer_member_string(w, "from", from);
	writer_member_string(w, "to", to);
	free(from);
	free(to);
}

static void
agent_event_write_turn(struct writer *w, const struct projection_line *line)
{
	long long number = line->news->turn;

	if (line->at->event->told != EVENT_TOOL_RESULT)
		span_integer(span_member(line->at->event->payload, KEY_TURN), &number);
	agent_event_write_message(w, "%s: turn %lld", placed_actor(line->at), number);
	writer_member_integer(w, "turn", number);
}

static void
turn_ended(struct writer *w, const struct projection_line *line)
{
	if (!excerpt_message(w, "message", line->at->event))
		agent_event_write_message(w, "%s wants tools", placed_actor(line->at));
}

static void
tool_started(struct writer *w, const struct projection_line *line)
{
	char *name = text_member(line->at->event->payload, KEY_NAME, "tool");

	agent_event_write_message(w, "%s called", name);
	free(name);
}

static void
agent_event_write_output(struct writer *w, const struct projection_line *line)
{
	const char *member = line->row->count == has_stderr ? KEY_STDERR : KEY_OUTPUT;

	if (!excerpt_contents(w, "message", line->at->event, member))
		agent_event_write_message(w, "%lld bytes",
		    (long long)excerpt_size(line->at->event, member));
}

static void
agent_event_write_commit(struct writer *w, const struct projection_line *line)
{
	struct span id = span_member(line->at->event->payload, KEY_COMMIT);
	char *text = span_text(id);

	agent_event_write_message(w, "commit %.12s", text ? text : "");
	writer_member_span(w, "commit", id);
	free(text);
}

static void
file_changed(struct writer *w, const struct projection_line *line)
{
	struct span file = span_element(span_member(line->at->event->payload, KEY_CHANGED),
	    line->index), sha256 = span_member(file, KEY_SHA256);
	char *path = text_member(file, KEY_PATH, "file");

	agent_event_write_message(w, "%s changed", path);
	writer_member_span(w, "file", span_member(file, KEY_PATH));
	if (span_type(sha256) == 's')
		writer_member_span(w, "sha256", sha256);
	writer_member_span(w, "change", span_member(file, KEY_CHANGE));
	free(path);
}

static void
agent_event_write_failure(struct writer *w, const struct projection_line *line)
{
	struct span error = span_member(line->at->event->payload, KEY_ERROR);
	struct event_view inside = { .payload = error };

	if (!excerpt_member(w, "message", &inside, KEY_MESSAGE))
		agent_event_write_message(w, "%s failed", placed_actor(line->at));
	writer_member_span(w, "code", span_member(error, KEY_CODE));
}

#define STEP \
	{ "step", PROJECT_PAYLOAD, KEY_CALL }, \
	{ "path", PROJECT_PATH, NULL }
#define KIND { "kind", PROJECT_PAYLOAD, KEY_KIND }
#define TOOL \
	{ "tool", PROJECT_PAYLOAD, KEY_NAME }, \
	{ "callId", PROJECT_PAYLOAD, KEY_CALL_ID }, \
	{ "path", PROJECT_PATH, NULL }
#define DURATION { "durationMs", PROJECT_DURATION, NULL }
#define OUTCOME { "outcome", PROJECT_OUTCOME, NULL }
#define LAST { NULL, 0, NULL }

static const struct projection_member
	run_start[] = {
		{ "attempt", PROJECT_PAYLOAD, KEY_ATTEMPT },
		{ "parentRunId", PROJECT_PARENT_RUN, NULL },
		LAST
	},
	run_end[] = {
		{ "status", PROJECT_PAYLOAD, KEY_STATUS },
		{ "exitCode", PROJECT_PAYLOAD, KEY_EXIT_CODE },
		DURATION,
		{ "usage", PROJECT_PAYLOAD, KEY_USAGE },
		LAST
	},
	step[] = { STEP, LAST },
	step_of_kind[] = { STEP, KIND, LAST },
	step_start[] = {
		STEP, KIND,
		{ "agent", PROJECT_CALL_AGENT, NULL },
		{ "model", PROJECT_CALL_MODEL, NULL },
		LAST
	},
	step_end[] = { STEP, KIND, DURATION, OUTCOME, LAST },
	step_of_message[] = {
		{ "step", PROJECT_CALL_ID, NULL },
		{ "path", PROJECT_PATH, NULL },
		{ "kind", PROJECT_CALL_KIND, NULL },
		LAST
	},
	child[] = { STEP, KIND, { "childRunId", PROJECT_CHILD_RUN, NULL }, LAST },
	turn_start[] = {
		{ "path", PROJECT_PATH, NULL },
		{ "model", PROJECT_CALL_MODEL, NULL },
		LAST
	},
	turn_end[] = {
		{ "turn", PROJECT_PAYLOAD, KEY_TURN },
		{ "path", PROJECT_PATH, NULL },
		{ "model", PROJECT_PAYLOAD, KEY_MODEL },
		{ "stopReason", PROJECT_PAYLOAD, KEY_STOP_REASON },
		DURATION,
		{ "usage", PROJECT_PAYLOAD, KEY_USAGE },
		LAST
	},
	tool[] = { TOOL, LAST },
	tool_start[] = { TOOL, { "argsSummary", PROJECT_ARGUMENTS, NULL }, LAST },
	tool_end[] = { TOOL, DURATION, OUTCOME, LAST },
	tool_stdout[] = { TOOL, { "stream", PROJECT_WORD, "stdout" }, LAST },
	tool_stderr[] = { TOOL, { "stream", PROJECT_WORD, "stderr" }, LAST },
	tool_failure[] = { STEP, { "tool", PROJECT_PAYLOAD, KEY_NAME }, LAST };

static const struct projection_row rows[] = {
	{ EVENT_RUN_STARTED, 0, "run.started", NULL, agent_event_write_started, run_start },
	{ EVENT_STEP_STARTED, 0, "run.phase", NULL, agent_event_write_started, step_start },
	{ EVENT_STEP_STARTED, 0, "handoff", handed_over, agent_event_write_handoff, step_of_kind },
	{ EVENT_STEP_STARTED, 0, "deploy.triggered", is_deploy, agent_event_write_started,
	    step_start },
	{ EVENT_CALL_WORKFLOW_STARTED, 0, "run.phase", NULL, agent_event_write_started,
	    step_start },
	{ EVENT_CALL_WORKFLOW_STARTED, 0, "child_job.started", NULL, agent_event_write_started,
	    child },
	{ EVENT_MESSAGE_USER, WHEN_HANDOFF, "handoff", NULL, agent_event_write_handoff,
	    step_of_message },
	{ EVENT_MESSAGE_USER, WHEN_TURN_BEGINS, "llm.turn.start", starts_turn,
	    agent_event_write_turn, turn_start },
	{ EVENT_MESSAGE_ASSISTANT, WHEN_WHOLE | WHEN_TURN_BEGINS, "llm.turn.start", starts_turn,
	    agent_event_write_turn, turn_start },
	{ EVENT_MESSAGE_ASSISTANT, WHEN_WHOLE, "llm.turn.end", NULL, turn_ended, turn_end },
	{ EVENT_TOOL_CALL, 0, "tool.start", NULL, tool_started, tool_start },
	{ EVENT_TOOL_RESULT, 0, "tool.output", has_output, agent_event_write_output, tool_stdout },
	{ EVENT_TOOL_RESULT, 0, "tool.output", has_stderr, agent_event_write_output, tool_stderr },
	{ EVENT_TOOL_RESULT, 0, "file.changed", changed_files, file_changed, tool },
	{ EVENT_TOOL_RESULT, 0, "git.commit", has_committed, agent_event_write_commit, tool },
	{ EVENT_TOOL_RESULT, WHEN_BLOCKED, "safety.block", NULL, agent_event_write_failure,
	    tool_failure },
	{ EVENT_TOOL_RESULT, 0, "tool.end", NULL, agent_event_write_ended, tool_end },
	{ EVENT_TOOL_RESULT, WHEN_TURN_BEGINS, "llm.turn.start", NULL, agent_event_write_turn,
	    turn_start },
	{ EVENT_STEP_COMPLETED, 0, "file.changed", changed_files, file_changed, step },
	{ EVENT_STEP_COMPLETED, 0, "git.commit", has_committed, agent_event_write_commit, step },
	{ EVENT_STEP_COMPLETED, WHEN_BLOCKED, "safety.block", NULL, agent_event_write_failure,
	    step },
	{ EVENT_STEP_COMPLETED, WHEN_FAILED, "error", NULL, agent_event_write_failure, step },
	{ EVENT_STEP_COMPLETED, 0, "git.commit", is_commit, agent_event_write_ended, step_end },
	{ EVENT_STEP_COMPLETED, 0, "deploy.status", is_deploy, agent_event_write_ended, step_end },
	{ EVENT_STEP_COMPLETED, 0, "run.phase", NULL, agent_event_write_ended, step_end },
	{ EVENT_CALL_WORKFLOW_COMPLETED, WHEN_FAILED, "error", NULL, agent_event_write_failure,
	    step },
	{ EVENT_CALL_WORKFLOW_COMPLETED, 0, "run.phase", NULL, agent_event_write_ended, step_end },
	{ EVENT_RUN_COMPLETED, WHEN_FAILED, "error", NULL, agent_event_write_failure, step },
	{ EVENT_RUN_COMPLETED, 0, "run.completed", NULL, run_ended, run_end },
	{ 0, 0, NULL, NULL, NULL, NULL },
};

static void
agent_event_write_line(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	const char *phase = "running";

	if (event_decides(at->event)) {
		phase = "stopped"; /* until it is resumed */
	} else if (at->event->type == EVENT_RUN_COMPLETED) {
		const char *status = placed_status(at);

		phase = strcmp(status, "success") == 0 ? "completed" :
		    strcmp(status, "cancelled") == 0 || strcmp(status, "waiting") == 0 ? "stopped" :
		    "failed";
	}
	writer_member_integer(w, "seq", line->number);
	writer_member_span(w, "ts", at->event->timestamp);
	writer_member_string(w, "runId", at->run->run_id);
	writer_member_string(w, "runKind", at->run->parent_run_id[0] != '\0' ? "job" : "session");
	writer_member_string(w, "phase", phase);
	writer_member_string(w, "type", line->row->type);
	writer_member_object(w, "payload");
	projection_row_write(w, line);
	writer_object_end(w);
}

const struct projection projection_agent_event = {
	"agent-event", 1, rows, agent_event_write_line, NULL
};
