/* What a request asks of a CLI. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "cli.h"

static bool
is_assistant(struct span message)
{
	return span_is(span_member(message, "role"), "assistant");
}

static struct span
last_block(struct span message)
{
	struct span last = { NULL, 0 };

	for (struct span_walk block = span_walk(span_member(message, "blocks")); span_next(&block);)
		last = block.value;
	return last;
}

/* What an answer of this CLI keeps of its session in its last block. */
static struct span
answer_session(const struct cli_run *r, struct span message)
{
	struct span last = last_block(message), none = { NULL, 0 };
	bool own = is_assistant(message) && span_is(span_member(last, "api"), r->cli->name);

	return own ? span_member(last, "raw") : none;
}

/* How many messages the session knows already: up to the last answer that tells one.
 * Sets r->session. */
static size_t
find_session(struct cli_run *r)
{
	size_t known = 0, count = 0;

	for (struct span_walk message = span_walk(r->request->messages); span_next(&message);) {
		struct span raw = answer_session(r, message.value);

		count++;
		if (span_type(span_member(raw, "session")) != 's')
			continue;
		r->known = raw;
		known = count;
	}
	r->session = span_text(span_member(r->known, "session"));
	if (r->session == NULL)
		r->session = span_text(r->request->session);
	return known;
}

/* Begins a part of the prompt after a blank line. */
static void
begin_part(struct buffer *prompt)
{
	if (prompt->len > 0)
		buffer_text(prompt, "\n\n");
}

static void
add_text(struct buffer *prompt, struct span block)
{
	begin_part(prompt);
	span_decode(span_member(block, "text"), prompt);
}

static void
add_call(struct buffer *prompt, struct span block)
{
	begin_part(prompt);
	buffer_text(prompt, "[Called the tool ");
	span_decode(span_member(block, "tool_name"), prompt);
	buffer_text(prompt, ": ");
	span_plain(span_member(block, "tool_input"), prompt);
	buffer_byte(prompt, ']');
}

static void
add_result(struct buffer *prompt, struct span block)
{
	begin_part(prompt);
	buffer_text(prompt, "[Its result: ");
	span_plain(span_member(block, "tool_content"), prompt);
	buffer_byte(prompt, ']');
}

/* Thinking stays with the model that thought it. */
static const struct {
	const char *type;
	void (*add)(struct buffer *prompt, struct span block);
} kinds[] = {
	{ "text", add_text },
	{ "tool_use", add_call },
	{ "tool_result", add_result }
};

static void
refuse_attachment(struct cli_run *r, struct span block)
{
	char *type = span_text(span_member(block, "media_type"));

	cli_fail_as(r, ERROR_INVALID, "%s takes no attachments (%s): put the file into the "
	    "working directory and name it", r->cli->name, type == NULL ? "of any type" : type);
	free(type);
}

static void
add_block(struct cli_run *r, struct span block)
{
	struct span type = span_member(block, "type");

	if (span_is(type, "image") || span_is(type, "document"))
		refuse_attachment(r, block);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (span_is(type, kinds[i].type))
			kinds[i].add(&r->prompt, block);
}

/* Several messages are told apart by who says them. */
static void
add_message(struct cli_run *r, struct span message, bool alone)
{
	if (!alone) {
		begin_part(&r->prompt);
		buffer_text(&r->prompt, is_assistant(message) ? "ASSISTANT:" : "USER:");
	}
	for (struct span_walk block = span_walk(span_member(message, "blocks")); span_next(&block);)
		add_block(r, block.value);
}

static void
read_prompt(struct cli_run *r)
{
	size_t known = find_session(r), count = 0, number = 0;

	for (struct span_walk message = span_walk(r->request->messages); span_next(&message);)
		count++;
	for (struct span_walk message = span_walk(r->request->messages); span_next(&message);)
		if (number++ >= known)
			add_message(r, message.value, count - known == 1);
	if (r->prompt.len == 0)
		cli_fail_as(r, ERROR_INVALID, "the prompt is empty");
}

static bool
is_ours(const struct cli *cli, struct span name)
{
	for (const struct cli_tool *tool = cli->tools; tool->ours != NULL; tool++)
		if (span_is(name, tool->ours))
			return true;
	return false;
}

/* AWF's names of the CLI's tools, each once. */
static void
list_tools(const struct cli *cli, struct buffer *out)
{
	const char *before = "";

	for (const struct cli_tool *tool = cli->tools; tool->ours != NULL; tool++) {
		if (strcmp(tool->ours, before) != 0)
			buffer_format(out, "%s%s", out->len > 0 ? ", " : "", tool->ours);
		before = tool->ours;
	}
}

static void
check_tools(struct cli_run *r)
{
	struct buffer list = BUFFER_INIT;

	list_tools(r->cli, &list);
	for (struct span_walk tool = span_walk(r->request->tools); span_next(&tool);) {
		struct span name = span_member(tool.value, "name");
		char *text = is_ours(r->cli, name) ? NULL : span_text(name);

		if (text != NULL)
			cli_fail_as(r, ERROR_INVALID, "%s brings its own tools (%s): it cannot call '%s'",
			    r->cli->name, list.data, text);
		free(text);
	}
	buffer_free(&list);
}

void
cli_read_request(struct cli_run *r)
{
	read_prompt(r);
	check_tools(r);
}

bool
cli_allows(const struct cli_run *r, const char *ours)
{
	for (struct span_walk tool = span_walk(r->request->tools); span_next(&tool);)
		if (ours == NULL || span_is(span_member(tool.value, "name"), ours))
			return true;
	return false;
}

char *
cli_allowed(const struct cli_run *r, const char *separator)
{
	struct buffer list = BUFFER_INIT;

	for (const struct cli_tool *tool = r->cli->tools; tool->ours != NULL; tool++)
		if (cli_allows(r, tool->ours))
			buffer_format(&list, "%s%s", list.len > 0 ? separator : "", tool->theirs);
	return buffer_take(&list);
}
