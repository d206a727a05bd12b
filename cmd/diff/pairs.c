/*
 * The sequence of equal inputs is found by the line difference (base/line_diff.h), over texts of one line
 * for each call. Where that gives up, since too much differs, inputs are looked up wherever they are.
 */
#include "diff/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/line_diff.h"
#include "base/map.h"
#include "base/memory.h"
#include "model/event_index.h"
#include "transcript/event_keys.h"

const char *const diff_kind_words[DIFF_KINDS + 1] = {
	"same", "moved", "changed", "follows", "gone", "new", "renamed", NULL
};
const char *const diff_what_words[DIFF_WHATS + 1] = {
	"definition", "model", "input", "result", "status", "tools", "tokens", "order", "retries", "time", "inside",
	"answers", "files", NULL
};

#define KEY_LINE 33 /* 32 hex digits and LF */

/* The calls of one step among siblings, of one side. */
struct row {
	struct diff_call **calls;
	size_t count;
	bool *moved;           /* they were matched out of sequence */
};

struct rows { struct row a, b; };

/* Matching the siblings inside a pair of calls. */
struct matching {
	struct arena *memory;
	struct diff_pair *around;
	unsigned ignored;
	bool results;
	const struct diff_call *caused; /* the first call that is a cause; NULL: none yet */
	bool given;                     /* since it was given something else */
	/* Whether a run did not succeed, and so may have ended before it came to calls that the other has; and
	 * whether the last outermost call that both have was passed, in the order of that run. */
	bool a_ended, b_ended, a_passed, b_passed;
};

static struct diff_pair *
diff_pair_make(struct arena *memory, struct diff_call *a, struct diff_call *b)
{
	struct diff_pair *pair = arena_zero(memory, sizeof *pair);

	INVARIANT(a != NULL || b != NULL);
	*pair = (struct diff_pair){ .a = a, .b = b };
	if (a != NULL)
		a->pair = pair;
	if (b != NULL)
		b->pair = pair;
	return pair;
}

const struct diff_call *
diff_pair_call(const struct diff_pair *pair)
{
	return pair->a != NULL ? pair->a : pair->b;
}

/* ---- rows ---- */

static int
diff_calls_compare(const void *a, const void *b)
{
	const struct diff_call *one = *(struct diff_call *const *)a, *other = *(struct diff_call *const *)b;

	if (one->occurrence != other->occurrence)
		return one->occurrence < other->occurrence ? -1 : 1;
	return one->item < other->item ? -1 : one->item > other->item;
}

/* The calls inside a call with this name, in the order of occurrences and items. */
static struct row
diff_row_read(const struct diff_call *around, const char *name)
{
	struct row row = { .calls = memory_zero(around->inside_count + 1, sizeof *row.calls) };

	for (struct diff_call *c = around->first; c != NULL; c = c->beside)
		if (strcmp(c->name, name) == 0)
			row.calls[row.count++] = c;
	qsort(row.calls, row.count, sizeof *row.calls, diff_calls_compare);
	row.moved = memory_zero(row.count + 1, sizeof *row.moved);
	return row;
}

static void
diff_rows_free(struct rows *r)
{
	free(r->a.calls);
	free(r->a.moved);
	free(r->b.calls);
	free(r->b.moved);
}

/* ---- matching ---- */

static void
diff_rows_match(struct matching *m, struct rows *r, size_t i, size_t j, bool moved)
{
	struct diff_pair *pair = diff_pair_make(m->memory, r->a.calls[i], r->b.calls[j]);

	if (moved)
		pair->what |= DIFF_ORDER;
	r->a.moved[i] = r->b.moved[j] = moved;
}

static void
diff_key_line(struct uuid key, struct buffer *out)
{
	buffer_format(out, "%016llx%016llx\n", (unsigned long long)key.high, (unsigned long long)key.low);
}

static void
diff_row_lines(const struct row *row, struct buffer *out)
{
	for (size_t i = 0; i < row->count; i++)
		diff_key_line(row->calls[i]->keys.input, out);
	INVARIANT(out->len == row->count * KEY_LINE);
}

