/*
 * Reads answers of OpenAI's Responses API. The answer is built from the finished items; their
 * pieces are displayed, and used only for what the finished items lack.
 */
#include "api/openai_responses.h"

#include <stdlib.h>
#include <string.h>

#include "api/stream.h"
#include "base/memory.h"
#include "base/text.h"

/* Members of a call that are kept when it begins, so that it can be sent back even if its finished
 * item is missing. */
static const char *const call_members[] = { "id", NULL };
const char *const responses_message_members[] = { "id", "status", "phase", NULL };

/* Matched by suffix, longer ones first, so that unknown tools match an entry too. */
static const struct responses_tool tools[] = {
	{ "file_search_call", "queries", "results", false },
	{ "code_interpreter_call", "code", "outputs", false },
	{ "image_generation_call", "action", "result", false },
	{ "mcp_call", "arguments", "output", true },
	{ "apply_patch_call", "operation", "output", false },
	{ "tool_search_call", "arguments", "tools", false },
	{ "tool_search_output", "tools", "tools", false },
	{ "_call", "action", "output", false },
	{ "_call_output", "output", "output", false }
};

/* Calls that the client would have to carry out, which AWF does not do: an answer that ends with
 * one would wait for ever. If the API ran it itself, its output follows. */
static const char *const clients[] = { "apply_patch_call", "computer_call", "local_shell_call",
	"mcp_approval_request", "shell_call", NULL };

static bool
is_client_call(struct span item)
{
	return span_one_of(span_member(item, "type"), clients) != NULL ||
	    (span_is(span_member(item, "type"), "tool_search_call") &&
	    span_is(span_member(item, "execution"), "client"));
}

bool
responses_output(const char *type)
{
	return text_ends(type, "_output");
}

const struct responses_tool *
responses_tool(const char *type)
{
	for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
		if (text_ends(type, tools[i].type))
			return &tools[i];
	return NULL;
}

/* Keeps the members that are in the list or, if not `listed`, all others. */
static void
responses_keep_members(struct block *b, struct span object, const char *const *list, bool listed)
{
	for (struct span_walk member = span_walk(object); span_next(&member);)
		if (says_something(member.value) && (span_one_of(member.key, list) != NULL) == listed)
			block_keep(b, member.key, member.value);
	b->api = OPENAI_RESPONSES;
}

/* Keeps the members that have no place in the block. */
static void
keep_rest(struct block *b, struct span object, const char *const *placed)
{
	responses_keep_members(b, object, placed, false);
}

/* Each part becomes a block; a refusal sets the stop reason. */
static void
responses_read_message(struct message *m, struct span item)
{
	static const char *const placed[] = { "type", "text", REFUSAL, "id", "status", "phase", NULL };

	for (struct span_walk part = span_walk(span_member(item, "content")); span_next(&part);) {
		struct span refusal = span_member(part.value, REFUSAL);
		bool refused = span_type(refusal) == 's';
		struct span text = refused ? refusal : span_member(part.value, "text");
		struct block *b;

		if (span_type(text) != 's')
			continue;
		b = message_add(m, BLOCK_TEXT, -1);
		b->commentary = span_is(span_member(item, "phase"), "commentary");
		span_decode(text, &b->text);
		responses_keep_members(b, item, responses_message_members, true);
		keep_rest(b, part.value, placed);
		if (refused) {
			b->field = REFUSAL;
			m->stop_reason = "refusal";
		}
	}
}

/* Reads the thoughts if a server sends them, else their summary; the parts are joined with empty
 * lines. */
static void
responses_read_reasoning(struct message *m, struct span item)
{
	static const char *const placed[] = { "type", "encrypted_content", NULL };
	static const char *const texts[] = { "content", "summary" };
	struct block *b = message_add(m, BLOCK_THINKING, -1);

	for (size_t i = 0; i < sizeof texts / sizeof texts[0] && b->text.len == 0; i++)
		for (struct span_walk part = span_walk(span_member(item, texts[i]));
		    span_next(&part);) {
			if (b->text.len > 0)
				buffer_text(&b->text, "\n\n");
			span_decode(span_member(part.value, "text"), &b->text);
		}
	span_decode(span_member(item, "encrypted_content"), &b->signature);
	keep_rest(b, item, placed);
}

/* Reads a call of one of AWF's tools. pieces: what was sent of it before; NULL: nothing. Some
 * gateways leave out in the finished item what they sent in pieces. */
