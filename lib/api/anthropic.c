/*
 * Reads answers of Anthropic's Messages API. Members of its blocks that have no place in a block of
 * AWF's are kept in `raw`, and are sent back from there.
 */
#include "api/anthropic.h"

#include <stdlib.h>
#include <string.h>

#include "api/stream.h"
#include "base/text.h"
#include "transcript/event_keys.h"

const struct anthropic_block anthropic_blocks[] = {
	[KIND_TEXT] = { "text", BLOCK_TEXT },
	[KIND_THINKING] = { "thinking", BLOCK_THINKING },
	[KIND_REDACTED] = { "redacted_thinking", BLOCK_THINKING },
	[KIND_TOOL_USE] = { "tool_use", BLOCK_TOOL_USE },
	[KIND_TOOL_RESULT] = { "tool_result", BLOCK_TOOL_RESULT },
	[KIND_OTHER] = { "", BLOCK_TEXT },
	[KIND_IMAGE] = { "image", BLOCK_TEXT },
	[KIND_DOCUMENT] = { "document", BLOCK_TEXT }
};

const struct anthropic_member anthropic_members[ANTHROPIC_MEMBERS] = {
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

/* Stores a member of the API's block in AWF's block; false: it has no place there. */
static bool
anthropic_read_member(struct block *b, enum anthropic_kind kind, struct span key, struct span value)
{
	for (const struct anthropic_member *m = anthropic_members; m < anthropic_members + ANTHROPIC_MEMBERS; m++) {
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
anthropic_read_block(struct stream *s, struct span content, long long index)
{
	char *type = span_text(span_member(content, "type"));
	enum anthropic_kind kind = KIND_TEXT;
	struct block *b;

	/* server_tool_use, web_search_tool_result and similar types are recognized by their
	 * form. */
	while (kind < KIND_OTHER && (type == NULL || strcmp(type, anthropic_blocks[kind].type) != 0))
		kind++;
	if (kind == KIND_OTHER && type != NULL && text_ends(type, "_tool_use"))
		kind = KIND_TOOL_USE;
	else if (kind == KIND_OTHER && type != NULL && text_ends(type, "_tool_result"))
		kind = KIND_TOOL_RESULT;

	b = message_add(&s->message, anthropic_blocks[kind].ours, index);
	b->ran = (kind == KIND_TOOL_USE || kind == KIND_TOOL_RESULT) &&
	    strcmp(type, anthropic_blocks[KIND_TOOL_USE].type) != 0;
	for (struct span_walk part = span_walk(content); span_next(&part);)
		if (!anthropic_read_member(b, kind, part.key, part.value) &&
		    says_something(part.value) &&
		    !(span_is(part.key, "type") && span_is(part.value, anthropic_blocks[kind].type)))
			block_keep(b, part.key, part.value);
	if (kind == KIND_THINKING || kind == KIND_REDACTED || b->raw.len > 0)
		b->api = ANTHROPIC;
	if (kind == KIND_TEXT)
		stream_delta(s, "text", buffer_string(&b->text), b->text.len);
	if (kind == KIND_TOOL_USE)
		stream_call(s, b->tool_name, "", 0);
	free(type);
}

static void
content_block_start(struct stream *s, struct span event)
{
	long long index = -1;

	number_set(&index, span_member(event, "index"));
	anthropic_read_block(s, span_member(event, "content_block"), index);
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
		/* The summary of the conversation that a compaction made; it is sent back
		 * unchanged. */
		{ "compaction_delta", "content", KEPT },
		{ "compaction_delta", "encrypted_content", KEPT }
	};
	struct span delta = span_member(event, "delta"), type = span_member(delta, "type");
	const bool says = span_is(type, "text_delta"), thinks = span_is(type, "thinking_delta");
	const bool signs = span_is(type, "signature_delta");
	size_t found = s->message.count, before;
	long long index = -1;
	struct block *b;

	/* Some gateways leave out the start of a block, or give a thought and a text the same
	 * index. */
	number_set(&index, span_member(event, "index"));
	for (; found > 0; found--) {
		b = &s->message.blocks[found - 1];
		if (b->index == index && (!says || b->type == BLOCK_TEXT) &&
		    ((!thinks && !signs) || b->type == BLOCK_THINKING))
			break;
	}
	if (found > 0) {
		b = &s->message.blocks[found - 1];
	} else if (says || thinks) {
		b = message_add(&s->message, says ? BLOCK_TEXT : BLOCK_THINKING, index);
	} else {
		stream_strange(s, event);
		return;
	}
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
			if (b->type != BLOCK_TOOL_USE) {
				stream_strange(s, event);
				break;
			}
			/* The block began with "input":{}; if pieces follow, they replace it. */
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
			b->api = ANTHROPIC;
			break;
		case KEPT:
			if (says_something(value))
				block_keep_as(b, d->member, value);
			b->api = ANTHROPIC;
		}
	}
}