/* Matches the longest sequence of calls with equal inputs. */
static void
diff_rows_match_sequence(struct matching *m, struct rows *r)
{
	struct buffer a = BUFFER_INIT, b = BUFFER_INIT;
	struct line_diff diff;
	size_t i = 0, j = 0;

	diff_row_lines(&r->a, &a);
	diff_row_lines(&r->b, &b);
	line_diff_begin(&diff, buffer_string(&a), a.len, buffer_string(&b), b.len, false);
	for (size_t at = 0; at <= diff.count; at++) {
		const size_t until = at < diff.count ? diff.changes[at].old : r->a.count;

		while (i < until)
			diff_rows_match(m, r, i++, j++, false);
		if (at < diff.count) {
			i += diff.changes[at].removed;
			j += diff.changes[at].added;
		}
	}
	INVARIANT(i == r->a.count && j == r->b.count);
	line_diff_free(&diff);
	buffer_free(&a);
	buffer_free(&b);
}

/* Matches calls that are left and have an equal key, in order. key_at: where in a call the key is. */
static void
diff_rows_match_keys(struct matching *m, struct rows *r, size_t key_at, bool moved)
{
	struct map first = MAP_INIT;
	size_t *next = memory_zero(r->b.count + 1, sizeof *next), last;

	/* From the end, so that each list begins with its first call; 1 + index, 0: no more. */
	for (size_t j = r->b.count; j-- > 0;) {
		const struct diff_call *c = r->b.calls[j];
		const struct uuid *key = (const struct uuid *)((const char *)c + key_at);
		const size_t *found;

		if (c->pair != NULL || !diff_key_is(*key))
			continue;
		found = map_get(&first, (const char *)key, sizeof *key);
		next[j] = found != NULL ? *found : 0;
		map_put(&first, (const char *)key, sizeof *key, j + 1);
	}
	for (size_t i = 0; i < r->a.count; i++) {
		const struct diff_call *c = r->a.calls[i];
		const struct uuid *key = (const struct uuid *)((const char *)c + key_at);
		const size_t *found = c->pair != NULL || !diff_key_is(*key) ? NULL :
		    map_get(&first, (const char *)key, sizeof *key);

		if (found == NULL || *found == 0)
			continue;
		last = *found - 1;
		map_put(&first, (const char *)key, sizeof *key, next[last]);
		diff_rows_match(m, r, i, last, moved);
	}
	map_free(&first);
	free(next);
}

/* Sets the key of the pair that the input of a call came from. */
static void
diff_row_find_upstream(const struct row *row)
{
	for (size_t i = 0; i < row->count; i++) {
		struct diff_call *c = row->calls[i];
		const struct diff_pair *pair = c->before_count > 0 ? c->before[0]->pair : NULL;

		c->upstream = (struct uuid){ 0, 0 };
		if (pair != NULL && pair->a != NULL && pair->b != NULL)
			c->upstream = bytes_key((const char *)&pair, sizeof pair);
	}
}

/* Matches in order what is left between two calls that are matched in sequence, if equally many are. */
static void
diff_rows_match_gaps(struct matching *m, struct rows *r)
{
	size_t i = 0, j = 0;

	while (i < r->a.count || j < r->b.count) {
		size_t end_a = i, end_b = j, left_a = 0, left_b = 0;

		for (; end_a < r->a.count && (r->a.calls[end_a]->pair == NULL || r->a.moved[end_a]); end_a++)
			left_a += r->a.calls[end_a]->pair == NULL;
		for (; end_b < r->b.count && (r->b.calls[end_b]->pair == NULL || r->b.moved[end_b]); end_b++)
			left_b += r->b.calls[end_b]->pair == NULL;
		while (left_a == left_b && i < end_a && left_a > 0) {
			if (r->a.calls[i]->pair == NULL) {
				while (r->b.calls[j]->pair != NULL)
					j++;
				diff_rows_match(m, r, i, j++, false);
			}
			i++;
		}
		i = end_a + 1;
		j = end_b + 1;
	}
}

static void
diff_rows_match_numbers(struct matching *m, struct rows *r)
{
	for (size_t i = 0, j = 0; i < r->a.count && j < r->b.count;) {
		const int order = diff_calls_compare(&r->a.calls[i], &r->b.calls[j]);

		if (order == 0)
			diff_rows_match(m, r, i, j, false);
		i += order <= 0;
		j += order >= 0;
	}
}

