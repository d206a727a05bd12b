/*
 * One buffer with two marks: the end of the returned lines, and the position up to which there is
 * no LF. Before the next read only the remaining bytes are moved to the beginning of the buffer.
 */
#include "json/line_input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/polling.h"
#include "json/scan.h"

#define INPUT_CHUNK (((size_t)64 << 10) - 1) /* with the NUL, as much as a pipe holds */

void
line_input_begin(struct line_input *s, int fd, const char *name)
{
	*s = (struct line_input){ .fd = fd, .name = name, .bytes = BUFFER_INIT };
}

static const char *
next_lf(const struct line_input *s)
{
	size_t len = s->bytes.len - s->searched;

	return len > 0 ? memchr(s->bytes.data + s->searched, '\n', len) : NULL;
}

bool
line_input_waits(struct line_input *s)
{
	return !s->ended && !next_lf(s) && poll_now(s->fd, POLLIN) == 0;
}

ssize_t
line_input_read(struct line_input *s)
{
	ssize_t n;

	buffer_drop(&s->bytes, s->next);
	s->searched -= s->next;
	s->next = 0;
	INVARIANT(s->searched <= s->bytes.len);
	n = read(s->fd, buffer_reserve(&s->bytes, INPUT_CHUNK), INPUT_CHUNK);
	if (n > 0)
		s->bytes.len += (size_t)n;
	s->ended |= n == 0;
	return n;
}

int
line_input_take(struct line_input *s, const char **line, size_t *len)
{
	const char *lf = next_lf(s);

	INVARIANT(s->next <= s->searched && s->searched <= s->bytes.len);
	s->searched = lf ? (size_t)(lf - s->bytes.data) + 1 : s->bytes.len;
	*len = s->searched - s->next - (lf != NULL);
	if (*len > SCAN_LINE_LIMIT)
		return -1;
	if (!lf)
		return 0;
	*line = s->bytes.data + s->next;
	if (s->lines == 0) {
		const size_t mark = text_byte_order_mark(*line, *len);

		*line += mark;
		*len -= mark;
	}
	INVARIANT(memchr(*line, '\n', *len) == NULL);
	s->next = s->searched;
	s->lines++;
	return 1;
}

int
line_input_next(struct line_input *s, const char **line, size_t *len, struct error *err)
{
	int taken;

	while ((taken = line_input_take(s, line, len)) == 0 && !s->ended)
		if (line_input_read(s) == -1 && errno != EINTR &&
		    ((errno != EAGAIN && errno != EWOULDBLOCK) || (poll(&(struct pollfd){ s->fd, POLLIN, 0 }, 1, -1) == -1 && errno != EINTR)))
			return error_errno(err, ERROR_SYSTEM, s->name, "unable to read");
	if (taken == -1)
		error_set(err, ERROR_INVALID_INPUT, s->name,
		    "line %lld is above the limit of %zu bytes", (long long)s->lines + 1,
		    SCAN_LINE_LIMIT);
	return taken;
}

size_t
line_input_unfinished(const struct line_input *s)
{
	return s->bytes.len - s->next;
}

void
line_input_free(struct line_input *s)
{
	buffer_free(&s->bytes);
}

void
line_ring_put(struct line_ring *r, const char *line, size_t len)
{
	struct buffer *place;

	if (r->room == 0)
		return;
	if (r->count < r->room) {
		r->lines = memory_array(r->lines, r->count + 1, sizeof *r->lines);
		r->lines[r->count++] = (struct buffer)BUFFER_INIT;
	}
	place = &r->lines[r->next];
	buffer_clear(place);
	buffer_append(place, line, len);
	r->next = (r->next + 1) % r->room;
	INVARIANT(r->count <= r->room && (r->count == r->room || r->next == r->count));
}

const struct buffer *
line_ring_get(const struct line_ring *r, size_t number)
{
	/* The ring begins at `next` once it is full, before that at 0. */
	INVARIANT(number < r->count);
	size_t oldest = r->count < r->room ? 0 : r->next;

	return &r->lines[(oldest + number) % r->count];
}

void
line_ring_free(struct line_ring *r)
{
	for (size_t i = 0; i < r->count; i++)
		buffer_free(&r->lines[i]);
	free(r->lines);
}
