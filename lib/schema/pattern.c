/*
 * - A fragment is a stretch of instructions that is entered at its first and left
 *   just after its last. Jumps are relative, so fragments can be moved and copied.
 * - Every construct compiles to one fragment, appended to the program.
 * - What is looked for around a place is a program of its own. Before the pattern is
 *   walked, one walk over the text for each of them, inner ones first, notes all places
 *   where it holds: a lookahead is compiled to be read from its end to its beginning, and
 *   walked from the end of the text, so that the places come out where it begins.
 * - A pattern with backreferences is compiled a second time, so that its groups are kept,
 *   and is matched by trying one alternative after another (backtracking), lookaround
 *   included: that may take exponential time, so it is given up after so many steps.
 */
#include "schema/pattern.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "schema/unicode_category.h"

#define PROGRAM_LIMIT 10000
#define RANGE_LIMIT 100000
#define GROUP_LIMIT 64
#define LOOK_LIMIT 64 /* each costs a bit for each byte of the text */
#define REPEAT_LIMIT 10000
#define CODE_POINT_MAX 0x10ffff

enum operation {
	OP_SET,           /* takes a code point of the ranges [first, first + count) */
	OP_OTHER,         /* takes one of none of them */
	OP_SPLIT,         /* goes on at the next and, second to that, at offset */
	OP_SPLIT_LAZY,    /* the other way about */
	OP_JUMP,          /* goes on at offset */
	OP_START, OP_END, /* hold at the ends of the text */
	OP_EDGE,          /* holds between a word character and another */
	OP_NO_EDGE,
	OP_LOOK,          /* holds where lookaround number first does */
	OP_KEEP,          /* notes the place in the text in slot first */
	OP_ROUND,         /* a round of a loop begins: notes the place in the loop number offset,
	                     and forgets the groups [first, first + count) */
	OP_PROGRESS,      /* holds if that round has taken something */
	OP_SAME,          /* takes what group number first took last, if it did */
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
	bool backwards; /* it is read, and takes characters, from its end to its beginning */
};

struct look {
	struct program program;
	bool negated;
};

struct pattern {
	unsigned flags;
	struct program program;
	struct look *looks;   /* those within others before them */
	size_t look_count;
	struct range *ranges;
	size_t range_count, range_capacity;
	bool refers;          /* it has backreferences: groups and loops count */
	size_t groups, loops;
};

struct name {
	const char *at;
	size_t len, group;
};

struct parser {
	struct pattern *pattern;
	struct program *program; /* the pattern's, or that of the lookaround at hand */
	const char *at, *end;
	unsigned depth;
	bool refers;             /* a backreference was met */
	struct name *names;      /* of groups, as the first time through found them */
	size_t name_count, group_count;
	const char *why;
};

struct quantifier {
	long min, max;        /* max -1: no limit */
	enum operation split; /* which asks whether to go on */
};

static const struct range digits[] = { { '0', '9' }, { 0, 0 } };
static const struct range words[] = {
	{ '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' }, { 0, 0 } };
static const struct range spaces[] = {
	{ '\t', '\r' }, { ' ', ' ' }, { 0xa0, 0xa0 }, { 0x1680, 0x1680 }, { 0x2000, 0x200a },
	{ 0x2028, 0x2029 }, { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 },
	{ 0xfeff, 0xfeff }, { 0, 0 } };
static const struct range line_ends[] = {
	{ '\n', '\n' }, { '\r', '\r' }, { 0x2028, 0x2029 }, { 0, 0 } };
static const struct range nothing[] = { { 0, 0 } };

/* Classes, and what single letters stand for after a backslash. */
static const struct {
	char letter;
	bool inverted;
	const struct range *ranges;
} classes[] = {
	{ 'd', false, digits }, { 'D', true, digits }, { 'w', false, words },
	{ 'W', true, words }, { 's', false, spaces }, { 'S', true, spaces },
};
static const struct {
	char letter, means;
} controls[] = {
	{ 't', '\t' }, { 'n', '\n' }, { 'v', '\v' }, { 'f', '\f' }, { 'r', '\r' },
};

static int parse_alternatives(struct parser *p);

static int
refuse(struct parser *p, const char *why)
{
	p->why = why;
	return -1;
}

static bool
next_is(const struct parser *p, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(p->end - p->at) >= len && memcmp(p->at, text, len) == 0;
}

static bool
take(struct parser *p, const char *text)
{
	if (!next_is(p, text))
		return false;
	p->at += strlen(text);
	return true;
}

/* The code point at *at, which is moved past it. The text is UTF-8. */
static uint32_t
code_point(const char **at, const char *end)
{
	unsigned char lead = (unsigned char)*(*at)++;
	int more = lead < 0xc0 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
	uint32_t value = more == 0 ? lead : lead & (0x3fu >> more);

	while (more-- > 0 && *at < end)
		value = value << 6 | ((unsigned char)*(*at)++ & 0x3fu);
	return value;
}

static int
emit(struct parser *p, struct instruction instruction)
{
	struct program *t = p->program;

	if (t->size >= PROGRAM_LIMIT)
		return refuse(p, "the pattern is too large");
	if (t->size == t->capacity) {
		t->capacity = t->capacity * 2 + 16;
		t->list = memory_array(t->list, t->capacity, sizeof *t->list);
	}
	t->list[t->size++] = instruction;
	return 0;
}

static int
emit_operation(struct parser *p, enum operation operation, size_t offset)
{
	return emit(p, (struct instruction){ operation, (int)offset, 0, 0 });
}

/* A split before the fragment that begins at start: it, or what follows after skip. */
static int
insert_split(struct parser *p, size_t start, size_t skip)
{
	struct instruction *list, split = { OP_SPLIT, (int)skip, 0, 0 };

	if (emit(p, split) != 0)
		return -1;
	list = p->program->list;
	memmove(list + start + 1, list + start, (p->program->size - start - 1) * sizeof *list);
	list[start] = split;
	return 0;
}

