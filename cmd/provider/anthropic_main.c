/*
 * Anthropic's Messages API, streaming: how a request is written. One table says which member of the
 * API's block is which member of AWF's (api/anthropic.h), for both directions. Members without a
 * place in AWF's block are in `raw`. Models are recognized only by their names.
 */
#include <stdlib.h>
#include <string.h>

#include "api/anthropic.h"
#include "base/map.h"
#include "base/text.h"
#include "exchange.h"
#include "pass.h"
#include "strict.h"
#include "transcript/event_keys.h"

#define MAX_TOKENS 8192 /* the API demands a number; tokens for thinking are added */

static const char usage[] =
"awf-provider-anthropic < requests\n"
"\n"
"Speaks to the Messages API for awf-step: one request per line on stdin, answers\n"
"on stdout, see awf-provider(7). The key is read from ANTHROPIC_API_KEY, another\n"
"server's URL from ANTHROPIC_BASE_URL.";

static enum anthropic_kind
kind_of(struct span block)
{
	struct span type = span_member(block, KEY_TYPE);
	int kind = KIND_TEXT;

	if (span_member(block, "redacted").at != NULL)
		return KIND_REDACTED;
	while (kind <= KIND_DOCUMENT && !span_is(type, anthropic_blocks[kind].type))
		kind++;
	return kind > KIND_DOCUMENT ? KIND_OTHER : (enum anthropic_kind)kind;
}

/* Whether a block of a request can be sent: thinking needs the API's signature, an empty text is
 * refused, and what another API ran or thought is left out. */
static bool
is_sendable(struct span block)
{
	bool own = span_member(block, KEY_API).at == NULL || request_own(block, ANTHROPIC);

	if (request_own_type(block).at != NULL)
		return own;
	switch (kind_of(block)) {
	case KIND_TEXT:
		return !span_is(span_member(block, KEY_TEXT), "");
	case KIND_THINKING:
		return own && span_member(block, KEY_SIGNATURE).at != NULL;
	case KIND_REDACTED:
		return own;
	case KIND_OTHER:
		return false;
	default:
		return true;
	}
}

static bool
has_sendable(struct span blocks)
{
	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		if (is_sendable(block.value))
			return true;
	return false;
}

/* An object with only a type. */
static void
write_typed(struct writer *w, const char *key, const char *type)
{
	writer_member_object(w, key);
	writer_member_string(w, "type", type);
	writer_object_end(w);
}

/* The mark in a block: the input up to here is worth caching, because the next request repeats
 * it. */
static void
write_cache_mark(struct writer *w)
{
	write_typed(w, "cache_control", "ephemeral");
}

static void write_block(struct writer *w, struct span block, bool mark);

/* A tool result that is not only text. */
static void
anthropic_write_tool_result(struct writer *w, struct span blocks)
{
	writer_member_array(w, "content");
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (pass_is_file(block.value, request_media_types)) {
			write_block(w, block.value, false);
			continue;
		}
		writer_object(w);
		writer_member_string(w, "type", "text");
		pass_of(w, "text", block.value, KEY_TEXT);
		writer_object_end(w);
	}
	writer_array_end(w);
}

static void
write_block(struct writer *w, struct span block, bool mark)
{
	enum anthropic_kind kind = kind_of(block);
	bool special = request_own_type(block).at != NULL;

	writer_object(w);
	if (!special)
		writer_member_string(w, "type", anthropic_blocks[kind].type);
	for (const struct anthropic_member *m = anthropic_members; m < anthropic_members + ANTHROPIC_MEMBERS; m++) {
		struct span value = m->kind == kind ? span_member(block, m->ours) : SPAN_NONE;

		if (value.at == NULL || (kind == KIND_TEXT && special && span_is(value, "")))
			continue;
		if (kind == KIND_TOOL_RESULT && m->form == FORM_JSON && pass_result_blocks(block).at != NULL) {
			anthropic_write_tool_result(w, pass_result_blocks(block));
			continue;
		}
		if (m->form != FORM_JSON || special)
			pass_member(w, m->theirs, value);
		else if (kind == KIND_TOOL_USE)
			pass_input(w, m->theirs, value);
		else
			pass_as_text(w, m->theirs, value);
	}
	/* An attachment: its bytes, and the name of a document, which models cite. */
	if (kind == KIND_IMAGE || kind == KIND_DOCUMENT) {
		writer_member_object(w, "source");
		writer_member_string(w, "type", "base64");
		pass_of(w, "media_type", block, KEY_MEDIA_TYPE);
		pass_of(w, "data", block, KEY_DATA);
		writer_object_end(w);
	}
	if (kind == KIND_DOCUMENT)
		pass_of(w, "title", block, KEY_NAME);
	if (request_own(block, ANTHROPIC))
		pass_others(w, span_member(block, KEY_RAW), NULL);
	if (mark)
		write_cache_mark(w);
	writer_object_end(w);
}

