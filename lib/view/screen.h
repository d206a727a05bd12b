/*
 * The screen: a terminal with a status line, or a block of lines, below its last line of text. It
 * is erased before anything else is written, drawn at most ten times a second, and never wraps.
 *
 * While a block is shown the cursor is before its first line, where the text above ended:
 * so erasing everything after the cursor removes exactly the block, whatever size the
 * terminal has now.
 */
#ifndef AWF_VIEW_SCREEN_H
#define AWF_VIEW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define SCREEN_INTERVAL 100 /* ms between two drawings */
#define SCREEN_WIDTH 80     /* if the terminal does not report its width */
#define SCREEN_HEIGHT 24

/* What the user wants to see of a live run: $AWF_VIEW, otherwise `view` in the configuration. */
enum screen_mode {
	SCREEN_LIVE, /* the live view, redrawn (view/live_view.h) */
	SCREEN_LOG,  /* events, line by line */
	SCREEN_OFF   /* nothing that is redrawn */
};

struct screen {
	size_t width;     /* columns */
	bool colour;
	bool drawn;       /* the status line or the block is on the screen */
	size_t rows;      /* rows of the block; 0: no block */
	int64_t drawn_at; /* monotonic ms */
};

/* Columns of the terminal fd; $COLUMNS, or 0, if it is not a terminal. */
size_t terminal_width(int fd);
/* Rows of the terminal fd. */
size_t terminal_height(int fd);
/* Whether fd is a terminal whose cursor can be moved. */
bool terminal_moves(int fd);
/* Whether to use colours on fd; when: "auto" (on a terminal, unless $NO_COLOR is set),
 * "always" or "never". */
bool terminal_colour(int fd, const char *when);
/* Whether a step prints on fd, line by line, what it does: fd is a terminal, and AWF_VIEW does not
 * turn this off or say that another program shows it. */
bool terminal_is_told(int fd);
/* Sets *mode to the user's setting, by default SCREEN_LIVE; *place (may be NULL; to be freed by the
 * caller): where it is set, NULL: nowhere. -1 with *err if it is invalid. */
int screen_mode(enum screen_mode *mode, char **place, struct error *err);
/* The mode's name, such as "live". */
const char *screen_mode_word(enum screen_mode mode);

/* Call when the terminal has another size: the block's lines may take another number of rows
 * now. */
void screen_resized(struct screen *s, size_t width);
/* Call when the screen was erased by somebody else: nothing is drawn there any more. */
void screen_forget(struct screen *s);
/* Appends the sequence that erases the status line or block, if one is drawn. */
void screen_erase(struct screen *s, struct buffer *out);
/* Draws the status line again if SCREEN_INTERVAL has passed; an empty text removes it. */
void screen_status(struct screen *s, const struct buffer *text, int64_t now,
    struct buffer *out);
/* Appends permanent lines, and below them a block of count lines; each line has an LF. count 0:
 * removes the block. */
void screen_block(struct screen *s, const struct buffer *told, const struct buffer *lines,
    size_t count, int64_t now, struct buffer *out);

#endif
