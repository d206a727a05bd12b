/*
 * Texts in lines of the live view: how many columns they have, and the part of a text in progress that is shown.
 */
#ifndef AWF_VIEW_LIVE_VIEW_TEXT_H
#define AWF_VIEW_LIVE_VIEW_TEXT_H

#include <stddef.h>

#include "base/buffer.h"
#include "json/scan.h"
#include "view/live_view.h"

#define LIVE_TEXT_LINES ((size_t)8) /* lines for the text of the only agent that writes */

/* The columns that may be used. */
size_t live_text_width(const struct live_view *v);
/* The indentation of a row of this depth; 0: of a run. */
size_t live_text_indent(const struct live_view *v, unsigned depth);
/* The columns of a text on a terminal. */
size_t live_text_columns(const char *text, size_t len);
/* The last lines, at most LIVE_TEXT_LINES and at most `most`, of what an agent writes, wrapped to the width below a
 * row of this depth. Returns their number. */
size_t live_text_wrap(const struct live_view *v, const struct live_call *c, unsigned depth, size_t most,
    struct span lines[LIVE_TEXT_LINES]);
/* Appends the end of what an agent writes, in quotes and with an ellipsis before it, in at most this many columns. */
void live_text_end(const struct live_call *c, size_t columns, struct buffer *out);
/* Appends the last line that a program has printed that has something in it, without the sequences for a
 * terminal. A carriage return begins a line, as programs that show a progress print it. */
void live_text_last_line(const struct live_call *c, struct buffer *out);
/* Appends a text with the names at its beginning left out that do not fit: "… ▸ child ▸ critique". */
void live_text_path(const char *path, size_t columns, struct buffer *out);

#endif
