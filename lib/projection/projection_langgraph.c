/*
 * langgraph: the parts of a stream in LangGraph's version "v2", each with its mode (type), the
 * namespace of its origin (ns), and data. A call is a task; its namespace is the list of groups
 * that enclose it; the last part is the state with which the run ended. A decision makes no part:
 * the call that continues after it does.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "model/excerpt.h"
#include "model/results.h"
#include "projection/projection_write.h"
#include "transcript/event_keys.h"

/* NAME:TASK of each enclosing call, from the outermost. */
static void
write_namespace(struct writer *w, const struct model_call *call)
{
	struct buffer text = BUFFER_INIT;
	char id[ID_SIZE];

	if (call == NULL)
		return;
	write_namespace(w, call->around);
	buffer_format(&text, "%s:%s", call->step->name, model_call_event_id(call, id));
	writer_string(w, text.data);
	buffer_free(&text);
}

static void
write_task(struct writer *w, const struct model_call *call)
{
	char id[ID_SIZE];

	writer_member_string(w, "id", model_call_event_id(call, id));
	writer_member_string(w, "name", call->step->name);
}

static void
langgraph_write_task_event(struct writer *w, const struct projection_line *line)
{
	const struct model_call *call = line->at->call;

	write_task(w, call);
	if (!excerpt_contents(w, "input", line->at->event, KEY_INPUT)) {
		writer_key(w, "input");
		writer_null(w);
	}
	writer_member_array(w, "triggers");
	for (uint32_t i = 0; i < call->before_count; i++)
		writer_string(w, call->before[i]->step->name);
	writer_array_end(w);
}

static bool
langgraph_call_waits(const struct placed *at)
{
	return strcmp(placed_outcome(at), "waiting") == 0;
}

/* What a waiting call waits for. */
static void
write_interrupts(struct writer *w, const char *key, const struct placed *at)
{
	writer_member_array(w, key);
	if (langgraph_call_waits(at)) {
		writer_object(w);
		writer_member_span(w, "value", span_path(at->event->payload, KEY_APPROVAL, KEY_ASKS, NULL));
		writer_member_span(w, "id", at->event->event_id);
		writer_object_end(w);
	}
	writer_array_end(w);
}

static void
langgraph_write_result(struct writer *w, const char *key, const struct placed *at)
{
	writer_member_object(w, key);
	excerpt_contents(w, "output", at->event, result_member(at->event->payload));
	writer_object_end(w);
}

static void
task_result(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	const struct event_view error = { .payload = span_member(at->event->payload, KEY_ERROR) };

	write_task(w, at->call);
	if (!placed_failed(at) || !excerpt_member(w, "error", &error, KEY_MESSAGE)) {
		writer_key(w, "error");
		writer_null(w);
	}
	write_interrupts(w, "interrupts", at);
	langgraph_write_result(w, "result", at);
}

static void
langgraph_write_update(struct writer *w, const struct projection_line *line)
{
	if (langgraph_call_waits(line->at))
		write_interrupts(w, "__interrupt__", line->at);
	else
		langgraph_write_result(w, line->at->call->step->name, line->at);
}

/* A message, and its origin. */
static void
langgraph_write_message(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	struct span payload = at->event->payload, usage = span_member(payload, KEY_USAGE);
	long long input = 0, output = 0;
	bool has_text;

	writer_object(w);
	writer_member_span(w, "id", at->event->event_id);
	if (at->event->told == EVENT_TOOL_RESULT) {
		writer_member_string(w, "type", "tool");
		writer_member_span(w, "name", span_member(payload, KEY_NAME));
		writer_member_span(w, "tool_call_id", span_member(payload, KEY_CALL_ID));
		writer_member_string(w, "status", placed_failed(at) ? "error" : "success");
		has_text = excerpt_contents(w, "content", at->event, KEY_OUTPUT);
	} else {
		bool answers = at->event->told == EVENT_MESSAGE_ASSISTANT;

		writer_member_string(w, "type", answers ? "ai" : "human");
		has_text = excerpt_message(w, "content", at->event);
		if (span_integer(span_member(usage, KEY_INPUT_TOKENS), &input) &&
		    span_integer(span_member(usage, KEY_OUTPUT_TOKENS), &output)) {
			writer_member_object(w, "usage_metadata");
			writer_member_integer(w, "input_tokens", input);
			writer_member_integer(w, "output_tokens", output);
			writer_member_integer(w, "total_tokens", input + output);
			writer_object_end(w);
		}
		if (answers) {
			writer_member_object(w, "response_metadata");
			writer_member_span(w, "model_name", span_member(payload, KEY_MODEL));
			writer_member_span(w, "stop_reason", span_member(payload, KEY_STOP_REASON));
			writer_object_end(w);
		}
	}
	if (!has_text)
		writer_member_string(w, "content", "");
	writer_object_end(w);
	writer_object(w);
	writer_member_string(w, "langgraph_node", at->call->step->name);
	writer_member_span(w, "langgraph_step", span_member(payload, KEY_TURN));
	writer_object_end(w);
}

