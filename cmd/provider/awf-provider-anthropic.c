/*
 * The Messages API of Anthropic, streaming. Which member of the API's block is which member of
 * ours stands in one table, read by both directions. Members without a place in ours go into
 * `raw` and come back from there. Models are told apart by their names alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "pass.h"
#include "stream.h"
#include "strict.h"
#include "transcript/event_keys.h"

#define API "anthropic"
#define MAX_TOKENS 8192 /* the API wants a number; thinking comes on top */

static const char usage[] =
"awf-provider-anthropic < requests\n"
"\n"
"Speaks to the Messages API for awf-step: one request per line on stdin, answers\n"
"on stdout, see awf-provider(7). The key is read from ANTHROPIC_API_KEY, another\n"
"server's URL from ANTHROPIC_BASE_URL.";

/* Kinds of blocks of the API. */
enum kind {
	KIND_TEXT,
	KIND_THINKING,
	KIND_REDACTED,
	KIND_TOOL_USE,    /* also those that the API runs itself */
	KIND_TOOL_RESULT, /* of tools that the API ran, or ours */
	KIND_OTHER,       /* later than this program: kept in raw, as an empty text */
	KIND_IMAGE,       /* attachments, in requests alone */
	KIND_DOCUMENT
};

static const struct {
	const char *type;
	enum block_type ours;
} kinds[] = {
	[KIND_TEXT] = { "text", BLOCK_TEXT },
	[KIND_THINKING] = { "thinking", BLOCK_THINKING },
	[KIND_REDACTED] = { "redacted_thinking", BLOCK_THINKING },
	[KIND_TOOL_USE] = { "tool_use", BLOCK_TOOL_USE },
	[KIND_TOOL_RESULT] = { "tool_result", BLOCK_TOOL_RESULT },
	[KIND_OTHER] = { "", BLOCK_TEXT },
	[KIND_IMAGE] = { "image", BLOCK_TEXT },
	[KIND_DOCUMENT] = { "document", BLOCK_TEXT }
};

/* How a value becomes what it is in a block: a string decoded into a buffer or a text, JSON
 * as it stands, a bool. */
enum form { FORM_STRING, FORM_JSON, FORM_TEXT, FORM_BOOL };

static const struct member {
	enum kind kind;
	enum form form;
	const char *theirs, *ours;
	size_t place; /* in struct block */
} members[] = {
	{ KIND_TEXT, FORM_STRING, "text", KEY_TEXT, offsetof(struct block, text) },
	{ KIND_THINKING, FORM_STRING, "thinking", KEY_THINKING, offsetof(struct block, text) },
	{ KIND_THINKING, FORM_STRING, "signature", KEY_SIGNATURE,
	    offsetof(struct block, signature) },
	{ KIND_REDACTED, FORM_STRING, "data", "redacted", offsetof(struct block, redacted) },
	{ KIND_TOOL_USE, FORM_TEXT, "id", KEY_TOOL_ID, offsetof(struct block, tool_id) },
	{ KIND_TOOL_USE, FORM_TEXT, "name", KEY_TOOL_NAME, offsetof(struct block, tool_name) },
	{ KIND_TOOL_USE, FORM_JSON, "input", KEY_TOOL_INPUT, offsetof(struct block, text) },
	{ KIND_TOOL_RESULT, FORM_TEXT, "tool_use_id", KEY_TOOL_ID,
	    offsetof(struct block, tool_id) },
	{ KIND_TOOL_RESULT, FORM_JSON, "content", KEY_TOOL_CONTENT, offsetof(struct block, text) },
	{ KIND_TOOL_RESULT, FORM_BOOL, "is_error", KEY_IS_ERROR, offsetof(struct block, is_error) }
};
#define MEMBERS (sizeof members / sizeof members[0])

/* What the events say. */

/* Takes a member of the API's block; false: it has no place in ours. */
static bool
take_member(struct block *b, enum kind kind, struct span key, struct span value)
{
	for (const struct member *m = members; m < members + MEMBERS; m++) {
		void *place = (char *)b + m->place;

		if (m->kind != kind || !span_is(key, m->theirs))
			continue;
		switch (m->form) {
		case FORM_STRING:
			span_decode(value, place);
			break;
		case FORM_JSON:
			scan_minify(value, place);
			break;
		case FORM_TEXT:
			text_once(place, value);
			break;
		case FORM_BOOL:
			*(bool *)place = span_true(value);
		}
		return true;
	}
	return false;
}

