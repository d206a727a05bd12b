/*
 * Tables list which types have a counterpart, and under which names the members of its payload are
 * searched for. A member of a kind that is not allowed in its place, or for whose place another
 * member was found first, is left in `data`. Events of AWF's own types are not converted: if one is
 * invalid, the error is reported, and the whole event is refused.
 *
 * The mark of a foreign event (transcript/event.h) is that its payload begins with its source.
 */
#include "ingest/foreign_event.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"
#include "transcript/form.h"
#include "transcript/vocabulary.h"

#define TYPE_LIMIT 128 /* bytes of a type */
#define EMITTED "agent_emitted"

/* ---- types ---- */

static const struct counterpart {
	const char *name;
	enum event_type type;
	bool own; /* the type, and the members of its payload, are AWF's */
} counterparts[] = {
	{ "message.user", EVENT_MESSAGE_USER, true },
	{ "message.assistant", EVENT_MESSAGE_ASSISTANT, true },
	{ "tool.call", EVENT_TOOL_CALL, true },
	{ "tool.result", EVENT_TOOL_RESULT, true },
	{ "llm.turn.start", EVENT_MESSAGE_USER, false },
	{ "llm.turn.end", EVENT_MESSAGE_ASSISTANT, false },
	{ "tool.start", EVENT_TOOL_CALL, false },
	{ "tool.end", EVENT_TOOL_RESULT, false },
	{ "tool_call", EVENT_TOOL_CALL, false },
	{ "tool_return", EVENT_TOOL_RESULT, false },
};

/* Types that begin so are AWF's to give. */
static const char *const reserved[] = { "run.", "step." };
#define FOREIGN "foreign."

