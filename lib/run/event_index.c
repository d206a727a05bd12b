/*
 * Open addressing with linear probing. What is taken out leaves no mark: the entries behind
 * it that would not be found any more move up (Knuth, The Art of Computer Programming,
 * volume 3, section 6.4, algorithm R).
 */
#include "run/event_index.h"

#include <stdlib.h>
#include <string.h>

#include <sodium/crypto_shorthash_siphash24.h>

#include "base/memory.h"
#include "json/scan.h"
#include "transcript/event_keys.h"

#define LEAST 64

struct uuid
bytes_key(const char *bytes, size_t len)
{
	static unsigned char secret[crypto_shorthash_siphashx24_KEYBYTES];
	static bool known;
	unsigned char digest[crypto_shorthash_siphashx24_BYTES];
	struct uuid key;

	if (!known)
		random_bytes(secret, sizeof secret);
	known = true;
	crypto_shorthash_siphashx24(digest, (const unsigned char *)bytes, len, secret);
	memcpy(&key, digest, sizeof key);
	return key;
}

struct uuid
event_key(struct span value)
{
	struct uuid key = { 0, 0 };

	if (span_type(value) == 'o')
		value = span_member(value, KEY_EVENT_ID);
	if (span_type(value) == 's' && !uuid_read(value.at + 1, value.len - 2, &key))
		key = bytes_key(value.at, value.len);
	return key;
}

static bool
is_zero(struct uuid id)
{
	return id.high == 0 && id.low == 0;
}

/* Where the search for an id begins. */
static size_t
home(const struct event_index *x, struct uuid id)
{
	uint64_t mixed = (id.high ^ x->seed[0]) * (x->seed[1] | 1);

	mixed ^= mixed >> 32;
	mixed = (mixed ^ id.low) * UINT64_C(0x9E3779B97F4A7C15);
	return (size_t)(mixed >> 32) & (x->capacity - 1);
}

/* The entry of an id, or the free one where it would be. */
static struct indexed_event *
probe(const struct event_index *x, struct uuid id)
{
	size_t at = home(x, id);

	while (!is_zero(x->entries[at].id) &&
	    (x->entries[at].id.high != id.high || x->entries[at].id.low != id.low))
		at = (at + 1) & (x->capacity - 1);
	return &x->entries[at];
}

void
event_index_put(struct event_index *x, struct indexed_event event)
{
	struct indexed_event *entry;

	if (is_zero(event.id))
		return;
	if (4 * (x->count + 1) > 3 * x->capacity) {
		struct event_index larger = *x;

		larger.capacity = x->capacity == 0 ? LEAST : 2 * x->capacity;
		larger.entries = memory_zero(larger.capacity, sizeof *larger.entries);
		if (x->capacity == 0)
			random_bytes(larger.seed, sizeof larger.seed);
		for (size_t i = 0; i < x->capacity; i++)
			if (!is_zero(x->entries[i].id))
				*probe(&larger, x->entries[i].id) = x->entries[i];
		free(x->entries);
		*x = larger;
	}
	entry = probe(x, event.id);
	x->count += is_zero(entry->id);
	*entry = event;
}

struct indexed_event *
event_index_find(const struct event_index *x, struct uuid id)
{
	struct indexed_event *entry;

	if (x->count == 0 || is_zero(id))
		return NULL;
	entry = probe(x, id);
	return is_zero(entry->id) ? NULL : entry;
}

void
event_index_remove(struct event_index *x, struct uuid id)
{
	struct indexed_event *entry = event_index_find(x, id);
	size_t free_at, mask = x->capacity - 1;

	if (entry == NULL)
		return;
	free_at = (size_t)(entry - x->entries);
	for (size_t i = (free_at + 1) & mask; !is_zero(x->entries[i].id); i = (i + 1) & mask) {
		/* It may move up if its search passes the free place. */
		if (((i - home(x, x->entries[i].id)) & mask) < ((i - free_at) & mask))
			continue;
		x->entries[free_at] = x->entries[i];
		free_at = i;
	}
	x->entries[free_at].id = (struct uuid){ 0, 0 };
	x->count--;
}

void
event_index_free(struct event_index *x)
{
	free(x->entries);
	*x = (struct event_index)EVENT_INDEX_INIT;
}
