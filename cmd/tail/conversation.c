/*
 * Text is shown line by line as it was written, each line wrapped at spaces; a word longer than the
 * width is cut. It comes from outside: tabs become spaces, and all other control characters are
 * made visible.
 */
#include "tail/conversation.h"

#include <string.h>

#include "base/text.h"
#include "model/results.h"
#include "storage/attached.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"
#include "view/view.h"

#define INDENT 4
#define NARROWEST ((size_t)24) /* fewest columns for text, even on a narrower terminal */
#define TAB ((size_t)8)
#define DIM "\033[2m"

/* How many bytes of visible text fit in this many columns. */
static size_t
bytes_of(const char *text, size_t len, size_t columns)
{
	size_t bytes = 0;
	uint32_t code;

	while (bytes < len) {
		unsigned n = utf8_decode(text + bytes, len - bytes, &code);
		size_t own = text_columns(code);

		if (own > columns)
			break;
		columns -= own;
		bytes += n > 0 ? n : 1;
	}
	return bytes;
}

static void
add_indented(struct conversation *c, const char *text, size_t len, unsigned indent)
{
	while (len > 0 && text[len - 1] == ' ')
		len--;
	if (len > 0)
		buffer_format(c->out, "%*s%.*s", (int)indent, "", (int)len, text);
	buffer_byte(c->out, '\n');
}

/* Appends a line of text, wrapped; its continuation lines have the same indentation. */
static void
add_line(struct conversation *c, const char *text, size_t len, unsigned indent)
{
	struct buffer spaced = BUFFER_INIT, visible = BUFFER_INIT;
	size_t width = c->width > indent + NARROWEST ? c->width - indent : NARROWEST, own;

	for (size_t i = 0, column = 0, n; i < len; i += n) {
		uint32_t code = 0;
		unsigned bytes = utf8_decode(text + i, len - i, &code);

		n = bytes > 0 ? bytes : 1;
		if (text[i] == '\t') {
			buffer_format(&spaced, "%*s", (int)(TAB - column % TAB), "");
			column += TAB - column % TAB;
		} else if (text[i] != '\r' || i + 1 < len) {
			buffer_append(&spaced, text + i, n);
			column += text_columns(code);
		}
	}
	text_visible(&visible, buffer_string(&spaced), spaced.len, 0);
	text = buffer_string(&visible);
	len = visible.len;
	own = strspn(text, " ");
	if (own > width / 2)
		own = 0;
	for (bool first = true; first || len > 0; first = false) {
		size_t room = first ? width : width - own, part = bytes_of(text, len, room), at = part;

		while (part < len && at > own && text[at] != ' ')
			at--;
		if (part < len && at > own)
			part = at;
		add_indented(c, text, part, indent + (unsigned)(first ? 0 : own));
		text += part;
		len -= part;
		while (len > 0 && *text == ' ') {
			text++;
			len--;
		}
	}
	buffer_free(&spaced);
	buffer_free(&visible);
}

/* Appends a text; above it c->heading, if it is not NULL, which is then set to NULL. */
static void
conversation_add_text(struct conversation *c, const char *text, size_t len)
{
	const unsigned indent = c->heading ? 2 * INDENT : INDENT;

	if (len == 0)
		return;
	if (c->heading)
		buffer_format(c->out, "%*s%s%s:%s\n", INDENT, "", c->colour ? DIM : "", c->heading,
		    c->colour ? VIEW_PLAIN : "");
	while (len > 0 && text[len - 1] == '\n')
		len--;
	for (const char *end = text + len, *lf; text <= end; text = lf + 1) {
		lf = memchr(text, '\n', (size_t)(end - text));
		lf = lf ? lf : end;
		add_line(c, text, (size_t)(lf - text), indent);
	}
	c->heading = NULL;
}

/* Appends a value: a string as its text, an object member by member, anything else as JSON. */
static void
add_value(struct conversation *c, const char *heading, struct span value)
{
	struct buffer text = BUFFER_INIT;

	c->heading = heading;
	if (!member_set(value) || (span_type(value) == 'o' && value.len <= 2))
		return;
	if (span_type(value) == 'o') {
		for (struct span_walk member = span_walk(value); span_next(&member);) {
			struct buffer one = BUFFER_INIT;

			span_decode(member.key, &text);
			span_plain(member.value, &one);
			/* A text of several lines is put below its name. */
			buffer_format(&text, one.data && memchr(one.data, '\n', one.len) ? ":\n" : ": ");
			buffer_append(&text, buffer_string(&one), one.len);
			if (text.data[text.len - 1] != '\n')
				buffer_byte(&text, '\n');
			buffer_free(&one);
		}
	} else {
		span_plain(value, &text);
	}
	conversation_add_text(c, buffer_string(&text), text.len);
	buffer_free(&text);
}

