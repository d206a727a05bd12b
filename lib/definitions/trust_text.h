/*
 * Shows the user what a project's definition would run, so that nothing is hidden. Invisible
 * characters, and blanks other than the space, are shown as their codes, and so are characters that
 * pass for ASCII ones: a Cyrillic letter between Latin ones (github.com with U+0456 as its i), a
 * slash that is none. More than TRUST_TEXT_SPACES spaces in a row, which could push the following
 * text out of the window, are shown as their number.
 */
#ifndef AWF_DEFINITIONS_TRUST_TEXT_H
#define AWF_DEFINITIONS_TRUST_TEXT_H

#include <stddef.h>

#include "base/buffer.h"

#define TRUST_TEXT_SPACES 8
/* characters of a text that are shown in an error message, which contains other text, too */
#define TRUST_TEXT_IN_ERROR 400

/* Appends a word as it would be written in a shell, so that one can see where it ends: rm, 'two
 * words', $'line\nline\u00a0'. The number of many spaces is written outside of the quotes: 'a'<300
 * spaces>'b'. */
void trust_word_append(struct buffer *out, const char *word);
/* Appends a text that contains such words. */
void trust_text_append(struct buffer *out, const char *text);
/* Appends at most limit characters of a text. If it is longer, the beginning, the number of
 * characters that are left out, and the end are appended. Returns that number. */
size_t trust_text_shorten(struct buffer *out, const char *shown, size_t limit);

#endif
