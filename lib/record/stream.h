/*
 * A stream: lines that come through a pipe, once, in order. Where the bytes can be
 * read again (a file), use the reader.
 */
#ifndef AWF_RECORD_STREAM_H
#define AWF_RECORD_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct stream {
	int fd;
	const char *name;     /* for messages */
	struct buffer bytes;
	size_t next;          /* where the next line begins */
	size_t searched;      /* no LF before here */
	bool ended;
	int64_t lines;        /* handed out so far */
};

void stream_begin(struct stream *s, int fd, const char *name);
/* Whether stream_next() would have to wait for bytes. */
bool stream_waits(struct stream *s);
/* 1: *line and *len (without LF) are set, valid until the next call; 0: the end;
 * -1: *err, ERROR_INVALID_INPUT for a line above 256 MiB. */
int stream_next(struct stream *s, const char **line, size_t *len, struct error *err);
/* Bytes after the last LF, once the end was reached. */
size_t stream_unfinished(const struct stream *s);
void stream_free(struct stream *s);

#endif
