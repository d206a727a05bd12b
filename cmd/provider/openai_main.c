/*
 * Chat Completions, streaming: how a request is written for OpenAI's API and compatible ones
 * (Azure, Groq, DeepSeek, xAI, Mistral, OpenRouter, Ollama, vLLM, llama.cpp …).
 */
#include <stdlib.h>
#include <string.h>

#include "api/openai_keep.h"
#include "exchange.h"
#include "openai.h"
#include "pass.h"
#include "strict.h"
#include "transcript/event_keys.h"

#define API OPENAI

static const char usage[] =
"awf-provider-openai < requests\n"
"\n"
"Speaks to a Chat Completions API for awf-step: one request per line on stdin,\n"
"answers on stdout, see awf-provider(7). The key is read from OPENAI_API_KEY,\n"
"another server's URL (up to and with its /v1) from OPENAI_BASE_URL; such a\n"
"server may need no key.";

/* What this server gave as a part of the content, and understands alone. */
static struct span
own_part(struct span block)
{
	return request_own_raw(block, API, PART);
}

/* Whether a thought came as a part of the content. */
static bool
is_thought_part(struct span block)
{
	return request_type(block, "thinking") && request_own(block, API) &&
	    span_is(span_member(block, KEY_FIELD), CONTENT_FIELD);
}

/* Whether a block is a part of a message's content. The text that describes pictures to others is
 * not: they go back themselves. */
static bool
is_part(struct span block)
{
	static const char *const types[] = { "text", "image", "document", NULL };

	if (is_thought_part(block) || own_part(block).at != NULL)
		return true;
	if (request_own_raw(block, API, IMAGES).at != NULL)
		return false;
	return span_one_of(span_member(block, KEY_TYPE), types) != NULL && !request_foreign(block, API);
}

/* Whether the content is this text alone. */
static bool
is_plain_text(struct span block)
{
	return request_type(block, "text") && own_part(block).at == NULL;
}

static void
write_part(struct writer *w, struct span block)
{
	if (own_part(block).at != NULL) {
		writer_span(w, own_part(block));
		return;
	}
	writer_object(w);
	if (is_thought_part(block)) {
		writer_member_string(w, "type", "thinking");
		writer_member_array(w, "thinking");
		writer_object(w);
		writer_member_string(w, "type", "text");
		pass_of(w, "text", block, KEY_THINKING);
		writer_object_end(w);
		writer_array_end(w);
		pass_others(w, span_member(block, KEY_RAW), NULL);
	} else if (request_type(block, "text")) {
		writer_member_string(w, "type", "text");
		pass_of(w, "text", block, KEY_TEXT);
	} else if (request_type(block, "image")) {
		writer_member_string(w, "type", "image_url");
		writer_member_object(w, "image_url");
		pass_data_url(w, "url", block);
		writer_object_end(w);
	} else {
		writer_member_string(w, "type", "file");
		writer_member_object(w, "file");
		openai_write_file(w, block);
		writer_object_end(w);
	}
	writer_object_end(w);
}

/* Whether a thought stood in the text, between tags. */
static bool
is_tagged_thought(struct span block)
{
	return request_type(block, "thinking") && request_own(block, API) &&
	    span_is(span_member(block, KEY_FIELD), TAG_FIELD);
}

/* All texts as one, for servers that take no lists, or that said their thoughts in the text. False:
 * they are not all texts, and nothing is written. */
static bool
write_joined(struct writer *w, struct span blocks)
{
	struct buffer all = BUFFER_INIT;
	bool tagged = false, texts = true;

	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (is_tagged_thought(block.value)) {
			buffer_text(&all, TAG_BEGIN);
			span_decode(span_member(block.value, KEY_THINKING), &all);
			buffer_text(&all, TAG_END);
			tagged = true;
		} else if (is_part(block.value)) {
			texts = texts && is_plain_text(block.value);
			if (all.len > 0 && !tagged)
				buffer_text(&all, "\n\n");
			span_decode(span_member(block.value, KEY_TEXT), &all);
			tagged = false;
		}
	}
	if (texts) {
		writer_key(w, "content");
		writer_bytes(w, buffer_string(&all), all.len);
	}
	buffer_free(&all);
	return texts;
}

/* A single text is sent as a string, which every server accepts, and so is no part at all;
 * otherwise an array of `count` parts. */
static void
write_content(const struct exchange *x, struct writer *w, struct span blocks, size_t count)
{
	struct span text = span_of("\"\"", 2);
	bool one = count == 0, joins = count > 1 && span_is(request_endpoint(x, "content"), "text");

	for (struct span_walk block = span_walk(blocks); !joins && span_next(&block);)
		joins = is_tagged_thought(block.value);
	if (joins && write_joined(w, blocks))
		return;

	for (struct span_walk block = span_walk(blocks); count == 1 && span_next(&block);)
		if (is_part(block.value) && is_plain_text(block.value)) {
			text = span_member(block.value, KEY_TEXT);
			one = true;
		}
	writer_key(w, "content");
	if (one) {
		writer_span(w, text);
		return;
	}
	writer_array(w);
	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		if (is_part(block.value))
			write_part(w, block.value);
	writer_array_end(w);
}