static void
add_range(struct pattern *t, uint32_t low, uint32_t high)
{
	if (t->range_count == t->range_capacity) {
		t->range_capacity = t->range_capacity * 2 + 16;
		t->ranges = memory_array(t->ranges, t->range_capacity, sizeof *t->ranges);
	}
	t->ranges[t->range_count++] = (struct range){ low, high };
}

/* Adds the ranges of a class (ascending), or all that is between them. */
static void
add_class(struct pattern *t, const struct range *class, bool inverted)
{
	uint32_t low = 0;

	for (; class->high != 0; class++) {
		if (!inverted)
			add_range(t, class->low, class->high);
		else if (class->low > low)
			add_range(t, low, class->low - 1);
		low = class->high + 1;
	}
	if (inverted)
		add_range(t, low, CODE_POINT_MAX);
}

/* Adds all code points of the categories, or all others. */
static void
add_categories(struct pattern *t, uint32_t categories, bool inverted)
{
	uint32_t low, end;

	for (size_t i = 0; i < unicode_category_count; i++) {
		low = unicode_categories[i] >> 8;
		end = i + 1 < unicode_category_count ? unicode_categories[i + 1] >> 8
		    : CODE_POINT_MAX + 1;
		if (((categories >> (unicode_categories[i] & 0xff) & 1) != 0) != inverted)
			add_range(t, low, end - 1);
	}
}

static int
ranges_compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

/* Puts the ranges added since first in order, those that touch joined. */
static void
join_ranges(struct pattern *t, size_t first)
{
	size_t count = t->range_count - first, last = 0;
	struct range *ranges;

	if (count < 2)
		return;
	ranges = t->ranges + first;
	qsort(ranges, count, sizeof *ranges, ranges_compare);
	for (size_t i = 1; i < count; i++)
		if (ranges[i].low > ranges[last].high + 1)
			ranges[++last] = ranges[i];
		else if (ranges[i].high > ranges[last].high)
			ranges[last].high = ranges[i].high;
	t->range_count = first + last + 1;
}

/* Adds the part of a range that are letters from a to z, moved by distance. */
static void
add_folded(struct pattern *t, struct range range, uint32_t a, uint32_t z, int distance)
{
	uint32_t low = range.low > a ? range.low : a, high = range.high < z ? range.high : z;

	if (low <= high)
		add_range(t, (uint32_t)((int)low + distance), (uint32_t)((int)high + distance));
}

/* Adds the other cases of what was added since first. */
static void
fold(struct pattern *t, size_t first)
{
	size_t end = t->range_count;

	for (size_t i = first; i < end; i++) {
		add_folded(t, t->ranges[i], 'A', 'Z', 'a' - 'A');
		add_folded(t, t->ranges[i], 'a', 'z', 'A' - 'a');
	}
}

/* The ranges added since first, as an instruction. */
static int
emit_set(struct parser *p, size_t first, bool inverted)
{
	if ((p->pattern->flags & PATTERN_FOLD) != 0)
		fold(p->pattern, first);
	if (p->pattern->range_count > RANGE_LIMIT)
		return refuse(p, "the pattern is too large");
	join_ranges(p->pattern, first);
	return emit(p, (struct instruction){ inverted ? OP_OTHER : OP_SET, 0, first,
	    p->pattern->range_count - first });
}

static int
emit_class(struct parser *p, const struct range *class, bool inverted)
{
	size_t first = p->pattern->range_count;

	add_class(p->pattern, class, inverted);
	return emit_set(p, first, false);
}

static int
emit_literal(struct parser *p, uint32_t value)
{
	size_t first = p->pattern->range_count;

	add_range(p->pattern, value, value);
	return emit_set(p, first, false);
}

/* Exactly count hex digits, or those up to a brace if count is 0. */
static int
parse_hex(struct parser *p, int count, uint32_t *value)
{
	static const char hex[] = "0123456789abcdef";
	const char *start = p->at, *digit;

	*value = 0;
	while (p->at < p->end && (count == 0 || p->at - start < count)) {
		digit = *p->at == '\0' ? NULL : strchr(hex, *p->at | 0x20);
		if (digit == NULL || *value > CODE_POINT_MAX)
			break;
		*value = *value << 4 | (uint32_t)(digit - hex);
		p->at++;
	}
	if (*value > CODE_POINT_MAX || p->at == start || (count != 0 && p->at - start != count))
		return refuse(p, "an escape does not name a code point");
	return 0;
}

/* After "\u": four digits, two surrogates of four digits, or {digits}. */
static int
parse_unicode(struct parser *p, uint32_t *value)
{
	uint32_t low;

	if (take(p, "{")) {
		if (parse_hex(p, 0, value) != 0)
			return -1;
		return take(p, "}") ? 0 : refuse(p, "\\u{ has no }");
	}
	if (parse_hex(p, 4, value) != 0)
		return -1;
	if (*value < 0xd800 || *value > 0xdbff || !take(p, "\\u"))
		return 0;
	if (parse_hex(p, 4, &low) != 0)
		return -1;
	if (low < 0xdc00 || low > 0xdfff)
		return refuse(p, "half of a surrogate pair is missing");
	*value = 0x10000 + ((*value - 0xd800) << 10) + (low - 0xdc00);
	return 0;
}

static int
stands_for(uint32_t *value, uint32_t c)
{
	*value = c;
	return 0;
}