static bool
foreign_event_has_prefix(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static const struct counterpart *
find_counterpart(const char *name)
{
	for (size_t i = 0; i < sizeof counterparts / sizeof *counterparts; i++)
		if (strcmp(counterparts[i].name, name) == 0)
			return &counterparts[i];
	return NULL;
}

/* The type, an allocated string; NULL with *err. */
static char *
read_type(struct span object, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	struct span value = span_member(object, KEY_TYPE);
	bool valid = span_type(value) == 's';

	span_decode(value, &text);
	for (size_t i = 0; i < text.len; i++)
		valid &= (unsigned char)text.data[i] >= ' ' && text.data[i] != 0x7f;
	if (valid && text.len > 0 && text.len <= TYPE_LIMIT)
		return buffer_take(&text);
	buffer_free(&text);
	error_set(err, ERROR_INVALID_INPUT, NULL, "it has no type, a text of 1 to %d bytes", TYPE_LIMIT);
	return NULL;
}

/* ---- ids ---- */

struct span
foreign_event_id(struct span object)
{
	struct span id = span_member(object, KEY_EVENT_ID);

	return span_type(id) == 's' || span_type(id) == 'n' ? id : SPAN_NONE;
}

struct span
foreign_event_run(struct span object)
{
	static const char *const names[] = { KEY_RUN_ID, "runId" };
	struct span values[2];

	span_members(object, names, 2, values);
	for (int i = 0; i < 2; i++)
		if (span_type(values[i]) == 's' && values[i].len > 2)
			return values[i];
	return SPAN_NONE;
}

/* Whether it is a UUID like those of transcripts. */
static bool
is_event_id(struct span value)
{
	return span_type(value) == 's' && id_valid(value.at + 1, value.len - 2) && value.at[15] == '4' &&
	    strchr("89ab", value.at[20]) != NULL;
}

/* Makes the id of an event from the sender's id for it. The sender's run is included, since many
 * senders count from 1 in each run. Ids that are the same text in different JSON notations give
 * the same id. */
static void
make_id(struct span given, struct span run, const struct foreign_scope *scope, char id[ID_SIZE])
{
	struct buffer text = BUFFER_INIT;
	char digest[DIGEST_SIZE];

	if (is_event_id(given)) {
		memcpy(id, given.at + 1, ID_SIZE - 1);
		id[ID_SIZE - 1] = '\0';
		return;
	}
	buffer_format(&text, "event\n%s\n", scope->run_id);
	span_decode(run, &text);
	buffer_byte(&text, '\0');
	buffer_byte(&text, span_type(given));
	span_plain(given, &text);
	if (scope->key != NULL)
		digest_hmac(scope->key, DIGEST_BYTES, text.data, text.len, digest);
	else
		digest_sha256(text.data, text.len, digest);
	id_derive(digest, id);
	buffer_free(&text);
}

/* ---- members ---- */

/* Members of an event beside its payload. If the event has no member `payload`, only these are not
 * part of the payload. */
static const char *const envelope[] = { KEY_TYPE, KEY_EVENT_ID, KEY_PARENT_EVENT_ID, KEY_RUN_ID,
	"runId", "runKind", KEY_PHASE, "agent_id", KEY_TIMESTAMP, "timestamp_ns", "ts", KEY_SEQ, KEY_PATH,
	KEY_ITERATION, NULL };

/* The kinds of value that are allowed in a place, as span_type() names them. */
#define TEXT "s"
#define COUNT "n" /* without sign, fraction or exponent */
#define ANY "soan0tf"
#define NAMES 5

/* Members of the payload of a counterpart, and their names in other vocabularies. */
static const struct place {
	const char *key, *kinds;
	const char *names[NAMES + 1];
} tool_places[] = {
	{ KEY_NAME, TEXT, { KEY_NAME, "tool", "tool_name", "toolName" } },
	{ KEY_CALL_ID, TEXT, { KEY_CALL_ID, "callId", "tool_call_id", "toolCallId" } },
	{ KEY_INPUT, ANY, { KEY_INPUT, "args", "arguments" } },
	{ KEY_OUTPUT, ANY, { KEY_OUTPUT, "result" } },
	{ KEY_ERROR, "so", { KEY_ERROR } },
	{ KEY_DURATION_MS, COUNT, { KEY_DURATION_MS, "durationMs" } },
}, message_places[] = {
	{ KEY_BLOCKS, "as", { KEY_BLOCKS, KEY_TEXT, "content", "prompt", KEY_MESSAGE } },
	{ KEY_AGENT, TEXT, { KEY_AGENT } },
	{ KEY_MODEL, TEXT, { KEY_MODEL } },
	{ KEY_STOP_REASON, TEXT, { KEY_STOP_REASON, "stopReason" } },
	{ KEY_USAGE, "o", { KEY_USAGE } },
	{ KEY_DURATION_MS, COUNT, { KEY_DURATION_MS, "durationMs" } },
	{ KEY_TURN, COUNT, { KEY_TURN } },
};
enum { TOOL_PLACES = sizeof tool_places / sizeof *tool_places,
	MESSAGE_PLACES = sizeof message_places / sizeof *message_places,
	PLACES = TOOL_PLACES > MESSAGE_PLACES ? TOOL_PLACES : MESSAGE_PLACES };

/* An event while it is made. */
struct making {
	struct foreign_event *event;
	const struct counterpart *counterpart; /* NULL: the event keeps its own type */
	struct span object;
	struct span payload;                   /* the object itself, if it has none */
	const struct place *places;
	size_t place_count;
	struct span values[PLACES];            /* what stands there */
	struct writer w;
};

static bool
is_message(enum event_type type)
{
	return type == EVENT_MESSAGE_USER || type == EVENT_MESSAGE_ASSISTANT;
}

static bool
is_kind(struct span value, const char *kinds)
{
	long long number;
	char type = span_type(value);

	if (type == 0 || strchr(kinds, type) == NULL)
		return false;
	return type != 'n' || strcmp(kinds, COUNT) != 0 ||
	    (span_integer(value, &number) && number >= 0 && value.at[0] != '-');
}

static void
find_places(struct making *m)
{
	bool message = is_message(m->counterpart->type);

	m->places = message ? message_places : tool_places;
	m->place_count = message ? MESSAGE_PLACES : TOOL_PLACES;
	for (size_t i = 0; i < m->place_count; i++)
		for (const char *const *name = m->places[i].names;
		     m->values[i].at == NULL && *name != NULL; name++) {
			struct span value = span_member(m->payload, *name);

			if (is_kind(value, m->places[i].kinds))
				m->values[i] = value;
		}
}

static struct span
foreign_event_value_of(const struct making *m, const char *key)
{
	for (size_t i = 0; i < m->place_count; i++)
		if (strcmp(m->places[i].key, key) == 0)
			return m->values[i];
	return SPAN_NONE;
}

/* Whether a member's value was found for one of the places. */
static bool
is_placed(const struct making *m, struct span value)
{
	for (size_t i = 0; i < m->place_count; i++)
		if (m->values[i].at == value.at)
			return true;
	return false;
}

/* ---- writing ---- */

static void
write_source(struct making *m)
{
	bool beside = m->payload.at != m->object.at;

	writer_member_object(&m->w, KEY_SOURCE);
	for (struct span_walk member = span_walk(m->object); span_next(&member);)
		if (beside ? member.value.at != m->payload.at : span_one_of(member.key, envelope) != NULL)
			writer_raw_member(&m->w, member.key, member.value);
	writer_object_end(&m->w);
	writer_member_string(&m->w, KEY_FIDELITY, EMITTED);
}

/* The object `data`, which is begun by its first member. */
struct data {
	struct writer *writer;
	bool any;
};

static struct writer *
data_writer(struct data *data)
{
	if (!data->any)
		writer_member_object(data->writer, KEY_DATA);
	data->any = true;
	return data->writer;
}

static void
data_end(struct data *data)
{
	if (data->any)
		writer_object_end(data->writer);
}

/* Whether a fidelity is given that is not EMITTED, the one that AWF records. */
static bool
is_other_fidelity(struct span value)
{
	return value.at != NULL && span_type(value) != '0' && !span_is(value, EMITTED);
}

/* Whether the recorded block keeps the fidelity that the program gave it. */
static bool
keeps_fidelity(struct span value, bool own)
{
	return own ? is_other_fidelity(value) : value.at != NULL;
}

/* Writes blocks, each with the fidelity EMITTED, or a text as one block. Elements that are not
 * blocks are written unchanged: the check of the form reports them. */
static void
write_blocks(struct making *m, struct span blocks)
{
	writer_member_array(&m->w, KEY_BLOCKS);
	if (span_type(blocks) == 's') {
		writer_object(&m->w);
		writer_member_string(&m->w, KEY_TYPE, KEY_TEXT);
		writer_member_span(&m->w, KEY_TEXT, blocks);
		writer_member_string(&m->w, KEY_FIDELITY, EMITTED);
		writer_object_end(&m->w);
	}
	for (struct span_walk block = span_walk(blocks); blocks.at != NULL && span_next(&block);) {
		if (span_type(block.value) != 'o') {
			writer_span(&m->w, block.value);
			continue;
		}
		writer_object(&m->w);
		for (struct span_walk member = span_walk(block.value); span_next(&member);)
			if (!span_is(member.key, KEY_FIDELITY))
				writer_raw_member(&m->w, member.key, member.value);
		writer_member_string(&m->w, KEY_FIDELITY, EMITTED);
		writer_object_end(&m->w);
	}
	writer_array_end(&m->w);
}

/* What of blocks has no place in them: their own fidelity, an object for each block. own: the blocks
 * are AWF's, so their usual fidelity need not be kept. */
static void
write_data_of_blocks(struct data *data, struct span blocks, bool own)
{
	bool any = false;

	if (span_type(blocks) != 'a')
		return;
	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		any |= keeps_fidelity(span_member(block.value, KEY_FIDELITY), own);
	if (!any)
		return;
	writer_member_array(data_writer(data), KEY_BLOCKS);
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		struct span fidelity = span_member(block.value, KEY_FIDELITY);

		writer_object(data->writer);
		if (keeps_fidelity(fidelity, own))
			writer_member_span(data->writer, KEY_FIDELITY, fidelity);
		writer_object_end(data->writer);
	}
	writer_array_end(data->writer);
}

