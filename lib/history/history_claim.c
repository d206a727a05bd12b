/*
 * A call that starts claims the nearest free record with its key and guard (history_find.c). If a
 * call matches no record, it is new or was edited: then the user is asked (history_ask.c), unless
 * the record is harmless or the user has decided.
 */
#include "history/history_claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/waiting.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

#define OWN_WAIT_MS 300 /* for each difference, up to OWN_DIFFERENCES_MOST */
#define OWN_DIFFERENCES_MOST 4
#define OWN_NAP_MS 10
#define DECIDED_WAITS 4       /* factor for the wait for a record that the user has decided about */
#define OWN_WAITS_MOST 8 /* limit of calls with a key that wait, in one attempt */

/* Notes the names of variables in which a new call differs from the records, one per line, if it is
 * the first call with its key that differs. One line may have several names. */
static void
note_name(struct index_key *key, const char *names)
{
	uint32_t unsaid = 0;

	if (!atomic_compare_exchange_strong(&key->other_said, &unsaid, 1))
		return;
	INVARIANT(*names != '\0');
	snprintf(key->other, sizeof key->other, "%.*s", (int)strcspn(names, "\n"), names);
	atomic_store(&key->other_said, 2);
}

/* Notes that a call is made anew in place of a record with other variables. */
static void
note_differing(struct history *h, const struct index_record *record,
    const struct recall_query *query)
{
	struct index_key *key = history_key(h, record);
	struct buffer names = BUFFER_INIT;

	if (record->end == RECALL_SUCCEEDED) {
		atomic_fetch_add(&key->differing, 1);
		history_difference(h, record, query, &names);
		note_name(key, buffer_string(&names));
	}
	buffer_free(&names);
}

/* No record matches, but some have the same input and definition: notes in what the call differs from the
 * nearest one. */
static void
note_other(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	const struct index_record *nearest = NULL;
	struct buffer what = BUFFER_INIT, text = BUFFER_INIT;
	int least = 0;

	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++) {
		int count;

		buffer_clear(&text);
		if (!history_unused_by_any(&h->records[i]))
			continue;
		count = history_difference(h, &h->records[i], query, &text);
		if (count <= 0 || (nearest != NULL && (count > least ||
		    (count == least && h->records[i].order < nearest->order))))
			continue;
		nearest = &h->records[i];
		least = count;
		buffer_clear(&what);
		buffer_append(&what, text.data, text.len);
	}
	if (nearest != NULL)
		note_name(history_key(h, nearest), buffer_string(&what));
	buffer_free(&what);
	buffer_free(&text);
}

/* Fills *r from a claimed record; frees the claim if that fails. */
static int
history_fill_recalled(struct history *h, struct index_record *record, struct recalled *r,
    struct error *err)
{
	const struct index_source *source = &h->sources[record->started.source];
	int failed;

	INVARIANT(record >= h->records && record < h->records + h->head->records);
	r->mode = (enum recall_mode)h->head->mode;
	r->end = (enum recall_end)record->end;
	r->stands = record->stands;
	r->encloses = record->encloses;
	r->child_inside = record->child_inside;
	r->outdated = record->outdated;
	r->edited = record->edited;
	/* A call that its condition has left out counts as skipped already. */
	if (record->doubtful || record->stands || record->child ||
	    (record->end == RECALL_SKIPPED && record->decided == RECALL_REDO))
		r->decided = (enum recall_decision)record->decided;
	if (source->foreign)
		memcpy(r->run_id, source->run_id, ID_SIZE);
	memcpy(r->root, record->root, ID_SIZE);
	if (*history_text(h, record->changed_inside) != '\0')
		r->changed_inside = history_text(h, record->changed_inside);
	r->tool_answers = history_text(h, record->tool_answers);
	r->used_before = history_text(h, h->head->used_before);
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
		INVARIANT(r->event_count == record->event_count && r->started.id[0] != '\0');
		recalled_index(r);
		return 1;
	}
	if (!r->shared)
		atomic_store(r->lent ? &record->lent : &record->mark, MARK_FREE);
	recalled_free(r);
	return -1;
}

/* Uses nothing of the record: the user has decided what happens to the call. */
static int
decide_anyhow(const struct index_record *record, struct recalled *r)
{
	r->changed = true;
	r->decided = (enum recall_decision)record->decided;
	r->end = RECALL_OPEN;
	return 1;
}

/* Applies the user's decision to a call with other words or another name. If it is skipped but its
 * work is still in progress elsewhere, the call waits for that result. */
static int
use_decided(const struct index_record *record, struct recalled *r)
{
	if (record->decided == RECALL_SKIP && r->end == RECALL_WAITING &&
	    waiting_of(&r->completed.view) == WAITING_COMPLETION)
		return 1;
	return decide_anyhow(record, r);
}

