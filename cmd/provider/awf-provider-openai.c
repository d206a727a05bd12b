/*
 * Chat Completions, streaming: the API of OpenAI and of everything that speaks
 * like it (Azure, Groq, DeepSeek, xAI, Mistral, OpenRouter, Ollama, vLLM,
 * llama.cpp …). They agree on the outline and differ in the rest, so nothing
 * is expected to be there, and each thing is looked for wherever one of them
 * puts it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "openai.h"
#include "pass.h"
#include "stream.h"
#include "thinking.h"

#define API "openai"
#define REFUSAL 1 /* index of a text that is one; the API has no numbers for texts */

static const char usage[] =
"awf-provider-openai < requests\n"
"\n"
"Speaks to a Chat Completions API for awf-step: one request per line on stdin,\n"
"answers on stdout, see awf-provider(7). The key is read from OPENAI_API_KEY,\n"
"another server's URL (up to and with its /v1) from OPENAI_BASE_URL; such a\n"
"server may need no key.";

/* What the events say. */

static void take_content(struct stream *s, struct span content, const char *kind);

/* Text, in whatever kind of block it belongs. */
static void
take_string(struct stream *s, struct span text, const char *kind)
{
	bool thinking = strcmp(kind, "thinking") == 0;

	if (!span_is(text, ""))
		stream_text(s, message_last(&s->message, thinking ? BLOCK_THINKING : BLOCK_TEXT), kind,
		    text);
}

/* Mistral's parts: {"type":"text","text":…}, {"type":"thinking","thinking":[parts]}. */
static void
take_part(struct stream *s, struct span part, const char *kind)
{
	struct span thinking = span_member(part, "thinking");

	if (thinking.at != NULL)
		take_content(s, thinking, "thinking");
	else
		take_content(s, span_member(part, "text"), kind);
}

static void
take_content(struct stream *s, struct span content, const char *kind)
{
	if (span_type(content) == 's')
		take_string(s, content, kind);
	if (span_type(content) != 'a')
		return;
	for (struct span_walk part = span_walk(content); span_next(&part);)
		take_part(s, part.value, kind);
}

/* Some servers send the same thoughts under both names. */
static void
take_reasoning(struct stream *s, struct span delta)
{
	static const char *const fields[] = { "reasoning_content", "reasoning" };
	struct span text;
	struct block *b;
	size_t i;

	for (i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		text = span_member(delta, fields[i]);
		if (span_type(text) != 's' || span_is(text, ""))
			continue;
		b = message_last(&s->message, BLOCK_THINKING);
		b->api = API;
		b->field = fields[i];
		stream_text(s, b, "thinking", text);
		return;
	}
}

static void
take_refusal(struct stream *s, struct span refusal)
{
	if (span_type(refusal) != 's' || span_is(refusal, ""))
		return;
	take_string(s, refusal, "text");
	s->message.blocks[s->message.count - 1].index = REFUSAL;
}

/* Whether no arguments can follow those that a call has. */
static bool
is_whole(const struct block *b)
{
	size_t bad;

	return b->text.len > 0 && scan_check(b->text.data, b->text.len, &bad) == NULL;
}

/* Whether a piece that says a name begins another call than b. Without a name it
 * never does: some servers change the id of a call from piece to piece. Others
 * number all calls 0, or none, and give no ids either, or say the name in each piece. */
static bool
is_new_call(const struct block *b, struct span call, const char *id)
{
	struct span name = span_path(call, "function", "name", NULL);

	if (b == NULL)
		return true;
	if (span_type(name) != 's' || span_is(name, ""))
		return false;
	if (id != NULL && id[0] != '\0' && b->tool_id != NULL)
		return strcmp(b->tool_id, id) != 0;
	return b->tool_id == NULL && b->tool_name != NULL &&
	    (b->index < 0 || !span_is(name, b->tool_name) || is_whole(b));
}

/* The block that a piece of a call belongs to: by index, or, where there is none,
 * the last, unless its id is another's. */
static struct block *
call_block(struct stream *s, struct span call)
{
	char *id = span_text(span_member(call, "id"));
	long long index = -1;
	struct block *b;

	number_set(&index, span_member(call, "index"));
	b = message_find(&s->message, BLOCK_TOOL_USE, index);
	if (is_new_call(b, call, id))
		b = message_add(&s->message, BLOCK_TOOL_USE, index);
	if (b->tool_id == NULL && id != NULL && id[0] != '\0')
		b->tool_id = memory_text(id);
	free(id);
	return b;
}

