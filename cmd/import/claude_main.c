/*
 * awf-import-claude FILE: what a session log of Claude Code says, in the words of awf-import(1),
 * "Formats". Claude Code 1.0 to 2.1: a line for each block of an answer, with the usage so far.
 *
 *   - An answer is held back until something of another comes, as its last line has its usage, and
 *     results of its tools may stand between its lines.
 *   - What the program wrote for itself is left out, and counted by its kind.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "io/file.h"
#include "io/path.h"
#include "json/line_input.h"
#include "json/writer.h"
#include "program.h"

#define PROGRAM "awf-import-claude"
#define NAME "claude"
#define SUFFIX ".jsonl"

enum { OPT_WHOLE = 1 };

/* An answer whose lines come. */
struct held {
	char *id;              /* NULL: none */
	struct buffer blocks;  /* the inside of a JSON array */
	struct buffer usage, model, stop_reason, time; /* JSON; empty: not told */
	struct buffer results; /* lines that are said after it */
};

struct left_out {
	char *kind;
	int64_t count;
};

struct session_log {
	char *session;         /* the file's name without .jsonl */
	char *directory;       /* its path without .jsonl: of what belongs to it */
	bool begun;
	struct held held;
	struct left_out *left_out;
	size_t left_out_count;
	struct map kinds;      /* kind → index in left_out */
	struct buffer out;
};

static const struct option_spec options[] = {
	{ OPT_WHOLE, 0, "whole", NULL, "the session is over: what is held back is said", OPTION_ONLY_SAID },
	{ OPTION_END, 0, NULL, NULL, NULL },
};

static void
claude_leave_out(struct session_log *log, struct span kind)
{
	char *text = span_text(kind);
	const char *name = text != NULL ? text : "lines without a type";
	const size_t *at = map_get(&log->kinds, name, strlen(name));

	if (at != NULL && log->left_out != NULL) {
		log->left_out[*at].count++;
	} else {
		map_put(&log->kinds, name, strlen(name), log->left_out_count);
		log->left_out = memory_array(log->left_out, log->left_out_count + 1, sizeof *log->left_out);
		log->left_out[log->left_out_count++] = (struct left_out){ memory_text(name), 1 };
	}
	free(text);
}

/* ---- answers ---- */

static void
claude_keep(struct buffer *kept, struct span value)
{
	if (value.at == NULL || span_type(value) == '0')
		return;
	buffer_clear(kept);
	buffer_append(kept, value.at, value.len);
}

static void
claude_say_answer(struct session_log *log)
{
	struct held *h = &log->held;
	struct writer w;

	if (h->id == NULL)
		return;
	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_key(&w, "answer");
	buffer_byte(&log->out, '[');
	buffer_append(&log->out, buffer_string(&h->blocks), h->blocks.len);
	buffer_byte(&log->out, ']');
	w.comma = true;
	writer_member_string(&w, "id", h->id);
	writer_member_buffer(&w, "time", &h->time);
	writer_member_string(&w, "provider", "anthropic");
	if (h->model.len > 0)
		writer_member_buffer(&w, "model", &h->model);
	if (h->stop_reason.len > 0)
		writer_member_buffer(&w, "stop_reason", &h->stop_reason);
	if (h->usage.len > 0)
		writer_member_buffer(&w, "usage", &h->usage);
	writer_object_end(&w);
	buffer_byte(&log->out, '\n');
	buffer_append(&log->out, buffer_string(&h->results), h->results.len);
	free(h->id);
	h->id = NULL;
	buffer_clear(&h->blocks);
	buffer_clear(&h->usage);
	buffer_clear(&h->model);
	buffer_clear(&h->stop_reason);
	buffer_clear(&h->time);
	buffer_clear(&h->results);
}

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
claude_take_assistant(struct session_log *log, struct span line, struct span message)
{
	char *id = span_text(span_member(message, "id"));
	struct held *h = &log->held;

	/* What the program itself says in the name of the model, such as an error. */
	if (id == NULL || span_is(span_member(message, "model"), "<synthetic>") ||
	    span_true(span_member(line, "isApiErrorMessage"))) {
		claude_leave_out(log, span_of("\"messages of the program\"", 25));
		free(id);
		return;
	}
	if (h->id == NULL || strcmp(h->id, id) != 0) {
		claude_say_answer(log);
		h->id = id;
		id = NULL;
	}
	for (struct span_walk block = span_walk(span_member(message, "content")); span_next(&block);)
		if (!claude_write_block(block.value, &h->blocks))
			claude_leave_out(log, span_member(block.value, "type"));
	claude_write_usage(span_member(message, "usage"), &h->usage);
	claude_keep(&h->model, span_member(message, "model"));
	claude_keep(&h->stop_reason, span_member(message, "stop_reason"));
	claude_keep(&h->time, span_member(line, "timestamp"));
	free(id);
}

/* ---- what the user and tools say ---- */