/* Counts a new call, for awf-run's report of what was not reused. */
static void
note_anew(struct history *h, const unsigned char *key, const struct recall_query *query)
{
	size_t first = history_bound(h, key, NULL);
	const struct index_record *record;

	if (h->records == NULL || !history_same_key(h, first, key))
		return;
	record = &h->records[first];
	atomic_fetch_add(&history_key(h, record)->anew, 1);
	if (record->definition != index_digest(query->definition_sha256))
		atomic_fetch_add(&history_key(h, record)->redefined, 1);
}

/* Calls that a workflow makes in parallel arrive in any order: a record with another input or
 * definition may belong to a call that is about to come. So this call waits a little if no file was
 * edited, or if this call was not edited, or if the user was asked about the record or has decided.
 * The less the call resembles the record, the longer it waits, for the record's own call may differ
 * too. differences: the number of directories and variables in which they differ. moved: the record has
 * another name or place. Returns whether another call has used the record. */
static bool
leave_to_own(struct history *h, const unsigned char *guard, struct index_record *record,
    const struct recall_query *query, int differences, bool moved)
{
	const struct timespec nap = { 0, OWN_NAP_MS * 1000000L };
	bool used;
	int most;

	if (differences > OWN_DIFFERENCES_MOST)
		differences = OWN_DIFFERENCES_MOST;
	most = (differences > 0 ? differences : 0) * OWN_WAIT_MS;
	if (!h->head->edited && most == 0)
		most = 2 * OWN_WAIT_MS;
	/* If the user has decided, no question follows that would catch a wrong call. */
	if (record->decided != RECALL_UNDECIDED)
		most *= DECIDED_WAITS;
	/* Another input or definition is a stronger sign than a variable; text that was added or
	 * removed is a weaker one. */
	if (memcmp(record->guard, guard, DIGEST_BYTES) != 0)
		most += record->definition == index_digest(query->definition_sha256) ? 2 * OWN_WAIT_MS :
		    2 * OWN_WAIT_MS - (int)(history_alike(h, record, query) * 3 * OWN_WAIT_MS / (2 * ALIKE_WHOLE));
	if ((h->head->edited && !query->member && !record->doubtful && record->decided == RECALL_UNDECIDED &&
	    record->definition != index_digest(query->definition_sha256)) ||
	    atomic_fetch_add(&history_key(h, record)->left_to_own, 1) >= OWN_WAITS_MOST)
		return false;
	for (int waited = 0;; waited += OWN_NAP_MS) {
		used = moved ? history_is_used(h, record, query) : !history_unused_by_any(record);
		if (used || waited >= most || nanosleep(&nap, NULL) != 0)
			return used;
	}
}

/* The record with which a call is compared that has no record of its guard: the one with the same
 * input that the look-ahead has assigned, or the nearest one, once no other call is going to claim
 * it; NULL: none. */
static struct index_record *
find_compared(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	const bool resume = h->head->mode == RECALL_RESUME, branch = resume && query->member && h->head->edited;
	struct index_record *found;

	if (query->compared == RECALL_COMPARED_WITH_NONE)
		return NULL;
	do {
		/* All branches have the same input; their words tell them apart. */
		found = resume && !branch ? history_find_changed(h, key, guard, query, true) : NULL;
		if (found == NULL && query->compared > 0 && (uint64_t)query->compared <= h->head->records &&
		    history_unused_by_any(&h->records[query->compared - 1]))
			found = &h->records[query->compared - 1];
		else if (branch)
			found = history_find_changed_branch(h, key, guard, query);
		else if (found == NULL)
			found = history_find_changed(h, key, guard, query, false);
	} while (found != NULL && resume && history_unused_by_any(found) &&
	    leave_to_own(h, guard, found, query, history_difference(h, found, query, NULL), false));
	return found;
}

/* Makes the call anew in the record's place; calls inside it find their records. */
static int
make_in_place(struct history *h, const struct index_record *record, const unsigned char *guard,
    const struct recall_query *query, struct recalled *r)
{
	if (memcmp(record->guard, guard, DIGEST_BYTES) == 0)
		note_differing(h, record, query);
	r->changed = !record->runs_calls;
	r->decided = record->runs_calls ? RECALL_UNDECIDED : RECALL_REDO;
	r->end = RECALL_OPEN;
	/* The cause of a failure may have been repaired. */
	r->stands = false;
	return 1;
}

/* The record that the call has asked about; by now another call may have it. Of a child run that is to be
 * replaced by another, it is that child run's record. NULL: none. */
