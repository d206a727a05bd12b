/*
 * The functions with which a CLI's table says what a line meant, collecting one message, and how
 * lines get there. A map finds each tool call by its id: a call that is reported twice is ignored
 * the second time, and at the end open calls are closed. If there is no answer, the reason is taken
 * from the first of these that exists: the CLI's own error, an unknown reason of an end, its exit
 * status, its last error line; its stderr determines the category only if it printed nothing else.
 */
#include "cli.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/failure.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "proc/descendants.h"
#include "proc/message.h"
#include "workspace/changed.h"

#define BLOCKS_LIMIT 100000
#define ERROR_LINE_LIMIT ((size_t)64 << 10)

/* Words of CLIs for errors, where there is no status. The first match counts. */
static const struct {
	const char *words;
	enum error_code category;
} phrases[] = {
	{ "nauthorized", ERROR_AUTH },
	{ "Invalid API key", ERROR_AUTH },
	{ "invalid x-api-key", ERROR_AUTH },
	{ "run /login", ERROR_AUTH },
	{ "ot logged in", ERROR_AUTH },
	{ "No authentication", ERROR_AUTH },
	{ "set an Auth method", ERROR_AUTH },
	{ "credit balance", ERROR_AUTH },
	{ "ate limit", ERROR_RATE_LIMIT },
	{ "Too Many Requests", ERROR_RATE_LIMIT },
	{ "exceeded your current quota", ERROR_RATE_LIMIT },
	{ "usage limit", ERROR_RATE_LIMIT },
	{ "high demand", ERROR_OVERLOADED },
	{ "verloaded", ERROR_OVERLOADED },
	{ "context window", ERROR_CONTEXT_LENGTH },
	{ "context length", ERROR_CONTEXT_LENGTH },
	{ "rompt is too long", ERROR_CONTEXT_LENGTH },
	{ "onnection", ERROR_NETWORK },
	{ "nable to connect", ERROR_NETWORK },
	{ "ot connect", ERROR_NETWORK },
	{ "fetch failed", ERROR_NETWORK },
	{ "stream disconnected", ERROR_NETWORK },
	{ "stream ended", ERROR_NETWORK },
	{ "ECONN", ERROR_NETWORK },
	{ "ENOTFOUND", ERROR_NETWORK },
	{ "ETIMEDOUT", ERROR_NETWORK },
	{ "nknown option", ERROR_INVALID },
	{ "nknown argument", ERROR_INVALID },
	{ "unexpected argument", ERROR_INVALID },
	{ "odel not found", ERROR_INVALID }
};

enum error_code
cli_category(const char *message)
{
	for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++)
		if (strstr(message, phrases[i].words) != NULL)
			return phrases[i].category;
	return ERROR_NONE;
}

void
cli_fail_as(struct cli_run *r, enum error_code code, const char *format, ...)
{
	char text[sizeof r->failure.error.message];
	va_list args;

	if (r->failed)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	error_set(&r->failure.error, code, NULL, "%s", text);
	r->failed = true;
}

/* Removes the keys that the CLI was given from its texts. */
static void
hide_keys(const struct cli_run *r, char *text)
{
	for (const char *const *name = r->cli->keys; *name != NULL; name++)
		text_hide(text, strlen(text), getenv(*name));
}

/* What a text means, with the status that the CLI reported. It may contain, or be, the API's own
 * error: "[API Error: {…}]". */
static void
cli_set_failure_from_text(const struct cli_run *r, struct failure *f, long status,
    struct buffer *text)
{
	enum error_code telling = cli_category(buffer_string(text));
	const char *brace = strchr(buffer_string(text), '{');
	struct span error = SPAN_NONE;
	struct buffer quoted = BUFFER_INIT;
	size_t end, bad;