/* Whether the steps directly inside two calls have the same names. */
static bool
diff_calls_hold_same_names(const struct diff_call *a, const struct diff_call *b)
{
	const struct diff_call *one = a->first, *other = b->first;

	while (one != NULL && other != NULL && strcmp(one->name, other->name) == 0) {
		one = one->beside;
		other = other->beside;
	}
	return one == NULL && other == NULL && a->first != NULL;
}

static void
diff_rows_match_branches(struct matching *m, struct rows *r)
{
	diff_rows_match_keys(m, r, offsetof(struct diff_call, keys.definition), false);
	for (size_t i = 0; i < r->a.count; i++)
		for (size_t j = 0; r->a.calls[i]->pair == NULL && j < r->b.count; j++)
			if (r->b.calls[j]->pair == NULL &&
			    diff_calls_hold_same_names(r->a.calls[i], r->b.calls[j]))
				diff_rows_match(m, r, i, j, false);
	diff_rows_match_gaps(m, r);
}

static void
diff_rows_match_all(struct matching *m, struct rows *r)
{
	if (r->a.count == 0 || r->b.count == 0)
		return;
	if (diff_call_is_part(r->a.calls[0]) && strcmp(r->a.calls[0]->around->kind, "parallel") == 0) {
		diff_rows_match_branches(m, r);
	} else if (diff_call_is_part(r->a.calls[0])) {
		diff_rows_match_numbers(m, r);
	} else {
		diff_rows_match_sequence(m, r);
		diff_rows_match_keys(m, r, offsetof(struct diff_call, keys.input), true);
		diff_row_find_upstream(&r->a);
		diff_row_find_upstream(&r->b);
		diff_rows_match_keys(m, r, offsetof(struct diff_call, upstream), false);
		diff_rows_match_keys(m, r, offsetof(struct diff_call, keys.result), false);
		diff_rows_match_gaps(m, r);
	}
}

/* A step that is gone and one that is new, with the same input and result. */
static void
diff_match_renamed(struct matching *m)
{
	const struct diff_pair *around = m->around;

	for (struct diff_call *a = around->a->first; a != NULL; a = a->beside) {
		if (a->pair != NULL || !diff_key_is(a->keys.result))
			continue;
		for (struct diff_call *b = around->b->first; b != NULL; b = b->beside)
			if (b->pair == NULL && diff_keys_equal(a->keys.input, b->keys.input) &&
			    diff_keys_equal(a->keys.result, b->keys.result)) {
				diff_pair_make(m->memory, a, b)->kind = DIFF_RENAMED;
				break;
			}
	}
}

/* ---- what differs ---- */

/* Whether two calls were given the same. With a filter, and in masked runs, what came from other calls is not
 * compared by its digest, but by their results. */
static bool
diff_calls_same_input(const struct diff_call *a, const struct diff_call *b)
{
	const bool none = !diff_key_is(a->keys.input) && !diff_key_is(b->keys.input);

	if (!none && diff_keys_equal(a->keys.input, b->keys.input))
		return true;
	if (!none && (a->source->filter == NULL || a->filtered || b->filtered || a->before_count == 0 || a->item != b->item))
		return false;
	if (a->before_count != b->before_count)
		return false;
	for (size_t i = 0; i < a->before_count; i++)
		if (!diff_keys_equal(a->before[i]->keys.result, b->before[i]->keys.result))
			return false;
	return true;
}

