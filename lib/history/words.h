/*
 * Texts of calls compared by their words: how much two of them have in common, and where one
 * differs from the other. A loop's calls differ in one word, its item; a time, an id or a new path
 * in the same text is another word in each attempt, and two ids seldom have the same length or the
 * same parts.
 *
 * A word is a run of letters and digits; a run of letters with a number behind it is two (x12); a
 * number goes on over what joins its parts (2026-11-30T08:15, 1.5); a UUID is one word, a line of base64 too, and so
 * is any other byte that is no blank. A part is what stands between blanks, quotes, brackets and commas: if
 * two words of a part differ, all between them do too, as those may be equal by chance. Of a long text the
 * beginning is compared.
 */
#ifndef AWF_HISTORY_WORDS_H
#define AWF_HISTORY_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/scan.h"

struct word {
	struct span text;
	size_t part;                 /* the number of its part */
};

struct words {
	struct word *list;
	size_t count;
};

/* The words of a text, which must live as long; to be freed. */
struct words words_of(struct span text);
void words_free(struct words *words);
/* What two texts have in common. An id counts as one difference, however many words it has. */
struct words_alike {
	size_t shared;               /* words of letters or digits of each that are in the other, too */
	size_t parts;                /* parts of each that have words which the other lacks */
};
struct words_alike words_compare(const struct words *a, const struct words *b);
/* Whether a has a word of letters or digits that b lacks, and c has. */
bool words_have_of_third(const struct words *a, const struct words *b, const struct words *c);
/* Whether the words in which two texts differ look like times, ids or new paths: they are long and have a digit. *any is set
 * if there are some. */
bool words_differ_by_chance(const struct words *a, const struct words *b, bool *any);
/* Whether a text has such a word, or is a number of at least five digits, as a process or a random number has. */
bool words_have_chance(const struct words *words);
/* Calls add() for each place of a where b differs, in ascending order: 2i+1 is word i, 2i the place
 * before it. */
void words_differ(const struct words *a, const struct words *b, void (*add)(void *context, uint64_t place),
    void *context);

#endif
