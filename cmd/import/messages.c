/* A part is known by its type; its members have another name in each form. */
#include "import/messages.h"

#include <string.h>

#include "base/memory.h"

/* The first of some members that is there. */
static struct span
messages_member(struct span object, const char *const *names)
{
	struct span value = SPAN_NONE;

	for (; value.at == NULL && *names != NULL; names++) {
		value = span_member(object, *names);
		if (span_type(value) == '0')
			value = SPAN_NONE;
	}
	return value;
}

static const char *const message_ids[] = { "tool_call_id", "toolCallId", "call_id", "tool_use_id", "id", NULL };
static const char *const message_texts[] = { "content", "text", "thinking", "reasoning", NULL };
static const char *const message_names[] = { "name", "toolName", "tool_name", NULL };
static const char *const message_arguments[] = { "arguments", "input", "args", NULL };
static const char *const message_outputs[] = { "response", "result", "output", "content", NULL };

void
messages_add_parsed(struct span value, struct buffer *out)
{
	struct buffer text = BUFFER_INIT;
	size_t bad;

	if (span_type(value) == 's') {
		span_decode(value, &text);
		if (text.len > 0 && strchr("[{", *buffer_string(&text)) != NULL &&
		    scan_within(text.data, text.len, SCAN_DEPTH, &bad) == NULL)
			value = span_of(text.data, text.len);
	}
	if (value.at != NULL)
		scan_minify(value, out);
	buffer_free(&text);
}

/* A call of a tool. */
static void
messages_add_call(struct span call, struct buffer *blocks)
{
	/* Inspect has the name in place of the object of OpenAI. */
	const struct span function = span_member(call, "function"), of = span_type(function) == 'o' ? function : call;
	struct writer w;

	if (blocks->len > 0)
		buffer_byte(blocks, ',');
	writer_begin(&w, blocks);
	writer_object(&w);
	writer_member_string(&w, "type", "tool_use");
	writer_member_span(&w, "tool_id", messages_member(call, message_ids));
	writer_member_span(&w, "tool_name", span_type(function) == 's' ? function : messages_member(of, message_names));
	writer_key(&w, "tool_input");
	if (messages_member(of, message_arguments).at == NULL)
		writer_null(&w);
	else
		messages_add_parsed(messages_member(of, message_arguments), blocks);
	w.comma = true;
	writer_object_end(&w);
}

/* The result of a call of a tool, as a line. */
static void
messages_add_result(struct span part, struct buffer *results)
{
	struct writer w;

	if (span_type(messages_member(part, message_ids)) != 's')
		return;
	writer_begin(&w, results);
	writer_object(&w);
	writer_member_span(&w, "result", messages_member(part, message_ids));
	writer_member_span(&w, "output", messages_member(part, message_outputs));
	writer_object_end(&w);
	buffer_byte(results, '\n');
}

/* log NULL: what is not known is not counted. */
static void
messages_take_part(struct format_log *log, struct span part, struct buffer *blocks, struct buffer *results)
{
	static const char *const texts[] = { "text", "output_text", "input_text", "refusal", NULL };
	static const char *const thoughts[] = { "reasoning", "thinking", "summary_text", NULL };
	static const char *const calls[] = { "tool_call", "tool-call", "tool_use", "function_call", "function", NULL };
	static const char *const answers[] = { "tool_call_response", "tool-result", "tool_result", "function_call_output",
		"function_call_result", NULL };
	const struct span type = span_member(part, "type");

	if (span_type(part) == 's')
		format_write_text(blocks, "text", part);
	else if (span_one_of(type, texts) != NULL)
		format_write_text(blocks, "text", messages_member(part, message_texts));
	else if (span_one_of(type, thoughts) != NULL)
		format_write_text(blocks, "thinking", messages_member(part, message_texts));
	else if (span_one_of(type, calls) != NULL)
		messages_add_call(part, blocks);
	else if (span_one_of(type, answers) != NULL)
		messages_add_result(part, results);
	else if (log != NULL)
		format_leave_out(log, type);
}

/* Takes what a message holds. */
static void
messages_take(struct format_log *log, struct span message, struct buffer *blocks, struct buffer *results)
{
	const struct span parts = span_member(message, "parts"), content = span_member(message, "content"),
	    inside = parts.at != NULL ? parts : content;

	if (span_is(span_member(message, "role"), "tool") && span_type(inside) == 's') {
		messages_add_result(message, results);
		return;
	}
	/* An item, which is a part by itself. */
	if (span_member(message, "role").at == NULL && span_member(message, "type").at != NULL &&
	    !span_is(span_member(message, "type"), "message")) {
		messages_take_part(log, message, blocks, results);
		return;
	}
	format_write_text(blocks, "thinking", span_member(message, "reasoning_content"));
	if (span_type(inside) == 's')
		format_write_text(blocks, "text", inside);
	for (struct span_walk part = span_walk(inside); span_type(inside) == 'a' && span_next(&part);)
		messages_take_part(log, part.value, blocks, results);
	for (struct span_walk call = span_walk(span_member(message, "tool_calls")); span_next(&call);)
		messages_add_call(call.value, blocks);
}

void
messages_take_output(struct format_log *log, struct span messages, struct buffer *blocks)
{
	struct buffer results = BUFFER_INIT;

	if (span_type(messages) == 's')
		format_write_text(blocks, "text", messages);
	else if (span_type(messages) == 'o')
		messages_take(log, messages, blocks, &results);
	for (struct span_walk message = span_walk(messages); span_type(messages) == 'a' && span_next(&message);)
		messages_take(log, message.value, blocks, &results);
	buffer_free(&results);
}

void
messages_take_input(struct span messages, struct buffer *prompt, struct buffer *results)
{
	if (span_type(messages) == 's')
		format_write_text(prompt, "text", messages);
	for (struct span_walk walk = span_walk(messages); span_type(messages) == 'a' && span_next(&walk);) {
		const struct span message = walk.value, role = span_member(message, "role"), type = span_member(message, "type");
		struct buffer blocks = BUFFER_INIT;
		const size_t told = results->len;

		/* What was said before is known from the answers to it. */
		if (span_is(role, "system") || span_is(role, "developer"))
			continue;
		messages_take(NULL, message, &blocks, results);
		if (results->len > told) {
			/* What the user says beside a result goes on with the prompt before it. */
			buffer_clear(prompt);
		} else if (span_is(role, "user") || span_type(message) == 's') {
			if (prompt->len > 0 && blocks.len > 0)
				buffer_byte(prompt, ',');
			buffer_append(prompt, buffer_string(&blocks), blocks.len);
		} else if (span_is(role, "assistant") || span_is(role, "model") || type.at != NULL) {
			buffer_clear(prompt);
			buffer_clear(results);
		}
		buffer_free(&blocks);
	}
}

void
messages_add_reason(const char *text, struct buffer *out)
{
	static const struct { const char *theirs, *ours; } reasons[] = {
		{ "stop", "end_turn" }, { "length", "max_tokens" }, { "tool_call", "tool_use" }, { "tool_calls", "tool_use" },
		{ "tool-calls", "tool_use" }, { "content_filter", "refusal" }, { "content-filter", "refusal" },
	};

	if (text == NULL)
		return;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (strcmp(text, reasons[i].theirs) == 0)
			text = reasons[i].ours;
	json_quote(out, text, strlen(text));
}