static bool
alphanumeric(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool
is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* After a backslash that begins no class: the code point that is meant. */
static int
parse_escape(struct parser *p, uint32_t *value)
{
	uint32_t c;

	if (p->at == p->end)
		return refuse(p, "it ends in a backslash");
	c = code_point(&p->at, p->end);
	for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
		if (c == (unsigned char)controls[i].letter)
			return stands_for(value, (unsigned char)controls[i].means);
	if (c == 'x')
		return parse_hex(p, 2, value);
	if (c == 'u')
		return parse_unicode(p, value);
	if (c == 'c' && p->at < p->end && is_letter(*p->at))
		return stands_for(value, (unsigned char)*p->at++ & 0x1f);
	if (c == '0' && (p->at == p->end || *p->at < '0' || *p->at > '9'))
		return stands_for(value, 0);
	if (alphanumeric(c))
		return refuse(p, "it has an unknown escape");
	return stands_for(value, c);
}

/* "{Letter}" or "{gc=L}" after "\\p" or "\\P": adds the ranges. */
static int
parse_property(struct parser *p, bool inverted)
{
	const char *end = p->at;
	uint32_t categories;

	while (end < p->end && *end != '}')
		end++;
	if (!take(p, "{") || end == p->end)
		return refuse(p, "\\p has no {…}");
	if (!take(p, "General_Category="))
		take(p, "gc=");
	categories = unicode_category_named(p->at, (size_t)(end - p->at));
	if (categories == 0)
		return refuse(p, "\\p{…} names no general category; others are not supported");
	add_categories(p->pattern, categories, inverted);
	p->at = end + 1;
	return 0;
}

/* After a backslash: adds the ranges if a class follows, and says so in *found. */
static int
parse_class_escape(struct parser *p, bool *found)
{
	*found = true;
	if (take(p, "p"))
		return parse_property(p, false);
	if (take(p, "P"))
		return parse_property(p, true);
	for (size_t i = 0; p->at < p->end && i < sizeof classes / sizeof *classes; i++)
		if (*p->at == classes[i].letter) {
			add_class(p->pattern, classes[i].ranges, classes[i].inverted);
			p->at++;
			return 0;
		}
	*found = false;
	return 0;
}

/* One member of a bracket expression; *single is false if it was a class. */
static int
parse_member(struct parser *p, uint32_t *value, bool *single)
{
	bool class;

	*single = true;
	if (p->at == p->end)
		return refuse(p, "[ has no ]");
	if (!take(p, "\\"))
		return stands_for(value, code_point(&p->at, p->end));
	if (parse_class_escape(p, &class) != 0)
		return -1;
	*single = !class;
	if (class)
		return 0;
	return take(p, "b") ? stands_for(value, '\b') : parse_escape(p, value);
}

static int
parse_brackets(struct parser *p)
{
	size_t first = p->pattern->range_count;
	bool inverted = take(p, "^"), single, second;
	uint32_t low, high;

	while (!take(p, "]")) {
		if (parse_member(p, &low, &single) != 0)
			return -1;
		if (single && next_is(p, "-") && !next_is(p, "-]")) {
			p->at++;
			if (parse_member(p, &high, &second) != 0)
				return -1;
			if (!second)
				return refuse(p, "a range ends in a class");
			if (high < low)
				return refuse(p, "a range is out of order");
			add_range(p->pattern, low, high);
		} else if (single) {
			add_range(p->pattern, low, low);
		}
	}
	return emit_set(p, first, inverted);
}

/* The name of a group, up to ">". */
static int
parse_name(struct parser *p, struct name *name)
{
	name->at = p->at;
	while (p->at < p->end && (alphanumeric((unsigned char)*p->at) || *p->at == '_' ||
	    *p->at == '$' || (unsigned char)*p->at >= 0x80))
		p->at++;
	name->len = (size_t)(p->at - name->at);
	if (!take(p, ">"))
		return refuse(p, "the name of a group has no >");
	return name->len > 0 ? 0 : refuse(p, "the name of a group is empty");
}

/* After "(" and "?", if it has one: whether the group is kept, and as what number. */
static int
parse_group_kind(struct parser *p, size_t *group)
{
	struct name name = { NULL, 0, 0 };

	*group = 0;
	if (take(p, "?:"))
		return 0;
	if (take(p, "?<") ? parse_name(p, &name) != 0 : take(p, "?"))
		return name.at != NULL ? -1 : refuse(p, "inline flags are not supported");
	*group = name.group = ++p->group_count;
	if (name.at == NULL || p->pattern->refers)
		return 0;
	p->names = memory_array(p->names, p->name_count + 1, sizeof *p->names);
	p->names[p->name_count++] = name;
	return 0;
}

/* One of the two slots of a group: where it began and where it ended. */
static int
emit_keep(struct parser *p, size_t group, bool entered)
{
	size_t slot = group * 2 + (entered == p->program->backwards ? 1 : 0);

	if (group == 0 || !p->pattern->refers)
		return 0;
	return emit(p, (struct instruction){ OP_KEEP, 0, slot, 0 });
}

/* What stands in parentheses, up to the last of them. */
static int
parse_inner(struct parser *p)
{
	if (++p->depth > GROUP_LIMIT)
		return refuse(p, "groups are nested too deeply");
	if (parse_alternatives(p) != 0)
		return -1;
	p->depth--;
	return take(p, ")") ? 0 : refuse(p, "( has no )");
}

static int
parse_group(struct parser *p)
{
	size_t group;

	if (parse_group_kind(p, &group) != 0 || emit_keep(p, group, true) != 0 ||
	    parse_inner(p) != 0)
		return -1;
	return emit_keep(p, group, false);
}

/* Adds a lookaround to the pattern, and an instruction that asks for it. */
static int
emit_look(struct parser *p, const struct look *look)
{
	struct pattern *t = p->pattern;

	if (t->look_count == LOOK_LIMIT)
		return refuse(p, "it looks ahead or behind too often");
	if (emit(p, (struct instruction){ OP_LOOK, 0, t->look_count, 0 }) != 0)
		return -1;
	t->looks = memory_array(t->looks, t->look_count + 1, sizeof *t->looks);
	t->looks[t->look_count++] = *look;
	return 0;
}

/* Which way it is walked depends on how: see above. */
static int
parse_look(struct parser *p, bool behind, bool negated)
{
	struct look look = { { NULL, 0, 0, behind == p->pattern->refers }, negated };
	struct program *outer = p->program;
	int result;

	p->program = &look.program;
	result = parse_inner(p) != 0 ? -1 : emit_operation(p, OP_MATCH, 0);
	p->program = outer;
	if (result == 0)
		result = emit_look(p, &look);
	if (result != 0)
		free(look.program.list);
	return result;
}

/* After a backslash: whether a backreference follows, by name or by number. */
static bool
at_reference(const struct parser *p)
{
	return p->at < p->end && (*p->at == 'k' || (*p->at >= '1' && *p->at <= '9'));
}

/* More than one group may have the name, in different alternatives: those that took
 * nothing stand for nothing. */
static int
parse_named_reference(struct parser *p)
{
	struct name name;
	bool found = false;

	if (!take(p, "k<"))
		return refuse(p, "\\k has no <\xe2\x80\xa6>");
	if (parse_name(p, &name) != 0)
		return -1;
	for (size_t i = 0; i < p->name_count; i++) {
		if (p->names[i].len != name.len || memcmp(p->names[i].at, name.at, name.len) != 0)
			continue;
		found = true;
		if (emit(p, (struct instruction){ OP_SAME, 0, p->names[i].group, 0 }) != 0)
			return -1;
	}
	return found || !p->pattern->refers ? 0 : refuse(p, "a backreference leads to no group");
}

static int
parse_reference(struct parser *p)
{
	size_t group = 0;

	if ((p->pattern->flags & PATTERN_REFERENCES) == 0)
		return refuse(p, "backreferences are not supported");
	p->refers = true;
	if (next_is(p, "k"))
		return parse_named_reference(p);
	for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
		if (group <= PROGRAM_LIMIT)
			group = group * 10 + (size_t)(*p->at - '0');
	if (p->pattern->refers && group > p->pattern->groups)
		return refuse(p, "a backreference leads to no group");
	return emit(p, (struct instruction){ OP_SAME, 0, group, 0 });
}

static int
parse_backslash(struct parser *p)
{
	size_t first = p->pattern->range_count;
	uint32_t value;
	bool class;

	if (at_reference(p))
		return parse_reference(p);
	if (parse_class_escape(p, &class) != 0)
		return -1;
	if (class)
		return emit_set(p, first, false);
	return parse_escape(p, &value) != 0 ? -1 : emit_literal(p, value);
}

/* Lookaround cannot be repeated either. *found: whether some follows. */
static int
parse_around(struct parser *p, bool *found)
{
	static const struct {
		const char *text;
		bool behind, negated;
	} kinds[] = {
		{ "(?=", false, false }, { "(?!", false, true }, { "(?<=", true, false },
		{ "(?<!", true, true },
	};

	*found = true;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (take(p, kinds[i].text))
			return parse_look(p, kinds[i].behind, kinds[i].negated);
	*found = false;
	return 0;
}

/* Things that hold at a place and take nothing; they cannot be repeated. */
static bool
parse_assertion(struct parser *p, enum operation *operation)
{
	static const struct {
		const char *text;
		enum operation operation;
	} assertions[] = {
		{ "^", OP_START }, { "$", OP_END }, { "\\b", OP_EDGE }, { "\\B", OP_NO_EDGE },
	};

	for (size_t i = 0; i < sizeof assertions / sizeof *assertions; i++)
		if (take(p, assertions[i].text)) {
			*operation = assertions[i].operation;
			return true;
		}
	return false;
}

static int
parse_atom(struct parser *p)
{
	if (take(p, "("))
		return parse_group(p);
	if (take(p, "["))
		return parse_brackets(p);
	if (take(p, "."))
		return emit_class(p, (p->pattern->flags & PATTERN_ALL) != 0 ? nothing : line_ends,
		    true);
	if (take(p, "\\"))
		return parse_backslash(p);
	return emit_literal(p, code_point(&p->at, p->end));
}

static bool
parse_number(const char **at, const char *end, long *value)
{
	const char *start = *at;

	for (*value = 0; *at < end && **at >= '0' && **at <= '9'; (*at)++)
		if (*value <= REPEAT_LIMIT)
			*value = *value * 10 + (**at - '0');
	return *at != start;
}

/* "{n}", "{n,}" or "{n,m}"; anything else with a brace is taken literally. */
static bool
parse_bounds(struct parser *p, long *min, long *max)
{
	const char *at = p->at + 1;

	if (!next_is(p, "{") || !parse_number(&at, p->end, min))
		return false;
	*max = *min;
	if (at < p->end && *at == ',') {
		at++;
		if (!parse_number(&at, p->end, max))
			*max = -1;
	}
	if (at == p->end || *at != '}')
		return false;
	p->at = at + 1;
	return true;
}

/* Whether a quantifier follows. */
static bool
parse_quantifier(struct parser *p, struct quantifier *q)
{
	static const struct {
		const char *text;
		long min, max;
	} signs[] = { { "*", 0, -1 }, { "+", 1, -1 }, { "?", 0, 1 } };
	size_t i = 0, count = sizeof signs / sizeof *signs;

	while (i < count && !take(p, signs[i].text))
		i++;
	if (i < count) {
		q->min = signs[i].min;
		q->max = signs[i].max;
	} else if (!parse_bounds(p, &q->min, &q->max))
		return false;
	q->split = take(p, "?") ? OP_SPLIT_LAZY : OP_SPLIT;
	return true;
}

/* What is repeated. */
struct body {
	struct instruction *list;
	size_t size;
	size_t group, groups; /* which groups it has */
	size_t loop;
};

/* Once more. Where groups are kept, each round begins without any; and one that need not
 * be has to take something, or loops would never end. */
static int
emit_round(struct parser *p, const struct body *body, bool needed)
{
	if (p->pattern->refers && emit(p, (struct instruction){ OP_ROUND, (int)body->loop,
	    body->group, body->groups }) != 0)
		return -1;
	for (size_t i = 0; i < body->size; i++)
		if (emit(p, body->list[i]) != 0)
			return -1;
	return needed || !p->pattern->refers ? 0 : emit_operation(p, OP_PROGRESS, body->loop);
}

static int
emit_repeated(struct parser *p, const struct body *body, const struct quantifier *q)
{
	size_t size = body->size + (p->pattern->refers ? 2 : 0);

	for (long i = 0; i < q->min; i++)
		if (emit_round(p, body, true) != 0)
			return -1;
	for (long i = q->min; i < q->max; i++)
		if (emit_operation(p, q->split, size + 1) != 0 || emit_round(p, body, false) != 0)
			return -1;
	if (q->max >= 0)
		return 0;
	if (emit_operation(p, q->split, size + 2) != 0 || emit_round(p, body, false) != 0)
		return -1;
	return emit(p, (struct instruction){ OP_JUMP, -(int)(size + 1), 0, 0 });
}

/* Repeats the fragment that begins at start, with the groups after the given one, if a
 * quantifier follows. */
static int
parse_repetition(struct parser *p, size_t start, size_t group)
{
	struct program *t = p->program;
	struct body body = { NULL, t->size - start, group + 1, p->group_count - group,
		p->pattern->loops };
	struct quantifier q;
	int result;

	if (!parse_quantifier(p, &q))
		return 0;
	if (q.max >= 0 && q.max < q.min)
		return refuse(p, "the numbers of a repetition are out of order");
	if (q.min > REPEAT_LIMIT || q.max > REPEAT_LIMIT)
		return refuse(p, "it repeats too often");
	if (body.size == 0)
		return 0;
	p->pattern->loops++;
	body.list = memory_array(NULL, body.size, sizeof *body.list);
	memcpy(body.list, t->list + start, body.size * sizeof *body.list);
	t->size = start;
	result = emit_repeated(p, &body, &q);
	free(body.list);
	return result;
}

static int
parse_term(struct parser *p)
{
	size_t start = p->program->size, group = p->group_count;
	enum operation assertion;
	struct quantifier q;
	bool around;

	if (parse_quantifier(p, &q))
		return refuse(p, "there is nothing to repeat");
	if (parse_assertion(p, &assertion))
		return emit_operation(p, assertion, 0);
	if (parse_around(p, &around) != 0)
		return -1;
	if (around)
		return 0;
	return parse_atom(p) != 0 ? -1 : parse_repetition(p, start, group);
}

static void
turn_round(struct program *t, size_t start)
{
	struct instruction first;

	for (size_t low = start, high = t->size; low + 1 < high; low++, high--) {
		first = t->list[low];
		t->list[low] = t->list[high - 1];
		t->list[high - 1] = first;
	}
}

/* In a program that is read backwards the last term comes first, each as it is: each is
 * turned round, and then all. */
static int
parse_sequence(struct parser *p)
{
	size_t start = p->program->size, term;

	while (p->at < p->end && *p->at != '|' && *p->at != ')') {
		term = p->program->size;
		if (parse_term(p) != 0)
			return -1;
		if (p->program->backwards)
			turn_round(p->program, term);
	}
	if (p->program->backwards)
		turn_round(p->program, start);
	return 0;
}

/* Lets the jumps at the ends of alternatives, each of which says how far before it the one
 * before is (the first 0), lead here. */
static void
join_jumps(struct program *t, size_t jump)
{
	int before;

	do {
		before = t->list[jump].offset;
		t->list[jump].offset = (int)(t->size - jump);
		jump -= (size_t)before;
	} while (before != 0);
}

static int
parse_alternatives(struct parser *p)
{
	struct program *t = p->program;
	size_t start = t->size, last = 0, jump;
	bool jumps = false;

	if (parse_sequence(p) != 0)
		return -1;
	while (take(p, "|")) {
		if (insert_split(p, start, t->size - start + 2) != 0)
			return -1;
		jump = t->size;
		if (emit_operation(p, OP_JUMP, jumps ? jump - last : 0) != 0)
			return -1;
		jumps = true;
		last = jump;
		start = t->size;
		if (parse_sequence(p) != 0)
			return -1;
	}
	if (jumps)
		join_jumps(t, last);
	return 0;
}

/* Forgets what a first time through made, but for the names and number of groups. */
static void
start_again(struct parser *p, const char *source)
{
	struct pattern *fresh = memory_zero(1, sizeof *fresh);

	*fresh = (struct pattern){ .flags = p->pattern->flags, .refers = true,
		.groups = p->group_count };
	pattern_free(p->pattern);
	p->pattern = fresh;
	p->program = &fresh->program;
	p->at = source;
	p->group_count = 0;
	p->depth = 0;
}

static int
parse(struct parser *p)
{
	if (parse_alternatives(p) != 0)
		return -1;
	return p->at < p->end ? refuse(p, ") has no (") : emit_operation(p, OP_MATCH, 0);
}

struct pattern *
pattern_compile(const char *source, size_t len, const char **why)
{
	return pattern_compile_as(source, len, 0, why);
}

struct pattern *
pattern_compile_as(const char *source, size_t len, unsigned flags, const char **why)
{
	struct parser p = { .pattern = memory_zero(1, sizeof *p.pattern), .at = source,
		.end = source + len };
	int result;

	p.pattern->flags = flags;
	p.program = &p.pattern->program;
	result = parse(&p);
	if (result == 0 && p.refers) {
		start_again(&p, source);
		result = parse(&p);
	}
	free(p.names);
	if (result == 0)
		return p.pattern;
	*why = p.why;
	pattern_free(p.pattern);
	return NULL;
}

void
pattern_free(struct pattern *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->look_count; i++)
		free(p->looks[i].program.list);
	free(p->looks);
	free(p->program.list);
	free(p->ranges);
	free(p);
}

