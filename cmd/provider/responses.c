/*
 * Both ways go by the same tables, so that what was taken apart is put together as it was. A
 * tool is known by how its type ends, the longer endings first, hence tools that are not
 * known by name yet have a place too. The parts of a message become blocks that share its id,
 * and blocks in a row with the same id become one message.
 */
#include "responses.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "openai.h"
#include "pass.h"
#include "stream.h"

#define API "openai-responses"
#define CUSTOM "custom_tool_call" /* one whose input is text, no JSON */
#define REFUSAL "refusal"

/* Items of the tools that the API runs itself, by how their type ends: the members that
 * are the tool's input and output. Read by both directions. */
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
	size_t i;

	for (i = 0; i < sizeof tools / sizeof tools[0]; i++)
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

static void
take_part(struct message *m, struct span item, struct span part)
{
	static const char *const placed[] = { "type", "text", REFUSAL, "id", "status", "phase", NULL };
	struct span refusal = span_member(part, REFUSAL);
	bool refused = span_type(refusal) == 's';
	struct span text = refused ? refusal : span_member(part, "text");
	struct block *b;

	if (span_type(text) != 's')
		return;
	b = message_add(m, BLOCK_TEXT, -1);
	span_decode(text, &b->text);
	keep(b, item, message_members, true);
	keep_rest(b, part, placed);
	if (refused) {
		b->field = REFUSAL;
		m->stop_reason = "refusal";
	}
}

static void
take_message(struct message *m, struct span item)
{
	for (struct span_walk part = span_walk(span_member(item, "content")); span_next(&part);)
		take_part(m, item, part.value);
}

/* The texts of an array of parts, with empty lines between them. */
static void
take_texts(struct block *b, struct span parts)
{
	for (struct span_walk part = span_walk(parts); span_next(&part);) {
		if (b->text.len > 0)
			buffer_text(&b->text, "\n\n");
		span_decode(span_member(part.value, "text"), &b->text);
	}
}

/* The thoughts themselves where a server shows them, else what it says of them. */
static void
take_reasoning(struct message *m, struct span item)
{
	static const char *const placed[] = { "type", "encrypted_content", NULL };
	struct block *b = message_add(m, BLOCK_THINKING, -1);

	take_texts(b, span_member(item, "content"));
	if (b->text.len == 0)
		take_texts(b, span_member(item, "summary"));
	span_decode(span_member(item, "encrypted_content"), &b->signature);
	keep_rest(b, item, placed);
}

static struct block *
take_call(struct message *m, struct span item)
{
	static const char *const placed[] = { "type", "call_id", "name", "arguments", "input", NULL };
	struct block *b = message_add(m, BLOCK_TOOL_USE, -1);

	text_once(&b->tool_id, span_member(item, "call_id"));
	text_once(&b->tool_name, span_member(item, "name"));
	keep_rest(b, item, placed);
	return b;
}

static void
take_function_call(struct message *m, struct span item)
{
	struct block *b = take_call(m, item);

	span_decode(span_member(item, "arguments"), &b->text);
}

static void
take_custom_call(struct message *m, struct span item)
{
	struct block *b = take_call(m, item);

	scan_minify(span_member(item, "input"), &b->text);
	b->field = CUSTOM;
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
	b->waits = is_client_call(item);
	if (output.at == NULL || !says_something(output))
		return;
	b->waits = false;
	b = add_half(m, BLOCK_TOOL_RESULT, item);
	scan_minify(output, &b->text);
	block_keep_as(b, "type", span_member(item, "type"));
}

/* The output of a call is here. */
static void
stop_waiting(struct message *m, const char *tool_id)
{
	size_t i;

	for (i = 0; tool_id != NULL && i < m->count; i++)
		if (m->blocks[i].tool_id != NULL && strcmp(m->blocks[i].tool_id, tool_id) == 0)
			m->blocks[i].waits = false;
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
	stop_waiting(m, b->tool_id);
}

static void
take_unknown(struct message *m, struct span item)
{
	static const char *const placed[] = { NULL };
	struct block *b = message_add(m, BLOCK_TEXT, -1);

	keep_rest(b, item, placed);
	b->waits = is_client_call(item);
	if (b->waits)
		b->tool_name = span_text(span_member(item, "type"));
}

/* An item that is no block of ours. */
static void
take_other(struct message *m, struct span item)
{
	char *type = span_text(span_member(item, "type"));
	const struct tool *tool = type == NULL ? NULL : find_tool(type);

	if (tool == NULL)
		take_unknown(m, item);
	else if (is_output(type))
		take_tool_output(m, item, tool);
	else
		take_tool_call(m, item, tool, type);
	free(type);
}

