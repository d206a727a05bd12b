/*
 * otlp: spans for OpenTelemetry collectors (OTLP/JSON, one export request per line), named by its
 * semantic conventions for generative AI. A span is written when what it describes has ended. Trace
 * and span ids are those of storage/traceparent.h: the parent of an attempt is the span in which it
 * was started, the parent of a child run the call that started it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "model/waiting.h"
#include "projection/projection_write.h"
#include "storage/traceparent.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define SCHEMA_URL "https://opentelemetry.io/schemas/gen-ai/0.1.0"

enum { KIND_INTERNAL = 1, KIND_CLIENT = 3, STATUS_CODE_ERROR = 2 };

static char *
call_span(const struct model_call *call, char out[SPAN_ID_SIZE])
{
	char id[ID_SIZE];

	return span_id_of_event(model_call_event_id(call, id), out);
}

/* The span around a call: that of the group, or of the attempt. */
static const char *
otlp_enclosing_span(const struct placed *at, const struct model_call *call, char out[SPAN_ID_SIZE])
{
	if (call && call->around)
		return call_span(call->around, out);
	return span_id_of_attempt(at->run->run_id, at->run->attempt, out);
}

/* ---- attributes ---- */

static void
otlp_begin_attribute(struct writer *w, const char *key, const char *type)
{
	writer_object(w);
	writer_member_string(w, "key", key);
	writer_member_object(w, "value");
	writer_key(w, type);
}

static void
attribute_end(struct writer *w)
{
	writer_object_end(w);
	writer_object_end(w);
}

static void
attribute_text(struct writer *w, const char *key, const char *text)
{
	if (!text)
		return;
	otlp_begin_attribute(w, key, "stringValue");
	writer_string(w, text);
	attribute_end(w);
}

static void
attribute_string(struct writer *w, const char *key, struct span value)
{
	if (span_type(value) != 's')
		return;
	otlp_begin_attribute(w, key, "stringValue");
	writer_span(w, value);
	attribute_end(w);
}

/* Writes the conventions' name of a provider, where it differs from AWF's. */
static void
attribute_provider(struct writer *w, const char *provider)
{
	static const struct { const char *name, *convention; } names[] = {
		{ "openai-responses", "openai" },
		{ "google", "gcp.gemini" },
	};

	for (size_t i = 0; provider && i < sizeof names / sizeof *names; i++)
		if (strcmp(provider, names[i].name) == 0) {
			attribute_text(w, "gen_ai.provider.name", names[i].convention);
			return;
		}
	attribute_text(w, "gen_ai.provider.name", provider);
}

static void
attribute_usage(struct writer *w, struct span usage)
{
	static const char *const conventions[MODEL_USAGE_KEYS] = {
		[MODEL_INPUT_TOKENS] = "gen_ai.usage.input_tokens",
		[MODEL_OUTPUT_TOKENS] = "gen_ai.usage.output_tokens",
		[MODEL_CACHE_READ_TOKENS] = "gen_ai.usage.cache_read.input_tokens",
		[MODEL_CACHE_WRITE_TOKENS] = "gen_ai.usage.cache_write.input_tokens",
		[MODEL_REASONING_TOKENS] = "gen_ai.usage.reasoning.output_tokens",
	};

	for (size_t i = 0; i < MODEL_USAGE_KEYS; i++) {
		long long number;
		char text[32];

		if (!span_integer(span_member(usage, model_usage_keys[i]), &number))
			continue;
		snprintf(text, sizeof text, "%lld", number);
		otlp_begin_attribute(w, conventions[i], "intValue");
		writer_string(w, text);
		attribute_end(w);
	}
}

/* Writes the conventions' name of a stop reason, if there is one. */
static void
attribute_stop_reason(struct writer *w, struct span reason)
{
	static const struct { const char *reason, *convention; } reasons[] = {
		{ "end_turn", "stop" }, { "stop_sequence", "stop" }, { "max_tokens", "length" },
		{ "tool_use", "tool_call" }, { "refusal", "content_filter" },
	};
	const char *convention = NULL;

	if (span_type(reason) != 's')
		return;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (span_is(reason, reasons[i].reason))
			convention = reasons[i].convention;
	otlp_begin_attribute(w, "gen_ai.response.finish_reasons", "arrayValue");
	writer_object(w);
	writer_member_array(w, "values");
	writer_object(w);
	if (convention)
		writer_member_string(w, "stringValue", convention);
	else
		writer_member_span(w, "stringValue", reason);
	writer_object_end(w);
	writer_array_end(w);
	writer_object_end(w);
	attribute_end(w);
}

