/*
 * Restores an event of another program from its record. In the recorded payload, `source` has the members
 * that stood beside the program's payload, and `data` the members of its payload that have no place of their
 * own. `names` says where the other members are: for each of the program's names a path in the recorded
 * payload, such as "output" or "blocks/0/text". If `names` has "payload", the program's event had a payload;
 * otherwise all members stood side by side.
 */
#include "projection/projection_foreign.h"

#include <stdlib.h>
#include <string.h>

#include "json/scan.h"
#include "json/writer.h"
#include "projection/projection_write.h"
#include "transcript/event_keys.h"
#include "transcript/vocabulary.h"

bool
foreign_is_line(const struct projection *projection, const struct event_view *event)
{
	const char *vocabulary;

	/* Whether an event is a foreign one: its type is unknown, and it has a source. */
	if (event->type != EVENT_TYPES || !event_is_foreign(EVENT_TYPES, event->payload))
		return false;
	vocabulary = vocabulary_of(span_member(event->payload, KEY_SOURCE));
	if (vocabulary == NULL || strcmp(vocabulary, projection->name) != 0)
		return false;
	/* If it has another type here, its names must be known. */
	return event->told == EVENT_TYPES || span_member(event->payload, KEY_NAMES).at != NULL;
}

/* The value at a path like "blocks/0/text". */
static struct span
value_at(struct span value, const char *path)
{
	while (*path != '\0') {
		size_t len = strcspn(path, "/");
		char *key = strndup(path, len);

		value = span_type(value) == 'a' ?
		    span_element(value, (size_t)strtoul(key, NULL, 10)) : span_member(value, key);
		free(key);
		path += len + (path[len] == '/');
	}
	return value;
}

/* Blocks got a fidelity, instead of their own, which is in `data`. */
static void
write_blocks(struct writer *w, struct span key, struct span blocks, struct span data)
{
	struct buffer array = BUFFER_INIT;
	struct writer inside;
	size_t number = 0;

	writer_begin(&inside, &array);
	writer_array(&inside);
	for (struct span_walk block = span_walk(blocks); span_next(&block); number++) {
		struct span fidelity = span_member(span_element(data, number), KEY_FIDELITY);

		writer_object(&inside);
		for (struct span_walk member = span_walk(block.value); span_next(&member);)
			if (!span_is(member.key, KEY_FIDELITY))
				writer_raw_member(&inside, member.key, member.value);
		if (fidelity.at != NULL)
			writer_member_span(&inside, KEY_FIDELITY, fidelity);
		writer_object_end(&inside);
	}
	writer_array_end(&inside);
	writer_raw_member(w, key, span_of(array.data, array.len));
	buffer_free(&array);
}

/* Whether the sender's payload had an array of blocks, under whatever name. */
static bool
names_blocks(struct span names)
{
	for (struct span_walk name = span_walk(names); names.at != NULL && span_next(&name);)
		if (span_is(name.value, KEY_BLOCKS))
			return true;
	return false;
}

static void
write_members(struct writer *w, struct span payload, struct span names)
{
	struct span data = span_member(payload, KEY_DATA), fidelities = SPAN_NONE;

	/* If the sender's payload has blocks that are no array, they are in `data`, too. */
	if (names_blocks(names))
		for (struct span_walk member = span_walk(data); data.at != NULL && span_next(&member);)
			if (span_is(member.key, KEY_BLOCKS) && span_type(member.value) == 'a')
				fidelities = member.value;
	for (struct span_walk name = span_walk(names); names.at != NULL && span_next(&name);) {
		char *path = span_text(name.value);

		if (path != NULL && !span_is(name.key, KEY_PAYLOAD)) {
			struct span value = value_at(payload, path);

			if (strcmp(path, KEY_BLOCKS) == 0)
				write_blocks(w, name.key, value, fidelities);
			else
				writer_raw_member(w, name.key, value);
		}
		free(path);
	}
	if (span_type(data) != 'o')
		return;
	for (struct span_walk member = span_walk(data); span_next(&member);)
		if (fidelities.at == NULL || member.value.at != fidelities.at)
			writer_raw_member(w, member.key, member.value);
}

void
foreign_write_line(struct projection_sender *sender, struct span payload, struct buffer *out)
{
	struct span source = span_member(payload, KEY_SOURCE), names = span_member(payload, KEY_NAMES);
	struct span data = span_member(payload, KEY_DATA);
	const char *vocabulary = vocabulary_of(source);
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	for (struct span_walk member = span_walk(source); span_next(&member);)
		writer_raw_member(&w, member.key, member.value);
	if (span_member(names, KEY_PAYLOAD).at == NULL &&
	    (vocabulary == NULL || strcmp(vocabulary, VOCABULARY_AGENT_EVENT) != 0)) {
		write_members(&w, payload, names);
	} else if (data.at != NULL && span_type(data) != 'o') {
		writer_member_span(&w, KEY_PAYLOAD, data);
	} else {
		writer_member_object(&w, KEY_PAYLOAD);
		write_members(&w, payload, names);
		writer_object_end(&w);
	}
	writer_object_end(&w);
	buffer_byte(out, '\n');
	sender->ended = span_is(span_member(source, KEY_TYPE), "run.completed");
}

bool
foreign_hides(struct projection_sender *sender, const struct projection *projection,
    const struct placed *at, int64_t dropped)
{
	if (at->event->type == EVENT_RUN_STARTED)
		sender->speaks = span_is(span_member(at->event->payload, KEY_VOCABULARY),
		    projection->name);
	if (!sender->speaks)
		return false;
	if (at->event->type == EVENT_RUN_COMPLETED)
		return dropped == 0 && (sender->ended || strcmp(placed_status(at), "success") == 0);
	return at->event->type == EVENT_RUN_STARTED;
}