	f->status = status;
	if (brace != NULL && scan_value(brace, text->len - (size_t)(brace - text->data), SCAN_DEPTH,
	    &end, &bad) == NULL) {
		error = span_member(span_of(brace, end), "error");
		if (error.at == NULL && brace == text->data && span_member(span_of(brace, end),
		    "message").at != NULL)
			error = span_of(brace, end);
	}
	if (text->len > 0)
		hide_keys(r, text->data);
	json_quote(&quoted, buffer_string(text), text->len);
	failure_from_json(f, error.at != NULL ? error : span_of(quoted.data, quoted.len), NULL);
	if (f->status == 0 && telling != ERROR_NONE)
		f->error.code = telling;
	buffer_free(&quoted);
}

static void
fail_with_text(struct cli_run *r, long status, struct buffer *text)
{
	r->failed = true;
	cli_set_failure_from_text(r, &r->failure, status, text);
}

void
cli_fail(struct cli_run *r, long status, struct span message)
{
	struct buffer text = BUFFER_INIT;

	if (r->failed)
		return;
	if (span_type(message) == 'o') {
		r->failed = true;
		r->failure.status = status;
		failure_from_json(&r->failure, message, NULL);
		hide_keys(r, r->failure.error.message);
	} else {
		span_decode(message, &text);
		fail_with_text(r, status, &text);
		buffer_free(&text);
	}
}

void
cli_complain(struct cli_run *r, struct span message)
{
	if (span_type(message) != 's')
		return;
	buffer_clear(&r->complaint);
	span_decode(message, &r->complaint);
}

void
cli_fail_complaint(struct cli_run *r, long status)
{
	if (r->complaint.len > 0 && !r->failed)
		fail_with_text(r, status, &r->complaint);
}

void
cli_total(struct cli_run *r, const struct usage *total)
{
	struct usage *u = &r->message.usage;
	const struct {
		const char *name;
		long long now, *since;
	} numbers[] = {
		{ "input", total->input, &u->input },
		{ "output", total->output, &u->output },
		{ "cache_read", total->cache_read, &u->cache_read },
		{ "cache_write", total->cache_write, &u->cache_write },
		{ "reasoning", total->reasoning, &u->reasoning },
		{ "cost", total->cost, &u->cost }
	};
	struct writer w;

	buffer_clear(&r->total);
	writer_begin(&w, &r->total);
	writer_object(&w);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		long long then = r->start.session == NULL ? 0 : -1;

		if (numbers[i].now < 0)
			continue;
		writer_member_integer(&w, numbers[i].name, numbers[i].now);
		number_set(&then, span_path(r->start.known, "total", numbers[i].name, NULL));
		if (then >= 0 && numbers[i].now >= then)
			*numbers[i].since = numbers[i].now - then;
	}
	writer_object_end(&w);
}

bool
cli_reaches(const char *version, const char *least)
{
	long mine = 0, needed = 0;

	/* Compare the numbers until two differ; what follows the last number is ignored. */
	while (version != NULL && *least != '\0' && mine == needed) {
		char *version_end, *least_end;

		mine = strtol(version, &version_end, 10);
		needed = strtol(least, &least_end, 10);
		version = version_end + (*version_end == '.');
		least = least_end + (*least_end == '.');
	}
	return version != NULL && mine >= needed;
}

void
cli_ended(struct cli_run *r, const struct end *ends, struct span word)
{
	const char *reason;

	r->strange_end.code = ERROR_NONE;
	reason = end_reason(ends, SPAN_NONE, word, SPAN_NONE, &r->strange_end);
	r->message.ended = reason != NULL;
	if (reason != NULL)
		r->message.stop_reason = reason;
}

void
cli_preview(struct cli_run *r, const char *kind, struct span text)
{
	struct buffer piece = BUFFER_INIT;

	span_decode(text, &piece);
	provider_delta(r->provider, kind, buffer_string(&piece), piece.len);
	buffer_free(&piece);
	r->streamed = true;
}