/* ---- spans ---- */

static void
link_to(struct writer *w, const char *trace_id, const char *span_id)
{
	writer_object(w);
	writer_member_string(w, "traceId", trace_id);
	writer_member_string(w, "spanId", span_id);
	writer_object_end(w);
}

/* Writes a span up to its attributes. Its name is "WORD WHAT", as the conventions require; parent
 * NULL: none. */
static void
begin_span(struct writer *w, const struct projection_line *line, const char *span_id,
    const char *parent, const char *what, int kind)
{
	const struct placed *at = line->at;
	char time[32];
	struct buffer name = BUFFER_INIT;

	buffer_text(&name, line->row->type);
	if (what && *what)
		buffer_format(&name, " %s", what);
	writer_member_string(w, "traceId", at->run->trace.trace_id);
	writer_member_string(w, "spanId", span_id);
	writer_member_string(w, "parentSpanId", parent);
	writer_member_string(w, "name", name.data);
	writer_member_integer(w, "kind", kind);
	snprintf(time, sizeof time, "%lld000", (long long)at->started);
	writer_member_string(w, "startTimeUnixNano", time);
	snprintf(time, sizeof time, "%lld000", (long long)at->wall);
	writer_member_string(w, "endTimeUnixNano", time);
	writer_member_array(w, "attributes");
	buffer_free(&name);
}

/* The same for a part of a call, or of the attempt, that begins with an event. */
static void
begin_span_inside(struct writer *w, const struct projection_line *line, struct span event_id,
    const char *what, int kind)
{
	const struct placed *at = line->at;
	char id[ID_SIZE] = "", span[SPAN_ID_SIZE], parent[SPAN_ID_SIZE];

	span_copy(event_id, id, sizeof id);
	span_id_of_event(id, span);
	if (at->call)
		call_span(at->call, parent);
	else
		otlp_enclosing_span(at, NULL, parent);
	begin_span(w, line, span, parent, what, kind);
}

static void
end_attributes(struct writer *w, const struct placed *at)
{
	attribute_string(w, "awf.path", at->event->path);
	if (placed_failed(at))
		attribute_string(w, "error.type", span_path(at->event->payload, KEY_ERROR, KEY_CODE, NULL));
	writer_array_end(w);
}

static void
otlp_write_status(struct writer *w, const struct placed *at)
{
	if (!placed_failed(at))
		return;
	writer_member_object(w, "status");
	writer_member_span(w, "message", span_path(at->event->payload, KEY_ERROR, KEY_MESSAGE, NULL));
	writer_member_integer(w, "code", STATUS_CODE_ERROR);
	writer_object_end(w);
}

static void
otlp_write_run_span(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	const struct traceparent *around = &at->run->trace;
	const char *parent = at->run->parent_run_id;
	char span[SPAN_ID_SIZE], trace[TRACE_ID_SIZE];

	begin_span(w, line, span_id_of_attempt(at->run->run_id, at->run->attempt, span),
	    around->span_id[0] != '\0' ? around->span_id : NULL, at->run->name, KIND_INTERNAL);
	attribute_text(w, "gen_ai.operation.name", line->row->type);
	attribute_text(w, "gen_ai.workflow.name", at->run->name);
	attribute_text(w, "awf.run_id", at->run->run_id);
	attribute_string(w, "awf.status", span_member(at->event->payload, KEY_STATUS));
	end_attributes(w, at);
	writer_member_array(w, "links");
	/* A child run recorded before AWF had traces has its own trace: link to it. */
	if (around->span_id[0] == '\0' && parent[0] != '\0')
		link_to(w, trace_id_of_run(parent, trace), span_id_of_attempt(parent, 1, span));
	writer_array_end(w);
	otlp_write_status(w, at);
}

