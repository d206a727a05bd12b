/*
 * The lines that both texts begin and end with are put aside; of the rest the longest
 * common subsequence is found by a table. Where that would be too large, the rest counts as
 * replaced.
 */
#include "run/line_diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define TABLE_LIMIT ((size_t)4 << 20) /* cells */
#define CONTEXT 3

struct line {
	const char *at;
	size_t len;     /* without its LF */
	bool whole;     /* it has one */
};

struct lines {
	struct line *list;
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

static struct lines
split(const char *text, size_t len)
{
	struct lines l = { NULL, 0 };
	const char *end = text + len;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (l.count % 256 == 0)
			l.list = memory_array(l.list, l.count + 256, sizeof *l.list);
		l.list[l.count++] = (struct line){ text, (size_t)((stop != NULL ? stop : end) - text),
			stop != NULL };
		text = stop != NULL ? stop + 1 : end;
	}
	return l;
}

static bool
same(const struct line *a, const struct line *b)
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

/* The middle: n lines of a from *from on, m of b from *to on. */
static void
compare_middle(struct edits *e, const struct lines *a, const struct lines *b, size_t n, size_t m,
    size_t *from, size_t *to)
{
	const struct line *x = a->list + *from, *y = b->list + *to;
	const size_t width = m + 1;
	uint32_t *common = n == 0 || m == 0 || (n + 1) > TABLE_LIMIT / width ? NULL :
	    memory_zero((n + 1) * width, sizeof *common);
	size_t i = 0, j = 0;

	/* common[i][j]: how many lines x from i on and y from j on have in common. */
	for (size_t p = n; common != NULL && p-- > 0;)
		for (size_t q = m; q-- > 0;) {
			uint32_t below = common[(p + 1) * width + q], right = common[p * width + q + 1];

			common[p * width + q] = same(&x[p], &y[q]) ? common[(p + 1) * width + q + 1] + 1 :
			    below > right ? below : right;
		}
	while (i < n || j < m) {
		if (common != NULL && i < n && j < m && same(&x[i], &y[j])) {
			add(e, ' ', from, to);
			i++, j++;
		} else if (i < n && (common == NULL || j == m ||
		    common[(i + 1) * width + j] >= common[i * width + j + 1])) {
			add(e, '-', from, to);
			i++;
		} else {
			add(e, '+', from, to);
			j++;
		}
	}
	free(common);
}

static void
compare(struct edits *e, const struct lines *a, const struct lines *b)
{
	size_t from = 0, to = 0, head = 0, tail = 0;

	while (head < a->count && head < b->count && same(&a->list[head], &b->list[head]))
		head++;
	while (tail < a->count - head && tail < b->count - head &&
	    same(&a->list[a->count - 1 - tail], &b->list[b->count - 1 - tail]))
		tail++;
	while (from < head)
		add(e, ' ', &from, &to);
	compare_middle(e, a, b, a->count - head - tail, b->count - head - tail, &from, &to);
	while (from < a->count)
		add(e, ' ', &from, &to);
}

static void
put_line(const struct edit *edit, const struct lines *a, const struct lines *b,
    struct buffer *out)
{
	const struct line *line = edit->sign == '+' ? &b->list[edit->to] : &a->list[edit->from];

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

/* Where the hunk that begins at first ends: changes that are near are in one. */
static size_t
hunk_end(const struct edits *e, size_t first)
{
	size_t end = first, quiet = 0;

	for (size_t i = first; i < e->count && quiet <= (size_t)2 * CONTEXT; i++) {
		quiet = e->list[i].sign == ' ' ? quiet + 1 : 0;
		if (quiet == 0)
			end = i + 1;
	}
	return end + CONTEXT < e->count ? end + CONTEXT : e->count;
}

static void
put_range(char sign, size_t start, size_t count, struct buffer *out)
{
	buffer_format(out, " %c%zu", sign, count == 0 ? start : start + 1);
	if (count != 1)
		buffer_format(out, ",%zu", count);
}

/* How many lines it has put out. */
static size_t
put_hunk(const struct edits *e, size_t first, size_t end, const struct lines *a,
    const struct lines *b, size_t left, struct buffer *out)
{
	size_t removed = 0, added = 0, put = 0;

	for (size_t i = first; i < end; i++) {
		removed += e->list[i].sign != '+';
		added += e->list[i].sign != '-';
	}
	buffer_text(out, "@@");
	put_range('-', e->list[first].from, removed, out);
	put_range('+', e->list[first].to, added, out);
	buffer_text(out, " @@\n");
	for (size_t i = first; i < end && put < left; i++, put++)
		put_line(&e->list[i], a, b, out);
	return put;
}

void
line_diff(const char *from, size_t from_len, const char *to, size_t to_len, size_t limit,
    struct buffer *out)
{
	struct lines a = split(from, from_len), b = split(to, to_len);
	struct edits e = { NULL, 0 };
	size_t put = 0, more = 0;

	compare(&e, &a, &b);
	for (size_t i = 0, told = 0; i < e.count; i++) {
		size_t first, end;

		if (e.list[i].sign == ' ')
			continue;
		first = i > told + CONTEXT ? i - CONTEXT : told;
		end = hunk_end(&e, i);
		if (put < limit)
			put += put_hunk(&e, first, end, &a, &b, limit - put, out);
		else
			more += end - first;
		i = told = end;
		i--;
	}
	if (more > 0 || put == limit)
		buffer_format(out, "… %zu more lines\n", more);
	free(e.list);
	free(a.list);
	free(b.list);
}
