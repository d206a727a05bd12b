/*
 * The difference between two texts, line by line: the fewest lines to remove from the old text and
 * to add for the new one (E. Myers, "An O(ND) difference algorithm and its variations",
 * Algorithmica 1, 1986). Lines that both texts begin or end with are never part of it. If more than
 * LINE_DIFF_EDITS lines differ, everything between those counts as replaced.
 */
#ifndef AWF_BASE_LINE_DIFF_H
#define AWF_BASE_LINE_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_DIFF_EDITS 2000

/* The lines of one text: line i goes from begins[i] to begins[i + 1]. */
struct line_diff_text {
	const char *at;     /* the caller's; it must not change while the difference is used */
	size_t *begins;     /* count + 1 offsets */
	size_t count;
};

/* `removed` lines of the old text, from line `old` on, are replaced by `added` lines of the new
 * text, from line `now` on. Lines are counted from 0. */
struct line_change {
	size_t old, removed, now, added;
};

struct line_diff {
	struct line_diff_text old, now;
	bool lf_counts;                /* a last line without LF differs from the same line with
	                                  LF */
	struct line_change *changes;   /* in order; between two changes is at least one equal
	                                  line */
	size_t count;
	size_t removed, added;         /* sums over all changes */
};

void line_diff_begin(struct line_diff *d, const char *old, size_t old_len, const char *now,
    size_t now_len, bool lf_counts);
void line_diff_free(struct line_diff *d);

/* A hunk: changes with at most 2 * context equal lines between them, and up to context equal lines
 * before and after. */
struct line_hunk {
	size_t old, old_count, now, now_count;
	size_t next;        /* the first change after the hunk */
};
#define LINE_HUNK_INIT { .next = 0 }

/* Advances h to the next hunk (the first, if h is LINE_HUNK_INIT); false if there is none. */
bool line_diff_next_hunk(const struct line_diff *d, size_t context, struct line_hunk *h);

/* Called for a line of a hunk, without its LF: '=' it is in both texts, '-' only in the old one,
 * '+' only in the new one. */
typedef void line_diff_take(void *user, char sign, const char *line, size_t len, bool lf);
void line_diff_hunk_lines(const struct line_diff *d, const struct line_hunk *h,
    line_diff_take *take, void *user);

#endif
