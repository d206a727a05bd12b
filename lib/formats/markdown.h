/*
 * Markdown with YAML front matter, as agents and skills are written: between lines of "---"
 * at the beginning stand keys and values, after them the body.
 */
#ifndef AWF_FORMATS_MARKDOWN_H
#define AWF_FORMATS_MARKDOWN_H

#include "base/buffer.h"
#include "base/error.h"
#include "formats/definition.h"

/* Drops a byte order mark, and the CRs of CRLF, so that the same file means the same
 * wherever it was edited. -1: it is not UTF-8, or holds NUL. */
int markdown_normalise(struct buffer *text, const char *path, struct error *err);
/* Parts a normalised text: the document of d, and its lines; *body is without white space
 * at its ends, NULL if it is empty, in memory of its own. Without front matter all is
 * body, and the document an empty object. */
int markdown_read(struct definition *d, const char *text, char **body, struct error *err);
/* The text between white space at its ends, in memory of its own; NULL if there is none. */
char *markdown_trimmed(const char *text, size_t len);

#endif
