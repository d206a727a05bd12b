/*
 * When the lock was taken, the lines that other processes have added are read, backwards from the
 * end of the file, at most to where this process saw it end before. Signals are blocked while the
 * lock is held.
 */
#include "transcript/transcript.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/lock.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/torn.h"
#include "transcript/transcript_file.h"

bool
transcript_holds(const struct transcript *t)
{
	static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

	return t->size >= 0 && t->seq >= 0 && (t->size > 0) == (t->seq > 0) &&
	    strlen(t->prev) == DIGEST_SIZE - 1 && (t->seq > 0 || strcmp(t->prev, zeros) == 0);
}

bool
transcript_may_write(const struct transcript *t)
{
	sigset_t blocked;

	return t->locked && t->owner == getpid() && !t->broken &&
	    pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, SIGTERM) == 1 &&
	    sigismember(&blocked, SIGTSTP) == 1;
}

/* Opening and closing. */

static int
open_file(const char *path, int flags)
{
	return file_open_plain(path, O_RDWR | O_APPEND | flags, 0600);
}

/* flags: O_CREAT | O_EXCL creates the file. */
static int
open_as(struct transcript *t, const char *path, int flags, const char *blobs, const char *run_id,
    struct error *err)
{
	int fd = open_file(path, flags), cause = errno, result;
	struct stat status;

	INVARIANT(strlen(run_id) < ID_SIZE);
	*t = (struct transcript){ .fd = fd, .owner = getpid(), .lock_ms = TRANSCRIPT_LOCK_MS };
	/* Set this first: if memory runs out, this function may be left by longjmp() (lib/shared),
	 * and the caller must close the descriptor. */
	t->path = memory_text(path);
	t->blobs = memory_text(blobs);
	memcpy(t->run_id, run_id, strlen(run_id) + 1);
	memset(t->prev, '0', DIGEST_SIZE - 1);
	window_begin(&t->tail, fd);
	errno = cause;
	if (fd == -1)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to %s the transcript",
		    flags != 0 ? "create" : "open");
	else if (fstat(fd, &status) == -1 || !S_ISREG(status.st_mode))
		result = error_set(err, ERROR_SYSTEM, path, "is no regular file");
	else
		result = sync_mode_from_environment(&t->sync, err);
	if (result == 0 && flags != 0 && t->sync != SYNC_NONE)
		result = file_sync_name(path, err);
	if (result == -1) {
		if (fd != -1 && flags != 0)
			unlink(path);
		transcript_close(t);
	}
	return result;
}

int
transcript_create(struct transcript *t, const char *path, const char *blobs,
    const char *run_id, struct error *err)
{
	return open_as(t, path, O_CREAT | O_EXCL, blobs, run_id, err);
}

int
transcript_open(struct transcript *t, const char *path, const char *blobs,
    const char *run_id, struct error *err)
{
	return open_as(t, path, 0, blobs, run_id, err);
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

int
transcript_own(struct transcript *t, struct error *err)
{
	if (t->broken)
		return error_set(err, ERROR_SYSTEM, t->path,
		    "a sync failed before: nothing more is recorded here");
	if (t->owner == getpid())
		return 0;
	int fd = open_file(t->path, 0);
	if (fd == -1)
		return error_errno(err, ERROR_SYSTEM, t->path, "unable to open the transcript");
	close(t->fd);
	t->fd = t->tail.fd = fd;
	t->owner = getpid();
	return 0;
}

/* The lock. */

int
transcript_lock(struct transcript *t, sigset_t *before, struct error *err)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, before);
	t->busy = false;
	INVARIANT(!t->locked && t->owner == getpid());
	t->locked = lock_file_within(t->fd, t->lock_ms) == 0;
	if (t->locked)
		return 0;
	t->busy = errno == EWOULDBLOCK;
	if (t->busy)
		error_set(err, ERROR_SYSTEM, t->path, "locked by another process for %d s: fuser(1) "
		    "names it", t->lock_ms / 1000);
	else
		error_errno(err, ERROR_SYSTEM, t->path, "unable to lock");
	pthread_sigmask(SIG_SETMASK, before, NULL);
	return -1;
}

