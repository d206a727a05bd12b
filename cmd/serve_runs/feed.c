/*
 * inotify(7) reports a change of a file with the number of its watch. Then the new bytes are read
 * up to the last LF, the type of each line is looked at, and if any stream is waiting in the
 * backlog, the lines are appended there as a chunk.
 */
#define _GNU_SOURCE /* memrchr(), memmem() */
#include "serve_runs/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "httpd/descriptors.h"
#include "httpd/framing.h"
#include "io/file.h"
#include "serve_runs/frame.h"
#include "serve_runs/stream.h"
#include "storage/queue.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

#define CHANGES (IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
#define UNWATCHED_MS 20      /* between checks of the file if inotify is not available */
#define ENDING_MS 20         /* between checks of the lock after run.completed, until the process
                                has ended */
#define ENDING_MOST_MS 1000  /* after this time the run counts as over even if its process is
                                alive */
#define READ_MOST ((size_t)1 << 20)
#define ATTEMPT_MOST ((int64_t)64 << 20) /* bytes of the file that are searched backwards for the
                                            attempt's number */

static int read_end(struct feed *feed, struct error *err);

static void
set_look(struct feed *feed)
{
	int64_t after = FOLLOW_LOOK_MS;

	if (feed->fd != -1 && feed->watch == -1)
		after = UNWATCHED_MS;
	else if (feed->ended && feed->alive && !feed->over)
		after = ENDING_MS;
	loop_set(feed->feeds->loop, &feed->look, after);
}

/* ---- lines ---- */

/* Reads [from, to) of the file into the buffer that all share. -1 with errno; ENODATA: the file
 * is shorter now. */
static int
read_range(struct feed *feed, int64_t from, int64_t to)
{
	struct buffer *input = &feed->feeds->input;
	size_t want = (size_t)(to - from);
	char *room;

	if (input->capacity > 4 * READ_MOST && want < READ_MOST)
		buffer_free(input);
	buffer_clear(input);
	room = buffer_reserve(input, want);
	while (input->len < want) {
		ssize_t got = pread(feed->fd, room + input->len, want - input->len,
		    from + (int64_t)input->len);

		if (got == -1 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (got == 0)
				errno = ENODATA;
			return -1;
		}
		input->len += (size_t)got;
	}
	return 0;
}

/* Reads whole lines of the file's first `end` bytes; the results are those of feed_lines(). */
static int
read_lines(struct feed *feed, int64_t from, int64_t end, size_t most, const char **bytes, size_t *len)
{
	const struct buffer *input = &feed->feeds->input;
	const char *lf = NULL;
	int64_t to = from;

	*len = 0;
	/* Read more bytes until at least one line is complete. */
	for (int64_t want = (int64_t)most; lf == NULL && to < end; want *= 4) {
		to = end - from > want ? from + want : end;
		if (read_range(feed, from, to) != 0)
			return -1;
		lf = memrchr(input->data, '\n', input->len);
	}
	if (lf == NULL)
		return 0;
	*bytes = input->data;
	*len = (size_t)(lf - input->data) + 1;
	return 0;
}

int
feed_lines(struct feed *feed, int64_t from, size_t most, const char **bytes, size_t *len)
{
	return read_lines(feed, from, feed->end, most, bytes, len);
}

int
feed_bytes(struct feed *feed, int64_t from, size_t most, const char **bytes, size_t *len)
{
	int64_t to = feed->end - from > (int64_t)most ? from + (int64_t)most : feed->end;

	*len = 0;
	if (to <= from)
		return 0;
	if (read_range(feed, from, to) != 0)
		return -1;
	*bytes = feed->feeds->input.data;
	*len = feed->feeds->input.len;
	return 0;
}

/* Notes what a line says about its run. */
static void
feed_note_line(struct feed *feed, const char *line, size_t len)
{
	struct event_view event;
	struct event_head head;

	/* An event of a foreign program may look like one of these in its first bytes; parse it
	 * completely. */
	if (event_peek(line, len, &head) != 0 ||
	    (head.type != EVENT_RUN_STARTED && head.type != EVENT_RUN_COMPLETED) ||
	    event_view(line, len, &event) != 0)
		return;
	switch (event.type) {
	case EVENT_RUN_STARTED:
		feed->ended = feed->over = feed->coming = false;
		feed->attempt = 0;
		feed->output[0] = '\0';
		break;
	case EVENT_RUN_COMPLETED:
		feed->ended = true;
		if (!span_copy(span_path(event.payload, KEY_STDOUT, KEY_SHA256, NULL), feed->output,
		    sizeof feed->output))
			feed->output[0] = '\0';
		feed->ended_at = feed->feeds->loop->now;
		if (!span_copy(span_member(event.payload, KEY_STATUS), feed->status,
		    sizeof feed->status))
			snprintf(feed->status, sizeof feed->status, "failed");
		break;
	default:
		break;
	}
}