static void
content_block_start(struct stream *s, struct span event)
{
	struct span content = span_member(event, "content_block");
	char *type = span_text(span_member(content, "type"));
	enum kind kind = KIND_TEXT;
	long long index = -1;
	struct block *b;

	/* server_tool_use, web_search_tool_result and their like go by their shape. */
	while (kind < KIND_OTHER && (type == NULL || strcmp(type, kinds[kind].type) != 0))
		kind++;
	if (kind == KIND_OTHER && type != NULL && text_ends(type, "_tool_use"))
		kind = KIND_TOOL_USE;
	else if (kind == KIND_OTHER && type != NULL && text_ends(type, "_tool_result"))
		kind = KIND_TOOL_RESULT;

	number_set(&index, span_member(event, "index"));
	b = message_add(&s->message, kinds[kind].ours, index);
	b->ran = (kind == KIND_TOOL_USE || kind == KIND_TOOL_RESULT) &&
	    strcmp(type, kinds[KIND_TOOL_USE].type) != 0;
	for (struct span_walk part = span_walk(content); span_next(&part);)
		if (!take_member(b, kind, part.key, part.value) && says_something(part.value) &&
		    !(span_is(part.key, "type") && span_is(part.value, kinds[kind].type)))
			block_keep(b, part.key, part.value);
	if (kind == KIND_THINKING || kind == KIND_REDACTED || b->raw.len > 0)
		b->api = API;
	if (kind == KIND_TEXT)
		provider_delta(s->provider, "text", buffer_string(&b->text), b->text.len);
	if (kind == KIND_TOOL_USE)
		stream_call(s, b->tool_name, "", 0);
	free(type);
}

static void
content_block_delta(struct stream *s, struct span event)
{
	static const struct delta {
		const char *type, *member;
		enum { SHOWN, SIGNATURE, INPUT, CITATION, KEPT } what;
	} deltas[] = {
		{ "text_delta", "text", SHOWN },
		{ "thinking_delta", "thinking", SHOWN },
		{ "signature_delta", "signature", SIGNATURE },
		{ "input_json_delta", "partial_json", INPUT },
		{ "citations_delta", "citation", CITATION },
		/* What a compaction made of the conversation; the API takes it back as it is. */
		{ "compaction_delta", "content", KEPT },
		{ "compaction_delta", "encrypted_content", KEPT }
	};
	struct span delta = span_member(event, "delta"), type = span_member(delta, "type");
	size_t found = s->message.count, before;
	long long index = -1;
	struct block *b;

	number_set(&index, span_member(event, "index"));
	while (found > 0 && s->message.blocks[found - 1].index != index)
		found--;
	if (found == 0) {
		stream_fail(s, "event %ld of the stream is for a block that never began", s->events);
		return;
	}
	b = &s->message.blocks[found - 1];
	for (const struct delta *d = deltas; d < deltas + sizeof deltas / sizeof *d; d++) {
		struct span value = span_member(delta, d->member);

		if (value.at == NULL || !span_is(type, d->type))
			continue;
		switch (d->what) {
		case SHOWN:
			stream_text(s, b, d->member, value);
			break;
		case SIGNATURE:
			span_decode(value, &b->signature);
			break;
		case INPUT:
			/* The block began with "input":{}; the pieces, if any, take its place. */
			if (!b->begun && span_type(value) == 's' && !span_is(value, "")) {
				b->begun = true;
				buffer_clear(&b->text);
			}
			before = b->text.len;
			span_decode(value, &b->text);
			stream_call(s, NULL, buffer_string(&b->text) + before, b->text.len - before);
			break;
		case CITATION:
			if (b->citations.len > 0)
				buffer_byte(&b->citations, ',');
			scan_minify(value, &b->citations);
			b->api = API;
			break;
		case KEPT:
			if (says_something(value))
				block_keep_as(b, d->member, value);
			b->api = API;
		}
	}
}

