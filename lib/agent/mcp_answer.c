/*
 * Texts are joined by lines, and structured content is preferred to texts that repeat it.
 * Every failure but one of the machine becomes the result of the tool's call.
 */
#include "agent/mcp_answer.h"

#include <string.h>
#include <unistd.h>

#include "agent/mcp_process.h"
#include "agent/mcp_tools.h"
#include "agent/toolrun.h"
#include "agent/turn.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "json/value.h"

/* A failure that is longer stands in the output as a whole. */
#define MESSAGE_ROOM 900

struct mcp_use
mcp_use_of(const struct turns *turns)
{
	return (struct mcp_use){ .environment = turns->environment, .keys = turns->keys,
	    .sandbox = turns->sandbox, .interrupts = turns->interrupts, .deadline = turns->deadline };
}

/* ---- what a result says ---- */

static bool
is_text(struct span block)
{
	return span_is(span_member(block, "type"), "text") &&
	    span_type(span_member(block, "text")) == 's';
}

/* The texts, a line each; false if there is content of another kind. */
static bool
join_texts(struct span content, struct buffer *text)
{
	bool first = true;

	if (content.at != NULL && span_type(content) != 'a')
		return false;
	for (struct span_walk block = span_walk(content); span_next(&block);) {
		if (!is_text(block.value))
			return false;
		if (!first)
			buffer_byte(text, '\n');
		first = false;
		span_decode(span_member(block.value, "text"), text);
	}
	return true;
}

static void
take_content(struct span result, struct buffer *output)
{
	struct span content = span_member(result, "content");
	struct span structured = span_member(result, "structuredContent");
	struct buffer text = BUFFER_INIT;
	bool texts = join_texts(content, &text);

	if (structured.at != NULL && texts) /* which the texts repeat, for older clients */
		buffer_append(output, structured.at, structured.len);
	else if (structured.at != NULL)
		buffer_format(output, "{\"structuredContent\":%.*s,\"content\":%.*s}",
		    (int)structured.len, structured.at, (int)content.len, content.at);
	else if (!texts)
		buffer_append(output, content.at, content.len);
	else
		json_quote(output, buffer_string(&text), text.len);
	buffer_free(&text);
}

/* What is no more than a line is the error's message. */
static int
take_failure(struct span result, struct buffer *output, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	bool brief = join_texts(span_member(result, "content"), &text) && text.len > 0 &&
	    text.len < MESSAGE_ROOM && memchr(text.data, '\n', text.len) == NULL;

	if (brief)
		error_set(err, ERROR_TOOL, NULL, "%s", text.data);
	else
		error_set(err, ERROR_TOOL, NULL, "the tool failed");
	if (!brief)
		take_content(result, output);
	buffer_free(&text);
	return -1;
}

int
mcp_answer_read(struct span result, struct buffer *output, struct error *err)
{
	if (span_is(span_member(result, "resultType"), "input_required"))
		return error_set(err, ERROR_TOOL, NULL,
		    "the tool asks for input that there is nobody to give");
	if (span_true(span_member(result, "isError")))
		return take_failure(result, output, err);
	take_content(result, output);
	return 0;
}

/* What the server promised its structured content to be. What is not is a failure, with which
 * no key is recorded. */
static int
check_output(const struct mcp_server *s, const struct tool *tool, struct span structured,
    struct buffer *output, struct error *err)
{
	struct buffer why = BUFFER_INIT;
	json_t *value;
	int status = 0;

	if (tool->output == NULL || structured.at == NULL)
		return 0;
	value = value_parse(structured.at, structured.len, NULL, ERROR_SCHEMA, err);
	if (value == NULL)
		return -1;
	if (schema_check(tool->output, value, &why) == -1) {
		status = error_set(err, ERROR_SCHEMA, NULL, "the tool's output breaks its schema: %s",
		    mcp_says_secret(s, structured) ? "it has a key in it" : buffer_string(&why));
		mcp_hide(s, output->data, output->len);
	}
	json_decref(value);
	buffer_free(&why);
	return status;
}

/* ---- a call ---- */

static void
append_number(struct buffer *line, struct span number)
{
	if (span_type(number) == 'n')
		buffer_append(line, number.at, number.len);
}

/* "mcp__x__y: 3/10 what it does", where text is shown as it comes. */
static void
show_progress(void *context, struct span params)
{
	const struct mcp_tool *t = context;
	struct buffer line = BUFFER_INIT, message = BUFFER_INIT;

	if (!t->turns->live)
		return;
	buffer_format(&line, "%s: ", t->control.tool.name);
	append_number(&line, span_member(params, "progress"));
	if (span_type(span_member(params, "total")) == 'n') {
		buffer_byte(&line, '/');
		append_number(&line, span_member(params, "total"));
	}
	span_decode(span_member(params, "message"), &message);
	if (message.len > 0)
		buffer_byte(&line, ' ');
	text_visible(&line, buffer_string(&message), message.len, 0);
	buffer_byte(&line, '\n');
	file_write(STDERR_FILENO, line.data, line.len);
	buffer_free(&message);
	buffer_free(&line);
}

static int
ask_server(struct mcp_tool *t, struct tool_run *run, struct error *err)
{
	struct mcp_call call = { .tool = t->remote, .arguments = run->input,
	    .timeout_ms = t->server->definition.timeout_ms, .progress = show_progress, .context = t };
	struct mcp_use use = mcp_use_of(t->turns);
	int status = 0;

	if (!t->server->ready)
		status = mcp_open(&t->server, 1, &use, err);
	if (status == 0)
		status = mcp_call(t->server, &call, &use, err);
	if (status == 0)
		status = mcp_answer_read(call.result, &run->output, err);
	if (status == 0)
		status = check_output(t->server, &t->control.tool,
		    span_member(call.result, "structuredContent"), &run->output, err);
	mcp_call_free(&call);
	return status;
}

/* Whatever goes wrong is for the model to read; what ends the whole call, the caller sees. */
int
mcp_answer(void *context, struct tool_run *run, struct error *err)
{
	const struct mcp_tool *t = context;
	int64_t began = clock_monotonic();
	struct error why = ERROR_INIT;
	int status = ask_server(context, run, &why);

	run->process.duration_ms = clock_monotonic() - began;
	if (status == -1)
		run->error = why;
	/* One that a signal ended has perhaps done half of it (recalled_cut_off()). */
	if (status == -1 && t->server->peer.process.pid == 0)
		run->process.exit_code = t->server->exit_code;
	if (why.code != ERROR_SYSTEM)
		return 0;
	*err = why;
	return -1;
}
