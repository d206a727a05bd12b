/*
 * The screen: a terminal below whose last line of text stands a status line. The
 * status line is erased before anything else is written, is drawn at most ten
 * times a second, and never wraps.
 */
#ifndef AWF_RUN_SCREEN_H
#define AWF_RUN_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define SCREEN_INTERVAL 100 /* ms between two drawings */
#define SCREEN_WIDTH 80     /* of a terminal that does not say */

struct screen {
	size_t width;     /* columns */
	bool colour;
	bool drawn;       /* the status line is there */
	int64_t drawn_at; /* monotonic ms */
};

/* Columns of the terminal fd; $COLUMNS, or 0, if it is none. */
size_t terminal_width(int fd);
/* Whether to use colours on fd; when: "auto" (on a terminal, unless $NO_COLOR is set),
 * "always" or "never". */
bool terminal_colour(int fd, const char *when);
/* Appends what takes the status line away, if it is there. */
void screen_erase(struct screen *s, struct buffer *out);
/* Appends the status line anew if it is time for that; text "" takes it away. */
void screen_status(struct screen *s, const struct buffer *text, int64_t now,
    struct buffer *out);

#endif