static void
responses_read_call(struct message *m, struct span item, const struct block *pieces)
{
	static const char *const placed[] = { "type", "call_id", "name", "arguments", "input", NULL };
	bool custom = span_is(span_member(item, "type"), CUSTOM);
	struct block *b = message_add(m, BLOCK_TOOL_USE, -1);
	struct span name = span_member(item, "name"), arguments = span_member(item, "arguments");
	struct span text;

	text_once(&b->tool_id, span_member(item, "call_id"));
	if (!span_is(name, ""))
		text_once(&b->tool_name, name);
	if (pieces != NULL && b->tool_name == NULL && pieces->tool_name != NULL)
		b->tool_name = memory_text(pieces->tool_name);
	keep_rest(b, item, placed);
	if (custom) {
		scan_minify(span_member(item, "input"), &b->text);
		b->field = CUSTOM;
		return;
	}
	if (span_type(arguments) == 'o')
		scan_minify(arguments, &b->text);
	else
		span_decode(arguments, &b->text);
	text = span_trim(span_of(buffer_string(&b->text), b->text.len));
	if (pieces != NULL && pieces->text.len > text.len && (text.len == 0 ||
	    (text.len == 2 && memcmp(text.at, "{}", 2) == 0))) {
		buffer_clear(&b->text);
		buffer_append(&b->text, pieces->text.data, pieces->text.len);
	}
	block_repair_input(b);
}

/* Adds the block for the call, or for the result, of an item of the API's own tools. */
static struct block *
add_half(struct message *m, enum block_type type, struct span item)
{
	struct block *b = message_add(m, type, -1);

	text_once(&b->tool_id, span_member(item, "call_id"));
	text_once(&b->tool_id, span_member(item, "id"));
	b->ran = true;
	b->api = OPENAI_RESPONSES;
	return b;
}

static void
responses_read_tool_call(struct message *m, struct span item, const struct responses_tool *tool,
    const char *type)
{
	const char *const placed[] = { tool->input, tool->output, NULL };
	struct span input = span_member(item, tool->input), output = span_member(item, tool->output);
	struct block *b = add_half(m, BLOCK_TOOL_USE, item);

	text_once(&b->tool_name, span_member(item, "name"));
	if (b->tool_name == NULL)
		b->tool_name = memory_copy(type, strlen(type) - strlen("_call"));
	if (tool->encoded)
		span_decode(input, &b->text);
	else if (input.at != NULL)
		scan_minify(input, &b->text);
	keep_rest(b, item, placed);
	if (output.at == NULL || !says_something(output)) {
		b->waits = is_client_call(item);
		return;
	}
	b = add_half(m, BLOCK_TOOL_RESULT, item);
	scan_minify(output, &b->text);
	block_keep_as(b, "type", span_member(item, "type"));
}

static void
responses_read_tool_output(struct message *m, struct span item, const struct responses_tool *tool)
{
	const char *const placed[] = { tool->output, NULL };
	struct span output = span_member(item, tool->output);
	struct block *b = add_half(m, BLOCK_TOOL_RESULT, item);

	if (output.at != NULL)
		scan_minify(output, &b->text);
	keep_rest(b, item, placed);
	/* The result is here: the call with its id does not wait any more. */
	for (size_t i = 0; b->tool_id != NULL && i < m->count; i++)
		if (m->blocks[i].tool_id != NULL && strcmp(m->blocks[i].tool_id, b->tool_id) == 0)
			m->blocks[i].waits = false;
}

static void
responses_read_item(struct message *m, struct span item, const struct block *pieces)
{
	static const char *const nothing[] = { NULL };
	char *type = span_text(span_member(item, "type"));
	const char *word = type == NULL ? "" : type;
	const struct responses_tool *tool = responses_tool(word);

	if (strcmp(word, "message") == 0) {
		responses_read_message(m, item);
	} else if (strcmp(word, "reasoning") == 0) {
		responses_read_reasoning(m, item);
	} else if (strcmp(word, "function_call") == 0 || strcmp(word, CUSTOM) == 0) {
		responses_read_call(m, item, pieces);
	} else if (tool != NULL && responses_output(word)) {
		responses_read_tool_output(m, item, tool);
	} else if (tool != NULL) {
		responses_read_tool_call(m, item, tool, word);
	} else if (span_type(item) == 'o') { /* it corresponds to no block of AWF's */
		struct block *b = message_add(m, BLOCK_TEXT, -1);

		keep_rest(b, item, nothing);
		b->waits = is_client_call(item);
		if (b->waits)
			b->tool_name = memory_text(word);
	}
	free(type);
}

