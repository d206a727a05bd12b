/*
 * Finds the shortest edit script from the old text to the new one. A script that has consumed x
 * lines of the old text is on diagonal k = consumed lines of the old text - consumed lines of the
 * new one. For each number of edits it is stored how far each diagonal can be followed, so that the
 * path can be traced back from the end.
 */
#include "base/line_diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"

/* What is left after equal lines at the beginning and the end were removed. */
struct middle {
	size_t first;       /* number of its first line in both texts */
	int64_t old, now;   /* number of lines in each text */
};

/* A removed or added line, and after how many lines of the middle it is. */
struct edit {
	size_t old, now;
	bool added;
};

static struct line_diff_text
text_split(const char *at, size_t len)
{
	struct line_diff_text text = { at, NULL, 0 };
	size_t capacity = 64, begin = 0;

	for (text.begins = memory_array(NULL, capacity, sizeof *text.begins);; text.count++) {
		const char *lf;

		if (text.count == capacity) {
			capacity *= 2;
			text.begins = memory_array(text.begins, capacity, sizeof *text.begins);
		}
		text.begins[text.count] = begin;
		if (begin == len)
			return text;
		lf = memchr(at + begin, '\n', len - begin);
		begin = lf == NULL ? len : (size_t)(lf - at) + 1;
	}
}

/* The line without its LF, and whether it has one. */
static const char *
text_line(const struct line_diff_text *text, size_t line, size_t *len, bool *lf)
{
	const char *at = text->at + text->begins[line];

	*len = text->begins[line + 1] - text->begins[line];
	*lf = at[*len - 1] == '\n';
	*len -= *lf;
	return at;
}

static bool
same_line(const struct line_diff *d, size_t old, size_t now)
{
	bool old_lf, now_lf;
	size_t old_len, now_len;
	const char *a = text_line(&d->old, old, &old_len, &old_lf);
	const char *b = text_line(&d->now, now, &now_len, &now_lf);

	return old_len == now_len && (!d->lf_counts || old_lf == now_lf) && memcmp(a, b, old_len) == 0;
}

static struct middle
find_middle(const struct line_diff *d)
{
	size_t old = d->old.count, now = d->now.count, first = 0;

	while (first < old && first < now && same_line(d, first, first))
		first++;
	while (old > first && now > first && same_line(d, old - 1, now - 1)) {
		old--;
		now--;
	}
	return (struct middle){ first, (int64_t)(old - first), (int64_t)(now - first) };
}

/* For each diagonal k from -edits to edits: how far it reached after that many edits, as element
 * [k]. The arrays for 0, 1, 2 … edits are stored one after another. */
static int32_t *
line_diff_reached_at(int32_t *reach, int64_t edits)
{
	return reach + edits * edits + edits;
}

/* Whether the path with one more edit comes to diagonal k from k + 1, by an added line, and not
 * from k - 1. */
static bool
comes_by_added(const int32_t *before, int64_t edits, int64_t k)
{
	return k == -edits || (k != edits && before[k - 1] < before[k + 1]);
}

/* Returns the smallest number of edits, or -1 if it exceeds LINE_DIFF_EDITS; *reach is the stored
 * data, which the caller frees. */
static int64_t
find_edits(const struct line_diff *d, const struct middle *m, int32_t **reach)
{
	*reach = NULL;
	for (int64_t edits = 0; edits <= LINE_DIFF_EDITS; edits++) {
		int32_t *now, *before;

		/* At each power of two, make room for twice as many edits. */
		if ((edits & (edits - 1)) == 0)
			*reach = memory_array(*reach, edits == 0 ? 1 : (size_t)(4 * edits * edits), sizeof **reach);
		now = line_diff_reached_at(*reach, edits);
		before = line_diff_reached_at(*reach, edits - 1);
		for (int64_t k = -edits; k <= edits; k += 2) {
			int64_t x = edits == 0 ? 0 :
			    comes_by_added(before, edits, k) ? before[k + 1] : before[k - 1] + 1;

			while (x < m->old && x - k < m->now && x - k >= 0 &&
			    same_line(d, m->first + (size_t)x, m->first + (size_t)(x - k)))
				x++;
			now[k] = (int32_t)x;
			if (x >= m->old && x - k >= m->now) {
				/* A path that leaves the texts would have ended with fewer
				 * edits. */
				INVARIANT(x == m->old && x - k == m->now);
				return edits;
			}
		}
	}
	return -1;
}