static struct index_record *
find_asked(struct history *h, const unsigned char *guard, const struct recall_query *query)
{
	const struct index_question *q = history_find_question(h, guard, query);
	const struct index_record *record = q != NULL && !q->took_over ? history_find_root(h, q->root) : NULL;

	return record == NULL || (record->child && record->decided == RECALL_REDO) ? NULL : &h->records[record - h->records];
}

/* Another call has taken over the record that this one has asked about. If the user was told so, and wants the calls of
 * the step taken as done, this one is, and claims nothing; else the user is asked. */
static int
claim_beside(struct history *h, struct index_record *record, const unsigned char *guard, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	const struct index_question *q = history_find_question(h, guard, query);
	int status;

	if (!record->step_skipped || record->decided != RECALL_SKIP || q == NULL || strcmp(q->root, record->root) != 0 ||
	    record->attempt < q->attempt)
		return history_refuse_asked_again(h, record, query, r, err);
	r->shared = r->beside = true;
	status = history_fill_recalled(h, record, r, err);
	if (status == 1) {
		decide_anyhow(record, r);
		r->decided = RECALL_SKIP;
	}
	return status;
}

/* Handles a call with another input or definition. If the record's command made other calls and
 * changed nothing itself, as with a group, those calls are compared one by one. */
static int
claim_changed(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct recalled *r, struct error *err)
{
	bool replay = h->head->mode == RECALL_REPLAY, made_again;
	struct index_record *record;
	int status;

	do {
		record = find_compared(h, key, guard, query);
		if (record == NULL && replay)
			return history_refuse_unknown(query, r, err);
		if (record == NULL && h->head->mode == RECALL_RESUME) {
			record = find_asked(h, guard, query);
			if (record != NULL && !history_unused_by_any(record))
				return claim_beside(h, record, guard, query, r, err);
		}
		if (record == NULL) {
			note_anew(h, key, query);
			return 0;
		}
		made_again = !replay && record->runs_calls && record->decided == RECALL_UNDECIDED;
		if (!made_again && (replay || !history_is_decided(h, record, guard, query)))
			return history_refuse_changed(h, record, query, r, err);
		/* Another call is made in the record's place; calls inside both find their
		 * records. */
		r->shared = made_again && !history_unused_by_any(record);
	} while (!r->shared && !history_lend(h, record));
	r->lent = true;
	if (memcmp(record->guard, guard, DIGEST_BYTES) != 0)
		atomic_store(&record->edited_now, 1);
	status = history_fill_recalled(h, record, r, err);
	if (status != 1)
		return status;
	return made_again ? make_in_place(h, record, guard, query, r) : use_decided(record, r);
}

/* Whether the call was made since then under another name or in another place. */
static bool
done_elsewhere(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	struct elsewhere found;

	if (query->member || history_has_no_marks(query) || !history_edited_around(h))
		return false;
	return history_find_moved(h, key, guard, query) != NULL ||
	    (history_find_elsewhere(h, guard, query, &found, NULL) == 0 && found.record != NULL);
}

/* No record matches the call exactly, but one may belong to it that had other variables, another
 * name or another place. The user decides. */
static int
claim_other(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct recalled *r, struct error *err)
{
	struct index_record *record, *elsewhere;
	bool moved, asked;
	int status;

	if (h->head->mode != RECALL_RESUME || history_has_no_marks(query))
		return 0;
	for (;;) {
		record = history_find_differing(h, key, guard, query);
		if (record != NULL && history_is_harmless(h, record) && done_elsewhere(h, key, guard, query))
			record = NULL;
		elsewhere = history_find_moved(h, key, guard, query);
		/* A record that differs only in its place comes before one with other variables. */
		moved = record == NULL || (elsewhere != NULL && history_likeness(h, elsewhere, query) == LIKE);
		if (moved)
			record = elsewhere;
		if (record == NULL)
			return 0;
		asked = moved || record->changed || record->child || history_is_paid(record);
		if (asked && leave_to_own(h, guard, record, query, history_difference(h, record, query, NULL), moved))
			continue;
		/* A record in the same place that differs only in a variable which does not distinguish calls
		 * is the call that the user meant. If more differs, and the record is in doubt, the call that
		 * the user meant may come later. */
		if (asked && !(moved || record->tools_doubtful ||
		    (record->doubtful && record->decided == RECALL_SKIP && history_difference(h, record, query, NULL) > 1) ?
		    history_is_decided(h, record, guard, query) :
		    record->decided != RECALL_UNDECIDED))
			return moved ? history_refuse_moved(h, &(struct elsewhere){ h, record, h, record, NULL, NULL, 0 }, query, r, err) :
			    history_refuse_changed(h, record, query, r, err);
		if (history_lend(h, record))
			break;
	}
	/* Then another child run is started. */
	if (record->child && record->decided == RECALL_REDO)
		return 0;
	r->lent = true;
	status = history_fill_recalled(h, record, r, err);
	if (status == 1 && !asked && record->decided == RECALL_UNDECIDED)
		return make_in_place(h, record, guard, query, r);
	return status != 1 || record->child ||
	    (record->decided == RECALL_SKIP && r->end == RECALL_SUCCEEDED) ? status :
	    use_decided(record, r);
}

