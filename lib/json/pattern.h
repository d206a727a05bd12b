/*
 * Patterns: regular expressions as JSON Schema writes them (ECMA-262, flag u,
 * unanchored). The system's regcomp() knows neither their escapes nor code points
 * in ranges, and ends at NUL; and a pattern that meets what a model wrote must not
 * take exponential time. So this matches by walking all alternatives at once
 * (Thompson 1968): time is at most the pattern's size times the text's.
 *
 * Refused, because they cannot be done that way: lookaround and backreferences.
 * Refused for being rare: inline flags, and \p{…} of anything but general categories
 * (\p{L}, \p{Letter}, \p{gc=Lu}). Groups capture nothing.
 */
#ifndef AWF_JSON_PATTERN_H
#define AWF_JSON_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct pattern;

enum {
	PATTERN_FOLD = 1,  /* ASCII letters match in either case */
	PATTERN_LINES = 2, /* ^ and $ hold at the ends of each line */
	PATTERN_ALL = 4    /* . takes line ends too */
};

/* source must be UTF-8. NULL if it is refused, with the reason (a static text). */
struct pattern *pattern_compile(const char *source, size_t len, const char **why);
struct pattern *pattern_compile_as(const char *source, size_t len, unsigned flags,
    const char **why);
/* Whether it matches anywhere in the text, which must be UTF-8. */
bool pattern_matches(const struct pattern *p, const char *text, size_t len);
/* The first match that begins at *start or later, where a character must begin: where it
 * begins and ends, as the order of alternatives and greedy and lazy quantifiers have it. */
bool pattern_find(const struct pattern *p, const char *text, size_t len, size_t *start,
    size_t *end);
void pattern_free(struct pattern *p);

#endif
