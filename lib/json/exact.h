/*
 * Texts in what a digest is made of. A text of the command line may have bytes that are not UTF-8,
 * which a writer replaces by U+FFFD: then two texts would have one digest.
 */
#ifndef AWF_JSON_EXACT_H
#define AWF_JSON_EXACT_H

#include "json/writer.h"

/* Writes a text as an element: a string, or, if it is not UTF-8, an array of one string with its
 * bytes as hexadecimal digits. */
void writer_exact_string(struct writer *w, const char *text);

#endif
