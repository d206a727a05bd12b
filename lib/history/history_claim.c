/*
 * A call that starts claims the nearest free record with its key and guard. The first record of a
 * guard counts how many records at its front are claimed for good; a search begins behind these. A
 * call that resembles no record is new, or was edited.
 *
 * Calls that are to come are looked up ahead. The items of a stream may arrive at other positions
 * than in the recording, so a call that matches no record is either new or is one of the recorded
 * calls with another input or definition. Which of the two is decided after every record that has
 * an exact match among the coming calls has found it: the calls left over are compared with the
 * records left over. Only the process that reads the stream knows which records it expects.
 */
#include "history/history_parts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/model.h"
#include "model/waiting.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define OWN_WAIT_MS 300 /* for each difference, at most OWN_DIFFERENCES_MOST */
#define OWN_DIFFERENCES_MOST 4
#define OWN_NAP_MS 10
#define DECIDED_WAITS 4       /* as many times as long for a record that the user has decided
                                 about */
#define DEFINITIONS_MOST 256 /* records of other definitions that a call is compared with */
#define TEXT_ALIKE_LEAST (ALIKE_WHOLE / 4) /* half of an edited text */
#define BRANCHES_AWAY INT64_C(128) /* half of it before the position, half behind */
#define OWN_WAITS_MOST 8 /* calls of a key that wait, in one attempt */

/* What a search among the records with the guard of a call has found. */
struct same {
	struct index_record *record; /* the call's record; one of several if nothing
	                                distinguishes them; or NULL */
	bool exact;                  /* it has the same names of new paths */
	bool alike;                  /* another free one matches equally well, but was made elsewhere */
	const struct index_record *other; /* that record; NULL: not known */
	int fit;                     /* of a child run: recall_query.fits */
};

/* Whether b is to be tried before a for a call of this item. First: records of last tries before
 * records of tries that were followed by another. Then the nearest item; of one item the last
 * attempt, because what it made anew stands beside what it did not take over; of one attempt the
 * nearest occurrence. Among equals the lowest index is first. */
static bool
comes_before(const struct index_record *b, const struct index_record *a,
    const struct recall_query *query)
{
	uint64_t near_b, near_a;

	if (a == NULL || a->superseded != b->superseded)
		return a == NULL || a->superseded;
	near_b = history_distance(b->item, query->item);
	near_a = history_distance(a->item, query->item);
	if (near_b != near_a)
		return near_b < near_a;
	if (b->attempt != a->attempt)
		return b->attempt > a->attempt;
	return history_distance(b->occurrence, query->occurrence) <
	    history_distance(a->occurrence, query->occurrence);
}

/* recall_query.fits of a record. */
static int
record_fit(struct history *h, const struct index_record *r, const struct recall_query *query)
{
	struct recalled_event started = { .turn = -1 };
	char run_id[ID_SIZE];
	int fit = 0;

	if (query->fits == NULL || !r->child || h->head->mode != RECALL_RESUME)
		return 0;
	if (history_line(h, &r->started, &started, NULL) == 0 &&
	    event_copy_id(started.view.child_run_id, run_id))
		fit = query->fits(query->fits_context, run_id);
	recalled_event_free(&started);
	return fit;
}

/* Considers a free record that agrees with the call. */
static void
history_consider_record(struct history *h, struct same *same, struct index_record *r,
    uint64_t exact, const struct recall_query *query)
{
	const struct recorded_marks marks = history_marks(h, r);
	bool is_exact = r->exact == 0 || history_has_no_marks(query) ||
	    (r->exact == exact && exact != MARKS_NEVER_EXACT) ||
	    marks_same_paths(query->marks, &marks, NULL);
	int fit;

	if (is_exact && !same->exact && same->record != NULL) {
		*same = (struct same){ r, true, false, NULL, record_fit(h, r, query) };
		return;
	}
	if (same->record != NULL && !is_exact && same->exact)
		return;
	fit = record_fit(h, r, query);
	if (same->record != NULL && !is_exact && r->attempt == same->record->attempt && fit == same->fit) {
		const struct recorded_marks other = history_marks(h, same->record);

		if (marks_paths_differ(query->marks, &marks, &other, NULL)) {
			same->alike = true;
			same->other = r;
		}
	}
	if (same->record != NULL && fit != same->fit ? fit > same->fit : comes_before(r, same->record, query)) {
		if (same->other == r)
			same->other = same->record;
		same->record = r;
		same->exact = is_exact;
		same->fit = fit;
	}
}

/* Considers the free records of a key, guard and identity, from its first on. Records at the
 * front that are claimed for good are skipped from then on, so that a name that is called
 * thousands of times with the same input is not searched from its first record each time. */
static void
history_search_records(struct history *h, size_t first, const unsigned char *key,
    const unsigned char *guard, const struct recall_query *query, uint64_t exact, bool marked,
    struct same *same)
{
	uint64_t settled, identity;

	if (!history_same_guard(h, first, key, guard))
		return;
	identity = h->records[first].identity;
	settled = atomic_load(&h->records[first].settled);
	for (size_t i = first + (size_t)settled; history_same_guard(h, i, key, guard) &&
	    h->records[i].identity == identity; i++) {
		struct index_record *r = &h->records[i];

		if (same->record != NULL && r->superseded && !same->record->superseded)
			break;
		if (atomic_load(&r->mark) == MARK_CLAIMED) {
			settled += i == first + settled;
			continue;
		}
		if ((!marked || *history_text(h, r->start) != '\0') && history_free(r))
			history_consider_record(h, same, r, exact, query);
		/* Nothing makes a later record come before this one. */
		if (same->record != NULL && same->exact && !same->record->superseded &&
		    same->record->item == query->item && (query->fits == NULL || same->fit > 0))
			break;
	}
	INVARIANT(same->record == NULL || history_same_guard(h, (size_t)(same->record - h->records), key,
	    guard));
	atomic_store(&h->records[first].settled, settled);
}

/* All records of a guard, whatever their marks: behind the first identity of a guard come the
 * others. */
static void
find_unmarked(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct same *same)
{
	size_t first = history_bound(h, key, guard);

	while (history_same_guard(h, first, key, guard)) {
		uint64_t identity = h->records[first].identity;

		history_search_records(h, first, key, guard, query, 0, false, same);
		same->exact = same->record != NULL;
		same->alike = false;
		first = identity == UINT64_MAX ? (size_t)h->head->records :
		    history_bound_identity(h, key, guard, identity + 1);
	}
}

/* Considers records whose marks cannot be compared. A run that an older version began recorded
 * no marks: its record can be identified if only one process made such a call. With another key,
 * no record can. */
static void
find_old(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct same *same)
{
	const struct index_record *one = NULL;
	bool several = false;

	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++) {
		struct index_record *r = &h->records[i];

		if (history_difference(h, r, query, NULL) != -1)
			continue;
		several |= *history_text(h, r->start) != '\0' ||
		    (one != NULL && one->occurrence != r->occurrence);
		one = r;
		if (history_free(r) && comes_before(r, same->record, query))
			same->record = r;
	}
	same->exact = true;
	same->alike = several;
}