/* The places in the program that the text so far can have led to, each once, those first
 * that a match is sooner wanted from. */
struct places {
	size_t *list;
	size_t *from; /* where in the text the match begins that led there */
	size_t *seen; /* step in which it was added last, by place */
	size_t count;
};

struct walk {
	const struct program *program;
	bool all;     /* whatever matches is asked for, not what is wanted first */
	struct places now, next;
	size_t *stack;
	size_t step;
	size_t from;  /* of what is added */
};

/* What another alternative goes on from. */
struct choice {
	size_t place;
	const char *at;
	size_t change_count; /* of the slots until then */
};

struct change {
	size_t slot;
	const char *was;
};

/* Of a pattern with backreferences. Slots are two for each group, group 0 among them, and
 * one for each loop. */
struct trial {
	const char **slots;
	struct choice *choices;
	size_t count, capacity;
	struct change *changes;
	size_t change_count, change_capacity;
};

struct pattern_search {
	const struct pattern *pattern;
	const char *text, *end;
	const char *at;           /* where it is */
	long work;                /* steps that it may still take */
	unsigned char *held;      /* bits: where each lookaround holds */
	size_t held_size;         /* bytes for each of them */
	struct walk walk;
	struct trial trial;
	size_t *memory;
};

#define WALK_ARRAYS 8 /* of the pattern's size: two of places, and a stack that takes two */
#define TRIAL_WORK 10000000  /* steps of one search, as far as nobody says less */
#define TRIAL_CHOICES 1000000
#define BITS 8

