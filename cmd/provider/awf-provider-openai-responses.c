/*
 * The Responses API of OpenAI, streaming and stateless: the API keeps nothing, so its items go
 * back to it with every request as they came. What an item says when it is done counts; the
 * pieces before are for looking at.
 *
 * An item is a block, a message as many as it has parts, one of the API's own tools a call and,
 * if it has one, a result. Members without a place in ours go into `raw` and come back from
 * there; an item whose type is no block of ours has the type in `raw` too. Both ways go by the
 * same tables, so that what was taken apart is put together as it was. The parts of a message
 * become blocks that share its id, and blocks in a row with the same id become one message.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "openai.h"
#include "pass.h"
#include "stream.h"
#include "transcript/event_keys.h"

#define API "openai-responses"
#define CUSTOM "custom_tool_call" /* one whose input is text, no JSON */
#define REFUSAL "refusal"

static const char usage[] =
"awf-provider-openai-responses < requests\n"
"\n"
"Speaks to the Responses API of OpenAI for awf-step: one request per line on\n"
"stdin, answers on stdout, see awf-provider(7). The key is read from\n"
"OPENAI_API_KEY, another server's URL (up to and with its /v1) from\n"
"OPENAI_BASE_URL; such a server may need no key.";

/* Items of the tools that the API runs itself, by how their type ends, the longer endings first,
 * hence tools that are not known by name yet have a place too: the members that are the tool's
 * input and output. */
static const struct tool {
	const char *type, *input, *output;
	bool encoded; /* the input is a string of JSON */
} tools[] = {
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

/* Calls that the client is to carry out, which we are not: an answer that ends with one
 * waits for ever. Those of the API's own have their output behind them. */
static const char *const clients[] = { "apply_patch_call", "computer_call", "local_shell_call",
	"mcp_approval_request", "shell_call", NULL };

static bool
is_client_call(struct span item)
{
	return span_one_of(span_member(item, "type"), clients) != NULL ||
	    (span_is(span_member(item, "type"), "tool_search_call") &&
	    span_is(span_member(item, "execution"), "client"));
}

/* Whether a type is of what a tool answered, as an item of its own. */
static bool
is_output(const char *type)
{
	return text_ends(type, "_output");
}

/* NULL: the type is none of a tool. */
static const struct tool *
find_tool(const char *type)
{
	for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
		if (text_ends(type, tools[i].type))
			return &tools[i];
	return NULL;
}

/* Members of a message that go back with it; all others in `raw` are of its part. */
static const char *const message_members[] = { "id", "status", "phase", NULL };

/* From items to blocks. */

/* Keeps the members that are in a list, or all others. */
static void
keep(struct block *b, struct span object, const char *const *list, bool listed)
{
	for (struct span_walk member = span_walk(object); span_next(&member);)
		if (says_something(member.value) && (span_one_of(member.key, list) != NULL) == listed)
			block_keep(b, member.key, member.value);
	b->api = API;
}

/* Keeps the members that have no place of their own. */
static void
keep_rest(struct block *b, struct span object, const char *const *placed)
{
	keep(b, object, placed, false);
}

/* Each part is a block; a refusal is a reason to stop. */
static void
take_message(struct message *m, struct span item)
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
		span_decode(text, &b->text);
		keep(b, item, message_members, true);
		keep_rest(b, part.value, placed);
		if (refused) {
			b->field = REFUSAL;
			m->stop_reason = "refusal";
		}
	}
}

/* The thoughts themselves where a server shows them, else what it says of them; the texts of the
 * parts with empty lines between them. */
static void
take_reasoning(struct message *m, struct span item)
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

/* A call of a tool of ours. */
static void
take_call(struct message *m, struct span item)
{
	static const char *const placed[] = { "type", "call_id", "name", "arguments", "input", NULL };
	bool custom = span_is(span_member(item, "type"), CUSTOM);
	struct block *b = message_add(m, BLOCK_TOOL_USE, -1);

	text_once(&b->tool_id, span_member(item, "call_id"));
	text_once(&b->tool_name, span_member(item, "name"));
	keep_rest(b, item, placed);
	if (custom) {
		scan_minify(span_member(item, "input"), &b->text);
		b->field = CUSTOM;
	} else {
		span_decode(span_member(item, "arguments"), &b->text);
	}
}

/* A half of an item of the API's own tools: its call or its result. */
static struct block *
add_half(struct message *m, enum block_type type, struct span item)
{
	struct block *b = message_add(m, type, -1);

	text_once(&b->tool_id, span_member(item, "call_id"));
	text_once(&b->tool_id, span_member(item, "id"));
	b->ran = true;
	b->api = API;
	return b;
}

