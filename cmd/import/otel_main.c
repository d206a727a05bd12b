/*
 * awf-import-otel FILE: what spans of OpenTelemetry say of models, agents and tools. The file has requests of
 * OTLP in JSON, as collectors write and awf-serve receives them: one, or one in each line.
 *
 * Names of attributes are those of the conventions for generative AI as they are and were, of OpenLLMetry,
 * OpenInference and the AI SDK; the first that a span has counts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/format.h"
#include "import/messages.h"
#include "import/trace.h"

#define NAMES(...) (const char *const[]){ __VA_ARGS__, NULL }
#define PARENT_KNOWN 0x100 /* flags of a span: whether it is known where the parent is from */
#define PARENT_REMOTE 0x200
#define NUMBERED_MOST 10000 /* attributes of a span among which messages are looked for */

static struct trace otel_trace;

/* ---- values ---- */

/* A value of OTLP as plain JSON. */
static void
otel_write_value(struct span any, struct buffer *out)
{
	for (struct span_walk member = span_walk(any); span_next(&member);) {
		const struct span value = member.value;
		bool some = false;

		if (span_is(member.key, "intValue") && span_type(value) == 's') {
			span_decode(value, out);
		} else if (span_is(member.key, "arrayValue")) {
			buffer_byte(out, '[');
			for (struct span_walk one = span_walk(span_member(value, "values")); span_next(&one); some = true) {
				if (some)
					buffer_byte(out, ',');
				otel_write_value(one.value, out);
			}
			buffer_byte(out, ']');
		} else if (span_is(member.key, "kvlistValue")) {
			buffer_byte(out, '{');
			for (struct span_walk one = span_walk(span_member(value, "values")); span_next(&one); some = true) {
				if (some)
					buffer_byte(out, ',');
				scan_minify(span_member(one.value, "key"), out);
				buffer_byte(out, ':');
				otel_write_value(span_member(one.value, "value"), out);
			}
			buffer_byte(out, '}');
		} else {
			scan_minify(value, out);
		}
		return;
	}
	buffer_text(out, "null");
}

/* The value of an attribute; .at NULL: there is none. */
static struct span
otel_find(struct span attributes, const char *name)
{
	for (struct span_walk one = span_walk(attributes); span_next(&one);)
		if (span_is(span_member(one.value, "key"), name))
			return span_member(one.value, "value");
	return SPAN_NONE;
}

/* Appends the first of some attributes as JSON; a text that is JSON becomes that, if parsed. */
static bool
otel_get(struct span attributes, const char *const *names, bool parsed, struct buffer *out)
{
	struct span any = SPAN_NONE;
	struct buffer value = BUFFER_INIT;

	for (; any.at == NULL && *names != NULL; names++)
		any = otel_find(attributes, *names);
	if (any.at == NULL)
		return false;
	otel_write_value(any, &value);
	if (parsed)
		messages_add_parsed(span_of(value.data, value.len), out);
	else
		buffer_append(out, value.data, value.len);
	buffer_free(&value);
	return true;
}

/* The first of some attributes as a text; NULL: none is one. */
static char *
otel_text(struct span attributes, const char *const *names)
{
	char *text = NULL;

	for (; text == NULL && *names != NULL; names++)
		text = span_text(span_member(otel_find(attributes, *names), "stringValue"));
	return text;
}

static bool
otel_number(struct span attributes, const char *const *names, long long *number)
{
	struct buffer text = BUFFER_INIT;
	bool found = otel_get(attributes, names, false, &text) && text.len > 0 &&
	    span_integer(span_of(text.data, text.len), number) && *number >= 0;

	buffer_free(&text);
	return found;
}

/* ---- what kind of span it is ---- */