/* An error is a text there, or an object with a message, or but an outcome. */
static void
write_error(struct making *m)
{
	struct span error = foreign_event_value_of(m, KEY_ERROR), message = error, code = SPAN_NONE;

	if (error.at == NULL && m->counterpart->type == EVENT_TOOL_RESULT &&
	    span_is(span_member(m->payload, KEY_OUTCOME), "failed"))
		error = message = span_member(m->payload, KEY_MESSAGE);
	else if (error.at == NULL)
		return;
	if (span_type(error) == 'o') {
		message = span_member(error, KEY_MESSAGE);
		code = span_member(error, KEY_CODE);
	}
	writer_member_object(&m->w, KEY_ERROR);
	if (span_type(code) == 's')
		writer_member_span(&m->w, KEY_CODE, code);
	else
		writer_member_string(&m->w, KEY_CODE, error_name(ERROR_TOOL));
	writer_key(&m->w, KEY_MESSAGE);
	writer_span(&m->w, span_type(message) == 's' ? message : SPAN_NONE);
	writer_object_end(&m->w);
}

/* Whether an error is not just the code and the message that write_error() takes from it. */
static bool
error_says_more(struct span error)
{
	struct span code = span_member(error, KEY_CODE), message = span_member(error, KEY_MESSAGE);

	if (span_type(error) != 'o')
		return false;
	if (code.at == NULL || message.at == NULL)
		return true;
	for (struct span_walk member = span_walk(error); span_next(&member);)
		if (span_type(member.value) != 's' ||
		    (member.value.at != code.at && member.value.at != message.at))
			return true;
	return false;
}

