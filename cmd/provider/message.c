/*
 * Blocks are gathered as an API tells of them, each with the index that the API has for it,
 * and searched from the end, where what is being told of stands. Calls without an id, or with
 * one that the conversation has already, get the first free call_N: results are told apart by
 * it. How a block is written is a table by its type.
 */
#include "message.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"

#define NUMBER_LIMIT (1LL << 53) /* what every JSON reader keeps exact; sums fit */

void
message_begin(struct message *m)
{
	static const struct usage unknown = USAGE_INIT;

	memset(m, 0, sizeof *m);
	m->usage = unknown;
}

static void
block_free(struct block *b)
{
	buffer_free(&b->text);
	free(b->tool_id);
	free(b->tool_name);
	buffer_free(&b->signature);
	buffer_free(&b->redacted);
	buffer_free(&b->raw);
	buffer_free(&b->citations);
}

void
message_clear(struct message *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		block_free(&m->blocks[i]);
	free(m->blocks);
	m->blocks = NULL;
	m->count = 0;
}

void
message_free(struct message *m)
{
	message_clear(m);
	free(m->model);
	free(m->request_id);
	free(m->session_id);
}

struct block *
message_add(struct message *m, enum block_type type, long long index)
{
	struct block *b;

	/* Room doubles at powers of two, so that many blocks cost no more each. */
	if ((m->count & (m->count - 1)) == 0)
		m->blocks = memory_array(m->blocks, m->count == 0 ? 1 : m->count * 2, sizeof *m->blocks);
	b = &m->blocks[m->count++];
	memset(b, 0, sizeof *b);
	b->type = type;
	b->index = index;
	return b;
}

struct block *
message_find(struct message *m, enum block_type type, long long index)
{
	size_t i;

	for (i = m->count; i-- > 0;)
		if (m->blocks[i].type == type && m->blocks[i].index == index)
			return &m->blocks[i];
	return NULL;
}

void
message_drop(struct message *m, long long index)
{
	size_t kept = 0, i;

	for (i = 0; i < m->count; i++) {
		if (m->blocks[i].index == index)
			block_free(&m->blocks[i]);
		else
			m->blocks[kept++] = m->blocks[i];
	}
	m->count = kept;
}

struct block *
message_last(struct message *m, enum block_type type)
{
	if (m->count > 0 && m->blocks[m->count - 1].type == type)
		return &m->blocks[m->count - 1];
	return message_add(m, type, -1);
}

void
block_keep(struct block *b, struct span key, struct span value)
{
	if (b->raw.len > 0)
		buffer_byte(&b->raw, ',');
	buffer_append(&b->raw, key.at, key.len);
	buffer_byte(&b->raw, ':');
	scan_minify(value, &b->raw);
}

bool
says_something(struct span value)
{
	return span_type(value) != '0' &&
	    !(span_type(value) == 'a' && span_element(value, 0).at == NULL);
}

void
block_keep_as(struct block *b, const char *key, struct span value)
{
	buffer_format(&b->raw, "%s\"%s\":", b->raw.len > 0 ? "," : "", key);
	scan_minify(value, &b->raw);
}

void
block_note(struct block *b, const char *key, const char *text)
{
	buffer_format(&b->raw, "%s\"%s\":", b->raw.len > 0 ? "," : "", key);
	json_quote(&b->raw, text, strlen(text));
}

void
text_once(char **text, struct span value)
{
	if (*text == NULL)
		*text = span_text(value);
}

void
number_set(long long *number, struct span value)
{
	long long n;

	if (span_integer(value, &n) && n >= 0 && n <= NUMBER_LIMIT)
		*number = n;
}

bool
message_calls(const struct message *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (m->blocks[i].type == BLOCK_TOOL_USE && !m->blocks[i].ran)
			return true;
	return false;
}

/* The ids of the calls in a conversation, as they stand between their quotes. */
static void
collect_ids(struct map *taken, struct span messages)
{
	for (struct span_walk message = span_walk(messages); span_next(&message);) {
		struct span blocks = span_member(message.value, "blocks");

		for (struct span_walk block = span_walk(blocks); span_next(&block);) {
			struct span id = span_member(block.value, "tool_id");

			if (span_type(id) == 's')
				map_put(taken, id.at + 1, id.len - 2, 1);
		}
	}
}

