/*
 * A window on a file: the bytes that were read last; and finding where lines begin and end. It
 * reads only with pread(), so the descriptor's file offset is neither used nor changed.
 */
#ifndef AWF_TRANSCRIPT_WINDOW_H
#define AWF_TRANSCRIPT_WINDOW_H

#include <stdint.h>

#include "base/buffer.h"

struct window {
	int fd;
	int64_t at;          /* offset of the first byte in the file */
	int64_t block;       /* bytes that the next search reads at once */
	struct buffer bytes;
};

void window_begin(struct window *w, int fd);
/* Forgets the bytes, so that the file is read again. */
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
/* Forgets the bytes; also frees the memory if it is more than most uses need. */
#define WINDOW_KEPT ((size_t)512 << 10)
void window_trim(struct window *w);
void window_free(struct window *w);

#endif
