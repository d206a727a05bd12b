/*
 * What changed between two texts, line by line, as diff -u tells it.
 */
#ifndef AWF_RUN_LINE_DIFF_H
#define AWF_RUN_LINE_DIFF_H

#include <stddef.h>

#include "base/buffer.h"

/* Appends the hunks (from "@@" on, three lines of context) that lead from one text to the
 * other; nothing if they are the same. After limit lines it says how many more there are.
 * Texts of which too much differs to be compared are told as one that replaces the other.
 * Each line is one for a terminal, as text_visible() makes it. */
void line_diff(const char *from, size_t from_len, const char *to, size_t to_len, size_t limit,
    struct buffer *out);

#endif