static unsigned
diff_calls_what(const struct diff_call *a, const struct diff_call *b)
{
	/* One that was skipped has asked nothing, so nothing of that can be compared. */
	const bool asked = (a->state == CALL_SKIPPED) == (b->state == CALL_SKIPPED);
	unsigned what = 0;
	bool tools = a->tool_count == b->tool_count;

	if (!diff_keys_equal(a->keys.definition, b->keys.definition) || (asked &&
	    (!diff_keys_equal(a->keys.prompt, b->keys.prompt) || !diff_keys_equal(a->keys.settings, b->keys.settings))))
		what |= DIFF_DEFINITION;
	/* The script of a command is no part of what is compared by its digest. That of the workflow alone makes
	 * no difference. */
	for (size_t i = 0; a->around != NULL && i < a->files.count; i++) {
		const struct diff_file *is = diff_files_find(&b->files, a->files.list[i].path);

		if (is != NULL && strcmp(is->sha256, a->files.list[i].sha256) != 0)
			what |= DIFF_DEFINITION;
	}
	if (asked && (strcmp(a->provider, b->provider) != 0 || strcmp(a->model, b->model) != 0))
		what |= DIFF_MODEL;
	if (!diff_calls_same_input(a, b))
		what |= DIFF_INPUT;
	if (!diff_keys_equal(a->keys.result, b->keys.result))
		what |= DIFF_RESULT;
	if (a->state != b->state || a->code != b->code)
		what |= DIFF_STATUS;
	for (size_t i = 0; i < a->tool_count && i < b->tool_count; i++) {
		const bool same = strcmp(a->tools[i].name, b->tools[i].name) == 0 &&
		    diff_keys_equal(a->tools[i].input, b->tools[i].input);

		tools &= same;
		if (same && !diff_keys_equal(a->tools[i].answer, b->tools[i].answer))
			what |= DIFF_ANSWERS;
	}
	if (!tools)
		what |= DIFF_TOOLS;
	for (size_t i = 0; i < a->changed.count; i++) {
		const struct diff_file *is = diff_files_find(&b->changed, a->changed.list[i].path);

		if (is != NULL && strcmp(is->sha256, a->changed.list[i].sha256) != 0)
			what |= DIFF_FILES;
	}
	if (a->own.input_tokens != b->own.input_tokens || a->own.output_tokens != b->own.output_tokens)
		what |= DIFF_TOKENS;
	if (a->own.retries != b->own.retries)
		what |= DIFF_RETRIES;
	if (a->own.ms >= 0 && b->own.ms >= 0 && !a->taken_over && !b->taken_over &&
	    (a->own.ms > b->own.ms * 3 / 2 + 100 || b->own.ms > a->own.ms * 3 / 2 + 100))
		what |= DIFF_TIME;
	return what;
}

bool
diff_call_follows(const struct diff_call *c)
{
	for (size_t i = 0; i < c->before_count; i++) {
		const struct diff_pair *pair = c->before[i]->pair;

		if (pair == NULL || pair->a == NULL || pair->b == NULL)
			return true;
	}
	return false;
}

/* Whether a call was given something else, though nothing that its input may have come from differs. Of
 * several such calls beside each other, each is. */
static bool
diff_pair_given(const struct matching *m, const struct diff_pair *pair)
{
	const struct diff_call *a = pair->a, *b = pair->b;

	return a->around != NULL && a->before_count == 0 && b->before_count == 0 && strcmp(a->kind, "call_workflow") != 0 &&
	    !diff_keys_equal(a->keys.input, b->keys.input) && diff_key_is(a->keys.input) && diff_key_is(b->keys.input) &&
	    (m->caused == NULL || (m->given && m->caused->around == a->around && strcmp(m->caused->name, a->name) == 0));
}

static bool
diff_pair_holds_cause(const struct diff_pair *around)
{
	for (const struct diff_pair *pair = around->inside; pair != NULL; pair = pair->beside)
		if (diff_pair_causes(pair) || diff_pair_holds_cause(pair))
			return true;
	return false;
}

/* Whether a loop is the same but for what its rounds do. */
static bool
diff_pair_loops_alike(const struct diff_pair *pair)
{
	struct buffer one = BUFFER_INIT, other = BUFFER_INIT;
	bool alike = false;

	if (pair->a->first != NULL && diff_call_is_part(pair->a->first) && strcmp(pair->a->kind, "parallel") != 0) {
		diff_call_value(pair->a, pair->a->places.begin, KEY_LOOP, &one);
		diff_call_value(pair->b, pair->b->places.begin, KEY_LOOP, &other);
		alike = buffer_equal(&one, buffer_string(&other));
	}
	buffer_free(&one);
	buffer_free(&other);
	return alike;
}

