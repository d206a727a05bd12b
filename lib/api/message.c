/*
 * Blocks are collected as an API sends them, each with the index that the API has given it, and
 * searched from the end, where the current ones are. Calls without an id, or with an id that the
 * conversation has already, get the first free call_N, because results are matched to calls by id.
 */
#include "api/message.h"

#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/invariant.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/price.h"
#include "providers/known_end.h"
#include "transcript/event_keys.h"

#define NUMBER_LIMIT (1LL << 53) /* what every JSON reader represents exactly; sums fit */
#define WORD_SHOWN 100 /* bytes of an unknown word that are shown */

void
message_begin(struct message *m)
{
	*m = (struct message){ .usage = USAGE_INIT, .highest = -1 };
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
	for (size_t i = 0; i < m->count; i++)
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
	free(m->id);
	free(m->request_id);
	free(m->session_id);
	free(m->explanation);
}

void
message_set_index(struct message *m, size_t at, long long index)
{
	m->blocks[at].index = index;
	if (index > m->highest)
		m->highest = index;
}

struct block *
message_add(struct message *m, enum block_type type, long long index)
{
	/* Memory doubles at powers of two, so that appending takes constant time on average. */
	if ((m->count & (m->count - 1)) == 0)
		m->blocks = memory_array(m->blocks, m->count == 0 ? 1 : m->count * 2, sizeof *m->blocks);
	m->blocks[m->count] = (struct block){ .type = type };
	message_set_index(m, m->count, index);
	return &m->blocks[m->count++];
}

void
message_raise(struct message *m, size_t to)
{
	struct block last = m->blocks[m->count - 1];

	memmove(m->blocks + to + 1, m->blocks + to, (m->count - 1 - to) * sizeof last);
	m->blocks[to] = last;
}

void
message_remove(struct message *m, size_t at)
{
	block_free(&m->blocks[at]);
	m->count--;
	memmove(m->blocks + at, m->blocks + at + 1, (m->count - at) * sizeof *m->blocks);
}

struct block *
message_find(struct message *m, enum block_type type, long long index)
{
	/* A new block mostly has the next index: then none is searched. */
	for (size_t i = index > m->highest ? 0 : m->count; i-- > 0;)
		if (m->blocks[i].type == type && m->blocks[i].index == index)
			return &m->blocks[i];
	return NULL;
}

void
message_drop(struct message *m, long long index)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
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

bool
says_something(struct span value)
{
	char type = span_type(value);

	return type != '0' && !(type == 'a' && span_element(value, 0).at == NULL);
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
	char text[32] = "";
	long long n;
	double exact;

	/* Some servers write 100.0. */
	if (span_type(value) == 'n' && value.len < sizeof text && !span_integer(value, &n)) {
		memcpy(text, value.at, value.len);
		exact = strtod(text, NULL);
		if (exact >= 0 && exact <= (double)NUMBER_LIMIT && exact == (double)(long long)exact)
			*number = (long long)exact;
	} else if (span_integer(value, &n) && n >= 0 && n <= NUMBER_LIMIT) {
		*number = n;
	}
}

/* The number at this place in the object; -1: none. */
static long long
number_at(struct span object, const struct usage_place *place)
{
	long long number = -1;

	if (place->outer != NULL)
		object = span_member(object, place->outer);
	number_set(&number, span_member(object, place->name));
	return number;
}

bool
usage_known(const struct usage *u)
{
	return u->input >= 0 || u->output >= 0 || u->cache_read >= 0 || u->cache_write >= 0 ||
	    u->reasoning >= 0 || u->cost >= 0;
}

void
usage_set(struct usage *u, struct span object, const struct usage_place *places)
{
	for (; places->name != NULL; places++) {
		long long *number = (void *)((char *)u + places->number);
		long long said = number_at(object, places);

		if (said > 0 || (said == 0 && *number < 0))
			*number = said;
	}
}

void
usage_sum(struct usage *u, struct span object, const struct usage_place *places)
{
	for (; places->name != NULL; places++) {
		long long *sum = (void *)((char *)u + places->number);
		long long said = number_at(object, places);

		if (said >= 0)
			*sum = *sum < 0 ? said : *sum + said;
	}
}

void
usage_add_cost(struct usage *u, struct span dollars)
{
	int64_t cost;

	if (money_read(dollars, &cost))
		u->cost = count_add(u->cost < 0 ? 0 : u->cost, cost);
}

