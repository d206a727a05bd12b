/*
 * A power of two of entries, at most half of them used, and linear probing by FNV-1a. Nothing
 * is taken out, so a free entry ends every search. Entries keep their hash: growing moves
 * them without a look at their keys.
 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define CAPACITY_MIN 64

struct map_entry {
	char *key; /* NULL: free */
	size_t len;
	uint64_t hash;
	size_t value;
};

/* FNV-1a. */
static uint64_t
hash_of(const char *key, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)key[i]) * 0x100000001b3u;
	return hash;
}

/* The entry of key, or the free one where it belongs. */
static struct map_entry *
find(const struct map *m, const char *key, size_t len, uint64_t hash)
{
	size_t i = (size_t)hash & (m->capacity - 1);

	while (m->entries[i].key != NULL && (m->entries[i].hash != hash ||
	    m->entries[i].len != len || memcmp(m->entries[i].key, key, len) != 0))
		i = (i + 1) & (m->capacity - 1);
	return &m->entries[i];
}

static void
grow(struct map *m)
{
	struct map old = *m;

	m->capacity = old.capacity == 0 ? CAPACITY_MIN : old.capacity * 2;
	m->entries = memory_zero(m->capacity, sizeof *m->entries);
	for (size_t i = 0; i < old.capacity; i++) {
		const struct map_entry *e = &old.entries[i];

		if (e->key != NULL)
			*find(m, e->key, e->len, e->hash) = *e;
	}
	free(old.entries);
}

void
map_put(struct map *m, const char *key, size_t len, size_t value)
{
	uint64_t hash = hash_of(key, len);
	struct map_entry *e;

	if (m->count >= m->capacity / 2)
		grow(m);
	e = find(m, key, len, hash);
	if (e->key == NULL) {
		*e = (struct map_entry){ memory_copy(key, len), len, hash, 0 };
		m->count++;
	}
	e->value = value;
}

const size_t *
map_get(const struct map *m, const char *key, size_t len)
{
	const struct map_entry *e;

	if (m->capacity == 0)
		return NULL;
	e = find(m, key, len, hash_of(key, len));
	return e->key != NULL ? &e->value : NULL;
}

void
map_free(struct map *m)
{
	for (size_t i = 0; i < m->capacity; i++)
		free(m->entries[i].key);
	free(m->entries);
	*m = (struct map)MAP_INIT;
}