/* Returns the index of the item of an event. If a gateway leaves it out, an index below -1 stands for
 * the item's id; without both it is -1. */
static long long
item_index(struct stream *s, struct span event)
{
	struct span id = span_member(event, "item_id");
	long long index = -1;

	number_set(&index, span_member(event, "output_index"));
	if (span_type(id) != 's')
		id = span_path(event, "item", "id", NULL);
	if (index >= 0 || span_type(id) != 's')
		return index;
	if (map_get(&s->items, id.at, id.len) == NULL)
		map_put(&s->items, id.at, id.len, s->items.count);
	return -2 - (long long)*map_get(&s->items, id.at, id.len);
}

/* Returns the draft of the text or thoughts of an item, ready for the part that the event names: if
 * it is another part than before, it begins at the end of the draft. Parts of thoughts are joined
 * with empty lines, as in responses_read_reasoning(). */
static struct block *
draft_text(struct stream *s, struct span event, enum block_type type)
{
	const long long index = item_index(s, event);
	struct block *b = message_find(&s->draft, type, index);
	long long part;

	if (b == NULL)
		b = message_add(&s->draft, type, index);
	part = b->part;
	number_set(&part, span_member(event, "content_index"));
	number_set(&part, span_member(event, "summary_index"));
	if (part != b->part) {
		if (type == BLOCK_THINKING && b->text.len > 0)
			stream_text(s, b, "thinking", span_of("\"\\n\\n\"", 6));
		b->part = part;
		b->part_begin = b->text.len;
	}
	return b;
}

/* Adds a piece to a part. */
static void
draft_text_goes_on(struct stream *s, struct span event, enum block_type type, struct span piece)
{
	stream_text(s, draft_text(s, event, type), type == BLOCK_TEXT ? "text" : "thinking", piece);
}

/* A part is complete: uses the whole text, which may differ from the pieces, or come without them. */
static void
draft_text_ends(struct stream *s, struct span event, enum block_type type, struct span whole)
{
	struct block *b = draft_text(s, event, type);
	struct buffer text = BUFFER_INIT;

	span_decode(whole, &text);
	if (b->text.len == b->part_begin) {
		stream_text(s, b, type == BLOCK_TEXT ? "text" : "thinking", whole);
	} else if (text.len > 0) {
		b->text.len = b->part_begin;
		buffer_append(&b->text, text.data, text.len);
	}
	b->begun = true; /* and is complete */
	buffer_free(&text);
}

/* A call of one of AWF's tools begins. Its pieces are displayed, and used if the finished item is
 * missing or lacks them. */
static void
call_begins(struct stream *s, struct span event)
{
	static const char *const types[] = { "function_call", CUSTOM, NULL };
	struct span item = span_member(event, "item");
	char *name = span_text(span_member(item, "name"));

	if (span_one_of(span_member(item, "type"), types) != NULL)
		stream_call(s, name, "", 0);
	if (span_is(span_member(item, "type"), "function_call")) {
		struct block *b = message_add(&s->draft, BLOCK_TOOL_USE, item_index(s, event));

		text_once(&b->tool_id, span_member(item, "call_id"));
		text_once(&b->tool_name, span_member(item, "name"));
		responses_keep_members(b, item, call_members, true);
	}
	free(name);
}

/* Adds a piece of the arguments, or sets them as a whole. */
static void
call_goes_on(struct stream *s, struct span event, struct span piece, bool all)
{
	struct block *b = message_find(&s->draft, BLOCK_TOOL_USE, item_index(s, event));
	struct buffer text = BUFFER_INIT;

	span_decode(piece, &text);
	if (!all)
		stream_call(s, NULL, buffer_string(&text), text.len);
	if (b != NULL && all && text.len > 0)
		buffer_clear(&b->text);
	if (b != NULL && text.len > 0)
		buffer_append(&b->text, text.data, text.len);
	if (b != NULL && all)
		b->begun = true; /* and is complete */
	buffer_free(&text);
}