/* No record of this run belongs to the call, but a record of a run inside it or around it may.
 * new_call: the user has said that the call is new, so only a record about which the user has
 * decided is considered. */
static int
claim_elsewhere(struct history *h, const unsigned char *guard, const struct recall_query *query,
    bool new_call, struct recalled *r, struct error *err)
{
	struct elsewhere found;
	int status;

	if (h->head->mode != RECALL_RESUME || history_has_no_marks(query) || query->member)
		return 0;
	for (;;) {
		if (history_find_elsewhere(h, guard, query, &found, err) != 0)
			return -1;
		if (found.record == NULL)
			return 0;
		if (leave_to_own(found.owners, guard, found.owner, query, found.differences, true))
			continue;
		if (!history_is_decided_in(h, found.history, found.record, guard, query) && new_call)
			return 0;
		if (!history_is_decided_in(h, found.history, found.record, guard, query))
			return history_refuse_moved(h, &found, query, r, err);
		if (history_lend(found.history, found.record))
			break;
	}
	r->lent = true;
	status = history_fill_recalled(found.history, found.record, r, err);
	if (status != 1)
		return status;
	memcpy(r->run_id, found.history->sources[found.record->started.source].run_id, ID_SIZE);
	r->elsewhere = found.history;
	if (found.record->decided == RECALL_SKIP && r->end == RECALL_SUCCEEDED)
		return status;
	return decide_anyhow(found.record, r);
}

/* Whether the record is of a child run without a transcript that ran a text which contains the name
 * and the command of the call. */
static bool
may_have_done(struct history *h, const struct index_record *r, const struct recall_query *query)
{
	struct recalled_event started = { .turn = -1 };
	bool unknown = history_line(h, &r->started, &started, NULL) == 0 &&
	    span_true(span_member(started.view.payload, KEY_NO_TRANSCRIPT));

	recalled_event_free(&started);
	return unknown && history_text_contains(h, r, query->name, query->definition, false);
}

static struct index_record *
find_unrecorded(struct history *h, const struct recall_query *query)
{
	size_t looked = 0;

	for (size_t i = 0; h->head->children > 0 && i < h->head->records && looked < DEFINITIONS_MOST; i++) {
		struct index_record *r = &h->records[i];

		if (!r->child || !history_free(r) || history_is_in_whole(h, r))
			continue;
		looked++;
		if (may_have_done(h, r, query))
			return r;
	}
	return NULL;
}

/* The call may have been moved out of a child run without a transcript: whether that has made it is
 * unknown, and the user decides. An answer about such a child run applies to one call. */
static int
claim_unrecorded(struct history *h, const unsigned char *guard, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	struct index_record *record;
	struct buffer answers = BUFFER_INIT;
	const char *call;
	int status;

	if (h->head->mode != RECALL_RESUME || !h->head->edited || !query->effects || query->definition == NULL)
		return 0;
	do {
		record = find_unrecorded(h, query);
		if (record == NULL)
			return 0;
	} while (leave_to_own(h, guard, record, query, history_difference(h, record, query, NULL), false) &&
	    !history_free(record));
	call = history_text(h, record->call);
	if (!history_unused_by_any(record))
		return claim_beside(h, record, guard, query, r, err);
	if (!history_is_decided(h, record, guard, query)) {
		history_add_answers(h, record, history_prefix(h), call, query, "to do it again, or to take it as done, ", &answers);
		error_set(err, ERROR_WAITING, query->name, "may have been done before, in the child run %s, which has no "
		    "record (--no-transcript)%s", call, buffer_string(&answers));
		memcpy(r->compared, record->root, ID_SIZE);
		buffer_free(&answers);
		return -1;
	}
	if (record->decided == RECALL_REDO || !history_lend(h, record))
		return 0;
	r->lent = true;
	status = history_fill_recalled(h, record, r, err);
	return status == 1 ? decide_anyhow(record, r) : status;
}

/* ---- decisions while the attempt runs ---- */

/* Takes over the decision in a line, if it is about this call: 1, the call does not wait any more; 0;
 * -1. */
