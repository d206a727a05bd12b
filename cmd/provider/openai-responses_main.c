/*
 * OpenAI's Responses API, streaming and stateless: how a request is written. The API stores
 * nothing, so its items are sent back with every request as they came (api/openai_responses.h).
 */
#include <stdlib.h>
#include <string.h>

#include "api/openai_responses.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "exchange.h"
#include "openai.h"
#include "pass.h"
#include "strict.h"
#include "transcript/event_keys.h"

static const char usage[] =
"awf-provider-openai-responses < requests\n"
"\n"
"Speaks to the Responses API of OpenAI for awf-step: one request per line on\n"
"stdin, answers on stdout, see awf-provider(7). The key is read from\n"
"OPENAI_API_KEY, another server's URL (up to and with its /v1) from\n"
"OPENAI_BASE_URL; such a server may need no key.";

/* Members that the API demands even if they are empty. */
static void
write_empty(struct writer *w, struct span block, const char *member)
{
	if (request_own_raw(block, OPENAI_RESPONSES, member).at != NULL)
		return;
	writer_member_array(w, member);
	writer_array_end(w);
}

/* A block's own members, except those in a list (NULL: none of them). */
static void
write_raw(struct writer *w, struct span block, const char *const *without)
{
	if (request_own(block, OPENAI_RESPONSES))
		pass_others(w, span_member(block, KEY_RAW), without);
}

/* Whether the API gave the text of a block under another name than the usual one. */
static bool
has_field(struct span block, const char *field)
{
	return request_own(block, OPENAI_RESPONSES) && span_is(span_member(block, KEY_FIELD), field);
}

/* Whether a block is a part of a message. */
static bool
is_part(struct span block, bool assistant)
{
	static const char *const said[] = { "text", NULL };
	static const char *const asked[] = { "text", "image", "document", NULL };

	return request_own_type(block).at == NULL && !span_is(span_member(block, KEY_TEXT), "") &&
	    span_one_of(span_member(block, KEY_TYPE), assistant ? said : asked) != NULL;
}

static bool
span_is_same(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* A part of a message of the user, or of a tool's result. */
static void
write_user_part(struct writer *w, struct span block)
{
	writer_object(w);
	if (request_type(block, "image")) {
		writer_member_string(w, "type", "input_image");
		pass_data_url(w, "image_url", block);
	} else if (request_type(block, "document")) {
		writer_member_string(w, "type", "input_file");
		openai_write_file(w, block);
	} else {
		writer_member_string(w, "type", "input_text");
		pass_of(w, "text", block, KEY_TEXT);
	}
	writer_object_end(w);
}

/* Writes the message that begins with a block, and leaves the walk at its last block. */
static void
write_message(struct writer *w, bool assistant, struct span_walk *walk)
{
	struct span_walk ahead = *walk;
	struct span first = walk->value, id = request_own_raw(first, OPENAI_RESPONSES, "id");

	writer_object(w);
	writer_member_string(w, "type", "message");
	writer_member_string(w, "role", assistant ? "assistant" : "user");
	for (const char *const *member = responses_message_members; *member != NULL; member++)
		pass_member(w, *member, request_own_raw(first, OPENAI_RESPONSES, *member));
	writer_member_array(w, "content");
	do {
		struct span block = ahead.value;
		bool refusal = assistant && has_field(block, REFUSAL);

		*walk = ahead;
		if (!assistant) {
			write_user_part(w, block);
			continue;
		}
		writer_object(w);
		writer_member_string(w, "type", refusal ? REFUSAL : "output_text");
		pass_of(w, refusal ? REFUSAL : "text", block, KEY_TEXT);
		if (!refusal)
			write_empty(w, block, "annotations");
		write_raw(w, block, responses_message_members);
		writer_object_end(w);
	} while (span_next(&ahead) &&
	    is_part(ahead.value, assistant) && span_is_same(id, request_own_raw(ahead.value, OPENAI_RESPONSES, "id")));
	writer_array_end(w);
	writer_object_end(w);
}

/* An item that is not one of AWF's blocks, put together again. after: the blocks behind it. */
static void
write_special(struct writer *w, struct span block, struct span_walk after)
{
	struct span own = request_own_type(block), input = span_member(block, KEY_TOOL_INPUT);
	char *type = span_text(own);
	const struct responses_tool *tool = type == NULL ? NULL : responses_tool(type);

	if (tool != NULL && request_type(block, "tool_result") && !responses_output(type)) {
		free(type);
		return; /* was written with its call */
	}
	writer_object(w);
	write_raw(w, block, NULL);
	if (tool != NULL && request_type(block, "tool_use")) {
		/* Absent if the item had none: AWF's form of a call without input has {}. */
		if (tool->encoded)
			pass_as_text(w, tool->input, input);
		else if (span_type(input) != 'o' || span_trim(input).len > 2)
			pass_member(w, tool->input, input);
		/* The other half, the result, is the block after the call. */
		if (span_next(&after) && request_type(after.value, "tool_result") &&
		    span_is_same(own, request_own_type(after.value)) &&
		    span_is_same(span_member(block, KEY_TOOL_ID), span_member(after.value, KEY_TOOL_ID)))
			pass_of(w, tool->output, after.value, KEY_TOOL_CONTENT);
	} else if (tool != NULL) {
		pass_of(w, tool->output, block, KEY_TOOL_CONTENT);
	}
	writer_object_end(w);
	free(type);
}

/* A tool result that is not only text: files that the API does not accept are mentioned. */
static void
write_files(struct writer *w, struct span blocks)
{
	writer_member_array(w, "output");
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (pass_is_file(block.value, request_media_types)) {
			write_user_part(w, block.value);
			continue;
		}
		writer_object(w);
		writer_member_string(w, "type", "input_text");
		pass_of(w, "text", block.value, KEY_TEXT);
		writer_object_end(w);
	}
	writer_array_end(w);
}

