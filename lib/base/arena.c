/* A request that is larger than a piece gets a piece of its own. */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"

#define PIECE_SIZE ((size_t)64 << 10)

struct arena_piece {
	struct arena_piece *before;
	size_t used, size;
	void *bytes[];
};

/* Allocates size bytes, aligned to a multiple of align. */
static char *
arena_allocate(struct arena *a, size_t size, size_t align)
{
	struct arena_piece *piece = a->last;
	INVARIANT(piece == NULL || piece->used <= piece->size);
	size_t at = piece != NULL ? (piece->used + align - 1) / align * align : 0;

	if (piece == NULL || at > piece->size || size > piece->size - at) {
		size_t room = size > PIECE_SIZE ? size : PIECE_SIZE;

		piece = memory_grow(NULL, sizeof *piece + room);
		*piece = (struct arena_piece){ .before = a->last, .size = room };
		a->last = piece;
		at = 0;
	}
	piece->used = at + size;
	INVARIANT(piece->used <= piece->size && (uintptr_t)((char *)piece->bytes + at) % align == 0);
	return (char *)piece->bytes + at;
}

void *
arena_zero(struct arena *a, size_t size)
{
	return memset(arena_allocate(a, size, sizeof(void *)), 0, size);
}

char *
arena_copy(struct arena *a, const char *bytes, size_t len)
{
	char *copy = arena_allocate(a, len + 1, 1);

	memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}

void
arena_free(struct arena *a)
{
	for (struct arena_piece *piece = a->last, *before; piece != NULL; piece = before) {
		before = piece->before;
		free(piece);
	}
	a->last = NULL;
}
