/*
 * Text in a page of HTML. All of it came from outside, and may hold anything: what reaches the page
 * goes through here, and is text there, never markup. Controls are shown as on a terminal.
 */
#ifndef AWF_REPLAY_PAGE_TEXT_H
#define AWF_REPLAY_PAGE_TEXT_H

#include <stddef.h>

#include "base/buffer.h"
#include "json/scan.h"

/* Appends one line, of attributes too; at most width columns (0: no limit). */
void page_line(struct buffer *out, const char *text, size_t width);
/* Appends text as it is, with its line feeds and tabs; colours meant for a terminal are left out.
 * Of more than `most` bytes the beginning, and how much there is besides. */
void page_lines(struct buffer *out, const char *bytes, size_t len, size_t most);
/* The text of a string, the JSON of anything else; likewise. */
void page_value(struct buffer *out, struct span value, size_t most);

#endif