static int
history_take_decision(struct history *h, struct recalled *r, const struct place *place, struct error *err)
{
	recalled_event_free(&r->completed);
	if (history_line(h, place, &r->completed, err) != 0)
		return -1;
	if (waiting_of(&r->completed.view) != WAITING_NOTHING)
		return 0;
	r->end = span_type(span_member(r->completed.view.payload, KEY_ERROR)) == 'o' ?
	    RECALL_FAILED : RECALL_SUCCEEDED;
	return 1;
}

/* Searches the record for a decision about the call, from where the last search has ended: many calls may
 * wait, and each of them asks this. */
static int
decided_since(void *history, struct recalled *r, struct error *err)
{
	struct history *h = history;
	const size_t number = h->records[r->record].completed.source;
	const struct index_source *source = &h->sources[number];
	int64_t first = -1;  /* decision about any call */
	struct event_view event;
	struct event_head head;
	struct reader reader;
	const char *line;
	int decided = 0, got;
	size_t len;

	if (h->undecided.source != number || h->undecided.until < (int64_t)source->size) {
		h->undecided.source = number;
		h->undecided.until = (int64_t)source->size;
	}
	if (reader_open(&reader, h->text + source->path, err) != 0)
		return -1;
	reader_seek(&reader, h->undecided.until);
	while (decided == 0 && (got = reader_next(&reader, &line, &len, err)) != 0) {
		const struct place place = { reader.line_start, (uint32_t)len, (uint32_t)number };

		if (got == -1) {
			decided = -1;
		} else if (event_peek(line, len, &head) == 0 && head.type == EVENT_STEP_COMPLETED &&
		    event_view(line, len, &event) == 0 && event_decides(&event)) {
			if (first == -1)
				first = reader.line_start;
			if (span_is(event.parent_event_id, r->completed.id))
				decided = history_take_decision(h, r, &place, err);
		}
	}
	if (first != -1)
		h->undecided.until = first;
	else if (decided == 0)
		h->undecided.until = reader.position;
	reader_close(&reader);
	return decided;
}

/* ---- functions for awf-step ---- */

static bool
history_find_end(void *history, const struct recall_query *query, enum recall_end *end)
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
history_read_start(void *history, const struct recall_query *query, struct recalled_event *started)
{
	struct history *h = history;
	const struct index_record *found = NULL;
	unsigned char key[DIGEST_BYTES];

	history_keys(h, query, key, NULL);
	for (size_t i = history_bound(h, key, NULL); history_same_key(h, i, key); i++)
		if (h->records[i].item == query->item && history_nearer(&h->records[i], found, query) &&
		    history_free(&h->records[i]))
			found = &h->records[i];
	return found != NULL && history_line(h, &found->started, started, NULL) == 0;
}

/* It is unknown which of several records belongs to the call: the user is asked about a record that
 * may have changed something; otherwise the call is made anew. */
static int
claim_alike(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct same *same, const struct recall_query *query, struct recalled *r, struct error *err)
{
	struct index_record *record = same->record;
	int status;

	if (history_is_decided(h, record, guard, query)) {
		status = history_fill_recalled(h, record, r, err);
		return status == 1 ? decide_anyhow(record, r) : status;
	}
	if (record->began || record->child)
		return history_refuse_alike(h, same, query, r, err);
	note_anew(h, key, query);
	memcpy(r->root, record->root, ID_SIZE);
	return 0;
}

/* The call is a child run with another input than the recorded one: the record may belong to
 * another call that is about to come, so this one waits a little. Returns whether another call has
 * claimed it. */
static bool
leave_to_fitting(struct history *h, const struct index_record *record)
{
	const struct timespec nap = { 0, OWN_NAP_MS * 1000000L };

	if (atomic_fetch_add(&history_key(h, record)->left_to_own, 1) >= OWN_WAITS_MOST)
		return false;
	for (int waited = 0; waited < 2 * OWN_WAIT_MS && history_free(record); waited += OWN_NAP_MS)
		if (nanosleep(&nap, NULL) != 0)
			return false;
	return !history_free(record);
}

/* Whether the record is of a child run that ran a text; if it ran a file, the start contains the
 * file's path. */
static bool
ran_text(struct history *h, const struct index_record *r)
{
	struct recalled_event started = { .turn = -1 };
	bool text = r->child && history_line(h, &r->started, &started, NULL) == 0 &&
	    span_member(started.view.payload, KEY_FILES).at == NULL;

	recalled_event_free(&started);
	return text;
}

/* Whether the text of the record's child run may have been edited into the text of this call. */
static bool
may_be_edited(struct history *h, const struct index_record *r, const struct recall_query *query, size_t alike)
{
	return ran_text(h, r) && (alike >= TEXT_ALIKE_LEAST || history_comparable(r, query));
}

