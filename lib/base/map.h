/*
 * A map from bytes to numbers, for looking up calls and event ids: open
 * addressing, keys copied. Nothing is ever taken out.
 */
#ifndef AWF_BASE_MAP_H
#define AWF_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_entry;

struct map {
	struct map_entry *entries;
	size_t count;
	size_t capacity; /* a power of two, or 0 */
};

#define MAP_INIT { NULL, 0, 0 }

/* Sets what key maps to. */
void map_put(struct map *m, const char *key, size_t len, size_t value);
/* What key maps to, or NULL; valid until the next map_put(). */
const size_t *map_get(const struct map *m, const char *key, size_t len);
void map_free(struct map *m);

#endif
