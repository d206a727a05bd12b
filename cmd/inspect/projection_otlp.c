/*
 * otlp: spans as OpenTelemetry's collectors take them (OTLP/JSON, one export request
 * per line), named by its semantic conventions for generative AI. A span comes when
 * what it tells of has ended. The trace of a run has the run's id; the span of an
 * attempt is derived from run and attempt, so that parent and child runs can link to
 * each other without having been read, every other from the event that began it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "inspect/projection_write.h"
#include "run/waiting.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define SPAN_DIGITS 16
#define SPAN_SIZE (SPAN_DIGITS + 1)
#define TRACE_SIZE 33
#define SCHEMA_URL "https://opentelemetry.io/schemas/1.41.0"

enum { KIND_INTERNAL = 1, KIND_CLIENT = 3, STATUS_CODE_ERROR = 2 };

extern const char otlp_schema[];

/* The 16 bytes of a UUID. */
static char *
trace_id(const char *run_id, char out[TRACE_SIZE])
{
	size_t len = 0;

	for (; *run_id != '\0' && len < TRACE_SIZE - 1; run_id++)
		if (*run_id != '-')
			out[len++] = *run_id;
	out[len] = '\0';
	return out;
}

static char *
event_span(const char *event_id, char out[SPAN_SIZE])
{
	derive_hex("span", event_id, SPAN_DIGITS, out);
	return out;
}

static char *
attempt_span(const char *run_id, int64_t attempt, char out[SPAN_SIZE])
{
	char text[ID_SIZE + 24];

	snprintf(text, sizeof text, "%s/%lld", run_id, (long long)attempt);
	return event_span(text, out);
}

static void
nanoseconds(struct writer *w, const char *key, int64_t wall)
{
	char text[32];

	snprintf(text, sizeof text, "%lld000", (long long)wall);
	writer_member_string(w, key, text);
}

static void
attribute(struct writer *w, const char *key, const char *type)
{
	writer_object(w);
	writer_member_string(w, "key", key);
	writer_key(w, "value");
	writer_object(w);
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
	attribute(w, key, "stringValue");
	writer_string(w, text);
	attribute_end(w);
}

static void
attribute_string(struct writer *w, const char *key, struct span value)
{
	if (span_type(value) != 's')
		return;
	attribute(w, key, "stringValue");
	writer_span(w, value);
	attribute_end(w);
}

static void
attribute_integer(struct writer *w, const char *key, struct span value)
{
	char text[32];
	long long number;

	if (!span_integer(value, &number))
		return;
	snprintf(text, sizeof text, "%lld", number);
	attribute(w, key, "intValue");
	writer_string(w, text);
	attribute_end(w);
}

/* What conventions call a provider, if they do not call it as AWF does. */
static const char *
provider_name(const char *provider)
{
	static const struct { const char *name, *convention; } names[] = {
		{ "openai-responses", "openai" },
		{ "google", "gcp.gemini" },
	};

	for (size_t i = 0; provider && i < sizeof names / sizeof *names; i++)
		if (strcmp(provider, names[i].name) == 0)
			return names[i].convention;
	return provider;
}

static void
usage(struct writer *w, struct span usage)
{
	static const struct { const char *key, *convention; } counts[] = {
		{ "input_tokens", "gen_ai.usage.input_tokens" },
		{ "output_tokens", "gen_ai.usage.output_tokens" },
		{ "cache_read_tokens", "gen_ai.usage.cache_read.input_tokens" },
		{ "cache_write_tokens", "gen_ai.usage.cache_creation.input_tokens" },
		{ "reasoning_tokens", "gen_ai.usage.reasoning.output_tokens" },
	};

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		attribute_integer(w, counts[i].convention, span_member(usage, counts[i].key));
}

/* What conventions call a stop reason, if they have a word for it. */
static struct span
finish_reason(struct span reason)
{
	static const struct { const char *reason, *convention; } reasons[] = {
		{ "end_turn", "\"stop\"" }, { "stop_sequence", "\"stop\"" },
		{ "max_tokens", "\"length\"" }, { "tool_use", "\"tool_call\"" },
		{ "refusal", "\"content_filter\"" },
	};

	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (span_is(reason, reasons[i].reason))
			return span_of(reasons[i].convention, strlen(reasons[i].convention));
	return reason;
}

static void
finish_reasons(struct writer *w, struct span reason)
{
	if (span_type(reason) != 's')
		return;
	attribute(w, "gen_ai.response.finish_reasons", "arrayValue");
	writer_object(w);
	writer_key(w, "values");
	writer_array(w);
	writer_object(w);
	writer_member_span(w, "stringValue", finish_reason(reason));
	writer_object_end(w);
	writer_array_end(w);
	writer_object_end(w);
	attribute_end(w);
}

