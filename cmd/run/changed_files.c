/*
 * A file is read only if its digest is another one. What is not kept is named alone; of what is,
 * the two texts are compared line by line, and told as diff -u tells it.
 */
#include "run/changed_files.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/locale.h"
#include "base/memory.h"
#include "base/text.h"
#include "transcript/blob.h"

#define DIFF_LINES 100 /* of one file */
#define TABLE_LIMIT ((size_t)4 << 20) /* cells */
#define CONTEXT 3
#define LINES 256 /* for which room is made at a time */

struct text_line {
	const char *at;
	size_t len;     /* without its LF */
	bool whole;     /* it has one */
};

struct text_lines {
	struct text_line *list;
	size_t count;
};

/* One line of the script that leads from one text to the other. */
struct edit {
	char sign;      /* ' ', '-', '+' */
	size_t from, to; /* lines before it */
};

struct edits {
	struct edit *list;
	size_t count;
};

static struct text_lines
split(const char *text, size_t len)
{
	struct text_lines l = { memory_array(NULL, LINES, sizeof *l.list), 0 };
	const char *end = text + len;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (l.count > 0 && l.count % LINES == 0)
			l.list = memory_array(l.list, l.count + LINES, sizeof *l.list);
		l.list[l.count++] = (struct text_line){ text, (size_t)((stop != NULL ? stop : end) - text),
			stop != NULL };
		text = stop != NULL ? stop + 1 : end;
	}
	return l;
}

static bool
same(const struct text_line *a, const struct text_line *b)
{
	return a->len == b->len && a->whole == b->whole && memcmp(a->at, b->at, a->len) == 0;
}

static void
add(struct edits *e, char sign, size_t *from, size_t *to)
{
	if (e->count % 256 == 0)
		e->list = memory_array(e->list, e->count + 256, sizeof *e->list);
	e->list[e->count++] = (struct edit){ sign, *from, *to };
	*from += sign != '+';
	*to += sign != '-';
}

/* The lines that both texts begin and end with are put aside; of the rest the longest common
 * subsequence is found by a table. Where that would be too large, the rest counts as replaced. */
static void
compare(struct edits *e, const struct text_lines *a, const struct text_lines *b)
{
	size_t from = 0, to = 0, head = 0, tail = 0, n, m, i = 0, j = 0, width;
	const struct text_line *x, *y;
	uint32_t *common;

	while (head < a->count && head < b->count && same(&a->list[head], &b->list[head]))
		head++;
	while (tail < a->count - head && tail < b->count - head &&
	    same(&a->list[a->count - 1 - tail], &b->list[b->count - 1 - tail]))
		tail++;
	while (from < head)
		add(e, ' ', &from, &to);

	/* common[i][j]: how many lines x from i on and y from j on have in common. */
	n = a->count - head - tail;
	m = b->count - head - tail;
	x = a->list + head;
	y = b->list + head;
	width = m + 1;
	common = n == 0 || m == 0 || (n + 1) > TABLE_LIMIT / width ? NULL :
	    memory_zero((n + 1) * width, sizeof *common);
	for (size_t p = n; common != NULL && p-- > 0;)
		for (size_t q = m; q-- > 0;) {
			uint32_t below = common[(p + 1) * width + q], right = common[p * width + q + 1];

			common[p * width + q] = same(&x[p], &y[q]) ? common[(p + 1) * width + q + 1] + 1 :
			    below > right ? below : right;
		}
	while (i < n || j < m) {
		if (common != NULL && i < n && j < m && same(&x[i], &y[j])) {
			add(e, ' ', &from, &to);
			i++, j++;
		} else if (i < n && (common == NULL || j == m ||
		    common[(i + 1) * width + j] >= common[i * width + j + 1])) {
			add(e, '-', &from, &to);
			i++;
		} else {
			add(e, '+', &from, &to);
			j++;
		}
	}
	free(common);
	while (from < a->count)
		add(e, ' ', &from, &to);
}

static void
put_line(const struct edit *edit, const struct text_lines *a, const struct text_lines *b,
    struct buffer *out)
{
	const struct text_line *line = edit->sign == '+' ? &b->list[edit->to] : &a->list[edit->from];

