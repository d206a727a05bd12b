/*
 * The items of a stream, in order. Those of a further attempt may come at other positions
 * than before: a call that is like no recorded one waits, while there are records that have
 * changed something and have not found their own call, for it may be one of those with
 * another input. Until the records have all been found, or the input has ended, what comes
 * behind it is read and kept, and a record is kept for each that is like one.
 */
#include "step/stream_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/polling.h"

static void
add(struct stream *s, struct item *item)
{
	struct ahead *a = &s->ahead;
	struct ahead_item *added;

	if (a->first + a->count == a->capacity && a->first > 0) {
		memmove(a->items, a->items + a->first, a->count * sizeof *a->items);
		a->first = 0;
	}
	if (a->count == a->capacity) {
		a->capacity = a->capacity == 0 ? 16 : a->capacity * 2;
		a->items = memory_array(a->items, a->capacity, sizeof *a->items);
	}
	added = &a->items[a->first + a->count++];
	*added = (struct ahead_item){ .item = *item, .index = s->index++ };
	memset(item, 0, sizeof *item);
	added->expected = step_expects(s->step, &added->item, added->index);
}

static int
take_first(struct stream *s, struct item *item, int64_t *index)
{
	struct ahead_item *first = &s->ahead.items[s->ahead.first];

	item_free(item);
	*item = first->item;
	*index = first->index;
	s->step->compared = first->compared;
	s->ahead.first++;
	s->ahead.count--;
	return 1;
}

/* With the whole input known: what each that is like no record is compared with. */
static void
share_out(struct stream *s)
{
	struct ahead *a = &s->ahead;
	const struct recall *recall = s->step->recall;
	const struct recall_query query = step_query(s->step, 0);
	int64_t *items = memory_array(NULL, a->count + 1, sizeof *items);
	int64_t *compared = memory_array(NULL, a->count + 1, sizeof *compared);
	struct error why = ERROR_INIT;
	bool cut_off = a->end == -1 || producers_dead(&s->producers, &why);
	size_t count = 0;

	for (size_t i = a->first; i < a->first + a->count; i++)
		if (!a->items[i].expected)
			items[count++] = a->items[i].index;
	recall->share_out(recall->history, &query, items, count, compared);
	count = 0;
	for (size_t i = a->first; i < a->first + a->count; i++)
		if (!a->items[i].expected) {
			a->items[i].compared = cut_off && compared[count] > 0 ? STEP_CUT_OFF :
			    compared[count];
			count++;
		}
	a->shared_out = true;
	free(items);
	free(compared);
}

/* Whether it is known what the first item's call is compared with. */
static bool
settle_first(struct stream *s)
{
	struct ahead *a = &s->ahead;
	struct ahead_item *first = &a->items[a->first];
	struct recall_query query = step_query(s->step, first->index);

	if (first->expected || a->shared_out)
		return true;
	if (!s->step->recall->left_over(s->step->recall->history, &query)) {
		first->compared = RECALL_COMPARED_WITH_NONE;
		return true;
	}
	if (a->ended)
		share_out(s);
	return a->ended;
}

static int
take_ahead(struct stream *s, struct item *item, int64_t *index, struct error *wrong)
{
	struct ahead *a = &s->ahead;
	struct item next;
	int got;

	memset(&next, 0, sizeof next);
	for (;;) {
		if (a->count > 0 && settle_first(s))
			return take_first(s, item, index);
		if (a->ended) {
			*wrong = a->wrong;
			return a->end;
		}
		got = state_reader_take(s->reader, &next, &a->wrong);
		if (got == 1) {
			producers_note(&s->producers, &next);
			add(s, &next);
		} else if (got == -1 || s->reader->done) {
			a->ended = true;
			a->end = got;
		} else {
			return 0;
		}
	}
}

int
stream_take(struct stream *s, struct item *item, int64_t *index, struct error *wrong)
{
	int got;

	if (s->step->recall != NULL && s->step->recall->mode == RECALL_RESUME)
		return take_ahead(s, item, index, wrong);
	got = state_reader_take(s->reader, item, wrong);
	if (got == 1) {
		producers_note(&s->producers, item);
		*index = s->index++;
	}
	return got;
}

bool
stream_taken_all(const struct stream *s)
{
	return s->reader->done && s->ahead.count == 0;
}

/* Says that an item waits, if the rest of the input takes its time. */
static void
tell_waiting(struct stream *s)
{
	int64_t deadline = clock_monotonic() + AHEAD_TOLD_MS;
	struct buffer text = BUFFER_INIT;

	if (s->ahead.count == 0 || s->ahead.told ||
	    poll_one(s->reader->fd, POLLIN, deadline) != 0 || clock_monotonic() < deadline)
		return;
	step_label(s->step, &s->ahead.items[s->ahead.first].item,
	    s->ahead.items[s->ahead.first].index, &text);
	buffer_text(&text, ": waits for the rest of its input, as it may be a recorded call "
	    "that has changed something");
	s->report(buffer_string(&text));
	s->ahead.told = true;
	buffer_free(&text);
}

int
stream_next(struct stream *s, struct item *item, int64_t *index, struct error *wrong)
{
	int got;

	while ((got = stream_take(s, item, index, wrong)) == 0 && !stream_taken_all(s)) {
		tell_waiting(s);
		if (state_reader_fill(s->reader, wrong) == -1)
			return -1;
	}
	return got;
}

void
stream_forget_ahead(struct stream *s)
{
	struct ahead *a = &s->ahead;

	for (size_t i = a->first; i < a->first + a->count; i++)
		item_free(&a->items[i].item);
	free(a->items);
	memset(a, 0, sizeof *a);
}
