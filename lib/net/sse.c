/*
 * A line that is whole in the bytes at hand is taken from there; only one that is cut is
 * copied. A CR ends its line at once, and an LF that follows is skipped when it comes, so
 * that no event waits for the byte behind it.
 */
#include "net/sse.h"

#include <string.h>

#include "base/memory.h"

static const char bom[] = "\xef\xbb\xbf";

void
sse_begin(struct sse *s, int (*take)(void *, const char *, const char *, size_t), void *context)
{
	memset(s, 0, sizeof *s);
	s->take = take;
	s->context = context;
}

void
sse_free(struct sse *s)
{
	buffer_free(&s->line);
	buffer_free(&s->data);
	buffer_free(&s->event);
}

/* An empty line: hands the event over, if it has data. */
static int
dispatch(struct sse *s)
{
	int result = 0;

	if (s->has_data)
		result = s->take(s->context, buffer_string(&s->event), buffer_string(&s->data),
		    s->data.len);
	s->has_data = false;
	buffer_clear(&s->data);
	buffer_clear(&s->event);
	return result;
}

static bool
name_is(const char *line, size_t len, const char *name)
{
	return len == strlen(name) && memcmp(line, name, len) == 0;
}

/* "name: value", "name:value" or "name". */
static int
take_field(struct sse *s, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	size_t name = colon == NULL ? len : (size_t)(colon - line);
	size_t from = colon == NULL ? len : name + 1;

	if (from < len && line[from] == ' ')
		from++;
	if (name_is(line, name, "event")) {
		buffer_clear(&s->event);
		buffer_append(&s->event, line + from, len - from);
	} else if (name_is(line, name, "data")) {
		if (len - from >= SSE_EVENT_LIMIT - s->data.len)
			return -1;
		if (s->has_data)
			buffer_byte(&s->data, '\n');
		buffer_append(&s->data, line + from, len - from);
		s->has_data = true;
	}
	return 0;
}

/* A line without its end. */
static int
take_line(struct sse *s, const char *line, size_t len)
{
	if (!s->started && len >= 3 && memcmp(line, bom, 3) == 0) {
		line += 3;
		len -= 3;
	}
	s->started = true;
	return len == 0 ? dispatch(s) : take_field(s, line, len);
}

/* A line whose last part is in the bytes. */
static int
end_line(struct sse *s, const char *bytes, size_t len)
{
	int result;

	if (s->line.len == 0)
		return take_line(s, bytes, len);
	buffer_append(&s->line, bytes, len);
	result = take_line(s, s->line.data, s->line.len);
	buffer_clear(&s->line);
	return result;
}

static int
keep_line(struct sse *s, const char *bytes, size_t len)
{
	/* No field name is longer than the 64 bytes allowed for it here. */
	if (len > SSE_EVENT_LIMIT + 64 - s->line.len)
		return -1;
	buffer_append(&s->line, bytes, len);
	return 0;
}

static const char *
find_end(const char *bytes, size_t len)
{
	const char *lf = memchr(bytes, '\n', len);
	const char *cr = memchr(bytes, '\r', lf == NULL ? len : (size_t)(lf - bytes));

	return cr == NULL ? lf : cr;
}

int
sse_feed(struct sse *s, const char *bytes, size_t len)
{
	const char *at = bytes, *end = bytes + len, *stop;
	int result = 0;

	if (s->too_long)
		return -1;
	while (at < end && result == 0) {
		if (s->after_cr && *at == '\n')
			at++;
		s->after_cr = false;
		if (at == end)
			break;
		stop = find_end(at, (size_t)(end - at));
		if (stop == NULL) {
			result = keep_line(s, at, (size_t)(end - at));
			break;
		}
		result = end_line(s, at, (size_t)(stop - at));
		s->after_cr = *stop == '\r';
		at = stop + 1;
	}
	s->too_long = result == -1;
	return result;
}