static void
take_tool_call(struct message *m, struct span item, const struct tool *tool, const char *type)
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
take_tool_output(struct message *m, struct span item, const struct tool *tool)
{
	const char *const placed[] = { tool->output, NULL };
	struct span output = span_member(item, tool->output);
	struct block *b = add_half(m, BLOCK_TOOL_RESULT, item);

	if (output.at != NULL)
		scan_minify(output, &b->text);
	keep_rest(b, item, placed);
	/* Its call waits no more. */
	for (size_t i = 0; b->tool_id != NULL && i < m->count; i++)
		if (m->blocks[i].tool_id != NULL && strcmp(m->blocks[i].tool_id, b->tool_id) == 0)
			m->blocks[i].waits = false;
}

static void
take_item(struct message *m, struct span item)
{
	static const char *const nothing[] = { NULL };
	char *type = span_text(span_member(item, "type"));
	const char *word = type == NULL ? "" : type;
	const struct tool *tool = find_tool(word);

	if (strcmp(word, "message") == 0) {
		take_message(m, item);
	} else if (strcmp(word, "reasoning") == 0) {
		take_reasoning(m, item);
	} else if (strcmp(word, "function_call") == 0 || strcmp(word, CUSTOM) == 0) {
		take_call(m, item);
	} else if (tool != NULL && is_output(word)) {
		take_tool_output(m, item, tool);
	} else if (tool != NULL) {
		take_tool_call(m, item, tool, word);
	} else if (span_type(item) == 'o') { /* no block of ours */
		struct block *b = message_add(m, BLOCK_TEXT, -1);

		keep_rest(b, item, nothing);
		b->waits = is_client_call(item);
		if (b->waits)
			b->tool_name = memory_text(word);
	}
	free(type);
}

/* What the events say. */

/* A piece for the draft of an item, which has one kind of text: the number is the item's. */
static void
draft(struct stream *s, struct span event, enum block_type type, struct span text)
{
	long long index = -1;
	struct block *b;

	number_set(&index, span_member(event, "output_index"));
	b = message_find(&s->draft, type, index);
	if (b == NULL)
		b = message_add(&s->draft, type, index);
	stream_text(s, b, type == BLOCK_TEXT ? "text" : "thinking", text);
}

/* A call of a tool of ours, for looking at: the item that is done has all of it again. */
static void
call_begins(struct stream *s, struct span item)
{
	static const char *const types[] = { "function_call", CUSTOM, NULL };
	char *name = span_text(span_member(item, "name"));

	if (span_one_of(span_member(item, "type"), types) != NULL)
		stream_call(s, name, "", 0);
	free(name);
}

static void
call_goes_on(struct stream *s, struct span piece)
{
	struct buffer text = BUFFER_INIT;

	span_decode(piece, &text);
	stream_call(s, NULL, buffer_string(&text), text.len);
	buffer_free(&text);
}

