/*
 * Markdown with YAML front matter, the format of agents and skills: keys and values between two
 * lines of "---" at the beginning, then the body.
 */
#ifndef AWF_FORMATS_MARKDOWN_H
#define AWF_FORMATS_MARKDOWN_H

#include "base/buffer.h"
#include "base/error.h"
#include "formats/definition.h"

/* Removes a byte order mark, and the CRs of CRLF, so that the file means the same on every system.
 * -1: it is not UTF-8, or contains NUL. */
int markdown_normalise(struct buffer *text, const char *path, struct error *err);
/* Splits a normalised text. Sets the document of d, and its line numbers; *body, allocated, is the
 * body without white space at its ends, NULL if empty. Without front matter the whole text is the
 * body, and the document an empty object. */
int markdown_read(struct definition *d, const char *text, char **body, struct error *err);
/* The text without white space at its ends, allocated; NULL if nothing remains. */
char *markdown_trimmed(const char *text, size_t len);

#endif
