/*
 * A map from byte strings to numbers, for looking up calls and event ids. Keys are copied, and
 * entries are never removed. An entry needs at most 40 bytes plus its key, not counting spare room
 * in arrays, which grow by doubling.
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
	size_t capacity; /* size of the table: a power of two, or 0 */
	struct buffer keys;
};

#define MAP_INIT { .entries = NULL }

/* Maps key to value; replaces an earlier value. */
void map_put(struct map *m, const char *key, size_t len, size_t value);
/* The value of key, or NULL; valid until the next map_put(). */
const size_t *map_get(const struct map *m, const char *key, size_t len);
void map_free(struct map *m);

#endif
