/*
 * Finds the record of a call: one with the same key and guard, or one that an edit has made
 * different: with other variables, under another name or in another place, with other words, at
 * another position of a group. Nothing is claimed here. The first record of a guard counts how many
 * records at the front of the guard's records are finally claimed; a search begins after these.
 */
#include "history/history_claim.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/model.h"
#include "transcript/call.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define BRANCHES_AWAY INT64_C(128) /* branch positions to try, half of them before the call's
                                      position and half after it */

/* Whether b is to be tried before a for a call of this item. Records of last tries come before
 * those of tries that were repeated. Then the nearest item comes first; for the same item the last
 * attempt, because its own records are listed beside those that it has not reused; for the same
 * attempt the nearest occurrence. Among equals the lowest index comes first. */
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

/* The lines of a record of a child run, and what they say of its input. */
struct given {
	struct recalled_event started, end, original;
	struct span input;           /* absent: it is not known */
};

static bool
read_given(struct history *h, const struct index_record *r, struct given *g)
{
	*g = (struct given){ .started = { .turn = -1 }, .end = { .turn = -1 }, .original = { .turn = -1 } };
	if (history_line(h, &r->started, &g->started, NULL) != 0 || history_line(h, &r->completed, &g->end, NULL) != 0 ||
	    history_line(h, &r->original, &g->original, NULL) != 0)
		return false;
	if (g->end.line.len > 0)
		g->input = span_member(g->end.view.payload, KEY_STDIN);
	if (g->input.at == NULL && g->original.line.len > 0)
		g->input = span_member(g->original.view.payload, KEY_STDIN);
	if (g->input.at == NULL)
		g->input = span_member(g->started.view.payload, KEY_STDIN);
	return true;
}

static void
given_free(struct given *g)
{
	recalled_event_free(&g->started);
	recalled_event_free(&g->end);
	recalled_event_free(&g->original);
}

bool
history_given(struct history *h, const struct index_record *r, char sha256[DIGEST_SIZE])
{
	struct given g;
	const bool known = read_given(h, r, &g) && span_copy(span_member(g.input, KEY_SHA256), sha256, DIGEST_SIZE);

	given_free(&g);
	return known;
}

/* recall_query.fits for a record. */
static int
record_fit(struct history *h, const struct index_record *r, const struct recall_query *query)
{
	char run_id[ID_SIZE];
	struct given g;
	int fit = 0;

	if (query->fits == NULL || !r->child || h->head->mode != RECALL_RESUME)
		return 0;
	if (read_given(h, r, &g) && event_copy_id(g.started.view.child_run_id, run_id))
		fit = query->fits(query->fits_context, run_id, g.input);
	given_free(&g);
	return fit;
}

bool
history_kept_nothing(struct history *h, const struct index_record *r)
{
	struct recalled_event started = { .turn = -1 };
	bool nothing = false;

	if (r->child && history_line(h, &r->started, &started, NULL) == 0)
		nothing = span_true(span_member(started.view.payload, KEY_NO_TRANSCRIPT));
	recalled_event_free(&started);
	return nothing;
}

/* Considers a free record that matches the call. */
static void
history_consider_record(struct history *h, struct same *same, struct index_record *r,
    uint64_t exact, const struct recall_query *query)
{
	const struct recorded_marks marks = history_marks(h, r);
	bool is_exact = r->exact == 0 || history_has_no_marks(query) ||
	    (r->exact == exact && exact != MARKS_NEVER_EXACT) ||
	    marks_same_paths(query->marks, &marks, NULL);
	const int fit = record_fit(h, r, query);

	/* Of one that was killed the input is not known either: it was perhaps that of the call in its place. */
	if ((fit < 0 || (fit == 0 && query->given && r->occurrence != query->occurrence)) && history_kept_nothing(h, r))
		return;
	if (is_exact && !same->exact && same->record != NULL) {
		*same = (struct same){ r, true, false, NULL, fit };
		return;
	}
	if (same->record != NULL && !is_exact && same->exact)
		return;
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

/* Considers the free records with a key, guard and identity, starting with the first one. Records
 * at the front that are finally claimed are skipped in later searches, so that a name that is
 * called thousands of times with the same input is not searched from its first record each time. */
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
		/* No later record can come before this one. */
		if (same->record != NULL && same->exact && !same->record->superseded &&
		    same->record->item == query->item && (query->fits == NULL || same->fit > 0))
			break;
	}
	INVARIANT(same->record == NULL || history_same_guard(h, (size_t)(same->record - h->records), key,
	    guard));
	atomic_store(&h->records[first].settled, settled);
}