/* Members of the message that this server gave, and no other gets: thoughts under the name under
 * which they came, and what has no place in a block (api/openai_keep.h). A server that demands
 * thoughts of each message that calls tools gets a text in their place. */
static void
write_own_members(const struct exchange *x, struct writer *w, struct span blocks, bool calls)
{
	static const char *const fields[] = { "reasoning", "reasoning_content", NULL };
	struct span said = request_endpoint(x, "echo"), required = span_member(said, "required");
	char *echo = span_text(span_type(said) == 's' ? said : span_member(said, "as"));
	const char *demanded = echo != NULL ? echo : "reasoning_content";
	struct joined members = { .members = NULL };
	bool echoed = false, is_there = false;

	for (const char *const *field = fields; *field != NULL; field++) {
		struct buffer thoughts = BUFFER_INIT;

		for (struct span_walk block = span_walk(blocks); span_next(&block);)
			if (request_type(block.value, "thinking") && request_own(block.value, API) &&
			    span_is(span_member(block.value, KEY_FIELD), *field))
				span_decode(span_member(block.value, KEY_THINKING), &thoughts);
		if (thoughts.len > 0 && !echoed) {
			writer_key_quoted(w, echo != NULL ? echo : *field, strlen(echo != NULL ? echo : *field));
			writer_bytes(w, thoughts.data, thoughts.len);
			echoed = echo != NULL;
			is_there = is_there || echoed || strcmp(*field, demanded) == 0;
		}
		buffer_free(&thoughts);
	}
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		struct span raw = span_member(block.value, KEY_RAW);

		if (!request_own(block.value, API) || is_thought_part(block.value) ||
		    request_type(block.value, "tool_use"))
			continue;
		for (struct span_walk member = span_walk(raw); span_next(&member);)
			if (span_one_of(member.key, openai_silent) == NULL && !span_is(member.key, PART))
				joined_add(&members, member.key, member.value);
	}
	joined_write(&members, w);
	if (calls && !x->unthinking && !is_there && span_type(required) == 's' &&
	    !joined_has(&members, demanded)) {
		writer_key_quoted(w, demanded, strlen(demanded));
		writer_span(w, required);
	}
	joined_free(&members);
	free(echo);
}

/* A message of the model, with the tools that it called. */
static void
openai_write_assistant_message(const struct exchange *x, struct writer *w, struct span blocks,
    size_t parts)
{
	bool calls = false, says = parts > 0, begun = false;

	/* A message of which nothing can be sent is left out: servers refuse it. */
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		calls = calls ||
		    (request_type(block.value, "tool_use") && !request_foreign(block.value, API));
		says = says || calls || request_own(block.value, API);
	}
	if (!says)
		return;
	writer_object(w);
	writer_member_string(w, "role", "assistant");
	write_content(x, w, blocks, parts);
	write_own_members(x, w, blocks, calls);
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (!request_type(block.value, "tool_use") || request_foreign(block.value, API))
			continue;
		if (!begun)
			writer_member_array(w, "tool_calls");
		begun = true;
		writer_object(w);
		pass_of(w, "id", block.value, KEY_TOOL_ID);
		writer_member_string(w, "type", "function");
		writer_member_object(w, "function");
		pass_of(w, "name", block.value, KEY_TOOL_NAME);
		pass_arguments(w, "arguments", span_member(block.value, KEY_TOOL_INPUT));
		writer_object_end(w);
		if (request_own(block.value, API))
			pass_others(w, span_member(block.value, KEY_RAW), NULL);
		writer_object_end(w);
	}
	if (begun)
		writer_array_end(w);
	writer_object_end(w);
}

/* A tool message has only text: files in results follow as messages of the user. */
static void
write_files(struct writer *w, struct span blocks)
{
	bool begun = false;

	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		for (struct span_walk file = span_walk(pass_result_blocks(block.value)); span_next(&file);) {
			if (!pass_is_file(file.value, request_media_types))
				continue;
			if (!begun) {
				writer_object(w);
				writer_member_string(w, "role", "user");
				writer_member_array(w, "content");
				writer_object(w);
				writer_member_string(w, "type", "text");
				writer_member_string(w, "text",
				    "The files that the tools gave, in the order of their results:");
				writer_object_end(w);
				begun = true;
			}
			write_part(w, file.value);
		}
	if (begun) {
		writer_array_end(w);
		writer_object_end(w);
	}
}

/* A message of the user: results of tools are messages of their own before it. */
static void
write_question(const struct exchange *x, struct writer *w, struct span blocks, size_t parts)
{
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (!request_type(block.value, "tool_result") || request_foreign(block.value, API))
			continue;
		writer_object(w);
		writer_member_string(w, "role", "tool");
		pass_of(w, "tool_call_id", block.value, KEY_TOOL_ID);
		pass_as_text(w, "content", span_member(block.value, KEY_TOOL_CONTENT));
		writer_object_end(w);
	}
	write_files(w, blocks);
	if (parts == 0)
		return;
	writer_object(w);
	writer_member_string(w, "role", "user");
	write_content(x, w, blocks, parts);
	writer_object_end(w);
}

