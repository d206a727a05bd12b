/*
 * Uses ppoll(2), whose timeout has room for any deadline, and which takes a signal mask. A portable build
 * has poll(2) alone: a wait with another mask is cut into short ones, since a signal that comes between the
 * change of the mask and the wait does not end that; each is told as one that a signal has ended.
 */
#define _GNU_SOURCE /* ppoll() */
#include "io/polling.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"

#ifdef AWF_PORTABLE
#define MASKED_WAIT 10 /* ms */

static int
poll_with(struct pollfd *fds, size_t count, int64_t left, bool ever, const sigset_t *mask)
{
	const int64_t most = mask != NULL ? MASKED_WAIT : INT_MAX;
	sigset_t old;
	int ready, reason;

	if (mask != NULL)
		pthread_sigmask(SIG_SETMASK, mask, &old);
	ready = poll(fds, (nfds_t)count, ever && mask == NULL ? -1 : ever || left > most ? (int)most : left > 0 ? (int)left : 0);
	reason = errno;
	if (mask != NULL)
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = reason;
	return ready;
}
#else
static int
poll_with(struct pollfd *fds, size_t count, int64_t left, bool ever, const sigset_t *mask)
{
	struct timespec time = { 0, 0 };

	if (left > 0)
		time = (struct timespec){ (time_t)(left / 1000), (long)(left % 1000) * 1000000L };
	return ppoll(fds, count, ever ? NULL : &time, mask);
}
#endif

int
poll_unblocked(struct pollfd *fds, size_t count, int64_t deadline, const sigset_t *mask)
{
	const int ready = poll_with(fds, count, deadline - clock_monotonic(), deadline == 0, mask);

	if (ready > 0)
		return ready;
	for (size_t i = 0; i < count; i++)
		fds[i].revents = 0;
	return ready == -1 && errno != EINTR ? -1 : 0;
}

int
poll_until(struct pollfd *fds, size_t count, int64_t deadline)
{
	return poll_unblocked(fds, count, deadline, NULL);
}

short
poll_one(int fd, short events, int64_t deadline)
{
	struct pollfd one = { fd, events, 0 };

	return poll_until(&one, 1, deadline) == 1 ? one.revents : 0;
}

short
poll_now(int fd, short events)
{
	struct pollfd one = { fd, events, 0 };

	return fd != -1 && poll(&one, 1, 0) == 1 ? one.revents : 0;
}
