/*
 * Patterns: regular expressions as JSON Schema writes them (ECMA-262, flag u, unanchored). The
 * system's regcomp() supports neither their escapes nor code points in ranges, and stops at NUL;
 * and a pattern that is matched with a model's text must not take exponential time. So all
 * alternatives are followed at once (Thompson 1968): the time is at most the product of the sizes
 * of pattern and text. The same holds for lookahead and lookbehind: one pass over the text for each
 * notes where it matches.
 *
 * Backreferences (\1, \k<name>) cannot be matched that way. They are refused unless requested
 * (PATTERN_REFERENCES); a pattern with backreferences is matched by trying alternatives one after
 * another, within a limit of steps. Refused because they are rare: inline flags, and \p{…} of
 * anything except general categories (\p{L}, \p{Letter}, \p{gc=Lu}).
 */
#ifndef AWF_SCHEMA_PATTERN_H
#define AWF_SCHEMA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct pattern;
struct pattern_search;

enum {
	PATTERN_FOLD = 1,  /* ASCII letters match in either case */
	PATTERN_LINES = 2, /* ^ and $ match at the ends of each line */
	PATTERN_ALL = 4,   /* . matches line ends too */
	PATTERN_REFERENCES = 8, /* accept backreferences; not with PATTERN_FOLD */
};

/* source must be UTF-8. NULL if it is refused, and *why is the reason (a static text). */
struct pattern *pattern_compile(const char *source, size_t len, const char **why);
struct pattern *pattern_compile_as(const char *source, size_t len, unsigned flags,
    const char **why);
/* Whether it matches anywhere in the text, which must be UTF-8: 1 or 0; -1 if that cannot be found
 * out within *work steps, or within the limit for patterns with backreferences (ten million). The
 * steps that were used are subtracted from *work: one for each instruction that is executed at a
 * position of the text. */
int pattern_match(const struct pattern *p, const char *text, size_t len, long *work);
/* The same without a limit of steps; -1 counts as no match. */
bool pattern_matches(const struct pattern *p, const char *text, size_t len);
/* A search for successive matches in a text, which must not change or move. */
struct pattern_search *pattern_search_begin(const struct pattern *p, const char *text,
    size_t len);
/* The first match that begins at *start or later; *start must be at the beginning of a character.
 * Sets the match's beginning and end. Which match counts depends, as usual, on the order of
 * alternatives and on greedy and lazy quantifiers. */
bool pattern_search_next(struct pattern_search *s, size_t *start, size_t *end);
void pattern_search_end(struct pattern_search *s);
void pattern_free(struct pattern *p);

#endif
