/*
 * awf-import-claude FILE: what a session log of Claude Code says. Claude Code 1.0 to 2.1: a line for each
 * block of an answer, with the usage so far.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/format.h"

static struct claude {
	char *asked;           /* id of the request whose answer is held back; NULL: not known */
} claude;

/* ---- answers ---- */

/* Usage as awf-transcript(5) has it: what was read from the cache, or written into it, is input. */
static void
claude_write_usage(struct span usage, struct buffer *out)
{
	static const char *const names[] = { "input_tokens", "output_tokens", "cache_read_input_tokens",
		"cache_creation_input_tokens" };
	long long counts[4] = { 0 };
	struct writer w;

	if (span_type(usage) != 'o')
		return;
	for (int i = 0; i < 4; i++)
		if (!span_integer(span_member(usage, names[i]), &counts[i]) || counts[i] < 0)
			counts[i] = 0;
	buffer_clear(out);
	writer_begin(&w, out);
	writer_object(&w);
	writer_member_integer(&w, "input_tokens", counts[0] + counts[2] + counts[3]);
	writer_member_integer(&w, "output_tokens", counts[1]);
	if (counts[2] > 0)
		writer_member_integer(&w, "cache_read_tokens", counts[2]);
	if (counts[3] > 0)
		writer_member_integer(&w, "cache_write_tokens", counts[3]);
	writer_object_end(&w);
}

/* Writes a block in our words; returns whether it is of a kind that is known. */
static bool
claude_write_block(struct span block, struct buffer *out)
{
	struct span type = span_member(block, "type"), source = span_member(block, "source");
	struct writer w;

	if (!span_is(type, "text") && !span_is(type, "thinking") && !span_is(type, "tool_use") &&
	    !(span_is(type, "image") && span_is(span_member(source, "type"), "base64")))
		return false;
	if (out->len > 0)
		buffer_byte(out, ',');
	writer_begin(&w, out);
	writer_object(&w);
	writer_member_span(&w, "type", type);
	if (span_is(type, "text")) {
		writer_member_span(&w, "text", span_member(block, "text"));
	} else if (span_is(type, "thinking")) {
		writer_member_span(&w, "thinking", span_member(block, "thinking"));
		writer_member_span(&w, "signature", span_member(block, "signature"));
	} else if (span_is(type, "tool_use")) {
		writer_member_span(&w, "tool_id", span_member(block, "id"));
		writer_member_span(&w, "tool_name", span_member(block, "name"));
		writer_member_span(&w, "tool_input", span_member(block, "input"));
	} else {
		writer_member_span(&w, "media_type", span_member(source, "media_type"));
		writer_member_span(&w, "data", span_member(source, "data"));
	}
	writer_object_end(&w);
	return true;
}

static void
claude_take_assistant(struct format_log *log, struct span line, struct span message)
{
	char *id = span_text(span_member(message, "id")), *asked = span_text(span_member(line, "requestId"));
	struct held_answer *h = &log->held;

	/* What the program itself says in the name of the model, such as an error. */
	if (id == NULL || span_is(span_member(message, "model"), "<synthetic>") ||
	    span_true(span_member(line, "isApiErrorMessage"))) {
		format_leave_out(log, FORMAT_OWN_WORDS);
		free(asked);
		free(id);
		return;
	}
	/* Some servers give every answer the same id. */
	if (h->id == NULL || strcmp(h->id, id) != 0 || (asked != NULL && claude.asked != NULL && strcmp(asked, claude.asked) != 0)) {
		format_say_answer(log);
		h->id = id;
		id = NULL;
	}
	for (struct span_walk block = span_walk(span_member(message, "content")); span_next(&block);)
		if (!claude_write_block(block.value, &h->blocks))
			format_leave_out(log, span_member(block.value, "type"));
	claude_write_usage(span_member(message, "usage"), &h->usage);
	format_keep(&h->model, span_member(message, "model"));
	format_keep(&h->stop_reason, span_member(message, "stop_reason"));
	format_keep(&h->time, span_member(line, "timestamp"));
	free(claude.asked);
	claude.asked = asked;
	free(id);
}

