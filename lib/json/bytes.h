/*
 * The inner loops of the scanner and the writer: each finds the next byte of a certain kind,
 * sixteen bytes at a time with SSE2, otherwise one at a time. Each returns end if there is no such
 * byte.
 */
#ifndef AWF_JSON_BYTES_H
#define AWF_JSON_BYTES_H

#include <stdbool.h>

#ifdef __SSE2__
#include <emmintrin.h>

typedef __m128i bytes_block;
#define BYTES_ARE(block, c) _mm_cmpeq_epi8(block, _mm_set1_epi8(c))
#define BYTES_OR(a, b) _mm_or_si128(a, b)
/* Compared as signed numbers, so that 0x80 and above are below c too. */
#define BYTES_BELOW(block, c) _mm_cmplt_epi8(block, _mm_set1_epi8(c))
#define BYTES_ABOVE(block, c) _mm_cmpgt_epi8(block, _mm_set1_epi8(c))
#endif

/*
 * FUNCTION(at, end): the first byte for which TEST(c) holds. BLOCK(block) is the
 * same test for 16 bytes at once.
 */
#ifdef __SSE2__
#define BYTES_FINDER(function, test, block_test) \
	static inline const char * \
	function(const char *at, const char *end) \
	{ \
		for (; end - at >= 16; at += 16) { \
			bytes_block block = _mm_loadu_si128((const void *)at); \
			unsigned found = (unsigned)_mm_movemask_epi8(block_test(block)); \
\
			if (found) \
				return at + __builtin_ctz(found); \
		} \
		while (at < end && !test((unsigned char)*at)) \
			at++; \
		return at; \
	}
#else
#define BYTES_FINDER(function, test, block_test) \
	static inline const char * \
	function(const char *at, const char *end) \
	{ \
		while (at < end && !test((unsigned char)*at)) \
			at++; \
		return at; \
	}
#endif

/* In a string: its end, escapes, forbidden bytes, and bytes that are not ASCII. */
#define IS_NOT_PLAIN(c) ((c) == '"' || (c) == '\\' || (c) < 0x20 || (c) >= 0x80)
#define ARE_NOT_PLAIN(b) \
	BYTES_OR(BYTES_BELOW(b, 0x20), BYTES_OR(BYTES_ARE(b, '"'), BYTES_ARE(b, '\\')))
BYTES_FINDER(bytes_not_plain, IS_NOT_PLAIN, ARE_NOT_PLAIN)

/* In a valid string: its end, and escapes. */
#define IS_QUOTE(c) ((c) == '"' || (c) == '\\')
#define ARE_QUOTES(b) BYTES_OR(BYTES_ARE(b, '"'), BYTES_ARE(b, '\\'))
BYTES_FINDER(bytes_quote, IS_QUOTE, ARE_QUOTES)

/* In ids and digests: a byte that is not a lower-case hex digit. Compared as signed numbers, so
 * that 0x80 and above are below '0'. */
#define IS_NOT_HEX(c) (((c) < '0' || (c) > '9') && ((c) < 'a' || (c) > 'f'))
#define ARE_NOT_HEX(b) \
	BYTES_OR(BYTES_BELOW(b, '0'), \
	    BYTES_OR(_mm_and_si128(BYTES_ABOVE(b, '9'), BYTES_BELOW(b, 'a')), BYTES_ABOVE(b, 'f')))
BYTES_FINDER(bytes_not_hex, IS_NOT_HEX, ARE_NOT_HEX)

/* Outside strings: brackets, and the beginning of a string. With bit 5 set '[' becomes '{' and ']'
 * becomes '}'. */
#define IS_STRUCTURE(c) ((c) == '"' || ((c) | 0x20) == '{' || ((c) | 0x20) == '}')
#define ARE_STRUCTURE(b) \
	BYTES_OR(BYTES_ARE(b, '"'), \
	    BYTES_OR(BYTES_ARE(BYTES_OR(b, _mm_set1_epi8(0x20)), '{'), \
	        BYTES_ARE(BYTES_OR(b, _mm_set1_epi8(0x20)), '}')))
BYTES_FINDER(bytes_structure, IS_STRUCTURE, ARE_STRUCTURE)

/* The last byte that equals `wanted`; NULL if there is none. */
static inline const char *
bytes_last(const char *at, const char *end, char wanted)
{
#ifdef __SSE2__
	for (; end - at >= 16; end -= 16) {
		bytes_block block = _mm_loadu_si128((const void *)(end - 16));
		unsigned found = (unsigned)_mm_movemask_epi8(BYTES_ARE(block, wanted));

		if (found)
			return end - 16 + (31 - __builtin_clz(found));
	}
#endif
	while (end > at)
		if (*--end == wanted)
			return end;
	return NULL;
}

static inline bool
bytes_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Characters of numbers and literals. */
static inline bool
bytes_scalar(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    c == '-' || c == '+' || c == '.';
}

#endif