/* A span is linked to the calls whose results the call was given. */
static void
otlp_write_call_span(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	const struct model_call *c = at->call;
	char span[SPAN_ID_SIZE], parent[SPAN_ID_SIZE];

	begin_span(w, line, call_span(c, span), otlp_enclosing_span(at, c, parent), call_actor(c),
	    KIND_INTERNAL);
	if (placed_by_agent(at)) {
		attribute_text(w, "gen_ai.operation.name", line->row->type);
		attribute_provider(w, c->step->provider);
		attribute_text(w, "gen_ai.agent.name", call_actor(c));
		attribute_text(w, "gen_ai.request.model", c->step->model);
	} else if (c->rare->child_run_id[0] != '\0') {
		attribute_text(w, "gen_ai.operation.name", line->row->type);
		attribute_text(w, "gen_ai.workflow.name", c->step->name);
	}
	attribute_text(w, "awf.call", c->id);
	attribute_text(w, "awf.kind", c->step->kind);
	attribute_text(w, "awf.outcome", placed_outcome(at));
	end_attributes(w, at);
	writer_member_array(w, "links");
	for (size_t i = 0; i < c->before_count; i++)
		link_to(w, at->run->trace.trace_id, call_span(c->before[i], span));
	writer_array_end(w);
	otlp_write_status(w, at);
}

/* Writes a span for the wait of a call, inside the call's span: from its beginning to the
 * decision. */
static void
otlp_write_decision_span(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	struct span approval = span_member(at->event->payload, KEY_APPROVAL);

	begin_span_inside(w, line, at->event->event_id, call_actor(at->call), KIND_INTERNAL);
	attribute_text(w, "awf.call", at->call->id);
	attribute_string(w, "awf.decision", span_member(approval, KEY_DECISION));
	attribute_string(w, "awf.decided_by", span_member(approval, KEY_BY));
	end_attributes(w, at);
	otlp_write_status(w, at);
}

static void
otlp_write_turn_span(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	struct span payload = at->event->payload, session = span_member(payload, KEY_SESSION_ID);
	const struct model_call *c = at->call;
	char id[ID_SIZE];

	begin_span_inside(w, line, at->event->event_id, c ? c->step->model : NULL, KIND_CLIENT);
	attribute_text(w, "gen_ai.operation.name", line->row->type);
	attribute_provider(w, c ? c->step->provider : NULL);
	attribute_text(w, "gen_ai.request.model", c ? c->step->model : NULL);
	/* An agent CLI has a session id; otherwise the call's id is used, since each call has
	 * its own session. */
	if (span_type(session) == 's')
		attribute_string(w, "gen_ai.conversation.id", session);
	else if (c)
		attribute_text(w, "gen_ai.conversation.id", model_call_event_id(c, id));
	attribute_string(w, "gen_ai.response.model", span_member(payload, KEY_MODEL));
	attribute_stop_reason(w, span_member(payload, KEY_STOP_REASON));
	attribute_usage(w, span_member(payload, KEY_USAGE));
	end_attributes(w, at);
}

/* A tool's span begins with the tool call, which is the parent event of the result. */
static void
otlp_write_tool_span(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	struct span payload = at->event->payload;
	char *name = span_text(span_member(payload, KEY_NAME));

	begin_span_inside(w, line, at->event->parent_event_id, name, KIND_INTERNAL);
	attribute_text(w, "gen_ai.operation.name", line->row->type);
	attribute_text(w, "gen_ai.tool.name", name);
	attribute_string(w, "gen_ai.tool.call.id", span_member(payload, KEY_CALL_ID));
	attribute_text(w, "gen_ai.tool.type", "function");
	end_attributes(w, at);
	otlp_write_status(w, at);
	free(name);
}

static const struct projection_row rows[] = {
	{ EVENT_MESSAGE_ASSISTANT, WHEN_WHOLE, "chat", NULL, otlp_write_turn_span, NULL },
	{ EVENT_TOOL_RESULT, 0, "execute_tool", NULL, otlp_write_tool_span, NULL },
	{ EVENT_STEP_COMPLETED, WHEN_CALL | WHEN_DECIDED, "decision", NULL,
	    otlp_write_decision_span, NULL },
	{ EVENT_STEP_COMPLETED, WHEN_AGENT, "invoke_agent", NULL, otlp_write_call_span, NULL },
	{ EVENT_STEP_COMPLETED, WHEN_CALL | WHEN_NO_AGENT | WHEN_NOT_DECIDED, "step", NULL,
	    otlp_write_call_span, NULL },
	{ EVENT_CALL_WORKFLOW_COMPLETED, WHEN_CALL, "invoke_workflow", NULL, otlp_write_call_span,
	    NULL },
	{ EVENT_RUN_COMPLETED, 0, "invoke_workflow", NULL, otlp_write_run_span, NULL },
	{ 0, 0, NULL, NULL, NULL, NULL },
};

