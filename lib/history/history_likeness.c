/*
 * Compares a call with a record by what both depended on besides input and definition. A variable
 * or a directory distinguishes the calls of a step if two calls of it, in one attempt, differ in it
 * and in nothing else: then a call of this step with another value is another call. What a loop has
 * left in a variable says nothing about the steps after the loop. A time or an id that is new for each call, next
 * to a variable that distinguishes them, is in none of these pairs, since they differ in both; one that is the only
 * difference looks like a time or an id, and does not distinguish them either. It
 * does not count that a value occurs in a file of the run: it may stand there for any reason.
 */
#include "history/history_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "history/words.h"

bool
history_has_no_marks(const struct recall_query *query)
{
	return query->marks == NULL || !query->marks->known;
}

int
history_difference(const struct history *h, const struct index_record *r,
    const struct recall_query *query, struct buffer *names)
{
	const struct recorded_marks recorded = history_marks(h, r);

	return history_has_no_marks(query) ? 0 : marks_difference(query->marks, &recorded, names);
}

/* Whether both chains of calls have the same names: then the last calls are of one step. */
static bool
is_of_one_step(const char *a, const char *b)
{
	for (;;) {
		size_t len = strcspn(a, ":/");

		if (len != strcspn(b, ":/") || memcmp(a, b, len) != 0)
			return false;
		a += strcspn(a, "/");
		b += strcspn(b, "/");
		if (*a == '\0' || *b == '\0')
			return *a == *b;
		a++;
		b++;
	}
}

static bool
same_step(const struct history *h, const struct index_record *a, const struct index_record *b)
{
	return memcmp(a->key, b->key, DIGEST_BYTES) == 0 ||
	    is_of_one_step(history_text(h, a->call), history_text(h, b->call));
}

/* What the calls of an attempt have besides the marks being compared. */
struct rest {
	uint64_t attempt, rest;
};

static bool
rests_differ(const struct history *h, const struct call_marks *m, const char *names,
    const struct index_record *of, bool anywhere)
{
	struct map firsts = MAP_INIT;
	bool differ = false;

	for (size_t i = anywhere ? 0 : history_bound(h, of->key, of->guard);
	    !differ && i < h->head->records && (anywhere || history_same_guard(h, i, of->key, of->guard)); i++) {
		const struct index_record *r = &h->records[i];
		struct recorded_marks marks;
		struct rest rest;
		const size_t *first;

		if (anywhere && (memcmp(r->guard, of->guard, DIGEST_BYTES) != 0 || !same_step(h, r, of)))
			continue;
		marks = history_marks(h, r);
		rest = (struct rest){ (uint64_t)r->attempt, marks_rest_identity(&marks, m, names) };
		first = map_get(&firsts, (const char *)&rest, sizeof rest);
		if (first == NULL) {
			map_put(&firsts, (const char *)&rest, sizeof rest, i);
		} else {
			const struct recorded_marks other = history_marks(h, &h->records[*first]);

			differ = marks_rest_identity(&marks, m, "") != marks_rest_identity(&other, m, "");
		}
	}
	map_free(&firsts);
	return differ;
}

/* Cached for the names that were last asked for. */
bool
history_tells_apart(struct history *h, const struct call_marks *m, const char *names,
    const struct index_record *of, bool anywhere)
{
	struct history_name *known = h->names;

	if (*names == '\0')
		return false;
	for (size_t i = 0; i < HISTORY_NAMES; i++)
		if (known[i].names != NULL && strcmp(known[i].names, names) == 0 && known[i].anywhere == anywhere &&
		    memcmp(known[i].key, of->key, DIGEST_BYTES) == 0 && memcmp(known[i].guard, of->guard, DIGEST_BYTES) == 0)
			return known[i].apart;
	known += h->next_name++ % HISTORY_NAMES;
	free(known->names);
	*known = (struct history_name){ .names = memory_text(names), .anywhere = anywhere,
		.apart = rests_differ(h, m, names, of, anywhere) };
	memcpy(known->key, of->key, DIGEST_BYTES);
	memcpy(known->guard, of->guard, DIGEST_BYTES);
	return known->apart;
}

bool
history_directory_tells_apart(const struct history *h, const struct index_record *r)
{
	const char *directory = history_text(h, r->directory);

	for (size_t i = 0; i < h->head->records; i++)
		if (h->records[i].attempt == r->attempt &&
		    strcmp(history_text(h, h->records[i].directory), directory) != 0 && same_step(h, &h->records[i], r))
			return true;
	return false;
}

/* Whether a variable has the same value in a recorded call of the record's step and in this call. */
static bool
value_is_recorded(const struct history *h, const struct index_record *r, const struct recall_query *query,
    const char *name)
{
	bool recorded = false;

	for (size_t i = 0; !recorded && i < h->head->records; i++) {
		const struct recorded_marks marks = history_marks(h, &h->records[i]);
		struct buffer names = BUFFER_INIT;

		if (!marks_have(&marks, name) || !same_step(h, &h->records[i], r))
			continue;
		recorded = marks_difference(query->marks, &marks, &names) >= 0 &&
		    !text_has_part(buffer_string(&names), '\n', name, strlen(name));
		buffer_free(&names);
	}
	return recorded;
}

