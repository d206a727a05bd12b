/*
 * Text in an HTML page. All text comes from outside and may contain anything: it is written to the
 * page only by these functions, so that it is never taken for markup. Control characters are shown
 * as on a terminal.
 */
#ifndef AWF_REPLAY_PAGE_TEXT_H
#define AWF_REPLAY_PAGE_TEXT_H

#include <stddef.h>

#include "base/buffer.h"
#include "json/scan.h"

/* Appends one line, which may also be the value of an attribute; at most width columns (0: no
 * limit). */
void page_line(struct buffer *out, const char *text, size_t width);
/* Appends text with its line feeds and tabs; terminal colours are removed. If there are more than
 * `most` bytes, appends the beginning, and how much was left out. */
void page_lines(struct buffer *out, const char *bytes, size_t len, size_t most);
/* The same for the text of a JSON string, or the JSON of another value. */
void page_value(struct buffer *out, struct span value, size_t most);

#endif