#define LAST { NULL, 0, NULL }

static const struct projection_member
	run_start[] = {
		{ "name", PROJECT_PAYLOAD, KEY_NAME },
		{ "attempt", PROJECT_PAYLOAD, KEY_ATTEMPT },
		LAST
	},
	tool_call[] = {
		{ "tool", PROJECT_PAYLOAD, KEY_NAME },
		{ "tool_call_id", PROJECT_PAYLOAD, KEY_CALL_ID },
		{ "arguments", PROJECT_ARGUMENTS, NULL },
		LAST
	},
	run_end[] = {
		{ "status", PROJECT_STATUS, NULL },
		{ "exit_code", PROJECT_PAYLOAD, KEY_EXIT_CODE },
		{ "duration_ms", PROJECT_DURATION, NULL },
		{ "usage", PROJECT_PAYLOAD, KEY_USAGE },
		{ "error", PROJECT_ERROR, NULL },
		LAST
	};

static const struct projection_row rows[] = {
	{ EVENT_RUN_STARTED, 0, "metadata", NULL, NULL, run_start },
	{ EVENT_STEP_STARTED, WHEN_CALL, "tasks", NULL, langgraph_write_task_event, NULL },
	{ EVENT_CALL_WORKFLOW_STARTED, WHEN_CALL, "tasks", NULL, langgraph_write_task_event, NULL },
	{ EVENT_MESSAGE_USER, WHEN_CALL, "messages", NULL, langgraph_write_message, NULL },
	{ EVENT_MESSAGE_ASSISTANT, WHEN_CALL | WHEN_WHOLE, "messages", NULL,
	    langgraph_write_message, NULL },
	{ EVENT_TOOL_CALL, WHEN_CALL, "custom", NULL, NULL, tool_call },
	{ EVENT_TOOL_RESULT, WHEN_CALL, "messages", NULL, langgraph_write_message, NULL },
	{ EVENT_STEP_COMPLETED, WHEN_CALL | WHEN_NOT_DECIDED, "tasks", NULL, task_result, NULL },
	{ EVENT_STEP_COMPLETED, WHEN_CALL | WHEN_NOT_DECIDED | WHEN_SUCCESS | WHEN_WAITING, "updates", NULL,
	    langgraph_write_update, NULL },
	{ EVENT_CALL_WORKFLOW_COMPLETED, WHEN_CALL, "tasks", NULL, task_result, NULL },
	{ EVENT_CALL_WORKFLOW_COMPLETED, WHEN_CALL | WHEN_SUCCESS | WHEN_WAITING, "updates", NULL,
	    langgraph_write_update, NULL },
	{ EVENT_RUN_COMPLETED, 0, "values", NULL, NULL, run_end },
	{ 0, 0, NULL, NULL, NULL, NULL },
};

static void
langgraph_write_line(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	bool pair = line->row->body == langgraph_write_message;

	writer_member_integer(w, "seq", line->number);
	writer_member_string(w, "type", line->row->type);
	writer_member_array(w, "ns");
	if (at->call != NULL)
		write_namespace(w, at->call->around);
	writer_array_end(w);
	writer_key(w, "data");
	if (pair)
		writer_array(w);
	else
		writer_object(w);
	if (at->event->type == EVENT_RUN_STARTED)
		writer_member_string(w, "run_id", at->run->run_id);
	projection_row_write(w, line);
	if (pair)
		writer_array_end(w);
	else
		writer_object_end(w);
	if (at->event->type == EVENT_RUN_COMPLETED) {
		writer_member_array(w, "interrupts");
		writer_array_end(w);
	}
}

const struct projection projection_langgraph = {
	"langgraph", 1, rows, langgraph_write_line, NULL
};
