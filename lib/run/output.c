/*
 * One buffer with two marks: what has been written, and how far bytes of others may follow,
 * which is the end of a line or, in a line that is no state line, anywhere. The lock is tried
 * and never waited for: the caller's poll is told to come back soon. At most 4096 bytes are
 * written at once, which a pipe that polls writable takes, as it is not made non-blocking.
 */
#define _GNU_SOURCE /* pipe2() */
#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/polling.h"
#include "run/state.h"

#define CHUNK ((size_t)64 << 10)
/* A pipe that polls writable takes this much without blocking. */
#define WRITE_UNBLOCKED ((size_t)4096)
#define LOCK_AGAIN_MS 5

int
output_open(struct output *o, int sink, struct error *err)
{
	int ends[2];

	*o = (struct output){ .stream = -1, .source = -1, .sink = sink };
	if (pipe2(ends, O_CLOEXEC) != 0)
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

/* What is there is enough until some of it is gone. */
static bool
wants_more(const struct output *o)
{
	return o->source >= 0 && (o->sent == o->ready || o->pending.len - o->sent < CHUNK);
}

nfds_t
output_poll(const struct output *o, struct pollfd fds[OUTPUT_POLLS], int64_t *deadline)
{
	int64_t soon = clock_monotonic() + LOCK_AGAIN_MS;
	bool ready = o->sent < o->ready;

	if (o->closed || (o->source < 0 && !ready))
		return 0;
	fds[0] = (struct pollfd){ o->sink, ready ? POLLOUT : 0, 0 };
	fds[1] = (struct pollfd){ wants_more(o) ? o->source : -1, POLLIN, 0 };
	if (ready && o->lockable && !o->locked) {
		fds[0].events = 0;
		if (*deadline == 0 || *deadline > soon)
			*deadline = soon;
	}
	return OUTPUT_POLLS;
}

static void
unlock(struct output *o)
{
	if (o->locked)
		lock_release(o->sink, LOCK_WHOLE);
	o->locked = false;
}

static void
nobody_reads(struct output *o)
{
	unlock(o);
	file_close(&o->source);
	buffer_clear(&o->pending);
	o->ready = o->sent = 0;
	o->closed = true;
}

/* Where another writer's bytes may follow: after whole lines, and in a line that is no
 * state line. `from` is where bytes came that were not looked at yet. */
static void
find_ready(struct output *o, size_t from)
{
	const char *bytes = o->pending.data;
	size_t end = o->pending.len;

	while (end > from && bytes[end - 1] != '\n')
		end--;
	if (end > from) {
		o->ready = end;
		o->passing = false;
	}
	if (o->ready < o->pending.len)
		o->passing |= bytes[o->ready] != '{' || o->pending.len - o->ready > DATA_LIMIT;
	if (o->passing || o->source < 0)
		o->ready = o->pending.len;
}

static int
keep(struct output *o, const char *bytes, size_t len, struct error *err)
{
	o->bytes += (int64_t)len;
	if (o->printed != NULL)
		return printed_add(o->printed, bytes, len, err);
	if (o->overflow)
		return 0;
	if (o->kept.len + len > DATA_LIMIT) {
		buffer_free(&o->kept);
		o->overflow = true;
		return 0;
	}
	buffer_append(&o->kept, bytes, len);
	return 0;
}

/* Takes what the pipe holds, at most a chunk: 1; 0 when it holds nothing; -1. */
static int
take(struct output *o, struct error *err)
{
	char *to = buffer_reserve(&o->pending, CHUNK);
	size_t from = o->pending.len;
	ssize_t got = read(o->source, to, CHUNK);

	if (got < 0)
		return errno == EINTR;
	if (got == 0)
		file_close(&o->source);
	if (keep(o, to, (size_t)got, err) != 0)
		return -1;
	o->pending.len += (size_t)got;
	if (o->pending.len > 0)
		find_ready(o, from);
	return got > 0;
}

/* Whether the lock on a shared output is had, or need not be. */
static bool
lock(struct output *o)
{
	if (!o->lockable || o->locked)
		return true;
	if (lock_take(o->sink, LOCK_WHOLE) == 0)
		o->locked = true;
	else if (errno != EAGAIN && errno != EACCES)
		o->lockable = false;
	return o->locked || !o->lockable;
}

static int
give(struct output *o, struct error *err)
{
	size_t len = o->ready - o->sent;
	ssize_t given = write(o->sink, o->pending.data + o->sent,
	    len < WRITE_UNBLOCKED ? len : WRITE_UNBLOCKED);

	if (given < 0 && errno == EPIPE) {
		nobody_reads(o);
		return 0;
	}
	if (given < 0)
		return errno == EINTR || errno == EAGAIN ? 0 :
		    error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
	o->sent += (size_t)given;
	if (o->sent < o->ready)
		return 0;
	unlock(o);
	buffer_drop(&o->pending, o->sent);
	o->ready = o->sent = 0;
	return 0;
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
	if (fds[1].revents != 0 && take(o, err) == -1)
		return -1;
	while (o->sent < o->ready && lock(o) && (poll_now(o->sink, POLLOUT) & POLLOUT) != 0)
		if (give(o, err) != 0)
			return -1;
	return 0;
}

int
output_ended(struct output *o, struct error *err)
{
	struct pollfd none[OUTPUT_POLLS] = { { .fd = -1 }, { .fd = -1 } };
	int more = 0;

	if (o->closed)
		return 0;
	while (o->source >= 0 && (more = take(o, err)) == 1)
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
	unlock(o);
	file_close(&o->source);
	output_started(o);
	buffer_free(&o->kept);
	buffer_free(&o->pending);
}