/* The first of call_1, call_2 … that is not taken. */
static char *
free_id(const struct map *taken, size_t *number)
{
	char *id = memory_format("call_%zu", ++*number);

	while (map_get(taken, id, strlen(id)) != NULL) {
		free(id);
		id = memory_format("call_%zu", ++*number);
	}
	return id;
}

static void
name_nameless(struct message *m, struct map *taken)
{
	size_t number = 0, i;

	for (i = 0; i < m->count; i++)
		if (m->blocks[i].tool_id != NULL)
			map_put(taken, m->blocks[i].tool_id, strlen(m->blocks[i].tool_id), 1);
	for (i = 0; i < m->count; i++)
		if (m->blocks[i].type == BLOCK_TOOL_USE && m->blocks[i].tool_id == NULL)
			m->blocks[i].tool_id = free_id(taken, &number);
}

void
message_name_calls(struct message *m, struct span messages)
{
	struct map taken = MAP_INIT;
	size_t i;

	if (message_calls(m))
		collect_ids(&taken, messages);
	for (i = 0; i < m->count; i++) {
		struct block *b = &m->blocks[i];

		if (b->type != BLOCK_TOOL_USE || b->tool_id == NULL ||
		    map_get(&taken, b->tool_id, strlen(b->tool_id)) == NULL)
			continue;
		free(b->tool_id);
		b->tool_id = NULL;
	}
	name_nameless(m, &taken);
	map_free(&taken);
}

void
message_settle(struct message *m, struct span messages)
{
	message_name_calls(m, messages);
	if (m->stop_reason == NULL || strcmp(m->stop_reason, "end_turn") == 0)
		m->stop_reason = message_calls(m) ? "tool_use" : "end_turn";
}

/* What the object says there; -1: nothing. */
static long long
number_at(struct span object, const struct usage_place *place)
{
	long long number = -1;

	if (place->outer != NULL)
		object = span_member(object, place->outer);
	number_set(&number, span_member(object, place->name));
	return number;
}

void
usage_set(struct usage *u, struct span object, const struct usage_place *places)
{
	for (; places->name != NULL; places++) {
		long long *number = (void *)((char *)u + places->number);
		long long said = number_at(object, places);

		*number = said < 0 ? *number : said;
	}
}

void
usage_add(struct usage *u, struct span object, const struct usage_place *places)
{
	for (; places->name != NULL; places++) {
		long long *sum = (void *)((char *)u + places->number);
		long long said = number_at(object, places);

		if (said >= 0)
			*sum = *sum < 0 ? said : *sum + said;
	}
}

/* JSON as it came but minified; no bytes are {}, and what is no JSON becomes a
 * string, so that whoever reads the answer sees what the model wrote. */
static void
write_json(struct writer *w, const char *key, const struct buffer *json)
{
	struct buffer minified = BUFFER_INIT;
	struct span value = span_of(buffer_string(json), json->len);
	size_t bad;

	writer_key(w, key);
	if (span_trim(value).len == 0) {
		writer_raw(w, "{}", 2);
	} else if (scan_check(value.at, value.len, &bad) != NULL) {
		writer_bytes(w, value.at, value.len);
	} else {
		scan_minify(value, &minified);
		writer_raw(w, minified.data, minified.len);
		buffer_free(&minified);
	}
}

static void
write_text(struct writer *w, const char *key, const struct buffer *text)
{
	writer_key(w, key);
	writer_bytes(w, buffer_string(text), text->len);
}

static void
write_raw(struct writer *w, const struct block *b)
{
	struct buffer raw = BUFFER_INIT;

	if (b->raw.len == 0 && b->citations.len == 0)
		return;
	buffer_byte(&raw, '{');
	buffer_append(&raw, buffer_string(&b->raw), b->raw.len);
	if (b->citations.len > 0)
		buffer_format(&raw, "%s\"citations\":[%s]", b->raw.len > 0 ? "," : "",
		    b->citations.data);
	buffer_byte(&raw, '}');
	writer_member_buffer(w, "raw", &raw);
	buffer_free(&raw);
}