/* Whether its definition is that of what is inside it: a round or branch, or what runs a workflow's file. */
static bool
diff_pair_is_around(const struct diff_pair *pair)
{
	return diff_call_is_part(pair->a) || diff_pair_loops_alike(pair) || strcmp(pair->a->kind, "call_workflow") == 0 ||
	    (diff_key_is(pair->a->keys.definition) && diff_keys_equal(pair->a->keys.definition, pair->b->keys.definition));
}

static void
diff_pair_note_cause(struct matching *m, const struct diff_call *c, bool given)
{
	if (m->caused == NULL) {
		m->caused = c;
		m->given = given;
	}
}

bool
diff_call_is_called(const struct diff_call *c)
{
	const struct diff_pair *around = c->around != NULL ? c->around->pair : NULL;

	return around != NULL && around->a != NULL && around->b != NULL &&
	    diff_calls_what(around->a, around->b) & DIFF_TOOLS;
}

/* Whether no call has one of the other run. */
static bool
diff_pair_has_none(const struct diff_pair *around)
{
	for (const struct diff_pair *pair = around->inside; pair != NULL; pair = pair->beside)
		if (pair->a != NULL && pair->b != NULL)
			return false;
	return true;
}

/* Notes whether a pair is the last outermost one that both have, in the order of either run. */
static void
diff_pair_note_passed(struct matching *m, const struct diff_pair *pair)
{
	const struct diff_call *a = pair->a, *b = pair->b;

	if (a == NULL || b == NULL)
		return;
	do
		a = a->beside;
	while (a != NULL && a->pair->b == NULL);
	do
		b = b->beside;
	while (b != NULL && b->pair->a == NULL);
	m->a_passed |= a == NULL;
	m->b_passed |= b == NULL;
}

/* Whether the other run ended, or was stopped, before it came to such a call, or its model did not call it. */
static bool
diff_call_is_not_reached(const struct matching *m, const struct diff_pair *pair)
{
	const struct diff_call *c = diff_pair_call(pair);

	/* What a model called in one run alone. */
	if (diff_call_is_called(c))
		return true;
	return c->around != NULL && c->around->around == NULL && (pair->a != NULL ? m->b_ended && m->a_passed : m->a_ended && m->b_passed);
}

static void
diff_pair_judge(struct matching *m, struct diff_pair *pair)
{
	const unsigned results = DIFF_RESULT | DIFF_STATUS | DIFF_INSIDE;
	const bool renamed = pair->kind == DIFF_RENAMED;
	unsigned counts;
	bool given;

	if (pair->a == NULL || pair->b == NULL) {
		const struct diff_call *c = diff_pair_call(pair);

		pair->kind = diff_call_follows(c) || diff_call_is_not_reached(m, pair) ? DIFF_FOLLOWS :
		    pair->a != NULL ? DIFF_GONE : DIFF_NEW;
		if (pair->kind != DIFF_FOLLOWS)
			diff_pair_note_cause(m, c, false);
		return;
	}
	given = !(m->ignored & DIFF_INPUT) && diff_pair_given(m, pair);
	if (given)
		diff_pair_note_cause(m, pair->a, true);
	pair->what |= diff_calls_what(pair->a, pair->b);
	/* What a workflow read counts by what its calls were given; what it printed is in their order. */
	if (pair->a->around == NULL)
		pair->what &= ~(unsigned)(m->ignored & DIFF_ORDER || !diff_key_is(pair->a->keys.result) ||
		    !diff_key_is(pair->b->keys.result) ? DIFF_INPUT | DIFF_RESULT : DIFF_INPUT);
	for (struct diff_pair *inside = pair->inside; inside != NULL; inside = inside->beside) {
		diff_pair_judge(m, inside);
		if (pair->a->around == NULL)
			diff_pair_note_passed(m, inside);
		if (inside->kind != DIFF_SAME)
			pair->what |= DIFF_INSIDE;
	}
	pair->what &= ~m->ignored;
	if (m->results)
		pair->what &= results;
	counts = pair->what & ~(unsigned)DIFF_DETAILS;
	if (renamed)
		pair->kind = DIFF_RENAMED;
	else if (counts == 0)
		pair->kind = DIFF_SAME;
	else if (counts == DIFF_ORDER)
		pair->kind = DIFF_MOVED;
	else if (diff_pair_is_around(pair) && diff_pair_holds_cause(pair))
		pair->kind = DIFF_FOLLOWS;
	else if (counts & (DIFF_DEFINITION | DIFF_MODEL))
		pair->kind = DIFF_CHANGED;
	else if (counts & DIFF_TOOLS && !(counts & DIFF_INPUT) && diff_calls_same_input(pair->a, pair->b))
		pair->kind = DIFF_CHANGED;
	else if (given && !diff_pair_holds_cause(pair))
		pair->kind = DIFF_CHANGED;
	else if (counts & (DIFF_INPUT | DIFF_INSIDE) || !diff_calls_same_input(pair->a, pair->b))
		pair->kind = DIFF_FOLLOWS;
	else
		pair->kind = pair->a->state == CALL_SKIPPED || pair->b->state == CALL_SKIPPED ? DIFF_FOLLOWS : DIFF_CHANGED;
	if (diff_pair_causes(pair) && pair->a->around != NULL)
		diff_pair_note_cause(m, pair->a, false);
}

