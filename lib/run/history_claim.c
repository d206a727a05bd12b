/*
 * Of the records with the key and guard of a call that starts, the nearest free one is
 * claimed. The first record of a guard counts how many at its front are claimed for good, and
 * a search begins behind these. A call that is like none is new, or changed.
 *
 * Calls that are to come are looked up ahead. The items of a stream may come at other
 * positions than before, so that a call which is like none of the records is either new, or
 * one of those that have changed something, with another input or definition now. Which
 * one is known as soon as every such record has found who is the same: what is left over
 * is what the others are compared with. Which records are expected is known to the process alone
 * whose stream it is.
 */
#include "run/history_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run/model.h"
#include "run/waiting.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

/* The free record of this key and guard that is nearest to the item, the lowest
 * occurrence first; one of a try that was followed by another comes after all of the last
 * try. Those at the front that are claimed for good are passed over from
 * then on: a name that is called thousands of times with the same input is not looked
 * through from its first each time. */
static struct index_record *
find_same(struct history *h, const unsigned char *key, const unsigned char *guard, int64_t item)
{
	size_t first = history_bound(h, key, guard);
	struct index_record *found = NULL;
	uint64_t settled;

	if (!history_same_guard(h, first, key, guard))
		return NULL;
	settled = atomic_load(&h->records[first].settled);
	for (size_t i = first + (size_t)settled; history_same_guard(h, i, key, guard); i++) {
		struct index_record *r = &h->records[i];

		if (found != NULL && r->superseded && !found->superseded)
			break;
		if (atomic_load(&r->mark) == MARK_CLAIMED) {
			settled += i == first + settled;
			continue;
		}
		if ((found == NULL || history_distance(r->item, item) <
		    history_distance(found->item, item)) && history_free(r))
			found = r;
		if (found != NULL && found->item == item)
			break;
	}
	atomic_store(&h->records[first].settled, settled);
	return found;
}

/* Whether a is what a call of the item with another guard is compared with, rather than
 * b. */
static bool
nearer(const struct index_record *a, const struct index_record *b, int64_t item)
{
	if (b == NULL)
		return true;
	if ((a->decided != RECALL_UNDECIDED) != (b->decided != RECALL_UNDECIDED))
		return a->decided != RECALL_UNDECIDED;
	if (a->superseded != b->superseded)
		return b->superseded;
	if (a->item != b->item)
		return history_distance(a->item, item) < history_distance(b->item, item);
	if (a->occurrence != b->occurrence)
		return a->occurrence < b->occurrence;
	return a->order < b->order;
}

/* The free record of this key that a call with another guard is compared with; of a
 * resume only those count that began to change something. */
static struct index_record *
find_changed(const struct history *h, const unsigned char *key, const struct recall_query *query)
{
	size_t first = history_bound(h, key, NULL);
	struct index_record *found = NULL;

	if (!history_same_key(h, first, key) ||
	    (h->head->mode == RECALL_RESUME && !h->records[first].key_began))
		return NULL;
	for (size_t i = first; history_same_key(h, i, key); i++) {
		struct index_record *r = &h->records[i];

		if ((r->began || h->head->mode == RECALL_REPLAY) && history_comparable(r, query) &&
		    nearer(r, found, query->item) && history_free(r))
			found = r;
	}
	return found;
}