/* The log of a sub-agent that a tool has started is beside the session's: SESSION/subagents/agent-ID.jsonl. */
static void
claude_say_child(struct session_log *log, struct span line, struct span call, struct buffer *out)
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
claude_take_result(struct session_log *log, struct span line, struct span block)
{
	struct buffer *out = log->held.id != NULL ? &log->held.results : &log->out;
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
claude_say_prompt(struct session_log *log, struct span line, const struct buffer *blocks)
{
	struct writer w;

	claude_say_answer(log);
	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_key(&w, "prompt");
	buffer_byte(&log->out, '[');
	buffer_append(&log->out, buffer_string(blocks), blocks->len);
	buffer_byte(&log->out, ']');
	w.comma = true;
	writer_member_span(&w, "id", span_member(line, "uuid"));
	writer_member_span(&w, "time", span_member(line, "timestamp"));
	writer_member_string(&w, "provider", "anthropic");
	writer_object_end(&w);
	buffer_byte(&log->out, '\n');
}

static void
claude_take_user(struct session_log *log, struct span line, struct span message)
{
	struct span content = span_member(message, "content");
	struct buffer blocks = BUFFER_INIT;
	struct writer w;

	if (span_true(span_member(line, "isMeta")) || span_true(span_member(line, "isCompactSummary"))) {
		claude_leave_out(log, span_of("\"messages of the program\"", 25));
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
			claude_leave_out(log, span_member(block.value, "type"));
	}
	if (blocks.len > 0 && span_type(span_member(line, "uuid")) == 's')
		claude_say_prompt(log, line, &blocks);
	buffer_free(&blocks);
}

/* ---- lines ---- */

static void
claude_say_session(struct session_log *log, struct span line)
{
	struct writer w;

	log->begun = true;
	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_member_string(&w, "session", log->session);
	writer_member_string(&w, "name", NAME);
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
claude_take_line(struct session_log *log, struct span line)
{
	const struct span type = span_member(line, "type"), message = span_member(line, "message");
	const bool user = span_is(type, "user"), assistant = span_is(type, "assistant");

	if ((!user && !assistant) || span_type(message) != 'o' ||
	    span_type(span_member(line, "timestamp")) != 's') {
		claude_leave_out(log, type);
		return;
	}
	if (!log->begun)
		claude_say_session(log, line);
	if (user)
		claude_take_user(log, line, message);
	else
		claude_take_assistant(log, line, message);
}

static void
claude_say_left_out(struct session_log *log)
{
	struct writer w;

	if (log->left_out_count == 0)
		return;
	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_member_object(&w, "left_out");
	for (size_t i = 0; i < log->left_out_count; i++) {
		writer_key_quoted(&w, log->left_out[i].kind, strlen(log->left_out[i].kind));
		writer_integer(&w, log->left_out[i].count);
	}
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(&log->out, '\n');
}

static int
claude_read(struct session_log *log, const char *path, bool whole, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), got = -1;
	struct line_input input;
	const char *line;
	size_t len, bad;

	if (fd == -1)
		return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	line_input_begin(&input, fd, path);
	while ((got = line_input_next(&input, &line, &len, err)) == 1) {
		/* What the program has not finished writing comes with the next import. */
		if (scan_within(line, len, SCAN_LINE_DEPTH, &bad) == NULL && span_type(span_of(line, len)) == 'o')
			claude_take_line(log, span_of(line, len));
		else if (len > 0)
			claude_leave_out(log, span_of("\"damaged lines\"", 15));
		if (log->out.len > (1 << 20) && file_write(STDOUT_FILENO, log->out.data, log->out.len) == 0)
			buffer_clear(&log->out);
	}
	line_input_free(&input);
	file_close(&fd);
	if (whole)
		claude_say_answer(log);
	claude_say_left_out(log);
	if (got == 0 && file_write(STDOUT_FILENO, buffer_string(&log->out), log->out.len) != 0)
		got = error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
	return got;
}

static void
claude_log_free(struct session_log *log)
{
	struct held *h = &log->held;

	for (size_t i = 0; i < log->left_out_count; i++)
		free(log->left_out[i].kind);
	free(log->left_out);
	map_free(&log->kinds);
	free(log->session);
	free(log->directory);
	free(h->id);
	buffer_free(&h->blocks);
	buffer_free(&h->usage);
	buffer_free(&h->model);
	buffer_free(&h->stop_reason);
	buffer_free(&h->time);
	buffer_free(&h->results);
	buffer_free(&log->out);
}

int
main(int argc, char **argv)
{
	struct session_log log = { .session = NULL };
	struct error err = ERROR_INIT;
	const char *path = NULL, *name;
	struct options o;
	int id, failed;

	program_begin();
	options_begin(&o, options, argc, argv);
	while ((id = options_next(&o, &err)) == OPTION_WORD && path == NULL)
		path = o.value;
	if (id == OPTION_HELP) {
		options_help(stdout, PROGRAM " [--whole] FILE\n", options, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (id == OPTION_VERSION)
		return program_end(PROGRAM, program_version(PROGRAM));
	if (id == OPTION_WORD)
		error_set(&err, ERROR_USAGE, o.value, "is one file too many");
	else if (id == OPTION_END && path == NULL)
		error_set(&err, ERROR_USAGE, NULL, "takes a file");
	if (id != OPTION_END || path == NULL)
		return program_fail(PROGRAM, &err);
	name = path_base(path);
	log.session = memory_copy(name, strlen(name) - (text_ends(name, SUFFIX) ? strlen(SUFFIX) : 0));
	log.directory = memory_copy(path, strlen(path) - (text_ends(path, SUFFIX) ? strlen(SUFFIX) : 0));
	failed = claude_read(&log, path, (o.said & OPTION_SAID(OPT_WHOLE)) != 0, &err);
	claude_log_free(&log);
	return program_end(PROGRAM, failed != 0 ? program_fail(PROGRAM, &err) : STATUS_OK);
}