static bool
in_ranges(const struct pattern *t, const struct instruction *i, uint32_t value)
{
	size_t low = i->first, end = i->first + i->count, middle;

	while (low < end) {
		middle = (low + end) / 2;
		if (value >= t->ranges[middle].low && value <= t->ranges[middle].high)
			return true;
		if (value < t->ranges[middle].low)
			end = middle;
		else
			low = middle + 1;
	}
	return false;
}

static bool
takes(const struct pattern *t, const struct instruction *i, uint32_t character)
{
	return in_ranges(t, i, character) == (i->operation == OP_SET);
}

/* The code point before *at, which is moved to it. */
static uint32_t
code_point_before(const char **at, const char *text)
{
	const char *start = *at, *end = *at;

	do
		start--;
	while (start > text && ((unsigned char)*start & 0xc0) == 0x80);
	*at = start;
	return code_point(&start, end);
}

static bool
is_word(const char *byte)
{
	return *byte == '_' || alphanumeric((unsigned char)*byte);
}

/* Whether a word begins or ends here. */
static bool
at_edge(const struct pattern_search *s)
{
	return (s->at > s->text && is_word(s->at - 1)) != (s->at < s->end && is_word(s->at));
}

static bool
held(const struct pattern_search *s, size_t look)
{
	size_t at = (size_t)(s->at - s->text);

	return (s->held[look * s->held_size + at / BITS] >> at % BITS & 1) != 0;
}

