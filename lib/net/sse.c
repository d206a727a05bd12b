/*
 * A line that is complete in the given bytes is used in place; only a line that was split is
 * copied. A CR ends its line at once, and an LF after it is skipped when it arrives, so that no
 * event waits for the next byte.
 */
#include "net/sse.h"

#include <string.h>

#include "base/invariant.h"

#define KEPT_MOST ((size_t)1 << 20) /* of memory that an event has needed, for the next one */

static const char bom[] = "\xef\xbb\xbf";

void
sse_begin(struct sse *s, int (*take)(void *, const char *, const char *, size_t), void *context)
{
	*s = (struct sse){ .take = take, .context = context };
}

void
sse_again(struct sse *s)
{
	buffer_clear(&s->line);
	buffer_clear(&s->data);
	buffer_clear(&s->event);
	s->has_data = s->after_cr = s->started = s->too_long = false;
}

void
sse_free(struct sse *s)
{
	buffer_free(&s->line);
	buffer_free(&s->data);
	buffer_free(&s->event);
	buffer_free(&s->id);
}

/* Empties a buffer whose bytes have been used. */
static void
sse_clear(struct buffer *b)
{
	if (b->capacity > KEPT_MOST)
		buffer_free(b);
	else
		buffer_clear(b);
}

/* Processes a line, without its line end: empty, or "name: value", "name:value", "name". */
static int
sse_read_line(struct sse *s, const char *line, size_t len)
{
	const char *colon;
	size_t name, from;
	int result = 0;

	INVARIANT(memchr(line, '\n', len) == NULL && memchr(line, '\r', len) == NULL);
	INVARIANT(s->has_data || s->data.len == 0);
	if (!s->started && len >= 3 && memcmp(line, bom, 3) == 0) {
		line += 3;
		len -= 3;
	}
	s->started = true;
	if (len == 0) {
		/* Passes the event on, if it has data. */
		if (s->has_data)
			result = s->take(s->context, buffer_string(&s->event), buffer_string(&s->data),
			    s->data.len);
		s->has_data = false;
		sse_clear(&s->data);
		buffer_clear(&s->event);
		return result;
	}

	colon = memchr(line, ':', len);
	name = colon == NULL ? len : (size_t)(colon - line);
	from = colon == NULL ? len : name + 1;
	if (from < len && line[from] == ' ')
		from++;
	if (name == 5 && memcmp(line, "event", 5) == 0) {
		buffer_clear(&s->event);
		buffer_append(&s->event, line + from, len - from);
	} else if (name == 4 && memcmp(line, "data", 4) == 0) {
		if (len - from >= SSE_EVENT_LIMIT - s->data.len)
			return -1;
		if (s->has_data)
			buffer_byte(&s->data, '\n');
		buffer_append(&s->data, line + from, len - from);
		s->has_data = true;
		INVARIANT(s->data.len <= SSE_EVENT_LIMIT);
	} else if (name == 2 && memcmp(line, "id", 2) == 0 && memchr(line + from, 0, len - from) == NULL) {
		buffer_clear(&s->id);
		buffer_append(&s->id, line + from, len - from);
	} else if (name == 5 && memcmp(line, "retry", 5) == 0 && len > from && len - from < 10) {
		long long ms = 0;

		for (size_t i = from; i < len && ms >= 0; i++)
			ms = line[i] >= '0' && line[i] <= '9' ? ms * 10 + line[i] - '0' : -1;
		if (ms >= 0)
			s->retry_ms = ms;
	} else if (s->other != NULL && name > 0 && !(name == 2 && memcmp(line, "id", 2) == 0) &&
	    !(name == 5 && memcmp(line, "retry", 5) == 0)) {
		result = s->other(s->context, line, len);
	}
	return result;
}

int
sse_feed(struct sse *s, const char *bytes, size_t len)
{
	const char *at = bytes, *end = bytes + len, *lf, *stop;
	int result = 0;

	if (s->too_long)
		return -1;
	while (at < end && result == 0) {
		if (s->after_cr && *at == '\n')
			at++;
		s->after_cr = false;
		if (at == end)
			break;
		lf = memchr(at, '\n', (size_t)(end - at));
		stop = memchr(at, '\r', (size_t)((lf == NULL ? end : lf) - at));
		if (stop == NULL)
			stop = lf;
		if (stop == NULL) {
			/* 64 bytes are allowed here for the field name; no name is longer. */
			if ((size_t)(end - at) > SSE_EVENT_LIMIT + 64 - s->line.len)
				result = -1;
			else
				buffer_append(&s->line, at, (size_t)(end - at));
			break;
		}
		if (s->line.len == 0) {
			result = sse_read_line(s, at, (size_t)(stop - at));
		} else {
			buffer_append(&s->line, at, (size_t)(stop - at));
			result = sse_read_line(s, s->line.data, s->line.len);
			sse_clear(&s->line);
		}
		INVARIANT(s->line.len == 0 && stop < end && (*stop == '\n' || *stop == '\r'));
		s->after_cr = *stop == '\r';
		at = stop + 1;
	}
	s->too_long = result == -1;
	return result;
}

int
sse_finish(struct sse *s)
{
	int result = 0;

	if (s->too_long)
		return -1;
	if (s->line.len > 0)
		result = sse_read_line(s, s->line.data, s->line.len);
	s->line.len = 0;
	return result != 0 ? result : sse_read_line(s, "", 0);
}
