/*
 * The entries are in one array in the order in which they were added, their keys one after another
 * in one buffer. A hash table of entry numbers finds them: its size is a power of two, at most half
 * of it is used, with linear probing by FNV-1a. Nothing is removed, so a free slot ends every
 * search. Entries store their hash, so the table grows without reading keys.
 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"

#define CAPACITY_MIN 64

struct map_entry {
	size_t key; /* offset of the key */
	size_t value;
	uint32_t len;
	uint32_t hash;
};

/* FNV-1a, folded. */
static uint32_t
hash_of(const char *key, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)key[i]) * 0x100000001b3u;
	return (uint32_t)(hash ^ hash >> 32);
}

/* The slot of a key in the table. It contains the number of the key's entry, counted from 1; or 0
 * if there is no entry, which then belongs there. */
static uint32_t *
map_find_place(const struct map *m, const char *key, size_t len, uint32_t hash)
{
	size_t i = hash & (m->capacity - 1);

	INVARIANT(m->count <= m->capacity / 2);
	for (; m->table[i] != 0; i = (i + 1) & (m->capacity - 1)) {
		const struct map_entry *e = &m->entries[m->table[i] - 1];

		if (e->hash == hash && e->len == len &&
		    (len == 0 || memcmp(m->keys.data + e->key, key, len) == 0))
			break;
	}
	return &m->table[i];
}

static void
map_grow(struct map *m)
{
	m->capacity = m->capacity == 0 ? CAPACITY_MIN : m->capacity * 2;
	m->entries = memory_array(m->entries, m->capacity / 2, sizeof *m->entries);
	free(m->table);
	m->table = memory_zero(m->capacity, sizeof *m->table);
	for (size_t n = 0; n < m->count; n++) {
		size_t i = m->entries[n].hash & (m->capacity - 1);

		while (m->table[i] != 0)
			i = (i + 1) & (m->capacity - 1);
		m->table[i] = (uint32_t)n + 1;
	}
}

/* Whether each key is found and leads to its own entry. */
static bool
map_holds(const struct map *m)
{
	if ((m->capacity & (m->capacity - 1)) != 0 || m->count > m->capacity / 2)
		return false;
	for (size_t n = 0; n < m->count; n++) {
		const struct map_entry *e = &m->entries[n];

		if (e->key + e->len > m->keys.len ||
		    *map_find_place(m, m->keys.data + e->key, e->len, e->hash) != n + 1)
			return false;
	}
	return true;
}

void
map_put(struct map *m, const char *key, size_t len, size_t value)
{
	uint32_t hash = hash_of(key, len), *place;

	INVARIANT(len <= UINT32_MAX && m->count < UINT32_MAX);
	if (m->count >= m->capacity / 2) {
		map_grow(m);
		INVARIANT(map_holds(m));
	}
	place = map_find_place(m, key, len, hash);
	if (*place == 0) {
		m->entries[m->count++] = (struct map_entry){ .key = m->keys.len, .len = (uint32_t)len,
			.hash = hash };
		buffer_append(&m->keys, key, len);
		*place = (uint32_t)m->count;
	}
	m->entries[*place - 1].value = value;
}

const size_t *
map_get(const struct map *m, const char *key, size_t len)
{
	uint32_t at;

	if (m->count == 0)
		return NULL;
	at = *map_find_place(m, key, len, hash_of(key, len));
	return at != 0 ? &m->entries[at - 1].value : NULL;
}

void
map_free(struct map *m)
{
	INVARIANT(map_holds(m));
	free(m->entries);
	free(m->table);
	buffer_free(&m->keys);
	*m = (struct map)MAP_INIT;
}