/* One span of one scope of one resource. Collectors ignore members that OTLP does not define. */
static void
otlp_write_line(struct writer *w, const struct projection_line *line)
{
	writer_member_integer(w, "seq", line->number);
	writer_member_array(w, "resourceSpans");
	writer_object(w);
	writer_member_object(w, "resource");
	writer_member_array(w, "attributes");
	attribute_text(w, "service.name", "awf");
	attribute_text(w, "service.version", AWF_VERSION);
	writer_array_end(w);
	writer_object_end(w);
	writer_member_array(w, "scopeSpans");
	writer_object(w);
	writer_member_object(w, "scope");
	writer_member_string(w, "name", "awf");
	writer_member_string(w, "version", AWF_VERSION);
	writer_object_end(w);
	writer_member_array(w, "spans");
	writer_object(w);
	projection_row_write(w, line);
	writer_object_end(w);
	writer_array_end(w);
	writer_member_string(w, "schemaUrl", SCHEMA_URL);
	writer_object_end(w);
	writer_array_end(w);
	writer_object_end(w);
	writer_array_end(w);
}

/* ---- attempts and calls without an end ---- */

static void
otlp_write_died_status(struct writer *w, const struct placed *at)
{
	attribute_text(w, "error.type", error_name(ERROR_INTERRUPTED));
	writer_array_end(w);
	writer_member_array(w, "links");
	writer_array_end(w);
	writer_member_object(w, "status");
	writer_member_string(w, "message", at->call != NULL ? "the attempt died" : "died");
	writer_member_integer(w, "code", STATUS_CODE_ERROR);
	writer_object_end(w);
}

static void
died_attempt(struct writer *w, const struct projection_line *line)
{
	const struct model *run = line->at->run;
	char span[SPAN_ID_SIZE];

	begin_span(w, line, span_id_of_attempt(run->run_id, run->attempt, span),
	    run->trace.span_id[0] != '\0' ? run->trace.span_id : NULL, run->name, KIND_INTERNAL);
	attribute_text(w, "gen_ai.operation.name", line->row->type);
	attribute_text(w, "gen_ai.workflow.name", run->name);
	attribute_text(w, "awf.run_id", run->run_id);
	otlp_write_died_status(w, line->at);
}

static void
died_call(struct writer *w, const struct projection_line *line)
{
	const struct model_call *c = line->at->call;
	char span[SPAN_ID_SIZE], parent[SPAN_ID_SIZE];

	begin_span(w, line, call_span(c, span), otlp_enclosing_span(line->at, c, parent),
	    call_actor(c), KIND_INTERNAL);
	attribute_text(w, "awf.call", c->id);
	attribute_text(w, "awf.kind", c->step->kind);
	otlp_write_died_status(w, line->at);
}

void
projection_otlp_died(const struct model *run, struct buffer *out)
{
	static const struct projection_row attempt = { EVENT_RUN_STARTED, 0, "invoke_workflow", NULL,
		died_attempt, NULL };
	static const struct projection_row call = { EVENT_RUN_STARTED, 0, "step", NULL, died_call, NULL };
	struct placed at = { .run = run, .started = run->started, .wall = run->last };
	const struct projection_line whole = { &at, &attempt, 0, 0 };
	struct writer w;

	if (run->attempt == 0 || run->ended)
		return;
	writer_begin(&w, out);
	writer_object(&w);
	otlp_write_line(&w, &whole);
	writer_object_end(&w);
	buffer_byte(out, '\n');
	for (struct model_call *c = run->first_of_attempt; c != NULL; c = c->next) {
		struct placed inside = { .run = run, .call = c, .started = c->started, .wall = run->last };
		const struct projection_line line = { &inside, &call, 0, 0 };

		if (c->state != CALL_OPEN)
			continue;
		writer_begin(&w, out);
		writer_object(&w);
		otlp_write_line(&w, &line);
		writer_object_end(&w);
		buffer_byte(out, '\n');
	}
}

const struct projection projection_otlp = {
	"otlp", 1, rows, otlp_write_line, NULL
};
