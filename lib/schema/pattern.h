/*
 * Patterns: regular expressions as JSON Schema writes them (ECMA-262, flag u,
 * unanchored). The system's regcomp() knows neither their escapes nor code points
 * in ranges, and ends at NUL; and a pattern that meets what a model wrote must not
 * take exponential time. So this matches by walking all alternatives at once
 * (Thompson 1968): time is at most the pattern's size times the text's. So it is with
 * lookahead and lookbehind, of which one walk over the text notes where each holds.
 *
 * Backreferences (\1, \k<name>) cannot be done that way. They are refused unless asked
 * for (PATTERN_REFERENCES); a pattern that has some is matched by trying alternatives one
 * after another, within a bound of steps.
 * Refused for being rare: inline flags, and \p{…} of anything but general categories
 * (\p{L}, \p{Letter}, \p{gc=Lu}).
 */
#ifndef AWF_SCHEMA_PATTERN_H
#define AWF_SCHEMA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct pattern;
struct pattern_search;

enum {
	PATTERN_FOLD = 1,  /* ASCII letters match in either case */
	PATTERN_LINES = 2, /* ^ and $ hold at the ends of each line */
	PATTERN_ALL = 4,   /* . takes line ends too */
	PATTERN_REFERENCES = 8, /* backreferences are known; not with PATTERN_FOLD */
};

/* source must be UTF-8. NULL if it is refused, with the reason (a static text). */
struct pattern *pattern_compile(const char *source, size_t len, const char **why);
struct pattern *pattern_compile_as(const char *source, size_t len, unsigned flags,
    const char **why);
/* Whether it matches anywhere in the text, which must be UTF-8: 1 or 0; -1 if that cannot
 * be told within *work steps, or those that any pattern with backreferences gets (ten
 * million). Steps taken are subtracted: a step is one instruction of the pattern at one
 * place in the text. */
int pattern_match(const struct pattern *p, const char *text, size_t len, long *work);
/* The same where it may take as long as it does; what cannot be told does not match. */
bool pattern_matches(const struct pattern *p, const char *text, size_t len);
/* A search for one match after another in a text, which must stay where it is. */
struct pattern_search *pattern_search_begin(const struct pattern *p, const char *text,
    size_t len);
/* The first match that begins at *start or later, where a character must begin: where it
 * begins and ends, as the order of alternatives and greedy and lazy quantifiers have it. */
bool pattern_search_next(struct pattern_search *s, size_t *start, size_t *end);
void pattern_search_end(struct pattern_search *s);
void pattern_free(struct pattern *p);

#endif