/* Writes the id of a call: the one that the sender gave, or for a result that of its parent event,
 * or else the id of the event itself. */
static void
write_call_id(struct making *m, struct span given)
{
	struct span parent = span_member(m->object, KEY_PARENT_EVENT_ID), id = foreign_event_id(m->object);
	struct buffer text = BUFFER_INIT;

	if (span_type(given) == 's') {
		writer_member_span(&m->w, KEY_CALL_ID, given);
		return;
	}
	span_plain(m->counterpart->type == EVENT_TOOL_RESULT && span_type(parent) == 's' ? parent : id,
	    &text);
	writer_member_string(&m->w, KEY_CALL_ID, text.len > 0 ? buffer_string(&text) : m->event->id);
	buffer_free(&text);
}

static const char *
role_of(enum event_type type)
{
	return type == EVENT_MESSAGE_USER ? "user" : "assistant";
}

/* Members that the payload of an own type may not have from its sender: SAID_AGAIN if the value is
 * null or the one that AWF writes, DISPLACED if it is another one and is kept in `data`. */
enum displaced { STANDS, SAID_AGAIN, DISPLACED };

/* call_id: the last of them, as the payload has it. */
static enum displaced
foreign_event_is_displaced(const struct making *m, const struct span_walk *member,
    struct span call_id)
{
	bool message = is_message(m->counterpart->type), again = span_type(member->value) == '0';

	if (span_is(member->key, KEY_FIDELITY))
		again |= !is_other_fidelity(member->value);
	else if (message && span_is(member->key, KEY_ROLE))
		again |= span_is(member->value, role_of(m->counterpart->type));
	else if (!message && span_is(member->key, KEY_CALL_ID))
		again |= span_type(member->value) == 's' && member->value.at == call_id.at;
	else if (!span_is(member->key, KEY_SOURCE) && !span_is(member->key, KEY_DATA))
		return STANDS;
	return again ? SAID_AGAIN : DISPLACED;
}

