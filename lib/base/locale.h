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

/* Whether the character set is UTF-8, according to the first of LC_ALL, LC_CTYPE and LANG that is
 * set and not empty. If none is, it is the POSIX locale, with ASCII. */
bool locale_is_utf8(void);
/* For a line that is displayed: unless the locale is UTF-8, replaces the characters with which
 * programs draw (branches, symbols, the ellipsis of truncated text), from this byte on, by ASCII of
 * the same width. Other characters are not changed. */
void locale_draw(struct buffer *line, size_t from);
/* The first text if the locale is UTF-8, otherwise the second. */
const char *locale_choose(const char *utf8, const char *ascii);

#endif
