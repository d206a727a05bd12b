/*
 * Looks ahead at future calls. The items of a stream may arrive at other positions than in the
 * recording, so a call that matches no record is either new, or a recorded call with another input
 * or definition. This is decided after every record with an exact match among the future calls is
 * reserved for it: the remaining calls are compared with the remaining records. Only the process
 * that reads the stream knows which records it expects.
 */
#include "history/history_claim.h"

#include <stdlib.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "history/words.h"

bool
history_is_expected(const struct history *h, size_t i)
{
	return h->expected != NULL && h->expected[i];
}

static bool
is_left_over(struct history *h, size_t i, const struct recall_query *query)
{
	const struct index_record *r = &h->records[i];

	return (r->began || r->runs_calls) && !history_is_expected(h, i) && history_comparable(r, query) &&
	    history_unused_by_any(r) && history_likeness(h, r, query) != ANOTHER;
}

bool
history_left_over(void *history, const struct recall_query *query)
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
	/* A claim is final: skip each claimed record once and for all. */
	while (history_same_key(h, h->ahead_from, key) &&
	    ((!h->records[h->ahead_from].began && !h->records[h->ahead_from].runs_calls) ||
	    history_is_expected(h, h->ahead_from) ||
	    atomic_load(&h->records[h->ahead_from].mark) == MARK_CLAIMED))
		h->ahead_from++;
	for (size_t i = h->ahead_from; history_same_key(h, i, key); i++)
		if (is_left_over(h, i, query))
			return true;
	return false;
}

bool
history_expect_call(void *history, const struct recall_query *query)
{
	struct history *h = history;
	unsigned char key[DIGEST_BYTES], guard[DIGEST_BYTES];
	size_t found = SIZE_MAX;

	history_keys(h, query, key, guard);
	for (size_t i = history_bound(h, key, guard); history_same_guard(h, i, key, guard); i++) {
		if (history_is_expected(h, i) || !history_free(&h->records[i]) ||
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

/* A remaining record, to be assigned to an item. */
struct left_record {
	uint64_t distance;           /* between its process's position and this process's, among
	                                those with its name */
	size_t i;
	bool shared;                 /* assigned to an item, */
	bool same;                   /* which has its input */
};

static int
compare_left(const void *a, const void *b)
{
	const struct left_record *left = a, *right = b;

	if (left->distance != right->distance)
		return left->distance < right->distance ? -1 : 1;
	return (left->i > right->i) - (left->i < right->i);
}

/* Collects the free records with a key, those of a process at the same position first. */
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
			query->occurrence), first + i, false, false };
	if (*count > 1)
		qsort(list, *count, sizeof *list, compare_left);
	return list;
}

/* Checks that no record is assigned to two items. */
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

/* Finds an item for the record: of the items without a record that have the same input or, if `any`
 * is set, any input, the nearest one. Returns count if there is none. */
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

/* Assigns records to items with the same input or, if `any` is set, with any input. Returns the
 * first record that needs the user's decision, for items that get none. */
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
		left[l].same |= n < count && !any;
		/* A group whose input is none of the recorded ones has one of them all the same, so that
		 * the calls in it are compared. */
		if (undecided == RECALL_COMPARED_WITH_NONE && !(r->runs_calls && left[l].same) &&
		    r->decided == RECALL_UNDECIDED)
			undecided = (int64_t)i + 1;
	}
	return undecided;
}

/* A record and an item whose inputs have words in common. */
struct left_pair {
	size_t alike;
	uint64_t distance;           /* between their positions in the stream */
	size_t record, item;         /* in the lists */
};

static int
compare_pairs(const void *a, const void *b)
{
	const struct left_pair *left = a, *right = b;

	if (left->alike != right->alike)
		return left->alike > right->alike ? -1 : 1;
	if (left->distance != right->distance)
		return left->distance < right->distance ? -1 : 1;
	if (left->record != right->record)
		return left->record < right->record ? -1 : 1;
	return (left->item > right->item) - (left->item < right->item);
}

/* Reads the input of a record; it must be freed after the words. */
static struct words
read_input_words(struct history *h, const struct index_record *r, struct buffer *input)
{
	struct buffer does = BUFFER_INIT;
	const bool read = history_read_words(h, &r->started, &r->input, &does, input);

	buffer_free(&does);
	return words_of(read ? span_of(input->data, input->len) : SPAN_NONE);
}

static struct left_pair *
pair_by_words(struct history *h, const struct recall_item *items, size_t count, const struct left_record *left,
    size_t left_count, const int64_t *compared, size_t *pairs)
{
	struct left_pair *list = memory_array(NULL, count * left_count + 1, sizeof *list);
	struct words *words = memory_array(NULL, count + 1, sizeof *words);

	*pairs = 0;
	for (size_t n = 0; n < count; n++)
		words[n] = words_of(items[n].input);
	for (size_t l = 0; l < left_count; l++) {
		const struct index_record *r = &h->records[left[l].i];
		struct buffer input = BUFFER_INIT;
		struct words recorded;

		if (left[l].shared)
			continue;
		recorded = read_input_words(h, r, &input);
		for (size_t n = 0; n < count; n++) {
			struct words_alike alike;

			if (compared[n] != RECALL_COMPARED_WITH_NONE)
				continue;
			alike = words_compare(&words[n], &recorded);
			if (alike.shared > 0)
				list[(*pairs)++] = (struct left_pair){ alike.shared * ALIKE_WHOLE / (alike.shared + alike.parts),
					history_distance(items[n].item, r->item), l, n };
		}
		words_free(&recorded);
		buffer_free(&input);
	}
	for (size_t n = 0; n < count; n++)
		words_free(&words[n]);
	free(words);
	return list;
}

/* Assigns records to items whose inputs have the most words in common: an item that has a time too has another
 * input in each attempt. All of them were given the same words around those that tell them apart, so the best pair
 * comes first. Nothing is assigned if there are too many to be compared. */
static void
share_by_words(struct history *h, const struct recall_query *query, const struct recall_item *items, size_t count,
    struct left_record *left, size_t left_count, int64_t *compared)
{
	struct left_pair *list;
	size_t pairs;

	if (count > DEFINITIONS_MOST || left_count > DEFINITIONS_MOST)
		return;
	list = pair_by_words(h, items, count, left, left_count, compared, &pairs);
	if (pairs > 1)
		qsort(list, pairs, sizeof *list, compare_pairs);
	for (size_t i = 0; i < pairs; i++) {
		const struct left_pair *pair = &list[i];
		struct recall_query at = *query;

		at.item = items[pair->item].item;
		if (left[pair->record].shared || compared[pair->item] != RECALL_COMPARED_WITH_NONE ||
		    !is_left_over(h, left[pair->record].i, &at))
			continue;
		compared[pair->item] = (int64_t)left[pair->record].i + 1;
		left[pair->record].shared = true;
	}
	free(list);
}

void
history_share_out(void *history, const struct recall_query *query, const struct recall_item *items,
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
	/* First assign records to items with the same input, then to those with a similar one, then
	 * the remaining ones. */
	share_records(h, query, items, count, left, left_count, false, compared);
	share_by_words(h, query, items, count, left, left_count, compared);
	undecided = share_records(h, query, items, count, left, left_count, true, compared);
	free(left);
	INVARIANT(shares_hold(h, compared, count));
	for (size_t i = 0; i < count; i++)
		if (compared[i] == RECALL_COMPARED_WITH_NONE)
			compared[i] = undecided;
}
