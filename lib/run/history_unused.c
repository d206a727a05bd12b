/*
 * What a further attempt has not used of the record: calls that had succeeded and that
 * nobody has claimed, while as many of the same name and place were made anew. Those that the
 * workflow did not come to, or that are inside of a call which was taken over, are none.
 */
#include "run/history_parts.h"

#include <string.h>

#include "base/memory.h"

/* NAME of the call, and how many of it. */
static void
add_name(struct buffer *text, const struct history *h, const struct index_record *first,
    uint64_t count)
{
	const char *call = h->text + (first->call < h->head->text ? first->call : 0);
	const char *name = strrchr(call, '/') != NULL ? strrchr(call, '/') + 1 : call;
	bool redefined = atomic_load(&first->redefined) > 0;

	buffer_format(text, "%s%.*s %llu (another %s)", text->len > 0 ? ", " : "",
	    (int)strcspn(name, ":"), name, (unsigned long long)count,
	    redefined ? "definition" : "input");
}

int64_t
history_unused(const struct history *h, struct buffer *text)
{
	int64_t total = 0;
	size_t next;

	if (h->head->mode != RECALL_RESUME)
		return 0;
	for (size_t first = 0; first < h->head->records; first = next) {
		uint64_t anew = atomic_load(&h->records[first].anew), unused = 0;

		for (next = first; history_same_key(h, next, h->records[first].key); next++)
			unused += h->records[next].end == RECALL_SUCCEEDED && history_free(&h->records[next]);
		if (unused > anew)
			unused = anew;
		if (unused > 0)
			add_name(text, h, &h->records[first], unused);
		total += (int64_t)unused;
	}
	return total;
}
