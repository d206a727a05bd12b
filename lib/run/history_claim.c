/*
 * Of the records with the key and guard of a call that starts, the nearest free one is
 * claimed. The first record of a guard counts how many at its front are claimed for good, and
 * a search begins behind these. A call that is like none is new, or changed.
 */
#include "run/history_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run/waiting.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

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

static struct index_record *
take_same(struct history *h, const unsigned char *key, const unsigned char *guard, int64_t item)
{
	struct index_record *found;

	do
		found = find_same(h, key, guard, item);
	while (found != NULL && !history_mark(h, found));
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

static int
read_events(struct history *h, const struct index_record *record, struct recalled *r,
    struct error *err)
{
	if (record->events + record->event_count > h->head->places)
		return error_set(err, ERROR_SYSTEM, h->path, "is damaged");
	r->events = memory_zero((size_t)record->event_count + 1, sizeof *r->events);
	for (; r->event_count < record->event_count; r->event_count++)
		if (history_line(h, &h->places[record->events + r->event_count],
		    &r->events[r->event_count], err) != 0) {
			r->event_count++;
			return -1;
		}
	return 0;
}

/* Fills *r from a record that is taken; it is free again if that fails. */
static int
fill(struct history *h, struct index_record *record, struct recalled *r, struct error *err)
{
	const struct index_source *source = &h->sources[record->started.source];

	r->mode = (enum recall_mode)h->head->mode;
	r->end = (enum recall_end)record->end;
	r->stands = record->stands;
	r->encloses = record->encloses;
	if (record->doubtful || record->stands)
		r->decided = (enum recall_decision)record->decided;
	if (source->foreign)
		memcpy(r->run_id, source->run_id, ID_SIZE);
	memcpy(r->root, record->root, ID_SIZE);
	if (*history_text(h, record->changed_inside) != '\0')
		r->changed_inside = history_text(h, record->changed_inside);
	r->record = (size_t)(record - h->records);
	if (history_line(h, &record->started, &r->started, err) == 0 &&
	    history_line(h, &record->completed, &r->completed, err) == 0 &&
	    history_line(h, &record->original, &r->original, err) == 0 &&
	    read_events(h, record, r, err) == 0) {
		recalled_index(r);
		return 1;
	}
	recalled_free(r);
	atomic_store(&record->mark, MARK_FREE);
	return -1;
}

/* awf-run asked about every such call before; this is where none gets through. */
static int
refuse_doubtful(const struct history *h, const struct index_record *record, struct error *err)
{
	const char *call = history_text(h, record->call);

	return error_set(err, ERROR_WAITING, call,
	    "may or may not have happened: resume with --redo %s%s or --skip %s%s",
	    history_prefix(h), call, history_prefix(h), call);
}

static int
decided_anyhow(struct history *h, struct index_record *record, struct recalled *r,
    struct error *err)
{
	int status = fill(h, record, r, err);

	if (status != 1)
		return status;
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

static int
refuse_unknown(const struct recall_query *query, struct recalled *r, struct error *err)
{
	char *place = memory_format("%s%s%s", query->enclosing,
	    query->enclosing[0] != '\0' ? "/" : "", query->name);

	error_set(err, ERROR_DIVERGENCE, place, "the recording has no%s call of it for item %lld",
	    query->enclosing[0] != '\0' ? "" : " further", (long long)query->item);
	r->unknown = true;
	free(place);
	return -1;
}

/* What the call is compared with, as whoever looked ahead has found. */
static struct index_record *
compared(struct history *h, const unsigned char *key, const struct recall_query *query)
{
	if (query->compared == RECALL_COMPARED_WITH_NONE)
		return NULL;
	if (query->compared > 0 && (uint64_t)query->compared <= h->head->records &&
	    history_free(&h->records[query->compared - 1]))
		return &h->records[query->compared - 1];
	return find_changed(h, key, query);
}

/* Counts a call that is like no record of its key, for whoever wonders at the end what was not
 * used again. */
static void
note_anew(struct history *h, const unsigned char *key, const struct recall_query *query)
{
	size_t first = history_bound(h, key, NULL);

	if (h->records == NULL || !history_same_key(h, first, key))
		return;
	atomic_fetch_add(&h->records[first].anew, 1);
	if (h->records[first].definition != index_definition(query->definition_sha256))
		atomic_fetch_add(&h->records[first].redefined, 1);
}

/* No record has the same guard. */
static int
claim_changed(struct history *h, const unsigned char *key, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	struct index_record *record = compared(h, key, query);

	if (record == NULL && h->head->mode == RECALL_REPLAY)
		return refuse_unknown(query, r, err);
	if (record == NULL) {
		note_anew(h, key, query);
		return 0;
	}
	if (h->head->mode == RECALL_REPLAY || record->decided == RECALL_UNDECIDED)
		return refuse_changed(h, record, query, err);
	if (!history_mark(h, record))
		return claim_changed(h, key, query, r, err);
	return decided_anyhow(h, record, r, err);
}

/* Whether the call is an agent's (or a tool's) that another run has begun and not ended
 * well: its conversation is in that one's record, and would be in none if it went on. */
static bool
begun_elsewhere(const struct recalled *r)
{
	return r->mode == RECALL_RESUME && r->run_id[0] != '\0' && r->event_count > 0 &&
	    (r->end == RECALL_OPEN || (r->end == RECALL_FAILED && !r->stands));
}

static int
begin_anew(const struct history *h, struct index_record *record, struct recalled *r,
    struct error *err)
{
	const char *call = history_text(h, record->call);

	if (record->began && record->decided == RECALL_UNDECIDED) {
		error_set(err, ERROR_WAITING, call, "has changed something in the run that this "
		    "was forked from, and did not end: fork with --redo %s%s or --skip %s%s",
		    history_prefix(h), call, history_prefix(h), call);
		recalled_free(r);
		atomic_store(&record->mark, MARK_FREE);
		return -1;
	}
	r->changed = true;
	r->decided = (enum recall_decision)record->decided;
	r->end = RECALL_OPEN;
	return 1;
}

/* ---- a decision, while the attempt runs ---- */

static int
take_line(struct history *h, struct recalled *r, const struct reader *reader, size_t len,
    struct error *err)
{
	const struct place place = { reader->line_start, (uint32_t)len,
		h->records[r->record].completed.source };
	bool failed;

	recalled_event_free(&r->completed);
	if (history_line(h, &place, &r->completed, err) != 0)
		return -1;
	if (waiting_of(&r->completed.view) != WAITING_NOTHING)
		return 0;
	failed = span_type(span_member(r->completed.view.payload, KEY_ERROR)) == 'o';
	r->end = failed ? RECALL_FAILED : RECALL_SUCCEEDED;
	return 1;
}

static int
look_on(struct history *h, struct recalled *r, struct reader *reader, struct error *err)
{
	struct event_view event;
	const char *line;
	size_t len;
	int got = 0, decided = 0;

	while (decided == 0 && (got = reader_next(reader, &line, &len, err)) == 1)
		if (event_view(line, len, &event) == 0 && event_decides(&event) &&
		    span_is(event.parent_event_id, r->completed.id))
			decided = take_line(h, r, reader, len, err);
	return decided != 0 ? decided : got;
}

static int
decided_since(void *history, struct recalled *r, struct error *err)
{
	struct history *h = history;
	const struct index_source *source = &h->sources[h->records[r->record].completed.source];
	struct reader reader;
	int decided;

	if (reader_open(&reader, h->text + source->path, err) != 0)
		return -1;
	reader_seek(&reader, source->size);
	decided = look_on(h, r, &reader, err);
	reader_close(&reader);
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
	int status;

	memset(r, 0, sizeof *r);
	history_keys(h, query, key, guard);
	record = take_same(h, key, guard, query->item);
	if (record == NULL)
		return claim_changed(h, key, query, r, err);
	if (h->head->mode == RECALL_RESUME && record->doubtful &&
	    record->decided == RECALL_UNDECIDED) {
		atomic_store(&record->mark, MARK_FREE);
		return refuse_doubtful(h, record, err);
	}
	status = fill(h, record, r, err);
	return status == 1 && begun_elsewhere(r) ? begin_anew(h, record, r, err) : status;
}

static void
claimed(void *history, const struct recalled *r)
{
	struct history *h = history;

	atomic_store(&h->records[r->record].mark, MARK_CLAIMED);
}

struct recall
history_recall(struct history *h)
{
	return (struct recall){ .mode = (enum recall_mode)h->head->mode,
		.cut_off = h->head->cut_off != 0, .history = h,
		.claim = claim, .look = look, .peek = peek, .claimed = claimed,
		.left_over = history_left_over, .expect = history_expect,
		.share_out = history_share_out, .decided_since = decided_since };
}
