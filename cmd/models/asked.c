/*
 * A conversation is a list of turns, whatever the API calls them; those after the model's last turn
 * are new. Of parts that are not text only the type is written.
 */
#include "asked.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "transcript/event_keys.h"

/* Adds a text, or the texts of a list of parts; nothing if there are none. */
static void
asked_add_text(struct span content, struct buffer *out)
{
	if (span_type(content) == 's') {
		span_decode(content, out);
		return;
	}
	if (span_type(content) == 'o')
		asked_add_text(span_member(content, "parts"), out);
	for (struct span_walk part = span_walk(content);
	    span_type(content) == 'a' && span_next(&part);) {
		struct span text = span_member(part.value, "text");

		if (span_type(text) != 's')
			continue;
		if (out->len > 0)
			buffer_text(out, "\n\n");
		span_decode(text, out);
	}
}

static void
asked_write_text(struct writer *w, const char *key, const char *type, const struct buffer *text)
{
	if (text->len == 0)
		return;
	if (type != NULL) {
		writer_object(w);
		writer_member_string(w, KEY_TYPE, type);
	}
	writer_key(w, key);
	writer_bytes(w, text->data, text->len);
	if (type != NULL) {
		writer_member_string(w, KEY_FIDELITY, "router");
		writer_object_end(w);
	}
}

static void
write_text_block(struct writer *w, struct span content)
{
	struct buffer text = BUFFER_INIT;

	asked_add_text(content, &text);
	asked_write_text(w, KEY_TEXT, "text", &text);
	buffer_free(&text);
}

static void
asked_write_tool_result(struct writer *w, struct span id, struct span content, struct span is_error)
{
	writer_object(w);
	writer_member_string(w, KEY_TYPE, "tool_result");
	if (span_type(id) == 's')
		writer_member_span(w, KEY_TOOL_ID, id);
	writer_key(w, KEY_TOOL_CONTENT);
	if (content.at != NULL) {
		struct buffer minified = BUFFER_INIT;

		scan_minify(content, &minified);
		writer_raw(w, minified.data, minified.len);
		buffer_free(&minified);
	} else {
		writer_null(w);
	}
	if (span_true(is_error))
		writer_member_bool(w, KEY_IS_ERROR, true);
	writer_member_string(w, KEY_FIDELITY, "router");
	writer_object_end(w);
}

/* Writes the type of a part that is neither text nor a result. */
static void
write_kind(struct writer *w, struct span type)
{
	writer_object(w);
	if (span_type(type) == 's')
		writer_member_span(w, KEY_TYPE, type);
	else
		writer_member_string(w, KEY_TYPE, "other");
	writer_member_string(w, KEY_FIDELITY, "router");
	writer_object_end(w);
}

/* Writes a part of a user's message or a tool result. */
static void
write_part(struct writer *w, struct span part)
{
	struct span type = span_member(part, "type"), text = span_member(part, "text");
	struct span response = span_member(part, "functionResponse");

	if (span_type(text) == 's')
		write_text_block(w, text);
	else if (span_is(type, "tool_result"))
		asked_write_tool_result(w, span_member(part, "tool_use_id"),
		    span_member(part, "content"), span_member(part, "is_error"));
	else if (response.at != NULL)
		asked_write_tool_result(w, span_member(response,
		    span_member(response, "id").at != NULL ? "id" : "name"),
		    span_member(response, "response"), SPAN_NONE);
	else
		write_kind(w, type);
}

static bool
is_system(struct span turn)
{
	static const char *const roles[] = { "system", "developer", NULL };

	return span_one_of(span_member(turn, "role"), roles) != NULL;
}

/* Whether a turn is the model's: a message with its role, or an item of its output. */
static bool
is_answer(struct span turn)
{
	static const char *const roles[] = { "assistant", "model", NULL };
	static const char *const made[] = { "reasoning", "function_call", "custom_tool_call", NULL };

	return span_one_of(span_member(turn, "role"), roles) != NULL ||
	    span_one_of(span_member(turn, "type"), made) != NULL;
}

static void
write_turn(struct writer *w, struct span turn)
{
	static const char *const outputs[] = { "function_call_output", "custom_tool_call_output", NULL };
	struct span content = span_member(turn, "content");

	if (content.at == NULL)
		content = span_member(turn, "parts");
	if (span_one_of(span_member(turn, "type"), outputs) != NULL)
		asked_write_tool_result(w, span_member(turn, "call_id"),
		    span_member(turn, "output"), SPAN_NONE);
	else if (span_is(span_member(turn, "role"), "tool"))
		asked_write_tool_result(w, span_member(turn, "tool_call_id"), content, SPAN_NONE);
	else if (span_type(content) == 's')
		write_text_block(w, content);
	else if (span_type(content) != 'a')
		write_kind(w, span_member(turn, "type"));
	for (struct span_walk part = span_walk(content);
	    span_type(content) == 'a' && !span_is(span_member(turn, "role"), "tool") && span_next(&part);)
		write_part(w, part.value);
}

/* The name in "…/models/NAME:generateContent". */
static char *
model_in(struct span target)
{
	static const char before[] = "models/";
	const char *end = target.at + target.len;

	for (const char *at = target.at; at + sizeof before - 1 < end; at++)
		if (memcmp(at, before, sizeof before - 1) == 0) {
			const char *name = at + sizeof before - 1, *colon = memchr(name, ':', (size_t)(end - name));

			return memory_copy(name, (size_t)((colon != NULL ? colon : end) - name));
		}
	return NULL;
}

void
asked_write(struct writer *w, const struct stream_api *api, struct span body, struct span target)
{
	static const char *const lists[] = { "messages", "input", "contents", "prompt" };
	static const char *const systems[] = { "system", "instructions", "systemInstruction",
		"system_instruction" };
	struct span model = span_member(body, "model"), turns = SPAN_NONE;
	struct buffer system = BUFFER_INIT;
	size_t from = 0, number = 0;

	if (span_type(model) == 's') {
		writer_member_span(w, KEY_MODEL, model);
	} else if (api == &google_stream) {
		char *name = model_in(target);

		writer_member_string(w, KEY_MODEL, name);
		free(name);
	}
	for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
		asked_add_text(span_member(body, systems[i]), &system);
	for (size_t i = 0; i < sizeof lists / sizeof *lists && turns.at == NULL; i++)
		turns = span_member(body, lists[i]);
	for (struct span_walk turn = span_walk(turns); span_type(turns) == 'a' && span_next(&turn);) {
		number++;
		if (is_answer(turn.value))
			from = number;
		if (is_system(turn.value))
			asked_add_text(span_member(turn.value, "content"), &system);
	}
	asked_write_text(w, KEY_SYSTEM_PROMPT, NULL, &system);
	buffer_free(&system);

	writer_member_array(w, KEY_BLOCKS);
	if (span_type(turns) == 's')
		write_text_block(w, turns);
	number = 0;
	for (struct span_walk turn = span_walk(turns); span_type(turns) == 'a' && span_next(&turn);)
		if (number++ >= from && !is_system(turn.value))
			write_turn(w, turn.value);
	writer_array_end(w);
}