void
transcript_unlock(struct transcript *t, const sigset_t *before)
{
	lock_file_release(t->fd);
	t->locked = false;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* The end of the file. All these functions are called with the lock held. */

static void
tail_forget(struct transcript *t)
{
	t->size = t->seq = t->wall = 0;
	memset(t->prev, '0', DIGEST_SIZE - 1);
	t->last = EVENT_TYPES;
	t->decided = false;
}

int
transcript_learn_tail(struct transcript *t, int64_t end, struct error *err)
{
	int64_t floor = t->size, start, seq = 0;
	char timestamp[CLOCK_TEXT_SIZE];
	struct event_view view;
	const char *line = NULL;
	size_t len = 0;

	window_forget(&t->tail);
	end = window_line_start(&t->tail, floor, end);
	while (end > floor) {
		start = window_line_start(&t->tail, floor, end - 1);
		if (start != -1 && (len = (size_t)(end - 1 - start)) <= SCAN_LINE_LIMIT) {
			if ((line = window_bytes(&t->tail, start, end)) == NULL)
				start = -1;
			else if (event_line_whole(line, len, &seq))
				break;
		}
		end = start;
	}
	if (end == -1)
		return error_errno(err, ERROR_SYSTEM, t->path, "unable to read its last line");
	t->size = end;
	if (end == floor)
		return 0;

	t->seq = seq;
	t->wall = 0;
	digest_blake2b(line, len, t->prev);
	if (event_view(line, len, &view) == 0 &&
	    span_copy(view.timestamp, timestamp, sizeof timestamp) &&
	    clock_parse(timestamp, 0, &t->wall) == -1)
		t->wall = 0;
	t->last = view.type;
	t->decided = event_decides(&view);
	INVARIANT(t->size > floor && transcript_holds(t));
	return 0;
}

/* Refuses a file that does not begin like a transcript: nothing may be cut off from it. Zeros are
 * accepted, as a power failure may have left them anywhere. */
static int
tail_check_beginning(struct transcript *t, struct error *err)
{
	static const char head[] = "{\"seq\":";
	char first[sizeof head - 1];
	ssize_t n = 0;

	if (t->size == 0 && (n = pread(t->fd, first, sizeof first, 0)) == -1)
		return error_errno(err, ERROR_SYSTEM, t->path, "unable to read");
	for (ssize_t i = 0; i < n; i++)
		if (first[i] != head[i] && first[i] != '\0')
			return error_set(err, ERROR_SYSTEM, t->path, "is no transcript");
	return 0;
}

/* Moves the bytes [t->size, end) to the .torn file; they are cut off only when they are safe
 * there. */
static int
tail_repair(struct transcript *t, int64_t end, struct error *err)
{
	INVARIANT(t->locked && t->size < end);
	if (torn_keep(t->path, &t->tail, t->size, end, err) == -1)
		return -1;
	if (ftruncate(t->fd, t->size) == -1)
		return error_errno(err, ERROR_SYSTEM, t->path, "unable to cut off a torn line");
	return 0;
}

int
transcript_catch_up(struct transcript *t, int64_t *moved, struct error *err)
{
	struct stat status;

	INVARIANT(t->locked && transcript_holds(t));
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
	if (transcript_learn_tail(t, status.st_size, err) == -1)
		return -1;
	if (t->size == status.st_size)
		return 0;
	if (tail_check_beginning(t, err) == -1)
		return -1;
	/* Only an incomplete last line is torn. If no line at all is complete, more than that is
	 * lost. */
	if (t->size == 0 && window_line_start(&t->tail, 0, status.st_size) != 0)
		return error_set(err, ERROR_SYSTEM, t->path, "its first line is damaged; see awf-verify");
	if (tail_repair(t, status.st_size, err) == -1)
		return -1;
	*moved = status.st_size - t->size;
	t->moved += *moved;
	return 0;
}

/* Appending. */

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
	t->locked = false;
	tail_forget(t);
}

void
transcript_trim(struct transcript *t)
{
	window_trim(&t->tail);
	if (t->line.bytes.capacity > WINDOW_KEPT)
		line_free(&t->line);
}

/* Moves the bytes after the last complete line; if moved is NULL, the bytes [at, end). */
static int
transcript_repair_file(const char *path, int64_t at, int64_t end, int64_t *moved, struct error *err)
{
	struct transcript t;
	struct stat status;
	sigset_t before;
	int result;

	if (transcript_open(&t, path, "", "", err) == -1)
		return -1;
	result = transcript_lock(&t, &before, err);
	if (result == 0) {
		if (moved != NULL) {
			result = transcript_catch_up(&t, moved, err);
		} else if (fstat(t.fd, &status) == -1) {
			result = error_errno(err, ERROR_SYSTEM, t.path, "unable to stat");
		} else if (status.st_size != end) {
			result = error_set(err, ERROR_SYSTEM, t.path,
			    "has changed since it was checked: check it again");
		} else {
			t.size = at;
			result = tail_check_beginning(&t, err) == -1 ? -1 : tail_repair(&t, end, err);
		}
		transcript_unlock(&t, &before);
	}
	transcript_close(&t);
	return result;
}

int
transcript_repair(const char *path, int64_t *moved, struct error *err)
{
	return transcript_repair_file(path, 0, 0, moved, err);
}

int
transcript_cut(const char *path, int64_t at, int64_t end, struct error *err)
{
	return transcript_repair_file(path, at, end, NULL, err);
}
