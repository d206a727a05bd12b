/*
 * awf-import-codex FILE: what a session log of Codex says, a "rollout": lines with timestamp, type and
 * payload. An answer is the items of one response; its usage comes after them, in a token_usage_record
 * (0.171) or the first token_count after them (before), which later ones only repeat.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/format.h"

/* An id: the number of the line, as a JSON string. */
static void
codex_line_id(const struct format_log *log, struct buffer *id)
{
	buffer_format(id, "\"%lld\"", (long long)log->line);
}

/* ---- answers ---- */

/* The block that an item of a response is: writes it and returns true, or false if it is none. */
static bool
codex_write_block(struct span item, struct buffer *out)
{
	const struct span type = span_member(item, "type");
	const bool function = span_is(type, "function_call"), custom = span_is(type, "custom_tool_call");
	struct buffer text = BUFFER_INIT;
	struct writer w;
	size_t bad;

	if (!function && !custom && !span_is(type, "local_shell_call"))
		return false;
	if (out->len > 0)
		buffer_byte(out, ',');
	writer_begin(&w, out);
	writer_object(&w);
	writer_member_string(&w, "type", "tool_use");
	writer_member_span(&w, "tool_id", span_member(item, "call_id"));
	if (function || custom)
		writer_member_span(&w, "tool_name", span_member(item, "name"));
	else
		writer_member_string(&w, "tool_name", "local_shell");
	writer_key(&w, "tool_input");
	/* Arguments are JSON in a text; those of a custom tool are any text. */
	span_decode(span_member(item, function ? "arguments" : "input"), &text);
	if (function && text.len > 0 && scan_within(text.data, text.len, SCAN_DEPTH, &bad) == NULL)
		scan_minify(span_of(text.data, text.len), out);
	else if (function || custom)
		json_quote(out, buffer_string(&text), text.len);
	else
		writer_span(&w, span_member(item, "action"));
	w.comma = true;
	writer_object_end(&w);
	buffer_free(&text);
	return true;
}

/* Texts of a message, or of the summary of a reasoning, as blocks. */
static void
codex_write_texts(struct span parts, const char *type, struct buffer *out)
{
	for (struct span_walk part = span_walk(parts); span_next(&part);) {
		struct span text = span_member(part.value, "text");
		struct writer w;

		if (span_type(text) != 's')
			continue;
		if (out->len > 0)
			buffer_byte(out, ',');
		writer_begin(&w, out);
		writer_object(&w);
		writer_member_string(&w, "type", type);
		writer_member_span(&w, type, text);
		writer_object_end(&w);
	}
}

static void
codex_hold(struct format_log *log, struct span time)
{
	struct held_answer *h = &log->held;

	/* What comes after the result of a tool is of the next answer, and so is what comes after usage. */
	if (h->results.len > 0 || h->usage.len > 0)
		format_say_answer(log);
	if (h->id == NULL)
		h->id = memory_format("%lld", (long long)log->line);
	format_keep(&h->time, time);
}

/* The usage of the answer that is held back: what counts an answer again has none. */
static void
codex_take_usage(struct format_log *log, struct span usage)
{
	static const char *const names[] = { "input_tokens", "output_tokens", "cached_input_tokens",
		"cache_write_input_tokens", "reasoning_output_tokens" };
	static const char *const ours[] = { "input_tokens", "output_tokens", "cache_read_tokens",
		"cache_write_tokens", "reasoning_tokens" };
	struct held_answer *h = &log->held;
	struct writer w;

	if (h->id == NULL || h->usage.len > 0 || span_type(usage) != 'o')
		return;
	writer_begin(&w, &h->usage);
	writer_object(&w);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const bool always = i < 2;
		long long count;

		if (span_integer(span_member(usage, names[i]), &count) && (always || count > 0))
			writer_member_integer(&w, ours[i], count);
	}
	writer_object_end(&w);
	format_say_answer(log);
}

/* ---- what the user and tools say ---- */