const char *
end_reason(const struct end *ends, struct span defined, struct span word, struct span said,
    struct error *err)
{
	static const char *const reasons[] = { "end_turn", "tool_use", "max_tokens",
	    "stop_sequence", "refusal", "pause", NULL };
	const char *taught = known_end_taught(word), *name, *text, *colon;
	char *of_word, *of_said;

	if (taught == NULL)
		taught = known_end_defined(defined, word);
	if (taught != NULL)
		return span_one_of(span_of(taught, strlen(taught)), reasons);
	while (ends->word != NULL && !span_is(word, ends->word))
		ends++;
	if (ends->reason != NULL)
		return ends->reason;

	of_word = span_text(word);
	of_said = span_text(said);
	if (of_word != NULL && strlen(of_word) > WORD_SHOWN)
		of_word[utf8_whole(of_word, WORD_SHOWN)] = '\0';
	name = of_word == NULL ? "" : of_word;
	text = of_said == NULL ? "" : of_said;
	colon = *text == '\0' ? "" : ": ";
	if (ends->category == ERROR_NONE)
		error_set(err, ERROR_CUT_OFF, NULL, "the answer ended with '%s', which is no known "
		    "end%s%s (if it is a good one: --known-end WORD=stop)", name, colon, text);
	else if (ends->category == ERROR_CUT_OFF || ends->category == ERROR_PROVIDER)
		error_set(err, ends->category, NULL, "the answer ended with '%s'%s%s", name, colon, text);
	else
		error_set(err, ends->category, NULL, "%s%s%s", name, colon, text);
	free(of_word);
	free(of_said);
	return NULL;
}

void
block_repair_input(struct block *b)
{
	struct span text = span_trim(span_of(buffer_string(&b->text), b->text.len)), rest;
	struct buffer inner = BUFFER_INIT;
	size_t bad;

	if ((text.len == 4 && memcmp(text.at, "null", 4) == 0)) {
		buffer_clear(&b->text);
		return;
	}
	/* Some servers send {} at the beginning of the call, and then the arguments. */
	if (text.len > 2 && memcmp(text.at, "{}", 2) == 0) {
		rest = span_trim(span_of(text.at + 2, text.len - 2));
		if (span_type(rest) == 'o' && scan_check(rest.at, rest.len, &bad) == NULL) {
			buffer_append(&inner, rest.at, rest.len);
			buffer_free(&b->text);
			b->text = inner;
			return;
		}
	}
	/* Others send the arguments twice. */
	if (text.len > 0 && text.len % 2 == 0 && memcmp(text.at, text.at + text.len / 2, text.len / 2) == 0 &&
	    scan_check(text.at, text.len / 2, &bad) == NULL && *text.at == '{') {
		buffer_append(&inner, text.at, text.len / 2);
		buffer_free(&b->text);
		b->text = inner;
		return;
	}
	if (span_type(text) != 's' || scan_check(text.at, text.len, &bad) != NULL)
		return;
	span_decode(text, &inner);
	rest = span_trim(span_of(buffer_string(&inner), inner.len));
	if (span_type(rest) == 'o' && scan_check(rest.at, rest.len, &bad) == NULL) {
		buffer_free(&b->text);
		b->text = inner;
		b->note = "the arguments came as a text that held the object";
	} else {
		buffer_free(&inner);
	}
}

/* Whether a block is empty. A part in the API's own form has its type in raw, and no text. */
static bool
block_says_nothing(const struct block *b)
{
	return b->type == BLOCK_THINKING || (b->type == BLOCK_TEXT && b->text.len == 0 &&
	    b->citations.len == 0 && strstr(buffer_string(&b->raw), "\"type\":") == NULL);
}

bool
message_says_nothing(const struct message *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (!block_says_nothing(&m->blocks[i]))
			return false;
	return true;
}

bool
message_calls(const struct message *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->blocks[i].type == BLOCK_TOOL_USE && !m->blocks[i].ran)
			return true;
	return false;
}

/* Whether each tool call has an id, so that results can be matched. */
static bool
calls_have_names(const struct message *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->blocks[i].type == BLOCK_TOOL_USE && m->blocks[i].tool_id == NULL)
			return false;
	return true;
}