/* Considers all records of a guard, whatever their marks: all identities of the guard, one after
 * the other. */
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

/* Considers records whose marks cannot be compared. Older versions recorded no marks: then a record
 * can be identified if only one process made such a call. If the digests were made with the key of
 * another storage, no record can be identified. */
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

bool
history_is_harmless(const struct history *h, const struct index_record *r)
{
	return h->head->mode == RECALL_RESUME && !r->changed && !r->child && !r->doubtful && r->end != RECALL_SUCCEEDED;
}

/* Prefers a record that matches equally well but has done something, if the found one has not, where a variable
 * distinguished them that is now ignored. Of records that nothing distinguishes the nearest is the call's: the others
 * may have read what nobody recorded, such as a file. */
static void
prefer_done(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query, struct same *same)
{
	struct index_record *done = NULL;

	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++) {
		struct index_record *r = &h->records[i];

		if (r->identity != same->record->identity && history_free(r) &&
		    (!history_is_harmless(h, r) || r->encloses) && history_difference(h, r, query, NULL) == 0 &&
		    comes_before(r, done, query))
			done = r;
	}
	if (done != NULL)
		*same = (struct same){ .record = done, .exact = true };
}

/* Whether a call differs from a record in nothing, or in functions that distinguish no calls: they were edited. */
static bool
history_agrees(struct history *h, const struct index_record *r, const struct recall_query *query)
{
	struct buffer names = BUFFER_INIT;
	bool agrees = history_difference(h, r, query, &names) >= 0;
	const char *at = buffer_string(&names), *line;
	size_t len;

	while (agrees && (line = text_part(&at, '\n', &len)) != NULL) {
		char *name = memory_copy(line, len);

		agrees = len == 0 || marks_is_function(name);
		free(name);
	}
	agrees = agrees && (names.len == 0 || !history_tells_apart(h, query->marks, buffer_string(&names), r, false));
	buffer_free(&names);
	return agrees;
}

void
history_find_same(struct history *h, const unsigned char *key, const unsigned char *guard,
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
		if (!same->alike && same->fit == 0 && history_is_harmless(h, same->record) && !same->record->encloses)
			prefer_done(h, key, guard, query, same);
		return;
	}
	/* A variable that was set in one attempt may have been inherited in the other. */
	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++)
		if (history_free(&h->records[i]) && history_agrees(h, &h->records[i], query))
			history_consider_record(h, same, &h->records[i], exact, query);
	if (same->record == NULL)
		find_old(h, key, guard, query, same);
	/* A replay runs in another environment: differences in variables do not separate a call
	 * from its record. */
	if (replay && same->record == NULL)
		find_unmarked(h, key, guard, query, same);
	same->alike &= !replay;
}

bool
history_is_paid(const struct index_record *r)
{
	return r->event_count > 0;
}

struct index_record *
history_find_differing(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	struct index_record *found = NULL;

	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++) {
		struct index_record *r = &h->records[i];

		/* A record that ended without a result, and in which no call could find its own
		 * record, is left to the call that matches it exactly. */
		if (!r->changed && !r->child && !r->encloses && !r->runs_calls && !history_is_paid(r) &&
		    r->decided == RECALL_UNDECIDED)
			continue;
		if (history_unused_by_any(r) && history_nearer(r, found, query) && history_likeness(h, r, query) == DIFFERING)
			found = r;
	}
	return found;
}

/* Appends the names in a chain of calls: a/b for a:0:0/b:1:0. */
static void
add_names(struct buffer *out, const char *chain)
{
	for (const char *at = chain; *at != '\0'; at += strcspn(at, "/"), at += *at == '/')
		buffer_format(out, "%s%.*s", out->len > 0 ? "/" : "", (int)strcspn(at, ":/"), at);
}