/* cached: the last block that can have the mark gets it. */
static void
write_messages(struct writer *w, struct span messages, bool cached)
{
	struct span last = SPAN_NONE, marked = SPAN_NONE;

	/* Mark the last block of the last message. Thinking cannot be marked, and the API's own
	 * blocks are sent back unchanged. */
	for (struct span_walk message = span_walk(messages); cached && span_next(&message);)
		if (has_sendable(span_member(message.value, KEY_BLOCKS)))
			last = span_member(message.value, KEY_BLOCKS);
	for (struct span_walk block = span_walk(last); span_next(&block);) {
		enum anthropic_kind kind = kind_of(block.value);

		if (is_sendable(block.value) && kind != KIND_THINKING && kind != KIND_REDACTED &&
		    span_member(block.value, KEY_RAW).at == NULL)
			marked = block.value;
	}

	/* A message without anything to send is left out: the API refuses empty messages, and
	 * accepts two of the same role in a row. */
	writer_member_array(w, "messages");
	for (struct span_walk message = span_walk(messages); span_next(&message);) {
		struct span blocks = span_member(message.value, KEY_BLOCKS);

		if (!has_sendable(blocks))
			continue;
		writer_object(w);
		pass_of(w, "role", message.value, KEY_ROLE);
		writer_member_array(w, "content");
		for (struct span_walk block = span_walk(blocks); span_next(&block);)
			if (is_sendable(block.value))
				write_block(w, block.value, block.value.at == marked.at);
		writer_array_end(w);
		writer_object_end(w);
	}
	writer_array_end(w);
}

/* The API refuses a conversation with tool calls if the request has no tools, for example when
 * an agent without tools continues it. So the tools that were called are named, but may not be
 * called again. */
static void
write_called_tools(struct writer *w, const struct provider_request *r)
{
	struct map named = MAP_INIT;
	struct buffer list = BUFFER_INIT;
	struct writer tools;

	writer_begin(&tools, &list);
	writer_array(&tools);
	for (struct span_walk message = span_walk(r->messages); span_next(&message);) {
		struct span blocks = span_member(message.value, KEY_BLOCKS);

		for (struct span_walk block = span_walk(blocks); span_next(&block);) {
			struct span name = span_member(block.value, KEY_TOOL_NAME);

			if (kind_of(block.value) != KIND_TOOL_USE ||
			    request_own_type(block.value).at != NULL ||
			    map_get(&named, name.at, name.len) != NULL)
				continue;
			map_put(&named, name.at, name.len, 0);
			writer_object(&tools);
			pass_member(&tools, "name", name);
			write_typed(&tools, "input_schema", "object");
			writer_object_end(&tools);
		}
	}
	writer_array_end(&tools);
	if (list.len > 2)
		writer_member_buffer(w, "tools", &list);
	if (list.len > 2 && span_member(r->params, "tool_choice").at == NULL)
		write_typed(w, "tool_choice", "none");
	buffer_free(&list);
	map_free(&named);
}

/* Whether the model decides itself how long it thinks, guided by an effort: models after 4.5,
 * which accept no number of tokens. Other names belong to other servers. */
static bool
is_adaptive(struct span model)
{
	static const char *const all[] = { "claude-*", NULL };
	static const char *const older[] = { "claude-2*", "claude-3*", "claude-instant*",
	    "claude-*-4-0*", "claude-*-4-1*", "claude-*-4-2*", "claude-*-4-5*", NULL };

	return request_model(model, all) && !request_model(model, older);
}

/* The output format and the effort of thinking in the API's form, unless the caller has set the
 * effort. The other members are the caller's. */
