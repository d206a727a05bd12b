/* A line that is not finished is read with the next import. */
#include "import/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Takes a log that is one JSON text; false: it is none, or has a text in each line. */
static bool
format_read_document(const struct format_program *format, struct format_log *log, int fd)
{
	struct buffer text = BUFFER_INIT;
	struct span value = SPAN_NONE;
	size_t bad;
	bool one;

	if (file_read(fd, &text, SCAN_LINE_LIMIT) == 0 &&
	    scan_within(buffer_string(&text), text.len, SCAN_LINE_DEPTH, &bad) == NULL)
		value = span_trim(span_of(text.data, text.len));
	one = span_type(value) == 'o' || span_type(value) == 'a';
	log->line = one;
	if (span_type(value) == 'o')
		format->take(log, value);
	for (struct span_walk element = span_walk(value); span_type(value) == 'a' && span_next(&element);)
		format->take(log, element.value);
	buffer_free(&text);
	return one;
}

static int
format_read_lines(const struct format_program *format, struct format_log *log, int fd, const char *path,
    struct error *err)
{
	struct line_input input;
	const char *line;
	size_t len, bad;
	int got;

	line_input_begin(&input, fd, path);
	while ((got = line_input_next(&input, &line, &len, err)) == 1) {
		log->line++;
		/* What the program has not finished writing comes with the next import. */
		if (scan_within(line, len, SCAN_LINE_DEPTH, &bad) == NULL && span_type(span_of(line, len)) == 'o')
			format->take(log, span_of(line, len));
		else if (len > 0)
			format_leave_out(log, span_of("\"damaged lines\"", 15));
		if (log->out.len > (1 << 20) && file_write(STDOUT_FILENO, log->out.data, log->out.len) == 0)
			buffer_clear(&log->out);
	}
	line_input_free(&input);
	return got;
}

static int
format_read(const struct format_program *format, struct format_log *log, const char *path, bool whole,
    struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), got = 0;
	char begin[4];

	if (fd == -1)
		return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	if (format->archive != NULL && pread(fd, begin, sizeof begin, 0) == sizeof begin && memcmp(begin, "PK\3\4", 4) == 0) {
		file_close(&fd);
		return error_set(err, ERROR_INVALID_INPUT, path, "is %s", format->archive);
	}
	if (!format->document || (!format_read_document(format, log, fd) && lseek(fd, 0, SEEK_SET) == 0))
		got = format_read_lines(format, log, fd, path, err);
	file_close(&fd);
	if (format->finish != NULL)
		format->finish(log, whole);
	if (whole)
		format_say_answer(log);
	format_say_left_out(log);
	if (got == 0 && file_write(STDOUT_FILENO, buffer_string(&log->out), log->out.len) != 0)
		got = error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
	return got;
}

void
format_log_free(struct format_log *log)
{
	struct held_answer *h = &log->held;

	for (size_t i = 0; i < log->left_out_count; i++)
		free(log->left_out[i].kind);
	free(log->left_out);
	map_free(&log->kinds);
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
	name = path_base(path);
	log.session = memory_copy(name, strlen(name) - (text_ends(name, SUFFIX) ? strlen(SUFFIX) : 0));
	log.directory = memory_copy(path, strlen(path) - (text_ends(path, SUFFIX) ? strlen(SUFFIX) : 0));
	failed = format_read(format, &log, path, (o.said & OPTION_SAID(OPT_WHOLE)) != 0, &err);
	format_log_free(&log);
	return program_end(format->program, failed != 0 ? program_fail(format->program, &err) : STATUS_OK);
}
