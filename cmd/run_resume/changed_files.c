/*
 * A file is read only if its digest differs. If its recorded text was not stored, only its name is
 * printed; otherwise the two texts are compared line by line and printed as diff -u does.
 */
#include "run_resume/changed_files.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/invariant.h"
#include "base/line_diff.h"
#include "base/locale.h"
#include "base/text.h"
#include "io/file.h"
#include "transcript/blob.h"

#define DIFF_LINES 100 /* for each file */
#define CONTEXT 3

/* Prints the lines of a diff. */
struct told_lines {
	struct buffer *out;
	size_t left;    /* how many may still be printed */
	size_t more;    /* how many were omitted */
};

static void
put_line(void *user, char sign, const char *line, size_t len, bool lf)
{
	struct told_lines *told = user;
	struct buffer *out = told->out;

	if (told->left == 0) {
		told->more++;
		return;
	}
	INVARIANT(told->more == 0 && memchr(line, '\n', len) == NULL);
	told->left--;
	buffer_byte(out, sign == '=' ? ' ' : sign);
	/* A tab is harmless. */
	for (size_t at = 0; at <= len;) {
		const char *tab = memchr(line + at, '\t', len - at);
		size_t part = tab != NULL ? (size_t)(tab - line) - at : len - at;

		text_visible(out, line + at, part, 0);
		if (tab != NULL)
			buffer_byte(out, '\t');
		at += part + 1;
	}
	buffer_byte(out, '\n');
	if (!lf)
		buffer_text(out, "\\ No newline at end of file\n");
}

static void
put_range(char sign, size_t start, size_t count, struct buffer *out)
{
	buffer_format(out, " %c%zu", sign, count == 0 ? start : start + 1);
	if (count != 1)
		buffer_format(out, ",%zu", count);
}

/* Appends the hunks of a unified diff (from "@@" on, three lines of context); nothing if the texts
 * are equal. After DIFF_LINES lines it says how many more there are. Each line passes
 * text_visible(). */
static void
put_difference(const struct buffer *from, const struct buffer *to, struct buffer *out)
{
	struct told_lines told = { .out = out, .left = DIFF_LINES };
	struct line_hunk hunk = LINE_HUNK_INIT;
	struct line_diff d;

	line_diff_begin(&d, buffer_string(from), from->len, buffer_string(to), to->len, true);
	while (line_diff_next_hunk(&d, CONTEXT, &hunk)) {
		if (told.left > 0) {
			buffer_text(out, "@@");
			put_range('-', hunk.old, hunk.old_count, out);
			put_range('+', hunk.now, hunk.now_count, out);
			buffer_text(out, " @@\n");
		}
		line_diff_hunk_lines(&d, &hunk, put_line, &told);
		INVARIANT(told.more == 0 || told.left == 0);
	}
	if (told.more > 0)
		buffer_format(out, "%s %zu more line%s\n", locale_choose("…", "..."), told.more,
		    told.more == 1 ? "" : "s");
	line_diff_free(&d);
}

static bool
changed_files_is_text(const struct buffer *bytes)
{
	return memchr(buffer_string(bytes), '\0', bytes->len) == NULL;
}

/* How many recorded results a program has, if it has changed; -1 otherwise. */
static int64_t
changed_results(const struct history_summary *history, const char *path)
{
	for (size_t i = 0; i < history->program_count; i++)
		if (strcmp(history->programs[i].path, path) == 0)
			return history->programs[i].results;
	return -1;
}

static void
put_first_line(const char *path, int64_t results, bool redo_changed, const char *who,
    struct buffer *out)
{
	struct stat status;
	bool there = stat(path, &status) == 0;

	buffer_format(out, "%s: ", who);
	text_visible(out, path, strlen(path), 0);
	buffer_format(out, ": %s", !there ? "is not there any more" :
	    !S_ISREG(status.st_mode) ? "is no file any more" : "has changed since it was recorded");
	if (results > 0)
		buffer_format(out, "; %lld result%s", (long long)results, results == 1 ? " is" : "s are");
	if (results > 0 && redo_changed)
		buffer_text(out, " made again");
	else if (results > 0)
		buffer_format(out, " kept (--redo-changed repeats %s)", results == 1 ? "it" : "them");
	buffer_byte(out, '\n');
}

static void
put_definition(const struct resume *r, const struct definition_file *f, bool redo_changed,
    const char *who, struct buffer *out)
{
	struct buffer before = BUFFER_INIT, now = BUFFER_INIT;
	struct stat status;
	/* Reading a FIFO would wait for a writer. */
	bool regular = stat(f->path, &status) == 0 && S_ISREG(status.st_mode);

	put_first_line(f->path, changed_results(&r->history, f->path), redo_changed, who, out);
	if (regular && f->kept && blob_read(r->blobs, f->sha256, &before, NULL) == 0 &&
	    file_load(f->path, DEFINITION_FILE_LIMIT, &now, NULL) == 0 &&
	    changed_files_is_text(&before) &&
	    changed_files_is_text(&now))
		put_difference(&before, &now, out);
	buffer_free(&before);
	buffer_free(&now);
}

void
changed_files_tell(const struct resume *r, bool redo_changed, const char *who,
    struct buffer *out)
{
	const struct history_summary *history = &r->history;

	for (size_t i = 0; i < r->words.files.count; i++) {
		const struct definition_file *f = &r->words.files.list[i];

		/* A program on the workflow's own command line is treated like its script. */
		if ((!f->program || changed_results(history, f->path) == -1) && f->sha256[0] != '\0' &&
		    !definition_file_is_at(f, f->path))
			put_definition(r, f, redo_changed, who, out);
	}
	for (size_t i = 0; i < history->program_count; i++) {
		const struct history_program *program = &history->programs[i];
		const struct definition_file *f = definition_files_find(&r->words.files, program->path);

		if (f == NULL || f->program || definition_file_is_at(f, f->path))
			put_first_line(program->path, program->results, redo_changed, who, out);
	}
}
