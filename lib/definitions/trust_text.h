/*
 * Shows the user what a project's definition would run, so that nothing is hidden. Invisible
 * characters, and blanks other than the space, are shown as their codes; more than
 * TRUST_TEXT_SPACES spaces in a row, which could push the following text out of the window, are
 * shown as their number.
 */
#ifndef AWF_DEFINITIONS_TRUST_TEXT_H
#define AWF_DEFINITIONS_TRUST_TEXT_H

#include <stddef.h>

#include "base/buffer.h"

#define TRUST_TEXT_SPACES 8
/* What of a text stands in the message of an error, which has more to say. */
#define TRUST_TEXT_IN_ERROR 400

/* Appends a word as a shell would have to be given it, so that it is seen where it ends: rm,
 * 'two words', $'line\nline\u00a0'. Outside of the quotes stands a number of spaces:
 * 'a'<300 spaces>'b'. */
void trust_word_append(struct buffer *out, const char *word);
/* Appends a text of such words and others. */
void trust_text_append(struct buffer *out, const char *text);
/* Appends what is shown, at most limit characters of it: of a longer one its beginning, the number
 * of characters that are left out, and its end. How many these are. */
size_t trust_text_shorten(struct buffer *out, const char *shown, size_t limit);

#endif