/* Whether a resumed call ended without any result, so that it is made again without asking. */
static bool
is_harmless(const struct history *h, const struct index_record *r)
{
	return h->head->mode == RECALL_RESUME && !r->changed && !r->child && !r->doubtful && r->end != RECALL_SUCCEEDED;
}

/* A record that agrees equally well, and did what the found one did not, is preferred: for
 * example where a variable that is ignored by now distinguished them. */
static void
prefer_done(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct same *same)
{
	struct index_record *done = NULL;

	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++) {
		struct index_record *r = &h->records[i];

		if (history_free(r) && (!is_harmless(h, r) || r->encloses) && history_difference(h, r, query, NULL) == 0 &&
		    comes_before(r, done, query))
			done = r;
	}
	if (done != NULL)
		*same = (struct same){ .record = done, .exact = true };
}

/* Finds the free record of this key and guard that is the call's. */
static void
find_same(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct same *same)
{
	bool replay = h->head->mode == RECALL_REPLAY;
	uint64_t exact = 0, identity;
	size_t first;

	memset(same, 0, sizeof *same);
	if (history_has_no_marks(query)) {
		find_unmarked(h, key, guard, query, same);
		return;
	}
	identity = marks_identity(query->marks, &exact);
	first = history_bound_identity(h, key, guard, identity);
	if (history_same_guard(h, first, key, guard) && h->records[first].identity == identity)
		history_search_records(h, first, key, guard, query, exact, true, same);
	if (same->record != NULL) {
		same->alike &= !replay;
		if (!same->alike && same->fit == 0 && is_harmless(h, same->record) && !same->record->encloses)
			prefer_done(h, key, guard, query, same);
		return;
	}
	/* A variable that one attempt has set, the other may have inherited when it started. */
	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++)
		if (history_free(&h->records[i]) && history_difference(h, &h->records[i], query, NULL) == 0)
			history_consider_record(h, same, &h->records[i], exact, query);
	if (same->record == NULL)
		find_old(h, key, guard, query, same);
	/* A replay runs in another environment: differences there do not separate a call from
	 * its record. */
	if (replay && same->record == NULL)
		find_unmarked(h, key, guard, query, same);
	same->alike &= !replay;
}

/* Notes the names in which a new call differs from the records, one per line, if it is the first
 * of its key to differ so. One line may have several names. */
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

/* A call is made anew in place of a record that had other variables. */
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

/* No record agrees, but some have the same input and definition: the nearest of these lends its
 * root, so that calls made inside this one find their records, and the differences are noted. */
static void
note_other(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct recalled *r)
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
	if (nearest != NULL) {
		memcpy(r->root, nearest->root, ID_SIZE);
		note_name(history_key(h, nearest), buffer_string(&what));
	}
	buffer_free(&what);
	buffer_free(&text);
}

/* Whether a call that is to come will claim the record. */
static bool
is_expected(const struct history *h, size_t i)
{
	return h->expected != NULL && h->expected[i];
}

/* Whether it has answers of models. */
static bool
is_paid(const struct index_record *r)
{
	return r->event_count > 0;
}

/* Finds the free record of this key and guard that the call would have if the variables still
 * had the values that they had then. */
static struct index_record *
find_differing(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	struct index_record *found = NULL;

	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++) {
		struct index_record *r = &h->records[i];

		/* A record that ended without a result, and in which no call could find its own
		 * record, is left to the call that matches it. */
		if (!r->changed && !r->child && !r->encloses && !r->runs_calls && !is_paid(r) &&
		    r->decided == RECALL_UNDECIDED)
			continue;
		if (history_unused_by_any(r) && history_nearer(r, found, query) && history_likeness(h, r, query) == DIFFERING)
			found = r;
	}
	return found;
}

/* The names in a chain of calls: a/b of a:0:0/b:1:0. */
static void
add_names(struct buffer *out, const char *chain)
{
	for (const char *at = chain; *at != '\0'; at += strcspn(at, "/"), at += *at == '/')
		buffer_format(out, "%s%.*s", out->len > 0 ? "/" : "", (int)strcspn(at, ":/"), at);
}

static const struct index_record *
find_root(const struct history *h, const char *root)
{
	for (size_t i = 0; *root != '\0' && i < h->head->records; i++)
		if (strcmp(h->records[i].root, root) == 0)
			return &h->records[i];
	return NULL;
}

/* Whether a call that encloses the record was made again with other words: then the record's
 * calls may now be in any call. */
static bool
around_edited(const struct history *h, const struct index_record *r)
{
	while ((r = find_root(h, r->around)) != NULL)
		if (r->edited || (history_free(r) && !history_unused_by_any(r)))
			return true;
	return false;
}

/* Whether the call and the calls around it have the names of the record and of those around it. */
static bool
has_names_of(const struct history *h, const struct index_record *r, const struct recall_query *query)
{
	struct buffer names = BUFFER_INIT, other = BUFFER_INIT;
	bool same;

	add_names(&names, query->enclosing);
	buffer_format(&names, "%s%s", names.len > 0 ? "/" : "", query->name);
	add_names(&other, history_text(h, r->call));
	same = strcmp(buffer_string(&other), buffer_string(&names)) == 0;
	buffer_free(&names);
	buffer_free(&other);
	return same;
}

/* Finds the free record of an effect, or of a child run, that has another name or was made in
 * other calls, and agrees with the call in everything else that distinguishes calls. If no file
 * that is known was edited, a file that is not known, or a variable, may have changed the name;
 * then only a call whose name is new is considered. */
static struct index_record *
find_moved(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	struct index_record *found = NULL;

	if (query->member || (!h->head->edited && history_same_key(h, history_bound(h, key, NULL), key)))
		return NULL;
	for (size_t i = 0; i < h->head->records; i++) {
		struct index_record *r = &h->records[i];

		if ((!r->changed && !r->child) || memcmp(r->guard, guard, DIGEST_BYTES) != 0 ||
		    memcmp(r->key, key, DIGEST_BYTES) == 0 || !history_unused_by_any(r) ||
		    !history_nearer(r, found, query) || history_likeness(h, r, query) == ANOTHER)
			continue;
		/* A call of the same names is in another item, or iteration, of the same
		 * unedited group. */
		if (!has_names_of(h, r, query) || around_edited(h, r))
			found = r;
	}
	return found;
}

/* Whether a call of other words may be compared with the record. If another call has taken the place of a
 * command that made other calls, and changed nothing itself, it is open to one that is more like it: those
 * calls are compared one by one. */
static bool
is_open_to_compare(const struct index_record *r)
{
	return history_unused_by_any(r) ||
	    (r->runs_calls && r->decided == RECALL_UNDECIDED && history_free(r));
}

/* Finds the free record of this key with which a call of another guard is compared. For a resume
 * only records count that began to change something. */
