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

/* Bytes at most, beside the "…" behind a longer line, which is cut at a space, so that no part of a
 * word stands there: a part of a secret would not be found. */
#define LAST_WORDS_MOST 400

/* Appends them, as UTF-8 on one line; nothing if there are none. */
void last_words(const char *errors, size_t len, struct buffer *out);
/* Appends them to the message of an error, behind ": "; nothing if there are none. */
void last_words_add(struct error *error, const char *errors, size_t len);
/* The length of the message of an error without the last words that it ends with, for who compares
 * failures, or tells all that was on stderr beside it: they may be others each time. */
size_t last_words_at(const struct error *error);

#endif