/* ---- the tree ---- */

static void
diff_pair_add(struct diff_pair ***end, struct diff_pair *pair)
{
	**end = pair;
	*end = &pair->beside;
}

/* Sets the pairs of the calls inside a pair: in the order of side a, each that side b alone has after
 * what is before it there. */
static void
diff_pairs_order(struct matching *m)
{
	struct diff_pair *around = m->around, **end = &around->inside;
	struct diff_call *b = around->b->first;

	for (struct diff_call *a = around->a->first; a != NULL; a = a->beside) {
		if (a->pair == NULL)
			diff_pair_make(m->memory, a, NULL);
		for (; a->pair->b != NULL && b != NULL && b->pair == NULL; b = b->beside)
			diff_pair_add(&end, diff_pair_make(m->memory, NULL, b));
		diff_pair_add(&end, a->pair);
		if (b != NULL && b == a->pair->b)
			b = b->beside;
	}
	for (b = around->b->first; b != NULL; b = b->beside)
		if (b->pair == NULL)
			diff_pair_add(&end, diff_pair_make(m->memory, NULL, b));
}

static void
diff_match_inside(struct matching *m, struct diff_pair *pair)
{
	struct map done = MAP_INIT;

	m->around = pair;
	for (const struct diff_call *c = pair->a->first; c != NULL; c = c->beside) {
		struct rows rows;

		if (map_get(&done, c->name, strlen(c->name)) != NULL)
			continue;
		map_put(&done, c->name, strlen(c->name), 1);
		rows = (struct rows){ diff_row_read(pair->a, c->name), diff_row_read(pair->b, c->name) };
		diff_rows_match_all(m, &rows);
		diff_rows_free(&rows);
	}
	map_free(&done);
	diff_match_renamed(m);
	diff_pairs_order(m);
	for (struct diff_pair *inside = pair->inside; inside != NULL; inside = inside->beside)
		if (inside->a != NULL && inside->b != NULL)
			diff_match_inside(m, inside);
}

struct diff_pair *
diff_match(struct diff_side *a, struct diff_side *b, unsigned ignored, bool results)
{
	struct matching m = { .memory = &a->memory, .ignored = ignored, .results = results };
	struct diff_pair *pair = arena_zero(m.memory, sizeof *pair);

	*pair = (struct diff_pair){ .a = &a->root, .b = &b->root };
	a->root.pair = b->root.pair = pair;
	m.a_ended = strcmp(a->status, "success") != 0;
	m.b_ended = strcmp(b->status, "success") != 0;
	diff_match_inside(&m, pair);
	m.a_passed = m.b_passed = diff_pair_has_none(pair);
	diff_pair_judge(&m, pair);
	if (strcmp(a->status, b->status) != 0) {
		pair->what |= DIFF_STATUS;
		if (pair->kind == DIFF_SAME)
			pair->kind = DIFF_CHANGED;
	}
	return pair;
}

bool
diff_pair_causes(const struct diff_pair *pair)
{
	return pair->kind == DIFF_CHANGED || pair->kind == DIFF_GONE || pair->kind == DIFF_NEW ||
	    pair->kind == DIFF_RENAMED;
}
