/*
 * Follows the output of programs to know the state of the terminal: where the cursor is, as far as
 * it matters for drawing a view below the output and erasing it again.
 *
 * It uses only the bytes written, never an answer of the terminal. What cannot be known that way
 * counts as unknown: after an absolute cursor movement, the position is unknown until the screen
 * was cleared, or until as many lines were printed as the terminal has rows.
 */
#ifndef AWF_CMD_RUN_TERMINAL_OUTPUT_H
#define AWF_CMD_RUN_TERMINAL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct terminal_cursor {
	bool known;          /* the members below are known */
	size_t below;        /* most lines below the cursor that may contain text */
	bool at_start;       /* the cursor is in the first column */
	bool clean;          /* the cursor's line is empty */
};

struct terminal_output {
	size_t height;       /* rows; the caller may set it at any time */

	enum {
		OUTPUT_TEXT, OUTPUT_ESCAPE, OUTPUT_SEQUENCE, OUTPUT_STRING, OUTPUT_STRING_ESCAPE,
		OUTPUT_CHARSET
	} state;
	char parameters[64]; /* of the control sequence, NUL-terminated */
	size_t parameter_len;
	char charset;        /* the byte that began a sequence that selects a character set */

	struct terminal_cursor cursor, saved; /* saved: cursor of the normal screen, while the
	                                         alternate one is used */
	size_t lines;        /* lines printed since the position became unknown */
	bool home;           /* the cursor was moved to the top left; nothing was printed since */

	/* Modes that differ from the terminal's default. */
	unsigned style;      /* bits: attributes 1 to 9, foreground, background */
	unsigned mouse;      /* bits of modes 1000 to 1003 */
	bool hidden, alternate, region, insert, charset_other, synchronized;
};

/* Begins with the state in which a shell leaves the terminal: the cursor in an empty line. */
void terminal_output_begin(struct terminal_output *t, size_t height);
/* A shell has used the terminal meanwhile: the cursor is in an empty line again, while the modes
 * are still those that the workflow has set. */
void terminal_output_resume(struct terminal_output *t);
void terminal_output_take(struct terminal_output *t, const char *bytes, size_t len);
/* Whether the view may be drawn: the cursor is in an empty line with nothing below it, and all
 * modes have their defaults. */
bool terminal_output_rests(const struct terminal_output *t);

#endif