static struct index_record *
find_changed(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, bool same_input)
{
	size_t first = history_bound(h, key, NULL);
	const uint64_t given = index_digest(query->input_sha256);
	const uint64_t definition = index_digest(query->definition_sha256);
	struct index_record *found = NULL;
	size_t alike = 0, looked = 0;
	int least = INT_MAX;
	bool only;

	if (!history_same_key(h, first, key) ||
	    (h->head->mode == RECALL_RESUME && !history_key(h, &h->records[first])->began))
		return NULL;
	/* The only record of its name, in a run whose files were edited: its words and a
	 * variable in them may have been edited together. */
	only = h->head->edited && !history_same_key(h, first + 1, key);
	for (size_t i = first; history_same_key(h, i, key); i++) {
		struct index_record *r = &h->records[i];
		enum likeness like;
		size_t text;

		if ((same_input && r->given != given) ||
		    (!r->began && !r->runs_calls && h->head->mode != RECALL_REPLAY) ||
		    !history_comparable(r, query) || !is_open_to_compare(r) || is_expected(h, i))
			continue;
		/* Its own call may still come, unchanged. */
		if (r->named && h->head->mode == RECALL_RESUME && r->definition != definition)
			continue;
		/* A record with the call's own input and definition was considered before. */
		like = history_likeness(h, r, query);
		if ((like == ANOTHER && !only) || (like != LIKE && memcmp(r->guard, guard, DIGEST_BYTES) == 0))
			continue;
		/* If many calls share a command that was edited, each is equally similar to its
		 * own record. */
		text = 0;
		if (h->head->mode == RECALL_RESUME && r->definition != definition && looked++ < DEFINITIONS_MOST)
			text = history_alike(h, r, query);
		if (text < ALIKE_WHOLE && !history_unused_by_any(r))
			continue;
		if (h->head->mode == RECALL_RESUME) {
			/* Records of another guard too: a call in the same place with the same
			 * variables. */
			int count = history_difference(h, r, query, NULL);

			if (found != NULL && count > least)
				continue;
			if (count < least)
				found = NULL;
			least = found == NULL ? count : least;
		}
		if (found == NULL || text > alike || (text == alike && history_nearer(r, found, query))) {
			found = r;
			alike = text;
		}
	}
	return found;
}

/* Fills *r from a record that was claimed; releases the record if that fails. */
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
	/* A call that its condition left out is skipped already. */
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

/* Nothing of the record is used: the user has decided what happens to it. */
static int
decide_anyhow(const struct index_record *record, struct recalled *r)
{
	r->changed = true;
	r->decided = (enum recall_decision)record->decided;
	r->end = RECALL_OPEN;
	return 1;
}

/* The user has decided about the record, and the call has other words, or another name. If it is to be
 * skipped and its work is still under way elsewhere, the call waits for the result of that. */
static int
use_decided(const struct index_record *record, struct recalled *r)
{
	if (record->decided == RECALL_SKIP && r->end == RECALL_WAITING &&
	    waiting_of(&r->completed.view) == WAITING_COMPLETION)
		return 1;
	return decide_anyhow(record, r);
}

/* Whether an earlier attempt asked the user whether a call of this name is the recorded one, or,
 * if `any` is set, whether such a call is any recorded one. */
static bool
has_asked(const struct history *h, const struct index_record *record, const unsigned char *guard,
    const struct recall_query *query, bool any)
{
	const char *rest = history_text(h, h->head->asked), *asked;
	char one[ASKED_SIZE], unsaid[ASKED_SIZE];
	size_t len;

	index_asked(query->name, guard, record->root, one);
	/* Older versions did not record about which call they asked. */
	index_asked(query->name, guard, "", unsaid);
	while ((asked = text_part(&rest, '\n', &len)) != NULL)
		if ((len == strlen(unsaid) && memcmp(asked, unsaid, len) == 0) ||
		    (len == strlen(one) && memcmp(asked, one, any ? strcspn(one, ":") : len) == 0))
			return true;
	return false;
}

/* Whether a call with these words has asked about the record. */
static bool
words_have_asked(const struct history *h, const struct index_record *record, const unsigned char *guard)
{
	char text[ASKED_SIZE];

	index_asked_words(guard, record->root, text);
	return text_has_part(history_text(h, h->head->asked), '\n', text, strlen(text));
}

/* Whether the user's answer about the record applies to this call: the call has asked about it,
 * and is the one most similar to it. */
static bool
is_asker(struct history *h, const struct index_record *record, const unsigned char *guard,
    const struct recall_query *query)
{
	const struct recorded_marks marks = { history_text(h, record->asker_start),
		history_text(h, record->asker_directory), history_text(h, record->asker_variables) };
	const char *apart = history_text(h, record->asker_apart), *name;
	struct buffer names = BUFFER_INIT;
	bool same = record->askers > 0 && memcmp(record->asker, guard, DIGEST_BYTES) == 0;
	size_t len;

	if (same && query->marks != NULL) {
		same = strcmp(marks.directory, query->marks->directory != NULL ? query->marks->directory : "") == 0;
		marks_difference(query->marks, &marks, &names);
		while (same && (name = text_part(&apart, '\n', &len)) != NULL)
			same = len == 0 || !text_has_part(buffer_string(&names), '\n', name, len);
		buffer_free(&names);
	}
	/* In another run, a call with the record's own words has asked. */
	return same && (memcmp(record->guard, guard, DIGEST_BYTES) == 0 || !history_asked_elsewhere(h, record));
}

/* Whether the user has decided what happens to a call that has other words than the record, or
 * another place. An answer about a recorded call in doubt, given by its name, is about that call
 * only: the user was not asked whether another call is skipped, or whether an agent repeats all
 * that it did. Making another call does no harm: the record stays free for its own call. of: the
 * history that has the record. */
static bool
is_decided_in(struct history *h, struct history *of, const struct index_record *record,
    const unsigned char *guard, const struct recall_query *query)
{
	if (record->decided == RECALL_UNDECIDED)
		return false;
	if (record->decided == RECALL_REDO && !record->tools_doubtful)
		return true;
	/* A call of the same words takes over what was done. A child run is not in doubt itself. */
	if (!record->doubtful && memcmp(record->guard, guard, DIGEST_BYTES) == 0)
		return true;
	/* If several calls have asked, the answer is for the one that resembles the record most. */
	if (record->askers > 0 && !record->step_skipped && !is_asker(of, record, guard, query) && words_have_asked(h, record, guard))
		return false;
	/* If a record in doubt is skipped and that was said once, it means that record only. */
	if (record->doubtful && record->decided == RECALL_SKIP && !record->step_skipped && !record->skipped_twice)
		return false;
	return has_asked(h, record, guard, query, record->step_skipped);
}

static bool
is_decided(struct history *h, const struct index_record *record, const unsigned char *guard,
    const struct recall_query *query)
{
	return is_decided_in(h, h, record, guard, query);
}

/* Whether a fork leaves the call out and no attempt has made it since. */
static bool
is_left_out(const struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	const char *all = history_text(h, h->head->left_out);
	char text[ASKED_SIZE];

	index_asked(query->name, guard, "", text);
	return *all != '\0' && !history_same_guard(h, history_bound(h, key, guard), key, guard) &&
	    bsearch(text, all, strlen(all) / LEFT_OUT_SIZE, LEFT_OUT_SIZE, index_compare_left_out) != NULL;
}

