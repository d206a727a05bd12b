/*
 * Adds up numbers that come from outside: a sum that does not fit becomes the largest, or the
 * smallest, possible number.
 */
#ifndef AWF_BASE_COUNT_H
#define AWF_BASE_COUNT_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t
count_add(int64_t a, int64_t b)
{
	if (b > 0 && a > INT64_MAX - b)
		return INT64_MAX;
	if (b < 0 && a < INT64_MIN - b)
		return INT64_MIN;
	return a + b;
}

/* A short text: "340", "12.3k", "1.2M". Returns out. */
char *count_text(int64_t count, char *out, size_t size);

#endif
