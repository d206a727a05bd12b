/*
 * Which characters the user's locale can show. Data goes out as the bytes that it is; what the
 * programs themselves draw around it (branches of a tree, dashes, an ellipsis) is ASCII where the
 * locale's character set is not UTF-8.
 */
#ifndef AWF_BASE_LOCALE_H
#define AWF_BASE_LOCALE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Whether the character set is UTF-8: by LC_ALL, LC_CTYPE or LANG, the first that is set and not
 * empty. None of them: the POSIX locale, whose characters are ASCII. */
bool locale_is_utf8(void);
/* Of a line that is drawn for people, from this byte on: what programs draw (branches, symbols, the
 * ellipsis of what was cut) becomes ASCII of as many columns, unless the locale is UTF-8. Data with
 * other characters stays as it is. */
void locale_draw(struct buffer *line, size_t from);
/* The first text where the locale is UTF-8, else the second. */
const char *locale_choose(const char *utf8, const char *ascii);

#endif