static void
take_function(struct block *b, struct span function)
{
	struct span name = span_member(function, "name");
	struct span arguments = span_member(function, "arguments");

	if (!span_is(name, ""))
		text_once(&b->tool_name, name);
	if (span_type(arguments) == 'o')
		scan_minify(arguments, &b->text);
	else
		span_decode(arguments, &b->text);
}

/* Chat Completions, "finish_reason": the first five of
 * https://platform.openai.com/docs/api-reference/chat/streaming; eos_token and
 * stop_sequence of https://huggingface.co/docs/text-generation-inference (TGI's own), eos of
 * https://docs.together.ai/reference/chat-completions-1, model_length of
 * https://docs.mistral.ai/api (the model's own limit), sensitive of
 * https://docs.z.ai/api-reference/llm/chat-completion. What tells of a failure there
 * (DeepSeek's insufficient_system_resource, vLLM's and SGLang's abort, Z.ai's network_error,
 * OpenRouter's and Mistral's error) is no end of an answer. */
static const struct end ends[] = {
	{ "stop", "end_turn", ERROR_NONE },
	{ "length", "max_tokens", ERROR_NONE },
	{ "tool_calls", "tool_use", ERROR_NONE },
	{ "function_call", "tool_use", ERROR_NONE },
	{ "content_filter", "refusal", ERROR_NONE },
	{ "eos", "end_turn", ERROR_NONE },
	{ "eos_token", "end_turn", ERROR_NONE },
	{ "stop_sequence", "stop_sequence", ERROR_NONE },
	{ "model_length", "max_tokens", ERROR_NONE },
	{ "sensitive", "refusal", ERROR_NONE },
	{ "insufficient_system_resource", NULL, ERROR_CUT_OFF },
	{ "abort", NULL, ERROR_CUT_OFF },
	{ "network_error", NULL, ERROR_CUT_OFF },
	{ "error", NULL, ERROR_CUT_OFF },
	{ NULL, NULL, ERROR_NONE }
};

/* Whether a piece has any of an answer. */
static bool
has_content(struct span delta)
{
	static const char *const members[] = { "content", "reasoning_content", "reasoning", "refusal",
	    "tool_calls", "function_call" };
	struct span value;
	size_t i;

	for (i = 0; i < sizeof members / sizeof members[0]; i++) {
		value = span_member(delta, members[i]);
		if (value.at != NULL && says_something(value) && !span_is(value, ""))
			return true;
	}
	return false;
}

/* "" ends an answer for some servers (watsonx, older TGI), if it comes by itself after the
 * text; for others it is what null is, and stands in every piece. */
static void
take_finish_reason(struct stream *s, struct span choice, struct span delta)
{
	struct span reason = span_member(choice, "finish_reason");

	if (span_type(reason) != 's' || s->message.stop_reason != NULL)
		return;
	if (!span_is(reason, ""))
		stream_end(s, ends, reason, SPAN_NONE);
	else if (has_content(delta))
		s->blank_reasons = true;
	else if (!s->blank_reasons && s->message.count > 0)
		s->message.stop_reason = "end_turn";
}

static void
take_choice(struct stream *s, struct span choice)
{
	struct span delta = span_member(choice, "delta"), only;

	if (delta.at == NULL)
		delta = span_member(choice, "message");
	take_reasoning(s, delta);
	take_content(s, span_member(delta, "content"), "text");
	take_refusal(s, span_member(delta, "refusal"));
	for (struct span_walk call = span_walk(span_member(delta, "tool_calls")); span_next(&call);)
		take_function(call_block(s, call.value), span_member(call.value, "function"));
	/* What calls were before there could be several. */
	only = span_member(delta, "function_call");
	if (span_type(only) == 'o')
		take_function(message_last(&s->message, BLOCK_TOOL_USE), only);
	take_finish_reason(s, choice, delta);
}

/* output_tokens has the reasoning in it; xAI counts that apart, which its total
 * gives away. */
static void
take_usage(struct usage *u, struct span object)
{
	static const struct usage_place places[] = {
		USAGE(input, "prompt_tokens"),
		USAGE(output, "completion_tokens"),
		USAGE(cache_read, "prompt_cache_hit_tokens"),
		USAGE_IN(cache_read, "prompt_tokens_details", "cached_tokens"),
		USAGE(cache_write, "cache_creation_input_tokens"),
		USAGE_IN(cache_write, "prompt_tokens_details", "cache_creation_tokens"),
		USAGE_IN(cache_write, "prompt_tokens_details", "cache_write_tokens"),
		USAGE_IN(reasoning, "completion_tokens_details", "reasoning_tokens"),
		USAGE_END
	};
	long long total = -1;

	if (span_type(object) != 'o')
		return;
	usage_set(u, object, places);
	number_set(&total, span_member(object, "total_tokens"));
	if (u->reasoning > 0 && u->input >= 0 && u->output >= 0 &&
	    total == u->input + u->output + u->reasoning)
		u->output += u->reasoning;
}

