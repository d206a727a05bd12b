/*
 * - A fragment is a stretch of instructions that is entered at its first and left
 *   just after its last. Jumps are relative, so fragments can be moved and copied.
 * - Every construct compiles to one fragment, appended to the program.
 */
#include "json/pattern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/unicode_category.h"

#define PROGRAM_LIMIT 10000
#define RANGE_LIMIT 100000
#define GROUP_LIMIT 64
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

struct pattern {
	unsigned flags;
	struct instruction *program;
	size_t size, capacity;
	struct range *ranges;
	size_t range_count, range_capacity;
};

struct parser {
	struct pattern *pattern;
	const char *at, *end;
	unsigned groups;
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
	struct pattern *t = p->pattern;

	if (t->size >= PROGRAM_LIMIT)
		return refuse(p, "the pattern is too large");
	if (t->size == t->capacity) {
		t->capacity = t->capacity * 2 + 16;
		t->program = memory_array(t->program, t->capacity, sizeof *t->program);
	}
	t->program[t->size++] = instruction;
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
	struct instruction *program, split = { OP_SPLIT, (int)skip, 0, 0 };

	if (emit(p, split) != 0)
		return -1;
	program = p->pattern->program;
	memmove(program + start + 1, program + start,
	    (p->pattern->size - start - 1) * sizeof *program);
	program[start] = split;
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
	if ((c >= '0' && c <= '9') || c == 'k')
		return refuse(p, "backreferences are not supported");
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

/* After "(": what kind of group it is. */
static int
parse_group_kind(struct parser *p)
{
	if (!take(p, "?") || take(p, ":"))
		return 0;
	if (next_is(p, "=") || next_is(p, "!") || next_is(p, "<=") || next_is(p, "<!"))
		return refuse(p, "lookaround is not supported");
	if (!take(p, "<"))
		return refuse(p, "inline flags are not supported");
	while (p->at < p->end && (alphanumeric((unsigned char)*p->at) || *p->at == '_'))
		p->at++;
	return take(p, ">") ? 0 : refuse(p, "the name of a group has no >");
}

static int
parse_group(struct parser *p)
{
	if (++p->groups > GROUP_LIMIT)
		return refuse(p, "groups are nested too deeply");
	if (parse_group_kind(p) != 0 || parse_alternatives(p) != 0)
		return -1;
	p->groups--;
	return take(p, ")") ? 0 : refuse(p, "( has no )");
}

static int
parse_backslash(struct parser *p)
{
	size_t first = p->pattern->range_count;
	uint32_t value;
	bool class;

	if (parse_class_escape(p, &class) != 0)
		return -1;
	if (class)
		return emit_set(p, first, false);
	return parse_escape(p, &value) != 0 ? -1 : emit_literal(p, value);
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

static int
emit_copy(struct parser *p, const struct instruction *fragment, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (emit(p, fragment[i]) != 0)
			return -1;
	return 0;
}

static int
emit_repeated(struct parser *p, const struct instruction *fragment, size_t size,
    const struct quantifier *q)
{
	for (long i = 0; i < q->min; i++)
		if (emit_copy(p, fragment, size) != 0)
			return -1;
	for (long i = q->min; i < q->max; i++)
		if (emit_operation(p, q->split, size + 1) != 0 ||
		    emit_copy(p, fragment, size) != 0)
			return -1;
	if (q->max >= 0)
		return 0;
	if (emit_operation(p, q->split, size + 2) != 0 || emit_copy(p, fragment, size) != 0)
		return -1;
	return emit(p, (struct instruction){ OP_JUMP, -(int)(size + 1), 0, 0 });
}

/* Repeats the fragment that begins at start if a quantifier follows. */
static int
parse_repetition(struct parser *p, size_t start)
{
	struct pattern *t = p->pattern;
	size_t size = t->size - start;
	struct instruction *fragment;
	struct quantifier q;
	int result;

	if (!parse_quantifier(p, &q))
		return 0;
	if (q.max >= 0 && q.max < q.min)
		return refuse(p, "the numbers of a repetition are out of order");
	if (q.min > REPEAT_LIMIT || q.max > REPEAT_LIMIT)
		return refuse(p, "it repeats too often");
	if (size == 0)
		return 0;
	fragment = memory_array(NULL, size, sizeof *fragment);
	memcpy(fragment, t->program + start, size * sizeof *fragment);
	t->size = start;
	result = emit_repeated(p, fragment, size, &q);
	free(fragment);
	return result;
}

static int
parse_sequence(struct parser *p)
{
	enum operation assertion;
	struct quantifier q;
	size_t start;

	while (p->at < p->end && *p->at != '|' && *p->at != ')') {
		if (parse_quantifier(p, &q))
			return refuse(p, "there is nothing to repeat");
		if (parse_assertion(p, &assertion)) {
			if (emit_operation(p, assertion, 0) != 0)
				return -1;
			continue;
		}
		start = p->pattern->size;
		if (parse_atom(p) != 0 || parse_repetition(p, start) != 0)
			return -1;
	}
	return 0;
}

static int
parse_alternatives(struct parser *p)
{
	struct pattern *t = p->pattern;
	size_t start = t->size, jump;

	if (parse_sequence(p) != 0)
		return -1;
	while (take(p, "|")) {
		if (insert_split(p, start, t->size - start + 2) != 0 ||
		    emit_operation(p, OP_JUMP, 0) != 0)
			return -1;
		jump = t->size - 1;
		if (parse_sequence(p) != 0)
			return -1;
		t->program[jump].offset = (int)(t->size - jump);
	}
	return 0;
}

struct pattern *
pattern_compile(const char *source, size_t len, const char **why)
{
	return pattern_compile_as(source, len, 0, why);
}

struct pattern *
pattern_compile_as(const char *source, size_t len, unsigned flags, const char **why)
{
	struct parser p = { memory_zero(1, sizeof *p.pattern), source, source + len, 0, NULL };

	p.pattern->flags = flags;
	if (parse_alternatives(&p) == 0 && p.at < p.end)
		refuse(&p, ") has no (");
	if (p.why == NULL && emit_operation(&p, OP_MATCH, 0) == 0)
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
	free(p->program);
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
	const struct pattern *pattern;
	const char *text, *end;
	struct places now, next;
	size_t *stack;
	size_t step;
	size_t from;  /* of what is added */
	bool at_start, at_end, at_edge;
};

#define WALK_ARRAYS 8 /* of the pattern's size: two of places, and a stack that takes two */

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
is_word(const char *byte)
{
	return *byte == '_' || alphanumeric((unsigned char)*byte);
}

static bool
holds(const struct walk *w, enum operation operation)
{
	switch (operation) {
	case OP_START:
		return w->at_start;
	case OP_END:
		return w->at_end;
	case OP_EDGE:
		return w->at_edge;
	default:
		return !w->at_edge;
	}
}

/* Pushes the places that an instruction leads to without taking a character, the one that
 * comes first last. */
static size_t
push_reached(struct walk *w, size_t depth, size_t place)
{
	const struct instruction *i = w->pattern->program + place;
	size_t other = (size_t)((long)place + i->offset);

	if (i->operation == OP_SPLIT_LAZY || (i->operation >= OP_START &&
	    i->operation <= OP_NO_EDGE && holds(w, i->operation)))
		w->stack[depth++] = place + 1;
	if (i->operation == OP_JUMP || i->operation == OP_SPLIT || i->operation == OP_SPLIT_LAZY)
		w->stack[depth++] = other;
	if (i->operation == OP_SPLIT)
		w->stack[depth++] = place + 1;
	return depth;
}

/* Adds a place and all that can be reached from it without taking a character.
 * True if the end of the pattern is among them; what is less wanted is not added then. A
 * place is pushed only by its predecessors, each added once, so the stack needs two
 * entries per instruction. */
static bool
add_place(struct walk *w, struct places *places, size_t place)
{
	enum operation operation;
	size_t depth = 0;

	w->stack[depth++] = place;
	while (depth > 0) {
		place = w->stack[--depth];
		if (places->seen[place] == w->step)
			continue;
		places->seen[place] = w->step;
		operation = w->pattern->program[place].operation;
		if (operation == OP_MATCH)
			return true;
		if (operation == OP_SET || operation == OP_OTHER) {
			places->from[places->count] = w->from;
			places->list[places->count++] = place;
		} else
			depth = push_reached(w, depth, place);
	}
	return false;
}

/* Moves every place over one character, into w->next; true as add_place(). */
static bool
advance(struct walk *w, uint32_t character)
{
	const struct pattern *t = w->pattern;
	const struct instruction *i;

	w->next.count = 0;
	for (size_t n = 0; n < w->now.count; n++) {
		i = t->program + w->now.list[n];
		w->from = w->now.from[n];
		if (in_ranges(t, i, character) ==
		    (i->operation == OP_SET) && add_place(w, &w->next, w->now.list[n] + 1))
			return true;
	}
	return false;
}

static void
look_around(struct walk *w, const char *at)
{
	bool before = at > w->text && is_word(at - 1), after = at < w->end && is_word(at);
	bool lines = (w->pattern->flags & PATTERN_LINES) != 0;

	w->at_start = at == w->text || (lines && at[-1] == '\n');
	w->at_end = at == w->end || (lines && *at == '\n');
	w->at_edge = before != after;
	w->step++;
}

/* A match that begins here, if there is none that began before. */
static bool
begin(struct walk *w, struct places *places, const char *at)
{
	w->from = (size_t)(at - w->text);
	return add_place(w, places, 0);
}

static void
swap(struct walk *w)
{
	struct places done = w->now;

	w->now = w->next;
	w->next = done;
}

/* Goes on with the match that was found as long as one that is more wanted can come. */
static bool
walk_text(struct walk *w, const char *at, size_t *start, size_t *end)
{
	bool found, matched;
	uint32_t character;

	look_around(w, at);
	found = matched = begin(w, &w->now, at);
	for (;;) {
		if (matched) {
			*start = w->from;
			*end = (size_t)(at - w->text);
		}
		if (at == w->end || (found && w->now.count == 0))
			return found;
		character = code_point(&at, w->end);
		look_around(w, at);
		matched = advance(w, character) || (!found && begin(w, &w->next, at));
		found = found || matched;
		swap(w);
	}
}

bool
pattern_find(const struct pattern *p, const char *text, size_t len, size_t *start, size_t *end)
{
	size_t *memory = memory_zero(p->size, WALK_ARRAYS * sizeof *memory), size = p->size;
	struct walk w = { .pattern = p, .text = text, .end = text + len,
		.now = { memory, memory + size, memory + 2 * size, 0 },
		.next = { memory + 3 * size, memory + 4 * size, memory + 5 * size, 0 },
		.stack = memory + 6 * size };
	bool found = walk_text(&w, text + *start, start, end);

	free(memory);
	return found;
}

bool
pattern_matches(const struct pattern *p, const char *text, size_t len)
{
	size_t start = 0, end;

	return pattern_find(p, text, len, &start, &end);
}
