/*
 * The backlog of a feed: the last stretch of what its streams are sent, made once for all of them.
 * It is a run of bytes in chunks; a stream that stands in it is a position and nothing else, and
 * is sent any number of chunks at once. What all streams have been sent is dropped; who is more
 * than BACKLOG_MOST behind falls out of it, and reads the file by himself.
 */
#ifndef AWF_SERVE_RUNS_BACKLOG_H
#define AWF_SERVE_RUNS_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define BACKLOG_MOST ((size_t)1 << 20)

struct backlog_chunk {
	uint64_t at;             /* its position */
	int64_t from, to;        /* of the file, what it was made of */
};

struct backlog {
	struct buffer bytes;
	uint64_t base;           /* position of the first of them */
	struct backlog_chunk *chunks; /* those that are there, in their order */
	size_t count, room;
};

/* Behind its last byte. */
uint64_t backlog_end(const struct backlog *b);
/* Says that the bytes appended to b->bytes since position at are a chunk, made of the file's
 * bytes [from, to). */
void backlog_add(struct backlog *b, uint64_t at, int64_t from, int64_t to);
/* The position of the chunk that begins with that byte of the file; false: none does. */
bool backlog_find(const struct backlog *b, int64_t offset, uint64_t *at);
/* The chunk that a position is in, or begins with; it is one before the end. */
const struct backlog_chunk *backlog_chunk(const struct backlog *b, uint64_t at);
/* Where that chunk ends. */
uint64_t backlog_chunk_end(const struct backlog *b, const struct backlog_chunk *chunk);
/* The bytes from a position on. */
const char *backlog_bytes(const struct backlog *b, uint64_t at, size_t *len);
/* Drops the chunks that end before a position, or there. */
void backlog_drop(struct backlog *b, uint64_t at);
void backlog_free(struct backlog *b);

#endif
