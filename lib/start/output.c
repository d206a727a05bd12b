/*
 * What the workflow prints is written to a file in the run's directory; when the digest is known it
 * is renamed to a blob of that name. A run that is killed leaves none: the next attempt prints
 * again.
 *
 * The relay is one buffer with two marks: how much was written, and up to where other writers'
 * bytes may follow, which is the end of a line or, in a line that is not a state line, anywhere.
 * The lock is tried, never waited for: the caller's poll is told to come back soon. At most 4096
 * bytes are written at once: a pipe that polls writable has room for these, and it is not made
 * non-blocking.
 */
#include "start/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/lock.h"
#include "io/polling.h"
#include "storage/state.h"
#include "system/descriptor.h"
#include "transcript/blob.h"

#define SPOOL "stdout"
#define COPY_SIZE ((size_t)256 << 10)
#define CHUNK ((size_t)64 << 10)
#define WRITE_UNBLOCKED ((size_t)4096) /* bytes for which a pipe that polls writable has room */
#define LOCK_AGAIN_MS 5

/* ---- storing ---- */

static int
unable_to_keep(const struct printed *p, struct error *err)
{
	return error_errno(err, ERROR_SYSTEM, p->path, "unable to keep stdout");
}

int
printed_begin(struct printed *p, const char *directory, struct error *err)
{
	struct stat st, other;

	*p = (struct printed)PRINTED_INIT;
	if (fstat(STDOUT_FILENO, &st) != 0)
		return 0;
	/* If stderr goes to the same file, the order of both must not be changed: of a device that is no
	 * terminal, such as /dev/null, nobody reads it. */
	if (S_ISCHR(st.st_mode) && !isatty(STDOUT_FILENO))
		p->relayed = true;
	else if (fstat(STDERR_FILENO, &other) == 0 && other.st_dev == st.st_dev &&
	    other.st_ino == st.st_ino)
		return 0;
	else if (S_ISREG(st.st_mode))
		p->start = (fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND) != 0 ? st.st_size :
		    lseek(STDOUT_FILENO, 0, SEEK_CUR);
	else if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		p->relayed = true;
	else
		return 0;
	p->path = path_join(directory, SPOOL);
	p->spool = file_open_plain(p->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (p->spool < 0)
		return unable_to_keep(p, err);
	digest_begin(&p->digest);
	p->kept = true;
	return 0;
}

/* Stores relayed bytes. */
static int
printed_add(struct printed *p, const void *bytes, size_t len, struct error *err)
{
	if (!p->kept)
		return 0;
	if (file_write(p->spool, bytes, len) != 0) {
		p->kept = false;
		return unable_to_keep(p, err);
	}
	digest_add(&p->digest, bytes, len);
	p->bytes += (int64_t)len;
	return 0;
}

int
printed_finish(struct printed *p, const struct transcript *t, char sha256[DIGEST_SIZE],
    struct error *err)
{
	char name[48], *bytes;
	off_t at = p->start;
	ssize_t got = -1;
	int fd, failed = 0;

	if (p->kept && !p->relayed) {
		/* A file that the workflow has written to and that this process can only write to
		 * is opened again through /proc. If it cannot be read, nothing is stored. */
		snprintf(name, sizeof name, "/proc/self/fd/%d", STDOUT_FILENO);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		bytes = memory_alloc(COPY_SIZE);
		while (fd >= 0 && failed == 0 && (got = pread(fd, bytes, COPY_SIZE, at)) > 0) {
			failed = printed_add(p, bytes, (size_t)got, err);
			at += got;
		}
		if (got < 0)
			p->kept = false;
		free(bytes);
		file_close(&fd);
	}
	p->kept &= failed == 0;
	if (!p->kept)
		return failed;
	digest_end(&p->digest, sha256);
	failed = blob_take(t->blobs, p->path, p->spool, t->sync != SYNC_NONE, sha256, err);
	p->kept = failed == 0;
	return failed;
}

void
printed_close(struct printed *p)
{
	file_close(&p->spool);
	free(p->path);
	*p = (struct printed)PRINTED_INIT;
}

/* ---- the relay ---- */

int
output_open(struct output *o, int sink, struct error *err)
{
	int ends[2];

	*o = (struct output){ .stream = -1, .source = -1, .sink = sink };
	if (descriptor_pipe(ends) != 0)
		return error_errno(err, ERROR_SYSTEM, "stdout", "unable to make a pipe");
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	o->source = ends[0];
	o->stream = ends[1];
	o->lockable = lock_applies(sink);
	return 0;
}

void
output_started(struct output *o)
{
	file_close(&o->stream);
}

bool
output_busy(const struct output *o)
{
	return !o->closed && o->sent < o->pending.len;
}

nfds_t
output_poll(const struct output *o, struct pollfd fds[OUTPUT_POLLS], int64_t *deadline)
{
	int64_t soon = clock_monotonic() + LOCK_AGAIN_MS;
	bool ready = o->sent < o->ready;
	/* Read no more until some of it was written. */
	bool more = o->source >= 0 && (!ready || o->pending.len - o->sent < CHUNK);

	if (o->closed || (o->source < 0 && !ready))
		return 0;
	fds[0] = (struct pollfd){ o->sink, ready ? POLLOUT : 0, 0 };
	fds[1] = (struct pollfd){ more ? o->source : -1, POLLIN, 0 };
	if (ready && o->lockable && !o->locked) {
		fds[0].events = 0;
		if (*deadline == 0 || *deadline > soon)
			*deadline = soon;
	}
	return OUTPUT_POLLS;
}

static void
output_unlock_sink(struct output *o)
{
	if (o->locked)
		lock_release(o->sink, LOCK_WHOLE);
	o->locked = false;
}

static void
nobody_reads(struct output *o)
{
	output_unlock_sink(o);
	file_close(&o->source);
	buffer_clear(&o->pending);
	o->ready = o->sent = 0;
	o->closed = true;
}

/* Reads from the pipe, at most a chunk: 1; 0 if it is empty; -1. */
static int
output_read_pipe(struct output *o, struct error *err)
{
	char *to = buffer_reserve(&o->pending, CHUNK);
	size_t from = o->pending.len, end;
	ssize_t got = read(o->source, to, CHUNK);

	if (got < 0)
		return errno == EINTR;
	if (got == 0)
		file_close(&o->source);

	o->bytes += got;
	if (o->printed != NULL) {
		if (printed_add(o->printed, to, (size_t)got, err) != 0)
			return -1;
	} else if (!o->overflow && o->kept.len + (size_t)got > DATA_LIMIT) {
		buffer_free(&o->kept);
		o->overflow = true;
	} else if (!o->overflow) {
		buffer_append(&o->kept, to, (size_t)got);
	}

	/* Other writers' bytes may follow a whole line, or be inside of a line that is not a
	 * state line. */
	end = o->pending.len += (size_t)got;
	while (end > from && o->pending.data[end - 1] != '\n')
		end--;
	if (end > from) {
		o->ready = end;
		o->passing = false;
	}
	if (o->ready < o->pending.len)
		o->passing |= o->pending.data[o->ready] != '{' ||
		    o->pending.len - o->ready > DATA_LIMIT;
	if (o->passing || o->source < 0)
		o->ready = o->pending.len;
	return got > 0;
}

/* Whether the lock of a shared output is held, or not needed. */
static bool
output_lock_sink(struct output *o)
{
	if (!o->lockable || o->locked)
		return true;
	if (lock_take(o->sink, LOCK_WHOLE) == 0)
		o->locked = true;
	else if (errno != EAGAIN && errno != EACCES)
		o->lockable = false;
	return o->locked || !o->lockable;
}

int
output_step(struct output *o, const struct pollfd *fds, nfds_t count, struct error *err)
{
	if (count == 0)
		return 0;
	if (fds[0].revents & (POLLERR | POLLHUP | POLLNVAL)) {
		nobody_reads(o);
		return 0;
	}
	if (fds[1].revents != 0 && output_read_pipe(o, err) == -1)
		return -1;
	while (o->sent < o->ready && output_lock_sink(o) &&
	    (poll_now(o->sink, POLLOUT) & POLLOUT) != 0) {
		size_t len = o->ready - o->sent;
		ssize_t given = write(o->sink, o->pending.data + o->sent,
		    len < WRITE_UNBLOCKED ? len : WRITE_UNBLOCKED);

		if (given < 0 && errno == EPIPE) {
			nobody_reads(o);
			return 0;
		}
		if (given < 0 && errno != EINTR && errno != EAGAIN)
			return error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
		if (given > 0)
			o->sent += (size_t)given;
		if (o->sent == o->ready) {
			output_unlock_sink(o);
			buffer_drop(&o->pending, o->sent);
			o->ready = o->sent = 0;
		}
	}
	return 0;
}

int
output_ended(struct output *o, struct error *err)
{
	struct pollfd none[OUTPUT_POLLS] = { { .fd = -1 }, { .fd = -1 } };
	int more = 0;

	if (o->closed)
		return 0;
	while (o->source >= 0 && (more = output_read_pipe(o, err)) == 1)
		;
	if (more == -1)
		return -1;
	file_close(&o->source);
	o->ready = o->pending.len;
	return output_step(o, none, OUTPUT_POLLS, err);
}

void
output_close(struct output *o)
{
	output_unlock_sink(o);
	file_close(&o->source);
	output_started(o);
	buffer_free(&o->kept);
	buffer_free(&o->pending);
}
