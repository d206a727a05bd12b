/*
 * The last words of a program: of what it wrote on stderr the line that says why it failed, for
 * summaries that have room for one. It is the last line with words, as a terminal would show it:
 * what a carriage return led to being written over is not there, nor are colours. Lines that
 * follow the cause in many programs' output and do not name it (make's own, `set -x`, frames of a
 * stack, hints) are taken only if there is nothing else. Of a run in a run, however deep, they are
 * those of the innermost step that failed.
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