/* Whether any stream is waiting in the backlog. */
static bool
is_stood_in(const struct feed *feed)
{
	for (const struct stream *s = feed->streams; s != NULL; s = s->next_of_feed)
		if (s->standing)
			return true;
	return false;
}

/* The number of bytes in feed->tail. */
static size_t
tail_len(const struct feed *feed)
{
	return feed->end < FEED_TAIL ? (size_t)feed->end : FEED_TAIL;
}

/* Remembers the last bytes before the end. -1 with errno. */
static int
note_tail(struct feed *feed)
{
	size_t len = tail_len(feed);

	if (read_range(feed, feed->end - (int64_t)len, feed->end) != 0)
		return -1;
	memcpy(feed->tail, buffer_string(&feed->feeds->input), len);
	return 0;
}

/* Whether the bytes before the end are the same as before. If not, the file was truncated and has
 * grown again between two checks. */
static bool
is_continued(const struct feed *feed)
{
	char bytes[FEED_TAIL];
	size_t len = tail_len(feed);

	return pread(feed->fd, bytes, len, feed->end - (int64_t)len) == (ssize_t)len &&
	    memcmp(bytes, feed->tail, len) == 0;
}

/* Moves the end past these bytes. */
static void
move_end(struct feed *feed, const char *bytes, size_t len)
{
	size_t old = tail_len(feed), kept, taken;

	INVARIANT(len > 0 && bytes[len - 1] == '\n');
	feed->end += (int64_t)len;
	taken = len < FEED_TAIL ? len : FEED_TAIL;
	kept = tail_len(feed) - taken;
	INVARIANT(kept <= old && kept + taken <= FEED_TAIL);
	memmove(feed->tail, feed->tail + old - kept, kept);
	memcpy(feed->tail + kept, bytes + len - taken, taken);
}

/* Processes the lines that were added. */
static void
feed_read_new_lines(struct feed *feed, int64_t size)
{
	struct backlog *b = &feed->backlog;
	bool wanted = is_stood_in(feed);
	const char *bytes, *end, *line, *lf;
	size_t len;

	/* Bytes after the last LF belong to a line that is still being written. */
	while (read_lines(feed, feed->end, size, STREAM_PIECE, &bytes, &len) == 0 && len > 0) {
		int64_t before = feed->end;
		uint64_t at = backlog_end(b);
		size_t start = wanted ? framing_chunk(&b->bytes) : 0;

		for (line = bytes, end = bytes + len; line < end; line = lf + 1) {
			lf = memchr(line, '\n', (size_t)(end - line));
			feed_note_line(feed, line, (size_t)(lf - line));
			if (wanted)
				frame_line(&b->bytes, line, (size_t)(lf - line));
		}
		move_end(feed, bytes, len);
		INVARIANT(feed->end <= size);
		if (wanted) {
			framing_chunk_end(&b->bytes, start);
			backlog_add(b, at, before, feed->end);
		}
		feed->feeds->grown(feed);
	}
}

/* The file was truncated: lines that were read are gone. It is read again from the start, and so
 * are the streams, since it is not known where it was truncated. */
static void
feed_restart_after_cut(struct feed *feed)
{
	struct error err;

	feed->cuts++;
	feed->feeds->cut(feed);
	feed->ended = feed->over = false;
	feed->attempt = 0;
	if (read_end(feed, &err) != 0)
		feed->gone = feed->over = true;
}

/* Processes what was added to the file. */
static void
feed_check_file(struct feed *feed)
{
	struct stat status, named;

	if (feed->gone || feed->fd == -1)
		return;
	if (fstat(feed->fd, &status) != 0 || status.st_nlink == 0 ||
	    (stat(feed->path, &named) == 0 && named.st_ino != feed->inode)) {
		feed->gone = feed->over = true;
		feed->feeds->changed(feed);
		return;
	}
	if (status.st_size < feed->end || (status.st_size > feed->end && !is_continued(feed)))
		feed_restart_after_cut(feed);
	else if (status.st_size > feed->end)
		feed_read_new_lines(feed, status.st_size);
}

/* Whether a process waits in a queue with the run, or its turn has come. */
static bool
feed_is_queued(const struct feed *feed)
{
	struct queued run;

	if (!queued_find(feed->feeds->storage, feed->run_id, &run))
		return false;
	free(run.name);
	return true;
}

