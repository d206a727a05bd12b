/*
 * Which member of the API's block is which member of ours stands in one table, read by both
 * directions. Members without a place in ours go into `raw` and come back from there.
 */
#include "anthropic_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "pass.h"

#define API "anthropic"

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
	{ KIND_TEXT, FORM_STRING, "text", "text", offsetof(struct block, text) },
	{ KIND_THINKING, FORM_STRING, "thinking", "thinking", offsetof(struct block, text) },
	{ KIND_THINKING, FORM_STRING, "signature", "signature", offsetof(struct block, signature) },
	{ KIND_REDACTED, FORM_STRING, "data", "redacted", offsetof(struct block, redacted) },
	{ KIND_TOOL_USE, FORM_TEXT, "id", "tool_id", offsetof(struct block, tool_id) },
	{ KIND_TOOL_USE, FORM_TEXT, "name", "tool_name", offsetof(struct block, tool_name) },
	{ KIND_TOOL_USE, FORM_JSON, "input", "tool_input", offsetof(struct block, text) },
	{ KIND_TOOL_RESULT, FORM_TEXT, "tool_use_id", "tool_id", offsetof(struct block, tool_id) },
	{ KIND_TOOL_RESULT, FORM_JSON, "content", "tool_content", offsetof(struct block, text) },
	{ KIND_TOOL_RESULT, FORM_BOOL, "is_error", "is_error", offsetof(struct block, is_error) }
};
#define MEMBERS (sizeof members / sizeof members[0])

/* What the events say. */

/* server_tool_use, web_search_tool_result and their like go by their shape. */
static enum kind
kind_of(const char *type)
{
	int kind;

	for (kind = 0; kind < KIND_OTHER; kind++)
		if (strcmp(type, kinds[kind].type) == 0)
			return (enum kind)kind;
	if (text_ends(type, "_tool_use"))
		return KIND_TOOL_USE;
	return text_ends(type, "_tool_result") ? KIND_TOOL_RESULT : KIND_OTHER;
}

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

void
anthropic_block_start(struct stream *s, struct span event)
{
	struct span content = span_member(event, "content_block");
	char *type = span_text(span_member(content, "type"));
	enum kind kind = kind_of(type == NULL ? "" : type);
	long long index = -1;
	struct block *b;

	number_set(&index, span_member(event, "index"));
	b = message_add(&s->message, kinds[kind].ours, index);
	b->ran = (kind == KIND_TOOL_USE || kind == KIND_TOOL_RESULT) && type != NULL &&
	    strcmp(type, kinds[KIND_TOOL_USE].type) != 0;
	for (struct span_walk part = span_walk(content); span_next(&part);)
		if (!take_member(b, kind, part.key, part.value) && says_something(part.value) &&
		    !(span_is(part.key, "type") && span_is(part.value, kinds[kind].type)))
			block_keep(b, part.key, part.value);
	if (kind == KIND_THINKING || kind == KIND_REDACTED || b->raw.len > 0)
		b->api = API;
	if (kind == KIND_TEXT)
		provider_delta(s->provider, "text", buffer_string(&b->text), b->text.len);
	free(type);
}

/* The block began with "input":{}; the pieces, if any, take its place. */
static void
take_input(struct block *b, struct span value)
{
	struct buffer piece = BUFFER_INIT;

	span_decode(value, &piece);
	if (piece.len > 0 && !b->begun) {
		b->begun = true;
		buffer_clear(&b->text);
	}
	buffer_append(&b->text, buffer_string(&piece), piece.len);
	buffer_free(&piece);
}

static void
take_citation(struct block *b, struct span value)
{
	if (b->citations.len > 0)
		buffer_byte(&b->citations, ',');
	scan_minify(value, &b->citations);
	b->api = API;
}

static void
take_signature(struct block *b, struct span value)
{
	span_decode(value, &b->signature);
}

/* What a compaction made of the conversation; the API takes it back as it is. */
static void
take_summary(struct block *b, struct span value)
{
	if (says_something(value))
		block_keep_as(b, "content", value);
	b->api = API;
}

static void
take_encrypted(struct block *b, struct span value)
{
	if (says_something(value))
		block_keep_as(b, "encrypted_content", value);
	b->api = API;
}

static const struct {
	const char *type, *member;
	const char *shown; /* the kind of text that it goes on with; NULL: none */
	void (*take)(struct block *b, struct span value);
} deltas[] = {
	{ "text_delta", "text", "text", NULL },
	{ "thinking_delta", "thinking", "thinking", NULL },
	{ "signature_delta", "signature", NULL, take_signature },
	{ "input_json_delta", "partial_json", NULL, take_input },
	{ "citations_delta", "citation", NULL, take_citation },
	{ "compaction_delta", "content", NULL, take_summary },
	{ "compaction_delta", "encrypted_content", NULL, take_encrypted }
};

void
anthropic_block_delta(struct stream *s, struct span event)
{
	struct span delta = span_member(event, "delta"), value;
	size_t found = s->message.count, i;
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
	for (i = 0; i < sizeof deltas / sizeof deltas[0]; i++) {
		value = span_member(delta, deltas[i].member);
		if (value.at == NULL || !span_is(span_member(delta, "type"), deltas[i].type))
			continue;
		if (deltas[i].shown != NULL)
			stream_text(s, b, deltas[i].shown, value);
		else
			deltas[i].take(b, value);
	}
}

/* How a request is written. */