/* Appends to a block, and reports the text unless that was done in pieces. */
static void
cli_append_to_block(struct cli_run *r, struct block *b, const char *kind, struct span text)
{
	size_t old = b->text.len;

	span_decode(text, &b->text);
	if (!r->streamed)
		provider_delta(r->provider, kind, buffer_string(&b->text) + old, b->text.len - old);
}

static bool
cli_is_nonempty_string(struct span text)
{
	return span_type(text) == 's' && !span_is(text, "");
}

void
cli_text(struct cli_run *r, struct span text)
{
	if (cli_is_nonempty_string(text))
		cli_append_to_block(r, message_add(&r->message, BLOCK_TEXT, -1), "text", text);
}

void
cli_piece(struct cli_run *r, struct span text)
{
	if (cli_is_nonempty_string(text))
		cli_append_to_block(r, message_last(&r->message, BLOCK_TEXT), "text", text);
}

void
cli_thinking(struct cli_run *r, struct span text, struct span signature)
{
	struct block *b;

	if (!cli_is_nonempty_string(text))
		return;
	b = message_add(&r->message, BLOCK_THINKING, -1);
	b->api = r->cli->name;
	span_decode(signature, &b->signature);
	cli_append_to_block(r, b, "thinking", text);
}

static struct cli_call *
find_call(const struct cli_run *r, const char *id)
{
	const size_t *index = id == NULL ? NULL : map_get(&r->call_index, id, strlen(id));

	return index == NULL ? NULL : &r->calls[*index];
}

/* A block of a tool that the CLI ran. */
static struct block *
add_tool(struct cli_run *r, enum block_type type, const char *theirs_type, const char *id,
    struct span value)
{
	struct block *b = message_add(&r->message, type, -1);

	b->tool_id = memory_text(id);
	b->ran = true;
	b->api = r->cli->name;
	block_note(b, "type", theirs_type);
	if (value.at != NULL)
		scan_minify(value, &b->text);
	return b;
}

/* The AWF name of one of AWF's tools, from the CLI's name; NULL: it is not one. */
static const char *
served_name(const struct cli_run *r, const char *theirs)
{
	size_t len = r->cli->served == NULL ? 0 : strlen(r->cli->served);

	return len > 0 && strncmp(theirs, r->cli->served, len) == 0 && cli_serves(r, theirs + len) ?
	    theirs + len : NULL;
}

void
cli_call(struct cli_run *r, const char *type, struct span id, const char *theirs,
    struct span input)
{
	const struct cli_tool *tool = r->cli->tools;
	struct cli_call call = { .id = span_text(id) };
	const char *name;
	struct block *b;
	char *path;

	if (call.id == NULL || theirs == NULL || find_call(r, call.id) != NULL) {
		free(call.id);
		return;
	}
	while (tool->ours != NULL && strcmp(tool->theirs, theirs) != 0)
		tool++;
	name = served_name(r, theirs);
	call.served = name != NULL;
	b = add_tool(r, BLOCK_TOOL_USE, type, call.id, input);
	b->tool_name = memory_text(name != NULL ? name : tool->ours == NULL ? theirs : tool->ours);
	block_note(b, "name", theirs);
	/* A path, or the paths in an array of objects that have one each. */
	if (tool->changes != NULL) {
		struct span changes = span_member(input, tool->changes);

		if ((path = span_text(changes)) != NULL)
			list_take(&call.changes, path);
		for (struct span_walk each = span_walk(changes); !each.object && span_next(&each);)
			if ((path = span_text(span_member(each.value, "path"))) != NULL)
				list_take(&call.changes, path);
	}
	map_put(&r->call_index, call.id, strlen(call.id), r->call_count);
	r->calls = memory_array(r->calls, r->call_count + 1, sizeof *r->calls);
	r->calls[r->call_count++] = call;
	if (!call.served)
		provider_tool(r->provider, b, ERROR_NONE, NULL);
}