/* Fills *r from a record that is taken; it is free again if that fails. */
static int
fill(struct history *h, struct index_record *record, struct recalled *r, struct error *err)
{
	const struct index_source *source = &h->sources[record->started.source];
	int failed;

	r->mode = (enum recall_mode)h->head->mode;
	r->end = (enum recall_end)record->end;
	r->stands = record->stands;
	r->encloses = record->encloses;
	r->outdated = record->outdated;
	if (record->doubtful || record->stands)
		r->decided = (enum recall_decision)record->decided;
	if (source->foreign)
		memcpy(r->run_id, source->run_id, ID_SIZE);
	memcpy(r->root, record->root, ID_SIZE);
	if (*history_text(h, record->changed_inside) != '\0')
		r->changed_inside = history_text(h, record->changed_inside);
	r->record = (size_t)(record - h->records);
	failed = history_line(h, &record->started, &r->started, err) != 0 ||
	    history_line(h, &record->completed, &r->completed, err) != 0 ||
	    history_line(h, &record->original, &r->original, err) != 0;
	if (!failed && record->events + record->event_count > h->head->places)
		failed = error_set(err, ERROR_SYSTEM, h->path, "is damaged") != 0;
	if (!failed)
		r->events = memory_zero((size_t)record->event_count + 1, sizeof *r->events);
	while (!failed && r->event_count < record->event_count) {
		size_t i = r->event_count++;

		failed = history_line(h, &h->places[record->events + i], &r->events[i], err) != 0;
	}
	if (!failed) {
		recalled_index(r);
		return 1;
	}
	recalled_free(r);
	atomic_store(&record->mark, MARK_FREE);
	return -1;
}

/* Nothing of it is used: the user has decided what becomes of it. */
static int
decide_anyhow(const struct index_record *record, struct recalled *r)
{
	r->changed = true;
	r->decided = (enum recall_decision)record->decided;
	r->end = RECALL_OPEN;
	return 1;
}

/* There is a record, but of another input or definition. */
static int
refuse_changed(struct history *h, const struct index_record *record,
    const struct recall_query *query, struct error *err)
{
	const char *call = history_text(h, record->call);
	struct buffer text = BUFFER_INIT;
	int failed = history_changed(h, record, query, &text, err);

	if (failed == 0 && h->head->mode == RECALL_REPLAY)
		error_set(err, ERROR_DIVERGENCE, call, "%s", buffer_string(&text));
	else if (failed == 0)
		error_set(err, ERROR_WAITING, call,
		    "%s, and it %s changed something before: resume with --redo %s%s or --skip %s%s",
		    buffer_string(&text), record->maybe ? "may have" : "has", history_prefix(h), call,
		    history_prefix(h), call);
	buffer_free(&text);
	return -1;
}

/* No record has the same guard: what the call is compared with is what whoever looked ahead has
 * found, or the nearest. */
static int
claim_changed(struct history *h, const unsigned char *key, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	bool replay = h->head->mode == RECALL_REPLAY;
	size_t first = history_bound(h, key, NULL);
	struct index_record *record;
	int status;

	do {
		if (query->compared == RECALL_COMPARED_WITH_NONE)
			record = NULL;
		else if (query->compared > 0 && (uint64_t)query->compared <= h->head->records &&
		    history_free(&h->records[query->compared - 1]))
			record = &h->records[query->compared - 1];
		else
			record = find_changed(h, key, query);
		if (record == NULL && replay) {
			bool inside = query->enclosing[0] != '\0';
			char *place = memory_format("%s%s%s", query->enclosing, inside ? "/" : "",
			    query->name);

			error_set(err, ERROR_DIVERGENCE, place,
			    "the recording has no%s call of it for item %lld",
			    inside ? "" : " further", (long long)query->item);
			r->unknown = true;
			free(place);
			return -1;
		}
		if (record == NULL) {
			/* Counted for whoever wonders at the end what was not used again. */
			if (h->records != NULL && history_same_key(h, first, key)) {
				atomic_fetch_add(&h->records[first].anew, 1);
				if (h->records[first].definition != index_definition(query->definition_sha256))
					atomic_fetch_add(&h->records[first].redefined, 1);
			}
			return 0;
		}
		if (replay || record->decided == RECALL_UNDECIDED)
			return refuse_changed(h, record, query, err);
	} while (!history_mark(h, record));
	status = fill(h, record, r, err);
	return status == 1 ? decide_anyhow(record, r) : status;
}

/* ---- a decision, while the attempt runs ---- */

struct decision_search {
	struct history *history;
	struct recalled *recalled;
};