static enum trace_kind
otel_kind(struct span attributes, bool *known)
{
	static const struct { const char *attribute, *value; enum trace_kind kind; } kinds[] = {
		{ "gen_ai.operation.name", "chat", TRACE_CHAT },
		{ "gen_ai.operation.name", "text_completion", TRACE_CHAT },
		{ "gen_ai.operation.name", "generate_content", TRACE_CHAT },
		{ "gen_ai.operation.name", "invoke_agent", TRACE_AGENT },
		{ "gen_ai.operation.name", "execute_tool", TRACE_TOOL },
		{ "gen_ai.operation.name", "invoke_workflow", TRACE_OTHER },
		{ "gen_ai.operation.name", "create_agent", TRACE_OTHER },
		{ "ai.operationId", "ai.generateText", TRACE_AGENT },
		{ "ai.operationId", "ai.streamText", TRACE_AGENT },
		{ "ai.operationId", "ai.generateObject", TRACE_AGENT },
		{ "ai.operationId", "ai.streamObject", TRACE_AGENT },
		{ "ai.operationId", "ai.generateText.doGenerate", TRACE_CHAT },
		{ "ai.operationId", "ai.streamText.doStream", TRACE_CHAT },
		{ "ai.operationId", "ai.generateObject.doGenerate", TRACE_CHAT },
		{ "ai.operationId", "ai.streamObject.doStream", TRACE_CHAT },
		{ "ai.operationId", "ai.toolCall", TRACE_TOOL },
		{ "traceloop.span.kind", "agent", TRACE_AGENT },
		{ "traceloop.span.kind", "tool", TRACE_TOOL },
		{ "traceloop.span.kind", "workflow", TRACE_OTHER },
		{ "traceloop.span.kind", "task", TRACE_OTHER },
		{ "llm.request.type", "chat", TRACE_CHAT },
		{ "llm.request.type", "completion", TRACE_CHAT },
		{ "openinference.span.kind", "LLM", TRACE_CHAT },
		{ "openinference.span.kind", "AGENT", TRACE_AGENT },
		{ "openinference.span.kind", "TOOL", TRACE_TOOL },
		{ "openinference.span.kind", "CHAIN", TRACE_OTHER },
	};
	enum trace_kind kind = TRACE_OTHER;

	*known = false;
	for (size_t i = 0; !*known && i < sizeof kinds / sizeof *kinds; i++)
		if (span_is(span_member(otel_find(attributes, kinds[i].attribute), "stringValue"), kinds[i].value)) {
			kind = kinds[i].kind;
			*known = true;
		}
	/* A call of AWF's that is no agent's. */
	if (kind == TRACE_OTHER && otel_find(attributes, "awf.call").at != NULL) {
		kind = TRACE_STEP;
		*known = true;
	}
	return kind;
}

/* ---- what a model was asked, and answered ---- */

/* Messages that are attributes: PREFIX.0.role, PREFIX.0.content, PREFIX.0.tool_calls.0.name … */
static void
otel_write_numbered(struct span attributes, const char *prefix, struct buffer *out)
{
	static const char *const members[] = { "role", "content", "tool_call_id", "id", "name", "arguments" };
	struct writer w;

	size_t count = 0;

	for (struct span_walk one = span_walk(attributes); span_next(&one);)
		count++;
	writer_begin(&w, out);
	writer_array(&w);
	/* Each is looked for among all. */
	for (int i = 0; count < NUMBERED_MOST && i < NUMBERED_MOST; i++) {
		bool some = false, calls = false;

		for (int call = -1; call < NUMBERED_MOST; call++) {
			bool begun = false;

			for (size_t m = call < 0 ? 0 : 3; m < (call < 0 ? 3 : sizeof members / sizeof *members); m++) {
				char *name = call < 0 ? memory_format("%s.%d.%s", prefix, i, members[m]) :
				    memory_format("%s.%d.tool_calls.%d.%s", prefix, i, call, members[m]);
				const struct span any = otel_find(attributes, name);

				free(name);
				if (any.at == NULL)
					continue;
				if (!some)
					writer_object(&w);
				if (call >= 0 && !calls)
					writer_member_array(&w, "tool_calls");
				if (call >= 0 && !begun)
					writer_object(&w);
				writer_key(&w, members[m]);
				otel_write_value(any, out);
				w.comma = some = begun = true;
				calls = call >= 0;
			}
			if (call >= 0 && begun)
				writer_object_end(&w);
			if (call >= 0 && !begun)
				break;
		}
		if (calls)
			writer_array_end(&w);
		if (!some)
			break;
		writer_object_end(&w);
	}
	writer_array_end(&w);
}

