/*
 * One buffer with two marks: what has been given, and how far there is no LF. Only what is
 * left is moved to its beginning, before the next read.
 */
#include "json/line_input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "json/scan.h"

#define INPUT_CHUNK ((size_t)64 << 10)

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
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	if (s->ended || next_lf(s))
		return false;
	return poll(&p, 1, 0) == 0;
}

static int
fill(struct line_input *s, struct error *err)
{
	ssize_t n;

	if (s->bytes.len - s->next > SCAN_LINE_LIMIT)
		return error_set(err, ERROR_INVALID_INPUT, s->name,
		    "line %lld is above the limit of %zu bytes", (long long)s->lines + 1,
		    SCAN_LINE_LIMIT);
	buffer_drop(&s->bytes, s->next);
	s->next = 0;
	s->searched = s->bytes.len;
	do
		n = read(s->fd, buffer_reserve(&s->bytes, INPUT_CHUNK), INPUT_CHUNK);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, ERROR_SYSTEM, s->name, "unable to read");
	s->bytes.len += (size_t)n;
	s->ended = n == 0;
	return 0;
}

int
line_input_next(struct line_input *s, const char **line, size_t *len, struct error *err)
{
	const char *lf;

	while (!(lf = next_lf(s))) {
		if (s->ended)
			return 0;
		if (fill(s, err) != 0)
			return -1;
	}
	*line = s->bytes.data + s->next;
	*len = (size_t)(lf - *line);
	s->next += *len + 1;
	s->searched = s->next;
	s->lines++;
	return 1;
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
}

const struct buffer *
line_ring_get(const struct line_ring *r, size_t number)
{
	/* Until it is full the oldest stands first. */
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
