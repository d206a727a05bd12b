/*
 * Which characters the user's locale can display. Data is written unchanged; what the programs
 * draw around it (branches of a tree, dashes, an ellipsis) is ASCII if the locale's character
 * set is not UTF-8.
 */
#ifndef AWF_BASE_LOCALE_H
#define AWF_BASE_LOCALE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Whether the character set is UTF-8: by LC_ALL, LC_CTYPE or LANG, the first that is set and not
 * empty. None of them: the POSIX locale, whose characters are ASCII. */
bool locale_is_utf8(void);
/* In a line for display, from this byte on: unless the locale is UTF-8, replaces what programs draw
 * (branches, symbols, the ellipsis of truncated text) by ASCII of the same width. Other characters
 * in data are not changed. */
void locale_draw(struct buffer *line, size_t from);
/* The first text if the locale is UTF-8, otherwise the second. */
const char *locale_choose(const char *utf8, const char *ascii);

#endif
