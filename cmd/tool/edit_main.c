/*
 * awf-tool-edit: replaces a text in a file by another. The text must be there as it is
 * given, and once, unless all are to be replaced. In a file whose lines all end with CR LF
 * the line ends of both texts are taken as such, as models write LF.
 */
#include <string.h>

#include "builtin.h"
#include "json/scan.h"

#define FILE_LIMIT ((size_t)64 << 20)
#define PLACES_TOLD 5

struct edit {
	const char *path;
	struct words old, new;
	bool all;
	struct buffer file;
	struct buffer crlf[2];   /* the texts with line ends of the file's */
	struct buffer result;
	size_t count;
	struct buffer lines;     /* "3, 17": where it is there */
};

/* The first place of a text; NULL if there is none. */
static const char *
edit_find_text(const char *at, const char *end, struct words text)
{
	while ((size_t)(end - at) >= text.len) {
		const char *next = memchr(at, text.text[0], (size_t)(end - at) - text.len + 1);

		if (next == NULL || memcmp(next, text.text, text.len) == 0)
			return next;
		at = next + 1;
	}
	return NULL;
}

static size_t
count_lines(const char *at, const char *end)
{
	size_t count = 0;

	while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		at++;
		count++;
	}
	return count;
}

/* Whether all lines end with CR LF, and there are some. */
static bool
has_crlf(const struct buffer *file)
{
	const char *start = buffer_string(file), *end = start + file->len, *at = start;
	size_t count = 0;

	for (; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++, count++)
		if (at == start || at[-1] != '\r')
			return false;
	return count > 0;
}

static struct words
with_crlf(struct words text, struct buffer *out)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.text[i] == '\n' && (i == 0 || text.text[i - 1] != '\r'))
			buffer_byte(out, '\r');
		buffer_byte(out, text.text[i]);
	}
	return (struct words){ buffer_string(out), out->len };
}

/* Makes the result, with every place replaced. */
static void
replace_all(struct edit *e)
{
	const char *at = buffer_string(&e->file), *end = at + e->file.len, *next;
	size_t line = 1;

	for (; (next = edit_find_text(at, end, e->old)) != NULL; at = next + e->old.len) {
		line += count_lines(at, next);
		if (e->count < PLACES_TOLD)
			buffer_format(&e->lines, "%s%zu", e->count == 0 ? "" : ", ", line);
		else if (e->count == PLACES_TOLD)
			buffer_text(&e->lines, " …");
		e->count++;
		line += count_lines(next, next + e->old.len);
		buffer_append(&e->result, at, (size_t)(next - at));
		buffer_append(&e->result, e->new.text, e->new.len);
	}
	buffer_append(&e->result, at, (size_t)(end - at));
}

/* Where a line is that is the first of old_string but for white space; 0: nowhere. */
static size_t
edit_find_similar_line(const struct edit *e)
{
	const char *at = buffer_string(&e->file), *end = at + e->file.len, *lf;
	struct span wanted = span_trim(span_of(e->old.text, e->old.len)), line;

	lf = wanted.len == 0 ? NULL : memchr(wanted.at, '\n', wanted.len);
	if (lf != NULL)
		wanted = span_trim(span_of(wanted.at, (size_t)(lf - wanted.at)));
	for (size_t number = 1; at < end && wanted.len > 0; number++, at = lf + 1) {
		lf = memchr(at, '\n', (size_t)(end - at));
		if (lf == NULL)
			lf = end;
		line = span_trim(span_of(at, (size_t)(lf - at)));
		if (span_same(line, wanted))
			return number;
	}
	return 0;
}

static int
edit_replace_text(struct edit *e, struct error *err)
{
	size_t line;

	if (has_crlf(&e->file)) {
		e->old = with_crlf(e->old, &e->crlf[0]);
		e->new = with_crlf(e->new, &e->crlf[1]);
	}
	replace_all(e);
	if (e->count > 1 && !e->all)
		return error_set(err, ERROR_INVALID_INPUT, e->path, "old_string is there %zu times "
		    "(lines %s): give more of what is around it, or replace_all", e->count,
		    e->lines.data);
	if (e->count > 0)
		return 0;
	line = edit_find_similar_line(e);
	if (line == 0)
		return error_set(err, ERROR_INVALID_INPUT, e->path,
		    "old_string is not in the file");
	return error_set(err, ERROR_INVALID_INPUT, e->path, "old_string is not in the file "
	    "exactly as "
	    "given, but line %zu resembles its first line: read the file there", line);
}

static int
edit_tool_run(struct edit *e, struct builtin *b, struct error *err)
{
	bool exists;

	if (change_check(e->path, &exists, err) != 0)
		return -1;
	if ((exists || e->old.len > 0) &&
	    builtin_load(e->path, FILE_LIMIT, &e->file, err) != 0)
		return -1;
	/* An empty text stands for a file that does not exist yet, or is empty. */
	if (e->old.len == 0 && e->file.len > 0)
		return error_set(err, ERROR_INVALID_INPUT, e->path,
		    "old_string is empty, but the file is not");
	if (e->old.len == 0)
		buffer_append(&e->result, e->new.text, e->new.len);
	else if (edit_replace_text(e, err) != 0)
		return -1;
	if (change_write(e->path, buffer_string(&e->result), e->result.len, err) != 0)
		return -1;
	if (e->count == 0)
		change_tell(e->path, exists, e->result.len, &b->answer);
	else
		buffer_format(&b->answer, "replaced %zu occurrence%s in %s (line%s %s)", e->count,
		    e->count == 1 ? "" : "s", e->path, e->count == 1 ? "" : "s", e->lines.data);
	return 0;
}

static int
edit_file(struct builtin *b, struct error *err)
{
	struct edit e = { .path = NULL };
	const struct argument arguments[] = {
		{ "file_path", &e.path, ARGUMENT_NAME, .required = true },
		{ "old_string", &e.old, ARGUMENT_TEXT, .required = true },
		{ "new_string", &e.new, ARGUMENT_TEXT, .required = true },
		{ "replace_all", &e.all, ARGUMENT_FLAG, .required = false },
		{ .name = NULL }
	};
	int failed;

	if (builtin_arguments(b, arguments, err) != 0)
		return -1;
	if (e.old.len == e.new.len && memcmp(e.old.text, e.new.text, e.old.len) == 0)
		return error_set(err, ERROR_INVALID_INPUT, NULL,
		    "old_string and new_string are the same");
	failed = edit_tool_run(&e, b, err);
	buffer_free(&e.file);
	buffer_free(&e.crlf[0]);
	buffer_free(&e.crlf[1]);
	buffer_free(&e.result);
	buffer_free(&e.lines);
	return failed;
}

int
main(int argc, char **argv)
{
	return builtin_main("edit", edit_file, argc, argv);
}