/* Whether the user has said that a call which matches no record is new. */
static bool
is_new(const struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	if (is_left_out(h, key, guard, query))
		return true;
	return query->path != NULL &&
	    text_has_part(history_text(h, h->head->new_steps), '\n', query->path, strlen(query->path));
}

/* The end of a question about a record: how to answer it, and to what effect. If the record was
 * in doubt, the user has said already that it is skipped. h: the
 * history of the call that asks; prefix: text in front of the record's name. */
static void
add_answers(const struct history *h, const struct index_record *record, const char *prefix, const char *call,
    const struct recall_query *query, const char *aim, struct buffer *out)
{
	char *path = memory_format("%s%s", history_steps(h), query->path != NULL ? query->path : query->name);

	if (record->doubtful && !record->child && record->decided == RECALL_SKIP)
		buffer_format(out, ": to leave this call out, too, resume with --skip %s%s twice, to make it, "
		    "with --new %s as well", prefix, call, path);
	else
		buffer_format(out, ": %sresume with --redo %s%s or --skip %s%s, or, if it is another call, with --new %s",
		    aim, prefix, call, prefix, call, path);
	free(path);
}

/* Handles a record with another input or definition, or with other variables. */
static int
refuse_changed(struct history *h, const struct index_record *record,
    const struct recall_query *query, struct recalled *r, struct error *err)
{
	const char *call = history_text(h, record->call);
	struct buffer text = BUFFER_INIT;
	int failed = history_changed(h, record, query, &text, err);

	if (failed == 0 && h->head->mode == RECALL_REPLAY) {
		error_set(err, ERROR_DIVERGENCE, call, "%s", buffer_string(&text));
	} else if (failed == 0) {
		buffer_format(&text, ", and it %s before%s",
		    !record->changed && !record->began && !record->child ? "has been paid for" :
		    record->maybe || record->child ? "may have changed something" : "has changed something",
		    record->tools_doubtful ? ", all of which would be made again" : "");
		add_answers(h, record, history_prefix(h), call, query, "", &text);
		error_set(err, ERROR_WAITING, call, "%s", buffer_string(&text));
		memcpy(r->compared, record->root, ID_SIZE);
	}
	buffer_free(&text);
	return -1;
}

/* Counted for the user who asks at the end what was not reused. */
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

/* Calls that a workflow makes at the same time arrive in any order: the record of another input
 * or definition may belong to a call that is about to come. So this call waits a little where no
 * file was edited, or where this call was not edited, or where the user was asked about the
 * record or has decided. The less the call resembles the record, the longer it waits, for the
 * record's own call may differ too. differences: the number of directories and variables in
 * which they differ. Returns whether another call has claimed the record. */
static bool
leave_to_own(struct history *h, const unsigned char *guard, struct index_record *record,
    const struct recall_query *query, int differences)
{
	const struct timespec nap = { 0, OWN_NAP_MS * 1000000L };
	int most;

	if (differences > OWN_DIFFERENCES_MOST)
		differences = OWN_DIFFERENCES_MOST;
	most = (differences > 0 ? differences : 0) * OWN_WAIT_MS;
	if (!h->head->edited && most == 0)
		most = 2 * OWN_WAIT_MS;
	/* Where the user has decided, no further question would catch a wrong call. */
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
	for (int waited = 0; waited < most && history_unused_by_any(record); waited += OWN_NAP_MS)
		if (nanosleep(&nap, NULL) != 0)
			return false;
	return !history_unused_by_any(record);
}

/* Handles a call for which a replay has no record. */
static int
refuse_unknown(const struct recall_query *query, struct recalled *r, struct error *err)
{
	bool inside = query->enclosing[0] != '\0';
	char *place = memory_format("%s%s%s", query->enclosing, inside ? "/" : "", query->name);

	error_set(err, ERROR_DIVERGENCE, place, "the recording has no%s call of it for item %lld",
	    inside ? "" : " further", (long long)query->item);
	r->unknown = true;
	free(place);
	return -1;
}

/* The query and key of the branch i / 2 positions behind, or, for an odd i, before; false: there is no such
 * position. */
static bool
move_branch(const struct history *h, const struct recall_query *query, int64_t i, struct recall_query *moved,
    unsigned char key[DIGEST_BYTES])
{
	*moved = *query;
	moved->item += i % 2 == 0 ? i / 2 : -(i / 2);
	if (moved->item < 0)
		return false;
	history_keys(h, moved, key, NULL);
	return true;
}

/* The same for a branch of a parallel group that was edited: branches before and behind it may
 * have been removed or added, so its record may be at another position, if the commands are
 * similar. */
static struct index_record *
find_changed_branch(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	struct index_record *found = find_changed(h, key, guard, query, false), *r;
	size_t most = found == NULL ? TEXT_ALIKE_LEAST - 1 : history_alike(h, found, query), alike;
	unsigned char other[DIGEST_BYTES];

	for (int64_t i = 2; i < BRANCHES_AWAY; i++) {
		struct recall_query moved;

		if (!move_branch(h, query, i, &moved, other))
			continue;
		r = find_changed(h, other, guard, &moved, false);
		if (r == NULL || (alike = history_alike(h, r, query)) <= most)
			continue;
		found = r;
		most = alike;
	}
	return found;
}

/* What a call without a record of its guard is compared with: the record of the same input that
 * the look-ahead has found, or the nearest one as soon as no other call can claim it; or NULL. */
static struct index_record *
find_compared(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	bool resume = h->head->mode == RECALL_RESUME;
	struct index_record *found;

	if (query->compared == RECALL_COMPARED_WITH_NONE)
		return NULL;
	do {
		found = resume ? find_changed(h, key, guard, query, true) : NULL;
		if (found == NULL && query->compared > 0 && (uint64_t)query->compared <= h->head->records &&
		    history_unused_by_any(&h->records[query->compared - 1]))
			found = &h->records[query->compared - 1];
		else if (found == NULL && resume && query->member && h->head->edited)
			found = find_changed_branch(h, key, guard, query);
		else if (found == NULL)
			found = find_changed(h, key, guard, query, false);
	} while (found != NULL && resume && history_unused_by_any(found) &&
	    leave_to_own(h, guard, found, query, history_difference(h, found, query, NULL)));
	return found;
}

/* The call is made anew in the record's place, and calls inside it find their records. */
static int
make_in_place(struct history *h, const struct index_record *record, const unsigned char *guard,
    const struct recall_query *query, struct recalled *r)
{
	if (memcmp(record->guard, guard, DIGEST_BYTES) == 0)
		note_differing(h, record, query);
	r->changed = !record->runs_calls;
	r->decided = record->runs_calls ? RECALL_UNDECIDED : RECALL_REDO;
	r->end = RECALL_OPEN;
	/* What failed may have been mended. */
	r->stands = false;
	return 1;
}