/* A block that is an item of its own. customs: calls, by id, whose results have a type of their
 * own. */
static void
write_item(struct writer *w, struct span block, struct map *customs)
{
	struct span id = span_member(block, KEY_TOOL_ID), encrypted;

	if (request_type(block, "thinking")) {
		/* The API can use thoughts only if it can decrypt them; it would search for
		 * others by id and not find them. */
		encrypted = span_member(block, KEY_SIGNATURE);
		if (!request_own(block, OPENAI_RESPONSES) ||
		    (encrypted.at == NULL && request_own_raw(block, OPENAI_RESPONSES, "content").at == NULL))
			return;
		writer_object(w);
		writer_member_string(w, "type", "reasoning");
		write_raw(w, block, NULL);
		write_empty(w, block, "summary");
		pass_member(w, "encrypted_content", encrypted);
		writer_object_end(w);
	} else if (request_type(block, "tool_result")) {
		bool custom = map_get(customs, id.at, id.len) != NULL;

		writer_object(w);
		writer_member_string(w, "type", custom ? CUSTOM "_output" : "function_call_output");
		pass_member(w, "call_id", id);
		if (pass_result_blocks(block).at != NULL)
			write_files(w, pass_result_blocks(block));
		else
			pass_as_text(w, "output", span_member(block, KEY_TOOL_CONTENT));
		writer_object_end(w);
	} else if (request_type(block, "tool_use")) {
		bool custom = has_field(block, CUSTOM);

		if (custom)
			map_put(customs, id.at, id.len, 1);
		writer_object(w);
		writer_member_string(w, "type", custom ? CUSTOM : "function_call");
		pass_member(w, "call_id", id);
		pass_of(w, "name", block, KEY_TOOL_NAME);
		if (custom)
			pass_as_text(w, "input", span_member(block, KEY_TOOL_INPUT));
		else
			pass_arguments(w, "arguments", span_member(block, KEY_TOOL_INPUT));
		write_raw(w, block, NULL);
		writer_object_end(w);
	}
}

/* Blocks that only another API understands are left out, and so are thoughts that this one
 * cannot decrypt. */
static void
write_input(struct writer *w, struct span messages)
{
	struct map customs = MAP_INIT;

	writer_member_array(w, "input");
	for (struct span_walk message = span_walk(messages); span_next(&message);) {
		struct span blocks = span_member(message.value, KEY_BLOCKS);
		bool assistant = span_is(span_member(message.value, KEY_ROLE), "assistant");

		for (struct span_walk block = span_walk(blocks); span_next(&block);) {
			if (request_foreign(block.value, OPENAI_RESPONSES))
				continue;
			if (request_own_type(block.value).at != NULL)
				write_special(w, block.value, block);
			else if (is_part(block.value, assistant))
				write_message(w, assistant, &block);
			else
				write_item(w, block.value, &customs);
		}
	}
	writer_array_end(w);
	map_free(&customs);
}

