/*
 * The look-up of calls that are to come. The items of a stream may come at other
 * positions than before, so that a call which is like none of the records is either new, or
 * one of those that have changed something, with another input or definition now. Which
 * one is known as soon as every such record has found who is the same: what is left over
 * is what the others are compared with.
 *
 * Which records are expected is known to the process alone whose stream it is.
 */
#include "run/history_parts.h"

#include "base/memory.h"

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

bool
history_left_over(void *history, const struct recall_query *query)
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

bool
history_expect(void *history, const struct recall_query *query)
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

/* The item without a record that is nearest to this one's; count: each has one. */
static size_t
nearest_item(const struct index_record *r, const int64_t *items, size_t count,
    const int64_t *compared)
{
	size_t found = count;

	for (size_t i = 0; i < count; i++)
		if (compared[i] == RECALL_COMPARED_WITH_NONE && (found == count ||
		    history_distance(items[i], r->item) < history_distance(items[found], r->item)))
			found = i;
	return found;
}

/* A call that is left without a record is new, unless one of them waits for a decision:
 * which of the calls that is about, the user is to say. */
void
history_share_out(void *history, const struct recall_query *query, const int64_t *items,
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
		size_t nearest = nearest_item(&h->records[i], items, count, compared);

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