static void
write_output_config(struct writer *w, const struct provider_request *r)
{
	/* Those before `output_config`. */
	static const char *const older[] = { "claude-2*", "claude-3*", "claude-instant*",
	    "claude-opus-4-0*", "claude-opus-4-2*", "claude-sonnet-4-0*", "claude-sonnet-4-2*", NULL };
	static const char *const keywords[] = { "$defs", "$ref", "additionalProperties", "anyOf",
	    "const", "default", "definitions", "description", "enum", "format", "items",
	    "properties", "required", "title", "type", NULL };
	static const char *const formats[] = { "date", "date-time", "duration", "email", "hostname",
	    "ipv4", "ipv6", "time", "uri", "uuid", NULL };
	static const struct strict strict = { keywords, formats, false, false };
	static const char *const efforts[] = { "low", "medium", "high", NULL };
	struct span config = span_member(r->params, "output_config");
	struct span thinking = span_member(r->params, "thinking");
	const char *effort = NULL;
	bool schema = r->output_schema.at != NULL && !request_model(r->model, older) &&
	    strict_takes(&strict, r->output_schema);
	const char *const written[] = { schema ? "format" : "effort", NULL };

	if (is_adaptive(r->model) && !span_true(thinking) &&
	    span_member(config, "effort").at == NULL) {
		effort = thinking_effort(thinking);
		if (effort == NULL)
			effort = span_is(thinking, "minimal") ? "low" :
			    span_one_of(thinking, efforts);
	}
	if (!schema && effort == NULL) {
		pass_member(w, "output_config", config);
		return;
	}
	writer_member_object(w, "output_config");
	pass_others(w, config, written);
	writer_member_string(w, "effort", effort);
	if (schema) {
		writer_member_object(w, "format");
		writer_member_string(w, "type", "json_schema");
		strict_write(w, "schema", r->output_schema);
		writer_object_end(w);
	}
	writer_object_end(w);
}

static void
anthropic_write_body(const struct exchange *x, struct writer *w)
{
	static const char *const apart[] = { "cache", "output_config", "thinking", NULL };
	const struct provider_request *r = x->request;
	struct span thinking = span_member(r->params, "thinking");
	long long budget = thinking_budget(thinking);
	bool tools = span_element(r->tools, 0).at != NULL;
	/* The turns of an agent with tools repeat everything before; a single answer has nothing
	 * to cache for. */
	char cache = span_type(span_member(r->params, "cache"));
	bool cached = cache == 't' || (cache != 'f' && tools);

	writer_object(w);
	pass_member(w, "model", r->model);
	writer_member_bool(w, "stream", true);
	if (span_member(r->params, "max_tokens").at == NULL)
		writer_member_integer(w, "max_tokens", MAX_TOKENS + budget);
	if (span_type(thinking) == 'o') {
		pass_member(w, "thinking", thinking);
	} else if (budget != 0) {
		bool adaptive = is_adaptive(r->model);

		writer_member_object(w, "thinking");
		writer_member_string(w, "type", adaptive ? "adaptive" : "enabled");
		if (!adaptive)
			writer_member_integer(w, "budget_tokens", budget);
		writer_object_end(w);
	}
	pass_others(w, r->params, apart);
	write_output_config(w, r);

	if (r->system.at != NULL && !span_is(r->system, "")) {
		if (cached) {
			writer_member_array(w, "system");
			writer_object(w);
			writer_member_string(w, "type", "text");
			pass_member(w, "text", r->system);
			write_cache_mark(w);
			writer_object_end(w);
			writer_array_end(w);
		} else {
			pass_member(w, "system", r->system);
		}
	}
	if (tools)
		pass_member(w, "tools", r->tools);
	else
		write_called_tools(w, r);
	write_messages(w, r->messages, cached);
	writer_object_end(w);
}

int
main(int argc, char **argv)
{
	static const struct exchange_api api = {
		.program = "awf-provider-anthropic",
		.usage = usage,
		.endpoint = "{\"protocol\": \"messages\", \"base_url\": \"https://api.anthropic.com\","
		    " \"base_env\": \"ANTHROPIC_BASE_URL\","
		    " \"key\": {\"env\": [\"ANTHROPIC_API_KEY\"], \"header\": \"x-api-key: \"}}",
		.stream = &anthropic_stream,
		.key_header = "x-api-key: ",
		.header = "anthropic-version: 2023-06-01",
		.media_types = request_media_types,
		.path = "/v1/messages",
		.body = anthropic_write_body
	};

	return exchange_main(&api, argc, argv);
}