/* Whether the run, which has no transcript, will have one: it is queued, or its process has taken
 * the run's lock. */
static bool
feed_is_coming(const struct feed *feed)
{
	return feed_is_queued(feed) ||
	    storage_run_owner(feed->feeds->storage, feed->run_id, NULL);
}

/* Checks whether the run's process is alive. The run is over only if nothing was added to the file
 * after the process was seen to have ended. */
static void
check_alive(struct feed *feed)
{
	bool was_over = feed->over;

	feed->alive = storage_run_alive(feed->feeds->storage, feed->run_id);
	/* A process that ends gives its turn back before it records the end. So if it is its turn, and
	 * the last attempt has ended, the next one is about to begin. */
	feed->coming = (!feed->alive || feed->ended) && feed_is_queued(feed);
	if (!feed->alive)
		feed_check_file(feed);
	if (feed->gone)
		return;
	feed->over = !feed->coming && (!feed->alive ||
	    (feed->ended && feed->feeds->loop->now - feed->ended_at >= ENDING_MOST_MS));
	if (feed->over && !was_over)
		feed->feeds->changed(feed);
}

/* Opens the transcript, and watches it. Watch first, then read, so that nothing is missed in
 * between. -1 with errno. */
static int
feed_open_transcript(struct feed *feed, struct stat *status)
{
	int error;

	feed->fd = file_open_plain(feed->path, O_RDONLY, 0);
	if (feed->fd == -1)
		return -1;
	if (fstat(feed->fd, status) != 0 || !descriptors_left(feed->fd, DESCRIPTORS_HELD)) {
		file_close(&feed->fd);
		errno = EMFILE;
		return -1;
	}
	feed->inode = status->st_ino;
	if (feed->feeds->changes.fd != -1)
		feed->watch = inotify_add_watch(feed->feeds->changes.fd, feed->path, CHANGES);
	if (fstat(feed->fd, status) == 0)
		return 0;
	error = errno;
	file_close(&feed->fd);
	errno = error;
	return -1;
}

/* The run has no transcript yet: looks for it. All its lines go the way of added lines, since
 * streams wait at position 0. */
static void
feed_look_for_transcript(struct feed *feed)
{
	bool coming = feed_is_coming(feed);
	struct stat status;

	if (feed->gone)
		return;
	if (feed_open_transcript(feed, &status) == 0) {
		feed->coming = false;
		if (status.st_size > 0)
			feed_read_new_lines(feed, status.st_size);
		check_alive(feed);
		feed->feeds->changed(feed);
	} else if (!coming && errno == ENOENT) {
		feed->coming = false;
		feed->gone = feed->over = true;
		feed->feeds->changed(feed);
		return;
	}
	set_look(feed);
}

static void
feed_check_file_on_timer(struct loop_timer *timer)
{
	struct feed *feed = (struct feed *)(void *)((char *)timer - offsetof(struct feed, look));

	if (feed->fd == -1) {
		feed_look_for_transcript(feed);
		return;
	}
	feed_check_file(feed);
	if (feed->gone)
		return;
	check_alive(feed);
	set_look(feed);
}

/* ---- inotify ---- */

static void
feeds_dispatch_inotify(struct feeds *f, const struct inotify_event *event)
{
	struct feed *next;

	if (event->wd == f->appearing && (event->mask & IN_IGNORED))
		f->appearing = -1;
	for (struct feed *feed = f->first; feed != NULL; feed = next) {
		next = feed->next;
		if (event->wd == f->appearing && feed->fd == -1 && event->len > 0 &&
		    strcmp(event->name, path_base(feed->path)) == 0) {
			feed_look_for_transcript(feed);
			continue;
		}
		if (feed->watch != event->wd && (event->mask & IN_Q_OVERFLOW) == 0)
			continue;
		if (event->mask & IN_IGNORED)
			feed->watch = -1;
		feed_check_file(feed);
		/* Look for the end of the process soon, without waiting for the timer. */
		if (feed->ended && !feed->over && !feed->gone)
			set_look(feed);
	}
}

static void
changes_ready(struct loop_source *source, uint32_t events)
{
	struct feeds *f = (struct feeds *)(void *)((char *)source - offsetof(struct feeds, changes));
	_Alignas(struct inotify_event) char bytes[16384];
	ssize_t got;

	(void)events;
	while ((got = read(source->fd, bytes, sizeof bytes)) > 0) {
		const char *at = bytes, *end = bytes + got;
		int last = -1;

		while (at < end) {
			const struct inotify_event *event = (const void *)at;

			/* For many writes to one file in a row, read it once. */
			if (event->wd != last || (event->mask & ~(uint32_t)IN_MODIFY) != 0)
				feeds_dispatch_inotify(f, event);
			last = event->wd;
			at += sizeof *event + event->len;
		}
	}
}

