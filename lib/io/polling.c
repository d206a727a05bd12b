/* Uses ppoll(2), whose timeout has room for any deadline, and which takes a signal mask. */
#define _GNU_SOURCE /* ppoll() */
#include "io/polling.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

int
poll_unblocked(struct pollfd *fds, size_t count, int64_t deadline, const sigset_t *mask)
{
	int64_t left = deadline - clock_monotonic();
	struct timespec time = { 0, 0 };
	int ready;

	if (left > 0)
		time = (struct timespec){ (time_t)(left / 1000), (long)(left % 1000) * 1000000L };
	ready = ppoll(fds, count, deadline == 0 ? NULL : &time, mask);
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