/* Finds the free record of a child run with this name whose command or inputs are the most similar.
 * edited: only those that ran a text which may have been edited into this one and, if there are
 * several records, only if one text contains the other completely. Otherwise only those that have
 * changed something. */
static struct index_record *
find_like_child(struct history *h, const unsigned char *key, const unsigned char *guard, const struct recall_query *query,
    bool edited)
{
	struct index_record *found = NULL;
	size_t most = 0, looked = 0, count = 0;

	for (size_t i = history_bound(h, key, NULL); history_same_key(h, i, key) && looked < DEFINITIONS_MOST; i++) {
		struct index_record *r = &h->records[i];
		size_t alike;

		count++;
		/* A call with the text that the file has may still come, but this one has it: its input is another. */
		if (!r->child || (r->named && memcmp(r->guard, guard, DIGEST_BYTES) != 0) || !history_unused_by_any(r) || history_likeness(h, r, query) == ANOTHER)
			continue;
		looked++;
		alike = history_alike(h, r, query);
		if (edited ? !may_be_edited(h, r, query, alike) || memcmp(r->guard, guard, DIGEST_BYTES) == 0 :
		    !history_child_changed(h, r))
			continue;
		if (found == NULL || alike > most || (alike == most && history_nearer(r, found, query))) {
			found = r;
			most = alike;
		}
	}
	/* It is one of several, and may belong to another call: ask the user. */
	return edited && count > 1 && most < ALIKE_WHOLE ? NULL : found;
}

/* Marks the record of a child run that the user has said the call is. If nothing of it was kept, its result is used,
 * and it stays for the call that has its input. */
static bool
mark_child(struct history *h, struct index_record *record, struct recalled *r)
{
	r->lent = history_kept_nothing(h, record);
	return r->lent ? history_lend(h, record) : history_mark(h, record);
}

/* Continues the child run; the calls in it are compared one by one. */
static int
continue_child(struct history *h, struct index_record *record, struct recalled *r, struct error *err)
{
	int status = history_fill_recalled(h, record, r, err);

	r->changed = true;
	return status;
}

/* Continues a child run whose text was edited. */
static int
claim_edited_text(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct recalled *r, struct error *err)
{
	struct index_record *record;

	if (!query->text || h->head->mode != RECALL_RESUME || !h->head->edited)
		return 0;
	do
		record = find_like_child(h, key, guard, query, true);
	while (record != NULL && !history_mark(h, record));
	if (record == NULL)
		return 0;
	/* Start another run in its place. */
	if (record->end != RECALL_SUCCEEDED && record->decided == RECALL_REDO)
		return 0;
	return continue_child(h, record, r, err);
}

/* A child run has another command or other inputs than a record that has changed something, and no
 * edit explains it: the user decides whether it is the same; if so, it is continued. */
static int
claim_changed_child(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct recalled *r, struct error *err)
{
	struct index_record *record;

	if (!query->child || h->head->mode != RECALL_RESUME)
		return 0;
	for (;;) {
		record = find_like_child(h, key, guard, query, false);
		if (record == NULL)
			return 0;
		if (leave_to_own(h, guard, record, query, history_difference(h, record, query, NULL), false))
			continue;
		if (!history_is_decided(h, record, guard, query))
			return history_refuse_changed(h, record, query, r, err);
		if (record->decided == RECALL_REDO ? history_lend(h, record) : mark_child(h, record, r))
			break;
	}
	return record->decided == RECALL_REDO ? 0 : continue_child(h, record, r, err);
}

/* The call has asked about a record, and the answer is for that call alone. To skip: it is done, or, if it is a child
 * run, it continues; a record in doubt must have been named twice. To do it again: another is made in the record's
 * place. Without an answer it asks again. 0: it has not asked, or is new according to the user. */
static int
claim_answered(struct history *h, const unsigned char *key, const unsigned char *guard, const struct recall_query *query,
    const struct index_question *q, struct recalled *r, struct error *err)
{
	const struct index_record *asked = q != NULL ? history_find_root(h, q->root) : NULL;
	struct index_record *record;
	bool done;
	int status;

	if (asked == NULL || asked->child != query->child)
		return 0;
	record = &h->records[asked - h->records];
	done = record->decided == RECALL_SKIP && (!record->doubtful || record->skipped_twice) &&
	    history_is_asker(h, h, record, guard, q);
	if (done && history_unused_by_any(record) && (record->child ? mark_child(h, record, r) : history_lend(h, record))) {
		if (record->child)
			return continue_child(h, record, r, err);
		r->lent = true;
		status = history_fill_recalled(h, record, r, err);
		return status == 1 ? use_decided(record, r) : status;
	}
	if (q->took_over || history_is_new(h, key, guard, query, q) || memcmp(record->guard, guard, DIGEST_BYTES) == 0)
		return 0;
	if (history_is_decided(h, record, guard, query))
		return record->step_skipped && !history_unused_by_any(record) ? claim_beside(h, record, guard, query, r, err) : 0;
	return history_unused_by_any(record) ? history_refuse_changed(h, record, query, r, err) :
	    claim_beside(h, record, guard, query, r, err);
}