/* Whether it is the program that says this in the name of the user. */
static bool
codex_is_own(struct span text)
{
	static const char *const begins[] = { "<environment_context>", "<user_instructions>", "<turn_aborted>",
		"<permissions instructions>", "<skills_instructions>", "<apps_instructions>", "# AGENTS.md instructions",
		"<user_action>", "<subagent_notification>", NULL };

	return format_begins_with(text, begins);
}

static void
codex_take_message(struct format_log *log, struct span item, struct span time)
{
	const struct span content = span_member(item, "content"), role = span_member(item, "role");
	struct buffer blocks = BUFFER_INIT, id = BUFFER_INIT;

	if (span_is(role, "assistant")) {
		codex_hold(log, time);
		codex_write_texts(content, "text", &log->held.blocks);
	} else if (!span_is(role, "user") || codex_is_own(span_member(span_element(content, 0), "text"))) {
		format_leave_out(log, FORMAT_OWN_WORDS);
	} else {
		codex_write_texts(content, "text", &blocks);
		codex_line_id(log, &id);
		format_say_prompt(log, span_of(id.data, id.len), time, &blocks);
	}
	buffer_free(&blocks);
	buffer_free(&id);
}

static void
codex_take_output(struct format_log *log, struct span item, struct span time)
{
	struct buffer *out = format_results(log);
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_span(&w, "result", span_member(item, "call_id"));
	writer_member_span(&w, "time", time);
	writer_member_span(&w, "output", span_member(item, "output"));
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

static void
codex_take_item(struct format_log *log, struct span item, struct span time)
{
	const struct span type = span_member(item, "type");
	struct buffer block = BUFFER_INIT;

	if (span_is(type, "message")) {
		codex_take_message(log, item, time);
	} else if (span_is(type, "reasoning")) {
		codex_hold(log, time);
		codex_write_texts(span_member(item, "summary"), "thinking", &log->held.blocks);
	} else if (span_is(type, "function_call_output") || span_is(type, "custom_tool_call_output")) {
		codex_take_output(log, item, time);
	} else if (codex_write_block(item, &block)) {
		codex_hold(log, time);
		if (log->held.blocks.len > 0)
			buffer_byte(&log->held.blocks, ',');
		buffer_append(&log->held.blocks, block.data, block.len);
	} else {
		format_leave_out(log, type);
	}
	buffer_free(&block);
}

/* ---- lines ---- */

static void
codex_say_session(struct format_log *log, struct span meta, struct span time)
{
	struct writer w;

	if (log->begun)
		return;
	log->begun = true;
	log->provider = span_text(span_member(meta, "model_provider"));
	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_member_span(&w, "session", span_member(meta, "id"));
	writer_member_string(&w, "name", "codex");
	writer_member_span(&w, "time", time);
	writer_member_span(&w, "cwd", span_member(meta, "cwd"));
	writer_member_object(&w, "inputs");
	writer_member_span(&w, "version", span_member(meta, "cli_version"));
	writer_member_span(&w, "branch", span_path(meta, "git", "branch", NULL));
	writer_member_span(&w, "forked_from", span_member(meta, "forked_from_id"));
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(&log->out, '\n');
}

static void
codex_take_line(struct format_log *log, struct span line)
{
	const struct span type = span_member(line, "type"), payload = span_member(line, "payload"),
	    time = span_member(line, "timestamp"), kind = span_member(payload, "type");

	if (span_is(type, "session_meta") && span_type(span_member(payload, "id")) == 's')
		codex_say_session(log, payload, time);
	else if (!log->begun)
		format_leave_out(log, type);
	else if (span_is(type, "turn_context"))
		format_keep(&log->model, span_member(payload, "model"));
	else if (span_is(type, "response_item"))
		codex_take_item(log, payload, time);
	else if (span_is(type, "token_usage_record"))
		codex_take_usage(log, span_member(payload, "usage"));
	else if (span_is(type, "event_msg") && span_is(kind, "token_count"))
		codex_take_usage(log, span_path(payload, "info", "last_token_usage", NULL));
	else
		format_leave_out(log, span_type(kind) == 's' ? kind : type);
}

int
main(int argc, char **argv)
{
	static const struct format_program format = { .program = "awf-import-codex", .take = codex_take_line };

	return format_main(&format, argc, argv);
}