/* Whether what takes nothing holds at the place in the text. */
static bool
holds(const struct pattern_search *s, const struct instruction *i)
{
	bool lines = (s->pattern->flags & PATTERN_LINES) != 0;

	switch (i->operation) {
	case OP_START:
		return s->at == s->text || (lines && s->at[-1] == '\n');
	case OP_END:
		return s->at == s->end || (lines && *s->at == '\n');
	case OP_EDGE:
		return at_edge(s);
	case OP_NO_EDGE:
		return !at_edge(s);
	default:
		return held(s, i->first);
	}
}

/* Pushes the places that an instruction leads to without taking a character, the one that
 * comes first last. */
static size_t
push_reached(struct pattern_search *s, size_t depth, size_t place)
{
	const struct instruction *i = s->walk.program->list + place;
	size_t other = (size_t)((long)place + i->offset);

	if (i->operation == OP_SPLIT_LAZY ||
	    (i->operation >= OP_START && i->operation <= OP_LOOK && holds(s, i)))
		s->walk.stack[depth++] = place + 1;
	if (i->operation == OP_JUMP || i->operation == OP_SPLIT || i->operation == OP_SPLIT_LAZY)
		s->walk.stack[depth++] = other;
	if (i->operation == OP_SPLIT)
		s->walk.stack[depth++] = place + 1;
	return depth;
}

/* Adds a place and all that can be reached from it without taking a character.
 * True if the end of the pattern is among them; what is less wanted is not added then. A
 * place is pushed only by its predecessors, each added once, so the stack needs two
 * entries per instruction. */
static bool
add_place(struct pattern_search *s, struct places *places, size_t place)
{
	struct walk *w = &s->walk;
	enum operation operation;
	bool matched = false;
	size_t depth = 0;

	w->stack[depth++] = place;
	while (depth > 0 && (w->all || !matched)) {
		place = w->stack[--depth];
		s->work--;
		if (places->seen[place] == w->step)
			continue;
		places->seen[place] = w->step;
		operation = w->program->list[place].operation;
		if (operation == OP_MATCH)
			matched = true;
		else if (operation == OP_SET || operation == OP_OTHER) {
			places->from[places->count] = w->from;
			places->list[places->count++] = place;
		} else
			depth = push_reached(s, depth, place);
	}
	return matched;
}