/* Messages that are events of a span: gen_ai.user.message, gen_ai.choice … */
static void
otel_write_events(struct span events, bool output, struct buffer *out)
{
	bool some = false;

	buffer_byte(out, '[');
	for (struct span_walk event = span_walk(events); span_next(&event);) {
		const struct span attributes = span_member(event.value, "attributes"), name = span_member(event.value, "name");
		static const struct { const char *event, *role; } roles[] = {
			{ "gen_ai.system.message", "system" }, { "gen_ai.user.message", "user" },
			{ "gen_ai.assistant.message", "assistant" }, { "gen_ai.tool.message", "tool" },
			{ "gen_ai.choice", "assistant" },
		};
		const char *role = NULL;
		struct buffer value = BUFFER_INIT;
		struct writer w;

		for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
			if (span_is(name, roles[i].event))
				role = roles[i].role;
		if (role == NULL || span_is(name, "gen_ai.choice") != output)
			continue;
		if (some)
			buffer_byte(out, ',');
		some = true;
		/* A choice has its message in an object. */
		if (otel_get(attributes, NAMES("message"), true, &value) && span_type(span_of(value.data, value.len)) == 'o') {
			buffer_append(out, value.data, value.len);
			buffer_free(&value);
			continue;
		}
		writer_begin(&w, out);
		writer_object(&w);
		writer_member_string(&w, "role", role);
		writer_member_buffer(&w, "content", &value);
		for (struct span_walk one = span_walk(attributes); span_next(&one);) {
			const struct span key = span_member(one.value, "key");
			struct buffer parsed = BUFFER_INIT;

			if (span_is(key, "role") || span_is(key, "message"))
				continue;
			buffer_clear(&value);
			otel_write_value(span_member(one.value, "value"), &value);
			messages_add_parsed(span_of(value.data, value.len), &parsed);
			writer_raw_member(&w, key, span_of(parsed.data, parsed.len));
			buffer_free(&parsed);
		}
		writer_object_end(&w);
		buffer_free(&value);
	}
	buffer_byte(out, ']');
}

/* The attributes of the event that has messages, if one has. */
static struct span
otel_details(struct span events)
{
	for (struct span_walk event = span_walk(events); span_next(&event);)
		if (span_is(span_member(event.value, "name"), "gen_ai.client.inference.operation.details") ||
		    span_is(span_member(event.value, "name"), "gen_ai.content.prompt") ||
		    span_is(span_member(event.value, "name"), "gen_ai.content.completion"))
			return span_member(event.value, "attributes");
	return SPAN_NONE;
}

static bool
otel_is_empty(const struct buffer *messages)
{
	return messages->len == 0 || buffer_equal(messages, "[]") || buffer_equal(messages, "null");
}

/* Messages, in whichever form the span has them. */
static void
otel_get_messages(struct span attributes, struct span events, bool output, struct buffer *messages)
{
	const struct span sources[] = { attributes, otel_details(events) };

	for (size_t i = 0; i < sizeof sources / sizeof *sources && otel_is_empty(messages); i++) {
		buffer_clear(messages);
		if (output)
			otel_get(sources[i], NAMES("gen_ai.output.messages", "gen_ai.completion"), true, messages);
		else
			otel_get(sources[i], NAMES("gen_ai.input.messages", "gen_ai.prompt", "ai.prompt.messages"), true, messages);
	}
	for (int form = 0; form < 3 && otel_is_empty(messages); form++) {
		buffer_clear(messages);
		if (form == 0)
			otel_write_numbered(attributes, output ? "gen_ai.completion" : "gen_ai.prompt", messages);
		else if (form == 1)
			otel_write_events(events, output, messages);
		else
			otel_get(attributes, output ? NAMES("output.value") : NAMES("input.value"), false, messages);
	}
}