void
feeds_open(struct feeds *f, struct loop *loop, const struct storage *storage)
{
	struct error err;

	f->loop = loop;
	f->storage = storage;
	f->appearing = -1;
	f->changes = (struct loop_source){ .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC),
		.ready = changes_ready };
	if (f->changes.fd != -1 && loop_add(loop, &f->changes, EPOLLIN, &err) != 0)
		file_close(&f->changes.fd);
}

void
feeds_close(struct feeds *f)
{
	if (f->loop == NULL)
		return;
	if (f->changes.fd != -1)
		loop_remove(f->loop, &f->changes);
	file_close(&f->changes.fd);
	buffer_free(&f->input);
}

/* ---- opening a feed ---- */

/* Finds the end of the last line, and notes what the last lines say about the attempt. */
static int
read_end(struct feed *feed, struct error *err)
{
	struct reader r;
	const char *line;
	size_t len;
	int got = 0;

	if (reader_open(&r, feed->path, err) != 0)
		return -1;
	/* Any number of decision events may follow run.completed: search further and further
	 * back. */
	for (int64_t count = 4;; count *= 4) {
		int64_t from;
		bool found = false;

		if (reader_seek_last(&r, count, err) != 0)
			break;
		from = r.position;
		while ((got = reader_next(&r, &line, &len, err)) == 1) {
			struct event_view event;

			feed_note_line(feed, line, len);
			found |= event_view(line, len, &event) == 0 && !event_decides(&event);
		}
		if (got == -1 || found || from == 0)
			break;
	}
	feed->end = r.settled;
	feed->ended_at = 0;
	reader_close(&r);
	if (got == 0 && note_tail(feed) != 0)
		return error_errno(err, ERROR_SYSTEM, feed->path, "unable to read");
	return got == 0 ? 0 : -1;
}

