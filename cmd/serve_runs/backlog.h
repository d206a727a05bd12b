/*
 * The backlog of a feed: the latest part of what is sent to its streams, made once for all of them.
 * It consists of bytes, divided into chunks. A stream in the backlog has only a position there, and
 * is sent any number of chunks at once. What all streams have been sent is dropped; a stream that
 * is more than BACKLOG_MOST behind leaves the backlog, and reads the file by itself.
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
	int64_t from, to;        /* the part of the file from which the chunk was made */
};

struct backlog {
	struct buffer bytes;
	uint64_t base;           /* position of the first byte */
	struct backlog_chunk *chunks; /* in the order of their positions */
	size_t count, room;
};

/* The position after its last byte. */
uint64_t backlog_end(const struct backlog *b);
/* Makes a chunk of the bytes that were appended to b->bytes from position at on; they were made
 * from the bytes [from, to) of the file. */
void backlog_add(struct backlog *b, uint64_t at, int64_t from, int64_t to);
/* Sets *at to the position of the chunk that was made from the file's bytes at offset; false if
 * there is none. */
bool backlog_find(const struct backlog *b, int64_t offset, uint64_t *at);
/* The chunk that contains a position, which is before the end of the backlog. */
const struct backlog_chunk *backlog_chunk(const struct backlog *b, uint64_t at);
/* Where that chunk ends. */
uint64_t backlog_chunk_end(const struct backlog *b, const struct backlog_chunk *chunk);
/* The bytes from a position on. */
const char *backlog_bytes(const struct backlog *b, uint64_t at, size_t *len);
/* Drops the chunks that end at a position or before it. */
void backlog_drop(struct backlog *b, uint64_t at);
void backlog_free(struct backlog *b);

#endif
