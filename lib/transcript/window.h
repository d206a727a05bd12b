/*
 * A window on a file: the bytes read last, and where lines begin and end around
 * them. It reads with pread() alone, so the file's offset stays out of it.
 */
#ifndef AWF_TRANSCRIPT_WINDOW_H
#define AWF_TRANSCRIPT_WINDOW_H

#include <stdint.h>

#include "base/buffer.h"

struct window {
	int fd;
	int64_t at;          /* offset of the first byte in the file */
	struct buffer bytes;
};

void window_begin(struct window *w, int fd);
/* Forgets the bytes: the next look reads the file again. */
void window_forget(struct window *w);
/* The bytes [from, to) of the file, valid until the next call. NULL with errno;
 * ENODATA if the file ends before to. */
const char *window_bytes(struct window *w, int64_t from, int64_t to);
/* The beginning of the line that continues at `end`: just after the last LF within [floor, end), or
 * floor if there is none. -1 with errno. */
int64_t window_line_start(struct window *w, int64_t floor, int64_t end);
/* Just after the first LF within [from, limit), or limit if there is none. -1 with
 * errno. */
int64_t window_line_end(struct window *w, int64_t from, int64_t limit);
/* Likewise, with the memory, if that is more than is of use for most. */
#define WINDOW_KEPT ((size_t)512 << 10)
void window_trim(struct window *w);
void window_free(struct window *w);

#endif