static void
add_result(struct cli_run *r, const char *type, struct cli_call *call, struct span output,
    enum error_code code)
{
	struct changed changed = CHANGED_INIT;
	struct block *b = add_tool(r, BLOCK_TOOL_RESULT, type, call->id,
	    output.at == NULL ? span_of("\"\"", 2) : output);

	call->answered = true;
	b->is_error = code != ERROR_NONE;
	for (char **path = call->changes; code == ERROR_NONE && path != NULL && *path != NULL; path++)
		changed_told(&changed, *path);
	if (!call->served)
		provider_tool(r->provider, b, code, &changed);
	changed_free(&changed);
}

void
cli_result(struct cli_run *r, const char *type, struct span id, struct span output,
    enum error_code code)
{
	char *call_id = span_text(id);
	struct cli_call *call = find_call(r, call_id);

	if (call != NULL && !call->answered)
		add_result(r, type, call, output, code);
	free(call_id);
}

void
cli_tries_again(struct cli_run *r, long tried, long status, const char *why)
{
	struct failure f = { .status = 0 };
	struct buffer text = BUFFER_INIT;

	if (r->failed)
		return;
	buffer_text(&text, why);
	cli_set_failure_from_text(r, &f, status, &text);
	f.error.code = cli_cut_off(r, f.error.code);
	/* A refused key is tried once more, because the login may have been renewed. */
	if (tried > 1 && error_class(f.error.code) != CLASS_TRANSIENT) {
		r->failure = f;
		r->failed = r->hopeless = true;
	} else {
		provider_retry(r->provider, &f);
	}
	buffer_free(&text);
}

enum error_code
cli_cut_off(const struct cli_run *r, enum error_code code)
{
	bool acts = cli_allows(r, "bash") || cli_allows(r, "write") || cli_allows(r, "edit");
	bool began = r->message.session_id != NULL || r->message.count > 0;

	return r->cli->tells_late && acts && began && error_class(code) == CLASS_TRANSIENT ?
	    ERROR_CUT_OFF : code;
}

/* Lines of its output. */

/* Appends a line without NULs, with invalid UTF-8 and single surrogates replaced, so that JSON
 * can represent it. */
static void
cli_repair_line(const char *line, size_t len, struct buffer *out)
{
	struct buffer text = BUFFER_INIT;
	size_t piece;

	for (size_t i = 0; i < len; i += piece + 1) {
		piece = strnlen(line + i, len - i);
		utf8_mend(line + i, piece, &text);
	}
	scan_mend(span_of(buffer_string(&text), text.len), out);
	buffer_free(&text);
}

static bool
is_object(const char *line, size_t len)
{
	size_t bad;

	return scan_check(line, len, &bad) == NULL && span_type(span_of(line, len)) == 'o';
}

static void
cli_read_object(struct cli_run *r, struct span line)
{
	const char *sub_agent = r->cli->sub_agent;

	if (sub_agent != NULL && span_type(span_member(line, sub_agent)) == 's')
		return;
	r->cli->take(r, span_member(line, "type"), line);
	if (r->message.count > BLOCKS_LIMIT) {
		cli_fail_as(r, ERROR_PROVIDER, "the answer has more than %d blocks", BLOCKS_LIMIT);
		r->hopeless = true;
	}
}

static void
cli_read_line(struct cli_run *r, const char *line, size_t len)
{
	struct buffer mended = BUFFER_INIT, shown = BUFFER_INIT;

	if (is_object(line, len)) {
		cli_read_object(r, span_of(line, len));
		return;
	}
	cli_repair_line(line, len, &mended);
	if (is_object(buffer_string(&mended), mended.len)) {
		cli_read_object(r, span_of(mended.data, mended.len));
	} else if (span_trim(span_of(buffer_string(&mended), mended.len)).len > 0 &&
	    r->noise++ == 0) {
		text_visible(&shown, line, len, 40);
		snprintf(r->noise_sample, sizeof r->noise_sample, "%s", buffer_string(&shown));
		buffer_free(&shown);
	}
	buffer_free(&mended);
}

