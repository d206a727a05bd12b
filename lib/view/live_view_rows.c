/*
 * The rows are counted first, with everything that is active. If there are too many, lists of calls (those of a step, then
 * also the branches of a group) are left out, and share the rows that are left. If even then there are too many, the last
 * ones are cut off.
 */
#include "view/live_view_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "view/live_view_text.h"

#define KINDS_MOST ((size_t)3) /* kinds of failures that have rows */

static void add_steps(struct live_rows *rows, const struct live_steps *steps, unsigned depth);

static void
add_row(struct live_rows *rows, struct live_row row)
{
	rows->count++;
	if (rows->counts)
		return;
	rows->list = memory_array(rows->list, rows->count, sizeof *rows->list);
	rows->list[rows->count - 1] = row;
}

/* When only counting: whether it is known that there are too many. */
static bool
is_enough(const struct live_rows *rows)
{
	return rows->counts && rows->count > rows->most;
}

/* ---- the calls of a step ---- */

/* 0: it asks somebody; 1: it has failed, and tries again; 2: others. */
static int
interest(const struct live_call *c)
{
	return c->asks ? 0 : c->asking.retry != NULL ? 1 : 2;
}

static int
by_interest(const void *a, const void *b)
{
	const struct live_call *one = *(struct live_call *const *)a, *two = *(struct live_call *const *)b;

	if (interest(one) != interest(two))
		return interest(one) - interest(two);
	if (one->started != two->started)
		return one->started < two->started ? -1 : 1;
	return one->number < two->number ? -1 : one->number > two->number;
}

/* Those that have a place first, then in the order of their items. */
static int
by_place(const void *a, const void *b)
{
	const struct live_call *one = *(struct live_call *const *)a, *two = *(struct live_call *const *)b;
	const size_t first = one->place - 1, second = two->place - 1; /* 0 is last */

	if (first != second)
		return first < second ? -1 : 1;
	if (one->iteration != two->iteration)
		return one->iteration < two->iteration ? -1 : 1;
	return one->number < two->number ? -1 : one->number > two->number;
}

/* Puts the most interesting calls first, in the order of their rows. A call keeps the place that it had, as long as there
 * are calls for the places before it: new ones come where others have ended. */
static void
choose_calls(struct live_call **calls, size_t count, size_t most)
{
	struct live_call **chosen = memory_array(NULL, count + 1, sizeof(struct live_call *));
	size_t placed = 0, known = 0, added;

	qsort(calls, count, sizeof(struct live_call *), by_interest);
	for (size_t i = most; i < count; i++)
		calls[i]->place = 0;
	most = most < count ? most : count;
	qsort(calls, most, sizeof(struct live_call *), by_place);
	while (known < most && calls[known]->place > 0)
		known++;
	added = known;
	for (size_t old = 0; placed < most;) {
		if (old < known && (calls[old]->place <= placed + 1 || added == most))
			chosen[placed++] = calls[old++];
		else
			chosen[placed++] = calls[added++];
		chosen[placed - 1]->place = placed;
	}
	if (most > 0)
		memcpy(calls, chosen, most * sizeof(struct live_call *));
	free(chosen);
}

/* Whether a call has a row of its own elsewhere: among what waits. */
static bool
is_elsewhere(const struct live_call *c)
{
	return c->attended;
}

struct live_call *
live_rows_inner_call(const struct live_view *v, const struct live_call *c, bool item)
{
	const struct live_run *child = live_view_child(v, c);

	return child != NULL ? live_view_only_call(&child->steps) : item ? live_view_only_call(&c->inside) : NULL;
}

static void
add_call(struct live_rows *rows, struct live_call *c, unsigned depth, bool item)
{
	struct span lines[LIVE_TEXT_LINES];
	const struct live_run *child;
	struct live_call *inner;
	size_t count;

	add_row(rows, (struct live_row){ .kind = ROW_CALL, .depth = depth, .call = c, .item = item });
	while ((inner = live_rows_inner_call(rows->view, c, item)) != NULL)
		c = inner;
	count = rows->sole && c->asking.kind == LIVE_TEXT ?
	    live_text_wrap(rows->view, c, depth, rows->most / 3, lines) : 0;
	for (size_t i = 0; i < count; i++)
		add_row(rows, (struct live_row){ .kind = ROW_TEXT, .depth = depth, .text = lines[i] });
	add_steps(rows, &c->inside, depth + 1);
	child = live_view_child(rows->view, c);
	if (child != NULL)
		add_steps(rows, &child->steps, depth + 1);
}