/* The name of the call is new, and its words are those of another's record but for a time or an id: the user decides. */
static int
claim_renumbered(struct history *h, const unsigned char *key, const unsigned char *guard, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	struct index_record *record;
	int status;

	if (h->head->mode != RECALL_RESUME || history_has_no_marks(query))
		return 0;
	do {
		record = history_find_renumbered(h, key, query);
		if (record == NULL)
			return 0;
		if (leave_to_own(h, guard, record, query, history_difference(h, record, query, NULL), true))
			continue;
		if (!history_is_decided(h, record, guard, query))
			return history_refuse_changed(h, record, query, r, err);
	} while (!history_lend(h, record));
	r->lent = true;
	status = history_fill_recalled(h, record, r, err);
	return status == 1 ? use_decided(record, r) : status;
}

/* The user has said that the call, which has asked, is new: an answer about another call is no answer for it, so
 * only what has done the same is considered, as far as it is decided. */
static int
claim_new(struct history *h, const unsigned char *key, const unsigned char *guard, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	int status = claim_elsewhere(h, guard, query, true, r, err);

	if (status == 0)
		note_anew(h, key, query);
	return status;
}

/* No record matches the call exactly. failed: a record that matches but ended without a result;
 * NULL: none. */
static int
claim_unmatched(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct index_record *failed, struct recalled *r, struct error *err)
{
	int status = claim_other(h, key, guard, query, r, err);

	if (status == 0)
		status = claim_elsewhere(h, guard, query, false, r, err);
	if (status == 0)
		status = claim_unrecorded(h, guard, query, r, err);
	if (status == 0)
		status = claim_renumbered(h, key, guard, query, r, err);
	if (status == 0)
		status = claim_edited_text(h, key, guard, query, r, err);
	if (status == 0)
		status = claim_changed_child(h, key, guard, query, r, err);
	if (status != 0)
		return status;
	/* Nothing done elsewhere belongs to this call. */
	if (failed != NULL && history_mark(h, failed))
		return history_fill_recalled(h, failed, r, err);
	status = claim_changed(h, key, guard, query, r, err);
	if (status == 0 && h->head->mode == RECALL_RESUME)
		note_other(h, key, guard, query);
	return status;
}

/* A record matches the call, and this process has marked it. */
static int
claim_matched(struct history *h, struct index_record *record, const unsigned char *guard,
    const struct recall_query *query, int fit, struct recalled *r, struct error *err)
{
	const char *call = history_text(h, record->call);
	const bool child_anew = record->child && record->end != RECALL_SUCCEEDED && record->decided == RECALL_REDO;
	const bool of_another = child_anew && history_answer_is_of_another(h, record, guard, query);
	int status;

	if (h->head->mode == RECALL_RESUME && record->doubtful &&
	    record->decided == RECALL_UNDECIDED) {
		/* awf-run has asked about every such call before it started; this is a second
		 * check. */
		atomic_store(&record->mark, MARK_FREE);
		return error_set(err, ERROR_WAITING, call,
		    "may or may not have happened: resume with --redo %s%s or --skip %s%s",
		    history_prefix(h), call, history_prefix(h), call);
	}
	/* Another run is started in its place, unless that was said of a call that has asked about it. One of which
	 * nothing was kept is replaced by that. */
	if (child_anew && !of_another && !history_kept_nothing(h, record))
		return 0;
	status = history_fill_recalled(h, record, r, err);
	r->fit = fit;
	if (of_another)
		r->decided = RECALL_UNDECIDED;
	if (status == 1 && record->repeated) {
		r->repeated = true;
		return decide_anyhow(record, r);
	}
	/* If an agent's or tool's call was begun in another run and did not end well, it starts
	 * from the beginning: its conversation is in the other run's transcript, and continuing it
	 * would leave it out of this one. */
	if (status != 1 || r->mode != RECALL_RESUME || r->run_id[0] == '\0' || r->event_count == 0 ||
	    (r->end != RECALL_OPEN && (r->end != RECALL_FAILED || r->stands)))
		return status;
	if (!record->began || record->decided != RECALL_UNDECIDED)
		return decide_anyhow(record, r);
	error_set(err, ERROR_WAITING, call, "has changed something in the run that this "
	    "was forked from, and did not end: fork with --redo %s%s or --skip %s%s",
	    history_prefix(h), call, history_prefix(h), call);
	recalled_free(r);
	atomic_store(&record->mark, MARK_FREE);
	return -1;
}

