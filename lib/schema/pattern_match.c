/*
 * Without backreferences all alternatives are followed at once. First one pass over the text for
 * each lookaround, inner ones first, records all positions where it matches; a lookahead is run
 * from the end of the text. With backreferences alternatives are tried one after another
 * (backtracking), including those in lookaround; as that may take exponential time, it stops after
 * a number of steps.
 */
#include "schema/pattern_program.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"

/* The set of instructions at which matching may be after the text read so far, in order of
 * priority. */
struct places {
	size_t *list;
	size_t *from; /* for each: position at which its match began */
	size_t *seen; /* for each instruction: step in which it was added last */
	size_t count;
};

struct walk {
	const struct program *program;
	bool all;     /* find any match, not the one of highest priority */
	struct places now, next;
	size_t *stack;
	size_t step;
	size_t from;  /* start of the match that is being added */
};

/* A saved state: to continue there with another alternative. */
struct choice {
	size_t place;
	const char *at;
	size_t change_count; /* number of changes of slots then; later ones are undone */
};

struct change {
	size_t slot;
	const char *was;
};

/* State of backtracking. Slots: two for each group including group 0, and one for each loop. */
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
	const char *at;           /* current position */
	long work;                /* steps left */
	unsigned char *held;      /* bits: at which positions each lookaround matches */
	size_t held_size;         /* bytes of held for each lookaround */
	struct walk walk;
	struct trial trial;
	size_t *memory;
	size_t size;              /* length of the longest program, for which memory was
	                             allocated */
};

#define WALK_ARRAYS 8 /* arrays of the pattern's size: three in each of two sets, and a stack of
                         twice the size */
#define TRIAL_WORK 10000000  /* steps of one search, unless the caller's limit is lower */
#define TRIAL_CHOICES 1000000
#define BITS 8

static bool
pattern_instruction_accepts(const struct pattern *t, const struct instruction *i,
    uint32_t character)
{
	size_t low = i->first, end = i->first + i->count, middle;

	while (low < end) {
		middle = (low + end) / 2;
		if (character >= t->ranges[middle].low && character <= t->ranges[middle].high)
			return i->operation == OP_SET;
		if (character < t->ranges[middle].low)
			end = middle;
		else
			low = middle + 1;
	}
	return i->operation == OP_OTHER;
}

/* Returns the code point before *at, and moves *at to it. */
static uint32_t
code_point_before(const char **at, const char *text)
{
	const char *start = *at, *end = *at;

	do
		start--;
	while (start > text && ((unsigned char)*start & 0xc0) == 0x80);
	*at = start;
	return pattern_code_point(&start, end);
}

static bool
is_word(const char *byte)
{
	return *byte == '_' || pattern_alphanumeric((unsigned char)*byte);
}

/* Whether an assertion holds at the current position. */
static bool
pattern_assertion_holds(const struct pattern_search *s, const struct instruction *i)
{
	bool lines = (s->pattern->flags & PATTERN_LINES) != 0;
	size_t at = (size_t)(s->at - s->text);

	switch (i->operation) {
	case OP_START:
		return s->at == s->text || (lines && s->at[-1] == '\n');
	case OP_END:
		return s->at == s->end || (lines && *s->at == '\n');
	case OP_EDGE:
	case OP_NO_EDGE:
		/* Word boundary: a word character on exactly one side. */
		return ((at > 0 && is_word(s->at - 1)) != (s->at < s->end && is_word(s->at))) ==
		    (i->operation == OP_EDGE);
	default:
		return s->held != NULL && (s->held[i->first * s->held_size + at / BITS] >> at % BITS & 1) != 0;
	}
}

/* Adds an instruction and all that can be reached from it without consuming a character. Returns
 * true if the pattern's end is among them; alternatives of lower priority are not added then. An
 * instruction is pushed only by its predecessors, each added once, so the stack needs two entries
 * per instruction; of two successors the one with priority is pushed last. */
static bool
add_place(struct pattern_search *s, struct places *places, size_t place)
{
	struct walk *w = &s->walk;
	const struct instruction *i;
	bool matched = false;
	size_t depth = 0, other;

	w->stack[depth++] = place;
	while (depth > 0 && (w->all || !matched)) {
		INVARIANT(depth <= 2 * s->size);
		place = w->stack[--depth];
		INVARIANT(place < w->program->size);
		s->work--;
		if (places->seen[place] == w->step)
			continue;
		places->seen[place] = w->step;
		i = &w->program->list[place];
		other = (size_t)((long)place + i->offset);
		switch (i->operation) {
		case OP_MATCH:
			matched = true;
			break;
		case OP_SET:
		case OP_OTHER:
			INVARIANT(places->count < s->size);
			places->from[places->count] = w->from;
			places->list[places->count++] = place;
			break;
		case OP_JUMP:
			w->stack[depth++] = other;
			break;
		case OP_SPLIT:
			w->stack[depth++] = other;
			w->stack[depth++] = place + 1;
			break;
		case OP_SPLIT_LAZY:
			w->stack[depth++] = place + 1;
			w->stack[depth++] = other;
			break;
		default:
			if (pattern_assertion_holds(s, i))
				w->stack[depth++] = place + 1;
		}
	}
	return matched;
}