static const struct {
	const char *type;
	void (*take)(struct message *m, struct span item);
} items[] = {
	{ "message", take_message },
	{ "reasoning", take_reasoning },
	{ "function_call", take_function_call },
	{ CUSTOM, take_custom_call }
};

void
responses_take(struct message *m, struct span item)
{
	struct span type = span_member(item, "type");
	size_t i;

	for (i = 0; i < sizeof items / sizeof items[0]; i++) {
		if (!span_is(type, items[i].type))
			continue;
		items[i].take(m, item);
		return;
	}
	if (span_type(item) == 'o')
		take_other(m, item);
}

const struct block *
responses_waiting(const struct message *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (m->blocks[i].waits)
			return &m->blocks[i];
	return NULL;
}

/* From blocks to items. */

static bool
is_type(struct span block, const char *type)
{
	return span_is(span_member(block, "type"), type);
}

/* A block's own members, but those in a list (NULL: none of them). */
static void
write_raw(struct writer *w, struct span block, const char *const *without)
{
	if (stream_own(block, API))
		pass_others(w, span_member(block, "raw"), without);
}

/* What the API wants to be there although it is empty. */
static void
write_empty(struct writer *w, struct span block, const char *member)
{
	if (stream_own(block, API) && span_path(block, "raw", member, NULL).at != NULL)
		return;
	writer_member_array(w, member);
	writer_array_end(w);
}

static void
write_input_text(struct writer *w, struct span block)
{
	writer_member_string(w, "type", "input_text");
	pass_member(w, "text", span_member(block, "text"));
}

static void
write_input_image(struct writer *w, struct span block)
{
	writer_member_string(w, "type", "input_image");
	pass_data_url(w, "image_url", span_member(block, "media_type"), span_member(block, "data"));
}

static void
write_input_file(struct writer *w, struct span block)
{
	writer_member_string(w, "type", "input_file");
	openai_write_file(w, block);
}

static void
write_output_text(struct writer *w, struct span block)
{
	bool refusal = stream_own(block, API) && span_is(span_member(block, "field"), REFUSAL);

	writer_member_string(w, "type", refusal ? REFUSAL : "output_text");
	pass_member(w, refusal ? REFUSAL : "text", span_member(block, "text"));
	if (!refusal)
		write_empty(w, block, "annotations");
	write_raw(w, block, message_members);
}

/* Kinds of blocks that are parts of a message. */
static const struct part {
	const char *role, *type;
	void (*write)(struct writer *w, struct span block);
} parts[] = {
	{ "user", "text", write_input_text },
	{ "user", "image", write_input_image },
	{ "user", "document", write_input_file },
	{ "assistant", "text", write_output_text }
};

