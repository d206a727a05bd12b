/*
 * Finds the last LF of the file from its end, then reads the lines before it in chunks. If a line
 * is longer than a chunk, its end is found before the line is read, so that a line above the limit
 * is never held in memory. If the file ends earlier than expected, it was truncated meanwhile; that
 * is no error: the last LF is searched for again. A seq or a time is found by bisection over bytes:
 * from the middle back to the beginning of a line, which is then compared.
 */
#include "transcript/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "json/bytes.h"
#include "json/scan.h"
#include "transcript/event.h"

#define READER_CHUNK ((int64_t)1 << 18)
#define READER_LINE_MOST ((int64_t)SCAN_LINE_LIMIT + 1) /* The search misses lines only if this
                                                           many in a row have a wrong time. */
/* reader_seek_since() misses lines only if this many lines in a row have a wrong time. */
#define SINCE_LINES 8

/* Whether all bytes in memory come before the last LF that was seen. */
static bool
reader_holds(const struct reader *r)
{
	return r->position >= 0 && r->settled >= 0 &&
	    (r->chunk.bytes.len == 0 || r->chunk.at + (int64_t)r->chunk.bytes.len <= r->settled);
}

int
reader_open(struct reader *r, const char *path, struct error *err)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	*r = (struct reader){ .fd = -1 };
	if (fd == -1)
		return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	if (fstat(fd, &status) == -1 || !S_ISREG(status.st_mode)) {
		close(fd);
		return error_set(err, ERROR_SYSTEM, path, "is no regular file");
	}
	r->fd = fd;
	r->path = memory_text(path);
	window_begin(&r->chunk, fd);
	return 0;
}

void
reader_close(struct reader *r)
{
	if (r->fd != -1)
		close(r->fd);
	r->fd = -1;
	free(r->path);
	r->path = NULL;
	window_free(&r->chunk);
}

/* The file was truncated before the LF that was seen: the next call searches for the last LF
 * again. */
static int
reader_unsettled(struct reader *r)
{
	window_forget(&r->chunk);
	r->settled = r->position;
	return 0;
}

static int
reader_failed(struct reader *r, struct error *err)
{
	if (errno == ENODATA)
		return reader_unsettled(r);
	window_forget(&r->chunk);
	return error_errno(err, ERROR_SYSTEM, r->path, "unable to read");
}

static int
reader_line_too_long(const struct reader *r, int64_t start, struct error *err)
{
	return error_set(err, ERROR_INVALID_INPUT, r->path,
	    "the line at byte %lld is above the limit of %zu bytes", (long long)start,
	    SCAN_LINE_LIMIT);
}

/* Finds the last LF of the file as it is now, and forgets what was read before. -1 with errno. */
static int
reader_settle(struct reader *r)
{
	struct stat status;
	int64_t floor = r->settled, start;

	window_forget(&r->chunk);
	if (fstat(r->fd, &status) == -1)
		return -1;
	if (status.st_size < floor)
		floor = 0;
	start = window_line_start(&r->chunk, floor, status.st_size);
	window_forget(&r->chunk);
	if (start == -1)
		return -1;
	r->settled = start;
	if (r->position > start)
		r->position = start;
	INVARIANT(reader_holds(r) && r->position <= r->settled);
	return 0;
}

int
reader_next(struct reader *r, const char **line, size_t *len, struct error *err)
{
	int64_t most, before, size, end;

	if (r->position >= r->settled && reader_settle(r) == -1)
		return reader_failed(r, err);
	if (r->position >= r->settled)
		return 0;
	most = r->settled - r->position;
	if (most > READER_LINE_MOST)
		most = READER_LINE_MOST;

	/* The end of the line at `position` is known to exist. Search for its LF in the bytes in
	 * memory, then in a chunk, then in further bytes, of which no more are kept than a line
	 * needs. */
	before = r->position - r->chunk.at;
	size = (int64_t)r->chunk.bytes.len - before;
	if (before < 0 || size < 0)
		size = 0;
	for (;;) {
		if (size > most)
			size = most;
		const char *at = window_bytes(&r->chunk, r->position, r->position + size);
		if (at == NULL)
			return reader_failed(r, err);
		const char *lf = memchr(at, '\n', (size_t)size);
		if (lf != NULL) {
			*line = at;
			*len = (size_t)(lf - at);
			r->line_start = r->position;
			r->position += lf - at + 1;
			INVARIANT(reader_holds(r) && r->position <= r->settled);
			return 1;
		}
		if (size == most)
			break;
		if (size < READER_CHUNK) {
			size = READER_CHUNK;
			continue;
		}
		end = window_line_end(&r->chunk, r->position + size, r->position + most);
		if (end == -1 || (at = window_bytes(&r->chunk, end - 1, end)) == NULL)
			return reader_failed(r, err);
		if (*at != '\n')
			break;
		size = end - r->position;
	}
	if (most < READER_LINE_MOST)
		return reader_unsettled(r);
	return reader_line_too_long(r, r->position, err);
}

int64_t
reader_unfinished(struct reader *r)
{
	struct stat status;

	if (reader_settle(r) == -1 || fstat(r->fd, &status) == -1)
		return 0;
	return status.st_size > r->settled ? status.st_size - r->settled : 0;
}

void
reader_trim(struct reader *r)
{
	window_trim(&r->chunk);
}

void
reader_seek(struct reader *r, int64_t position)
{
	r->position = position;
}

/* Whether a line comes before the target of a bisection, as far as its first bytes show. */
enum place { PLACE_UNKNOWN, PLACE_BEFORE, PLACE_BEHIND };