static void
responses_read_response(struct stream *s, struct span response)
{
	static const struct usage_place places[] = {
		USAGE(input, "input_tokens"),
		USAGE(output, "output_tokens"),
		USAGE_IN(cache_read, "input_tokens_details", "cached_tokens"),
		USAGE_IN(cache_write, "input_tokens_details", "cache_write_tokens"),
		USAGE_IN(reasoning, "output_tokens_details", "reasoning_tokens"),
		USAGE_END
	};

	text_once(&s->message.model, span_member(response, "model"));
	usage_set(&s->message.usage, span_member(response, "usage"), places);
}

/* Responses API, "incomplete_details.reason" of a response that is "incomplete":
 * https://platform.openai.com/docs/api-reference/responses/object. */
static const struct end ends[] = {
	{ "max_output_tokens", "max_tokens", ERROR_NONE },
	{ "content_filter", "refusal", ERROR_NONE },
	{ NULL, NULL, ERROR_NONE }
};

/* The same for "status"; the items of a completed response tell its stop reason. "failed" comes
 * with an error; "in_progress" and "queued" are not ends. */
static const struct end statuses[] = {
	{ "completed", "end_turn", ERROR_NONE },
	{ "cancelled", NULL, ERROR_CUT_OFF },
	{ NULL, NULL, ERROR_NONE }
};

/* Adds an item of which only pieces have arrived. If the answer was cut off (not `whole`), calls
 * are left out. */
static void
responses_take_pieces(struct message *m, struct block *from, bool whole)
{
	struct block *b;

	if (from->type == BLOCK_TOOL_USE ? !whole || !from->begun : from->text.len == 0)
		return;
	b = message_add(m, from->type, -1);
	buffer_append(&b->text, from->text.data, from->text.len);
	b->tool_id = from->tool_id;
	b->tool_name = from->tool_name;
	from->tool_id = from->tool_name = NULL;
	if (from->type == BLOCK_TOOL_USE) {
		buffer_append(&b->raw, from->raw.data, from->raw.len);
		b->api = OPENAI_RESPONSES;
		block_repair_input(b);
	}
}

/* The pieces of the call with this id; NULL: there are none. */
static struct block *
find_call(struct message *pieces, struct span id)
{
	for (size_t i = 0; i < pieces->count; i++) {
		struct block *b = &pieces->blocks[i];

		if (b->type == BLOCK_TOOL_USE && b->tool_id != NULL && span_is(id, b->tool_id))
			return b;
	}
	return NULL;
}

/* Whether the first `count` blocks, from finished items, include the item of these pieces: the same
 * call, or any text or thought. */
static bool
is_known_among(const struct message *m, size_t count, const struct block *pieces)
{
	for (size_t i = 0; i < count; i++) {
		const struct block *b = &m->blocks[i];

		if (b->type != pieces->type)
			continue;
		if (b->type != BLOCK_TOOL_USE ? b->text.len > 0 : b->tool_id != NULL &&
		    pieces->tool_id != NULL && strcmp(b->tool_id, pieces->tool_id) == 0)
			return true;
	}
	return false;
}

/* Sets signatures that were missing in finished reasoning items but are in the last event. */
static void
responses_take_signatures(struct message *m, struct span output)
{
	for (struct span_walk item = span_walk(output); span_next(&item);) {
		struct span id = span_member(item.value, "id");
		struct span encrypted = span_member(item.value, "encrypted_content");

		for (size_t i = 0; span_type(encrypted) == 's' && id.at != NULL && i < m->count; i++) {
			struct block *b = &m->blocks[i];
			struct buffer object = BUFFER_INIT;

			buffer_format(&object, "{%s}", buffer_string(&b->raw));
			if (b->type == BLOCK_THINKING && b->signature.len == 0) {
				struct span own = span_member(span_of(object.data, object.len), "id");

				if (span_same(own, id))
					span_decode(encrypted, &b->signature);
			}
			buffer_free(&object);
		}
	}
}

/* Gives the blocks of an item, from `before` on, the item's index and the place among the others that
 * follows from it: items that run in parallel may be finished in another order. */
static void
responses_place(struct message *m, size_t before, long long index)
{
	size_t place = before;

	for (size_t i = before; i < m->count; i++)
		message_set_index(m, i, index);
	while (index >= 0 && place > 0 && m->blocks[place - 1].index > index)
		place--;
	for (size_t i = before; place < before && i < m->count; i++)
		message_raise(m, place);
}

