/*
 * The index has digests alone, which say that something changed. What it was is read from the
 * recorded lines, and the part around the first difference is shown of both.
 */
#include "run/history_parts.h"

#include <string.h>

#include "base/text.h"
#include "transcript/event_keys.h"

#define EXCERPT 40  /* bytes from where two texts begin to differ */
#define BEFORE 12   /* and before that */

/* The part of a text around byte `at`, in quotes, with dots where it goes on. */
static void
add_excerpt(struct buffer *out, struct span text, size_t at)
{
	size_t from = at > BEFORE ? at - BEFORE : 0, len;

	while (from > 0 && ((unsigned char)text.at[from] & 0xC0) == 0x80)
		from--;
	len = text.len - from > EXCERPT + BEFORE ? EXCERPT + BEFORE : text.len - from;
	len = utf8_whole(text.at + from, len);
	buffer_text(out, from > 0 ? "'…" : "'");
	text_visible(out, text.at + from, len, 0);
	buffer_text(out, from + len < text.len ? "…'" : "'");
}

/* "is X, the recorded one Y", around their first difference. */
static void
add_difference(struct buffer *out, struct span now, struct span recorded)
{
	size_t at = 0;

	while (at < now.len && at < recorded.len && now.at[at] == recorded.at[at])
		at++;
	add_excerpt(out, now, at);
	buffer_text(out, ", the recorded one ");
	add_excerpt(out, recorded, at);
}

/* The recorded input: its own, or the result of the call before it. */
static struct span
recorded_input(const struct recalled_event *started, const struct recalled_event *before)
{
	struct span own = span_member(started->view.payload, KEY_INPUT);

	if (own.at != NULL || before->line.len == 0)
		return own;
	return span_member(before->view.payload, KEY_RESULT);
}

static void
add_input(struct buffer *out, struct span now, struct span recorded)
{
	if (now.at != NULL && now.len == recorded.len && memcmp(now.at, recorded.at, now.len) == 0) {
		buffer_text(out, "its attachments are others than the recorded ones");
		return;
	}
	buffer_text(out, "its input is ");
	if (now.at != NULL && recorded.at != NULL)
		add_difference(out, now, recorded);
	else
		buffer_text(out, "another than the recorded one");
}

/* The command, or those of all branches. */
static void
recorded_commands(struct span blocks, struct buffer *out)
{
	if (span_type(blocks) != 'a')
		return;
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (out->len > 0)
			buffer_byte(out, ' ');
		span_decode(span_member(block.value, KEY_COMMAND), out);
	}
}

/* As cmd/step/step_recall.c says what a step does. */
static void
recorded_definition(struct span payload, struct buffer *out)
{
	struct span agent = span_member(payload, KEY_AGENT), tool = span_member(payload, KEY_TOOL);

	if (agent.at != NULL) {
		buffer_text(out, "agent ");
		span_decode(agent, out);
		buffer_text(out, ", ");
		span_decode(span_member(payload, KEY_PROVIDER), out);
		buffer_byte(out, '/');
		span_decode(span_member(payload, KEY_MODEL), out);
	} else if (tool.at != NULL) {
		buffer_text(out, "tool ");
		span_decode(tool, out);
	} else {
		recorded_commands(span_member(payload, KEY_BLOCKS), out);
	}
}

static void
add_definition(struct buffer *out, const char *now, struct span payload)
{
	struct buffer recorded = BUFFER_INIT;

	recorded_definition(payload, &recorded);
	buffer_text(out, "its definition is ");
	if (now != NULL && recorded.len > 0 && !buffer_equal(&recorded, now))
		add_difference(out, span_of(now, strlen(now)), span_of(recorded.data, recorded.len));
	else
		buffer_text(out, span_member(payload, KEY_BLOCKS).at != NULL ?
		    "another: the same words, divided in another way" :
		    "another: agent file, prompt, parameters or tools");
	buffer_free(&recorded);
}

int
history_changed(struct history *h, const struct index_record *record,
    const struct recall_query *query, struct buffer *text, struct error *err)
{
	struct recalled_event started, before = { .line = BUFFER_INIT };
	struct span payload;
	int failed = history_line(h, &record->started, &started, err);

	if (failed == 0)
		failed = history_line(h, &record->input, &before, err);
	payload = started.view.payload;
	if (failed == 0 && !span_is(span_member(payload, KEY_INPUT_SHA256), query->input_sha256))
		add_input(text, query->input, recorded_input(&started, &before));
	if (failed == 0 &&
	    !span_is(span_member(payload, KEY_DEFINITION_SHA256), query->definition_sha256)) {
		buffer_text(text, text->len > 0 ? "; " : "");
		add_definition(text, query->definition, payload);
	}
	recalled_event_free(&started);
	recalled_event_free(&before);
	return failed;
}