/* The record that the call asked about while it has none of its own; by now another call may
 * have it. Of a child run that is to be replaced by another, it is that child run's record. */
static const struct index_record *
find_asked(const struct history *h, const unsigned char *guard, const struct recall_query *query)
{
	const char *rest = history_text(h, h->head->asked), *asked;
	const struct index_record *found = NULL;
	char text[ASKED_MARKED_SIZE];
	uint64_t exact;
	size_t len, begin;

	if (history_has_no_marks(query))
		return NULL;
	index_asked_marked(guard, marks_identity(query->marks, &exact), "", text);
	begin = strlen(text);
	while (found == NULL && (asked = text_part(&rest, '\n', &len)) != NULL)
		if (len > begin && memcmp(asked, text, begin) == 0) {
			char *root = memory_copy(asked + begin, len - begin);

			found = find_root(h, root);
			free(root);
		}
	return found == NULL || (found->child && found->decided == RECALL_REDO) ? NULL : found;
}

static int
refuse_asked_again(struct history *h, const struct index_record *record, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	const char *call = history_text(h, record->call);
	const char *path = query->path != NULL ? query->path : query->name;

	error_set(err, ERROR_WAITING, query->name, "has asked whether it is %s%s, which another call has taken over: "
	    "to make this one as well, resume with --new %s%s", history_prefix(h), call, history_steps(h), path);
	memcpy(r->compared, record->root, ID_SIZE);
	return -1;
}

/* Handles another input or definition. If the record's command made other calls and changed
 * nothing itself, as a group's does, those calls are compared one by one. */
static int
claim_changed(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct recalled *r, struct error *err)
{
	bool replay = h->head->mode == RECALL_REPLAY, made_again;
	const struct index_record *asked;
	struct index_record *record;
	int status;

	do {
		record = find_compared(h, key, guard, query);
		if (record == NULL && replay)
			return refuse_unknown(query, r, err);
		asked = record == NULL && h->head->mode == RECALL_RESUME ? find_asked(h, guard, query) : NULL;
		if (asked != NULL && !history_unused_by_any(asked))
			return refuse_asked_again(h, asked, query, r, err);
		/* Nobody has taken what it asked about: the answer is for this call. */
		if (asked != NULL)
			record = &h->records[asked - h->records];
		if (record == NULL) {
			note_anew(h, key, query);
			return 0;
		}
		made_again = !replay && record->runs_calls && record->decided == RECALL_UNDECIDED;
		if (!made_again && (replay || !is_decided(h, record, guard, query)))
			return refuse_changed(h, record, query, r, err);
		/* Another call is made in its place, and calls in both find their records. */
		r->shared = made_again && !history_unused_by_any(record);
	} while (!r->shared && !history_lend(h, record));
	r->lent = true;
	status = history_fill_recalled(h, record, r, err);
	if (status != 1)
		return status;
	return made_again ? make_in_place(h, record, guard, query, r) : use_decided(record, r);
}

/* The text in front of the name of a record that is in another run. If the call that asks is in
 * a child run of that name too, or in a run inside of one, the name alone means the record of its
 * own run from then on. */
static char *
prefix_elsewhere(const struct history *h, const struct elsewhere *found)
{
	const char *prefix = history_prefix(found->history);
	size_t len = strlen(prefix);

	if (found->inside == NULL || strncmp(prefix, history_prefix(h), len) != 0 || len == 0 ||
	    strchr(history_text(found->around, found->inside->call), '@') != NULL)
		return memory_text(prefix);
	return memory_format("%.*s@%llu/", (int)len - 1, prefix, (unsigned long long)found->inside->attempt);
}

static int
refuse_moved(const struct history *h, const struct elsewhere *found,
    const struct recall_query *query, struct recalled *r, struct error *err)
{
	const char *label = history_text(found->history, found->record->call);
	/* Another call of this attempt may have the same name. */
	const bool again = found->history == h && strchr(label, '@') == NULL && has_names_of(h, found->record, query);
	char *call = again ? memory_format("%s@%llu", label, (unsigned long long)found->record->attempt) :
	    memory_text(label);
	bool inside = query->enclosing[0] != '\0';
	char *place = memory_format("%s%s%s", query->enclosing, inside ? "/" : "", query->name);
	char *prefix = found->history == h ? memory_text(history_prefix(h)) : prefix_elsewhere(h, found);
	struct buffer answers = BUFFER_INIT;

	add_answers(h, found->record, prefix, call, query,
	    "to do it again, or to take it over, ", &answers);
	error_set(err, ERROR_WAITING, place, "%s has done the same before, under another name or in another "
	    "place, and nothing has taken that over%s", call, buffer_string(&answers));
	memcpy(r->compared, found->record->root, ID_SIZE);
	buffer_free(&answers);
	free(call);
	free(prefix);
	free(place);
	return -1;
}

/* Whether it has been made since under another name or in another place. */
static bool
done_elsewhere(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	struct elsewhere found;

	if (query->member || history_has_no_marks(query) || !history_edited_around(h))
		return false;
	return find_moved(h, key, guard, query) != NULL ||
	    (history_find_elsewhere(h, guard, query, &found, NULL) == 0 && found.record != NULL);
}

/* No record matches the call exactly, but one may be the call's: it had other variables, another
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
		record = find_differing(h, key, guard, query);
		if (record != NULL && is_harmless(h, record) && done_elsewhere(h, key, guard, query))
			record = NULL;
		elsewhere = find_moved(h, key, guard, query);
		/* One that is the same but for its place comes before one with other variables. */
		moved = record == NULL || (elsewhere != NULL && history_likeness(h, elsewhere, query) == LIKE);
		if (moved)
			record = elsewhere;
		if (record == NULL)
			return 0;
		asked = moved || record->changed || record->child || is_paid(record);
		if (asked && leave_to_own(h, guard, record, query, history_difference(h, record, query, NULL)))
			continue;
		/* In its own place, and with a variable that does not distinguish calls, it is
		 * the call that the user meant. */
		if (asked && !(moved || record->tools_doubtful ? is_decided(h, record, guard, query) :
		    record->decided != RECALL_UNDECIDED))
			return moved ? refuse_moved(h, &(struct elsewhere){ h, record, h, record, NULL, NULL, 0 }, query, r, err) :
			    refuse_changed(h, record, query, r, err);
		if (history_lend(h, record))
			break;
	}
	/* Then the child run is another one. */
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

/* No record of this run is the call's, but a record of a run inside it or around it may be.
 * new_call: the user has said that the call is not a recorded one, so only a record about which
 * the user has said something is considered. */
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
		if (leave_to_own(found.owners, guard, found.owner, query, found.differences))
			continue;
		if (!is_decided_in(h, found.history, found.record, guard, query) && new_call)
			return 0;
		if (!is_decided_in(h, found.history, found.record, guard, query))
			return refuse_moved(h, &found, query, r, err);
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