static const struct part *
find_part(struct span block, const char *role)
{
	size_t i;

	if (stream_own_type(block).at != NULL || span_is(span_member(block, "text"), ""))
		return NULL;
	for (i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (strcmp(role, parts[i].role) == 0 && is_type(block, parts[i].type))
			return &parts[i];
	return NULL;
}

static struct span
item_id(struct span block)
{
	return stream_own(block, API) ? span_path(block, "raw", "id", NULL) : SPAN_NONE;
}

static bool
is_same(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* Writes the message that begins with a block and leaves the walk after its last. */
static void
write_message(struct writer *w, struct span first, const char *role, struct span_walk *walk)
{
	struct span_walk ahead = *walk;
	struct span block = first;
	const struct part *part = find_part(first, role);
	size_t i;

	writer_object(w);
	writer_member_string(w, "type", "message");
	writer_member_string(w, "role", role);
	for (i = 0; stream_own(first, API) && message_members[i] != NULL; i++)
		pass_member(w, message_members[i], span_path(first, "raw", message_members[i], NULL));
	writer_member_array(w, "content");
	do {
		*walk = ahead;
		writer_object(w);
		part->write(w, block);
		writer_object_end(w);
		if (!span_next(&ahead))
			break;
		block = ahead.value;
		part = find_part(block, role);
	} while (part != NULL && is_same(item_id(first), item_id(block)));
	writer_array_end(w);
	writer_object_end(w);
}

/* Thoughts are of use to the API only if it can read them; others would be looked up
 * by their id and not found. */
static void
write_reasoning(struct writer *w, struct span block)
{
	struct span encrypted = span_member(block, "signature");

	if (!stream_own(block, API) ||
	    (encrypted.at == NULL && span_path(block, "raw", "content", NULL).at == NULL))
		return;
	writer_object(w);
	writer_member_string(w, "type", "reasoning");
	write_raw(w, block, NULL);
	write_empty(w, block, "summary");
	pass_member(w, "encrypted_content", encrypted);
	writer_object_end(w);
}

static bool
is_custom(struct span block)
{
	return stream_own(block, API) && span_is(span_member(block, "field"), CUSTOM);
}

static void
write_call(struct writer *w, struct span block)
{
	bool custom = is_custom(block);

	writer_object(w);
	writer_member_string(w, "type", custom ? CUSTOM : "function_call");
	pass_member(w, "call_id", span_member(block, "tool_id"));
	pass_member(w, "name", span_member(block, "tool_name"));
	pass_as_text(w, custom ? "input" : "arguments", span_member(block, "tool_input"));
	write_raw(w, block, NULL);
	writer_object_end(w);
}

/* customs: the calls, by their id, whose results have a type of their own. */
static void
write_result(struct writer *w, struct span block, const struct map *customs)
{
	struct span id = span_member(block, "tool_id");
	bool custom = map_get(customs, id.at, id.len) != NULL;

	writer_object(w);
	writer_member_string(w, "type", custom ? CUSTOM "_output" : "function_call_output");
	pass_member(w, "call_id", id);
	pass_as_text(w, "output", span_member(block, "tool_content"));
	writer_object_end(w);
}

/* The other half of an item of the API's own tools, the result, which is the block after
 * the call. */
static struct span
find_output(struct span call, struct span_walk walk)
{
	if (span_next(&walk) && is_type(walk.value, "tool_result") &&
	    is_same(stream_own_type(call), stream_own_type(walk.value)) &&
	    is_same(span_member(call, "tool_id"), span_member(walk.value, "tool_id")))
		return span_member(walk.value, "tool_content");
	return SPAN_NONE;
}

/* Absent where the item had none: a call without input has {} in our form. */
static void
write_tool_input(struct writer *w, struct span input, const struct tool *tool)
{
	if (tool->encoded)
		pass_as_text(w, tool->input, input);
	else if (span_type(input) != 'o' || span_trim(input).len > 2)
		pass_member(w, tool->input, input);
}

/* An item that is no block of ours, put together again. after: the blocks behind it. */
static void
write_special(struct writer *w, struct span block, struct span_walk after)
{
	char *type = span_text(stream_own_type(block));
	const struct tool *tool = type == NULL ? NULL : find_tool(type);

	if (tool != NULL && is_type(block, "tool_result") && !is_output(type)) {
		free(type);
		return; /* went with its call */
	}
	writer_object(w);
	write_raw(w, block, NULL);
	if (tool != NULL && is_type(block, "tool_use")) {
		write_tool_input(w, span_member(block, "tool_input"), tool);
		pass_member(w, tool->output, find_output(block, after));
	} else if (tool != NULL) {
		pass_member(w, tool->output, span_member(block, "tool_content"));
	}
	writer_object_end(w);
	free(type);
}

/* What is an item of its own. customs: see write_result(). */
static void
write_item(struct writer *w, struct span block, struct map *customs)
{
	struct span id = span_member(block, "tool_id");

	if (is_type(block, "thinking"))
		write_reasoning(w, block);
	if (is_type(block, "tool_result"))
		write_result(w, block, customs);
	if (!is_type(block, "tool_use"))
		return;
	if (is_custom(block))
		map_put(customs, id.at, id.len, 1);
	write_call(w, block);
}

static void
write_blocks(struct writer *w, struct span blocks, const char *role, struct map *customs)
{
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (stream_foreign(block.value, API))
			continue;
		if (stream_own_type(block.value).at != NULL)
			write_special(w, block.value, block);
		else if (find_part(block.value, role) != NULL)
			write_message(w, block.value, role, &block);
		else
			write_item(w, block.value, customs);
	}
}

void
responses_write(struct writer *w, const char *key, struct span messages)
{
	struct map customs = MAP_INIT;

	writer_member_array(w, key);
	for (struct span_walk message = span_walk(messages); span_next(&message);) {
		bool assistant = span_is(span_member(message.value, "role"), "assistant");

		write_blocks(w, span_member(message.value, "blocks"), assistant ? "assistant" : "user",
		    &customs);
	}
	writer_array_end(w);
	map_free(&customs);
}