/* The target of a bisection: the first line that is not before a seq, or a time. */
struct sought {
	enum place (*place)(const struct sought *s, const char *head, size_t len);
	int64_t seq;
	const char *time;
	int lines; /* if this many lines in a row come before the target, so do the lines before
	              them */
};
static enum place
place_by_seq(const struct sought *s, const char *head, size_t len)
{
	int64_t seq;

	if (!event_seq(head, len, &seq))
		return PLACE_UNKNOWN;
	return seq <= s->seq ? PLACE_BEFORE : PLACE_BEHIND;
}

static enum place
place_by_time(const struct sought *s, const char *head, size_t len)
{
	struct span time = event_time(head, len);

	if (time.at == NULL)
		return PLACE_UNKNOWN;
	return memcmp(time.at, s->time, time.len) < 0 ? PLACE_BEFORE : PLACE_BEHIND;
}

/* Compares as many lines that begin in [start, limit) as needed. 1 if one of them is after the
 * target, otherwise 0; *end: the end of the last one that is before the target, or start. -1
 * with errno. */
static int
reader_probe(struct reader *r, const struct sought *s, int64_t start, int64_t limit, int64_t *end)
{
	int64_t at = start;

	*end = start;
	for (int before = 0; at < limit && before < s->lines;) {
		int64_t to = limit - at > EVENT_TIME_WITHIN ? at + EVENT_TIME_WITHIN : limit;
		const char *head = window_bytes(&r->chunk, at, to);
		enum place place;

		if (head == NULL)
			return -1;
		INVARIANT(reader_holds(r));
		place = s->place(s, head, (size_t)(to - at));
		if (place == PLACE_BEHIND)
			return 1;
		if ((at = window_line_end(&r->chunk, at, limit)) == -1)
			return -1;
		if (place == PLACE_BEFORE) {
			before++;
			*end = at;
		}
	}
	return 0;
}

static int
reader_bisect(struct reader *r, const struct sought *s, struct error *err)
{
	int64_t low = 0, high, end;
	int behind;

	if (reader_settle(r) == -1)
		return reader_failed(r, err);
	high = r->settled;
	/* low and high are beginnings of lines: all lines before low are before the target; one
	 * of the lines next to high is not, or high is the end. */
	while (low < high) {
		int64_t start = window_line_start(&r->chunk, low, low + (high - low) / 2);

		behind = start == -1 ? -1 : reader_probe(r, s, start, high, &end);
		if (behind == -1)
			return reader_failed(r, err);
		INVARIANT(low <= start && start <= end && end <= high);
		if (behind == 1 || end == start)
			high = start;
		else
			low = end;
	}
	if (reader_probe(r, s, low, r->settled, &end) == -1)
		return reader_failed(r, err);
	r->position = end;
	return 0;
}

int
reader_seek_after(struct reader *r, int64_t seq, struct error *err)
{
	const struct sought after = { .place = place_by_seq, .seq = seq, .lines = 1 };

	return reader_bisect(r, &after, err);
}

int
reader_seek_since(struct reader *r, const char since[CLOCK_TEXT_SIZE], struct error *err)
{
	const struct sought time = { .place = place_by_time, .time = since, .lines = SINCE_LINES };

	return reader_bisect(r, &time, err);
}

int
reader_seek_last(struct reader *r, int64_t count, struct error *err)
{
	int64_t start;

	if (reader_settle(r) == -1)
		return reader_failed(r, err);
	for (start = r->settled; start > 0 && count > 0; count--) {
		if ((start = window_line_start(&r->chunk, 0, start - 1)) == -1)
			return reader_failed(r, err);
	}
	r->position = start;
	return 0;
}

int
reader_previous(struct reader *r, const char **line, size_t *len, struct error *err)
{
	int64_t end = r->position, size, start;

	if (end == 0)
		return 0;

	/* Search backwards for the beginning of the line: in the bytes in memory, then in a chunk,
	 * then in the bytes before it. */
	size = end - r->chunk.at;
	if (size < 0 || size > (int64_t)r->chunk.bytes.len)
		size = 0;
	for (;; size = READER_CHUNK) {
		if (size > end)
			size = end;
		const char *at = window_bytes(&r->chunk, end - size, end);
		if (at == NULL)
			return reader_failed(r, err);
		const char *lf = size > 0 ? bytes_last(at, at + size - 1, '\n') : NULL;
		if (lf != NULL || size == end) {
			start = lf != NULL ? end - (at + size - 1 - lf) : 0;
			break;
		}
		if (size >= READER_CHUNK) {
			start = window_line_start(&r->chunk, 0, end - size);
			break;
		}
	}
	if (start != -1 && end - start > READER_LINE_MOST)
		return reader_line_too_long(r, start, err);
	if (start == -1 || (*line = window_bytes(&r->chunk, start, end)) == NULL)
		return reader_failed(r, err);
	INVARIANT(start < end && reader_holds(r));
	*len = (size_t)(end - start - 1);
	r->position = r->line_start = start;
	return 1;
}

int
event_load(const char *path, struct event_place place, struct buffer *line, struct error *err)
{
	struct reader r;
	const char *bytes;
	int failed = 0;

	if (reader_open(&r, path, err) != 0)
		return -1;
	bytes = window_bytes(&r.chunk, place.offset, place.offset + place.length);
	if (bytes != NULL)
		buffer_append(line, bytes, place.length);
	else
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to read");
	reader_close(&r);
	return failed;
}

bool
transcript_begun(const char *path)
{
	struct reader reader;
	struct error none;
	const char *line;
	size_t len;
	bool begun;

	if (reader_open(&reader, path, &none) != 0)
		return false;
	begun = reader_next(&reader, &line, &len, &none) == 1;
	reader_close(&reader);
	return begun;
}
