/*
 * The line is made before the lock is taken (transcript/line.h), with blobs written and filters
 * asked; under it the file is caught up with, backwards from its end, at most to where this
 * process last saw it end. Signals are blocked while the lock is held.
 */
#include "transcript/transcript.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "transcript/event.h"
#include "transcript/torn.h"

/* Opening and closing. */

static int
transcript_file(const char *path, int flags)
{
	return file_open_plain(path, O_RDWR | O_APPEND | flags, 0600);
}

static void
transcript_name(struct transcript *t, const char *path, const char *blobs, const char *run_id)
{
	t->path = memory_text(path);
	t->blobs = memory_text(blobs);
	assert(strlen(run_id) < ID_SIZE);
	memcpy(t->run_id, run_id, strlen(run_id) + 1);
	memset(t->prev, '0', DIGEST_SIZE - 1);
}

/* Takes over fd, which is -1 with errno if it was not possible to `what` the file.
 * t can be closed whatever the result. */
static int
transcript_begin(struct transcript *t, int fd, const char *what, const char *path,
    struct error *err)
{
	struct stat status;

	*t = (struct transcript){ .fd = fd, .owner = getpid() };
	window_begin(&t->tail, fd);
	if (fd == -1)
		return error_errno(err, ERROR_SYSTEM, path, "unable to %s the transcript", what);
	if (fstat(fd, &status) == -1 || !S_ISREG(status.st_mode))
		return error_set(err, ERROR_SYSTEM, path, "is no regular file");
	return sync_mode_from_environment(&t->sync, err);
}

int
transcript_create(struct transcript *t, const char *path, const char *blobs,
    const char *run_id, struct error *err)
{
	int fd = transcript_file(path, O_CREAT | O_EXCL);

	if (transcript_begin(t, fd, "create", path, err) == -1 ||
	    (t->sync != SYNC_NONE && file_sync_name(path, err) == -1)) {
		if (fd != -1)
			unlink(path);
		transcript_close(t);
		return -1;
	}
	transcript_name(t, path, blobs, run_id);
	return 0;
}

int
transcript_open(struct transcript *t, const char *path, const char *blobs,
    const char *run_id, struct error *err)
{
	if (transcript_begin(t, transcript_file(path, 0), "open", path, err) == -1) {
		transcript_close(t);
		return -1;
	}
	transcript_name(t, path, blobs, run_id);
	return 0;
}

void
transcript_close(struct transcript *t)
{
	if (t->fd != -1)
		close(t->fd);
	t->fd = -1;
	if (t->redaction != NULL)
		redaction_close(t->redaction);
	t->redaction = NULL;
	free(t->path);
	free(t->blobs);
	t->path = t->blobs = NULL;
	line_free(&t->line);
	window_free(&t->tail);
}

/* A child made by fork() shares its parent's lock through an inherited descriptor,
 * so it opens the file anew. */
static int
transcript_own(struct transcript *t, struct error *err)
{
	if (t->broken)
		return error_set(err, ERROR_SYSTEM, t->path,
		    "a sync failed before: nothing more is recorded here");
	if (t->owner == getpid())
		return 0;
	int fd = transcript_file(t->path, 0);
	if (fd == -1)
		return error_errno(err, ERROR_SYSTEM, t->path, "unable to open the transcript");
	close(t->fd);
	t->fd = t->tail.fd = fd;
	t->owner = getpid();
	return 0;
}

/* The lock. */

/* Stopped or ended by a signal with the lock held, all others would wait. */
static int
transcript_lock(struct transcript *t, sigset_t *before, struct error *err)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, before);
	t->busy = false;
	if (lock_file_within(t->fd, TRANSCRIPT_LOCK_MS) == 0)
		return 0;
	t->busy = errno == EWOULDBLOCK;
	if (t->busy)
		error_set(err, ERROR_SYSTEM, t->path, "locked by another process for %d s: fuser(1) "
		    "names it", TRANSCRIPT_LOCK_MS / 1000);
	else
		error_errno(err, ERROR_SYSTEM, t->path, "unable to lock");
	pthread_sigmask(SIG_SETMASK, before, NULL);
	return -1;
}

