/*
 * The last words of a program: the line of its stderr that says why it failed, for summaries with
 * room for one line. It is the last line with words, as a terminal would show it: without text
 * that was overwritten after a carriage return, and without colours. Lines that often follow the
 * cause without naming it (messages of make, `set -x`, stack frames, hints) are used only if there
 * is no other line. For nested runs it is the line of the innermost failed step.
 */
#ifndef AWF_PROC_LAST_WORDS_H
#define AWF_PROC_LAST_WORDS_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* Maximum length in bytes, without the "…" after a longer line, which is cut at a space: no part of
 * a word remains, since a part of a secret would not be recognized. */
#define LAST_WORDS_MOST 400

/* Appends the last words as one line of UTF-8; nothing if there are none. */
void last_words(const char *errors, size_t len, struct buffer *out);
/* Appends the last words after ": " to an error's message; nothing if there are none. */
void last_words_add(struct error *error, const char *errors, size_t len);
/* The length of an error's message without the last words at its end, which may differ each time:
 * to compare failures, or if all of stderr is shown as well. */
size_t last_words_at(const struct error *error);

#endif