static void
take_event(struct stream *s, struct span data)
{
	struct span choice = span_element(span_member(data, "choices"), 0);
	struct span model = span_member(data, "model");

	if (!span_is(model, ""))
		text_once(&s->message.model, model);
	take_usage(&s->message.usage, span_path(data, "x_groq", "usage", NULL));
	take_usage(&s->message.usage, span_member(choice, "usage"));
	take_usage(&s->message.usage, span_member(data, "usage"));
	if (choice.at != NULL)
		take_choice(s, choice);
}

/* A reason to finish is an end too: not everyone sends [DONE]. */
static void
finish(struct stream *s)
{
	struct message *m = &s->message;

	m->ended |= m->stop_reason != NULL;
	message_settle(m, s->request->messages);
	if (message_find(m, BLOCK_TEXT, REFUSAL) != NULL)
		m->stop_reason = "refusal";
}

/* How a request is written. */

/* OpenAI has renamed max_tokens and refuses it for newer models; most others know
 * only the old name. */
static const char *
max_tokens_name(const struct stream *s)
{
	static const char *const reasoning[] = { "o[0-9]*", "gpt-5*", NULL };
	bool newer = strstr(s->base, "//api.openai.com") != NULL ||
	    stream_model(s->request->model, reasoning);

	return newer ? "max_completion_tokens" : "max_tokens";
}

/* true, an effort, a number of tokens, or an object for servers that take one. */
static void
write_thinking(struct writer *w, struct span thinking)
{
	if (span_type(thinking) == 's')
		pass_member(w, "reasoning_effort", thinking);
	else if (span_type(thinking) == 'o')
		pass_member(w, "thinking", thinking);
	else
		writer_member_string(w, "reasoning_effort", thinking_effort(thinking));
}

static void
write_param(const struct stream *s, struct writer *w, struct span key, struct span value)
{
	if (span_is(key, "cache"))
		return; /* these APIs cache by themselves */
	if (span_is(key, "thinking"))
		write_thinking(w, value);
	else if (span_is(key, "max_tokens"))
		pass_member(w, max_tokens_name(s), value);
	else if (span_is(key, "stop_sequences"))
		pass_member(w, "stop", value);
	else
		pass_raw(w, key, value);
}

static void
write_tools(struct writer *w, struct span tools)
{
	if (span_element(tools, 0).at == NULL)
		return;
	writer_member_array(w, "tools");
	for (struct span_walk tool = span_walk(tools); span_next(&tool);) {
		writer_object(w);
		writer_member_string(w, "type", "function");
		writer_member_object(w, "function");
		pass_tool(w, tool.value, "parameters");
		writer_object_end(w);
		writer_object_end(w);
	}
	writer_array_end(w);
}

static bool
is_type(struct span block, const char *type)
{
	return span_is(span_member(block, "type"), type);
}

static void
write_text(struct writer *w, struct span block)
{
	writer_member_string(w, "type", "text");
	pass_member(w, "text", span_member(block, "text"));
}

static void
write_image(struct writer *w, struct span block)
{
	writer_member_string(w, "type", "image_url");
	writer_member_object(w, "image_url");
	pass_data_url(w, "url", span_member(block, "media_type"), span_member(block, "data"));
	writer_object_end(w);
}

static void
write_document(struct writer *w, struct span block)
{
	writer_member_string(w, "type", "file");
	writer_member_object(w, "file");
	openai_write_file(w, block);
	writer_object_end(w);
}

/* Kinds of content. */
static const struct {
	const char *type;
	void (*write)(struct writer *w, struct span block);
} parts[] = {
	{ "text", write_text },
	{ "image", write_image },
	{ "document", write_document }
};
#define TEXT_PART 0
#define PARTS (sizeof parts / sizeof parts[0])

static size_t
find_part(struct span block)
{
	size_t i = 0;

	while (i < PARTS && !is_type(block, parts[i].type))
		i++;
	return stream_foreign(block, API) ? PARTS : i;
}

static size_t
count_parts(struct span blocks)
{
	size_t count = 0;

	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		count += find_part(block.value) < PARTS;
	return count;
}