const struct index_record *
history_find_root(const struct history *h, const char *root)
{
	for (size_t i = 0; *root != '\0' && i < h->head->records; i++)
		if (strcmp(h->records[i].root, root) == 0)
			return &h->records[i];
	return NULL;
}

/* Whether its own call has taken over its result, so that nothing in it is made anew. */
static bool
is_taken_whole(const struct index_record *r)
{
	return !history_free(r) && r->end == RECALL_SUCCEEDED;
}

bool
history_is_in_whole(const struct history *h, const struct index_record *record)
{
	while ((record = history_find_root(h, record->around)) != NULL)
		if (is_taken_whole(record) && !record->outdated)
			return true;
	return false;
}

/* Of the command of a child run leaves its text ("/bin/sh -c TEXT NAME ..."), or its file without the directory and
 * what follows ("/bin/sh /.../NAME.awf ..."). */
static void
keep_child_text(struct buffer *command, const char *name)
{
	char *all = buffer_take(command), *text = strstr(all, " -c "), *file = memory_format("/%s", name), *end = NULL;
	const size_t len = strlen(name);

	for (char *at = text; at != NULL && (at = strchr(at + 1, ' ')) != NULL;)
		if (strncmp(at + 1, name, len) == 0 && (at[len + 1] == ' ' || at[len + 1] == '\0'))
			end = at;
	if (end != NULL)
		buffer_append(command, text + strlen(" -c "), (size_t)(end - text) - strlen(" -c "));
	else
		buffer_text(command, strstr(all, file) != NULL ? strstr(all, file) + 1 : all);
	free(file);
	free(all);
}

/* Whether the text of a call, or a program that it ran and that is as it was, contains that of the record, which was
 * made in it; for a query of another name, whether it has at least the name of the step, as what a shell makes of
 * its command is not in a text. */
static bool
contains_record(struct history *h, const struct index_record *around, const struct index_record *record,
    const struct recall_query *query)
{
	char *name = call_id_name(history_text(h, record->call));
	struct recalled_event started = { .turn = -1 };
	struct buffer does = BUFFER_INIT;
	bool contains;

	if (history_line(h, &record->started, &started, NULL) == 0)
		history_describe(&does, started.view.payload);
	if (record->child)
		keep_child_text(&does, name);
	contains = history_text_contains(h, around, record->child ? NULL : name, buffer_string(&does), !around->outdated) ||
	    (!record->child && strcmp(name, query->name) != 0 &&
	    history_text_contains(h, around, name, NULL, !around->outdated));
	recalled_event_free(&started);
	buffer_free(&does);
	free(name);
	return contains;
}

bool
history_is_used(struct history *h, const struct index_record *record, const struct recall_query *query)
{
	const struct index_record *around = record;
	bool used = !history_unused_by_any(record);

	while (!used && (around = history_find_root(h, around->around)) != NULL)
		used = is_taken_whole(around) && contains_record(h, around, record, query);
	return used;
}

/* Whether a call that encloses the record was edited and made again: then the calls in the record
 * may now be in any call. */
static bool
around_edited(const struct history *h, const struct index_record *r)
{
	while ((r = history_find_root(h, r->around)) != NULL)
		if (r->edited || (atomic_load(&r->edited_now) != 0 && history_free(r) && !history_unused_by_any(r)))
			return true;
	return false;
}

bool
history_has_names_of(const struct history *h, const struct index_record *r, const struct recall_query *query)
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

struct index_record *
history_find_moved(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	struct index_record *found = NULL;

	if (query->member || (!h->head->edited && history_same_key(h, history_bound(h, key, NULL), key)))
		return NULL;
	for (size_t i = 0; i < h->head->records; i++) {
		struct index_record *r = &h->records[i];

		if ((!r->changed && !r->child) || memcmp(r->guard, guard, DIGEST_BYTES) != 0 ||
		    memcmp(r->key, key, DIGEST_BYTES) == 0 || !history_nearer(r, found, query) ||
		    history_is_used(h, r, query) || history_likeness(h, r, query) == ANOTHER)
			continue;
		/* If the names are the same, it is a call of another item or iteration of the same
		 * unedited group. */
		if (!history_has_names_of(h, r, query) || around_edited(h, r))
			found = r;
	}
	/* If no file was edited, a call of this step for another item of its group shows that the name is not new. */
	for (size_t i = 0; found != NULL && !h->head->edited && i < h->head->records; i++)
		if (history_has_names_of(h, &h->records[i], query))
			return NULL;
	return found;
}