/* Appends a text without quotes, backslashes and all but one of several blanks. */
static void
add_bare(struct buffer *out, const char *text, size_t len)
{
	for (const char *at = text; at < text + len; at++) {
		const bool blank = *at == ' ' || *at == '\t' || *at == '\n';

		if (*at == '\'' || *at == '"' || *at == '\\' || (blank && (out->len == 0 || out->data[out->len - 1] == ' ')))
			continue;
		buffer_byte(out, blank ? ' ' : *at);
	}
}

/* Whether the record is of a child run that kept no transcript, and ran a text that has the name and the
 * command of the call. */
static bool
may_have_done(struct history *h, const struct index_record *r, const struct recall_query *query)
{
	struct buffer text = BUFFER_INIT, bare = BUFFER_INIT, command = BUFFER_INIT, name = BUFFER_INIT;
	struct recalled_event started = { .turn = -1 };
	bool done = false;

	if (history_line(h, &r->started, &started, NULL) == 0 &&
	    span_true(span_member(started.view.payload, KEY_NO_TRANSCRIPT))) {
		history_describe(&text, started.view.payload);
		add_bare(&bare, buffer_string(&text), text.len);
		add_bare(&command, query->definition, strlen(query->definition));
		buffer_format(&name, " %s ", query->name);
		done = strstr(buffer_string(&bare), buffer_string(&command)) != NULL &&
		    strstr(buffer_string(&bare), buffer_string(&name)) != NULL;
	}
	recalled_event_free(&started);
	buffer_free(&text);
	buffer_free(&bare);
	buffer_free(&command);
	buffer_free(&name);
	return done;
}

static struct index_record *
find_unrecorded(struct history *h, const struct recall_query *query)
{
	size_t looked = 0;

	for (size_t i = 0; h->head->children > 0 && i < h->head->records && looked < DEFINITIONS_MOST; i++) {
		struct index_record *r = &h->records[i];

		if (!r->child || !history_free(r))
			continue;
		looked++;
		if (may_have_done(h, r, query))
			return r;
	}
	return NULL;
}

/* The call was moved out of a child run of which no record was kept: nobody knows whether that has done it,
 * and the user decides. What is said of such a child run is said of one call. */
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
	} while (leave_to_own(h, guard, record, query, history_difference(h, record, query, NULL)) &&
	    !history_free(record));
	call = history_text(h, record->call);
	if (!history_unused_by_any(record))
		return refuse_asked_again(h, record, query, r, err);
	if (!is_decided(h, record, guard, query)) {
		add_answers(h, record, history_prefix(h), call, query, "to do it again, or to take it as done, ", &answers);
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

struct decision_search {
	struct history *history;
	struct recalled *recalled;
};

static int
history_read_decision(void *context, const struct placed *placed, struct error *err)
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
	m.watch = history_read_decision;
	m.context = &search;
	decided = model_read_file(&m, h->text + source->path, err);
	model_free(&m);
	return decided;
}

/* ---- what awf-step asks ---- */

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

/* The named variable is one in which the two recorded calls differ: ignoring another would not
 * distinguish them. */
static int
refuse_alike(const struct history *h, const struct same *same, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	const struct index_record *record = same->record;
	const struct recorded_marks marks = history_marks(h, record);
	const struct recorded_marks other = history_marks(h, same->other != NULL ? same->other : record);
	const char *call = history_text(h, record->call);
	struct buffer name = BUFFER_INIT, why = BUFFER_INIT;

	if (history_difference(h, record, query, NULL) == -1)
		buffer_text(&why, "their directories and variables are not known");
	else if ((!marks_paths_differ(query->marks, &marks, &other, &name) &&
	    marks_same_paths(query->marks, &marks, &name)) || buffer_equal(&name, MARKS_DIRECTORY))
		buffer_text(&why, "their directories were new");
	else
		buffer_format(&why, "%s was a new path: --ignore-env %s if no call depends on it",
		    buffer_string(&name), buffer_string(&name));
	buffer_byte(&why, ')');
	add_answers(h, record, history_prefix(h), call, query, "", &why);
	error_set(err, ERROR_WAITING, call, "has changed something before, and nothing tells which of the "
	    "recorded calls of this name it is (%s", buffer_string(&why));
	memcpy(r->compared, record->root, ID_SIZE);
	buffer_free(&name);
	buffer_free(&why);
	return -1;
}

/* Nothing tells which of several records is the call's: records that may have changed something
 * are asked about, anything else is made anew. */
static int
claim_alike(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct same *same, const struct recall_query *query, struct recalled *r, struct error *err)
{
	struct index_record *record = same->record;
	int status;

	if (is_decided(h, record, guard, query)) {
		status = history_fill_recalled(h, record, r, err);
		return status == 1 ? decide_anyhow(record, r) : status;
	}
	if (record->began || record->child)
		return refuse_alike(h, same, query, r, err);
	note_anew(h, key, query);
	memcpy(r->root, record->root, ID_SIZE);
	return 0;
}

/* In a parallel group that was edited a branch may be at another position: finds the nearest
 * record of an identical branch. */
static void
find_branch(struct history *h, unsigned char *key, const unsigned char *guard, const struct recall_query *query,
    struct same *same)
{
	unsigned char other[DIGEST_BYTES];

	for (int64_t i = 2; same->record == NULL && i < BRANCHES_AWAY; i++) {
		struct recall_query moved;

		if (!move_branch(h, query, i, &moved, other))
			continue;
		find_same(h, other, guard, query, same);
		if (same->record != NULL)
			memcpy(key, other, sizeof other);
	}
}

/* Finds the record that the call has asked about and that the user has told this call to skip.
 * If the user has also said that calls of its step are new, the call must have the record's
 * input. A record in doubt must be named twice. */
static struct index_record *
find_answered(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	const bool new_step = is_new(h, key, guard, query);

	for (size_t i = history_bound(h, key, NULL); history_same_key(h, i, key); i++) {
		struct index_record *r = &h->records[i];

		if (r->decided == RECALL_SKIP && (!r->doubtful || r->skipped_twice) && !r->child &&
		    is_asker(h, r, guard, query) &&
		    (!new_step || r->given == index_digest(query->input_sha256)) &&
		    history_unused_by_any(r) && history_lend(h, r))
			return r;
	}
	return NULL;
}

static int
claim_answered(struct history *h, struct index_record *record, struct recalled *r, struct error *err)
{
	int status;

	r->lent = true;
	status = history_fill_recalled(h, record, r, err);
	return status == 1 ? use_decided(record, r) : status;
}

/* A child run is given another input than the recorded one: the record may belong to another
 * call that is about to come, so this one waits a little. Returns whether that call has come. */
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

/* Whether the record is of a child run that ran a text: for one that ran a file, the record has
 * its path. */
static bool
ran_text(struct history *h, const struct index_record *r)
{
	struct recalled_event started = { .turn = -1 };
	bool text = r->child && history_line(h, &r->started, &started, NULL) == 0 &&
	    span_member(started.view.payload, KEY_FILES).at == NULL;

	recalled_event_free(&started);
	return text;
}

