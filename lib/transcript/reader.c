/*
 * The last LF is looked for from the end of the file, and lines are then taken from before it
 * in chunks, twice as large each time for a long one. An end of file on the way says that the
 * file was cut meanwhile: nothing is an error then, the LF is looked for anew. A seq is found
 * by bisection over bytes: from the middle back to the begin of a line, whose seq decides.
 */
#include "transcript/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "json/scan.h"
#include "transcript/event.h"

#define READER_CHUNK ((int64_t)1 << 20)
#define READER_LINE_MOST ((int64_t)SCAN_LINE_LIMIT + 1) /* with its LF */
#define READER_HEAD 32 /* bytes of a line that hold its seq */

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

/* The LF that was seen is gone, for the file was cut: it is looked for anew by the
 * next call. */
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

/* Finds the last LF of the file as it is now; what was read before is forgotten.
 * -1 with errno. */
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
	return 0;
}

int
reader_next(struct reader *r, const char **line, size_t *len, struct error *err)
{
	int64_t most, before, size;

	if (r->position >= r->settled && reader_settle(r) == -1)
		return reader_failed(r, err);
	if (r->position >= r->settled)
		return 0;
	most = r->settled - r->position;
	if (most > READER_LINE_MOST)
		most = READER_LINE_MOST;

	/* The line at position, whose LF has been seen: it is looked for in the bytes held, then
	 * in a chunk, then in twice as much each time. */
	before = r->position - r->chunk.at;
	size = (int64_t)r->chunk.bytes.len - before;
	if (before < 0 || size < 0)
		size = 0;
	for (;; size = size < READER_CHUNK ? READER_CHUNK : size * 2) {
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
			return 1;
		}
		if (size == most)
			break;
	}
	if (most < READER_LINE_MOST)
		return reader_unsettled(r);
	return error_set(err, ERROR_INVALID_INPUT, r->path,
	    "the line at byte %lld is above the limit of %zu bytes", (long long)r->position,
	    SCAN_LINE_LIMIT);
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
reader_seek(struct reader *r, int64_t position)
{
	r->position = position;
}

/* The seq of the first line in [*start, limit) that has one; *start is moved to
 * it. 1, or 0 if there is none; -1 with errno. */
static int
reader_seq(struct reader *r, int64_t *start, int64_t limit, int64_t *seq)
{
	while (*start < limit) {
		int64_t to = limit - *start > READER_HEAD ? *start + READER_HEAD : limit;
		const char *head = window_bytes(&r->chunk, *start, to);
		if (head == NULL)
			return -1;
		if (event_seq(head, (size_t)(to - *start), seq))
			return 1;
		if ((*start = window_line_end(&r->chunk, *start, limit)) == -1)
			return -1;
	}
	return 0;
}

int
reader_seek_after(struct reader *r, int64_t seq, struct error *err)
{
	int64_t low = 0, high, found = 0;

	if (reader_settle(r) == -1)
		return reader_failed(r, err);
	high = r->settled;
	/* [low, high), both where lines begin: lines before low have a seq of at most seq, the one
	 * at high a greater one, or high is the end. */
	while (low < high) {
		int64_t middle = low + (high - low) / 2;
		int64_t start = window_line_start(&r->chunk, low, middle), line = start;
		int any = start == -1 ? -1 : reader_seq(r, &line, high, &found);

		if (any == 0 || (any == 1 && found > seq))
			high = start;
		else if (any == 1)
			low = window_line_end(&r->chunk, line > middle ? line : middle, high);
		if (any == -1 || low == -1)
			return reader_failed(r, err);
	}
	r->position = low;
	return 0;
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