static void
responses_write_body(const struct exchange *x, struct writer *w)
{
	/* These do not think, and the API refuses to encrypt their thoughts. */
	static const char *const unthinking[] = { "gpt-3*", "gpt-4*", "chatgpt-*", "gpt-5-chat*",
	    NULL };
	static const char *const apart[] = { "cache", "stop_sequences", "text", NULL };
	static const char *const format[] = { "format", NULL };
	const struct provider_request *r = x->request;
	struct span text = span_member(r->params, "text");
	const enum schema_use schema = openai_schema(x);

	writer_object(w);
	pass_member(w, "model", r->model);
	writer_member_bool(w, "stream", true);
	/* The API stores nothing: thoughts come encrypted, to be sent back. */
	writer_member_bool(w, "store", false);
	if (!request_model(r->model, unthinking) && span_member(r->params, "include").at == NULL) {
		writer_member_array(w, "include");
		writer_string(w, "reasoning.encrypted_content");
		writer_array_end(w);
	}
	for (struct span_walk param = span_walk(r->params); span_next(&param);) {
		struct span value = param.value;

		if (span_is(param.key, "max_tokens")) {
			pass_member(w, "max_output_tokens", value);
		} else if (!span_is(param.key, "thinking")) {
			if (span_one_of(param.key, apart) == NULL)
				pass_raw(w, param.key, value);
		} else if (span_type(value) == 'o') {
			pass_member(w, "reasoning", value);
		} else {
			/* true, an effort, or a number of tokens. */
			const char *effort = thinking_effort(value);

			if (effort == NULL && span_type(value) != 's')
				continue;
			writer_member_object(w, "reasoning");
			if (effort == NULL)
				pass_member(w, "effort", value);
			writer_member_string(w, "effort", effort);
			writer_member_string(w, "summary", "auto");
			writer_object_end(w);
		}
	}
	if (schema != SCHEMA_UNSAID) {
		/* The other members of `text` are the caller's. */
		writer_member_object(w, "text");
		pass_others(w, text, format);
		writer_member_object(w, "format");
		writer_member_string(w, "type", schema == SCHEMA_JSON ? "json_object" : "json_schema");
		if (schema == SCHEMA_WHOLE)
			openai_write_schema(w, r->output_schema);
		writer_object_end(w);
		writer_object_end(w);
	} else {
		pass_member(w, "text", text);
	}
	if (!span_is(r->system, ""))
		pass_member(w, "instructions", r->system);
	/* AWF's tools have no type; and strict schemas are a part of JSON Schema to which a
	 * tool's schema need not keep. */
	if (span_element(r->tools, 0).at != NULL) {
		writer_member_array(w, "tools");
		for (struct span_walk tool = span_walk(r->tools); span_next(&tool);) {
			writer_object(w);
			writer_member_string(w, "type", "function");
			strict_write_tool(w, tool.value, "parameters");
			writer_member_bool(w, "strict", false);
			writer_object_end(w);
		}
		writer_array_end(w);
	}
	write_input(w, r->messages);
	writer_object_end(w);
}

static int
check_request(const struct exchange *x, struct error *err)
{
	if (span_element(span_member(x->request->params, "stop_sequences"), 0).at == NULL)
		return 0;
	return error_set(err, ERROR_INVALID, "stop_sequences",
	    "the Responses API has none: take the provider openai, or leave them out");
}

int
main(int argc, char **argv)
{
	static const struct exchange_api api = {
		.program = "awf-provider-openai-responses",
		.usage = usage,
		.endpoint = "{\"protocol\": \"responses\", \"base_url\": \"https://api.openai.com/v1\","
		    " \"base_env\": \"OPENAI_BASE_URL\","
		    " \"key\": {\"env\": [\"OPENAI_API_KEY\"], \"header\": \"authorization: Bearer \"}}",
		.stream = &openai_responses_stream,
		.key_header = "authorization: Bearer ",
		.key_optional = true,
		.media_types = request_media_types,
		.ids = "[a-zA-Z0-9_-]{1,64}",
		.rooted = "the Responses API",
		.check = check_request,
		.path = "/responses",
		.body = responses_write_body
	};

	return exchange_main(&api, argc, argv);
}