	buffer_byte(out, edit->sign);
	/* A tab is harmless. */
	for (size_t at = 0; at <= line->len;) {
		const char *tab = memchr(line->at + at, '\t', line->len - at);
		size_t len = tab != NULL ? (size_t)(tab - line->at) - at : line->len - at;

		text_visible(out, line->at + at, len, 0);
		if (tab != NULL)
			buffer_byte(out, '\t');
		at += len + 1;
	}
	buffer_byte(out, '\n');
	if (!line->whole)
		buffer_text(out, "\\ No newline at end of file\n");
}

static void
put_range(char sign, size_t start, size_t count, struct buffer *out)
{
	buffer_format(out, " %c%zu", sign, count == 0 ? start : start + 1);
	if (count != 1)
		buffer_format(out, ",%zu", count);
}

/* Appends the hunks (from "@@" on, three lines of context) that lead from one text to the
 * other; nothing if they are the same. After limit lines it says how many more there are.
 * Texts of which too much differs to be compared are told as one that replaces the other.
 * Each line is one for a terminal, as text_visible() makes it. */
static void
line_diff(const struct buffer *from, const struct buffer *to, size_t limit, struct buffer *out)
{
	struct text_lines a = split(buffer_string(from), from->len), b = split(buffer_string(to), to->len);
	struct edits e = { NULL, 0 };
	size_t put = 0, more = 0, told = 0;

	compare(&e, &a, &b);
	for (size_t i = 0; i < e.count; i++) {
		size_t first, end = i, quiet = 0, removed = 0, added = 0;

		if (e.list[i].sign == ' ')
			continue;
		/* Changes that are near are in one hunk. */
		first = i > told + CONTEXT ? i - CONTEXT : told;
		for (size_t at = i; at < e.count && quiet <= (size_t)2 * CONTEXT; at++) {
			quiet = e.list[at].sign == ' ' ? quiet + 1 : 0;
			if (quiet == 0)
				end = at + 1;
		}
		end = end + CONTEXT < e.count ? end + CONTEXT : e.count;
		told = end;
		i = end - 1;
		if (put >= limit) {
			more += end - first;
			continue;
		}
		for (size_t at = first; at < end; at++) {
			removed += e.list[at].sign != '+';
			added += e.list[at].sign != '-';
		}
		buffer_text(out, "@@");
		put_range('-', e.list[first].from, removed, out);
		put_range('+', e.list[first].to, added, out);
		buffer_text(out, " @@\n");
		for (size_t at = first; at < end && put < limit; at++, put++)
			put_line(&e.list[at], &a, &b, out);
	}
	if (more > 0 || put == limit)
		buffer_format(out, "%s %zu more line%s\n", locale_choose("…", "..."), more,
		    more == 1 ? "" : "s");
	free(e.list);
	free(a.list);
	free(b.list);
}

static bool
is_text(const struct buffer *bytes)
{
	return memchr(buffer_string(bytes), '\0', bytes->len) == NULL;
}

/* The results of a program, if it is one that has changed; -1. */
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
	/* To read a FIFO is to wait for it. */
	bool regular = stat(f->path, &status) == 0 && S_ISREG(status.st_mode);

	put_first_line(f->path, changed_results(&r->history, f->path), redo_changed, who, out);
	if (regular && f->kept && blob_read(r->blobs, f->sha256, &before, NULL) == 0 &&
	    file_load(f->path, DEFINITION_FILE_LIMIT, &now, NULL) == 0 && is_text(&before) &&
	    is_text(&now))
		line_diff(&before, &now, DIFF_LINES, out);
	buffer_free(&before);
	buffer_free(&now);
}

void
changed_files_tell(const struct resume *r, bool redo_changed, const char *who,
    struct buffer *out)
{
	const struct history_summary *history = &r->history;

	for (size_t i = 0; i < r->files.count; i++) {
		const struct definition_file *f = &r->files.list[i];

		/* A program of the workflow's own words is as a script of it. */
		if ((!f->program || changed_results(history, f->path) == -1) && f->sha256[0] != '\0' &&
		    !definition_file_is_at(f, f->path))
			put_definition(r, f, redo_changed, who, out);
	}
	for (size_t i = 0; i < history->program_count; i++) {
		const struct history_program *program = &history->programs[i];
		const struct definition_file *f = definition_files_find(&r->files, program->path);

		if (f == NULL || f->program || definition_file_is_at(f, f->path))
			put_first_line(program->path, program->results, redo_changed, who, out);
	}
}
