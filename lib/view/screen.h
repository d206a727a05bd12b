/*
 * The screen: a terminal below whose last line of text stands a status line, or a block of
 * lines. It is erased before anything else is written, is drawn at most ten times a second, and
 * never wraps.
 *
 * While a block is there the cursor stands before its first line, where the text ended that is
 * above it: whatever the terminal's size has become, erasing what follows the cursor takes the
 * block away and nothing else.
 */
#ifndef AWF_VIEW_SCREEN_H
#define AWF_VIEW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define SCREEN_INTERVAL 100 /* ms between two drawings */
#define SCREEN_WIDTH 80     /* of a terminal that does not say */
#define SCREEN_HEIGHT 24

/* What a user wants to see of a run that goes on: $AWF_VIEW, else `view` of the config. */
enum screen_mode {
	SCREEN_LIVE, /* what goes on, drawn anew (view/live_view.h) */
	SCREEN_LOG,  /* what happens, line by line */
	SCREEN_OFF   /* nothing that is drawn anew */
};

struct screen {
	size_t width;     /* columns */
	bool colour;
	bool drawn;       /* the status line, or the block, is there */
	size_t rows;      /* it is a block, of so many; 0: it is none */
	int64_t drawn_at; /* monotonic ms */
};

/* Columns of the terminal fd; $COLUMNS, or 0, if it is none. */
size_t terminal_width(int fd);
/* Rows of the terminal fd. */
size_t terminal_height(int fd);
/* Whether fd is a terminal whose cursor can be moved. */
bool terminal_moves(int fd);
/* Whether to use colours on fd; when: "auto" (on a terminal, unless $NO_COLOR is set),
 * "always" or "never". */
bool terminal_colour(int fd, const char *when);
/* Whether a step says on fd, line by line, what it does: it is a terminal, and AWF_VIEW does not
 * say that nobody is to, or that somebody shows it. */
bool terminal_is_told(int fd);
/* What is said there, SCREEN_LIVE if nothing is; *place (may be NULL; in memory of its own): where,
 * NULL if nowhere. -1 with *err if that is no such word. */
int screen_mode(enum screen_mode *mode, char **place, struct error *err);
/* "live" */
const char *screen_mode_word(enum screen_mode mode);

/* The terminal has another size: the rows of the block may be fewer now, or more. */
void screen_resized(struct screen *s, size_t width);
/* Nothing of it is there any more. */
void screen_forget(struct screen *s);
/* Appends what takes the status line or the block away, if it is there. */
void screen_erase(struct screen *s, struct buffer *out);
/* Appends the status line anew if it is time for that; text "" takes it away. */
void screen_status(struct screen *s, const struct buffer *text, int64_t now,
    struct buffer *out);
/* Appends lines that are to stay, and below them the block of so many lines; each has its LF.
 * None: the block that was there is taken away. */
void screen_block(struct screen *s, const struct buffer *told, const struct buffer *lines,
    size_t count, int64_t now, struct buffer *out);

#endif