/* Moves every instruction in the set over one character, into the next set. Returns true as
 * add_place() does. */
static bool
pattern_advance_places(struct pattern_search *s, uint32_t character)
{
	struct walk *w = &s->walk;
	bool matched = false;

	w->next.count = 0;
	for (size_t n = 0; n < w->now.count && (w->all || !matched); n++) {
		w->from = w->now.from[n];
		s->work--;
		if (pattern_instruction_accepts(s->pattern, w->program->list + w->now.list[n],
		    character) &&
		    add_place(s, &w->next, w->now.list[n] + 1))
			matched = true;
	}
	return matched;
}

/* Begins a match at the current position, if none has begun before. */
static bool
pattern_begin_match(struct pattern_search *s, struct places *places)
{
	s->walk.from = (size_t)(s->at - s->text);
	return add_place(s, places, 0);
}

static void
pattern_swap_places(struct walk *w)
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

/* The next character; if the program runs backwards, the one before. */
static uint32_t
next_character(struct pattern_search *s, bool backwards)
{
	return backwards ? code_point_before(&s->at, s->text) : pattern_code_point(&s->at, s->end);
}

/* Records all positions where each lookaround matches. */
static void
mark_looks(struct pattern_search *s)
{
	const struct pattern *p = s->pattern;
	size_t at;

	s->held_size = (size_t)(s->end - s->text) / BITS + 1;
	s->held = memory_zero(p->look_count, s->held_size);
	s->work -= (long)(p->look_count * s->held_size / BITS);
	s->walk.all = true;
	for (size_t i = 0; i < p->look_count; i++) {
		unsigned char *bits = s->held + i * s->held_size;
		bool backwards = p->looks[i].program.backwards, matched = false;

		start_walk(s, &p->looks[i].program, backwards ? s->end : s->text);
		while (s->work >= 0) {
			matched = pattern_begin_match(s, &s->walk.now) || matched;
			at = (size_t)(s->at - s->text);
			if (matched != p->looks[i].negated)
				bits[at / BITS] |= (unsigned char)(1u << at % BITS);
			if (s->at == (backwards ? s->text : s->end))
				break;
			uint32_t character = next_character(s, backwards);
			s->walk.step++;
			matched = pattern_advance_places(s, character);
			pattern_swap_places(&s->walk);
		}
	}
	s->walk.all = false;
}

/* After a match was found, continues as long as one of higher priority is possible. */
static int
walk_text(struct pattern_search *s, size_t *start, size_t *end)
{
	struct walk *w = &s->walk;
	bool found, matched;
	uint32_t character;

	start_walk(s, &s->pattern->program, s->text + *start);
	found = matched = pattern_begin_match(s, &w->now);
	while (s->work >= 0) {
		if (matched) {
			*start = w->from;
			*end = (size_t)(s->at - s->text);
		}
		if (s->at == s->end || (found && w->now.count == 0))
			return found;
		character = pattern_code_point(&s->at, s->end);
		w->step++;
		matched = pattern_advance_places(s, character) ||
		    (!found && pattern_begin_match(s, &w->next));
		found = found || matched;
		pattern_swap_places(w);
	}
	return -1;
}

/* Saves an alternative to try if the current one fails. */
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
pattern_undo_changes(struct trial *t, size_t change_count)
{
	const struct change *change;

	INVARIANT(change_count <= t->change_count);
	while (t->change_count > change_count) {
		change = &t->changes[--t->change_count];
		t->slots[change->slot] = change->was;
	}
}

/* Matches the text of a group again (backreference). A group that has not matched yet, or is still
 * open, counts as empty. */
static bool
pattern_match_back_reference(struct pattern_search *s, const struct program *t, size_t group)
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

static bool try_program(struct pattern_search *s, const struct program *t);

/* Tests a lookaround. Groups captured in it are kept unless it is negated. */
static bool
try_look(struct pattern_search *s, const struct look *look)
{
	size_t change_count = s->trial.change_count;
	const char *at = s->at;
	bool matched = try_program(s, &look->program);

	s->at = at;
	if (look->negated || !matched)
		pattern_undo_changes(&s->trial, change_count);
	return matched != look->negated;
}

