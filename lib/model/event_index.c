/*
 * The entries are an array without gaps: when one is removed, the last one takes its place. A hash
 * table of entry numbers, at most three quarters full, finds them by open addressing and linear
 * probing. Removing from the table leaves no tombstone: the entries behind it that would no longer
 * be found move up (Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithm R).
 */
#include "model/event_index.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sodium/crypto_shorthash_siphash24.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "json/scan.h"
#include "transcript/event_keys.h"

#define LEAST 64

static unsigned char secret[crypto_shorthash_siphashx24_KEYBYTES];

static void
make_secret(void)
{
	random_bytes(secret, sizeof secret);
}

struct uuid
bytes_key(const char *bytes, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned char digest[crypto_shorthash_siphashx24_BYTES];
	struct uuid key;

	pthread_once(&once, make_secret);
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

/* The slot where the search for an id begins. */
static size_t
event_index_home(const struct event_index *x, struct uuid id)
{
	uint64_t mixed = (id.high ^ x->seed[0]) * (x->seed[1] | 1);

	mixed ^= mixed >> 32;
	mixed = (mixed ^ id.low) * UINT64_C(0x9E3779B97F4A7C15);
	return (size_t)(mixed >> 32) & (x->capacity - 1);
}

/* The slot of an id in the table, or the free slot where it would be inserted. */
static size_t
event_index_probe(const struct event_index *x, struct uuid id)
{
	size_t at = event_index_home(x, id), mask = x->capacity - 1;

	for (; x->table[at] != 0; at = (at + 1) & mask) {
		const struct uuid *other = &x->entries[x->table[at] - 1].id;

		if (other->high == id.high && other->low == id.low)
			break;
	}
	return at;
}

static void
event_index_grow(struct event_index *x)
{
	size_t capacity = x->capacity == 0 ? LEAST : 2 * x->capacity, entries = capacity / 4 * 3;

	if (x->capacity == 0)
		random_bytes(x->seed, sizeof x->seed);
	x->entries = memory_array(x->entries, entries, sizeof *x->entries);
	x->types = memory_array(x->types, entries, sizeof *x->types);
	INVARIANT(x->count < entries);
	free(x->table);
	x->table = memory_zero(capacity, sizeof *x->table);
	x->capacity = capacity;
	for (size_t i = 0; i < x->count; i++)
		x->table[event_index_probe(x, x->entries[i].id)] = (uint32_t)i + 1;
}

void
event_index_put(struct event_index *x, struct indexed_event event, enum event_type type)
{
	size_t at;

	if (is_zero(event.id))
		return;
	if (4 * (x->count + 1) > 3 * x->capacity)
		event_index_grow(x);
	at = event_index_probe(x, event.id);
	if (x->table[at] == 0)
		x->table[at] = (uint32_t)++x->count;
	x->entries[x->table[at] - 1] = event;
	x->types[x->table[at] - 1] = (uint8_t)type;
	INVARIANT((x->capacity & (x->capacity - 1)) == 0 && 4 * x->count <= 3 * x->capacity);
	INVARIANT(x->table[event_index_probe(x, event.id)] <= x->count);
}

struct indexed_event *
event_index_find(const struct event_index *x, struct uuid id)
{
	uint32_t number;

	if (x->count == 0 || is_zero(id))
		return NULL;
	number = x->table[event_index_probe(x, id)];
	INVARIANT(number <= x->count);
	return number == 0 ? NULL : &x->entries[number - 1];
}

enum event_type
event_index_type(const struct event_index *x, const struct indexed_event *entry)
{
	return (enum event_type)x->types[entry - x->entries];
}

void
event_index_remove(struct event_index *x, struct uuid id)
{
	size_t at, mask = x->capacity - 1;
	uint32_t number;

	if (x->count == 0 || is_zero(id))
		return;
	at = event_index_probe(x, id);
	number = x->table[at];
	if (number == 0)
		return;
	for (size_t i = (at + 1) & mask; x->table[i] != 0; i = (i + 1) & mask) {
		/* Move it to the free slot if its search would pass that slot. */
		if (((i - event_index_home(x,
		    x->entries[x->table[i] - 1].id)) & mask) < ((i - at) & mask))
			continue;
		x->table[at] = x->table[i];
		at = i;
	}
	x->table[at] = 0;

	/* Move the last entry into the gap. */
	if (number != x->count) {
		x->table[event_index_probe(x, x->entries[x->count - 1].id)] = number;
		x->entries[number - 1] = x->entries[x->count - 1];
		x->types[number - 1] = x->types[x->count - 1];
	}
	x->count--;
	INVARIANT(x->table[event_index_probe(x, id)] == 0);
	INVARIANT(number > x->count || x->table[event_index_probe(x,
	    x->entries[number - 1].id)] == number);
}

void
event_index_free(struct event_index *x)
{
	free(x->entries);
	free(x->types);
	free(x->table);
	*x = (struct event_index)EVENT_INDEX_INIT;
}
