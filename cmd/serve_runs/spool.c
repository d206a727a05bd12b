/*
 * The file is unnamed, so it disappears with the process. It is in the storage's file
 * system, which has room for runs.
 */
#define _GNU_SOURCE /* memrchr() */
#include "serve_runs/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "httpd/descriptors.h"
#include "io/file.h"

#define PIECE_MS 4
#define PIECE ((size_t)256 << 10) /* bytes of the transcript that are projected at once */
#define MARKED 256
#define UNUSED_MS 60000

/* ---- contents ---- */

static int
write_lines(struct spool *s, const struct buffer *lines)
{
	const char *at = buffer_string(lines), *end = at + lines->len, *lf;
	size_t written = 0;

	while (written < lines->len) {
		ssize_t n = pwrite(s->fd, lines->data + written, lines->len - written,
		    s->end + (int64_t)written);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		written += (size_t)n;
	}
	for (; at < end; at = lf + 1) {
		lf = memchr(at, '\n', (size_t)(end - at));
		if (lf == NULL)
			break;
		if (s->lines % MARKED == 0) {
			size_t mark = (size_t)(s->lines / MARKED);

			if (mark == s->mark_room) {
				s->mark_room = mark == 0 ? 64 : mark * 2;
				s->marks = memory_array(s->marks, s->mark_room, sizeof *s->marks);
			}
			s->marks[mark] = s->end + (at - lines->data);
		}
		s->lines++;
	}
	INVARIANT(at == end);
	s->end += (int64_t)lines->len;
	return 0;
}

/* The transcript was truncated: projects everything again. */
static void
begin_anew(struct spool *s)
{
	const struct projection *projection = s->projector.projection;

	projector_free(&s->projector);
	s->projector = (struct projector){ .projection = projection };
	if (ftruncate(s->fd, 0) != 0)
		s->failed = true;
	s->position = s->end = s->lines = 0;
	s->cuts = s->feed->cuts;
	s->generation++;
}

/* Projects some more lines of the transcript. False if there are none at the moment. */
static bool
make_piece(struct spool *s)
{
	struct buffer out = BUFFER_INIT;
	const char *at, *end, *lf;
	struct error err;
	size_t len;
	int failed = feed_lines(s->feed, s->position, PIECE, &at, &len);

	/* The file was truncated. The feed has not noticed that yet, but will report it. */
	if (failed == 0 ? len == 0 : errno == ENODATA)
		return false;
	for (end = at + len; failed == 0 && at < end; at = lf + 1) {
		lf = memchr(at, '\n', (size_t)(end - at));
		failed = projector_line(&s->projector, s->feed->path, s->position, at,
		    (size_t)(lf - at), &out, &err);
		s->position += lf - at + 1;
	}
	s->failed = failed != 0 || write_lines(s, &out) != 0;
	buffer_free(&out);
	return true;
}

bool
spool_made(struct spool *s)
{
	if (s->cuts != s->feed->cuts)
		begin_anew(s);
	if (s->failed || s->position >= s->feed->end)
		return true;
	loop_enter(s->all->loop, &s->task);
	return false;
}

static void
spool_write_pieces(struct loop_task *task)
{
	struct spool *s = (struct spool *)(void *)((char *)task - offsetof(struct spool, task));
	int64_t until = clock_monotonic() + PIECE_MS;
	int64_t before = s->position;
	bool more = true;

	while (more && !s->failed && s->position < s->feed->end && clock_monotonic() < until)
		more = make_piece(s);
	if (!more || s->failed || s->position >= s->feed->end)
		loop_leave(s->all->loop, task);
	/* Wake the streams only if there is something new: otherwise they would call this again and
	 * again. */
	if (s->failed || s->position != before)
		s->all->feeds->changed(s->feed);
}

