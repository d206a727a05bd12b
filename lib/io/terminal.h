/*
 * Printing data from commands, models and servers. On a terminal, control characters in it could
 * set the title or the clipboard, or type input as if by the user; other characters change the
 * order of the text, or are invisible. So all such data is printed with these functions: they
 * escape these characters if the output is a terminal, and print the data unchanged otherwise. For
 * text that is shown as single lines use text_visible() instead.
 */
#ifndef AWF_IO_TERMINAL_H
#define AWF_IO_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Whether the descriptor is a terminal. */
bool terminal_is(int fd);
/* Appends text as text_visible() does, but keeps LF and tab. */
void terminal_text(struct buffer *out, const char *bytes, size_t len);
/* The same for JSON, whose meaning is kept: hidden characters become \u001b, \u202e,
 * \udb40\udc41. */
void terminal_json(struct buffer *out, const char *bytes, size_t len);
/* Prints to stdout like printf(); if it is a terminal, as terminal_text() does. */
void terminal_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints JSON and an LF to stdout; if it is a terminal, as terminal_json() does. */
void terminal_print_json(const char *bytes, size_t len);
/* Writes JSON to a descriptor; if it is a terminal, as terminal_json() does. 0, or -1 with
 * errno. */
int terminal_write_json(int fd, const char *bytes, size_t len);
/* For text that comes in pieces: bytes at the end that may be a part of a character or emoji are
 * kept in cut for the next piece. len 0 ends the text. */
void terminal_piece(struct buffer *out, struct buffer *cut, const char *bytes, size_t len);

#endif
