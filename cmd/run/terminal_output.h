/*
 * What the output of programs has made of a terminal: where its cursor stands, as far as that
 * matters to somebody who wants to draw below all that is printed, and take it away again.
 *
 * It goes by what was written and by nothing that the terminal says. So it knows little, and what
 * it does not know it takes for the worst: after a move to a place by its number nothing is known
 * until the screen was cleared, or as many lines have followed as it has.
 */
#ifndef AWF_CMD_RUN_TERMINAL_OUTPUT_H
#define AWF_CMD_RUN_TERMINAL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct terminal_cursor {
	bool known;          /* that what follows is so */
	size_t below;        /* lines below it that may hold something, at most */
	bool at_start;       /* of its line */
	bool clean;          /* nothing stands in its line */
};

struct terminal_output {
	size_t height;       /* rows; may be set at any time */

	enum {
		OUTPUT_TEXT, OUTPUT_ESCAPE, OUTPUT_SEQUENCE, OUTPUT_STRING, OUTPUT_STRING_ESCAPE,
		OUTPUT_CHARSET
	} state;
	char parameters[64]; /* of a sequence, NUL-terminated */
	size_t parameter_len;
	char charset;        /* the byte before that of a character set */

	struct terminal_cursor cursor, saved; /* saved: of the usual screen */
	size_t lines;        /* that have followed since nothing is known */
	bool home;           /* the cursor was put to the first place, and nothing has followed */

	/* What is not as usual. */
	unsigned style;      /* bits: attributes 1 to 9, foreground, background */
	unsigned mouse;      /* bits of modes 1000 to 1003 */
	bool hidden, alternate, region, insert, charset_other, synchronized;
};

/* As a shell leaves it: the cursor in a line that is empty. */
void terminal_output_begin(struct terminal_output *t, size_t height);
/* A shell has had the terminal meanwhile: the modes are those of the workflow still. */
void terminal_output_resume(struct terminal_output *t);
void terminal_output_take(struct terminal_output *t, const char *bytes, size_t len);
/* Whether somebody may draw: the cursor stands in an empty line below which there is nothing, and
 * whatever can be set is as usual. */
bool terminal_output_rests(const struct terminal_output *t);

#endif