void
cli_feed(struct cli_run *r, const char *bytes, size_t len)
{
	const char *end = bytes + len, *lf;

	for (; (lf = memchr(bytes, '\n', (size_t)(end - bytes))) != NULL; bytes = lf + 1) {
		if (r->rest.len == 0) {
			cli_read_line(r, bytes, (size_t)(lf - bytes));
			continue;
		}
		buffer_append(&r->rest, bytes, (size_t)(lf - bytes));
		cli_read_line(r, r->rest.data, r->rest.len);
		buffer_clear(&r->rest);
	}
	buffer_append(&r->rest, bytes, (size_t)(end - bytes));
	if (r->rest.len > CLI_LINE_LIMIT) {
		cli_fail_as(r, ERROR_PROVIDER, "a line of %s is above %zu MiB", r->cli->name,
		    CLI_LINE_LIMIT >> 20);
		buffer_clear(&r->rest);
		r->hopeless = true;
	}
}

void
cli_feed_errors(struct cli_run *r, const char *bytes, size_t len)
{
	struct buffer *rest = &r->errors_rest;
	const char *lf;

	if (r->cli->take_error == NULL)
		return;
	for (; (lf = memchr(bytes, '\n', len)) != NULL; bytes = lf + 1) {
		buffer_append(rest, bytes, (size_t)(lf - bytes));
		r->cli->take_error(r, buffer_string(rest));
		buffer_clear(rest);
		len -= (size_t)(lf - bytes) + 1;
	}
	/* Of a longer line, only the beginning is kept. */
	if (rest->len + len <= ERROR_LINE_LIMIT)
		buffer_append(rest, bytes, len);
}

/* The CLI ended without saying that the answer is complete, or why there is none. Its stderr
 * counts only if it printed nothing else. */
static void
fail_incomplete(struct cli_run *r, int exit_code)
{
	bool silent = r->message.count == 0 && r->message.session_id == NULL;
	enum error_code code = silent ? cli_category(buffer_string(&r->errors)) : ERROR_NONE;
	struct span said = span_trim(span_of(buffer_string(&r->errors), r->errors.len));
	const char *line = said.at, *end = said.at + said.len, *lf;
	char *words;

	/* Find the line that begins with an error, else the last one. */
	while ((lf = memchr(line, '\n', (size_t)(end - line))) != NULL &&
	    strncmp(line, "Error", 5) != 0 && strncmp(line, "error", 5) != 0)
		line = lf + 1;
	words = memory_copy(line, (size_t)((lf == NULL ? end : lf) - line));
	hide_keys(r, words);
	r->silent = silent && (code == ERROR_NONE || code == ERROR_INVALID);
	if (code == ERROR_NONE)
		code = exit_code == 128 + SIGINT || exit_code == 128 + SIGTERM ? ERROR_CANCELLED :
		    ERROR_PROVIDER;
	cli_fail_as(r, cli_cut_off(r, code), "%s ended without an answer: exit status %d%s%s",
	    r->cli->name, exit_code, words[0] == '\0' ? "" : ": ", words);
	free(words);
}