/* The AI SDK tells texts and calls apart. */
static void
otel_take_sdk_answer(struct format_log *log, struct span attributes, struct trace_span *span)
{
	struct buffer value = BUFFER_INIT;

	if (otel_get(attributes, NAMES("ai.response.reasoning"), false, &value))
		format_write_text(&span->answer, "thinking", span_of(value.data, value.len));
	buffer_clear(&value);
	if (otel_get(attributes, NAMES("ai.response.text", "ai.response.object"), false, &value))
		format_write_text(&span->answer, "text", span_of(value.data, value.len));
	buffer_clear(&value);
	if (otel_get(attributes, NAMES("ai.response.toolCalls"), true, &value)) {
		const struct span calls = span_of(value.data, value.len);

		for (struct span_walk call = span_walk(calls); span_type(calls) == 'a' && span_next(&call);) {
			struct buffer message = BUFFER_INIT;

			buffer_text(&message, "{\"role\":\"assistant\",\"tool_calls\":[");
			buffer_append(&message, call.value.at, call.value.len);
			buffer_text(&message, "]}");
			messages_take_output(log, span_of(message.data, message.len), &span->answer);
			buffer_free(&message);
		}
	}
	buffer_free(&value);
}

static void
otel_take_messages(struct format_log *log, struct span attributes, struct span events, struct trace_span *span)
{
	struct buffer messages = BUFFER_INIT, prompt = BUFFER_INIT;

	otel_get_messages(attributes, events, false, &messages);
	messages_take_input(span_of(messages.data, messages.len), &span->prompt, &span->results);
	/* {"prompt":TEXT} or {"messages":[...]} of the AI SDK. */
	if (span->prompt.len == 0 && span->kind == TRACE_AGENT && otel_get(attributes, NAMES("ai.prompt"), true, &prompt)) {
		const struct span told = span_of(prompt.data, prompt.len), text = span_member(told, "prompt");

		messages_take_input(text.at != NULL ? text : span_member(told, "messages"), &span->prompt, &span->results);
	}
	buffer_clear(&messages);
	otel_get_messages(attributes, events, true, &messages);
	messages_take_output(log, span_of(messages.data, messages.len), &span->answer);
	if (span->answer.len == 0)
		otel_take_sdk_answer(log, attributes, span);
	buffer_free(&messages);
	buffer_free(&prompt);
}

/* ---- usage, and who answered ---- */

static void
otel_take_usage(struct span attributes, struct trace_span *span)
{
	enum { INPUT, OUTPUT, READ, WRITTEN, REASONING, COUNTS };
	static const char *const ours[] = { "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
		"reasoning_tokens" };
	const char *const *const names[COUNTS] = {
		[INPUT] = NAMES("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "ai.usage.inputTokens",
		    "ai.usage.promptTokens", "llm.usage.prompt_tokens", "llm.token_count.prompt"),
		[OUTPUT] = NAMES("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "ai.usage.outputTokens",
		    "ai.usage.completionTokens", "llm.usage.completion_tokens", "llm.token_count.completion"),
		[READ] = NAMES("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
		    "ai.usage.cachedInputTokens", "llm.token_count.prompt_details.cache_read"),
		[WRITTEN] = NAMES("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_write.input_tokens",
		    "gen_ai.usage.cache_creation_input_tokens", "llm.token_count.prompt_details.cache_write"),
		[REASONING] = NAMES("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens",
		    "ai.usage.reasoningTokens", "llm.token_count.completion_details.reasoning"),
	};
	long long counts[COUNTS] = { 0 };
	bool told[COUNTS];
	struct writer w;

	for (int i = 0; i < COUNTS; i++) {
		told[i] = otel_number(attributes, names[i], &counts[i]);
		if (!told[i])
			counts[i] = 0;
	}
	if (!told[INPUT] && !told[OUTPUT])
		return;
	/* Some do not count what the cache had as input. */
	if (counts[READ] + counts[WRITTEN] > counts[INPUT])
		counts[INPUT] += counts[READ] + counts[WRITTEN];
	writer_begin(&w, &span->usage);
	writer_object(&w);
	for (int i = 0; i < COUNTS; i++)
		if (counts[i] > 0 || i <= OUTPUT)
			writer_member_integer(&w, ours[i], counts[i]);
	writer_object_end(&w);
}