struct index_record *
history_find_renumbered(struct history *h, const unsigned char *key, const struct recall_query *query)
{
	struct index_record *found = NULL;
	size_t looked = 0;

	if (!query->effects || query->member || history_same_key(h, history_bound(h, key, NULL), key))
		return NULL;
	for (size_t i = 0; i < h->head->records && looked < DEFINITIONS_MOST; i++) {
		struct index_record *r = &h->records[i];

		if (!r->changed || r->child || history_is_used(h, r, query) || !history_nearer(r, found, query) ||
		    history_likeness(h, r, query) == ANOTHER)
			continue;
		looked++;
		if (history_differs_by_chance(h, r, query))
			found = r;
	}
	return found;
}

/* Whether a call with other words may be compared with the record. If the record's command made
 * other calls and changed nothing itself, it may be compared even after another call has taken its
 * place: those inner calls are compared one by one. */
static bool
is_open_to_compare(const struct index_record *r)
{
	return history_unused_by_any(r) ||
	    (r->runs_calls && r->decided == RECALL_UNDECIDED && history_free(r));
}

struct index_record *
history_find_changed(struct history *h, const unsigned char *key, const unsigned char *guard,
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
	/* It is the only record with its name, in a run whose files were edited: its words and a
	 * variable in them may have been edited together. */
	only = h->head->edited && !history_same_key(h, first + 1, key);
	for (size_t i = first; history_same_key(h, i, key); i++) {
		struct index_record *r = &h->records[i];
		enum likeness like;
		size_t text;

		if ((same_input && r->given != given) ||
		    (!r->began && !r->runs_calls && h->head->mode != RECALL_REPLAY) ||
		    !history_comparable(r, query) || !is_open_to_compare(r) || history_is_expected(h, i))
			continue;
		/* The unchanged call may still come. */
		if (r->named && h->head->mode == RECALL_RESUME && r->definition != definition)
			continue;
		/* Records with the call's own input and definition were considered before. */
		like = history_likeness(h, r, query);
		if ((like == ANOTHER && !only) || (like != LIKE && memcmp(r->guard, guard, DIGEST_BYTES) == 0))
			continue;
		/* If many calls share a command that was edited, or an input that has a time, each has
		 * the most words of its own record. */
		text = 0;
		if (h->head->mode == RECALL_RESUME && memcmp(r->guard, guard, DIGEST_BYTES) != 0 && looked++ < DEFINITIONS_MOST)
			text = history_has_words_of(h, r, query);
		if (h->head->mode == RECALL_RESUME) {
			/* Records with another guard too: prefer a call in the same place with the
			 * same variables. */
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

/* The query and key for the branch i / 2 positions after or, for an odd i, before; false: there is
 * no such position. */
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

struct index_record *
history_find_changed_branch(struct history *h, const unsigned char *key, const unsigned char *guard,
    const struct recall_query *query)
{
	struct index_record *found = history_find_changed(h, key, guard, query, false), *r;
	size_t most = found == NULL ? TEXT_ALIKE_LEAST - 1 : history_alike(h, found, query), alike;
	unsigned char other[DIGEST_BYTES];

	for (int64_t i = 2; i < BRANCHES_AWAY; i++) {
		struct recall_query moved;

		if (!move_branch(h, query, i, &moved, other))
			continue;
		r = history_find_changed(h, other, guard, &moved, false);
		if (r == NULL || (alike = history_alike(h, r, query)) <= most)
			continue;
		found = r;
		most = alike;
	}
	return found;
}

void
history_find_branch(struct history *h, unsigned char *key, const unsigned char *guard, const struct recall_query *query,
    struct same *same)
{
	unsigned char other[DIGEST_BYTES];

	for (int64_t i = 2; same->record == NULL && i < BRANCHES_AWAY; i++) {
		struct recall_query moved;

		if (!move_branch(h, query, i, &moved, other))
			continue;
		history_find_same(h, other, guard, query, same);
		if (same->record != NULL)
			memcpy(key, other, sizeof other);
	}
}