/* Nobody knows what the child run of a record was given, so the record may be this call's: unless the user has said
 * that the call is another one, or has been asked about this record by another call, or by this one about another. */
static bool
is_of_another_asker(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct index_record *record, const struct recall_query *query)
{
	const struct index_question *question = history_find_question(h, guard, query);

	if (question != NULL && strcmp(question->root, record->root) != 0)
		return true;
	if (question == NULL && history_was_asked_about(h, record))
		return true;
	return record->decided == RECALL_UNDECIDED && history_is_new(h, key, guard, query, question);
}

static int
find_claim(struct history *h, const struct recall_query *query, struct recalled *r, struct error *err)
{
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES];
	struct index_record *record, *failed = NULL;
	const struct index_question *question;
	struct same same;
	int status;

	memset(r, 0, sizeof *r);
	history_keys(h, query, key, guard);
	do {
		history_keys(h, query, key, NULL);
		history_find_same(h, key, guard, query, &same);
		if (same.record == NULL && query->member && h->head->edited && h->head->mode == RECALL_RESUME)
			history_find_branch(h, key, guard, query, &same);
	} while (same.record != NULL && !(same.alike && !history_is_decided(h, same.record, guard, query)) &&
	    ((same.fit < 0 && leave_to_fitting(h, same.record)) || !history_mark(h, same.record)));
	record = same.record;
	if (record != NULL && record->child && query->given && same.fit <= 0 && h->head->mode == RECALL_RESUME &&
	    history_kept_nothing(h, record) && is_of_another_asker(h, key, guard, record, query)) {
		atomic_store(&record->mark, MARK_FREE);
		record = NULL;
	}
	if (record != NULL && !same.alike && history_is_harmless(h, record) && done_elsewhere(h, key, guard, query)) {
		atomic_store(&record->mark, MARK_FREE);
		failed = record;
		record = NULL;
	}
	if (record != NULL && same.alike && !history_is_new(h, key, guard, query, history_find_question(h, guard, query)))
		return claim_alike(h, key, guard, &same, query, r, err);
	if (record == NULL && h->head->mode == RECALL_RESUME) {
		question = history_find_question(h, guard, query);
		status = claim_answered(h, key, guard, query, question, r, err);
		if (status != 0)
			return status;
		if (history_is_new(h, key, guard, query, question))
			return claim_new(h, key, guard, query, r, err);
	}
	if (record != NULL && same.alike && h->head->mode == RECALL_RESUME) {
		if (history_is_decided(h, record, guard, query))
			atomic_store(&record->mark, MARK_FREE);
		note_anew(h, key, query);
		return 0;
	}
	return record == NULL ? claim_unmatched(h, key, guard, query, failed, r, err) :
	    claim_matched(h, record, guard, query, same.fit, r, err);
}

static int
history_claim_call(void *history, const struct recall_query *query, struct recalled *r,
    struct error *err)
{
	int found = find_claim(history, query, r, err);
	const struct history *of = found == 1 && r->elsewhere != NULL ? r->elsewhere : history;

	/* If the recorded step was tried (--try) and this one is not, the recorded failure does not
	 * stand. */
	if (found == 1 && !query->tried && of->records[r->record].tried)
		r->stands = false;
	return found;
}

static void
history_confirm_claim(void *history, const struct recalled *r)
{
	struct history *h = r->elsewhere != NULL ? r->elsewhere : history;

	struct index_record *record = &h->records[r->record];

	INVARIANT(r->record < h->head->records);
	if (r->shared)
		return;
	INVARIANT(atomic_load(r->lent ? &record->lent : &record->mark) == h->sign);
	atomic_store(r->lent ? &record->lent : &record->mark, MARK_CLAIMED);
	history_copy_mark(h, record, r->lent);
}

static void
history_leave_free(void *history, const struct recalled *r)
{
	struct history *h = r->elsewhere != NULL ? r->elsewhere : history;
	struct index_record *record = &h->records[r->record];

	if (h->head->mode == RECALL_RESUME && record->changed && !r->lent && !r->shared)
		atomic_store(&record->mark, MARK_FREE);
	else
		history_confirm_claim(history, r);
}

struct recall
history_recall(struct history *h)
{
	return (struct recall){ .mode = (enum recall_mode)h->head->mode,
		.cut_off = h->head->cut_off != 0, .history = h,
		.claim = history_claim_call, .look = history_find_end, .peek = history_read_start,
		.claimed = history_confirm_claim, .left_out = history_leave_free,
		.left_over = history_left_over, .expect = history_expect_call,
		.share_out = history_share_out, .decided_since = decided_since };
}