/* Numbers are totals so far: later ones replace earlier ones. If the API called models several
 * times for one answer (for example to compact the conversation first), the totals are those of
 * the last call, and `iterations` has what each call was billed for. */
static void
anthropic_read_usage(struct usage *u, struct span counted)
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

/* Reads the members that a message begins with, or a whole message. */
static void
anthropic_read_message(struct stream *s, struct span message)
{
	s->message.begun = true;
	text_once(&s->message.id, span_member(message, "id"));
	text_once(&s->message.model, span_member(message, "model"));
	anthropic_read_usage(&s->message.usage, span_member(message, "usage"));
}

/* Events of later versions are ignored, as the API asks its clients to do. */
static void
anthropic_read_event(struct stream *s, struct span event)
{
	struct span type = span_member(event, "type");
	struct message *m = &s->message;

	if (span_is(type, "content_block_delta")) {
		content_block_delta(s, event);
	} else if (span_is(type, "content_block_start")) {
		content_block_start(s, event);
	} else if (span_is(type, "message_start")) {
		/* If a stream has two answers, neither can be trusted: the tools of both would be
		 * called. But some gateways send the start of one answer twice, which does no
		 * harm. */
		if (m->begun && (m->count > 0 || m->id == NULL ||
		    !span_is(span_path(event, "message", "id", NULL), m->id))) {
			stream_fail(s, "a second answer begins before the first has ended");
			return;
		}
		anthropic_read_message(s, span_member(event, "message"));
	} else if (span_is(type, "message_delta")) {
		struct span delta = span_member(event, "delta");
		struct span reason = span_member(delta, "stop_reason");

		anthropic_read_usage(&m->usage, span_member(event, "usage"));
		if (span_type(reason) == 's')
			stream_end(s, ends, reason, span_path(delta, "stop_details", "explanation", NULL));
	} else if (span_is(type, "message_stop")) {
		if (m->stop_reason == NULL)
			stream_error(s, ERROR_CUT_OFF, "the answer ended without a stop_reason");
		else
			m->ended = true;
	} else if (!span_is(type, "ping") && !span_is(type, "content_block_stop")) {
		stream_strange(s, event);
	}
}

static void
anthropic_read_body(struct stream *s, struct span body)
{
	struct span reason = span_member(body, "stop_reason");
	long long index = 0;

	anthropic_read_message(s, body);
	for (struct span_walk block = span_walk(span_member(body, "content")); span_next(&block);)
		anthropic_read_block(s, block.value, index++);
	if (span_type(reason) == 's')
		stream_end(s, ends, reason, span_path(body, "stop_details", "explanation", NULL));
	s->message.ended = !s->failed && s->message.stop_reason != NULL;
}

/* A stop reason ends the answer even if message_stop is missing. The API counts cached input
 * separately; AWF's number includes it. */
static void
anthropic_finish_message(struct stream *s)
{
	struct usage *u = &s->message.usage;

	s->message.ended |= s->message.stop_reason != NULL;
	for (size_t i = 0; i < s->message.count; i++)
		if (s->message.blocks[i].type == BLOCK_TOOL_USE)
			block_repair_input(&s->message.blocks[i]);
	message_name_calls(&s->message, s->messages);
	if (u->input < 0)
		return;
	u->input += u->cache_read > 0 ? u->cache_read : 0;
	u->input += u->cache_write > 0 ? u->cache_write : 0;
}

const struct stream_api anthropic_stream = {
	.name = ANTHROPIC,
	.event = anthropic_read_event,
	.body = anthropic_read_body,
	.finish = anthropic_finish_message
};
