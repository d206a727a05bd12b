/*
 * A range that is not in the buffer is read as a whole. Searches read blocks, backwards or forwards;
 * they begin with the bytes that are in the buffer. Their first block has 2 KiB, as most lines fit
 * in it and hundreds of waiting calls keep it; each further one twice as many, up to 16 KiB, until
 * window_forget(). ENODATA means that the file is shorter now than when the caller looked.
 */
#include "transcript/window.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "json/bytes.h"

#define FIRST_BLOCK ((int64_t)2 << 10) /* bytes read at once when searching: at first, */
#define BLOCK_MOST ((int64_t)16 << 10) /* and at most */

void
window_begin(struct window *w, int fd)
{
	*w = (struct window){ .fd = fd, .block = FIRST_BLOCK, .bytes = BUFFER_INIT };
}

void
window_forget(struct window *w)
{
	buffer_clear(&w->bytes);
	w->block = FIRST_BLOCK;
}

void
window_trim(struct window *w)
{
	if (w->bytes.capacity > WINDOW_KEPT)
		buffer_free(&w->bytes);
}

void
window_free(struct window *w)
{
	buffer_free(&w->bytes);
}

/* How many bytes a search reads now. */
static int64_t
window_next_block(struct window *w)
{
	int64_t block = w->block;

	w->block = block < BLOCK_MOST ? block * 2 : block;
	return block;
}

static int64_t
window_end(const struct window *w)
{
	return w->at + (int64_t)w->bytes.len;
}

/* Fills the window with [from, to); -1 with errno. */
static int
window_read(struct window *w, int64_t from, int64_t to)
{
	size_t want = (size_t)(to - from);

	buffer_clear(&w->bytes);
	w->at = from;
	INVARIANT(from >= 0 && to >= from);
	char *room = buffer_reserve(&w->bytes, want);
	while (w->bytes.len < want) {
		ssize_t n = pread(w->fd, room + w->bytes.len, want - w->bytes.len,
		    from + (int64_t)w->bytes.len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0)
				errno = ENODATA;
			buffer_clear(&w->bytes);
			return -1;
		}
		w->bytes.len += (size_t)n;
	}
	return 0;
}

const char *
window_bytes(struct window *w, int64_t from, int64_t to)
{
	bool held = w->bytes.len > 0 && from >= w->at && to <= window_end(w);

	if (!held && window_read(w, from, to) == -1)
		return NULL;
	INVARIANT(from >= w->at && from <= to && to <= window_end(w));
	return buffer_string(&w->bytes) + (from - w->at);
}

int64_t
window_line_start(struct window *w, int64_t floor, int64_t end)
{
	INVARIANT(floor >= 0 && floor <= end);
	while (end > floor) {
		int64_t from = end > w->at && end <= window_end(w) ? w->at :
		    end - window_next_block(w);
		if (from < floor)
			from = floor;
		const char *bytes = window_bytes(w, from, end);
		if (bytes == NULL)
			return -1;
		const char *lf = bytes_last(bytes, bytes + (end - from), '\n');
		if (lf != NULL) {
			INVARIANT(lf >= bytes && lf < bytes + (end - from) && *lf == '\n');
			return from + (lf - bytes) + 1;
		}
		end = from;
	}
	return floor;
}

int64_t
window_line_end(struct window *w, int64_t from, int64_t limit)
{
	while (from < limit) {
		int64_t to = from >= w->at && from < window_end(w) ? window_end(w) :
		    from + window_next_block(w);
		if (to > limit)
			to = limit;
		const char *bytes = window_bytes(w, from, to);
		if (bytes == NULL)
			return -1;
		const char *lf = memchr(bytes, '\n', (size_t)(to - from));
		if (lf != NULL)
			return from + (lf - bytes) + 1;
		INVARIANT(to > from && to <= limit);
		from = to;
	}
	return limit;
}