/* Some gateways send a call again, when it is complete or has its signature. */
static void
message_drop_repeated_calls(struct message *m)
{
	struct map ids = MAP_INIT; /* of calls that are kept: most have one of their own */
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct block *b = &m->blocks[i], *first = NULL;
		const bool seen = b->type == BLOCK_TOOL_USE && !b->ran && b->tool_id != NULL &&
		    map_get(&ids, b->tool_id, strlen(b->tool_id)) != NULL;

		for (size_t j = 0; j < kept && first == NULL && seen; j++) {
			struct block *other = &m->blocks[j];

			if (other->type == BLOCK_TOOL_USE && other->tool_id != NULL &&
			    other->tool_name != NULL && strcmp(other->tool_id, b->tool_id) == 0 &&
			    (b->tool_name == NULL || strcmp(other->tool_name, b->tool_name) == 0) &&
			    (b->text.len == 0 || strcmp(buffer_string(&b->text), "{}") == 0 ||
			    strcmp(buffer_string(&other->text), buffer_string(&b->text)) == 0))
				first = other;
		}
		if (first == NULL) {
			if (b->type == BLOCK_TOOL_USE && b->tool_id != NULL)
				map_put(&ids, b->tool_id, strlen(b->tool_id), 1);
			m->blocks[kept++] = *b;
			continue;
		}
		if (first->signature.len == 0 && b->signature.len > 0) {
			buffer_append(&first->signature, b->signature.data, b->signature.len);
			first->api = b->api;
		}
		block_free(b);
	}
	m->count = kept;
	map_free(&ids);
}

void
message_name_calls(struct message *m, struct span messages)
{
	struct map taken = MAP_INIT; /* set of ids; those of the conversation still have their quotes */
	size_t number = 0, i;

	message_drop_repeated_calls(m);
	if (message_calls(m))
		for (struct span_walk message = span_walk(messages); span_next(&message);) {
			struct span blocks = span_member(message.value, KEY_BLOCKS);

			for (struct span_walk block = span_walk(blocks); span_next(&block);) {
				struct span id = span_member(block.value, KEY_TOOL_ID);

				if (span_type(id) == 's')
					map_put(&taken, id.at + 1, id.len - 2, 1);
			}
		}
	for (i = 0; i < m->count; i++) {
		char **id = &m->blocks[i].tool_id;

		if (m->blocks[i].type != BLOCK_TOOL_USE || *id == NULL)
			continue;
		if (**id == '\0' || map_get(&taken, *id, strlen(*id)) != NULL) {
			free(*id);
			*id = NULL;
		} else {
			map_put(&taken, *id, strlen(*id), 1);
		}
	}

	for (i = 0; i < m->count; i++)
		if (m->blocks[i].tool_id != NULL)
			map_put(&taken, m->blocks[i].tool_id, strlen(m->blocks[i].tool_id), 1);
	for (i = 0; i < m->count; i++) {
		char **id = &m->blocks[i].tool_id;

		if (m->blocks[i].type != BLOCK_TOOL_USE || *id != NULL)
			continue;
		do {
			free(*id);
			*id = memory_format("call_%zu", ++number);
		} while (map_get(&taken, *id, strlen(*id)) != NULL);
	}
	INVARIANT(calls_have_names(m));
	map_free(&taken);
}

void
message_settle(struct message *m, struct span messages)
{
	message_name_calls(m, messages);
	if (m->stop_reason == NULL || strcmp(m->stop_reason, "end_turn") == 0)
		m->stop_reason = message_calls(m) ? "tool_use" : "end_turn";
}

/* Writes JSON minified. Empty input becomes {}, and text that is not JSON becomes a string, so that
 * the reader of the answer sees what the model wrote. */
static void
write_json(struct writer *w, const char *key, const struct buffer *json)
{
	struct span value = span_of(buffer_string(json), json->len);
	size_t bad;

	writer_key(w, key);
	if (span_trim(value).len == 0) {
		writer_raw(w, "{}", 2);
	} else if (scan_check(value.at, value.len, &bad) != NULL) {
		writer_bytes(w, value.at, value.len);
	} else {
		scan_minify(value, w->out);
		w->comma = true;
	}
}

static void
message_write_text(struct writer *w, const char *key, const struct buffer *text)
{
	writer_key(w, key);
	writer_bytes(w, buffer_string(text), text->len);
}

