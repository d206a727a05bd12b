/*
 * Memory for many small things that are let go together: they stand one behind the other in
 * large pieces, stay where they are, and cost no more than their bytes.
 */
#ifndef AWF_BASE_ARENA_H
#define AWF_BASE_ARENA_H

#include <stddef.h>

struct arena_piece;

struct arena {
	struct arena_piece *last; /* NULL: nothing was taken */
};

#define ARENA_INIT { NULL }

/* size bytes of zeros, for what needs no stricter alignment than pointers. */
void *arena_zero(struct arena *a, size_t size);
/* The bytes, with a NUL after them. */
char *arena_copy(struct arena *a, const char *bytes, size_t len);
/* Lets all of it go. */
void arena_free(struct arena *a);

#endif
