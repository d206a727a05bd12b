/*
 * What a pattern compiles to, and the ranges of code points in its instructions.
 *
 * - A fragment is a sequence of instructions that is entered at its first and left
 *   just after its last. Jumps are relative, so fragments can be moved and copied.
 * - Every construct compiles to one fragment, appended to the program.
 */
#ifndef AWF_SCHEMA_PATTERN_PROGRAM_H
#define AWF_SCHEMA_PATTERN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/pattern.h"

#define PATTERN_CODE_POINT_MAX 0x10ffff

enum operation {
	OP_SET,           /* matches a code point inside the ranges [first, first + count) */
	OP_OTHER,         /* matches a code point outside the ranges */
	OP_SPLIT,         /* continues at the next instruction or, with less priority, at offset */
	OP_SPLIT_LAZY,    /* the same with the priorities exchanged */
	OP_JUMP,          /* continues at offset */
	OP_START, OP_END, /* match at the start and end of the text */
	OP_EDGE,          /* matches at a word boundary */
	OP_NO_EDGE,
	OP_LOOK,          /* matches where the lookaround with number first does */
	OP_KEEP,          /* stores the position in the text in slot first */
	OP_ROUND,         /* an iteration of a loop begins: stores the position for loop number
	                     offset, and clears the groups [first, first + count) */
	OP_PROGRESS,      /* fails if the iteration has consumed nothing */
	OP_SAME,          /* matches the text of group number first, if that has matched */
	OP_MATCH
};

struct instruction {
	enum operation operation;
	int offset;
	size_t first, count;
};

struct range {
	uint32_t low, high;
};

struct program {
	struct instruction *list;
	size_t size, capacity;
	bool backwards; /* runs, and matches characters, from the end to the beginning */
};

struct look {
	struct program program;
	bool negated;
};

struct pattern {
	unsigned flags;
	struct program program;
	struct look *looks;   /* lookarounds; inner ones come first */
	size_t look_count;
	struct range *ranges;
	size_t range_count, range_capacity;
	bool refers;          /* it has backreferences, so groups and loops are stored */
	size_t groups, loops;
};

/* Returns the code point at *at, and moves *at past it. The text is UTF-8. */
static inline uint32_t
pattern_code_point(const char **at, const char *end)
{
	unsigned char lead = (unsigned char)*(*at)++;
	int more = lead < 0xc0 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
	uint32_t value = more == 0 ? lead : lead & (0x3fu >> more);

	while (more-- > 0 && *at < end)
		value = value << 6 | ((unsigned char)*(*at)++ & 0x3fu);
	return value;
}

/* Whether it is an ASCII letter or digit. */
static inline bool
pattern_alphanumeric(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Add to the ranges of a pattern, in any order: a range; the ranges of a class (ascending, ended by
 * { 0, 0 }), or all code points outside them; the code points of the categories (a set of bits), or
 * all others. */
void pattern_add_range(struct pattern *t, uint32_t low, uint32_t high);
void pattern_add_class(struct pattern *t, const struct range *class, bool inverted);
void pattern_add_categories(struct pattern *t, uint32_t categories, bool inverted);
/* Turns the ranges added since `first` into those of one instruction: adds the other cases of
 * letters if the pattern ignores case, sorts, and joins adjacent ranges. False: the pattern has too
 * many ranges. */
bool pattern_join_ranges(struct pattern *t, size_t first);

#endif