/* Numbers are totals so far: later ones replace earlier ones. Where the API asked its models
 * several times for one answer (to compact the conversation first, say), the totals are those
 * of the last, and `iterations` what each was billed for. */
static void
take_usage(struct usage *u, struct span counted)
{
	static const struct usage_place places[] = {
		USAGE(input, "input_tokens"),
		USAGE(output, "output_tokens"),
		USAGE(cache_read, "cache_read_input_tokens"),
		USAGE(cache_write, "cache_creation_input_tokens"),
		USAGE_END
	};
	struct span iterations = span_member(counted, "iterations");

	if (span_element(iterations, 0).at == NULL) {
		usage_set(u, counted, places);
		return;
	}
	*u = (struct usage)USAGE_INIT;
	for (struct span_walk each = span_walk(iterations); span_next(&each);)
		usage_sum(u, each.value, places);
}

/* Messages API, "stop_reason": https://docs.claude.com/en/api/messages and
 * https://docs.claude.com/en/api/handling-stop-reasons; of a pause after compaction
 * https://docs.claude.com/en/build-with-claude/compaction. */
static const struct end ends[] = {
	{ "end_turn", "end_turn", ERROR_NONE },
	{ "tool_use", "tool_use", ERROR_NONE },
	{ "max_tokens", "max_tokens", ERROR_NONE },
	{ "model_context_window_exceeded", "max_tokens", ERROR_NONE },
	{ "stop_sequence", "stop_sequence", ERROR_NONE },
	{ "refusal", "refusal", ERROR_NONE },
	{ "pause_turn", "pause", ERROR_NONE },
	{ "compaction", "pause", ERROR_NONE },
	{ NULL, NULL, ERROR_NONE }
};

/* Other events (ping, and those of later versions) are passed over, as the API asks its clients
 * to. */
static void
take_event(struct stream *s, struct span event)
{
	struct span type = span_member(event, "type");
	struct message *m = &s->message;

	if (span_is(type, "content_block_delta")) {
		content_block_delta(s, event);
	} else if (span_is(type, "content_block_start")) {
		content_block_start(s, event);
	} else if (span_is(type, "message_start")) {
		struct span message = span_member(event, "message");

		/* Of two answers in one stream neither is to be trusted: both would call their
		 * tools. */
		if (m->begun) {
			stream_fail(s, "a second answer begins before the first has ended");
			return;
		}
		m->begun = true;
		text_once(&m->model, span_member(message, "model"));
		take_usage(&m->usage, span_member(message, "usage"));
	} else if (span_is(type, "message_delta")) {
		struct span delta = span_member(event, "delta");
		struct span reason = span_member(delta, "stop_reason");

		take_usage(&m->usage, span_member(event, "usage"));
		if (span_type(reason) == 's')
			stream_end(s, ends, reason, span_path(delta, "stop_details", "explanation", NULL));
	} else if (span_is(type, "message_stop")) {
		if (m->stop_reason == NULL)
			stream_error(s, ERROR_CUT_OFF, "the answer ended without a stop_reason");
		else
			m->ended = true;
	}
}

/* The API counts cached input apart; ours is all of it. */
static void
finish(struct stream *s)
{
	struct usage *u = &s->message.usage;

	if (u->input < 0)
		return;
	u->input += u->cache_read > 0 ? u->cache_read : 0;
	u->input += u->cache_write > 0 ? u->cache_write : 0;
}

/* How a request is written. */

static enum kind
kind_of(struct span block)
{
	struct span type = span_member(block, KEY_TYPE);
	int kind = KIND_TEXT;

	if (span_member(block, "redacted").at != NULL)
		return KIND_REDACTED;
	while (kind <= KIND_DOCUMENT && !span_is(type, kinds[kind].type))
		kind++;
	return kind > KIND_DOCUMENT ? KIND_OTHER : (enum kind)kind;
}

/* Whether a block of a request can be sent: thinking needs the API's signature,
 * an empty text is refused, and what another API ran or meant is left out. */
