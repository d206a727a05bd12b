/*
 * How a terminal shows each Unicode character: whether it is visible, how many columns it takes,
 * and which invisible characters may follow it because they change how it looks. characters.c is
 * written by tests/support/unicode-characters.py.
 */
#ifndef AWF_BASE_CHARACTERS_H
#define AWF_BASE_CHARACTERS_H

#include <stddef.h>
#include <stdint.h>

enum {
	CHARACTER_HIDDEN = 1 << 0,       /* a control character, an invisible one, or no
	                                    character */
	CHARACTER_WIDE = 1 << 1,         /* two columns */
	CHARACTER_NO_COLUMN = 1 << 2,    /* drawn over the character before it */
	CHARACTER_PICTOGRAPH = 1 << 3,   /* may be joined with another by U+200D */
	CHARACTER_EMOJI_VARIES = 1 << 4, /* U+FE0E and U+FE0F make it text or an emoji */
	CHARACTER_IDEOGRAPH = 1 << 5,    /* U+FE00 to U+FE02 and U+E0100 to U+E01EF choose its form */
	CHARACTER_VARIES = 1 << 6,       /* U+FE00 to U+FE02 and the Mongolian selectors
	                                    choose its form */
	CHARACTER_JOINS_NEXT = 1 << 7,   /* in cursive scripts: joins the next letter */
	CHARACTER_JOINS_BEFORE = 1 << 8, /* in cursive scripts: joins the previous letter */
	CHARACTER_MARK = 1 << 9,         /* a mark, which may stand between two such letters */
	CHARACTER_VIRAMA = 1 << 10       /* U+200C and U+200D after it determine the form
	                                    of a conjunct */
};
#define CHARACTER_FLAG_BITS 11

/* Runs of code points with the same flags, ascending, without gaps: the first of a run in the
 * upper bits, the flags below. */
extern const uint32_t character_runs[];
extern const size_t character_run_count;

#endif
