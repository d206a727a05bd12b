/* A line that is not finished is read with the next import. */
#include "import/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "io/file.h"
#include "io/path.h"
#include "json/line_input.h"
#include "program.h"

#define SUFFIX ".jsonl"

enum { OPT_WHOLE = 1 };

static const struct option_spec options[] = {
	{ OPT_WHOLE, 0, "whole", NULL, "the session is over: what is held back is said", OPTION_ONLY_SAID },
	{ OPTION_END, 0, NULL, NULL, NULL },
};

bool
format_begins_with(struct span text, const char *const *begins)
{
	struct buffer plain = BUFFER_INIT;
	bool found = false;

	span_decode(text, &plain);
	for (; *begins != NULL && !found; begins++)
		found = strncmp(buffer_string(&plain), *begins, strlen(*begins)) == 0;
	buffer_free(&plain);
	return found;
}

void
format_leave_out(struct format_log *log, struct span kind)
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

void
format_keep(struct buffer *kept, struct span value)
{
	if (value.at == NULL || span_type(value) == '0')
		return;
	buffer_clear(kept);
	buffer_append(kept, value.at, value.len);
}

struct buffer *
format_results(struct format_log *log)
{
	return log->held.id != NULL ? &log->held.results : &log->out;
}

void
format_hold(struct format_log *log, struct span id)
{
	struct held_answer *h = &log->held;
	char *text = span_text(id);

	if (h->id == NULL || text == NULL || strcmp(h->id, text) != 0) {
		format_say_answer(log);
		h->id = text;
		text = NULL;
	}
	free(text);
}

/* Begins a block, which is ended by format_end_block(). */
static void
format_begin_block(struct writer *w, struct buffer *blocks, const char *type)
{
	if (blocks->len > 0)
		buffer_byte(blocks, ',');
	writer_begin(w, blocks);
	writer_object(w);
	writer_member_string(w, "type", type);
}

void
format_write_text(struct buffer *blocks, const char *type, struct span text)
{
	struct writer w;

	if (span_type(text) != 's' || text.len <= 2)
		return;
	format_begin_block(&w, blocks, type);
	writer_member_span(&w, type, text);
	writer_object_end(&w);
}

void
format_write_image(struct buffer *blocks, struct span media_type, struct span data)
{
	struct writer w;

	format_begin_block(&w, blocks, "image");
	writer_member_span(&w, "media_type", media_type);
	writer_member_span(&w, "data", data);
	writer_object_end(&w);
}

void
format_write_tool_use(struct buffer *blocks, struct span id, struct span name, struct span input)
{
	struct writer w;

	if (span_type(id) != 's' || span_type(name) != 's')
		return;
	format_begin_block(&w, blocks, "tool_use");
	writer_member_span(&w, "tool_id", id);
	writer_member_span(&w, "tool_name", name);
	writer_member_span(&w, "tool_input", input);
	writer_object_end(&w);
}

void
format_write_result(struct buffer *out, struct span call, struct span time, struct span output, bool is_error)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_span(&w, "result", call);
	writer_member_span(&w, "time", time);
	writer_member_span(&w, "output", output);
	writer_member_bool(&w, "is_error", is_error);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

void
format_write_child(struct buffer *out, const char *path, struct span call, const char *as, bool over)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_string(&w, "child", path);
	writer_member_span(&w, "call", call);
	writer_member_string(&w, "as", as);
	writer_member_bool(&w, "over", over);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

long long
format_count(struct span object, const char *name)
{
	long long count;

	return span_integer(span_member(object, name), &count) && count > 0 ? count : 0;
}

void
format_write_usage(const struct format_usage *usage, struct span cost_usd, struct buffer *out)
{
	const struct { const char *name; long long count; } counts[] = { { "input_tokens", usage->input },
		{ "output_tokens", usage->output }, { "cache_read_tokens", usage->cache_read },
		{ "cache_write_tokens", usage->cache_write }, { "reasoning_tokens", usage->reasoning } };
	struct writer w;

	buffer_clear(out);
	writer_begin(&w, out);
	writer_object(&w);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (i < 2 || counts[i].count > 0)
			writer_member_integer(&w, counts[i].name, counts[i].count);
	writer_member_span(&w, "cost_usd", cost_usd);
	writer_object_end(&w);
}

