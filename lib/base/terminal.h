/*
 * What goes to a terminal, although it is data: what a command, a model or a server wrote.
 * A terminal obeys control characters in it (titles, the clipboard, answers typed as if by
 * the user) and shows text in another order than it reads. So everything of that kind comes
 * through here: to a terminal it goes with its controls escaped, anywhere else as it is.
 * Text that shows single lines has text_visible() instead.
 */
#ifndef AWF_BASE_TERMINAL_H
#define AWF_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Whether the descriptor is a terminal. */
bool terminal_is(int fd);
/* Appends text with its controls (C0 but LF and tab, DEL, C1, bidirectional ones) and what
 * is no UTF-8 as \x1b, \u202e, \xff. */
void terminal_text(struct buffer *out, const char *bytes, size_t len);
/* The same of JSON, which means the same afterwards: they come as \u001b, \u202e. */
void terminal_json(struct buffer *out, const char *bytes, size_t len);
/* Text that comes in pieces: bytes that may begin a character are kept back in cut, for
 * the next piece; len 0 ends it. */
void terminal_piece(struct buffer *out, struct buffer *cut, const char *bytes, size_t len);

#endif