/* Whether a program matches at s->at; if so, s->at is moved to the end of the match. */
static bool
try_program(struct pattern_search *s, const struct program *t)
{
	struct trial *trial = &s->trial;
	size_t first = trial->count, place = 0, loops = (s->pattern->groups + 1) * 2;

	while (s->work >= 0 && t->list[place].operation != OP_MATCH) {
		const struct instruction *i = &t->list[place];
		size_t other = (size_t)((long)place + i->offset), loop = loops + (size_t)i->offset;
		bool fits = true;

		INVARIANT(place < t->size && trial->count >= first);
		INVARIANT(s->at >= s->text && s->at <= s->end);
		s->work--;
		place++;
		switch (i->operation) {
		case OP_JUMP:
			place = other;
			break;
		case OP_SPLIT:
			fits = push_choice(s, other);
			break;
		case OP_SPLIT_LAZY:
			fits = push_choice(s, place);
			place = other;
			break;
		case OP_SET:
		case OP_OTHER:
			fits = s->at != (t->backwards ? s->text : s->end) &&
			    pattern_instruction_accepts(s->pattern, i,
			    next_character(s, t->backwards));
			break;
		case OP_SAME:
			fits = pattern_match_back_reference(s, t, i->first);
			break;
		case OP_LOOK:
			fits = try_look(s, &s->pattern->looks[i->first]);
			break;
		case OP_KEEP:
			set_slot(trial, i->first, s->at);
			break;
		case OP_ROUND:
			set_slot(trial, loop, s->at);
			s->work -= (long)i->count;
			for (size_t slot = i->first * 2; slot < (i->first + i->count) * 2; slot++)
				if (trial->slots[slot] != NULL)
					set_slot(trial, slot, NULL);
			break;
		case OP_PROGRESS:
			fits = trial->slots[loop] != s->at;
			break;
		default:
			fits = pattern_assertion_holds(s, i);
		}
		if (fits)
			continue;

		/* Failed: continue with the last saved alternative. */
		if (trial->count == first)
			return false;
		trial->count--;
		place = trial->choices[trial->count].place;
		s->at = trial->choices[trial->count].at;
		pattern_undo_changes(trial, trial->choices[trial->count].change_count);
	}
	trial->count = first;
	return s->work >= 0;
}

static int
try_text(struct pattern_search *s, size_t *start, size_t *end)
{
	const char *from = s->text + *start;

	for (;;) {
		pattern_undo_changes(&s->trial, 0);
		s->at = from;
		if (try_program(s, &s->pattern->program)) {
			*start = (size_t)(from - s->text);
			*end = (size_t)(s->at - s->text);
			return 1;
		}
		if (s->work < 0 || from == s->end)
			return s->work < 0 ? -1 : 0;
		pattern_code_point(&from, s->end);
	}
}

static void
pattern_prepare_search(struct pattern_search *s, const struct pattern *p, const char *text,
    size_t len, long work)
{
	size_t slots = (p->groups + 1) * 2 + p->loops, size = p->program.size, *memory;

	*s = (struct pattern_search){ .pattern = p, .text = text, .end = text + len, .work = work };
	if (p->refers) {
		s->work -= (long)slots;
		s->trial.slots = memory_zero(slots, sizeof *s->trial.slots);
		return;
	}
	for (size_t i = 0; i < p->look_count; i++)
		if (size < p->looks[i].program.size)
			size = p->looks[i].program.size;
	s->work -= (long)size;
	s->size = size;
	s->memory = memory = memory_zero(size, WALK_ARRAYS * sizeof *memory);
	s->walk.now = (struct places){ memory, memory + size, memory + 2 * size, 0 };
	s->walk.next = (struct places){ memory + 3 * size, memory + 4 * size, memory + 5 * size,
		0 };
	s->walk.stack = memory + 6 * size;
	if (p->look_count > 0)
		mark_looks(s);
}

static void
pattern_release_search(struct pattern_search *s)
{
	free(s->memory);
	free(s->held);
	free(s->trial.slots);
	free(s->trial.choices);
	free(s->trial.changes);
}

static int
pattern_find_match(struct pattern_search *s, size_t *start, size_t *end)
{
	INVARIANT(*start <= (size_t)(s->end - s->text));
	if (s->work < 0)
		return -1;
	return s->pattern->refers ? try_text(s, start, end) : walk_text(s, start, end);
}

struct pattern_search *
pattern_search_begin(const struct pattern *p, const char *text, size_t len)
{
	struct pattern_search *s = memory_alloc(sizeof *s);

	pattern_prepare_search(s, p, text, len, p->refers ? TRIAL_WORK : LONG_MAX);
	return s;
}

bool
pattern_search_next(struct pattern_search *s, size_t *start, size_t *end)
{
	return pattern_find_match(s, start, end) == 1;
}

void
pattern_search_end(struct pattern_search *s)
{
	pattern_release_search(s);
	free(s);
}

int
pattern_match(const struct pattern *p, const char *text, size_t len, long *work)
{
	long given = p->refers && *work > TRIAL_WORK ? TRIAL_WORK : *work;
	struct pattern_search s;
	size_t start = 0, end;
	int result;

	pattern_prepare_search(&s, p, text, len, given);
	result = pattern_find_match(&s, &start, &end);
	INVARIANT(result != 1 || (start <= end && end <= len));
	*work -= given - s.work;
	pattern_release_search(&s);
	return result;
}

bool
pattern_matches(const struct pattern *p, const char *text, size_t len)
{
	long work = LONG_MAX;

	return pattern_match(p, text, len, &work) == 1;
}
