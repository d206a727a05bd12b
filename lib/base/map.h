/*
 * A map from byte strings to numbers, for looking up calls and event ids. Keys are copied, and
 * entries are never removed. An entry needs at most 40 bytes plus its key, apart from spare room
 * in arrays that were doubled.
 */
#ifndef AWF_BASE_MAP_H
#define AWF_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct map_entry;

struct map {
	struct map_entry *entries;
	size_t count;
	uint32_t *table;
	size_t capacity; /* of the table: a power of two, or 0 */
	struct buffer keys;
};

#define MAP_INIT { .entries = NULL }

/* Sets what key maps to. */
void map_put(struct map *m, const char *key, size_t len, size_t value);
/* What key maps to, or NULL; valid until the next map_put(). */
const size_t *map_get(const struct map *m, const char *key, size_t len);
void map_free(struct map *m);

#endif