static void
write_own_text(struct writer *w, const struct block *b)
{
	write_text(w, "text", &b->text);
}

static void
write_thinking(struct writer *w, const struct block *b)
{
	write_text(w, "thinking", &b->text);
	if (b->redacted.len > 0)
		write_text(w, "redacted", &b->redacted);
}

static void
write_tool_use(struct writer *w, const struct block *b)
{
	writer_member_string(w, "tool_id", b->tool_id == NULL ? "" : b->tool_id);
	writer_member_string(w, "tool_name", b->tool_name == NULL ? "" : b->tool_name);
	write_json(w, "tool_input", &b->text);
}

static void
write_tool_result(struct writer *w, const struct block *b)
{
	writer_member_string(w, "tool_id", b->tool_id == NULL ? "" : b->tool_id);
	write_json(w, "tool_content", &b->text);
	if (b->is_error)
		writer_member_bool(w, "is_error", true);
}

static const struct {
	const char *name;
	void (*write)(struct writer *w, const struct block *b);
} types[] = {
	[BLOCK_TEXT] = { "text", write_own_text },
	[BLOCK_THINKING] = { "thinking", write_thinking },
	[BLOCK_TOOL_USE] = { "tool_use", write_tool_use },
	[BLOCK_TOOL_RESULT] = { "tool_result", write_tool_result }
};

static void
write_block(struct writer *w, const struct block *b)
{
	writer_object(w);
	writer_member_string(w, "type", types[b->type].name);
	types[b->type].write(w, b);
	if (b->signature.len > 0)
		write_text(w, "signature", &b->signature);
	if (b->ran)
		writer_member_string(w, "fidelity", "agent_emitted");
	writer_member_string(w, "api", b->api);
	writer_member_string(w, "field", b->field);
	write_raw(w, b);
	writer_object_end(w);
}

static void
write_number(struct writer *w, const char *key, long long number)
{
	if (number >= 0)
		writer_member_integer(w, key, number);
}

static void
write_usage(struct writer *w, const struct usage *u)
{
	writer_member_object(w, "usage");
	write_number(w, "input_tokens", u->input);
	write_number(w, "output_tokens", u->output);
	write_number(w, "cache_read_tokens", u->cache_read);
	write_number(w, "cache_write_tokens", u->cache_write);
	write_number(w, "reasoning_tokens", u->reasoning);
	writer_object_end(w);
}

void
message_write(const struct message *m, struct writer *w)
{
	size_t i;

	writer_member_array(w, "blocks");
	for (i = 0; i < m->count; i++)
		write_block(w, &m->blocks[i]);
	writer_array_end(w);
	writer_member_string(w, "stop_reason", m->stop_reason == NULL ? "other" : m->stop_reason);
	write_usage(w, &m->usage);
	writer_member_string(w, "model", m->model);
	writer_member_string(w, "request_id", m->request_id);
	writer_member_string(w, "session_id", m->session_id);
}

/* The beginning of a result that says why it is an error. */
static void
write_error(struct writer *w, const struct block *b, enum error_code code)
{
	struct error error = ERROR_INIT;
	struct buffer text = BUFFER_INIT;
	struct span value = span_of(buffer_string(&b->text), b->text.len);

	if (span_type(value) == 's')
		span_decode(value, &text);
	else
		buffer_append(&text, value.at, value.len);
	error_set(&error, code, NULL, "%s", text.len == 0 ? "the tool failed" : text.data);
	writer_member_object(w, "error");
	writer_members_error(w, &error);
	writer_object_end(w);
	buffer_free(&text);
}

void
message_write_tool(const struct block *b, enum error_code code, struct writer *w)
{
	writer_member_string(w, "name", b->tool_name);
	writer_member_string(w, "call_id", b->tool_id);
	write_json(w, b->type == BLOCK_TOOL_USE ? "input" : "output", &b->text);
	if (code != ERROR_NONE)
		write_error(w, b, code);
}