/* Moves every place over one character, into the next ones; true as add_place(). */
static bool
advance(struct pattern_search *s, uint32_t character)
{
	struct walk *w = &s->walk;
	bool matched = false;

	w->next.count = 0;
	for (size_t n = 0; n < w->now.count && (w->all || !matched); n++) {
		w->from = w->now.from[n];
		s->work--;
		if (takes(s->pattern, w->program->list + w->now.list[n], character) &&
		    add_place(s, &w->next, w->now.list[n] + 1))
			matched = true;
	}
	return matched;
}

/* A match that begins here, if there is none that began before. */
static bool
begin(struct pattern_search *s, struct places *places)
{
	s->walk.from = (size_t)(s->at - s->text);
	return add_place(s, places, 0);
}

static void
swap(struct walk *w)
{
	struct places done = w->now;

	w->now = w->next;
	w->next = done;
}

static void
start_walk(struct pattern_search *s, const struct program *program, const char *at)
{
	s->walk.program = program;
	s->walk.now.count = 0;
	s->walk.step++;
	s->at = at;
}

/* Notes all places where a lookaround holds. */
static void
mark(struct pattern_search *s, const struct look *look, unsigned char *bits)
{
	bool backwards = look->program.backwards, matched = false;
	const char *last = backwards ? s->text : s->end;
	size_t at;

	start_walk(s, &look->program, backwards ? s->end : s->text);
	s->walk.all = true;
	while (s->work >= 0) {
		matched = begin(s, &s->walk.now) || matched;
		at = (size_t)(s->at - s->text);
		if (matched != look->negated)
			bits[at / BITS] |= (unsigned char)(1u << at % BITS);
		if (s->at == last)
			break;
		uint32_t character = backwards ? code_point_before(&s->at, s->text)
		    : code_point(&s->at, s->end);
		s->walk.step++;
		matched = advance(s, character);
		swap(&s->walk);
	}
	s->walk.all = false;
}

static void
mark_all(struct pattern_search *s)
{
	const struct pattern *p = s->pattern;

	s->held_size = (size_t)(s->end - s->text) / BITS + 1;
	s->held = memory_zero(p->look_count, s->held_size);
	s->work -= (long)(p->look_count * s->held_size / BITS);
	for (size_t i = 0; i < p->look_count; i++)
		mark(s, &p->looks[i], s->held + i * s->held_size);
}

/* Goes on with the match that was found as long as one that is more wanted can come. */
static int
walk_text(struct pattern_search *s, size_t *start, size_t *end)
{
	struct walk *w = &s->walk;
	bool found, matched;
	uint32_t character;

	start_walk(s, &s->pattern->program, s->text + *start);
	found = matched = begin(s, &w->now);
	while (s->work >= 0) {
		if (matched) {
			*start = w->from;
			*end = (size_t)(s->at - s->text);
		}
		if (s->at == s->end || (found && w->now.count == 0))
			return found;
		character = code_point(&s->at, s->end);
		w->step++;
		matched = advance(s, character) || (!found && begin(s, &w->next));
		found = found || matched;
		swap(w);
	}
	return -1;
}

/* Goes on at another place if what is tried now does not match. */
static bool
push_choice(struct pattern_search *s, size_t place)
{
	struct trial *t = &s->trial;

	if (t->count == TRIAL_CHOICES || t->change_count > TRIAL_CHOICES) {
		s->work = -1;
		return false;
	}
	if (t->count == t->capacity) {
		t->capacity = t->capacity * 2 + 64;
		t->choices = memory_array(t->choices, t->capacity, sizeof *t->choices);
	}
	t->choices[t->count++] = (struct choice){ place, s->at, t->change_count };
	return true;
}

static void
set_slot(struct trial *t, size_t slot, const char *at)
{
	if (t->change_count == t->change_capacity) {
		t->change_capacity = t->change_capacity * 2 + 64;
		t->changes = memory_array(t->changes, t->change_capacity, sizeof *t->changes);
	}
	t->changes[t->change_count++] = (struct change){ slot, t->slots[slot] };
	t->slots[slot] = at;
}

static void
undo(struct trial *t, size_t change_count)
{
	const struct change *change;

	while (t->change_count > change_count) {
		change = &t->changes[--t->change_count];
		t->slots[change->slot] = change->was;
	}
}

static bool
take_character(struct pattern_search *s, const struct program *t, const struct instruction *i)
{
	if (s->at == (t->backwards ? s->text : s->end))
		return false;
	return takes(s->pattern, i, t->backwards ? code_point_before(&s->at, s->text)
	    : code_point(&s->at, s->end));
}

/* A group that took nothing, or is being taken, stands for nothing. */
static bool
take_same(struct pattern_search *s, const struct program *t, size_t group)
{
	const char *start = s->trial.slots[group * 2], *end = s->trial.slots[group * 2 + 1], *at;
	size_t len = start == NULL || end == NULL || end < start ? 0 : (size_t)(end - start);

	s->work -= (long)(len / BITS);
	if ((size_t)(t->backwards ? s->at - s->text : s->end - s->at) < len)
		return false;
	at = t->backwards ? s->at - len : s->at;
	if (len > 0 && memcmp(at, start, len) != 0)
		return false;
	s->at = t->backwards ? at : at + len;
	return true;
}

static size_t
loop_slot(const struct pattern_search *s, int loop)
{
	return (s->pattern->groups + 1) * 2 + (size_t)loop;
}