/* Whether pieces are of a finished item: one with the same index, or with the same text or call under
 * another one. Without an index, any of the same type may be theirs. */
static bool
is_of_finished(const struct message *m, const struct block *pieces)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct block *b = &m->blocks[i];

		if (b->type == pieces->type && (pieces->index == -1 || b->index == pieces->index ||
		    (b->type != BLOCK_TOOL_USE &&
		    buffer_equal(&b->text, buffer_string(&pieces->text)))))
			return true;
	}
	return pieces->type == BLOCK_TOOL_USE && is_known_among(m, m->count, pieces);
}

/* Adds items that a server neither announced nor finished, though it finished others. */
static void
responses_take_rest(struct message *m, struct message *pieces, bool whole)
{
	for (size_t i = 0; i < pieces->count; i++) {
		const size_t before = m->count;

		if (is_of_finished(m, &pieces->blocks[i]))
			continue;
		responses_take_pieces(m, &pieces->blocks[i], whole);
		responses_place(m, before, pieces->blocks[i].index);
	}
}

/* Some servers do not report the end of each item: then all items are in `output`, or in the
 * pieces. An answer that was cut off at a limit has items without an end. */
static void
responses_read_output(struct stream *s, struct span output, bool whole)
{
	struct message *m = &s->message, *pieces = &s->draft;
	const bool told = span_element(output, 0).at != NULL;
	bool unended = false;
	size_t known;

	responses_take_signatures(m, output);
	if (m->open == 0 && m->count > 0) {
		responses_take_rest(m, pieces, whole);
		return;
	}
	if (told) {
		message_clear(m);
		m->open = 0;
	}
	for (struct span_walk item = span_walk(output); span_next(&item);)
		responses_read_item(m, item.value, find_call(pieces, span_member(item.value, "call_id")));
	known = told ? m->count : 0;
	for (size_t i = 0; i < pieces->count; i++)
		unended |= !pieces->blocks[i].begun && !is_known_among(m, known, &pieces->blocks[i]);
	if (whole && m->open > 0 && (unended || m->open > pieces->count)) {
		stream_fail(s, "the answer ended, %zu of its items did not", m->open);
		return;
	}
	for (size_t i = 0; i < pieces->count; i++)
		if (!is_known_among(m, known, &pieces->blocks[i]))
			responses_take_pieces(m, &pieces->blocks[i], whole);
	if (s->draft_refused && pieces->count > 0)
		m->stop_reason = "refusal";
	message_clear(pieces);
}

/* Sets the error of a failed response. */
static void
response_failed(struct stream *s, struct span response)
{
	struct span error = span_member(response, "error");

	if (span_type(error) == 'o')
		stream_refused(s, error);
	else
		stream_fail(s, "the API failed and did not say why");
}

/* The status says how the response ended or, if a server sends none, the type of the event. */
static void
response_ended(struct stream *s, struct span response, bool cut_short)
{
	struct span incomplete = span_of("\"incomplete\"", 12);
	struct span output = span_member(response, "output");
	struct span reason = span_path(response, "incomplete_details", "reason", NULL);
	struct span status = span_member(response, "status");
	struct error why = ERROR_INIT;

	if (span_type(status) != 's')
		status = cut_short ? incomplete : span_of("\"completed\"", 11);
	responses_read_response(s, response);
	if (span_is(status, "failed")) {
		response_failed(s, response);
	} else if (span_is(status, "incomplete") || span_type(reason) == 's') {
		responses_read_output(s, output, false);
		stream_end(s, ends, span_type(reason) == 's' ? reason : incomplete, SPAN_NONE);
	} else if (end_reason(statuses, s->ends, status, SPAN_NONE, &why) != NULL) {
		responses_read_output(s, output, true);
	} else {
		stream_error(s, why.code, "%s", why.message);
	}
	s->message.ended = !s->failed;
}

/* Reads a finished item. Gateways leave out what they sent in pieces: it is taken from there. */
static void
responses_read_finished(struct stream *s, struct span event)
{
	const long long index = item_index(s, event);
	struct span item = span_member(event, "item");
	struct message *m = &s->message;
	struct block *text = message_find(&s->draft, BLOCK_TEXT, index);
	struct block *thought = message_find(&s->draft, BLOCK_THINKING, index);
	const size_t before = m->count;
	bool says = false;

	responses_read_item(m, item, message_find(&s->draft, BLOCK_TOOL_USE, index));
	for (size_t i = before; i < m->count; i++)
		says |= m->blocks[i].text.len > 0;
	if (!says && text != NULL && span_is(span_member(item, "type"), "message")) {
		responses_take_pieces(m, text, true);
		if (s->draft_refused && m->count > before)
			m->stop_reason = "refusal";
	}
	if (!says && thought != NULL && span_is(span_member(item, "type"), "reasoning"))
		buffer_append(&m->blocks[before].text, buffer_string(&thought->text), thought->text.len);
	responses_place(m, before, index);
	message_drop(&s->draft, index);
}

