/*
 * awf-import-gemini FILE: what a session log of Gemini CLI says. A log is lines (0.40 on): a head, messages, of
 * which one with the id of an earlier one replaces that, "$set" with new values of the head, and "$rewindTo";
 * or one object with all messages (before), which is written again each time. Results of tools are in the
 * message that calls them.
 *
 *   - A message is held back until another comes: it is written anew with each thing that it gets.
 *   - What is said is not taken back: neither by a rewind nor by a compression of the history, which
 *     replaces messages in "$set". What is new in such a history, the program has made.
 *   - A session that goes on has a further log of the same session, in which nothing happens: a log
 *     without messages says nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/format.h"
#include "io/file.h"
#include "io/path.h"

#define LOG_MOST ((size_t)1 << 30)

static struct gemini {
	struct map known;       /* ids of messages */
	char *id;               /* of the message that is held back */
	struct buffer message;
	struct buffer head;     /* JSON object */
} gemini;

/* ---- the session ---- */

/* The directory in which the session was: beside the logs' directory. */
static char *
gemini_read_cwd(const struct format_log *log)
{
	char *directory = path_directory(log->file), *path;
	struct buffer text = BUFFER_INIT;
	struct error ignored;
	char *cwd = NULL;

	/* Logs of sub-agents are one further down. */
	for (int up = 0; cwd == NULL && up < 2 && path_climb(&directory); up++) {
		path = path_join(directory, ".project_root");
		if (file_load(path, 65536, &text, &ignored) == 0)
			cwd = memory_copy(buffer_string(&text), strcspn(buffer_string(&text), "\n"));
		free(path);
	}
	free(directory);
	buffer_free(&text);
	return cwd;
}

static void
gemini_say_session(struct format_log *log)
{
	const struct span head = span_of(gemini.head.data, gemini.head.len);
	char *cwd;
	struct writer w;

	if (log->begun)
		return;
	log->begun = true;
	log->provider = memory_text("google");
	cwd = gemini_read_cwd(log);
	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_member_span(&w, "session", span_member(head, "sessionId"));
	writer_member_string(&w, "name", "gemini");
	writer_member_span(&w, "time", span_member(head, "startTime"));
	writer_member_string(&w, "cwd", cwd);
	writer_member_bool(&w, "rewritten", true);
	writer_object_end(&w);
	buffer_byte(&log->out, '\n');
	free(cwd);
}

/* ---- messages ---- */

static bool
gemini_is_own(struct span text)
{
	static const char *const begins[] = { "<session_context>", "<state_snapshot>", "This is the Gemini CLI.", NULL };

	return format_begins_with(text, begins);
}

/* Writes the parts of a content, which may be one, or a text. Calls of tools, and their results, are with the
 * message that has called. */
static void
gemini_write_parts(struct format_log *log, struct span content, struct buffer *blocks)
{
	const bool many = span_type(content) == 'a';
	struct span_walk walk = span_walk(content);

	for (bool more = many ? span_next(&walk) : true; more; more = many && span_next(&walk)) {
		const struct span part = many ? walk.value : content, data = span_member(part, "inlineData");
		const struct span text = span_type(part) == 's' ? part : span_member(part, "text");

		if (span_type(text) == 's')
			format_write_text(blocks, span_true(span_member(part, "thought")) ? "thinking" : "text", text);
		else if (span_type(span_member(data, "data")) == 's')
			format_write_image(blocks, span_member(data, "mimeType"), span_member(data, "data"));
		else if (span_member(part, "functionCall").at == NULL && span_member(part, "functionResponse").at == NULL)
			for (struct span_walk member = span_walk(part); span_next(&member);)
				format_leave_out(log, member.key);
	}
}

static void
gemini_take_user(struct format_log *log, struct span message)
{
	const struct span content = span_member(message, "content"), first = span_element(content, 0);
	struct buffer blocks = BUFFER_INIT;

	if (gemini_is_own(span_type(content) == 's' ? content : span_member(first, "text"))) {
		format_leave_out(log, FORMAT_OWN_WORDS);
		return;
	}
	gemini_write_parts(log, content, &blocks);
	if (blocks.len > 0) {
		gemini_say_session(log);
		format_say_prompt(log, span_member(message, "id"), span_member(message, "timestamp"), &blocks);
	}
	buffer_free(&blocks);
}

/* The log of a sub-agent is in the directory of its session: SESSION/AGENT.jsonl. */
static void
gemini_say_child(struct format_log *log, struct span call)
{
	char *agent = span_text(span_member(call, "agentId")), *directory = path_directory(log->file),
	    *session = span_text(span_member(span_of(gemini.head.data, gemini.head.len), "sessionId"));

	for (int up = 0; agent != NULL && session != NULL && name_valid(agent) && name_valid(session) && up < 2; up++) {
		char *path = memory_format("%s/%s/%s.jsonl", directory, session, agent);
		const bool is = access(path, R_OK) == 0;

		if (is)
			format_write_child(format_results(log), path, span_member(call, "id"), agent, true);
		free(path);
		if (is || !path_climb(&directory))
			break;
	}
	free(agent);
	free(directory);
	free(session);
}

static void
gemini_take_call(struct format_log *log, struct span call)
{
	static const char *const over[] = { "success", "error", "cancelled", NULL };
	const struct span status = span_member(call, "status"), result = span_member(call, "result");
	struct span response = span_path(span_element(result, 0), "functionResponse", "response", NULL),
	    output = span_member(response, "output");

	format_write_tool_use(&log->held.blocks, span_member(call, "id"), span_member(call, "name"),
	    span_member(call, "args"));
	if (span_one_of(status, over) == NULL)
		return;
	if (output.at == NULL)
		output = span_member(response, "error");
	/* Beside the response there may be, for instance, an image. */
	if (output.at == NULL || span_element(result, 1).at != NULL)
		output = result;
	gemini_say_child(log, call);
	format_write_result(format_results(log), span_member(call, "id"), span_member(call, "timestamp"), output,
	    !span_is(status, "success"));
}

