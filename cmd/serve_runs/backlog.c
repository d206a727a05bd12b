/*
 * Bytes are moved to the front only once the dropped part is as long as the rest, so that each byte
 * is moved once on average; usually everything has been sent and nothing has to be moved. Memory
 * that a burst needed is freed when everything has been sent.
 */
#include "serve_runs/backlog.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"

#define KEPT ((size_t)64 << 10) /* memory that is kept when the backlog is empty */

uint64_t
backlog_end(const struct backlog *b)
{
	return b->base + b->bytes.len;
}

/* Chunks follow each other without a gap, in the buffer and in the file, and each has at least one
 * line. */
static bool
backlog_holds(const struct backlog *b)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct backlog_chunk *chunk = &b->chunks[i];

		if (chunk->at < b->base || chunk->at >= backlog_end(b) || chunk->from >= chunk->to)
			return false;
		if (i > 0 && (chunk->at <= chunk[-1].at || chunk->from < chunk[-1].to))
			return false;
	}
	return b->count <= b->room && (b->count > 0 || b->bytes.len == 0);
}

void
backlog_add(struct backlog *b, uint64_t at, int64_t from, int64_t to)
{
	if (b->count == b->room) {
		b->room = b->room == 0 ? 16 : b->room * 2;
		b->chunks = memory_array(b->chunks, b->room, sizeof *b->chunks);
	}
	b->chunks[b->count++] = (struct backlog_chunk){ at, from, to };
	INVARIANT(backlog_holds(b));
}

bool
backlog_find(const struct backlog *b, int64_t offset, uint64_t *at)
{
	size_t low = 0, high = b->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (b->chunks[middle].from < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == b->count || b->chunks[low].from != offset)
		return false;
	*at = b->chunks[low].at;
	return true;
}

const struct backlog_chunk *
backlog_chunk(const struct backlog *b, uint64_t at)
{
	size_t low = 0, high = b->count;

	/* Find the last chunk that begins at this offset or before it. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (b->chunks[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	INVARIANT(low < b->count && b->chunks[low].at <= at && at <= backlog_end(b));
	return &b->chunks[low];
}

uint64_t
backlog_chunk_end(const struct backlog *b, const struct backlog_chunk *chunk)
{
	return chunk + 1 < b->chunks + b->count ? chunk[1].at : backlog_end(b);
}

const char *
backlog_bytes(const struct backlog *b, uint64_t at, size_t *len)
{
	INVARIANT(at >= b->base && at <= backlog_end(b));
	*len = (size_t)(backlog_end(b) - at);
	return buffer_string(&b->bytes) + (at - b->base);
}

void
backlog_drop(struct backlog *b, uint64_t at)
{
	size_t gone = 0, left, dropped;

	while (gone < b->count && backlog_chunk_end(b, &b->chunks[gone]) <= at)
		gone++;
	dropped = (size_t)((gone < b->count ? b->chunks[gone].at : backlog_end(b)) - b->base);
	left = b->bytes.len - dropped;
	if (dropped < left)
		return;
	b->base += dropped;
	b->count -= gone;
	if (b->count > 0)
		memmove(b->chunks, b->chunks + gone, b->count * sizeof *b->chunks);
	buffer_drop(&b->bytes, dropped);
	INVARIANT(backlog_holds(b) && b->base <= at);
	if (left == 0 && b->bytes.capacity > KEPT)
		buffer_free(&b->bytes);
}

void
backlog_free(struct backlog *b)
{
	buffer_free(&b->bytes);
	free(b->chunks);
	*b = (struct backlog){ .base = 0 };
}