/* Watches the directory of transcripts for new ones. */
static void
feeds_watch_directory(struct feeds *f, const char *transcript)
{
	char *directory = path_directory(transcript);

	if (f->changes.fd != -1 && f->appearing == -1)
		f->appearing = inotify_add_watch(f->changes.fd, directory,
		    IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
	free(directory);
}

struct feed *
feed_hold(struct feeds *f, const char *run_id, struct error *err)
{
	struct stat status;
	struct feed *feed;
	int error = 0;

	for (feed = f->first; feed != NULL; feed = feed->next)
		if (!feed->gone && strcmp(feed->run_id, run_id) == 0) {
			feed->holders++;
			return feed;
		}
	feed = memory_zero(1, sizeof *feed);
	feed->feeds = f;
	feed->holders = 1;
	feed->watch = -1;
	feed->look.due = feed_check_file_on_timer;
	snprintf(feed->run_id, sizeof feed->run_id, "%s", run_id);
	feed->path = storage_transcript(f->storage, run_id);
	if (feed_open_transcript(feed, &status) != 0 && (error = errno) == ENOENT) {
		feed->coming = feed_is_coming(feed);
		if (feed->coming)
			feeds_watch_directory(f, feed->path);
		/* It may have appeared just now. */
		if (feed_open_transcript(feed, &status) == 0)
			feed->coming = false;
		else
			error = errno;
	}
	if (feed->fd == -1 && !feed->coming) {
		errno = error;
		if (error == EMFILE || error == ENFILE)
			error_set(err, ERROR_OVERLOADED, feed->path, "too many files are open");
		else
			error_errno(err, ERROR_SYSTEM, feed->path, "unable to open");
		free(feed->path);
		free(feed);
		return NULL;
	}
	feed->next = f->first;
	f->first = feed;
	f->count++;
	if (feed->coming) {
		set_look(feed);
		return feed;
	}
	if (read_end(feed, err) != 0) {
		feed_release(feed);
		return NULL;
	}
	check_alive(feed);
	set_look(feed);
	return feed;
}

struct feed *
feed_share(struct feed *feed)
{
	feed->holders++;
	return feed;
}

void
feed_release(struct feed *feed)
{
	struct feeds *f = feed->feeds;
	struct feed **link = &f->first;

	INVARIANT(feed->holders > 0);
	if (--feed->holders > 0)
		return;
	INVARIANT(feed->streams == NULL && feed->waiters == NULL && f->count > 0);
	while (*link != feed)
		link = &(*link)->next;
	*link = feed->next;
	f->count--;
	loop_unset(f->loop, &feed->look);
	if (feed->watch != -1)
		inotify_rm_watch(f->changes.fd, feed->watch);
	backlog_free(&feed->backlog);
	file_close(&feed->fd);
	free(feed->path);
	free(feed);
}

/* ---- waiters ---- */

void
feed_await(struct feed *feed, struct feed_waiter *waiter)
{
	waiter->previous = NULL;
	waiter->next = feed->waiters;
	if (waiter->next != NULL)
		waiter->next->previous = waiter;
	feed->waiters = waiter;
}

void
feed_forget(struct feed *feed, struct feed_waiter *waiter)
{
	*(waiter->previous != NULL ? &waiter->previous->next : &feed->waiters) = waiter->next;
	if (waiter->next != NULL)
		waiter->next->previous = waiter->previous;
}

void
feed_tell(struct feed *feed)
{
	for (struct feed_waiter *waiter = feed->waiters; waiter != NULL; waiter = waiter->next)
		waiter->changed(waiter);
}

/* ---- places ---- */

/* Finds the start of the line whose LF ends at `end`; the line is left in the buffer. -1 with
 * errno. */
static int64_t
line_before(struct feed *feed, int64_t end, const char **line, size_t *len)
{
	const struct buffer *input = &feed->feeds->input;

	for (int64_t size = 4096;; size *= 4) {
		int64_t from = end > size ? end - size : 0;
		const char *lf;

		if (read_range(feed, from, end) != 0)
			return -1;
		lf = memrchr(input->data, '\n', input->len - 1);
		if (lf == NULL && from > 0)
			continue;
		*line = lf != NULL ? lf + 1 : input->data;
		*len = (size_t)(input->data + input->len - *line) - 1;
		INVARIANT((*line)[*len] == '\n' && end - (int64_t)*len - 1 >= 0);
		return end - (int64_t)*len - 1;
	}
}

void
feed_head(struct feed *feed, char id[])
{
	const char *line;
	size_t len;

	id[0] = '\0';
	for (int64_t end = feed->end; end > 0;) {
		end = line_before(feed, end, &line, &len);
		if (end == -1 || frame_id(line, len, id))
			return;
	}
}

int
feed_find(struct feed *feed, int64_t seq, const char *digest, int64_t *offset, struct error *err)
{
	struct reader r;
	const char *line;
	size_t len;
	int found = 0, got;
	int64_t own;

	if (reader_open(&r, feed->path, err) != 0)
		return -1;
	if (reader_seek_after(&r, seq - 1, err) != 0) {
		reader_close(&r);
		return -1;
	}
	got = reader_next(&r, &line, &len, err);
	if (got == 1 && event_seq(line, len, &own) && own == seq) {
		char id[FRAME_ID_SIZE];
		int64_t same;
		char now[FRAME_DIGITS + 1];

		frame_id(line, len, id);
		found = *digest == '\0' ||
		    (frame_id_read(id, &same, now) && strcmp(now, digest) == 0);
		*offset = r.position;
	}
	reader_close(&r);
	return got == -1 ? -1 : found;
}

/* The attempt that an event names; 0 if it names none. */
static int64_t
attempt_of(const char *line, size_t len)
{
	struct event_view event;
	struct event_head head;
	long long attempt;

	if (event_peek(line, len, &head) != 0)
		return 0;
	switch (head.type) {
	case EVENT_RUN_STARTED:
	case EVENT_STEP_STARTED:
	case EVENT_CALL_WORKFLOW_STARTED:
		if (event_view(line, len, &event) == 0 &&
		    span_integer(span_member(event.payload, KEY_ATTEMPT), &attempt))
			return attempt;
		return 0;
	default:
		return 0;
	}
}

int64_t
feed_attempt(struct feed *feed)
{
	struct reader r;
	struct error err;
	const char *line;
	size_t len;
	bool all = false;

	if (feed->attempt != 0 || reader_open(&r, feed->path, &err) != 0)
		return feed->attempt;
	/* Search further and further back: the latest event that names its attempt is usually near
	 * the end. */
	for (int64_t count = 64; feed->attempt == 0 && !all; count *= 16) {
		if (reader_seek_last(&r, count, &err) != 0)
			break;
		all = r.position == 0 || feed->end - r.position > ATTEMPT_MOST;
		while (reader_next(&r, &line, &len, &err) == 1) {
			int64_t attempt = attempt_of(line, len);

			feed->attempt = attempt != 0 ? attempt : feed->attempt;
		}
	}
	reader_close(&r);
	return feed->attempt;
}
