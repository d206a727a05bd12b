/*
 * What a call has to do with a record, by what both depended on besides their input and definition. A
 * variable or a directory tells calls apart if calls of one attempt had several: a call that has another
 * is another then. A time or an id that is new for each call says nothing of calls whose words tell them
 * apart already. That a file of the run has a value in it says nothing: it may stand there for anything.
 */
#include "history/history_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

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

/* Whether calls of one attempt had different values of the variable: it tells calls apart, as FILE
 * does in a loop over files. What all have alike, such as the time of the start, says nothing of which
 * call is which. */
static bool
values_differ(const struct history *h, const char *name, const unsigned char *guard)
{
	const struct index_record **firsts = NULL; /* of each attempt, the first call that has it */
	size_t count = 0, known;
	bool differ = false;

	for (size_t i = 0; !differ && i < h->head->records; i++) {
		const struct index_record *r = &h->records[i];
		const struct recorded_marks marks = history_marks(h, r);

		if (!marks_have(&marks, name) || (guard != NULL && memcmp(r->guard, guard, DIGEST_BYTES) != 0))
			continue;
		for (known = 0; known < count && firsts[known]->attempt != r->attempt;)
			known++;
		if (known < count) {
			const struct recorded_marks first = history_marks(h, firsts[known]);

			differ = marks_recorded_differ(&first, &marks, name);
		} else {
			firsts = memory_array(firsts, count + 1, sizeof *firsts);
			firsts[count++] = r;
		}
	}
	free(firsts);
	return differ;
}

/* Remembered of the names that were last asked for. */
bool
history_tells_apart(struct history *h, const char *name, const unsigned char *guard)
{
	struct history_name *known = h->names;

	for (size_t i = 0; i < HISTORY_NAMES; i++)
		if (known[i].name != NULL && strcmp(known[i].name, name) == 0 && known[i].of_guard == (guard != NULL) &&
		    (guard == NULL || memcmp(known[i].guard, guard, DIGEST_BYTES) == 0))
			return known[i].apart;
	known += h->next_name++ % HISTORY_NAMES;
	free(known->name);
	*known = (struct history_name){ .name = memory_text(name), .of_guard = guard != NULL,
		.apart = values_differ(h, name, guard) };
	if (guard != NULL)
		memcpy(known->guard, guard, DIGEST_BYTES);
	return known->apart;
}

bool
history_directory_tells_apart(const struct history *h, const struct index_record *r)
{
	const char *directory = history_text(h, r->directory);

	for (size_t i = 0; i < h->head->records; i++)
		if ((history_same_key(h, i, r->key) || memcmp(h->records[i].guard, r->guard, DIGEST_BYTES) == 0) &&
		    strcmp(history_text(h, h->records[i].directory), directory) != 0 &&
		    h->records[i].attempt == r->attempt)
			return true;
	return false;
}

/* Whether a recorded call had the value that a variable has for the call. */
static bool
value_is_recorded(const struct history *h, const struct recall_query *query, const char *name)
{
	bool recorded = false;

	for (size_t i = 0; !recorded && i < h->head->records; i++) {
		const struct recorded_marks marks = history_marks(h, &h->records[i]);
		struct buffer names = BUFFER_INIT;

		if (!marks_have(&marks, name))
			continue;
		recorded = marks_difference(query->marks, &marks, &names) >= 0 &&
		    !text_has_part(buffer_string(&names), '\n', name, strlen(name));
		buffer_free(&names);
	}
	return recorded;
}

/* Of calls with the words of the record, what tells these apart; or what tells others apart, if its value is
 * one of theirs. */
static bool
tells_from(struct history *h, const struct index_record *r, const struct recall_query *query, const char *name)
{
	/* Of a call that is to come what it is given is not known yet. */
	const bool same_words = query->input_sha256 != NULL && query->definition_sha256 != NULL &&
	    r->given == index_digest(query->input_sha256) && r->definition == index_digest(query->definition_sha256);

	if (!same_words)
		return history_tells_apart(h, name, NULL);
	return history_tells_apart(h, name, r->guard) ||
	    (history_tells_apart(h, name, NULL) && value_is_recorded(h, query, name));
}

enum likeness
history_likeness(struct history *h, const struct index_record *r, const struct recall_query *query)
{
	enum likeness found = LIKE;
	struct buffer names = BUFFER_INIT;
	const char *rest, *line;
	size_t len;

	if (h->head->mode == RECALL_RESUME && history_difference(h, r, query, &names) > 0)
		found = DIFFERING;
	rest = buffer_string(&names);
	while (found == DIFFERING && (line = text_part(&rest, '\n', &len)) != NULL) {
		char *name = memory_copy(line, len);

		if (len > 0 && (strcmp(name, MARKS_DIRECTORY) == 0 ? history_directory_tells_apart(h, r) :
		    tells_from(h, r, query, name)))
			found = ANOTHER;
		free(name);
	}
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
