/*
 * awf-import-agents FILE: what a trace of the OpenAI Agents SDK says, as its processors export it: a line for
 * the trace, and one for each span when it has ended. Nothing says when a trace is over.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "import/format.h"
#include "import/messages.h"
#include "import/trace.h"

static struct trace agents_trace;

static int64_t
agents_time(struct span told)
{
	char text[64];
	int64_t time;

	return span_copy(told, text, sizeof text) && clock_parse(text, 0, &time) == 0 ? time : 0;
}

static void
agents_put(struct buffer *out, struct span value)
{
	if (value.at != NULL && span_type(value) != '0')
		buffer_append(out, value.at, value.len);
}

/* One of two members: names of the SDKs for Python and for JavaScript. */
static struct span
agents_member(struct span object, const char *one, const char *other)
{
	const struct span value = span_member(object, one);

	return value.at != NULL && span_type(value) != '0' ? value : span_member(object, other);
}

static void
agents_take_usage(struct span usage, struct trace_span *span)
{
	static const char *const names[][4] = {
		{ "input_tokens", "input_tokens", "prompt_tokens" }, { "output_tokens", "output_tokens", "completion_tokens" },
		{ "cache_read_tokens", "input_tokens_details", "prompt_tokens_details", "cached_tokens" },
		{ "reasoning_tokens", "output_tokens_details", "completion_tokens_details", "reasoning_tokens" },
	};
	struct writer w;

	if (span_type(usage) != 'o')
		return;
	writer_begin(&w, &span->usage);
	writer_object(&w);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct span value = agents_member(usage, names[i][1], names[i][2]);
		long long number;

		if (names[i][3] != NULL)
			value = span_member(value, names[i][3]);
		if (span_integer(value, &number) && (number > 0 || i < 2))
			writer_member_integer(&w, names[i][0], number);
	}
	writer_object_end(&w);
}

/* A model was asked: messages, or with the Responses API items. */
static void
agents_take_chat(struct format_log *log, struct span data, struct trace_span *span)
{
	const struct span response = agents_member(data, "response", "_response"),
	    output = response.at != NULL ? span_member(response, "output") : span_member(data, "output"),
	    first = span_element(output, 0), choice = span_element(span_member(first, "choices"), 0);
	char *reason = span_text(span_member(choice, "finish_reason"));
	struct span usage = agents_member(data, "usage", "_usage");

	messages_take_input(agents_member(data, "input", "_input"), &span->prompt, &span->results);
	/* A whole response of Chat Completions. */
	messages_take_output(log, choice.at != NULL ? span_member(choice, "message") : output, &span->answer);
	if (span_type(usage) != 'o')
		usage = span_member(response.at != NULL ? response : first, "usage");
	agents_take_usage(usage, span);
	agents_put(&span->model, agents_member(response, "model", "model"));
	if (span->model.len == 0)
		agents_put(&span->model, span_member(data, "model"));
	messages_add_reason(reason, &span->stop_reason);
	free(reason);
	buffer_text(&span->provider, "\"openai\"");
}

/* A handover is a call of a tool by the model. */
static void
agents_take_handoff(struct span data, struct trace_span *span)
{
	char *to = span_text(span_member(data, "to_agent"));
	struct writer w;

	span->kind = TRACE_TOOL;
	span->name = memory_format("transfer_to_%s", to != NULL ? to : "none");
	for (char *c = span->name; *c != '\0'; c++)
		if (*c == ' ')
			*c = '_';
	writer_begin(&w, &span->output);
	writer_object(&w);
	writer_member_string(&w, "assistant", to);
	writer_object_end(&w);
	free(to);
}

static void
agents_take_guardrail(struct span data, struct trace_span *span)
{
	char *name = span_text(span_member(data, "name"));
	struct writer w;

	span->kind = TRACE_STEP;
	span->name = memory_format("guardrail-%s", name != NULL ? name : "none");
	writer_begin(&w, &span->output);
	writer_object(&w);
	writer_member_span(&w, "triggered", span_member(data, "triggered"));
	writer_object_end(&w);
	free(name);
}

static void
agents_take_data(struct format_log *log, struct span data, struct trace_span *span)
{
	const struct span type = span_member(data, "type"), sdk = span_path(data, "data", "sdk_span_type", NULL);

	if (span_is(type, "agent")) {
		span->kind = TRACE_AGENT;
		span->name = span_text(span_member(data, "name"));
	} else if (span_is(type, "generation") || span_is(type, "response")) {
		span->kind = TRACE_CHAT;
		agents_take_chat(log, data, span);
	} else if (span_is(type, "function")) {
		span->kind = TRACE_TOOL;
		span->name = span_text(span_member(data, "name"));
		messages_add_parsed(span_member(data, "input"), &span->input);
		messages_add_parsed(span_member(data, "output"), &span->output);
	} else if (span_is(type, "handoff")) {
		agents_take_handoff(data, span);
	} else if (span_is(type, "guardrail")) {
		agents_take_guardrail(data, span);
	} else if (span_type(sdk) != 's') {
		/* Those of the SDK's own are only around others. */
		format_leave_out(log, type);
	}
}

/* The trace is what is around its spans. */
static void
agents_take_trace(struct span line, int64_t number)
{
	struct trace_span span = { .line = number, .trace = span_text(span_member(line, "id")),
		.id = span_text(span_member(line, "id")),
		.name = span_text(span_member(line, "workflow_name")), .open = true };
	const struct span metadata = span_member(line, "metadata");
	struct writer w;

	writer_begin(&w, &span.inputs);
	if (span_type(span_member(line, "group_id")) == 's')
		writer_member_span(&w, "group", span_member(line, "group_id"));
	for (struct span_walk member = span_walk(metadata); span_type(metadata) == 'o' && span_next(&member);)
		if (!span_is(member.key, "session") && !span_is(member.key, "group"))
			writer_raw_member(&w, member.key, member.value);
	if (trace_add(&agents_trace, &span) == NULL)
		trace_free_span(&span);
}

static void
agents_take_line(struct format_log *log, struct span line)
{
	const struct span object = span_member(line, "object"), why = span_member(line, "error");
	struct trace_span span = { .line = log->line };
	bool known = span_type(span_member(line, "id")) == 's';

	if (known && span_is(object, "trace")) {
		agents_take_trace(line, log->line);
		return;
	}
	known = known && span_is(object, "trace.span") && span_type(span_member(line, "trace_id")) == 's';
	if (!known) {
		format_leave_out(log, object);
		return;
	}
	span.trace = span_text(span_member(line, "trace_id"));
	span.id = span_text(span_member(line, "id"));
	span.parent = span_text(agents_member(line, "parent_id", "trace_id"));
	span.start = agents_time(span_member(line, "started_at"));
	span.end = agents_time(span_member(line, "ended_at"));
	span.failed = span_type(why) == 'o';
	if (span.failed)
		agents_put(&span.error, span_member(why, "message"));
	agents_take_data(log, span_member(line, "span_data"), &span);
	if (trace_add(&agents_trace, &span) == NULL)
		trace_free_span(&span);
}

static void
agents_finish(struct format_log *log)
{
	trace_say(&agents_trace, log, "agents", log->whole);
	trace_free(&agents_trace);
}

int
main(int argc, char **argv)
{
	static const struct format_program format = { .program = "awf-import-agents", .take = agents_take_line,
		.document = true, .finish = agents_finish };

	return format_main(&format, argc, argv);
}