void
format_say_answer(struct format_log *log)
{
	struct held_answer *h = &log->held;
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
	writer_member_string(&w, "provider", log->provider);
	writer_member_buffer(&w, "model", h->model.len > 0 ? &h->model : &log->model);
	writer_member_buffer(&w, "stop_reason", &h->stop_reason);
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

void
format_say_prompt(struct format_log *log, struct span id, struct span time, const struct buffer *blocks)
{
	struct writer w;

	format_say_answer(log);
	writer_begin(&w, &log->out);
	writer_object(&w);
	writer_key(&w, "prompt");
	buffer_byte(&log->out, '[');
	buffer_append(&log->out, buffer_string(blocks), blocks->len);
	buffer_byte(&log->out, ']');
	w.comma = true;
	writer_member_span(&w, "id", id);
	writer_member_span(&w, "time", time);
	writer_member_string(&w, "provider", log->provider);
	writer_member_buffer(&w, "model", &log->model);
	writer_object_end(&w);
	buffer_byte(&log->out, '\n');
}

/* ---- the program ---- */

static void
format_say_left_out(struct format_log *log)
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

static bool
format_is_archive(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char begin[4];
	const bool is = fd != -1 && pread(fd, begin, sizeof begin, 0) == sizeof begin && memcmp(begin, "PK\3\4", 4) == 0;

	file_close(&fd);
	return is;
}

/* Takes a log that is one JSON text; false: it is none, or has a text in each line, or cannot be read. */
static bool
format_read_document(const struct format_program *format, struct format_log *log)
{
	int fd = open(log->file, O_RDONLY | O_CLOEXEC);
	struct buffer text = BUFFER_INIT;
	struct span value = SPAN_NONE;
	size_t bad;
	bool one;

	if (fd != -1 && file_read(fd, &text, SCAN_LINE_LIMIT) == 0 &&
	    scan_within(buffer_string(&text), text.len, SCAN_LINE_DEPTH, &bad) == NULL)
		value = span_trim(span_of(text.data, text.len));
	one = span_type(value) == 'o' || span_type(value) == 'a';
	log->line = one;
	if (span_type(value) == 'o')
		format->take(log, value);
	for (struct span_walk element = span_walk(value); span_type(value) == 'a' && span_next(&element);)
		format->take(log, element.value);
	buffer_free(&text);
	file_close(&fd);
	return one;
}

static int
format_flush(struct format_log *log, struct error *err)
{
	if (file_write(STDOUT_FILENO, buffer_string(&log->out), log->out.len) != 0)
		return error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
	buffer_clear(&log->out);
	return 0;
}

int
format_read_lines(struct format_log *log, void (*take)(struct format_log *log, struct span line), struct error *err)
{
	int fd = open(log->file, O_RDONLY | O_CLOEXEC), got = -1;
	struct line_input input;
	const char *line;
	size_t len, bad;

	if (fd == -1)
		return error_errno(err, ERROR_SYSTEM, log->file, "unable to open");
	log->line = 0;
	line_input_begin(&input, fd, log->file);
	while ((got = line_input_next(&input, &line, &len, err)) == 1) {
		log->line++;
		/* What the program has not finished writing comes with the next import. */
		if (scan_within(line, len, SCAN_LINE_DEPTH, &bad) == NULL && span_type(span_of(line, len)) == 'o')
			take(log, span_of(line, len));
		else if (len > 0)
			format_leave_out(log, span_of("\"damaged lines\"", 15));
		if (log->out.len > (1 << 20) && format_flush(log, err) != 0) {
			got = -1;
			break;
		}
	}
	line_input_free(&input);
	file_close(&fd);
	return got;
}

static int
format_read(const struct format_program *format, struct format_log *log, struct error *err)
{
	int failed = 0;

	if (format->read_archive != NULL && format_is_archive(log->file))
		failed = format->read_archive(log, err);
	else if (format->read != NULL)
		failed = format->read(log, err);
	else if (!format->document || !format_read_document(format, log))
		failed = format_read_lines(log, format->take, err);
	if (failed != 0)
		return -1;
	if (format->finish != NULL)
		format->finish(log);
	if (log->whole)
		format_say_answer(log);
	format_say_left_out(log);
	return format_flush(log, err);
}

/* Finds which file it is, and what of it: a file is no directory. */
static void
format_split_path(struct format_log *log, const char *path)
{
	char *file = path_directory(path);
	struct stat status;
	const bool inside = stat(path, &status) != 0 && stat(file, &status) == 0 && S_ISREG(status.st_mode);

	log->path = path;
	log->file = inside ? file : memory_text(path);
	log->inside = memory_text(inside ? path_base(path) : "");
	if (!inside)
		free(file);
}

void
format_log_free(struct format_log *log)
{
	struct held_answer *h = &log->held;

	for (size_t i = 0; i < log->left_out_count; i++)
		free(log->left_out[i].kind);
	free(log->left_out);
	map_free(&log->kinds);
	free(log->file);
	free(log->inside);
	free(log->session);
	free(log->directory);
	free(log->provider);
	buffer_free(&log->model);
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
format_main(const struct format_program *format, int argc, char **argv)
{
	struct format_log log = { .session = NULL };
	struct error err = ERROR_INIT;
	const char *path = NULL, *name;
	struct options o;
	int id, failed;

	program_begin();
	options_begin(&o, options, argc, argv);
	while ((id = options_next(&o, &err)) == OPTION_WORD && path == NULL)
		path = o.value;
	if (id == OPTION_HELP) {
		char *usage = memory_format("%s [--whole] FILE\n", format->program);

		options_help(stdout, usage, options, OPTION_HELP);
		free(usage);
		return program_end(format->program, STATUS_OK);
	}
	if (id == OPTION_VERSION)
		return program_end(format->program, program_version(format->program));
	if (id == OPTION_WORD)
		error_set(&err, ERROR_USAGE, o.value, "is one file too many");
	else if (id == OPTION_END && path == NULL)
		error_set(&err, ERROR_USAGE, NULL, "takes a file");
	if (id != OPTION_END || path == NULL)
		return program_fail(format->program, &err);
	log.whole = (o.said & OPTION_SAID(OPT_WHOLE)) != 0;
	format_split_path(&log, path);
	name = path_base(path);
	log.session = memory_copy(name, strlen(name) - (text_ends(name, SUFFIX) ? strlen(SUFFIX) : 0));
	log.directory = memory_copy(path, strlen(path) - (text_ends(path, SUFFIX) ? strlen(SUFFIX) : 0));
	failed = format_read(format, &log, &err);
	format_log_free(&log);
	return program_end(format->program, failed != 0 ? program_fail(format->program, &err) : STATUS_OK);
}