/* Takes a list of calls, of which some get rows later: behind the last row so far. */
static void
add_list(struct live_rows *rows, struct live_call **calls, size_t count, unsigned depth, bool counted)
{
	rows->lists = memory_array(rows->lists, rows->list_count + 1, sizeof *rows->lists);
	rows->lists[rows->list_count++] = (struct live_list){ rows->count, depth, calls, count, 0, counted };
}

/* The calls of a step that go on. */
static void
add_calls(struct live_rows *rows, struct live_step *s, unsigned depth)
{
	struct live_call **calls;
	size_t count = 0;

	if (rows->counts) {
		for (size_t i = 0; i < s->open_count && !is_enough(rows); i++)
			if (!is_elsewhere(s->open[i]))
				add_call(rows, s->open[i], depth, true);
		return;
	}
	calls = memory_array(NULL, s->open_count + 1, sizeof(struct live_call *));
	for (size_t i = 0; i < s->open_count; i++)
		if (!is_elsewhere(s->open[i]))
			calls[count++] = s->open[i];
	if (rows->room != ROOM_FOR_ALL) {
		add_list(rows, calls, count, depth, true);
		return;
	}
	choose_calls(calls, count, count);
	for (size_t i = 0; i < count; i++)
		add_call(rows, calls[i], depth, true);
	free(calls);
}

/* The branches of a group that go on, in one list. */
static void
add_branches(struct live_rows *rows, const struct live_steps *steps, unsigned depth)
{
	struct live_call **calls = memory_array(NULL, steps->count + 1, sizeof(struct live_call *));
	size_t count = 0;

	for (size_t i = 0; i < steps->count; i++)
		if (steps->list[i]->open_count > 0 && !is_elsewhere(steps->list[i]->open[0]))
			calls[count++] = steps->list[i]->open[0];
	add_list(rows, calls, count, depth, false);
}

static void
add_steps(struct live_rows *rows, const struct live_steps *steps, unsigned depth)
{
	if (rows->room == ROOM_FOR_SOME && !rows->counts && steps->count > 0 && steps->list[0]->member) {
		add_branches(rows, steps, depth);
		return;
	}
	for (size_t i = 0; i < steps->count && !is_enough(rows); i++) {
		struct live_step *s = steps->list[i];

		if (s->begun > 1) {
			add_row(rows, (struct live_row){ .kind = ROW_STEP, .depth = depth, .step = s });
			add_calls(rows, s, depth + 1);
		} else if (s->open_count > 0) {
			/* Instead of a branch, the steps inside it. */
			if (s->member && s->open[0]->inside.count > 0)
				add_steps(rows, &s->open[0]->inside, depth);
			else if (!is_elsewhere(s->open[0]))
				add_call(rows, s->open[0], depth, false);
		} else if (s->ended != NULL) {
			add_row(rows, (struct live_row){ .kind = ROW_ENDED, .depth = depth, .step = s });
		}
	}
}

/* ---- runs ---- */

static void
add_waits(struct live_rows *rows, const struct live_run *r, size_t *more)
{
	const size_t most = rows->most / 2;

	for (size_t i = 0; i < r->wait_count; i++) {
		if (rows->count < most)
			add_row(rows, (struct live_row){ .kind = ROW_WAIT, .depth = 1, .run = r, .wait = &r->waits[i] });
		else
			++*more;
	}
	for (size_t i = 0; i < rows->view->run_count; i++)
		if (rows->view->runs[i]->parent == r)
			add_waits(rows, rows->view->runs[i], more);
}

static void
add_failures(struct live_rows *rows, const struct live_run *r)
{
	size_t kinds = 0, further = (size_t)r->other_failures;

	for (size_t i = 0; i < r->failures_count; i++) {
		const struct live_failures *f = &r->failures[i];

		if (f->count <= FOLDED_SHOWN)
			continue;
		if (kinds++ < KINDS_MOST)
			add_row(rows, (struct live_row){ .kind = ROW_FAILURES, .depth = 1, .failures = f });
		else
			further += (size_t)f->count - FOLDED_SHOWN;
	}
	if (further > 0)
		add_row(rows, (struct live_row){ .kind = ROW_FAILURES, .depth = 1, .count = further });
}

static void
add_run(struct live_rows *rows, const struct live_run *r)
{
	size_t more = 0;

	add_row(rows, (struct live_row){ .kind = ROW_RUN, .run = r });
	add_waits(rows, r, &more);
	if (more > 0)
		add_row(rows, (struct live_row){ .kind = ROW_MORE_WAIT, .depth = 1, .count = more });
	add_failures(rows, r);
	add_steps(rows, &r->steps, 1);
}