/* Each parameter under the API's name for it; those that AWF does not know as they are. */
static void
write_params(const struct exchange *x, struct writer *w)
{
	/* OpenAI has renamed max_tokens and refuses the old name for newer models; most other
	 * servers know only the old one. */
	static const char *const newer[] = { "o[0-9]*", "gpt-5*", NULL };
	const struct span limit = request_endpoint(x, "max_tokens");
	const bool renamed = strstr(x->base, "//api.openai.com") != NULL ||
	    request_model(x->request->model, newer);

	for (struct span_walk param = span_walk(x->request->params); span_next(&param);) {
		struct span value = param.value;

		if (span_is(param.key, "thinking")) {
			/* true, an effort, a number of tokens, or an object for servers that take
			 * one. */
			if (span_type(value) == 's')
				pass_member(w, "reasoning_effort", value);
			else if (span_type(value) == 'o')
				pass_member(w, "thinking", value);
			else
				writer_member_string(w, "reasoning_effort", thinking_effort(value));
		} else if (span_is(param.key, "max_tokens") && span_type(limit) == 's') {
			pass_raw(w, limit, value);
		} else if (span_is(param.key, "max_tokens")) {
			pass_member(w, renamed ? "max_completion_tokens" : "max_tokens", value);
		} else if (span_is(param.key, "stop_sequences")) {
			pass_member(w, "stop", value);
		} else if (!span_is(param.key, "cache")) { /* these APIs cache by themselves */
			pass_raw(w, param.key, value);
		}
	}
}

/* The output_schema, unless the caller has said the format. */
static void
write_response_format(const struct exchange *x, struct writer *w)
{
	const enum schema_use schema = openai_schema(x);

	if (schema == SCHEMA_UNSAID || span_member(x->request->params, "response_format").at != NULL)
		return;
	writer_member_object(w, "response_format");
	writer_member_string(w, "type", schema == SCHEMA_JSON ? "json_object" : "json_schema");
	if (schema == SCHEMA_WHOLE) {
		writer_member_object(w, "json_schema");
		openai_write_schema(w, x->request->output_schema);
		writer_object_end(w);
	}
	writer_object_end(w);
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
		strict_write_tool(w, tool.value, "parameters");
		writer_object_end(w);
		writer_object_end(w);
	}
	writer_array_end(w);
}

/* The system prompt is a message like the others, in the role that the server wants. */
static void
write_messages(const struct exchange *x, struct writer *w)
{
	const struct span system = x->request->system, role = request_endpoint(x, "system");

	writer_member_array(w, "messages");
	if (system.at != NULL && !span_is(system, "")) {
		writer_object(w);
		if (role.at != NULL)
			pass_member(w, "role", role);
		else
			writer_member_string(w, "role", "system");
		pass_member(w, "content", system);
		writer_object_end(w);
	}
	for (struct span_walk message = span_walk(x->request->messages); span_next(&message);) {
		struct span blocks = span_member(message.value, KEY_BLOCKS);
		size_t parts = 0;

		for (struct span_walk block = span_walk(blocks); span_next(&block);)
			parts += is_part(block.value);
		if (span_is(span_member(message.value, KEY_ROLE), "assistant"))
			openai_write_assistant_message(x, w, blocks, parts);
		else
			write_question(x, w, blocks, parts);
	}
	writer_array_end(w);
}

static void
openai_write_body(const struct exchange *x, struct writer *w)
{
	writer_object(w);
	pass_member(w, "model", x->request->model);
	writer_member_bool(w, "stream", true);
	writer_member_object(w, "stream_options");
	writer_member_bool(w, "include_usage", true);
	writer_object_end(w);
	write_params(x, w);
	write_response_format(x, w);
	write_tools(w, x->request->tools);
	write_messages(x, w);
	writer_object_end(w);
}

static void
openai_take_thoughts(struct exchange *x)
{
	if (span_true(request_endpoint(x, "think_tags")))
		openai_take_tags(&x->stream.message);
}

int
main(int argc, char **argv)
{
	static const struct exchange_api api = {
		.program = "awf-provider-openai",
		.usage = usage,
		.endpoint = "{\"protocol\": \"chat\", \"base_url\": \"https://api.openai.com/v1\","
		    " \"base_env\": \"OPENAI_BASE_URL\","
		    " \"key\": {\"env\": [\"OPENAI_API_KEY\"], \"header\": \"authorization: Bearer \"}}",
		.stream = &openai_stream,
		.key_header = "authorization: Bearer ",
		.key_optional = true,
		.media_types = request_media_types,
		.ids = ".{1,40}",
		.rooted = "Chat Completions",
		.path = "/chat/completions",
		.body = openai_write_body,
		.read = openai_take_thoughts
	};

	return exchange_main(&api, argc, argv);
}