void
cli_end(struct cli_run *r, int exit_code)
{
	static const char no_result[] = "\"no result\"";
	struct message *m = &r->message;

	cli_feed(r, "\n", 1);
	if (r->strange_end.code != ERROR_NONE)
		cli_fail_as(r, r->strange_end.code, "%s", r->strange_end.message);
	if (!r->failed && r->cli->finish != NULL)
		r->cli->finish(r, exit_code);
	for (size_t i = 0; i < r->call_count; i++)
		if (!r->calls[i].answered)
			add_result(r, "none", &r->calls[i], span_of(no_result, sizeof no_result - 1),
			    ERROR_INCOMPLETE);
	if (r->noise > 0)
		message_print(r->cli->program, "passed over %zu line%s that %s no JSON: %s", r->noise,
		    r->noise == 1 ? "" : "s", r->noise == 1 ? "is" : "are", r->noise_sample);
	if (!m->ended)
		cli_fail_complaint(r, 0);
	if (!r->failed && !m->ended)
		fail_incomplete(r, exit_code);
	else if (m->count == 0)
		cli_fail_as(r, ERROR_PROVIDER, "the answer of %s is empty", r->cli->name);
	if (m->stop_reason == NULL)
		m->stop_reason = "end_turn";
	if (m->model == NULL && !span_is(r->request->model, "default"))
		text_once(&m->model, r->request->model);
	/* The last block says how to continue the session. */
	if (m->count > 0 && m->session_id != NULL) {
		struct block *last = &m->blocks[m->count - 1];

		last->api = r->cli->name;
		block_note(last, "session", m->session_id);
		if (r->total.len > 0)
			block_keep_as(last, "total", span_of(r->total.data, r->total.len));
	}
}

void
cli_begin(struct cli_run *r, const struct cli *cli, struct provider *p,
    const struct provider_request *request)
{
	*r = (struct cli_run){ .cli = cli, .provider = p, .request = request };
	message_begin(&r->message);
	cli_read_request(r);
}

void
cli_free(struct cli_run *r)
{
	for (size_t i = 0; i < r->call_count; i++) {
		free(r->calls[i].id);
		list_free(r->calls[i].changes);
	}
	free(r->calls);
	map_free(&r->call_index);
	free(r->start.session);
	free(r->version);
	buffer_free(&r->start.prompt);
	buffer_free(&r->rest);
	buffer_free(&r->errors);
	buffer_free(&r->errors_rest);
	buffer_free(&r->complaint);
	buffer_free(&r->total);
	message_free(&r->message);
}

/* A CLI that does not know an option prints that in its own words, and nothing else. */
static void
check_version(struct cli_run *r)
{
	const struct cli *cli = r->cli;
	char *version = cli_version(cli);

	if (version != NULL && !cli_reaches(version, cli->oldest))
		error_set(&r->failure.error, ERROR_INVALID, NULL, "%s %s is too old: %s or later is "
		    "needed (%s)", cli->name, version, cli->oldest, cli->install);
	free(version);
}

static void
cli_answer_request(void *context, struct provider *p, const struct provider_request *request)
{
	const struct cli *cli = context;
	char **secrets = NULL;
	struct cli_run r;

	for (const char *const *name = cli->keys; *name != NULL; name++)
		if (environment_text(*name) != NULL)
			list_add(&secrets, environment_text(*name));
	provider_hide(p, secrets);
	cli_begin(&r, cli, p, request);
	if (!r.failed)
		cli_process(&r);
	if (r.failed && r.silent)
		check_version(&r);
	r.failure.spent = &r.message;
	if (r.failed)
		provider_error(p, &r.failure);
	else
		provider_message(p, &r.message);
	cli_free(&r);
	list_free(secrets);
}

static int
cli_adopt_descendants(void *context, struct error *err)
{
	(void)context;
	(void)err;
	descendants_adopt();
	return 0;
}

/* Only the CLI knows whether its user is logged in, and only while it answers. */
static int
cli_check_program(void *context, struct writer *w, struct error *err)
{
	const struct cli *cli = context;
	const char *list = getenv("PATH");
	char *path = path_search(list == NULL ? "" : list, cli->name);

	writer_member_string(w, "program", path);
	if (path == NULL)
		return error_set(err, ERROR_INVALID, NULL, CLI_NOT_FOUND, cli->name, cli->install);
	free(path);
	return 0;
}

int
cli_main(const struct cli *cli, int argc, char **argv)
{
	const struct provider_api program = { .program = cli->program, .usage = cli->usage,
		.start = cli_adopt_descendants, .check = cli_check_program,
		.answer = cli_answer_request, .context = (void *)(uintptr_t)cli };

	return provider_main(&program, argc, argv);
}