static bool
is_sendable(struct span block)
{
	bool own = span_member(block, KEY_API).at == NULL || stream_own(block, API);

	if (stream_own_type(block).at != NULL)
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

/* An object that says no more than its type. */
static void
write_typed(struct writer *w, const char *key, const char *type)
{
	writer_member_object(w, key);
	writer_member_string(w, "type", type);
	writer_object_end(w);
}

/* The mark in a block: the input up to here is worth keeping, what follows it the next time is
 * new. */
static void
write_cache_mark(struct writer *w)
{
	write_typed(w, "cache_control", "ephemeral");
}

static void write_block(struct writer *w, struct span block, bool mark);

/* What a tool gave that is more than text. */
static void
write_result(struct writer *w, struct span blocks)
{
	writer_member_array(w, "content");
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (pass_is_file(block.value, stream_media_types)) {
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
	enum kind kind = kind_of(block);
	bool special = stream_own_type(block).at != NULL;

	writer_object(w);
	if (!special)
		writer_member_string(w, "type", kinds[kind].type);
	for (const struct member *m = members; m < members + MEMBERS; m++) {
		struct span value = m->kind == kind ? span_member(block, m->ours) : SPAN_NONE;

		if (value.at == NULL || (kind == KIND_TEXT && special && span_is(value, "")))
			continue;
		if (kind == KIND_TOOL_RESULT && m->form == FORM_JSON && pass_result_blocks(block).at != NULL) {
			write_result(w, pass_result_blocks(block));
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
	if (stream_own(block, API))
		pass_others(w, span_member(block, KEY_RAW), NULL);
	if (mark)
		write_cache_mark(w);
	writer_object_end(w);
}

/* cached: the last block that can be is marked. */
static void
write_messages(struct writer *w, struct span messages, bool cached)
{
	struct span last = SPAN_NONE, marked = SPAN_NONE;

	/* Of the last message the last block. Thinking takes no mark, and what the API said itself
	 * goes back as it was. */
	for (struct span_walk message = span_walk(messages); cached && span_next(&message);)
		if (has_sendable(span_member(message.value, KEY_BLOCKS)))
			last = span_member(message.value, KEY_BLOCKS);
	for (struct span_walk block = span_walk(last); span_next(&block);) {
		enum kind kind = kind_of(block.value);

		if (is_sendable(block.value) && kind != KIND_THINKING && kind != KIND_REDACTED &&
		    span_member(block.value, KEY_RAW).at == NULL)
			marked = block.value;
	}

	/* A message of which nothing can be sent is left out: the API refuses empty ones,
	 * and takes two of the same role in a row. */
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

/* The API refuses a conversation with calls of tools if it is told of no tool, as when an
 * agent without any goes on with it: those that were called, not to be called again. */
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
			    stream_own_type(block.value).at != NULL ||
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

/* Whether the model decides itself how long it thinks, by an effort: those after 4.5, which
 * take no number of tokens. Models of other names are other servers'. */
static bool
is_adaptive(struct span model)
{
	static const char *const all[] = { "claude-*", NULL };
	static const char *const older[] = { "claude-2*", "claude-3*", "claude-instant*",
	    "claude-*-4-0*", "claude-*-4-1*", "claude-*-4-2*", "claude-*-4-5*", NULL };

	return stream_model(model, all) && !stream_model(model, older);
}

/* The format and the effort of thinking as the API has them, unless the caller has said the
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
	bool schema = r->output_schema.at != NULL && !stream_model(r->model, older) &&
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
write_body(const struct stream *s, struct writer *w)
{
	static const char *const apart[] = { "cache", "output_config", "thinking", NULL };
	const struct provider_request *r = s->request;
	struct span thinking = span_member(r->params, "thinking");
	long long budget = thinking_budget(thinking);
	bool tools = span_element(r->tools, 0).at != NULL;
	/* Turns of an agent with tools repeat all that came before; a single answer has nobody to
	 * keep anything for. */
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
	static const struct stream_api api = {
		.program = "awf-provider-anthropic",
		.usage = usage,
		.base = "https://api.anthropic.com",
		.key_header = "x-api-key: ",
		.header = "anthropic-version: 2023-06-01",
		.media_types = stream_media_types,
		.path = "/v1/messages",
		.body = write_body,
		.event = take_event,
		.finish = finish
	};

	return stream_main(&api, argc, argv);
}