static void
add_change(struct line_diff *d, struct line_change change)
{
	struct line_change *last = d->count > 0 ? &d->changes[d->count - 1] : NULL;

	if (last != NULL && last->old + last->removed == change.old) {
		last->removed += change.removed;
		last->added += change.added;
	} else {
		if (d->changes == NULL || d->count % 64 == 0)
			d->changes = memory_array(d->changes, d->count + 64, sizeof *d->changes);
		d->changes[d->count++] = change;
	}
	d->removed += change.removed;
	d->added += change.added;
}

/* Follows the path back from the end, then adds the edits in order. */
static void
add_edits(struct line_diff *d, const struct middle *m, int32_t *reach, int64_t edits)
{
	struct edit *list = memory_array(NULL, (size_t)edits + 1, sizeof *list);
	int64_t k = m->old - m->now;

	for (int64_t at = edits; at > 0; at--) {
		const int32_t *before = line_diff_reached_at(reach, at - 1);
		bool added = comes_by_added(before, at, k);

		k += added ? 1 : -1;
		list[at - 1] = (struct edit){ (size_t)before[k], (size_t)(before[k] - k), added };
	}
	for (int64_t at = 0; at < edits; at++)
		add_change(d, (struct line_change){ m->first + list[at].old, !list[at].added,
		    m->first + list[at].now, list[at].added });
	free(list);
}

void
line_diff_begin(struct line_diff *d, const char *old, size_t old_len, const char *now,
    size_t now_len, bool lf_counts)
{
	struct middle m;
	int32_t *reach = NULL;
	int64_t edits = -1;

	*d = (struct line_diff){ .old = text_split(old, old_len), .now = text_split(now, now_len),
		.lf_counts = lf_counts };
	m = find_middle(d);
	if (m.old == 0 && m.now == 0)
		return;
	if (m.old > 0 && m.now > 0 && m.old < INT32_MAX && m.now < INT32_MAX)
		edits = find_edits(d, &m, &reach);
	if (edits > 0)
		add_edits(d, &m, reach, edits);
	else
		add_change(d, (struct line_change){ m.first, (size_t)m.old, m.first, (size_t)m.now });
	INVARIANT(d->old.count - d->removed == d->now.count - d->added);
	free(reach);
}

void
line_diff_free(struct line_diff *d)
{
	free(d->old.begins);
	free(d->now.begins);
	free(d->changes);
	*d = (struct line_diff){ .changes = NULL };
}

bool
line_diff_next_hunk(const struct line_diff *d, size_t context, struct line_hunk *h)
{
	const struct line_change *first, *last;
	size_t before, left, behind;

	if (h->next == d->count)
		return false;
	first = last = &d->changes[h->next];
	before = first->old < context ? first->old : context;
	while (++h->next < d->count && d->changes[h->next].old - (last->old + last->removed) <= 2 * context)
		last = &d->changes[h->next];
	left = d->old.count - (last->old + last->removed);
	behind = left < context ? left : context;
	h->old = first->old - before;
	h->now = first->now - before;
	h->old_count = last->old + last->removed + behind - h->old;
	h->now_count = last->now + last->added + behind - h->now;
	return true;
}

static size_t
line_diff_pass_lines(const struct line_diff_text *text, char sign, size_t from, size_t to,
    line_diff_take *take, void *user)
{
	for (; from < to; from++) {
		size_t len;
		bool lf;
		const char *line = text_line(text, from, &len, &lf);

		take(user, sign, line, len, lf);
	}
	return to;
}

void
line_diff_hunk_lines(const struct line_diff *d, const struct line_hunk *h, line_diff_take *take,
    void *user)
{
	size_t old = h->old, change = h->next;

	while (change > 0 && d->changes[change - 1].old >= h->old)
		change--;
	for (; change < h->next; change++) {
		const struct line_change *c = &d->changes[change];

		line_diff_pass_lines(&d->old, '=', old, c->old, take, user);
		old = line_diff_pass_lines(&d->old, '-', c->old, c->old + c->removed, take, user);
		line_diff_pass_lines(&d->now, '+', c->now, c->now + c->added, take, user);
	}
	line_diff_pass_lines(&d->old, '=', old, h->old + h->old_count, take, user);
}