/* Writes the members of an event of an own type unchanged, except for those. */
static void
write_own(struct making *m)
{
	bool message = is_message(m->counterpart->type), beside = m->payload.at != m->object.at;
	struct span blocks = span_member(m->payload, KEY_BLOCKS);
	struct span call_id = span_member(m->payload, KEY_CALL_ID);
	struct data data = { &m->w, false };

	if (message)
		writer_member_string(&m->w, KEY_ROLE, role_of(m->counterpart->type));
	else
		write_call_id(m, call_id);
	for (struct span_walk member = span_walk(m->payload); span_next(&member);) {
		if (foreign_event_is_displaced(m, &member, call_id) != STANDS ||
		    (!beside && span_one_of(member.key, envelope) != NULL))
			continue;
		if (message && member.value.at == blocks.at && span_type(blocks) == 'a')
			write_blocks(m, blocks);
		else
			writer_raw_member(&m->w, member.key, member.value);
	}
	/* A text alone is a message too. */
	if (message && blocks.at == NULL && span_type(span_member(m->payload, KEY_TEXT)) == 's')
		write_blocks(m, span_member(m->payload, KEY_TEXT));
	for (struct span_walk member = span_walk(m->payload); span_next(&member);)
		if (foreign_event_is_displaced(m, &member, call_id) == DISPLACED)
			writer_raw_member(data_writer(&data), member.key, member.value);
	if (message)
		write_data_of_blocks(&data, blocks, true);
	data_end(&data);
}

/* Writes the members of the payload that are not written elsewhere. */
static void
write_data(struct making *m)
{
	bool beside = m->payload.at != m->object.at;
	struct data data = { &m->w, false };

	if (span_type(m->payload) != 'o') {
		writer_member_span(&m->w, KEY_DATA, m->payload);
		return;
	}
	for (struct span_walk member = span_walk(m->payload); span_next(&member);) {
		if (is_placed(m, member.value) ?
		    span_is(member.key, KEY_ERROR) && error_says_more(member.value) :
		    beside || span_one_of(member.key, envelope) == NULL)
			writer_raw_member(data_writer(&data), member.key, member.value);
	}
	write_data_of_blocks(&data, foreign_event_value_of(m, KEY_BLOCKS), false);
	data_end(&data);
}

/* Where a member of the sender's payload is now, a path in the payload; NULL: in `data`. */
static const char *
path_of(const struct making *m, struct span value)
{
	for (size_t i = 0; i < m->place_count; i++) {
		const char *key = m->places[i].key;

		if (m->values[i].at != value.at)
			continue;
		if (strcmp(key, KEY_BLOCKS) == 0 && span_type(value) == 's')
			return KEY_BLOCKS "/0/" KEY_TEXT;
		if (strcmp(key, KEY_ERROR) == 0)
			return span_type(value) == 's' ? KEY_ERROR "/" KEY_MESSAGE :
			    error_says_more(value) ? NULL : KEY_ERROR;
		return key;
	}
	return NULL;
}

/* Writes where the members of the sender's payload are, and whether it had one, so that the event can
 * be given back as it came (lib/projection). */
static void
write_names(struct making *m)
{
	bool beside = m->payload.at != m->object.at;

	writer_member_object(&m->w, KEY_NAMES);
	if (beside)
		writer_member_string(&m->w, KEY_PAYLOAD, KEY_DATA);
	if (span_type(m->payload) == 'o')
		for (struct span_walk member = span_walk(m->payload); span_next(&member);) {
			const char *path = path_of(m, member.value);
			struct buffer text = BUFFER_INIT;

			if (path == NULL)
				continue;
			json_quote(&text, path, strlen(path));
			writer_raw_member(&m->w, member.key, span_of(text.data, text.len));
			buffer_free(&text);
		}
	writer_object_end(&m->w);
}

static void
write_counterpart(struct making *m)
{
	if (is_message(m->counterpart->type)) {
		writer_member_string(&m->w, KEY_ROLE, role_of(m->counterpart->type));
		write_blocks(m, foreign_event_value_of(m, KEY_BLOCKS));
	} else {
		writer_member_span(&m->w, KEY_NAME, foreign_event_value_of(m, KEY_NAME));
		write_call_id(m, foreign_event_value_of(m, KEY_CALL_ID));
		write_error(m);
	}
	for (size_t i = 0; i < m->place_count; i++) {
		static const char *const written[] = { KEY_BLOCKS, KEY_NAME, KEY_CALL_ID, KEY_ERROR, NULL };

		if (text_index(m->places[i].key, written) == -1)
			writer_member_span(&m->w, m->places[i].key, m->values[i]);
	}
	write_data(m);
}

