/*
 * A pattern is compiled in one pass while it is parsed; one with backreferences in a second pass,
 * which stores groups. Each lookaround is a separate program. Unless the pattern has
 * backreferences, a lookahead is compiled to run backwards from the end of the text
 * (pattern_match.c), so that each position at which it ends a match is one where the lookahead
 * begins.
 */
#include "schema/pattern_program.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "schema/unicode_category.h"

#define PROGRAM_LIMIT 10000
#define GROUP_LIMIT 64
#define LOOK_LIMIT 64 /* lookarounds: each needs a bit for each byte of the text */
#define REPEAT_LIMIT 10000

struct name {
	const char *at;
	size_t len, group;
};

struct parser {
	struct pattern *pattern;
	struct program *program; /* of the pattern, or of the current lookaround */
	const char *at, *end;
	unsigned depth;
	bool refers;             /* the pattern has a backreference */
	struct name *names;      /* of groups, found in the first pass */
	size_t name_count, group_count;
	const char *why;
};

struct quantifier {
	long min, max;        /* max -1: unlimited */
	enum operation split; /* greedy or lazy */
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

/* Letters that mean a class, or a character, after a backslash. */
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
pattern_set_error(struct parser *p, const char *why)
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
pattern_accept_text(struct parser *p, const char *text)
{
	if (!next_is(p, text))
		return false;
	p->at += strlen(text);
	return true;
}

static int
pattern_emit_instruction(struct parser *p, struct instruction instruction)
{
	struct program *t = p->program;

	if (t->size >= PROGRAM_LIMIT)
		return pattern_set_error(p, "the pattern is too large");
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
	return pattern_emit_instruction(p, (struct instruction){ operation, (int)offset, 0, 0 });
}

/* Emits an instruction for the ranges added since first. */
static int
emit_set(struct parser *p, size_t first, bool inverted)
{
	if (!pattern_join_ranges(p->pattern, first))
		return pattern_set_error(p, "the pattern is too large");
	return pattern_emit_instruction(p, (struct instruction){ inverted ? OP_OTHER : OP_SET, 0,
	    first, p->pattern->range_count - first });
}

static int
emit_literal(struct parser *p, uint32_t value)
{
	size_t first = p->pattern->range_count;

	pattern_add_range(p->pattern, value, value);
	return emit_set(p, first, false);
}

/* Parses exactly count hex digits, or all hex digits if count is 0. */
static int
parse_hex(struct parser *p, int count, uint32_t *value)
{
	static const char hex[] = "0123456789abcdef";
	const char *start = p->at, *digit;

	*value = 0;
	while (p->at < p->end && (count == 0 || p->at - start < count)) {
		digit = *p->at == '\0' ? NULL : strchr(hex, *p->at | 0x20);
		if (digit == NULL || *value > PATTERN_CODE_POINT_MAX)
			break;
		*value = *value << 4 | (uint32_t)(digit - hex);
		p->at++;
	}
	if (*value > PATTERN_CODE_POINT_MAX || p->at == start || (count != 0 && p->at - start != count))
		return pattern_set_error(p, "an escape does not name a code point");
	return 0;
}

/* After "\u": four digits, a surrogate pair of twice four digits, or {digits}. */
static int
parse_unicode(struct parser *p, uint32_t *value)
{
	uint32_t low;

	if (pattern_accept_text(p, "{")) {
		if (parse_hex(p, 0, value) != 0)
			return -1;
		return pattern_accept_text(p, "}") ? 0 : pattern_set_error(p, "\\u{ has no }");
	}
	if (parse_hex(p, 4, value) != 0)
		return -1;
	if (*value < 0xd800 || *value > 0xdbff || !pattern_accept_text(p, "\\u"))
		return 0;
	if (parse_hex(p, 4, &low) != 0)
		return -1;
	if (low < 0xdc00 || low > 0xdfff)
		return pattern_set_error(p, "half of a surrogate pair is missing");
	*value = 0x10000 + ((*value - 0xd800) << 10) + (low - 0xdc00);
	return 0;
}

static int
stands_for(uint32_t *value, uint32_t c)
{
	*value = c;
	return 0;
}

/* Parses an escape that is not a class; returns the code point. */
static int
parse_escape(struct parser *p, uint32_t *value)
{
	uint32_t c;

	if (p->at == p->end)
		return pattern_set_error(p, "it ends in a backslash");
	c = pattern_code_point(&p->at, p->end);
	for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
		if (c == (unsigned char)controls[i].letter)
			return stands_for(value, (unsigned char)controls[i].means);
	if (c == 'x')
		return parse_hex(p, 2, value);
	if (c == 'u')
		return parse_unicode(p, value);
	if (c == 'c' && p->at < p->end && (*p->at | 0x20) >= 'a' && (*p->at | 0x20) <= 'z')
		return stands_for(value, (unsigned char)*p->at++ & 0x1f);
	if (c == '0' && (p->at == p->end || *p->at < '0' || *p->at > '9'))
		return stands_for(value, 0);
	if (pattern_alphanumeric(c))
		return pattern_set_error(p, "it has an unknown escape");
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
	if (!pattern_accept_text(p, "{") || end == p->end)
		return pattern_set_error(p, "\\p has no {…}");
	if (!pattern_accept_text(p, "General_Category="))
		pattern_accept_text(p, "gc=");
	categories = unicode_category_named(p->at, (size_t)(end - p->at));
	if (categories == 0)
		return pattern_set_error(p,
		    "\\p{…} names no general category; others are not supported");
	pattern_add_categories(p->pattern, categories, inverted);
	p->at = end + 1;
	return 0;
}

/* After a backslash: if a class follows, adds its ranges and sets *found. */
static int
parse_class_escape(struct parser *p, bool *found)
{
	*found = true;
	if (pattern_accept_text(p, "p"))
		return parse_property(p, false);
	if (pattern_accept_text(p, "P"))
		return parse_property(p, true);
	for (size_t i = 0; p->at < p->end && i < sizeof classes / sizeof *classes; i++)
		if (*p->at == classes[i].letter) {
			pattern_add_class(p->pattern, classes[i].ranges, classes[i].inverted);
			p->at++;
			return 0;
		}
	*found = false;
	return 0;
}

/* One member of a bracket expression; *single: it is a single code point, not a class. */
static int
parse_member(struct parser *p, uint32_t *value, bool *single)
{
	bool class;

	*single = true;
	if (p->at == p->end)
		return pattern_set_error(p, "[ has no ]");
	if (!pattern_accept_text(p, "\\"))
		return stands_for(value, pattern_code_point(&p->at, p->end));
	if (parse_class_escape(p, &class) != 0)
		return -1;
	*single = !class;
	if (class)
		return 0;
	return pattern_accept_text(p, "b") ? stands_for(value, '\b') : parse_escape(p, value);
}

static int
parse_brackets(struct parser *p)
{
	size_t first = p->pattern->range_count;
	bool inverted = pattern_accept_text(p, "^"), single, second;
	uint32_t low, high;

	while (!pattern_accept_text(p, "]")) {
		if (parse_member(p, &low, &single) != 0)
			return -1;
		if (single && next_is(p, "-") && !next_is(p, "-]")) {
			p->at++;
			if (parse_member(p, &high, &second) != 0)
				return -1;
			if (!second)
				return pattern_set_error(p, "a range ends in a class");
			if (high < low)
				return pattern_set_error(p, "a range is out of order");
			pattern_add_range(p->pattern, low, high);
		} else if (single) {
			pattern_add_range(p->pattern, low, low);
		}
	}
	return emit_set(p, first, inverted);
}

/* Parses the name of a group, up to ">". */
static int
parse_name(struct parser *p, struct name *name)
{
	name->at = p->at;
	while (p->at < p->end && (pattern_alphanumeric((unsigned char)*p->at) || *p->at == '_' ||
	    *p->at == '$' || (unsigned char)*p->at >= 0x80))
		p->at++;
	name->len = (size_t)(p->at - name->at);
	if (!pattern_accept_text(p, ">"))
		return pattern_set_error(p, "the name of a group has no >");
	return name->len > 0 ? 0 : pattern_set_error(p, "the name of a group is empty");
}

/* Emits an instruction that stores the begin or end of a group in its slot. */
static int
emit_keep(struct parser *p, size_t group, bool entered)
{
	size_t slot = group * 2 + (entered == p->program->backwards ? 1 : 0);

	if (group == 0 || !p->pattern->refers)
		return 0;
	return pattern_emit_instruction(p, (struct instruction){ OP_KEEP, 0, slot, 0 });
}

/* Parses the rest of a group, including the closing parenthesis. */
static int
parse_inner(struct parser *p)
{
	if (++p->depth > GROUP_LIMIT)
		return pattern_set_error(p, "groups are nested too deeply");
	if (parse_alternatives(p) != 0)
		return -1;
	p->depth--;
	return pattern_accept_text(p, ")") ? 0 : pattern_set_error(p, "( has no )");
}

/* Parses what follows "(". Groups that need not be stored have number 0. */
static int
parse_group(struct parser *p)
{
	struct name name = { NULL, 0, 0 };

	if (!pattern_accept_text(p, "?:")) {
		if (pattern_accept_text(p, "?<")) {
			if (parse_name(p, &name) != 0)
				return -1;
		} else if (pattern_accept_text(p, "?")) {
			return pattern_set_error(p, "inline flags are not supported");
		}
		name.group = ++p->group_count;
	}
	if (name.at != NULL && !p->pattern->refers) {
		p->names = memory_array(p->names, p->name_count + 1, sizeof *p->names);
		p->names[p->name_count++] = name;
	}
	if (emit_keep(p, name.group, true) != 0 || parse_inner(p) != 0)
		return -1;
	return emit_keep(p, name.group, false);
}

/* Adds a lookaround to the pattern, and an instruction that tests it. Its direction depends on
 * whether the pattern has backreferences: see above. */
static int
parse_look(struct parser *p, bool behind, bool negated)
{
	struct pattern *t = p->pattern;
	struct look look = { { NULL, 0, 0, behind == t->refers }, negated };
	struct program *outer = p->program;
	int result;

	p->program = &look.program;
	result = parse_inner(p) != 0 ? -1 : emit_operation(p, OP_MATCH, 0);
	p->program = outer;
	if (result == 0 && t->look_count == LOOK_LIMIT)
		result = pattern_set_error(p, "it looks ahead or behind too often");
	if (result == 0)
		result = pattern_emit_instruction(p,
		    (struct instruction){ OP_LOOK, 0, t->look_count, 0 });
	if (result != 0) {
		free(look.program.list);
		return -1;
	}
	t->looks = memory_array(t->looks, t->look_count + 1, sizeof *t->looks);
	t->looks[t->look_count++] = look;
	return 0;
}

/* Several groups in different alternatives may have the same name: those that have not matched
 * count as empty. */
static int
parse_named_reference(struct parser *p)
{
	struct name name;
	bool found = false;

	if (!pattern_accept_text(p, "k<"))
		return pattern_set_error(p, "\\k has no <\xe2\x80\xa6>");
	if (parse_name(p, &name) != 0)
		return -1;
	for (size_t i = 0; i < p->name_count; i++) {
		if (p->names[i].len != name.len || memcmp(p->names[i].at, name.at, name.len) != 0)
			continue;
		found = true;
		if (pattern_emit_instruction(p, (struct instruction){ OP_SAME, 0, p->names[i].group,
		    0 }) != 0)
			return -1;
	}
	return found || !p->pattern->refers ? 0 : pattern_set_error(p,
	    "a backreference leads to no group");
}

static int
parse_reference(struct parser *p)
{
	size_t group = 0;

	if ((p->pattern->flags & PATTERN_REFERENCES) == 0)
		return pattern_set_error(p, "backreferences are not supported");
	p->refers = true;
	if (next_is(p, "k"))
		return parse_named_reference(p);
	for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
		if (group <= PROGRAM_LIMIT)
			group = group * 10 + (size_t)(*p->at - '0');
	if (p->pattern->refers && group > p->pattern->groups)
		return pattern_set_error(p, "a backreference leads to no group");
	return pattern_emit_instruction(p, (struct instruction){ OP_SAME, 0, group, 0 });
}

static int
parse_backslash(struct parser *p)
{
	size_t first = p->pattern->range_count;
	uint32_t value;
	bool class;

	if (p->at < p->end && (*p->at == 'k' || (*p->at >= '1' && *p->at <= '9')))
		return parse_reference(p);
	if (parse_class_escape(p, &class) != 0)
		return -1;
	if (class)
		return emit_set(p, first, false);
	return parse_escape(p, &value) != 0 ? -1 : emit_literal(p, value);
}

static int
parse_atom(struct parser *p)
{
	size_t first = p->pattern->range_count;

	if (pattern_accept_text(p, "("))
		return parse_group(p);
	if (pattern_accept_text(p, "["))
		return parse_brackets(p);
	if (pattern_accept_text(p, ".")) {
		pattern_add_class(p->pattern,
		    (p->pattern->flags & PATTERN_ALL) != 0 ? nothing : line_ends, true);
		return emit_set(p, first, false);
	}
	if (pattern_accept_text(p, "\\"))
		return parse_backslash(p);
	return emit_literal(p, pattern_code_point(&p->at, p->end));
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

/* Parses "{n}", "{n,}" or "{n,m}"; any other brace is a literal. */
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

/* Parses a quantifier if one follows. */
static bool
parse_quantifier(struct parser *p, struct quantifier *q)
{
	static const struct {
		const char *text;
		long min, max;
	} signs[] = { { "*", 0, -1 }, { "+", 1, -1 }, { "?", 0, 1 } };
	size_t i = 0, count = sizeof signs / sizeof *signs;

	while (i < count && !pattern_accept_text(p, signs[i].text))
		i++;
	if (i < count) {
		q->min = signs[i].min;
		q->max = signs[i].max;
	} else if (!parse_bounds(p, &q->min, &q->max))
		return false;
	q->split = pattern_accept_text(p, "?") ? OP_SPLIT_LAZY : OP_SPLIT;
	return true;
}

/* The fragment that a quantifier repeats. */
struct body {
	struct instruction *list;
	size_t size;
	size_t group, groups; /* the groups in it: first number, and how many */
	size_t loop;
};

/* Emits the fragment once more. If groups are stored, they are cleared when an iteration begins;
 * and an optional iteration fails if it consumes nothing, as loops would never end otherwise. */
static int
emit_round(struct parser *p, const struct body *body, bool needed)
{
	if (p->pattern->refers && pattern_emit_instruction(p,
	    (struct instruction){ OP_ROUND, (int)body->loop, body->group, body->groups }) != 0)
		return -1;
	for (size_t i = 0; i < body->size; i++)
		if (pattern_emit_instruction(p, body->list[i]) != 0)
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
	return pattern_emit_instruction(p, (struct instruction){ OP_JUMP, -(int)(size + 1), 0, 0 });
}

/* If a quantifier follows, repeats the fragment that begins at start and contains the groups
 * after `group`. */
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
		return pattern_set_error(p, "the numbers of a repetition are out of order");
	if (q.min > REPEAT_LIMIT || q.max > REPEAT_LIMIT)
		return pattern_set_error(p, "it repeats too often");
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
	/* Assertions consume nothing and cannot be repeated. */
	static const struct {
		const char *text;
		enum operation operation;
	} assertions[] = {
		{ "^", OP_START }, { "$", OP_END }, { "\\b", OP_EDGE }, { "\\B", OP_NO_EDGE },
	};
	static const struct {
		const char *text;
		bool behind, negated;
	} looks[] = {
		{ "(?=", false, false }, { "(?!", false, true }, { "(?<=", true, false },
		{ "(?<!", true, true },
	};
	size_t start = p->program->size, group = p->group_count;
	struct quantifier q;

	if (parse_quantifier(p, &q))
		return pattern_set_error(p, "there is nothing to repeat");
	for (size_t i = 0; i < sizeof assertions / sizeof *assertions; i++)
		if (pattern_accept_text(p, assertions[i].text))
			return emit_operation(p, assertions[i].operation, 0);
	for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
		if (pattern_accept_text(p, looks[i].text))
			return parse_look(p, looks[i].behind, looks[i].negated);
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

/* In a program that runs backwards the terms are in reverse order, but each term itself is not:
 * each term is reversed, and then the whole sequence. */
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

/* Before each alternative except the last, inserts a split: to this alternative, or to what follows
 * the jump at its end. Until the end is known, the offset of each jump is the distance to the
 * previous jump (0 for the first). */
static int
parse_alternatives(struct parser *p)
{
	struct program *t = p->program;
	size_t start = t->size, last = 0, jump;
	bool jumps = false;

	if (parse_sequence(p) != 0)
		return -1;
	while (pattern_accept_text(p, "|")) {
		struct instruction split = { OP_SPLIT, (int)(t->size - start + 2), 0, 0 };

		if (pattern_emit_instruction(p, split) != 0)
			return -1;
		memmove(t->list + start + 1, t->list + start,
		    (t->size - start - 1) * sizeof *t->list);
		t->list[start] = split;
		jump = t->size;
		if (emit_operation(p, OP_JUMP, jumps ? jump - last : 0) != 0)
			return -1;
		jumps = true;
		last = jump;
		start = t->size;
		if (parse_sequence(p) != 0)
			return -1;
	}
	while (jumps) {
		size_t before = (size_t)t->list[last].offset;

		t->list[last].offset = (int)(t->size - last);
		last -= before;
		jumps = before != 0;
	}
	return 0;
}

static int
pattern_parse_all(struct parser *p)
{
	if (parse_alternatives(p) != 0)
		return -1;
	return p->at < p->end ? pattern_set_error(p, ") has no (") : emit_operation(p, OP_MATCH, 0);
}

struct pattern *
pattern_compile(const char *source, size_t len, const char **why)
{
	return pattern_compile_as(source, len, 0, why);
}

/* Checks that a program ends with OP_MATCH, and that all its jumps are within it. */
static bool
program_holds(const struct program *t, const struct pattern *p)
{
	if (t->size == 0 || t->list[t->size - 1].operation != OP_MATCH)
		return false;
	for (size_t i = 0; i < t->size; i++) {
		const struct instruction *in = &t->list[i];
		long to = (long)i + in->offset;

		switch (in->operation) {
		case OP_SPLIT:
		case OP_SPLIT_LAZY:
		case OP_JUMP:
			if (to < 0 || (size_t)to >= t->size)
				return false;
			break;
		case OP_SET:
		case OP_OTHER:
			if (in->first + in->count > p->range_count)
				return false;
			break;
		case OP_LOOK:
			if (in->first >= p->look_count)
				return false;
			break;
		default:
			break;
		}
	}
	return true;
}

static bool
pattern_holds(const struct pattern *p)
{
	for (size_t i = 0; i < p->look_count; i++)
		if (!program_holds(&p->looks[i].program, p))
			return false;
	return program_holds(&p->program, p);
}

struct pattern *
pattern_compile_as(const char *source, size_t len, unsigned flags, const char **why)
{
	struct parser p = { .pattern = memory_zero(1, sizeof *p.pattern), .at = source,
		.end = source + len };
	int result;

	p.pattern->flags = flags;
	p.program = &p.pattern->program;
	result = pattern_parse_all(&p);
	if (result == 0 && p.refers) {
		/* Parse again, now that the names and number of groups are known. */
		pattern_free(p.pattern);
		p.pattern = memory_zero(1, sizeof *p.pattern);
		p.pattern->flags = flags;
		p.pattern->refers = true;
		p.pattern->groups = p.group_count;
		p.program = &p.pattern->program;
		p.at = source;
		p.group_count = 0;
		p.depth = 0;
		result = pattern_parse_all(&p);
	}
	free(p.names);
	INVARIANT(result != 0 || pattern_holds(p.pattern));
	if (result == 0)
		return p.pattern;
	*why = p.why;
	pattern_free(p.pattern);
	return NULL;
}
