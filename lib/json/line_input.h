/*
 * Line input: the lines of a pipe, once, in order. For bytes that can be read again (a file), use
 * the reader.
 */
#ifndef AWF_JSON_LINE_INPUT_H
#define AWF_JSON_LINE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

struct line_input {
	int fd;
	const char *name;     /* for messages */
	struct buffer bytes;
	size_t next;          /* where the next line begins */
	size_t searched;      /* there is no LF before this position */
	bool ended;
	int64_t lines;        /* lines returned so far */
};

void line_input_begin(struct line_input *s, int fd, const char *name);
/* One read(2) of the available bytes: its result, and errno. */
ssize_t line_input_read(struct line_input *s);
/* The next complete line, without its LF; the first line also without a byte order mark. 1: *line
 * and *len are valid until the next read; 0: no complete line has been read; -1: it is above 256
 * MiB. */
int line_input_take(struct line_input *s, const char **line, size_t *len);
/* Whether line_input_next() would block. */
bool line_input_waits(struct line_input *s);
/* Reads until a line is complete. 1: as line_input_take(); 0: end of input; -1: *err,
 * ERROR_INVALID_INPUT for a line above 256 MiB. */
int line_input_next(struct line_input *s, const char **line, size_t *len, struct error *err);
/* The number of bytes after the last returned line: at the end of input, those after the last
 * LF. */
size_t line_input_unfinished(const struct line_input *s);
void line_input_free(struct line_input *s);

/* Keeps the last lines of such input: at most `room`. */
struct line_ring {
	size_t room;
	struct buffer *lines;
	size_t count, next;
};
void line_ring_put(struct line_ring *r, const char *line, size_t len);
/* Number 0 is the oldest line that is kept. */
const struct buffer *line_ring_get(const struct line_ring *r, size_t number);
void line_ring_free(struct line_ring *r);

#endif