/* Whether an event that keeps its type has a payload in a vocabulary whose events have none. */
static bool
has_odd_payload(const struct making *m)
{
	const char *vocabulary = vocabulary_of(m->object);

	return m->payload.at != m->object.at && vocabulary != NULL &&
	    strcmp(vocabulary, VOCABULARY_INTERAGENT) == 0;
}

/* ---- the event ---- */

static int
foreign_event_make(struct making *m, char *name, struct error *err)
{
	struct foreign_event *f = m->event;
	struct form_fault fault;

	m->counterpart = find_counterpart(name);
	if (m->counterpart != NULL && !m->counterpart->own) {
		find_places(m);
		/* An event of a tool without a name has no counterpart. */
		if (!is_message(m->counterpart->type) &&
		    foreign_event_value_of(m, KEY_NAME).at == NULL) {
			m->counterpart = NULL;
			m->place_count = 0;
		}
	}
	if (m->counterpart != NULL && span_type(m->payload) != 'o')
		return error_set(err, ERROR_INVALID_INPUT, NULL, "the payload of a %s is no object", name);
	f->type = m->counterpart != NULL ? m->counterpart->type : EVENT_TYPES;
	for (size_t i = 0; i < sizeof reserved / sizeof *reserved && f->type_name == NULL; i++)
		if (foreign_event_has_prefix(name, reserved[i]))
			f->type_name = memory_format(FOREIGN "%s", name);
	if (f->type_name == NULL)
		f->type_name = memory_text(name);

	writer_begin(&m->w, &f->payload);
	writer_object(&m->w);
	write_source(m);
	if (m->counterpart == NULL)
		write_data(m);
	else if (m->counterpart->own)
		write_own(m);
	else
		write_counterpart(m);
	if (m->counterpart == NULL ? has_odd_payload(m) : !m->counterpart->own)
		write_names(m);
	writer_object_end(&m->w);
	if (form_check_payload(f->type, f->payload.data, f->payload.len, &fault) == 0)
		return 0;
	return error_set(err, ERROR_INVALID_INPUT, NULL, "%s: %s", name, fault.what.message);
}

int
foreign_event_read(struct foreign_event *f, struct span object, const struct foreign_scope *scope,
    struct error *err)
{
	struct span payload = span_member(object, KEY_PAYLOAD), run = foreign_event_run(object);
	struct span id = foreign_event_id(object), parent = span_member(object, KEY_PARENT_EVENT_ID);
	struct making m = { .event = f, .object = object,
		.payload = payload.at != NULL ? payload : object };
	long long iteration;
	char *name = read_type(object, err);
	int failed;

	*f = (struct foreign_event){ .type = EVENT_TYPES };
	if (name == NULL)
		return -1;
	f->identified = id.at != NULL;
	if (f->identified)
		make_id(id, run, scope, f->id);
	else if (scope->anonymous != NULL)
		memcpy(f->id, scope->anonymous, ID_SIZE);
	else
		id_new(f->id);
	if (span_type(parent) == 's' || span_type(parent) == 'n')
		make_id(parent, run, scope, f->parent);
	f->path = span_text(span_member(object, KEY_PATH));
	if (f->path == NULL || !call_path_valid(f->path)) {
		free(f->path);
		f->path = memory_text("");
	}
	if (span_integer(span_member(object, KEY_ITERATION), &iteration) && iteration > 0)
		f->iteration = iteration;
	failed = foreign_event_make(&m, name, err);
	free(name);
	if (failed != 0)
		foreign_event_free(f);
	return failed;
}

void
foreign_event_free(struct foreign_event *f)
{
	free(f->type_name);
	free(f->path);
	f->type_name = f->path = NULL;
	buffer_free(&f->payload);
}