/* One text is a string, which every server takes, and so is none; all else is parts. */
static void
write_content(struct writer *w, struct span blocks)
{
	struct span text = span_of("\"\"", 2);
	size_t count = 0, texts = 0, part;

	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		part = find_part(block.value);
		count += part < PARTS;
		texts += part == TEXT_PART;
		if (part == TEXT_PART)
			text = span_member(block.value, "text");
	}
	writer_key(w, "content");
	if (count <= 1 && count == texts) {
		writer_span(w, text);
		return;
	}
	writer_array(w);
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		part = find_part(block.value);
		if (part == PARTS)
			continue;
		writer_object(w);
		parts[part].write(w, block.value);
		writer_object_end(w);
	}
	writer_array_end(w);
}

static void
write_calls(struct writer *w, struct span blocks)
{
	bool begun = false;

	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (!is_type(block.value, "tool_use") || stream_foreign(block.value, API))
			continue;
		if (!begun)
			writer_member_array(w, "tool_calls");
		begun = true;
		writer_object(w);
		pass_member(w, "id", span_member(block.value, "tool_id"));
		writer_member_string(w, "type", "function");
		writer_member_object(w, "function");
		pass_member(w, "name", span_member(block.value, "tool_name"));
		pass_as_text(w, "arguments", span_member(block.value, "tool_input"));
		writer_object_end(w);
		writer_object_end(w);
	}
	if (begun)
		writer_array_end(w);
}

/* Thoughts go back only to servers that sent them under this name. */
static void
write_reasoning(struct writer *w, struct span blocks)
{
	struct buffer text = BUFFER_INIT;

	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		if (is_type(block.value, "thinking") && stream_own(block.value, API) &&
		    span_is(span_member(block.value, "field"), "reasoning_content"))
			span_decode(span_member(block.value, "thinking"), &text);
	if (text.len > 0) {
		writer_key(w, "reasoning_content");
		writer_bytes(w, text.data, text.len);
	}
	buffer_free(&text);
}

static void
write_results(struct writer *w, struct span blocks)
{
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (!is_type(block.value, "tool_result") || stream_foreign(block.value, API))
			continue;
		writer_object(w);
		writer_member_string(w, "role", "tool");
		pass_member(w, "tool_call_id", span_member(block.value, "tool_id"));
		pass_as_text(w, "content", span_member(block.value, "tool_content"));
		writer_object_end(w);
	}
}

static void
write_messages(struct writer *w, const struct provider_request *r)
{
	writer_member_array(w, "messages");
	if (r->system.at != NULL && !span_is(r->system, "")) {
		writer_object(w);
		writer_member_string(w, "role", "system");
		pass_member(w, "content", r->system);
		writer_object_end(w);
	}
	for (struct span_walk message = span_walk(r->messages); span_next(&message);) {
		struct span blocks = span_member(message.value, "blocks");
		bool assistant = span_is(span_member(message.value, "role"), "assistant");

		if (!assistant) {
			write_results(w, blocks);
			if (count_parts(blocks) == 0)
				continue;
		}
		writer_object(w);
		writer_member_string(w, "role", assistant ? "assistant" : "user");
		write_content(w, blocks);
		if (assistant) {
			write_reasoning(w, blocks);
			write_calls(w, blocks);
		}
		writer_object_end(w);
	}
	writer_array_end(w);
}

static void
write_output_schema(const struct stream *s, struct writer *w)
{
	if (!openai_takes_schema(s) || span_member(s->request->params, "response_format").at != NULL)
		return;
	writer_member_object(w, "response_format");
	writer_member_string(w, "type", "json_schema");
	writer_member_object(w, "json_schema");
	openai_write_schema(w, s->request->output_schema);
	writer_object_end(w);
	writer_object_end(w);
}

static void
write_body(const struct stream *s, struct writer *w)
{
	writer_object(w);
	pass_member(w, "model", s->request->model);
	writer_member_bool(w, "stream", true);
	writer_member_object(w, "stream_options");
	writer_member_bool(w, "include_usage", true);
	writer_object_end(w);
	for (struct span_walk member = span_walk(s->request->params); span_next(&member);)
		write_param(s, w, member.key, member.value);
	write_output_schema(s, w);
	write_tools(w, s->request->tools);
	write_messages(w, s->request);
	writer_object_end(w);
}

int
main(int argc, char **argv)
{
	static const struct stream_api api = {
		.program = "awf-provider-openai",
		.usage = usage,
		.base_variable = "OPENAI_BASE_URL",
		.base_default = "https://api.openai.com/v1",
		.key_variable = "OPENAI_API_KEY",
		.key_header = "authorization: Bearer ",
		.key_optional = true,
		.media_types = stream_media_types,
		.done_ends = true,
		.path = "/chat/completions",
		.body = write_body,
		.event = take_event,
		.finish = finish
	};

	return stream_main(&api, argc, argv);
}