static void
otel_take_model(struct span attributes, struct trace_span *span)
{
	char *provider = otel_text(attributes, NAMES("gen_ai.provider.name", "gen_ai.system", "ai.model.provider",
	    "llm.provider", "llm.system")), *reason = NULL;
	struct buffer list = BUFFER_INIT;

	if (provider != NULL)
		json_quote(&span->provider, strcmp(provider, "gcp.gemini") == 0 ? "google" : provider,
		    strlen(strcmp(provider, "gcp.gemini") == 0 ? "google" : provider));
	otel_get(attributes, NAMES("gen_ai.response.model", "ai.response.model", "gen_ai.request.model", "ai.model.id",
	    "llm.model_name"), false, &span->model);
	if (otel_get(attributes, NAMES("gen_ai.response.finish_reasons"), true, &list))
		reason = span_text(span_element(span_of(list.data, list.len), 0));
	if (reason == NULL)
		reason = otel_text(attributes, NAMES("ai.response.finishReason", "gen_ai.completion.0.finish_reason"));
	messages_add_reason(reason, &span->stop_reason);
	otel_take_usage(attributes, span);
	buffer_free(&list);
	free(reason);
	free(provider);
}

/* ---- spans ---- */

static int64_t
otel_time(struct span nanoseconds)
{
	struct buffer text = BUFFER_INIT;
	long long time;

	span_plain(nanoseconds, &text);
	time = text.len > 0 ? strtoll(buffer_string(&text), NULL, 10) : 0;
	buffer_free(&text);
	return time / 1000;
}

static void
otel_take_inputs(struct span attributes, struct span resource, struct span scope, struct trace_span *span)
{
	static const struct { const char *name, *attribute; bool of_resource; } members[] = {
		{ "service", "service.name", true }, { "conversation", "gen_ai.conversation.id", false },
		{ "function", "ai.telemetry.functionId", false }, { "awf_run", "awf.run_id", false },
	};
	struct writer w;

	writer_begin(&w, &span->inputs);
	writer_member_span(&w, "scope", span_member(scope, "name"));
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		struct span value = otel_find(members[i].of_resource ? span_member(resource, "attributes") : attributes,
		    members[i].attribute);

		writer_member_span(&w, members[i].name, span_member(value, "stringValue"));
	}
}

static void
otel_take_tool(struct span attributes, struct trace_span *span)
{
	span->call = otel_text(attributes, NAMES("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id"));
	otel_get(attributes, NAMES("gen_ai.tool.call.arguments", "ai.toolCall.args", "traceloop.entity.input", "input.value"),
	    true, &span->input);
	otel_get(attributes, NAMES("gen_ai.tool.call.result", "ai.toolCall.result", "traceloop.entity.output", "output.value"),
	    true, &span->output);
}

static char *
otel_name(struct span attributes, struct span told, enum trace_kind kind)
{
	char *name = kind == TRACE_TOOL ? otel_text(attributes, NAMES("gen_ai.tool.name", "ai.toolCall.name",
	    "traceloop.entity.name", "tool.name")) : kind == TRACE_AGENT ? otel_text(attributes, NAMES("gen_ai.agent.name",
	    "ai.telemetry.functionId", "traceloop.entity.name", "agent.name")) : kind == TRACE_OTHER ?
	    otel_text(attributes, NAMES("gen_ai.workflow.name", "traceloop.entity.name")) : NULL;

	/* AWF has it as "step NAME". */
	if (kind == TRACE_STEP && (name = span_text(told)) != NULL && strncmp(name, "step ", 5) == 0)
		memmove(name, name + 5, strlen(name + 5) + 1);
	return name != NULL ? name : span_text(told);
}