static int
take_decision(void *context, const struct placed *placed, struct error *err)
{
	const struct decision_search *s = context;
	struct recalled *r = s->recalled;
	const struct place place = { placed->place.offset, placed->place.length,
		s->history->records[r->record].completed.source };

	if (!event_decides(placed->event) || !span_is(placed->event->parent_event_id, r->completed.id))
		return 0;
	recalled_event_free(&r->completed);
	if (history_line(s->history, &place, &r->completed, err) != 0)
		return -1;
	if (waiting_of(&r->completed.view) != WAITING_NOTHING)
		return 0;
	r->end = span_type(span_member(r->completed.view.payload, KEY_ERROR)) == 'o' ?
	    RECALL_FAILED : RECALL_SUCCEEDED;
	return 1;
}

static int
decided_since(void *history, struct recalled *r, struct error *err)
{
	struct history *h = history;
	const struct index_source *source = &h->sources[h->records[r->record].completed.source];
	struct decision_search search = { h, r };
	struct model m;
	int decided;

	model_begin(&m, MODEL_LIVE);
	m.position = source->size;
	m.watch = take_decision;
	m.context = &search;
	decided = model_read_file(&m, h->text + source->path, err);
	model_free(&m);
	return decided;
}

/* ---- what a step asks ---- */

static bool
look(void *history, const struct recall_query *query, enum recall_end *end)
{
	const struct history *h = history;
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES];

	history_keys(h, query, key, guard);
	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++) {
		if (!history_free(&h->records[i]))
			continue;
		*end = (enum recall_end)h->records[i].end;
		return true;
	}
	return false;
}

static bool
peek(void *history, const struct recall_query *query, struct recalled_event *started)
{
	struct history *h = history;
	const struct index_record *found = NULL;
	unsigned char key[DIGEST_BYTES];

	history_keys(h, query, key, NULL);
	for (size_t i = history_bound(h, key, NULL); history_same_key(h, i, key); i++)
		if (h->records[i].item == query->item && nearer(&h->records[i], found, query->item) &&
		    history_free(&h->records[i]))
			found = &h->records[i];
	return found != NULL && history_line(h, &found->started, started, NULL) == 0;
}

static int
claim(void *history, const struct recall_query *query, struct recalled *r, struct error *err)
{
	struct history *h = history;
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES];
	struct index_record *record;
	const char *call;
	int status;

	memset(r, 0, sizeof *r);
	history_keys(h, query, key, guard);
	do
		record = find_same(h, key, guard, query->item);
	while (record != NULL && !history_mark(h, record));
	if (record == NULL)
		return claim_changed(h, key, query, r, err);
	if (h->head->mode == RECALL_RESUME && record->doubtful &&
	    record->decided == RECALL_UNDECIDED) {
		/* awf-run asked about every such call before; this is where none gets through. */
		call = history_text(h, record->call);
		atomic_store(&record->mark, MARK_FREE);
		return error_set(err, ERROR_WAITING, call,
		    "may or may not have happened: resume with --redo %s%s or --skip %s%s",
		    history_prefix(h), call, history_prefix(h), call);
	}
	status = fill(h, record, r, err);
	if (status == 1 && record->repeated) {
		r->repeated = true;
		return decide_anyhow(record, r);
	}
	/* An agent's call (or a tool's) that another run has begun and not ended well is begun anew:
	 * its conversation is in that one's record, and would be in none if it went on. */
	if (status != 1 || r->mode != RECALL_RESUME || r->run_id[0] == '\0' || r->event_count == 0 ||
	    (r->end != RECALL_OPEN && (r->end != RECALL_FAILED || r->stands)))
		return status;
	if (!record->began || record->decided != RECALL_UNDECIDED)
		return decide_anyhow(record, r);
	call = history_text(h, record->call);
	error_set(err, ERROR_WAITING, call, "has changed something in the run that this "
	    "was forked from, and did not end: fork with --redo %s%s or --skip %s%s",
	    history_prefix(h), call, history_prefix(h), call);
	recalled_free(r);
	atomic_store(&record->mark, MARK_FREE);
	return -1;
}

