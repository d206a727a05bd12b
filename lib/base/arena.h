/*
 * An arena: memory for many small objects that are freed together. They are allocated one after
 * another in large pieces, never move, and have no overhead.
 */
#ifndef AWF_BASE_ARENA_H
#define AWF_BASE_ARENA_H

#include <stddef.h>

struct arena_piece;

struct arena {
	struct arena_piece *last; /* NULL: nothing was allocated */
};

#define ARENA_INIT { NULL }

/* Allocates size bytes of zeros, aligned for pointers. */
void *arena_zero(struct arena *a, size_t size);
/* A copy of the bytes, with a NUL after them. */
char *arena_copy(struct arena *a, const char *bytes, size_t len);
/* Frees everything. */
void arena_free(struct arena *a);

#endif