static void
begin_round(struct pattern_search *s, const struct instruction *i)
{
	set_slot(&s->trial, loop_slot(s, i->offset), s->at);
	s->work -= (long)i->count;
	for (size_t slot = i->first * 2; slot < (i->first + i->count) * 2; slot++)
		if (s->trial.slots[slot] != NULL)
			set_slot(&s->trial, slot, NULL);
}

static bool try_program(struct pattern_search *s, const struct program *t);

/* Groups that a lookaround took are kept, if it is not negated. */
static bool
try_look(struct pattern_search *s, const struct look *look)
{
	size_t change_count = s->trial.change_count;
	const char *at = s->at;
	bool matched = try_program(s, &look->program);

	s->at = at;
	if (look->negated || !matched)
		undo(&s->trial, change_count);
	return matched != look->negated;
}

/* What an instruction does that neither branches nor ends; false: not that way. */
static bool
try_instruction(struct pattern_search *s, const struct program *t, const struct instruction *i)
{
	switch (i->operation) {
	case OP_SET:
	case OP_OTHER:
		return take_character(s, t, i);
	case OP_SAME:
		return take_same(s, t, i->first);
	case OP_LOOK:
		return try_look(s, &s->pattern->looks[i->first]);
	case OP_KEEP:
		set_slot(&s->trial, i->first, s->at);
		return true;
	case OP_ROUND:
		begin_round(s, i);
		return true;
	case OP_PROGRESS:
		return s->trial.slots[loop_slot(s, i->offset)] != s->at;
	default:
		return holds(s, i);
	}
}

/* As try_instruction(), of any but the last; moves *place. */
static bool
try_place(struct pattern_search *s, const struct program *t, size_t *place)
{
	const struct instruction *i = &t->list[*place];
	size_t next = *place + 1, other = (size_t)((long)*place + i->offset);

	switch (i->operation) {
	case OP_JUMP:
		*place = other;
		return true;
	case OP_SPLIT:
		*place = next;
		return push_choice(s, other);
	case OP_SPLIT_LAZY:
		*place = other;
		return push_choice(s, next);
	default:
		*place = next;
		return try_instruction(s, t, i);
	}
}

/* Whether a program matches from s->at on, which is moved to where that ends. */
static bool
try_program(struct pattern_search *s, const struct program *t)
{
	struct trial *trial = &s->trial;
	size_t first = trial->count, place = 0;

	while (s->work >= 0 && t->list[place].operation != OP_MATCH) {
		s->work--;
		if (try_place(s, t, &place))
			continue;
		if (trial->count == first)
			return false;
		trial->count--;
		place = trial->choices[trial->count].place;
		s->at = trial->choices[trial->count].at;
		undo(trial, trial->choices[trial->count].change_count);
	}
	trial->count = first;
	return s->work >= 0;
}

static int
try_text(struct pattern_search *s, size_t *start, size_t *end)
{
	const char *from = s->text + *start;

	for (;;) {
		undo(&s->trial, 0);
		s->at = from;
		if (try_program(s, &s->pattern->program)) {
			*start = (size_t)(from - s->text);
			*end = (size_t)(s->at - s->text);
			return 1;
		}
		if (s->work < 0 || from == s->end)
			return s->work < 0 ? -1 : 0;
		code_point(&from, s->end);
	}
}

static void
prepare_walk(struct pattern_search *s)
{
	size_t size = s->pattern->program.size, *memory;

	for (size_t i = 0; i < s->pattern->look_count; i++)
		if (size < s->pattern->looks[i].program.size)
			size = s->pattern->looks[i].program.size;
	s->work -= (long)size;
	s->memory = memory = memory_zero(size, WALK_ARRAYS * sizeof *memory);
	s->walk.now = (struct places){ memory, memory + size, memory + 2 * size, 0 };
	s->walk.next = (struct places){ memory + 3 * size, memory + 4 * size, memory + 5 * size,
		0 };
	s->walk.stack = memory + 6 * size;
	if (s->pattern->look_count > 0)
		mark_all(s);
}

static void
prepare(struct pattern_search *s, const struct pattern *p, const char *text, size_t len,
    long work)
{
	size_t slots = (p->groups + 1) * 2 + p->loops;

	*s = (struct pattern_search){ .pattern = p, .text = text, .end = text + len, .work = work };
	if (!p->refers) {
		prepare_walk(s);
		return;
	}
	s->work -= (long)slots;
	s->trial.slots = memory_zero(slots, sizeof *s->trial.slots);
}

static void
release(struct pattern_search *s)
{
	free(s->memory);
	free(s->held);
	free(s->trial.slots);
	free(s->trial.choices);
	free(s->trial.changes);
}

static int
find(struct pattern_search *s, size_t *start, size_t *end)
{
	if (s->work < 0)
		return -1;
	return s->pattern->refers ? try_text(s, start, end) : walk_text(s, start, end);
}

struct pattern_search *
pattern_search_begin(const struct pattern *p, const char *text, size_t len)
{
	struct pattern_search *s = memory_alloc(sizeof *s);

	prepare(s, p, text, len, p->refers ? TRIAL_WORK : LONG_MAX);
	return s;
}

bool
pattern_search_next(struct pattern_search *s, size_t *start, size_t *end)
{
	return find(s, start, end) == 1;
}

void
pattern_search_end(struct pattern_search *s)
{
	release(s);
	free(s);
}

int
pattern_match(const struct pattern *p, const char *text, size_t len, long *work)
{
	long given = p->refers && *work > TRIAL_WORK ? TRIAL_WORK : *work;
	struct pattern_search s;
	size_t start = 0, end;
	int result;

	prepare(&s, p, text, len, given);
	result = find(&s, &start, &end);
	*work -= given - s.work;
	release(&s);
	return result;
}

bool
pattern_matches(const struct pattern *p, const char *text, size_t len)
{
	long work = LONG_MAX;

	return pattern_match(p, text, len, &work) == 1;
}
