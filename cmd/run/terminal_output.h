/*
 * Follows the output of programs to know the state of the terminal: where the cursor is, as far as
 * it matters for drawing a view below the output and erasing it again.
 *
 * It uses only the bytes written, never an answer of the terminal. What it cannot know it assumes
 * to be the worst: after an absolute cursor movement the position is unknown until the screen was
 * cleared, or as many lines have followed as the terminal has rows.
 */
#ifndef AWF_CMD_RUN_TERMINAL_OUTPUT_H
#define AWF_CMD_RUN_TERMINAL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct terminal_cursor {
	bool known;          /* the members below are known */
	size_t below;        /* at most how many lines below it may hold text */
	bool at_start;       /* in the first column */
	bool clean;          /* its line is empty */
};

struct terminal_output {
	size_t height;       /* rows; the caller may set it at any time */

	enum {
		OUTPUT_TEXT, OUTPUT_ESCAPE, OUTPUT_SEQUENCE, OUTPUT_STRING, OUTPUT_STRING_ESCAPE,
		OUTPUT_CHARSET
	} state;
	char parameters[64]; /* of a sequence, NUL-terminated */
	size_t parameter_len;
	char charset;        /* the byte that introduces a character set */

	struct terminal_cursor cursor, saved; /* saved: cursor of the normal screen, while the
	                                         alternate one is used */
	size_t lines;        /* since the position became unknown */
	bool home;           /* the cursor was put to the top left, and nothing was printed since */

	/* State that differs from the terminal's default. */
	unsigned style;      /* bits: attributes 1 to 9, foreground, background */
	unsigned mouse;      /* bits of modes 1000 to 1003 */
	bool hidden, alternate, region, insert, charset_other, synchronized;
};

/* As a shell leaves the terminal: the cursor in an empty line. */
void terminal_output_begin(struct terminal_output *t, size_t height);
/* A shell has used the terminal meanwhile; the modes are still those that the workflow set. */
void terminal_output_resume(struct terminal_output *t);
void terminal_output_take(struct terminal_output *t, const char *bytes, size_t len);
/* Whether the view may be drawn: the cursor is in an empty line with nothing below it, and all
 * modes have their defaults. */
bool terminal_output_rests(const struct terminal_output *t);

#endif