static void
take_response(struct stream *s, struct span event)
{
	static const struct usage_place places[] = {
		USAGE(input, "input_tokens"),
		USAGE(output, "output_tokens"),
		USAGE_IN(cache_read, "input_tokens_details", "cached_tokens"),
		USAGE_IN(cache_write, "input_tokens_details", "cache_write_tokens"),
		USAGE_IN(reasoning, "output_tokens_details", "reasoning_tokens"),
		USAGE_END
	};
	struct span response = span_member(event, "response");

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

/* Likewise, "status"; what a completed one ended with, its items say. "failed" comes with an
 * error, "in_progress" and "queued" are no ends. */
static const struct end statuses[] = {
	{ "completed", "end_turn", ERROR_NONE },
	{ "cancelled", NULL, ERROR_CUT_OFF },
	{ NULL, NULL, ERROR_NONE }
};

/* Some servers do not say of each item that it is done; then all of them are here, or in
 * the pieces. An answer that was cut off at a limit has items that never ended. */
static void
take_output(struct stream *s, struct span output, bool whole)
{
	struct message *m = &s->message, *pieces = &s->draft;

	if (m->open == 0 && m->count > 0)
		return;
	if (span_element(output, 0).at != NULL) {
		message_clear(m);
		message_clear(pieces);
		m->open = 0;
	}
	for (struct span_walk item = span_walk(output); span_next(&item);)
		take_item(m, item.value);
	if (whole && m->open > 0) {
		stream_fail(s, "the answer ended, %zu of its items did not", m->open);
		return;
	}
	for (size_t i = 0; i < pieces->count; i++) {
		const struct block *from = &pieces->blocks[i];

		if (from->text.len > 0)
			buffer_append(&message_add(m, from->type, -1)->text, from->text.data,
			    from->text.len);
	}
	if (s->draft_refused && pieces->count > 0)
		m->stop_reason = "refusal";
	message_clear(pieces);
}

/* Why the API gave no answer. */
static void
response_failed(struct stream *s, struct span event)
{
	struct span error = span_path(event, "response", "error", NULL);

	if (span_type(error) == 'o')
		stream_refused(s, error);
	else
		stream_fail(s, "the API failed and did not say why");
}

/* The status counts; a server that says none said it by the event. */
static void
response_ended(struct stream *s, struct span event)
{
	struct span incomplete = span_of("\"incomplete\"", 12);
	struct span response = span_member(event, "response"), output = span_member(response, "output");
	struct span reason = span_path(response, "incomplete_details", "reason", NULL);
	struct span status = span_member(response, "status");
	struct error why = ERROR_INIT;

	if (span_type(status) != 's')
		status = span_is(span_member(event, "type"), "response.incomplete") ? incomplete :
		    span_of("\"completed\"", 11);
	take_response(s, event);
	if (span_is(status, "failed")) {
		response_failed(s, event);
	} else if (span_is(status, "incomplete") || span_type(reason) == 's') {
		take_output(s, output, false);
		stream_end(s, ends, span_type(reason) == 's' ? reason : incomplete, SPAN_NONE);
	} else if (end_reason(statuses, status, SPAN_NONE, &why) != NULL) {
		take_output(s, output, true);
	} else {
		stream_error(s, why.code, "%s", why.message);
	}
	s->message.ended = !s->failed;
}

/* Other events (the progress of tools, parts and their ends, those of later versions) say
 * nothing that the items do not say again. */
static void
take_event(struct stream *s, struct span event)
{
	struct span type = span_member(event, "type"), delta = span_member(event, "delta");
	struct message *m = &s->message;
	long long index = -1;

	if (span_is(type, "response.output_text.delta")) {
		draft(s, event, BLOCK_TEXT, delta);
	} else if (span_is(type, "response.refusal.delta")) {
		s->draft_refused = true;
		draft(s, event, BLOCK_TEXT, delta);
	} else if (span_is(type, "response.reasoning_summary_text.delta") ||
	    span_is(type, "response.reasoning_text.delta")) {
		draft(s, event, BLOCK_THINKING, delta);
	} else if (span_is(type, "response.reasoning_summary_part.added")) {
		/* As take_reasoning() joins them. */
		number_set(&index, span_member(event, "summary_index"));
		if (index > 0)
			draft(s, event, BLOCK_THINKING, span_of("\"\\n\\n\"", 6));
	} else if (span_is(type, "response.output_item.added")) {
		/* What it says comes in pieces, which count where the server does not say that the
		 * item is done. */
		m->open++;
		call_begins(s, span_member(event, "item"));
	} else if (span_is(type, "response.function_call_arguments.delta") ||
	    span_is(type, "response.custom_tool_call_input.delta")) {
		call_goes_on(s, delta);
	} else if (span_is(type, "response.output_item.done")) {
		take_item(m, span_member(event, "item"));
		number_set(&index, span_member(event, "output_index"));
		message_drop(&s->draft, index);
		if (m->open > 0)
			m->open--;
	} else if (span_is(type, "response.created")) {
		/* Of two answers in one stream neither is to be trusted: both would call their
		 * tools. */
		if (m->begun)
			stream_fail(s, "a second answer begins before the first has ended");
		m->begun = true;
		take_response(s, event);
	} else if (span_is(type, "response.completed") || span_is(type, "response.incomplete")) {
		response_ended(s, event);
	} else if (span_is(type, "response.failed")) {
		response_failed(s, event);
	} else if (span_is(type, "error")) {
		stream_refused(s, event);
	}
}

/* Why the model stopped, where the API did not say; and what nobody here can do for it. */
static void
finish(struct stream *s)
{
	struct message *m = &s->message;
	size_t i = 0;

	while (i < m->count && !m->blocks[i].waits)
		i++;
	if (m->ended && i < m->count)
		stream_error(s, ERROR_INVALID, "the model waits for '%s', which is the client's to do: "
		    "leave that tool out", m->blocks[i].tool_name);
	message_name_calls(m, s->request->messages);
	if (m->stop_reason == NULL)
		m->stop_reason = message_calls(m) ? "tool_use" : "end_turn";
}

/* From blocks to items: how a request is written. */

/* What the API wants to be there although it is empty. */
static void
write_empty(struct writer *w, struct span block, const char *member)
{
	if (stream_own_raw(block, API, member).at != NULL)
		return;
	writer_member_array(w, member);
	writer_array_end(w);
}

/* A block's own members, but those in a list (NULL: none of them). */
static void
write_raw(struct writer *w, struct span block, const char *const *without)
{
	if (stream_own(block, API))
		pass_others(w, span_member(block, KEY_RAW), without);
}

/* Whether the API said a block under another name than the usual. */
static bool
has_field(struct span block, const char *field)
{
	return stream_own(block, API) && span_is(span_member(block, KEY_FIELD), field);
}

/* Whether a block is a part of a message. */
static bool
is_part(struct span block, bool assistant)
{
	static const char *const said[] = { "text", NULL };
	static const char *const asked[] = { "text", "image", "document", NULL };

	return stream_own_type(block).at == NULL && !span_is(span_member(block, KEY_TEXT), "") &&
	    span_one_of(span_member(block, KEY_TYPE), assistant ? said : asked) != NULL;
}

static bool
is_same(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* A part of what the user says, or a tool gives. */
static void
write_user_part(struct writer *w, struct span block)
{
	writer_object(w);
	if (stream_type(block, "image")) {
		writer_member_string(w, "type", "input_image");
		pass_data_url(w, "image_url", block);
	} else if (stream_type(block, "document")) {
		writer_member_string(w, "type", "input_file");
		openai_write_file(w, block);
	} else {
		writer_member_string(w, "type", "input_text");
		pass_of(w, "text", block, KEY_TEXT);
	}
	writer_object_end(w);
}

/* Writes the message that begins with a block and leaves the walk at its last. */
static void
write_message(struct writer *w, bool assistant, struct span_walk *walk)
{
	struct span_walk ahead = *walk;
	struct span first = walk->value, id = stream_own_raw(first, API, "id");

	writer_object(w);
	writer_member_string(w, "type", "message");
	writer_member_string(w, "role", assistant ? "assistant" : "user");
	for (const char *const *member = message_members; *member != NULL; member++)
		pass_member(w, *member, stream_own_raw(first, API, *member));
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
		write_raw(w, block, message_members);
		writer_object_end(w);
	} while (span_next(&ahead) &&
	    is_part(ahead.value, assistant) && is_same(id, stream_own_raw(ahead.value, API, "id")));
	writer_array_end(w);
	writer_object_end(w);
}

/* An item that is no block of ours, put together again. after: the blocks behind it. */
static void
write_special(struct writer *w, struct span block, struct span_walk after)
{
	struct span own = stream_own_type(block), input = span_member(block, KEY_TOOL_INPUT);
	char *type = span_text(own);
	const struct tool *tool = type == NULL ? NULL : find_tool(type);

	if (tool != NULL && stream_type(block, "tool_result") && !is_output(type)) {
		free(type);
		return; /* went with its call */
	}
	writer_object(w);
	write_raw(w, block, NULL);
	if (tool != NULL && stream_type(block, "tool_use")) {
		/* Absent where the item had none: a call without input has {} in our form. */
		if (tool->encoded)
			pass_as_text(w, tool->input, input);
		else if (span_type(input) != 'o' || span_trim(input).len > 2)
			pass_member(w, tool->input, input);
		/* The other half, the result, is the block after the call. */
		if (span_next(&after) && stream_type(after.value, "tool_result") &&
		    is_same(own, stream_own_type(after.value)) &&
		    is_same(span_member(block, KEY_TOOL_ID), span_member(after.value, KEY_TOOL_ID)))
			pass_of(w, tool->output, after.value, KEY_TOOL_CONTENT);
	} else if (tool != NULL) {
		pass_of(w, tool->output, block, KEY_TOOL_CONTENT);
	}
	writer_object_end(w);
	free(type);
}

/* What a tool gave that is more than text: what is no file that the API takes is told. */
static void
write_files(struct writer *w, struct span blocks)
{
	writer_member_array(w, "output");
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (pass_is_file(block.value, stream_media_types)) {
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

/* What is an item of its own. customs: the calls, by their id, whose results have a type of their
 * own. */
static void
write_item(struct writer *w, struct span block, struct map *customs)
{
	struct span id = span_member(block, KEY_TOOL_ID), encrypted;

	if (stream_type(block, "thinking")) {
		/* Thoughts are of use to the API only if it can read them; others would be looked up
		 * by their id and not found. */
		encrypted = span_member(block, KEY_SIGNATURE);
		if (!stream_own(block, API) ||
		    (encrypted.at == NULL && stream_own_raw(block, API, "content").at == NULL))
			return;
		writer_object(w);
		writer_member_string(w, "type", "reasoning");
		write_raw(w, block, NULL);
		write_empty(w, block, "summary");
		pass_member(w, "encrypted_content", encrypted);
		writer_object_end(w);
	} else if (stream_type(block, "tool_result")) {
		bool custom = map_get(customs, id.at, id.len) != NULL;

		writer_object(w);
		writer_member_string(w, "type", custom ? CUSTOM "_output" : "function_call_output");
		pass_member(w, "call_id", id);
		if (pass_result_blocks(block).at != NULL)
			write_files(w, pass_result_blocks(block));
		else
			pass_as_text(w, "output", span_member(block, KEY_TOOL_CONTENT));
		writer_object_end(w);
	} else if (stream_type(block, "tool_use")) {
		bool custom = has_field(block, CUSTOM);

		if (custom)
			map_put(customs, id.at, id.len, 1);
		writer_object(w);
		writer_member_string(w, "type", custom ? CUSTOM : "function_call");
		pass_member(w, "call_id", id);
		pass_of(w, "name", block, KEY_TOOL_NAME);
		pass_as_text(w, custom ? "input" : "arguments", span_member(block, KEY_TOOL_INPUT));
		write_raw(w, block, NULL);
		writer_object_end(w);
	}
}

/* What another API alone understands is left out, and thoughts that this one could not read
 * again. */
static void
write_input(struct writer *w, struct span messages)
{
	struct map customs = MAP_INIT;

	writer_member_array(w, "input");
	for (struct span_walk message = span_walk(messages); span_next(&message);) {
		struct span blocks = span_member(message.value, KEY_BLOCKS);
		bool assistant = span_is(span_member(message.value, KEY_ROLE), "assistant");

		for (struct span_walk block = span_walk(blocks); span_next(&block);) {
			if (stream_foreign(block.value, API))
				continue;
			if (stream_own_type(block.value).at != NULL)
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
write_body(const struct stream *s, struct writer *w)
{
	/* These do not think, and the API refuses to encrypt the thoughts of such. */
	static const char *const unthinking[] = { "gpt-3*", "gpt-4*", "chatgpt-*", "gpt-5-chat*",
	    NULL };
	static const char *const apart[] = { "cache", "stop_sequences", "text", NULL };
	static const char *const format[] = { "format", NULL };
	const struct provider_request *r = s->request;
	struct span text = span_member(r->params, "text");

	writer_object(w);
	pass_member(w, "model", r->model);
	writer_member_bool(w, "stream", true);
	/* The API keeps nothing: what it thought comes encrypted, to be sent back. */
	writer_member_bool(w, "store", false);
	if (!stream_model(r->model, unthinking) && span_member(r->params, "include").at == NULL) {
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
	if (openai_takes_schema(s)) {
		/* The other members of `text` are the caller's. */
		writer_member_object(w, "text");
		pass_others(w, text, format);
		writer_member_object(w, "format");
		writer_member_string(w, "type", "json_schema");
		openai_write_schema(w, r->output_schema);
		writer_object_end(w);
		writer_object_end(w);
	} else {
		pass_member(w, "text", text);
	}
	if (!span_is(r->system, ""))
		pass_member(w, "instructions", r->system);
	/* Our names have no type, and strict schemas are a part of JSON Schema that a tool's
	 * need not keep to. */
	if (span_element(r->tools, 0).at != NULL) {
		writer_member_array(w, "tools");
		for (struct span_walk tool = span_walk(r->tools); span_next(&tool);) {
			writer_object(w);
			writer_member_string(w, "type", "function");
			pass_tool(w, tool.value, "parameters");
			writer_member_bool(w, "strict", false);
			writer_object_end(w);
		}
		writer_array_end(w);
	}
	write_input(w, r->messages);
	writer_object_end(w);
}

static int
check_request(const struct provider_request *r, struct error *err)
{
	if (span_element(span_member(r->params, "stop_sequences"), 0).at == NULL)
		return 0;
	return error_set(err, ERROR_INVALID, "stop_sequences",
	    "the Responses API has none: take the provider openai, or leave them out");
}

int
main(int argc, char **argv)
{
	static const struct stream_api api = {
		.program = "awf-provider-openai-responses",
		.usage = usage,
		.base = "https://api.openai.com/v1",
		.key_header = "authorization: Bearer ",
		.key_optional = true,
		.media_types = stream_media_types,
		.check = check_request,
		.path = "/responses",
		.body = write_body,
		.event = take_event,
		.finish = finish
	};

	return stream_main(&api, argc, argv);
}