static void
gemini_take_answer(struct format_log *log, struct span message)
{
	const struct span tokens = span_member(message, "tokens");
	const struct format_usage usage = {
		.input = format_count(tokens, "input") + format_count(tokens, "tool"),
		.output = format_count(tokens, "output") + format_count(tokens, "thoughts"),
		.cache_read = format_count(tokens, "cached"), .reasoning = format_count(tokens, "thoughts") };
	struct held_answer *h = &log->held;

	gemini_say_session(log);
	format_hold(log, span_member(message, "id"));
	for (struct span_walk thought = span_walk(span_member(message, "thoughts")); span_next(&thought);) {
		struct buffer text = BUFFER_INIT, quoted = BUFFER_INIT;

		buffer_text(&text, "**");
		span_decode(span_member(thought.value, "subject"), &text);
		buffer_text(&text, "** ");
		span_decode(span_member(thought.value, "description"), &text);
		json_quote(&quoted, buffer_string(&text), text.len);
		format_write_text(&h->blocks, "thinking", span_of(quoted.data, quoted.len));
		buffer_free(&text);
		buffer_free(&quoted);
	}
	gemini_write_parts(log, span_member(message, "content"), &h->blocks);
	if (span_type(tokens) == 'o')
		format_write_usage(&usage, SPAN_NONE, &h->usage);
	format_keep(&h->model, span_member(message, "model"));
	format_keep(&h->time, span_member(message, "timestamp"));
	for (struct span_walk call = span_walk(span_member(message, "toolCalls")); span_next(&call);)
		gemini_take_call(log, call.value);
	format_say_answer(log);
}

/* Says the message that is held back. */
static void
gemini_say_message(struct format_log *log)
{
	const struct span message = span_of(gemini.message.data, gemini.message.len), type = span_member(message, "type");

	if (gemini.id == NULL)
		return;
	if (span_is(type, "user"))
		gemini_take_user(log, message);
	else if (span_is(type, "gemini"))
		gemini_take_answer(log, message);
	else
		format_leave_out(log, type);
	free(gemini.id);
	gemini.id = NULL;
}

/* made: it is in a history that the program has written anew. */
static void
gemini_take_message(struct format_log *log, struct span message, bool made)
{
	char *id = span_text(span_member(message, "id"));
	const bool held = id != NULL && gemini.id != NULL && strcmp(id, gemini.id) == 0;

	if (id == NULL || (made && held) || (!held && map_get(&gemini.known, id, strlen(id)) != NULL)) {
		free(id);
		return;
	}
	if (!held)
		gemini_say_message(log);
	map_put(&gemini.known, id, strlen(id), 1);
	if (made) {
		/* Results of tools are in it once more. */
		if (span_member(span_element(span_member(message, "content"), 0), "functionResponse").at == NULL)
			format_leave_out(log, FORMAT_OWN_WORDS);
		free(id);
		return;
	}
	free(gemini.id);
	gemini.id = id;
	buffer_clear(&gemini.message);
	buffer_append(&gemini.message, message.at, message.len);
}

/* ---- the log ---- */

static void
gemini_take_line(struct format_log *log, struct span line)
{
	const struct span set = span_member(line, "$set"), head = span_member(line, "sessionId");

	if (span_type(set) == 'o') {
		for (struct span_walk message = span_walk(span_member(set, "messages")); span_next(&message);)
			gemini_take_message(log, message.value, true);
	} else if (span_type(head) == 's') {
		if (gemini.head.len == 0)
			buffer_append(&gemini.head, line.at, line.len);
		for (struct span_walk message = span_walk(span_member(line, "messages")); span_next(&message);)
			gemini_take_message(log, message.value, false);
	} else if (gemini.head.len > 0 && span_type(span_member(line, "id")) == 's') {
		gemini_take_message(log, line, false);
	} else if (span_type(span_member(line, "$rewindTo")) != 's') {
		format_leave_out(log, span_member(line, "type"));
	}
}

/* A log that is one object. One that has gone on as lines is left to that. */
static int
gemini_read_object(struct format_log *log, struct error *err)
{
	struct buffer text = BUFFER_INIT, line = BUFFER_INIT;
	char *lines = memory_format("%sl", log->file);
	size_t bad;
	int failed = 0;

	if (access(lines, F_OK) != 0 && (failed = file_load(log->file, LOG_MOST, &text, err)) == 0) {
		if (scan_within(buffer_string(&text), text.len, SCAN_LINE_DEPTH, &bad) == NULL) {
			scan_minify(span_trim(span_of(text.data, text.len)), &line);
			gemini_take_line(log, span_of(line.data, line.len));
		} else if (text.len > 0) {
			format_leave_out(log, span_of("\"damaged logs\"", 14));
		}
	}
	buffer_free(&text);
	buffer_free(&line);
	free(lines);
	return failed;
}

static int
gemini_read(struct format_log *log, struct error *err)
{
	const int failed = text_ends(log->file, ".json") ? gemini_read_object(log, err) :
	    format_read_lines(log, gemini_take_line, err);

	if (failed == 0 && log->whole)
		gemini_say_message(log);
	map_free(&gemini.known);
	free(gemini.id);
	buffer_free(&gemini.message);
	buffer_free(&gemini.head);
	return failed;
}

int
main(int argc, char **argv)
{
	static const struct format_program format = { .program = "awf-import-gemini", .read = gemini_read };

	return format_main(&format, argc, argv);
}