/* ---- what the user and tools say ---- */

/* The log of a sub-agent that a tool has started is beside the session's: SESSION/subagents/agent-ID.jsonl. */
static void
claude_say_child(struct format_log *log, struct span line, struct span call, struct buffer *out)
{
	char *agent = span_text(span_path(line, "toolUseResult", "agentId", NULL)), *path;
	struct writer w;

	if (agent == NULL || !name_valid(agent)) {
		free(agent);
		return;
	}
	path = memory_format("%s/subagents/agent-%s.jsonl", log->directory, agent);
	if (access(path, R_OK) == 0) {
		writer_begin(&w, out);
		writer_object(&w);
		writer_member_string(&w, "child", path);
		writer_member_span(&w, "call", call);
		writer_key(&w, "as");
		buffer_format(out, "\"agent-%s\"", agent);
		w.comma = true;
		writer_object_end(&w);
		buffer_byte(out, '\n');
	}
	free(path);
	free(agent);
}

static void
claude_take_result(struct format_log *log, struct span line, struct span block)
{
	struct buffer *out = format_results(log);
	struct writer w;

	claude_say_child(log, line, span_member(block, "tool_use_id"), out);
	writer_begin(&w, out);
	writer_object(&w);
	writer_member_span(&w, "result", span_member(block, "tool_use_id"));
	writer_member_span(&w, "time", span_member(line, "timestamp"));
	writer_member_span(&w, "output", span_member(block, "content"));
	writer_member_bool(&w, "is_error", span_true(span_member(block, "is_error")));
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

static void
claude_take_user(struct format_log *log, struct span line, struct span message)
{
	struct span content = span_member(message, "content");
	struct buffer blocks = BUFFER_INIT;
	struct writer w;

	if (span_true(span_member(line, "isMeta")) || span_true(span_member(line, "isCompactSummary"))) {
		format_leave_out(log, FORMAT_OWN_WORDS);
		return;
	}
	if (span_type(content) == 's') {
		writer_begin(&w, &blocks);
		writer_object(&w);
		writer_member_string(&w, "type", "text");
		writer_member_span(&w, "text", content);
		writer_object_end(&w);
	}
	for (struct span_walk block = span_walk(content); span_next(&block);) {
		if (span_is(span_member(block.value, "type"), "tool_result"))
			claude_take_result(log, line, block.value);
		else if (!claude_write_block(block.value, &blocks))
			format_leave_out(log, span_member(block.value, "type"));
	}
	if (blocks.len > 0 && span_type(span_member(line, "uuid")) == 's')
		format_say_prompt(log, span_member(line, "uuid"), span_member(line, "timestamp"), &blocks);
	buffer_free(&blocks);
}

/* ---- lines ---- */

static void
claude_say_session(struct format_log *log, struct span line)
{
	struct writer w;

	log->begun = true;
	log->provider = memory_text("anthropic");
	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_member_string(&w, "session", log->session);
	writer_member_string(&w, "name", "claude");
	writer_member_span(&w, "time", span_member(line, "timestamp"));
	writer_member_span(&w, "cwd", span_member(line, "cwd"));
	writer_member_object(&w, "inputs");
	writer_member_span(&w, "version", span_member(line, "version"));
	writer_member_span(&w, "branch", span_member(line, "gitBranch"));
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(&log->out, '\n');
}

static void
claude_take_line(struct format_log *log, struct span line)
{
	const struct span type = span_member(line, "type"), message = span_member(line, "message");
	const bool user = span_is(type, "user"), assistant = span_is(type, "assistant");

	if ((!user && !assistant) || span_type(message) != 'o' ||
	    span_type(span_member(line, "timestamp")) != 's') {
		format_leave_out(log, type);
		return;
	}
	if (!log->begun)
		claude_say_session(log, line);
	if (user)
		claude_take_user(log, line, message);
	else
		claude_take_assistant(log, line, message);
}

int
main(int argc, char **argv)
{
	static const struct format_program format = { .program = "awf-import-claude", .take = claude_take_line };
	const int status = format_main(&format, argc, argv);

	free(claude.asked);
	return status;
}
