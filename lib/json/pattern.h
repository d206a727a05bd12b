/*
 * Patterns: regular expressions as JSON Schema writes them (ECMA-262, flag u,
 * unanchored). The system's regcomp() knows neither their escapes nor code points
 * in ranges, and ends at NUL; and a pattern that meets what a model wrote must not
 * take exponential time. So this matches by walking all alternatives at once
 * (Thompson 1968): time is at most the pattern's size times the text's.
 *
 * Refused, because they cannot be done that way: lookaround and backreferences.
 * Refused for being rare: inline flags, and \p{…} of anything but general categories
 * (\p{L}, \p{Letter}, \p{gc=Lu}). Groups capture nothing; lazy quantifiers are the same
 * as greedy ones when only a yes or no is asked.
 */
#ifndef AWF_JSON_PATTERN_H
#define AWF_JSON_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct pattern;

/* source must be UTF-8. NULL if it is refused, with the reason (a static text). */
struct pattern *pattern_compile(const char *source, size_t len, const char **why);
/* Whether it matches anywhere in the text, which must be UTF-8. */
bool pattern_matches(const struct pattern *p, const char *text, size_t len);
void pattern_free(struct pattern *p);

#endif