static void
link_to(struct writer *w, const char *run_id, const char *span_id)
{
	char trace[TRACE_SIZE];

	writer_object(w);
	writer_member_string(w, "traceId", trace_id(run_id, trace));
	writer_member_string(w, "spanId", span_id);
	writer_object_end(w);
}

/* The first attempt of another run. */
static void
link_to_run(struct writer *w, const char *run_id)
{
	char span[SPAN_SIZE];

	if (run_id[0] != '\0')
		link_to(w, run_id, attempt_span(run_id, 1, span));
}

/* name: "WORD WHAT", as the conventions want it. */
static void
begin_span(struct writer *w, const struct projection_line *line, const char *span_id,
    const char *parent, const char *what, int kind)
{
	const struct placed *at = line->at;
	char trace[TRACE_SIZE];
	struct buffer name = BUFFER_INIT;

	buffer_format(&name, "%s%s", line->row->type, what && *what ? " " : "");
	buffer_text(&name, what ? what : "");
	writer_member_string(w, "traceId", trace_id(at->run->run_id, trace));
	writer_member_string(w, "spanId", span_id);
	writer_member_string(w, "parentSpanId", parent);
	writer_member_string(w, "name", name.data);
	writer_member_integer(w, "kind", kind);
	nanoseconds(w, "startTimeUnixNano", at->started);
	nanoseconds(w, "endTimeUnixNano", at->wall);
	writer_key(w, "attributes");
	writer_array(w);
	buffer_free(&name);
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
status(struct writer *w, const struct placed *at)
{
	if (!placed_failed(at))
		return;
	writer_key(w, "status");
	writer_object(w);
	writer_member_span(w, "message", span_path(at->event->payload, KEY_ERROR, KEY_MESSAGE, NULL));
	writer_member_integer(w, "code", STATUS_CODE_ERROR);
	writer_object_end(w);
}

/* The span around a call: the group's, or the attempt's. */
static const char *
around(const struct placed *at, const struct model_call *call, char out[SPAN_SIZE])
{
	if (call && call->around)
		return event_span(call->around->event_id, out);
	return attempt_span(at->run->run_id, at->run->attempt, out);
}

/* The span of the call that an event belongs to. */
static const char *
inside(const struct placed *at, char out[SPAN_SIZE])
{
	return at->call ? event_span(at->call->event_id, out) : around(at, NULL, out);
}

static void
run(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	char span[SPAN_SIZE];

	attempt_span(at->run->run_id, at->run->attempt, span);
	begin_span(w, line, span, NULL, at->run->name, KIND_INTERNAL);
	attribute_text(w, "gen_ai.operation.name", line->row->type);
	attribute_text(w, "gen_ai.workflow.name", at->run->name);
	attribute_text(w, "awf.run_id", at->run->run_id);
	attribute_string(w, "awf.status", span_member(at->event->payload, KEY_STATUS));
	end_attributes(w, at);
	writer_key(w, "links");
	writer_array(w);
	link_to_run(w, at->run->parent_run_id);
	writer_array_end(w);
	status(w, at);
}

/* To what it was given the results of, and to the run that it started. */
static void
call_links(struct writer *w, const struct placed *at)
{
	char span[SPAN_SIZE];

	writer_key(w, "links");
	writer_array(w);
	for (size_t i = 0; i < at->call->before_count; i++)
		link_to(w, at->run->run_id, event_span(at->call->before[i]->event_id, span));
	link_to_run(w, at->call->child_run_id);
	writer_array_end(w);
}

static void
call(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	char span[SPAN_SIZE], parent[SPAN_SIZE];

	begin_span(w, line, event_span(at->call->event_id, span), around(at, at->call, parent),
	    call_actor(at->call), KIND_INTERNAL);
	if (placed_by_agent(at)) {
		attribute_text(w, "gen_ai.operation.name", line->row->type);
		attribute_text(w, "gen_ai.provider.name", provider_name(at->call->provider));
		attribute_text(w, "gen_ai.agent.name", call_actor(at->call));
		attribute_text(w, "gen_ai.request.model", at->call->model);
	} else if (at->call->child_run_id[0] != '\0') {
		attribute_text(w, "gen_ai.operation.name", line->row->type);
		attribute_text(w, "gen_ai.workflow.name", at->call->name);
	}
	attribute_text(w, "awf.call", at->call->id);
	attribute_text(w, "awf.kind", at->call->kind);
	attribute_text(w, "awf.outcome", placed_outcome(at));
	end_attributes(w, at);
	call_links(w, at);
	status(w, at);
}

/* What a call waited for, within it: from when it began to until it was decided. */
static void
decision(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	struct span approval = span_member(at->event->payload, KEY_APPROVAL);
	char span[SPAN_SIZE], parent[SPAN_SIZE], id[ID_SIZE] = "";

	span_copy(at->event->event_id, id, sizeof id);
	begin_span(w, line, event_span(id, span), inside(at, parent), call_actor(at->call),
	    KIND_INTERNAL);
	attribute_text(w, "awf.call", at->call->id);
	attribute_string(w, "awf.decision", span_member(approval, "decision"));
	attribute_string(w, "awf.decided_by", span_member(approval, "by"));
	end_attributes(w, at);
	status(w, at);
}

static size_t
decided(const struct placed *at)
{
	return at->call != NULL && event_decides(at->event);
}

static void
turn(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	struct span payload = at->event->payload;
	const struct model_call *call = at->call;
	char span[SPAN_SIZE], parent[SPAN_SIZE], id[ID_SIZE] = "";

	span_copy(at->event->event_id, id, sizeof id);
	begin_span(w, line, event_span(id, span), inside(at, parent), call ? call->model : NULL,
	    KIND_CLIENT);
	attribute_text(w, "gen_ai.operation.name", line->row->type);
	attribute_text(w, "gen_ai.provider.name", call ? provider_name(call->provider) : NULL);
	attribute_text(w, "gen_ai.request.model", call ? call->model : NULL);
	/* An agent CLI has an id for it; else it is the call's, for each has its own. */
	if (span_type(span_member(payload, KEY_SESSION_ID)) == 's')
		attribute_string(w, "gen_ai.conversation.id", span_member(payload, KEY_SESSION_ID));
	else
		attribute_text(w, "gen_ai.conversation.id", call ? call->event_id : NULL);
	attribute_string(w, "gen_ai.response.model", span_member(payload, KEY_MODEL));
	finish_reasons(w, span_member(payload, KEY_STOP_REASON));
	usage(w, span_member(payload, KEY_USAGE));
	end_attributes(w, at);
}

/* The id is that of the call, which is the result's parent. */
static void
tool(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	struct span payload = at->event->payload;
	char span[SPAN_SIZE], parent[SPAN_SIZE], id[ID_SIZE] = "";
	char *name = span_text(span_member(payload, KEY_NAME));

	span_copy(at->event->parent_event_id, id, sizeof id);
	begin_span(w, line, event_span(id, span), inside(at, parent), name, KIND_INTERNAL);
	attribute_text(w, "gen_ai.operation.name", line->row->type);
	attribute_text(w, "gen_ai.tool.name", name);
	attribute_string(w, "gen_ai.tool.call.id", span_member(payload, KEY_CALL_ID));
	attribute_text(w, "gen_ai.tool.type", "function");
	end_attributes(w, at);
	status(w, at);
	free(name);
}

static size_t
other_call(const struct placed *at)
{
	return at->call && !placed_by_agent(at) && !decided(at);
}

static size_t
known_call(const struct placed *at)
{
	return at->call != NULL;
}

static const struct projection_row rows[] = {
	{ EVENT_MESSAGE_ASSISTANT, false, "chat", placed_whole, turn },
	{ EVENT_TOOL_RESULT, false, "execute_tool", NULL, tool },
	{ EVENT_STEP_COMPLETED, false, "decision", decided, decision },
	{ EVENT_STEP_COMPLETED, false, "invoke_agent", placed_by_agent, call },
	{ EVENT_STEP_COMPLETED, false, "step", other_call, call },
	{ EVENT_CALL_WORKFLOW_COMPLETED, false, "invoke_workflow", known_call, call },
	{ EVENT_RUN_COMPLETED, false, "invoke_workflow", NULL, run },
	{ 0, false, NULL, NULL, NULL },
};

static void
resource(struct writer *w)
{
	writer_key(w, "resource");
	writer_object(w);
	writer_key(w, "attributes");
	writer_array(w);
	attribute_text(w, "service.name", "awf");
	attribute_text(w, "service.version", AWF_VERSION);
	writer_array_end(w);
	writer_object_end(w);
}

static void
scope_spans(struct writer *w, const struct projection_line *line)
{
	writer_object(w);
	writer_key(w, "scope");
	writer_object(w);
	writer_member_string(w, "name", "awf");
	writer_member_string(w, "version", AWF_VERSION);
	writer_object_end(w);
	writer_key(w, "spans");
	writer_array(w);
	writer_object(w);
	line->row->body(w, line);
	writer_object_end(w);
	writer_array_end(w);
	writer_member_string(w, "schemaUrl", SCHEMA_URL);
	writer_object_end(w);
}

/* Collectors pass over members that OTLP does not know. */
static void
write_members(struct writer *w, const struct projection_line *line)
{
	writer_member_integer(w, "seq", line->number);
	writer_key(w, "resourceSpans");
	writer_array(w);
	writer_object(w);
	resource(w);
	writer_key(w, "scopeSpans");
	writer_array(w);
	scope_spans(w, line);
	writer_array_end(w);
	writer_object_end(w);
	writer_array_end(w);
}

const struct projection projection_otlp = {
	"otlp", otlp_schema, 1, rows, write_members, NULL
};