static void
otel_take_span(struct format_log *log, struct span told, struct span resource, struct span scope)
{
	const struct span attributes = span_member(told, "attributes"), events = span_member(told, "events"),
	    status = span_member(told, "status"), code = span_member(status, "code");
	struct trace_span span = { .line = log->line, .trace = span_text(span_member(told, "traceId")),
		.id = span_text(span_member(told, "spanId")), .parent = span_text(span_member(told, "parentSpanId")),
		.start = otel_time(span_member(told, "startTimeUnixNano")), .end = otel_time(span_member(told, "endTimeUnixNano")) };
	long long flags = 0, number = 0;
	bool known;

	span.kind = otel_kind(attributes, &known);
	span.name = otel_name(attributes, span_member(told, "name"), span.kind);
	if (span.parent != NULL && strspn(span.parent, "0") == strlen(span.parent)) {
		free(span.parent);
		span.parent = NULL;
	}
	if (span_integer(span_member(told, "flags"), &flags) && (flags & PARENT_KNOWN) != 0)
		span.remote = span.parent != NULL && (flags & PARENT_REMOTE) != 0;
	span.failed = span_is(code, "STATUS_CODE_ERROR") || (span_integer(code, &number) && number == 2);
	if (span.failed && span_type(span_member(status, "message")) == 's')
		buffer_append(&span.error, span_member(status, "message").at, span_member(status, "message").len);
	if (span.failed && span.error.len == 0)
		otel_get(attributes, NAMES("error.type"), false, &span.error);
	if (span.kind == TRACE_TOOL)
		otel_take_tool(attributes, &span);
	if (span.kind == TRACE_CHAT || span.kind == TRACE_AGENT) {
		otel_take_model(attributes, &span);
		otel_take_messages(log, attributes, events, &span);
	}
	otel_take_inputs(attributes, resource, scope, &span);
	if (span.trace == NULL || span.id == NULL) {
		format_leave_out(log, span_of("\"spans without an id\"", 21));
		trace_free_span(&span);
	} else if (trace_add(&otel_trace, &span) == NULL) {
		trace_free_span(&span);
	} else if (!known) {
		char *kind = span_text(span_member(scope, "name")), *what = memory_format("spans of %s", kind != NULL ? kind : "others");
		struct buffer quoted = BUFFER_INIT;

		json_quote(&quoted, what, strlen(what));
		format_leave_out(log, span_of(quoted.data, quoted.len));
		buffer_free(&quoted);
		free(what);
		free(kind);
	}
}

static void
otel_take_line(struct format_log *log, struct span line)
{
	const struct span resources = span_member(line, "resourceSpans");

	if (span_type(resources) != 'a')
		format_leave_out(log, span_of("\"lines that are no spans\"", 25));
	/* A member is looked for through all of its object: once. */
	for (struct span_walk r = span_walk(resources); span_next(&r);) {
		const struct span resource = span_member(r.value, "resource");

		for (struct span_walk s = span_walk(span_member(r.value, "scopeSpans")); span_next(&s);) {
			const struct span scope = span_member(s.value, "scope");

			for (struct span_walk span = span_walk(span_member(s.value, "spans")); span_next(&span);)
				otel_take_span(log, span.value, resource, scope);
		}
	}
}

static void
otel_finish(struct format_log *log)
{
	trace_say(&otel_trace, log, "otel", log->whole);
	trace_free(&otel_trace);
}

int
main(int argc, char **argv)
{
	static const struct format_program format = { .program = "awf-import-otel", .take = otel_take_line,
		.document = true, .finish = otel_finish };

	return format_main(&format, argc, argv);
}