static void
add_runs(struct live_rows *rows, enum live_room room, bool counts)
{
	rows->room = room;
	rows->counts = counts;
	rows->count = 0;
	for (size_t i = 0; i < rows->list_count; i++)
		free(rows->lists[i].calls);
	rows->list_count = 0;
	for (size_t i = 0; i < rows->view->run_count && !is_enough(rows); i++)
		if (rows->view->runs[i]->parent == NULL)
			add_run(rows, rows->view->runs[i]);
}

/* ---- when there is not room for all ---- */

/* Shares the rows that are left among the lists: each gets as many as others, or as many as it has calls. One row
 * that counts what is not shown would say no more than the row of the step. */
static void
share_rows(struct live_rows *rows, size_t left)
{
	bool given = true;

	while (given && left > 0) {
		given = false;
		for (size_t i = 0; i < rows->list_count && left > 0; i++) {
			if (rows->lists[i].given == rows->lists[i].count)
				continue;
			rows->lists[i].given++;
			left--;
			given = true;
		}
	}
	for (size_t i = 0; i < rows->list_count; i++)
		if (rows->lists[i].counted && rows->lists[i].given == 1 && rows->lists[i].count > 1)
			rows->lists[i].given = 0;
}

/* Adds the rows of a list to the rows that are drawn. */
static void
add_listed(struct live_rows *rows, const struct live_list *list)
{
	const size_t shown = list->given < list->count && list->given > 0 ? list->given - 1 : list->given;

	choose_calls(list->calls, list->count, shown);
	if (shown > 0 && rows->count > 0 && rows->list[rows->count - 1].kind == ROW_STEP)
		rows->list[rows->count - 1].listed = true;
	for (size_t i = 0; i < shown; i++)
		add_row(rows, (struct live_row){ .kind = ROW_CALL, .depth = list->depth, .call = list->calls[i],
		    .item = true, .folded = true });
	if (shown < list->given)
		add_row(rows, (struct live_row){ .kind = ROW_MORE, .depth = list->depth, .count = list->count - shown });
}

/* Puts the rows of the lists where they belong. */
static void
insert_lists(struct live_rows *rows)
{
	struct live_row *frame = rows->list;
	const size_t count = rows->count;
	size_t at = 0;

	rows->list = NULL;
	rows->count = 0;
	for (size_t i = 0; i <= count; i++) {
		for (; at < rows->list_count && rows->lists[at].behind == i; at++)
			add_listed(rows, &rows->lists[at]);
		if (i < count)
			add_row(rows, frame[i]);
	}
	free(frame);
}

/* Cuts off the rows at the end for which there is no room. */
static void
cut_rows(struct live_rows *rows)
{
	size_t hidden = 0;

	if (rows->count <= rows->most)
		return;
	for (size_t i = rows->most - 1; i < rows->count; i++)
		hidden += rows->list[i].kind == ROW_MORE ? rows->list[i].count : 1;
	rows->count = rows->most;
	rows->list[rows->most - 1] = (struct live_row){ .kind = ROW_MORE, .count = hidden };
}

void
live_rows_make(struct live_rows *rows, const struct live_view *view)
{
	size_t writing = 0, agents = 0;

	*rows = (struct live_rows){ .view = view, .most = view->height > 1 ? view->height - 1 : 1 };
	for (size_t i = 0; i < view->run_count; i++)
		for (size_t k = 0; k < view->runs[i]->open_count; k++) {
			agents += view->runs[i]->open[k]->agent;
			writing += view->runs[i]->open[k]->asking.text.len > 0;
		}
	rows->sole = agents == 1 && writing == 1;
	add_runs(rows, ROOM_FOR_ALL, true);
	if (rows->count <= rows->most) {
		add_runs(rows, ROOM_FOR_ALL, false);
		for (size_t i = 0; i < rows->count; i++)
			rows->list[i].listed = true;
		return;
	}
	add_runs(rows, ROOM_FOR_STEPS, false);
	if (rows->count > rows->most)
		add_runs(rows, ROOM_FOR_SOME, false);
	share_rows(rows, rows->most > rows->count ? rows->most - rows->count : 0);
	insert_lists(rows);
	cut_rows(rows);
	INVARIANT(rows->count <= rows->most);
}

void
live_rows_free(struct live_rows *rows)
{
	for (size_t i = 0; i < rows->list_count; i++)
		free(rows->lists[i].calls);
	free(rows->lists);
	free(rows->list);
}