/* Whether the text of the record's child run, which an edit may have changed, may be this one now. */
static bool
may_be_edited(struct history *h, const struct index_record *r, const struct recall_query *query, size_t alike)
{
	return ran_text(h, r) && (alike >= TEXT_ALIKE_LEAST || history_comparable(r, query));
}

/* Finds the free record of a child run of this name whose command, or inputs, are the most similar. edited:
 * of those that ran a text which may have been edited into this one, and if there are several, all of which is
 * in this one, or has it all; else of those that have changed
 * something. */
static struct index_record *
find_like_child(struct history *h, const unsigned char *key, const struct recall_query *query, bool edited)
{
	struct index_record *found = NULL;
	size_t most = 0, looked = 0, count = 0;

	for (size_t i = history_bound(h, key, NULL); history_same_key(h, i, key) && looked < DEFINITIONS_MOST; i++) {
		struct index_record *r = &h->records[i];
		size_t alike;

		count++;
		if (!r->child || r->named || !history_unused_by_any(r) || history_likeness(h, r, query) == ANOTHER)
			continue;
		looked++;
		alike = history_alike(h, r, query);
		if (edited ? !may_be_edited(h, r, query, alike) : !history_child_changed(h, r))
			continue;
		if (found == NULL || alike > most || (alike == most && history_nearer(r, found, query))) {
			found = r;
			most = alike;
		}
	}
	/* One of several, which may be another one's: the user is asked. */
	return edited && count > 1 && most < ALIKE_WHOLE ? NULL : found;
}

/* The child run continues, and the calls in it are compared one by one. */
static int
continue_child(struct history *h, struct index_record *record, struct recalled *r, struct error *err)
{
	int status = history_fill_recalled(h, record, r, err);

	r->changed = true;
	return status;
}

/* A child run whose text was edited continues. */
static int
claim_edited_text(struct history *h, const unsigned char *key, const struct recall_query *query,
    struct recalled *r, struct error *err)
{
	struct index_record *record;

	if (!query->text || h->head->mode != RECALL_RESUME || !h->head->edited)
		return 0;
	do
		record = find_like_child(h, key, query, true);
	while (record != NULL && !history_mark(h, record));
	if (record == NULL)
		return 0;
	/* Start another run in its place. */
	if (record->end != RECALL_SUCCEEDED && record->decided == RECALL_REDO)
		return 0;
	return continue_child(h, record, r, err);
}

/* A child run that has another command or other inputs than a record that has changed something, though no
 * edit tells why: the user decides whether it is that one, which then continues. */
static int
claim_changed_child(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct recalled *r, struct error *err)
{
	struct index_record *record;

	if (!query->child || h->head->mode != RECALL_RESUME)
		return 0;
	for (;;) {
		record = find_like_child(h, key, query, false);
		if (record == NULL)
			return 0;
		if (leave_to_own(h, guard, record, query, history_difference(h, record, query, NULL)))
			continue;
		if (!is_decided(h, record, guard, query))
			return refuse_changed(h, record, query, r, err);
		if (record->decided == RECALL_REDO ? history_lend(h, record) : history_mark(h, record))
			break;
	}
	return record->decided == RECALL_REDO ? 0 : continue_child(h, record, r, err);
}

/* Finds the record of a child run that this one has asked about, and that the user has said it is, though
 * others of its step are new. */
static struct index_record *
find_answered_child(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	for (size_t i = history_bound(h, key, NULL); query->child && history_same_key(h, i, key); i++) {
		struct index_record *r = &h->records[i];

		if (r->child && r->decided == RECALL_SKIP && is_asker(h, r, guard, query) &&
		    history_unused_by_any(r) && history_mark(h, r))
			return r;
	}
	return NULL;
}

static int
find_claim(struct history *h, const struct recall_query *query, struct recalled *r, struct error *err)
{
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES];
	struct index_record *record, *failed = NULL;
	struct same same;
	const char *call;
	int status;

	memset(r, 0, sizeof *r);
	history_keys(h, query, key, guard);
	do {
		history_keys(h, query, key, NULL);
		find_same(h, key, guard, query, &same);
		if (same.record == NULL && query->member && h->head->edited && h->head->mode == RECALL_RESUME)
			find_branch(h, key, guard, query, &same);
	} while (same.record != NULL && !(same.alike && !is_decided(h, same.record, guard, query)) &&
	    ((same.fit < 0 && leave_to_fitting(h, same.record)) || !history_mark(h, same.record)));
	record = same.record;
	if (record != NULL && !same.alike && is_harmless(h, record) && done_elsewhere(h, key, guard, query)) {
		atomic_store(&record->mark, MARK_FREE);
		failed = record;
		record = NULL;
	}
	if (record != NULL && same.alike && !is_new(h, key, guard, query))
		return claim_alike(h, key, guard, &same, query, r, err);
	if (record == NULL && h->head->mode == RECALL_RESUME && (record = find_answered(h, key, guard, query)) != NULL)
		return claim_answered(h, record, r, err);
	if (record == NULL && h->head->mode == RECALL_RESUME &&
	    (record = find_answered_child(h, key, guard, query)) != NULL)
		return continue_child(h, record, r, err);
	if ((record == NULL || same.alike) && h->head->mode == RECALL_RESUME && is_new(h, key, guard, query)) {
		if (record != NULL && same.alike && is_decided(h, record, guard, query))
			atomic_store(&record->mark, MARK_FREE);
		status = record == NULL ? claim_elsewhere(h, guard, query, true, r, err) : 0;
		if (status == 0)
			note_anew(h, key, query);
		return status;
	}
	if (record == NULL) {
		status = claim_other(h, key, guard, query, r, err);
		if (status == 0)
			status = claim_elsewhere(h, guard, query, false, r, err);
		if (status == 0)
			status = claim_unrecorded(h, guard, query, r, err);
		if (status == 0)
			status = claim_edited_text(h, key, query, r, err);
		if (status == 0)
			status = claim_changed_child(h, key, guard, query, r, err);
		if (status != 0)
			return status;
		/* What was done elsewhere belongs to another call by now. */
		if (failed != NULL && history_mark(h, failed))
			return history_fill_recalled(h, failed, r, err);
		status = claim_changed(h, key, guard, query, r, err);
		if (status == 0 && h->head->mode == RECALL_RESUME)
			note_other(h, key, guard, query, r);
		return status;
	}
	if (h->head->mode == RECALL_RESUME && record->doubtful &&
	    record->decided == RECALL_UNDECIDED) {
		/* awf-run asked about every such call before it started; this check lets none
		 * through. */
		call = history_text(h, record->call);
		atomic_store(&record->mark, MARK_FREE);
		return error_set(err, ERROR_WAITING, call,
		    "may or may not have happened: resume with --redo %s%s or --skip %s%s",
		    history_prefix(h), call, history_prefix(h), call);
	}
	/* Another run is started in its place. */
	if (record->child && record->end != RECALL_SUCCEEDED && record->decided == RECALL_REDO)
		return 0;
	status = history_fill_recalled(h, record, r, err);
	r->fit = same.fit;
	if (status == 1 && record->repeated) {
		r->repeated = true;
		return decide_anyhow(record, r);
	}
	/* If another run began an agent's or a tool's call and the call did not end well, it
	 * starts from the beginning: its conversation is in the other run's transcript, and
	 * continuing would leave it out of this one. */
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