void
message_write_block(struct writer *w, const struct block *b)
{
	static const char *const types[] = { [BLOCK_TEXT] = "text", [BLOCK_THINKING] = "thinking",
		[BLOCK_TOOL_USE] = "tool_use", [BLOCK_TOOL_RESULT] = "tool_result" };

	writer_object(w);
	writer_member_string(w, KEY_TYPE, types[b->type]);
	switch (b->type) {
	case BLOCK_TEXT:
		message_write_text(w, KEY_TEXT, &b->text);
		break;
	case BLOCK_THINKING:
		message_write_text(w, KEY_THINKING, &b->text);
		if (b->redacted.len > 0)
			message_write_text(w, KEY_REDACTED, &b->redacted);
		break;
	case BLOCK_TOOL_USE:
		writer_member_string(w, KEY_TOOL_ID, b->tool_id == NULL ? "" : b->tool_id);
		writer_member_string(w, KEY_TOOL_NAME, b->tool_name == NULL ? "" : b->tool_name);
		write_json(w, KEY_TOOL_INPUT, &b->text);
		break;
	case BLOCK_TOOL_RESULT:
		writer_member_string(w, KEY_TOOL_ID, b->tool_id == NULL ? "" : b->tool_id);
		write_json(w, KEY_TOOL_CONTENT, &b->text);
		if (b->is_error)
			writer_member_bool(w, KEY_IS_ERROR, true);
	}
	if (b->signature.len > 0)
		message_write_text(w, KEY_SIGNATURE, &b->signature);
	writer_member_string(w, KEY_BOUND, b->bound[0] == '\0' ? NULL : b->bound);
	if (b->ran)
		writer_member_string(w, KEY_FIDELITY, "agent_emitted");
	writer_member_string(w, KEY_API, b->api);
	writer_member_string(w, KEY_FIELD, b->field);
	if (b->commentary)
		writer_member_bool(w, KEY_COMMENTARY, true);
	writer_member_string(w, KEY_NOTE, b->note);
	if (b->raw.len > 0 || b->citations.len > 0) {
		writer_member_object(w, KEY_RAW);
		if (b->raw.len > 0)
			writer_raw(w, b->raw.data, b->raw.len);
		if (b->citations.len > 0) {
			writer_member_array(w, "citations");
			writer_raw(w, b->citations.data, b->citations.len);
			writer_array_end(w);
		}
		writer_object_end(w);
	}
	writer_object_end(w);
}

void
message_write_usage(const struct message *m, struct writer *w)
{
	const struct {
		const char *key;
		long long number;
	} usage[] = {
		{ KEY_INPUT_TOKENS, m->usage.input },
		{ KEY_OUTPUT_TOKENS, m->usage.output },
		{ KEY_CACHE_READ_TOKENS, m->usage.cache_read },
		{ KEY_CACHE_WRITE_TOKENS, m->usage.cache_write },
		{ KEY_REASONING_TOKENS, m->usage.reasoning }
	};
	char dollars[MONEY_SIZE];

	writer_member_object(w, KEY_USAGE);
	for (size_t i = 0; i < sizeof usage / sizeof usage[0]; i++)
		if (usage[i].number >= 0)
			writer_member_integer(w, usage[i].key, usage[i].number);
	if (m->usage.cost >= 0) {
		money_number(m->usage.cost, dollars);
		writer_key(w, KEY_COST_USD);
		writer_raw(w, dollars, strlen(dollars));
	}
	writer_object_end(w);
	writer_member_string(w, KEY_MODEL, m->model);
}

void
message_write(const struct message *m, struct writer *w)
{
	writer_member_array(w, KEY_BLOCKS);
	for (size_t i = 0; i < m->count; i++)
		message_write_block(w, &m->blocks[i]);
	writer_array_end(w);
	writer_member_string(w, KEY_STOP_REASON, m->stop_reason == NULL ? "other" : m->stop_reason);
	writer_member_string(w, KEY_EXPLANATION, m->explanation);
	message_write_usage(m, w);
	writer_member_string(w, KEY_REQUEST_ID, m->request_id);
	writer_member_string(w, KEY_SESSION_ID, m->session_id);
}

void
message_write_tool(const struct block *b, enum error_code code, struct writer *w)
{
	struct span value = span_of(buffer_string(&b->text), b->text.len);
	struct error error = ERROR_INIT;
	struct buffer text = BUFFER_INIT;

	writer_member_string(w, KEY_NAME, b->tool_name);
	writer_member_string(w, KEY_CALL_ID, b->tool_id);
	write_json(w, b->type == BLOCK_TOOL_USE ? KEY_INPUT : KEY_OUTPUT, &b->text);
	if (code == ERROR_NONE)
		return;

	/* The error has the beginning of the result as its message. */
	if (span_type(value) == 's')
		span_decode(value, &text);
	else
		buffer_append(&text, value.at, value.len);
	error_set(&error, code, NULL, "%s", text.len == 0 ? "the tool failed" : text.data);
	writer_member_object(w, KEY_ERROR);
	writer_members_error(w, &error);
	writer_object_end(w);
	buffer_free(&text);
}