/* Whether the record's attempt made no other call with its words. */
static bool
is_single(const struct history *h, const struct index_record *r)
{
	for (size_t i = history_bound(h, r->key, r->guard); history_same_guard(h, i, r->key, r->guard); i++)
		if (&h->records[i] != r && h->records[i].attempt == r->attempt)
			return false;
	return true;
}

/* For a call with the words of a record that its attempt made once in a call: whether a mark in which
 * they differ distinguishes calls of its step elsewhere (in the items of a group), and the call has a
 * value that one of those had. */
static bool
tells_from_others(struct history *h, const struct index_record *r, const struct recall_query *query,
    const char *names)
{
	const char *line;
	bool apart = false;
	size_t len;

	while (!apart && (line = text_part(&names, '\n', &len)) != NULL) {
		char *name = memory_copy(line, len), *one = memory_format("%s\n", name);

		apart = strcmp(name, MARKS_DIRECTORY) == 0 ? history_directory_tells_apart(h, r) :
		    len > 0 && history_tells_apart(h, query->marks, one, r, true) && value_is_recorded(h, r, query, name);
		free(name);
		free(one);
	}
	return apart;
}

/* Of the names, those of variables that the workflow had set for both calls. */
static void
add_names_of_both(const struct index_record *r, const struct history *h, const struct recall_query *query,
    const char *names, struct buffer *out)
{
	const struct recorded_marks marks = history_marks(h, r);
	const char *line;
	size_t len;

	while ((line = text_part(&names, '\n', &len)) != NULL) {
		char *name = memory_copy(line, len);
		bool both = len > 0 && strcmp(name, MARKS_DIRECTORY) == 0;

		for (size_t i = 0; !both && i < query->marks->count; i++)
			both = strcmp(query->marks->list[i].name, name) == 0 && marks_have(&marks, name);
		if (both)
			buffer_format(out, "%s\n", name);
		free(name);
	}
}

/* Whether the value of this call looks like a time, an id or a new path: another call has another, and so has
 * the same call in the next attempt. */
static bool
is_by_chance(const struct recall_query *query, const char *name)
{
	const char *value = strcmp(name, MARKS_DIRECTORY) == 0 ? query->marks->directory : getenv(name);
	struct words words = words_of(span_of(value != NULL ? value : "", value != NULL ? strlen(value) : 0));
	bool chance = words_have_chance(&words);

	words_free(&words);
	return chance;
}

static bool
all_by_chance(const struct recall_query *query, const char *names)
{
	const char *line;
	bool chance = true;
	size_t len;

	while (chance && (line = text_part(&names, '\n', &len)) != NULL) {
		char *name = memory_copy(line, len);

		chance = len == 0 || is_by_chance(query, name);
		free(name);
	}
	return chance;
}

/* Whether the names in which a call differs from a record, one per line, distinguish calls. */
static bool
told_apart(struct history *h, const struct index_record *r, const struct recall_query *query, const char *names)
{
	/* For a call that is to come, its input is not known yet. */
	const bool same_words = query->input_sha256 != NULL && query->definition_sha256 != NULL &&
	    r->given == index_digest(query->input_sha256) && r->definition == index_digest(query->definition_sha256);
	struct buffer both = BUFFER_INIT;
	bool apart;

	/* A variable that only one of them has may have been renamed. */
	add_names_of_both(r, h, query, names, &both);
	apart = !all_by_chance(query, buffer_string(&both)) &&
	    history_tells_apart(h, query->marks, buffer_string(&both), r, false);
	if (!apart && same_words)
		apart = is_single(h, r) && tells_from_others(h, r, query, buffer_string(&both));
	else if (!apart)
		apart = text_has_part(names, '\n', MARKS_DIRECTORY, strlen(MARKS_DIRECTORY)) &&
		    history_directory_tells_apart(h, r);
	buffer_free(&both);
	return apart;
}

enum likeness
history_likeness(struct history *h, const struct index_record *r, const struct recall_query *query)
{
	enum likeness found = LIKE;
	struct buffer names = BUFFER_INIT;

	if (h->head->mode == RECALL_RESUME && history_difference(h, r, query, &names) > 0)
		found = told_apart(h, r, query, buffer_string(&names)) ? ANOTHER : DIFFERING;
	buffer_free(&names);
	return found;
}

bool
history_nearer(const struct index_record *a, const struct index_record *b,
    const struct recall_query *query)
{
	uint64_t of_a, of_b;

	if (b == NULL)
		return true;
	if ((a->decided != RECALL_UNDECIDED) != (b->decided != RECALL_UNDECIDED))
		return a->decided != RECALL_UNDECIDED;
	if (a->superseded != b->superseded)
		return b->superseded;
	if (a->item != b->item)
		return history_distance(a->item, query->item) < history_distance(b->item, query->item);
	of_a = history_distance(a->occurrence, query->occurrence);
	of_b = history_distance(b->occurrence, query->occurrence);
	if (of_a != of_b)
		return of_a < of_b;
	return a->order < b->order;
}