static int
history_claim_call(void *history, const struct recall_query *query, struct recalled *r,
    struct error *err)
{
	int found = find_claim(history, query, r, err);
	const struct history *of = found == 1 && r->elsewhere != NULL ? r->elsewhere : history;

	/* An outcome for a workflow that does not ask for one any more is a failure. */
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

/* ---- looking up calls that are to come ---- */

static bool
is_left_over(struct history *h, size_t i, const struct recall_query *query)
{
	const struct index_record *r = &h->records[i];

	return (r->began || r->runs_calls) && !is_expected(h, i) && history_comparable(r, query) &&
	    history_unused_by_any(r) && history_likeness(h, r, query) != ANOTHER;
}

static bool
left_over(void *history, const struct recall_query *query)
{
	struct history *h = history;
	unsigned char key[DIGEST_BYTES];
	size_t first;

	history_keys(h, query, key, NULL);
	first = history_bound(h, key, NULL);
	if (!history_same_key(h, first, key) || !history_key(h, &h->records[first])->began)
		return false;
	if (h->ahead_key != first)
		h->ahead_key = h->ahead_from = first;
	/* A claim is final: each claimed record is looked at once. */
	while (history_same_key(h, h->ahead_from, key) &&
	    ((!h->records[h->ahead_from].began && !h->records[h->ahead_from].runs_calls) ||
	    is_expected(h, h->ahead_from) ||
	    atomic_load(&h->records[h->ahead_from].mark) == MARK_CLAIMED))
		h->ahead_from++;
	for (size_t i = h->ahead_from; history_same_key(h, i, key); i++)
		if (is_left_over(h, i, query))
			return true;
	return false;
}

static bool
history_expect_call(void *history, const struct recall_query *query)
{
	struct history *h = history;
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES];
	size_t found = SIZE_MAX;

	history_keys(h, query, key, guard);
	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++) {
		if (is_expected(h, i) || !history_free(&h->records[i]) ||
		    history_difference(h, &h->records[i], query, NULL) > 0)
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

/* A record that is left over, to be assigned to an item. */
struct left_record {
	uint64_t distance;           /* between its place and the process's place among the calls
	                                of its name */
	size_t i;
	bool shared;                 /* assigned to an item */
};

static int
compare_left(const void *a, const void *b)
{
	const struct left_record *left = a, *right = b;

	if (left->distance != right->distance)
		return left->distance < right->distance ? -1 : 1;
	return (left->i > right->i) - (left->i < right->i);
}

/* Collects the free records of a key, those of a process in the same place first. */
static struct left_record *
sort_left(const struct history *h, const unsigned char *key, const struct recall_query *query,
    size_t *count)
{
	size_t first = history_bound(h, key, NULL);
	struct left_record *list;

	for (*count = 0; history_same_key(h, first + *count, key);)
		(*count)++;
	list = memory_array(NULL, *count + 1, sizeof *list);
	for (size_t i = 0; i < *count; i++)
		list[i] = (struct left_record){ history_distance(h->records[first + i].occurrence,
			query->occurrence), first + i, false };
	if (*count > 1)
		qsort(list, *count, sizeof *list, compare_left);
	return list;
}

/* Assigns each record to one item. */
static bool
shares_hold(const struct history *h, const int64_t *compared, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (compared[i] == RECALL_COMPARED_WITH_NONE)
			continue;
		if (compared[i] < 1 || (uint64_t)compared[i] > h->head->records)
			return false;
		for (size_t n = 0; n < i; n++)
			if (compared[n] == compared[i])
				return false;
	}
	return true;
}

/* Finds the item for the record: the nearest of the items without a record that were given the
 * same input or, if `any` is set, any input. Returns count if there is none. */
static size_t
find_left_item(const struct index_record *r, const struct recall_item *items, size_t count,
    const int64_t *compared, bool any)
{
	size_t nearest = count;

	for (size_t n = 0; n < count; n++)
		if (compared[n] == RECALL_COMPARED_WITH_NONE &&
		    (any || r->given == index_digest(items[n].input_sha256)) && (nearest == count ||
		    history_distance(items[n].item, r->item) < history_distance(items[nearest].item, r->item)))
			nearest = n;
	return nearest;
}

/* Assigns the records whose item was given the same input or, if `any` is set, the others; a
 * record that waits for a decision is only compared. */
static int64_t
share_records(struct history *h, const struct recall_query *query, const struct recall_item *items,
    size_t count, struct left_record *left, size_t left_count, bool any, int64_t *compared)
{
	int64_t undecided = RECALL_COMPARED_WITH_NONE;

	for (size_t l = 0; l < left_count; l++) {
		const size_t i = left[l].i;
		const struct index_record *r = &h->records[i];
		struct recall_query at = *query;
		size_t n = find_left_item(r, items, count, compared, any);

		if (n == count && !any)
			continue;
		at.item = items[n < count ? n : 0].item;
		if (!left[l].shared && !is_left_over(h, i, &at))
			continue;
		if (!left[l].shared && n < count)
			compared[n] = (int64_t)i + 1;
		left[l].shared |= n < count;
		if (undecided == RECALL_COMPARED_WITH_NONE && !r->runs_calls && r->decided == RECALL_UNDECIDED)
			undecided = (int64_t)i + 1;
	}
	return undecided;
}

/* A call left without a record is new, unless one of the records waits for a decision: the user
 * then says which call that is about. For commands that made other calls, those calls ask one by
 * one. */
static void
share_out(void *history, const struct recall_query *query, const struct recall_item *items,
    size_t count, int64_t *compared)
{
	struct history *h = history;
	unsigned char key[DIGEST_BYTES];
	int64_t undecided;
	struct left_record *left;
	size_t left_count;

	for (size_t i = 0; i < count; i++)
		compared[i] = RECALL_COMPARED_WITH_NONE;
	history_keys(h, query, key, NULL);
	left = sort_left(h, key, query, &left_count);
	/* First the records whose item was given the same input, then those that are assigned to
	 * an item with another one. */
	share_records(h, query, items, count, left, left_count, false, compared);
	undecided = share_records(h, query, items, count, left, left_count, true, compared);
	free(left);
	INVARIANT(shares_hold(h, compared, count));
	for (size_t i = 0; i < count; i++)
		if (compared[i] == RECALL_COMPARED_WITH_NONE)
			compared[i] = undecided;
}

struct recall
history_recall(struct history *h)
{
	return (struct recall){ .mode = (enum recall_mode)h->head->mode,
		.cut_off = h->head->cut_off != 0, .history = h,
		.claim = history_claim_call, .look = history_find_end, .peek = history_read_start,
		.claimed = history_confirm_claim,
		.left_over = left_over, .expect = history_expect_call,
		.share_out = share_out, .decided_since = decided_since };
}