static void
claimed(void *history, const struct recalled *r)
{
	struct history *h = history;

	atomic_store(&h->records[r->record].mark, MARK_CLAIMED);
}

/* ---- calls that are to come ---- */

static bool
is_expected(const struct history *h, size_t i)
{
	return h->expected != NULL && h->expected[i];
}

static bool
is_left_over(const struct history *h, size_t i, const struct recall_query *query)
{
	const struct index_record *r = &h->records[i];

	return r->began && !is_expected(h, i) && history_comparable(r, query) && history_free(r);
}

static bool
left_over(void *history, const struct recall_query *query)
{
	struct history *h = history;
	unsigned char key[DIGEST_BYTES];
	size_t first;

	history_keys(h, query, key, NULL);
	first = history_bound(h, key, NULL);
	if (!history_same_key(h, first, key) || !h->records[first].key_began)
		return false;
	if (h->ahead_key != first)
		h->ahead_key = h->ahead_from = first;
	/* What is claimed stays so: it is looked at but once. */
	while (history_same_key(h, h->ahead_from, key) && (!h->records[h->ahead_from].began ||
	    is_expected(h, h->ahead_from) ||
	    atomic_load(&h->records[h->ahead_from].mark) == MARK_CLAIMED))
		h->ahead_from++;
	for (size_t i = h->ahead_from; history_same_key(h, i, key); i++)
		if (is_left_over(h, i, query))
			return true;
	return false;
}

static bool
expect(void *history, const struct recall_query *query)
{
	struct history *h = history;
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES];
	size_t found = SIZE_MAX;

	history_keys(h, query, key, guard);
	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++) {
		if (is_expected(h, i) || !history_free(&h->records[i]))
			continue;
		if (found == SIZE_MAX || history_distance(h->records[i].item, query->item) <
		    history_distance(h->records[found].item, query->item))
			found = i;
		if (h->records[found].item == query->item)
			break;
	}
	if (found == SIZE_MAX)
		return false;
	if (h->expected == NULL)
		h->expected = memory_zero((size_t)h->head->records, sizeof *h->expected);
	h->expected[found] = true;
	return true;
}

/* A call that is left without a record is new, unless one of them waits for a decision:
 * which of the calls that is about, the user is to say. */
static void
share_out(void *history, const struct recall_query *query, const int64_t *items,
    size_t count, int64_t *compared)
{
	const struct history *h = history;
	unsigned char key[DIGEST_BYTES];
	int64_t undecided = RECALL_COMPARED_WITH_NONE;

	for (size_t i = 0; i < count; i++)
		compared[i] = RECALL_COMPARED_WITH_NONE;
	history_keys(h, query, key, NULL);
	for (size_t i = history_bound(h, key, NULL); history_same_key(h, i, key); i++) {
		struct recall_query at = *query;
		size_t nearest = count;

		/* The item without a record that is nearest to this one's. */
		for (size_t n = 0; n < count; n++)
			if (compared[n] == RECALL_COMPARED_WITH_NONE && (nearest == count ||
			    history_distance(items[n], h->records[i].item) <
			    history_distance(items[nearest], h->records[i].item)))
				nearest = n;
		at.item = items[nearest < count ? nearest : 0];
		if (!is_left_over(h, i, &at))
			continue;
		if (nearest < count)
			compared[nearest] = (int64_t)i + 1;
		if (h->records[i].decided == RECALL_UNDECIDED)
			undecided = (int64_t)i + 1;
	}
	for (size_t i = 0; i < count; i++)
		if (compared[i] == RECALL_COMPARED_WITH_NONE)
			compared[i] = undecided;
}

struct recall
history_recall(struct history *h)
{
	return (struct recall){ .mode = (enum recall_mode)h->head->mode,
		.cut_off = h->head->cut_off != 0, .history = h,
		.claim = claim, .look = look, .peek = peek, .claimed = claimed,
		.left_over = left_over, .expect = expect,
		.share_out = share_out, .decided_since = decided_since };
}