/* Other events (progress of tools, parts and their ends, those of later versions) contain nothing
 * that the items do not repeat. */
static void
responses_read_event(struct stream *s, struct span event)
{
	struct span type = span_member(event, "type"), delta = span_member(event, "delta");
	struct span response = span_member(event, "response");
	struct message *m = &s->message;

	if (span_is(type, "response.output_text.delta")) {
		draft_text_goes_on(s, event, BLOCK_TEXT, delta);
	} else if (span_is(type, "response.refusal.delta")) {
		s->draft_refused = true;
		draft_text_goes_on(s, event, BLOCK_TEXT, delta);
	} else if (span_is(type, "response.output_text.done")) {
		draft_text_ends(s, event, BLOCK_TEXT, span_member(event, "text"));
	} else if (span_is(type, "response.refusal.done")) {
		s->draft_refused = true;
		draft_text_ends(s, event, BLOCK_TEXT, span_member(event, REFUSAL));
	} else if (span_is(type, "response.reasoning_summary_text.done") ||
	    span_is(type, "response.reasoning_text.done")) {
		draft_text_ends(s, event, BLOCK_THINKING, span_member(event, "text"));
	} else if (span_is(type, "response.reasoning_summary_text.delta") ||
	    span_is(type, "response.reasoning_text.delta")) {
		draft_text_goes_on(s, event, BLOCK_THINKING, delta);
	} else if (span_is(type, "response.output_item.added")) {
		/* Its pieces follow; they are used if the server does not report the end of the
		 * item. */
		m->open++;
		call_begins(s, event);
	} else if (span_is(type, "response.function_call_arguments.delta") ||
	    span_is(type, "response.custom_tool_call_input.delta")) {
		call_goes_on(s, event, delta, false);
	} else if (span_is(type, "response.function_call_arguments.done")) {
		call_goes_on(s, event, span_member(event, "arguments"), true);
	} else if (span_is(type, "response.output_item.done")) {
		responses_read_finished(s, event);
		if (m->open > 0)
			m->open--;
	} else if (span_is(type, "response.created")) {
		/* If a stream has two answers, neither can be trusted: the tools of both would be
		 * called. But some gateways send the start of one answer twice, which does no
		 * harm. */
		if (m->begun && (m->count > 0 || m->open > 0 || m->id == NULL ||
		    !span_is(span_member(response, "id"), m->id)))
			stream_fail(s, "a second answer begins before the first has ended");
		m->begun = true;
		text_once(&m->id, span_member(response, "id"));
		responses_read_response(s, response);
	} else if (span_is(type, "response.completed") || span_is(type, "response.incomplete")) {
		response_ended(s, response, span_is(type, "response.incomplete"));
	} else if (span_is(type, "response.failed")) {
		responses_read_response(s, response);
		response_failed(s, response);
	} else if (span_is(type, "error")) {
		stream_refused(s, event);
	}
}

/* Sets the stop reason if the API did not give one; rejects calls that the client would have to
 * carry out. */
static void
responses_finish_message(struct stream *s)
{
	struct message *m = &s->message;
	size_t i = 0;

	while (i < m->count && !m->blocks[i].waits)
		i++;
	if (m->ended && i < m->count)
		stream_error(s, ERROR_INVALID, "the model waits for '%s', which is the client's to do: "
		    "leave that tool out", m->blocks[i].tool_name);
	message_name_calls(m, s->messages);
	if (m->stop_reason == NULL)
		m->stop_reason = message_calls(m) ? "tool_use" : "end_turn";
}

static void
responses_read_body(struct stream *s, struct span body)
{
	response_ended(s, body, false);
}

const struct stream_api openai_responses_stream = {
	.name = OPENAI_RESPONSES,
	.event = responses_read_event,
	.body = responses_read_body,
	.finish = responses_finish_message
};
