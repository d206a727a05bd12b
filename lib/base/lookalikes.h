/*
 * Characters that pass for ASCII ones, as those who deceive a reader use them: a Cyrillic letter
 * between Latin ones (github.com with U+0456 as its i), a slash that is none.
 *
 * Letters are judged by runs: between ASCII letters a letter of a script that has the same shapes
 * passes for one, without them only if all letters of the run have an ASCII letter's shape. So what
 * is written in another script is left.
 */
#ifndef AWF_BASE_LOOKALIKES_H
#define AWF_BASE_LOOKALIKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* A text whose characters are judged from its beginning to its end. */
struct lookalikes {
	const char *run_end, *end;
	bool mixed;     /* the run has ASCII letters */
	bool like;      /* all its letters have the shape of ASCII ones */
	size_t letters;
};

void lookalikes_begin(struct lookalikes *l, const char *text, size_t len);
/* Whether the character at a place of the text is a letter or digit that passes for an ASCII one.
 * Called for each character, or for the first of each piece (text_piece()). */
bool lookalikes_letter(struct lookalikes *l, const char *at, uint32_t code);
/* Whether a character looks like a sign of ASCII: a hyphen, a quote, a dot, a slash. */
bool lookalikes_sign(uint32_t code);
/* Appends the words of a text that have such letters, at most `most`, "A, B", with the letters as
 * their codes: g\u0456thub.com. Returns how many there are. Words that a writer of another script
 * may well use (a single letter, a word without any ASCII letter) are left out, and so are signs. */
size_t lookalikes_list(struct buffer *out, const char *text, size_t len, size_t most);

#endif