static void
transcript_unlock(struct transcript *t, const sigset_t *before)
{
	lock_file_release(t->fd);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* What the file ends in. All of this runs under the lock. */

static void
tail_forget(struct transcript *t)
{
	t->size = t->seq = t->wall = 0;
	memset(t->prev, '0', DIGEST_SIZE - 1);
	t->last = EVENT_TYPES;
	t->decided = false;
}

/* Remembers the line [start, end): the last whole one. */
static void
tail_remember(struct transcript *t, const char *line, size_t len, int64_t seq)
{
	char timestamp[CLOCK_TEXT_SIZE];
	struct event_view view;

	t->seq = seq;
	t->wall = 0;
	digest_blake2b(line, len, t->prev);
	if (event_view(line, len, &view) == 0 &&
	    span_copy(view.timestamp, timestamp, sizeof timestamp) &&
	    clock_parse(timestamp, 0, &t->wall) == -1)
		t->wall = 0;
	t->last = view.type;
	t->decided = event_decides(&view);
}

/* Looks at the line that ends (with its LF) at end: 1 if it is whole, and is
 * remembered then; 0 with *start at its begin; -1 with errno. */
static int
tail_line(struct transcript *t, int64_t floor, int64_t end, int64_t *start)
{
	int64_t seq;

	if ((*start = window_line_start(&t->tail, floor, end - 1)) == -1)
		return -1;
	size_t len = (size_t)(end - 1 - *start);
	if (len > SCAN_LINE_LIMIT)
		return 0;
	const char *line = window_bytes(&t->tail, *start, end);
	if (line == NULL)
		return -1;
	if (!event_line_whole(line, len, &seq))
		return 0;
	tail_remember(t, line, len, seq);
	return 1;
}

/* Finds the last whole line in [t->size, end), remembers it, and sets t->size to
 * where it ends. */
static int
tail_learn(struct transcript *t, int64_t end, struct error *err)
{
	int64_t floor = t->size, start;
	int whole = 0;

	window_forget(&t->tail);
	end = window_line_start(&t->tail, floor, end);
	while (end > floor && whole == 0) {
		whole = tail_line(t, floor, end, &start);
		if (whole == 0)
			end = start;
	}
	if (end == -1 || whole == -1)
		return error_errno(err, ERROR_SYSTEM, t->path, "unable to read its last line");
	t->size = end;
	return 0;
}

/* A file that does not begin like a transcript is not ours to cut; a power cut may have left
 * zeros anywhere. */
static int
tail_check_kind(struct transcript *t, struct error *err)
{
	static const char head[] = "{\"seq\":";
	char first[sizeof head - 1];
	ssize_t n = pread(t->fd, first, sizeof first, 0);

	if (n == -1)
		return error_errno(err, ERROR_SYSTEM, t->path, "unable to read");
	for (ssize_t i = 0; i < n; i++)
		if (first[i] != head[i] && first[i] != '\0')
			return error_set(err, ERROR_SYSTEM, t->path, "is no transcript");
	return 0;
}

/* Moves [t->size, end) away; nothing is cut before it is safe elsewhere. */
static int
tail_repair(struct transcript *t, int64_t end, struct error *err)
{
	if ((t->size == 0 && tail_check_kind(t, err) == -1) ||
	    torn_keep(t->path, &t->tail, t->size, end, err) == -1)
		return -1;
	if (ftruncate(t->fd, t->size) == -1)
		return error_errno(err, ERROR_SYSTEM, t->path, "unable to cut off a torn line");
	return 0;
}

/* Brings t up to the file: its last line, and no torn tail. *moved is set to the
 * bytes of a tail that was moved away. */
static int
transcript_catch_up(struct transcript *t, int64_t *moved, struct error *err)
{
	struct stat status;

	*moved = 0;
	if (fstat(t->fd, &status) == -1)
		return error_errno(err, ERROR_SYSTEM, t->path, "unable to stat");
	if (status.st_nlink == 0)
		return error_set(err, ERROR_SYSTEM, t->path,
		    "was removed while in use: nothing more can be recorded");
	if (status.st_size == t->size)
		return 0;
	if (status.st_size < t->size)
		tail_forget(t);
	if (tail_learn(t, status.st_size, err) == -1)
		return -1;
	if (t->size == status.st_size)
		return 0;
	if (tail_repair(t, status.st_size, err) == -1)
		return -1;
	*moved = status.st_size - t->size;
	t->moved += *moved;
	return 0;
}

/* Tells of a repair, once the lock is free: whoever reads the text may be slow. */
static void
transcript_tell(const struct transcript *t, int64_t moved)
{
	if (moved == 0 || t->repaired == NULL)
		return;
	char *torn = torn_path(t->path);
	char *text = memory_format("%s: moved %lld bytes of a torn line to %s", t->path,
	    (long long)moved, torn);
	t->repaired(text);
	free(text);
	free(torn);
}

/* Appending. */

static int
redact(struct transcript *t, struct event *e, struct error *err)
{
	if (!t->masked)
		return 0;
	if (t->redaction == NULL)
		return error_set(err, ERROR_SYSTEM, t->path,
		    "the run is masked, and its filter is not known here: nothing is written");
	return redaction_apply(t->redaction, t->run_id, e, err);
}

/* What stands before the causes of line 1 has one form, and fits into this. */
#define FIRST_IDS ((size_t)256)

/* Whose child the run is stands in the first line, which is looked at once. */
static void
find_parent_run(struct transcript *t)
{
	static const char key[] = ",\"parent_run_id\":\"";
	char text[FIRST_IDS];
	ssize_t len = pread(t->fd, text, sizeof text - 1, 0);
	const char *at;

	if (len <= 0)
		return;
	t->parent_known = true;
	text[len] = '\0';
	at = strstr(text, key);
	if (at == NULL || strcspn(at + strlen(key), "\"") != ID_SIZE - 1 ||
	    !id_valid(at + strlen(key), ID_SIZE - 1))
		return;
	memcpy(t->parent_run_id, at + strlen(key), ID_SIZE - 1);
}

static int
transcript_line(struct transcript *t, struct event *e, struct error *err)
{
	const struct line_place place = { t->path, t->blobs, t->run_id, t->sync != SYNC_NONE };

	if (e->event_id == NULL)
		id_new(e->id);
	else
		memcpy(e->id, e->event_id, ID_SIZE);
	if (e->parent_run_id == NULL && !t->parent_known)
		find_parent_run(t);
	if (e->parent_run_id == NULL && t->parent_run_id[0] != '\0')
		e->parent_run_id = t->parent_run_id;
	if (redact(t, e, err) == -1)
		return -1;
	return line_make(&t->line, &place, e, err);
}

/* Why a write was short: what the rest meets. Its LF is held back, for a reader
 * would take the line for whole before it is cut off. */
static int
write_cause(int fd, const char *rest, size_t len)
{
	if (len > 1 && write(fd, rest, len - 1) == -1)
		return errno;
	return EIO;
}

static int
transcript_write(struct transcript *t, struct span line, struct error *err)
{
	ssize_t n = write(t->fd, line.at, line.len);

	if (n == (ssize_t)line.len)
		return 0;
	int cause = n == -1 ? errno : write_cause(t->fd, line.at + n, line.len - (size_t)n);
	bool cut = ftruncate(t->fd, t->size) == 0;
	errno = cause;
	return error_errno(err, ERROR_SYSTEM, t->path, "unable to append%s",
	    cut || n == -1 ? "" : ", and a torn line is left for the next writer to move");
}

/* Appends t->line; the file has been caught up with. */
static int
append_line(struct transcript *t, struct event *e, struct error *err)
{
	int64_t wall = clock_wall();

	if (t->wall < wall)
		t->wall = wall;
	line_finish(&t->line, e, t->seq + 1, t->wall, t->prev);
	struct span line = line_span(&t->line);
	if (transcript_write(t, line, err) == -1)
		return -1;
	t->seq = e->seq;
	t->last = e->type;
	t->decided = false;
	t->size += (int64_t)line.len;
	return 0;
}

/* Asked under the lock. */
typedef int decide_function(void *context, struct event *e, struct error *err);

/* What happens under the lock. */
static int
append_locked(struct transcript *t, struct event *e, bool line_made, decide_function *decide,
    void *context, int64_t *moved, struct error *err)
{
	if (transcript_catch_up(t, moved, err) == -1 ||
	    (decide != NULL && decide(context, e, err) == -1) ||
	    (!line_made && transcript_line(t, e, err) == -1))
		return -1;
	return append_line(t, e, err);
}

/* ahead: the line is made before the lock is taken. */
static int
append(struct transcript *t, struct event *e, bool ahead, decide_function *decide, void *context,
    struct error *err)
{
	sigset_t before;
	int64_t moved = 0;

	if (transcript_own(t, err) == -1 || (ahead && transcript_line(t, e, err) == -1))
		return -1;
	if (transcript_lock(t, &before, err) == -1)
		return -1;
	int result = append_locked(t, e, ahead, decide, context, &moved, err);
	transcript_unlock(t, &before);
	transcript_tell(t, moved);
	if (result == -1)
		return -1;
	/* Outside the lock, for it takes a while. */
	struct span line = line_span(&t->line);
	digest_blake2b(line.at, line.len - 1, t->prev);
	return t->sync == SYNC_EVENT ? transcript_sync(t, err) : 0;
}

int
transcript_append(struct transcript *t, struct event *e, struct error *err)
{
	return append(t, e, true, NULL, NULL, err);
}

int
transcript_append_deciding(struct transcript *t, struct event *e,
    int (*decide)(void *context, struct event *e, struct error *err), void *context,
    struct error *err)
{
	return append(t, e, false, decide, context, err);
}

int
transcript_append_allowed(struct transcript *t, struct event *e,
    int (*allow)(void *context, struct event *e, struct error *err), void *context,
    struct error *err)
{
	return append(t, e, true, allow, context, err);
}

int
transcript_sync(struct transcript *t, struct error *err)
{
	if (t->sync == SYNC_NONE)
		return 0;
	if (transcript_own(t, err) == -1)
		return -1;
	if (fdatasync(t->fd) == 0)
		return 0;
	t->broken = true;
	return error_errno(err, ERROR_SYSTEM, t->path, "unable to sync");
}

void
transcript_forget(struct transcript *t)
{
	lock_file_release(t->fd);
	tail_forget(t);
}

int
transcript_repair(const char *path, int64_t *moved, struct error *err)
{
	struct transcript t;
	sigset_t before;

	if (transcript_open(&t, path, "", "", err) == -1)
		return -1;
	int result = transcript_lock(&t, &before, err);
	if (result == 0) {
		result = transcript_catch_up(&t, moved, err);
		transcript_unlock(&t, &before);
	}
	transcript_close(&t);
	return result;
}

/* Under the lock. */
static int
cut_locked(struct transcript *t, int64_t at, int64_t end, struct error *err)
{
	struct stat status;

	if (fstat(t->fd, &status) == -1)
		return error_errno(err, ERROR_SYSTEM, t->path, "unable to stat");
	if (status.st_size != end)
		return error_set(err, ERROR_SYSTEM, t->path,
		    "has changed since it was checked: check it again");
	t->size = at;
	return tail_repair(t, end, err);
}

int
transcript_cut(const char *path, int64_t at, int64_t end, struct error *err)
{
	struct transcript t;
	sigset_t before;

	if (transcript_open(&t, path, "", "", err) == -1)
		return -1;
	int result = transcript_lock(&t, &before, err);
	if (result == 0) {
		result = cut_locked(&t, at, end, err);
		transcript_unlock(&t, &before);
	}
	transcript_close(&t);
	return result;
}