static enum kind
kind_of_ours(struct span block)
{
	int kind;

	if (span_member(block, "redacted").at != NULL)
		return KIND_REDACTED;
	for (kind = 0; kind <= KIND_DOCUMENT; kind++)
		if (span_is(span_member(block, "type"), kinds[kind].type))
			return (enum kind)kind;
	return KIND_OTHER;
}

/* Whether a block of a request can be sent: thinking needs the API's signature,
 * an empty text is refused, and what another API ran or meant is left out. */
static bool
is_sendable(struct span block, enum kind kind)
{
	struct span api = span_member(block, "api");
	bool own = api.at == NULL || stream_own(block, API);

	if (stream_own_type(block).at != NULL)
		return own;
	switch (kind) {
	case KIND_TEXT:
		return !span_is(span_member(block, "text"), "");
	case KIND_THINKING:
		return own && span_member(block, "signature").at != NULL;
	case KIND_REDACTED:
		return own;
	case KIND_TOOL_USE:
	case KIND_TOOL_RESULT:
	case KIND_IMAGE:
	case KIND_DOCUMENT:
		return true;
	default:
		return false;
	}
}

/* An attachment: its bytes, and the name of a document, which models cite. */
static void
write_source(struct writer *w, struct span block, enum kind kind)
{
	writer_member_object(w, "source");
	writer_member_string(w, "type", "base64");
	pass_member(w, "media_type", span_member(block, "media_type"));
	pass_member(w, "data", span_member(block, "data"));
	writer_object_end(w);
	if (kind == KIND_DOCUMENT)
		pass_member(w, "title", span_member(block, "name"));
}

/* An object that says no more than its type. */
static void
write_typed(struct writer *w, const char *key, const char *type)
{
	writer_member_object(w, key);
	writer_member_string(w, "type", type);
	writer_object_end(w);
}

void
anthropic_write_cache_mark(struct writer *w)
{
	write_typed(w, "cache_control", "ephemeral");
}

static void
write_block(struct writer *w, struct span block, bool mark)
{
	enum kind kind = kind_of_ours(block);
	bool special = stream_own_type(block).at != NULL;
	const struct member *m;
	struct span value;

	if (!is_sendable(block, kind))
		return;
	writer_object(w);
	if (!special)
		writer_member_string(w, "type", kinds[kind].type);
	for (m = members; m < members + MEMBERS; m++) {
		if (m->kind != kind)
			continue;
		value = span_member(block, m->ours);
		if (value.at == NULL || (kind == KIND_TEXT && special && span_is(value, "")))
			continue;
		if (m->form != FORM_JSON || special)
			pass_member(w, m->theirs, value);
		else if (kind == KIND_TOOL_USE)
			pass_input(w, m->theirs, value);
		else
			pass_as_text(w, m->theirs, value);
	}
	if (kind == KIND_IMAGE || kind == KIND_DOCUMENT)
		write_source(w, block, kind);
	if (stream_own(block, API))
		pass_others(w, span_member(block, "raw"), NULL);
	if (mark)
		anthropic_write_cache_mark(w);
	writer_object_end(w);
}

static bool
has_sendable(struct span blocks)
{
	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		if (is_sendable(block.value, kind_of_ours(block.value)))
			return true;
	return false;
}

/* A message of which nothing can be sent is left out: the API refuses empty ones,
 * and takes two of the same role in a row. */
static void
write_message(struct writer *w, struct span message, struct span marked)
{
	if (!has_sendable(span_member(message, "blocks")))
		return;
	writer_object(w);
	pass_member(w, "role", span_member(message, "role"));
	writer_member_array(w, "content");
	for (struct span_walk block = span_walk(span_member(message, "blocks")); span_next(&block);)
		write_block(w, block.value, block.value.at == marked.at);
	writer_array_end(w);
	writer_object_end(w);
}

/* Thinking takes no mark, and what the API said itself goes back as it was. */
static bool
is_markable(struct span block)
{
	enum kind kind = kind_of_ours(block);

	return is_sendable(block, kind) && kind != KIND_THINKING && kind != KIND_REDACTED &&
	    span_member(block, "raw").at == NULL;
}

/* The last block of the last message, or the one before that can be marked. */
static struct span
find_last(struct span messages)
{
	struct span last = { NULL, 0 }, blocks = { NULL, 0 };

	for (struct span_walk message = span_walk(messages); span_next(&message);)
		if (has_sendable(span_member(message.value, "blocks")))
			blocks = span_member(message.value, "blocks");
	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		if (is_markable(block.value))
			last = block.value;
	return last;
}

void
anthropic_write_messages(struct writer *w, struct span messages, bool cached)
{
	struct span marked = cached ? find_last(messages) : SPAN_NONE;

	writer_member_array(w, "messages");
	for (struct span_walk message = span_walk(messages); span_next(&message);)
		write_message(w, message.value, marked);
	writer_array_end(w);
}

void
anthropic_write_called_tools(struct writer *w, const struct provider_request *r)
{
	struct map named = MAP_INIT;
	struct buffer list = BUFFER_INIT;
	struct writer tools;

	writer_begin(&tools, &list);
	writer_array(&tools);
	for (struct span_walk message = span_walk(r->messages); span_next(&message);) {
		struct span blocks = span_member(message.value, "blocks");

		for (struct span_walk block = span_walk(blocks); span_next(&block);) {
			struct span name = span_member(block.value, "tool_name");

			if (kind_of_ours(block.value) != KIND_TOOL_USE ||
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