/* Appends the tool calls of a model, and their results, for a program that runs its tools itself
 * (awf-step --models): they are in no other events. */
static void
add_tool(struct conversation *c, struct span block)
{
	struct span name = span_member(block, KEY_TOOL_NAME), content = span_member(block, KEY_TOOL_CONTENT);
	struct buffer heading = BUFFER_INIT, text = BUFFER_INIT;
	bool called = member_set(name);

	if (!called && content.at == NULL)
		return;
	buffer_text(&heading, called ? "call" : span_true(span_member(block, KEY_IS_ERROR)) ? "failed" :
	    "result");
	for (int i = 0; i < 2; i++) {
		struct span word = i == 0 ? name : span_member(block, KEY_TOOL_ID);

		buffer_clear(&text);
		span_decode(word, &text);
		if (text.len > 0)
			buffer_byte(&heading, ' ');
		text_visible(&heading, buffer_string(&text), text.len, 0);
	}
	buffer_clear(&text);
	c->heading = heading.data;
	if (called) {
		add_value(c, heading.data, span_member(block, KEY_TOOL_INPUT));
		if (c->heading != NULL)
			conversation_add_text(c, "{}", 2);
	} else if (span_type(content) == 'a') {
		view_tool_content(content, &text);
		conversation_add_text(c, buffer_string(&text), text.len);
	} else {
		add_value(c, heading.data, content);
	}
	c->heading = NULL;
	buffer_free(&heading);
	buffer_free(&text);
}

static void
add_blocks(struct conversation *c, struct span payload)
{
	const bool traffic = span_member(payload, KEY_REQUEST).at != NULL ||
	    span_member(payload, KEY_RESPONSE).at != NULL;
	struct span blocks = span_member(payload, KEY_BLOCKS);

	if (span_type(blocks) != 'a')
		return;
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		struct buffer label = BUFFER_INIT;

		c->heading = NULL;
		if (attached_text(block.value, &label))
			conversation_add_text(c, buffer_string(&label), label.len);
		add_value(c, "thinking", span_member(block.value, KEY_THINKING));
		add_value(c, NULL, span_member(block.value, KEY_TEXT));
		add_value(c, NULL, span_member(block.value, KEY_COMMAND));
		if (traffic)
			add_tool(c, block.value);
		buffer_free(&label);
	}
}

static void
add_error(struct conversation *c, struct span error)
{
	struct span message = span_member(error, KEY_MESSAGE);
	struct buffer text = BUFFER_INIT;

	if (!member_set(error))
		return;
	if (member_set(message)) {
		span_decode(span_member(error, KEY_CODE), &text);
		buffer_text(&text, ": ");
		span_decode(message, &text);
	} else {
		span_plain(error, &text);
	}
	c->heading = NULL;
	conversation_add_text(c, buffer_string(&text), text.len);
	buffer_free(&text);
}

/* Appends the result of a call; that of an agent was already shown as its last answer. */
static void
add_result(struct conversation *c, struct span payload)
{
	if (!span_is(span_member(payload, KEY_KIND), "agent"))
		add_value(c, NULL, span_member(payload, result_member(payload)));
}

void
conversation_event(struct conversation *c, const char *line, size_t len)
{
	struct event_view event;
	struct span payload;

	if (event_view(line, len, &event) != 0)
		return;
	payload = event.payload;
	c->heading = NULL;
	switch (event.told) {
	case EVENT_RUN_STARTED:
		add_value(c, "inputs", span_member(payload, KEY_INPUTS));
		break;
	case EVENT_STEP_STARTED:
	case EVENT_CALL_WORKFLOW_STARTED:
		add_blocks(c, payload);
		add_value(c, "input", span_member(payload, KEY_INPUT));
		break;
	case EVENT_MESSAGE_USER:
		add_value(c, "system prompt", span_member(payload, KEY_SYSTEM_PROMPT));
		add_blocks(c, payload);
		break;
	case EVENT_MESSAGE_ASSISTANT:
		add_blocks(c, payload);
		add_error(c, span_member(payload, KEY_ERROR));
		break;
	case EVENT_TOOL_CALL:
		add_value(c, NULL, span_member(payload, KEY_INPUT));
		break;
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
		add_result(c, payload);
		add_error(c, span_member(payload, KEY_ERROR));
		add_value(c, NULL, span_member(payload, KEY_SKIPPED));
		add_value(c, "stderr", span_member(payload, KEY_STDERR));
		break;
	case EVENT_TOOL_RESULT:
	case EVENT_RUN_COMPLETED:
		add_value(c, NULL, span_member(payload, KEY_OUTPUT));
		add_error(c, span_member(payload, KEY_ERROR));
		add_value(c, "stderr", span_member(payload, KEY_STDERR));
		break;
	default:
		add_value(c, NULL, payload);
		break;
	}
}