int64_t
spool_find(const struct spool *s, int64_t line)
{
	char bytes[16384];
	int64_t at, skip;

	if (line >= s->lines)
		return s->end;
	INVARIANT(line >= 0 && (size_t)(line / MARKED) < s->mark_room);
	at = s->marks[line / MARKED];
	for (skip = line % MARKED; skip > 0;) {
		ssize_t got = pread(s->fd, bytes, sizeof bytes, at);
		const char *from = bytes, *lf;

		if (got <= 0)
			return s->end;
		while (skip > 0 && (lf = memchr(from, '\n', (size_t)(bytes + got - from))) != NULL) {
			from = lf + 1;
			skip--;
		}
		at += skip > 0 ? got : from - bytes;
	}
	return at;
}

int
spool_lines(struct spool *s, int64_t from, size_t most, struct buffer *lines)
{
	buffer_clear(lines);
	for (size_t want = most; from < s->end; want *= 4) {
		size_t len = s->end - from > (int64_t)want ? want : (size_t)(s->end - from);
		char *room = buffer_reserve(lines, len);
		const char *lf;
		ssize_t got = pread(s->fd, room, len, from);

		if (got < (ssize_t)len)
			return -1;
		lf = memrchr(room, '\n', len);
		if (lf != NULL) {
			lines->len = (size_t)(lf - room) + 1;
			return 0;
		}
	}
	return 0;
}

/* ---- open and close ---- */

static void
spool_free(struct spool *s)
{
	struct spool **link = &s->all->first;

	INVARIANT(s->position <= s->feed->end || s->cuts != s->feed->cuts);
	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
	loop_leave(s->all->loop, &s->task);
	loop_unset(s->all->loop, &s->unused);
	projector_free(&s->projector);
	feed_release(s->feed);
	file_close(&s->fd);
	free(s->marks);
	free(s);
}

static void
unused_due(struct loop_timer *timer)
{
	spool_free((struct spool *)(void *)((char *)timer - offsetof(struct spool, unused)));
}

struct spool *
spool_hold(struct spools *all, const char *run_id, const struct projection *projection,
    struct error *err)
{
	struct spool *s = all->first;
	struct feed *feed;
	char *directory;
	int fd;

	while (s != NULL && (strcmp(s->feed->run_id, run_id) != 0 || s->feed->gone || s->failed ||
	    s->projector.projection != projection))
		s = s->next;
	if (s != NULL) {
		loop_unset(all->loop, &s->unused);
		s->holders++;
		return s;
	}
	feed = feed_hold(all->feeds, run_id, err);
	if (feed == NULL)
		return NULL;
	directory = path_join(all->storage->root, "serve");
	if (storage_make_directory(directory, false, err) != 0)
		fd = -1;
	else if ((fd = file_open_unnamed(directory)) == -1)
		error_errno(err, ERROR_SYSTEM, directory, "unable to make a file there");
	free(directory);
	if (fd != -1 && !descriptors_left(fd, DESCRIPTORS_HELD)) {
		error_set(err, ERROR_OVERLOADED, NULL, "too many files are open");
		file_close(&fd);
	}
	if (fd == -1) {
		feed_release(feed);
		return NULL;
	}
	s = memory_zero(1, sizeof *s);
	s->all = all;
	s->holders = 1;
	s->feed = feed;
	s->cuts = feed->cuts;
	s->fd = fd;
	s->projector.projection = projection;
	s->task.step = spool_write_pieces;
	s->unused.due = unused_due;
	s->next = all->first;
	all->first = s;
	return s;
}

void
spool_release(struct spool *s)
{
	INVARIANT(s->holders > 0);
	if (--s->holders > 0)
		return;
	if (s->failed || s->feed->gone) {
		spool_free(s);
		return;
	}
	loop_leave(s->all->loop, &s->task);
	loop_set(s->all->loop, &s->unused, UNUSED_MS);
}

void
spools_open(struct spools *all, struct loop *loop, struct feeds *feeds,
    const struct storage *storage)
{
	*all = (struct spools){ .loop = loop, .feeds = feeds, .storage = storage };
}

void
spools_close(struct spools *all)
{
	for (struct spool *s = all->first, *next; s != NULL; s = next) {
		next = s->next;
		spool_free(s);
	}
}
