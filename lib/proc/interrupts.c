/*
 * The handler's flag is looked at with all signals blocked, and ppoll(2) unblocks and waits
 * in one, so that no signal comes between the look and the wait. A descriptor that is polled
 * for nothing still tells POLLERR and POLLHUP: by that a reader is seen to be gone.
 */
#define _GNU_SOURCE /* ppoll() */
#include "proc/interrupts.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static bool
signalled(const struct interrupts *interrupts, struct error *err)
{
	if (interrupts == NULL || interrupts->signal_number == NULL ||
	    *interrupts->signal_number == 0)
		return false;
	error_set(err, ERROR_CANCELLED, NULL, "cancelled by signal %d (%s)",
	    *interrupts->signal_number, strsignal(*interrupts->signal_number));
	return true;
}

/* A terminal that went away hangs up; a pipe without a reader is in error. */
static bool
downstream_gone(const struct pollfd *downstream, struct error *err)
{
	if ((downstream->revents & (POLLERR | POLLHUP)) == 0)
		return false;
	error_set(err, ERROR_DOWNSTREAM_CLOSED, NULL, "nobody reads the output any more");
	return true;
}

static void
watch_downstream(const struct interrupts *interrupts, struct pollfd *fd)
{
	*fd = (struct pollfd){ interrupts == NULL ? -1 : interrupts->downstream, 0, 0 };
}

bool
interrupted(const struct interrupts *interrupts, struct error *err)
{
	struct pollfd downstream;

	if (signalled(interrupts, err))
		return true;
	watch_downstream(interrupts, &downstream);
	return downstream.fd != -1 && poll(&downstream, 1, 0) == 1 &&
	    downstream_gone(&downstream, err);
}

/* poll() that leaves no gap between looking at the flag and waiting. -1 with
 * EINTR if the flag was set. */
static int
guarded_poll(const struct interrupts *interrupts, struct pollfd *fds, size_t count,
    int64_t timeout_ms)
{
	struct timespec timeout = { (time_t)(timeout_ms / 1000), (long)(timeout_ms % 1000) * 1000000L };
	sigset_t all, before;
	int ready, error = EINTR;

	if (interrupts == NULL || interrupts->signal_number == NULL)
		return poll(fds, count, timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	ready = -1;
	if (*interrupts->signal_number == 0) {
		ready = ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, &before);
		error = errno;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return ready;
}

int
interrupts_wait(const struct interrupts *interrupts, struct pollfd *fds, size_t count,
    int64_t timeout_ms, struct error *err)
{
	int ready;

	watch_downstream(interrupts, &fds[0]);
	ready = guarded_poll(interrupts, fds, count, timeout_ms < 0 ? -1 : timeout_ms);
	if (ready > 0 && (fds[0].revents & POLLNVAL) != 0) {
		/* A stdout that was closed from the start would end every wait. */
		fds[0].fd = -1;
		ready = guarded_poll(interrupts, fds, count, timeout_ms < 0 ? -1 : timeout_ms);
	}
	if (ready <= 0)
		for (size_t i = 0; i < count; i++)
			fds[i].revents = 0;
	if (ready == -1 && errno != EINTR)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to wait");
	return signalled(interrupts, err) || downstream_gone(&fds[0], err) ? -1 : 0;
}

int
interrupts_sleep(const struct interrupts *interrupts, int64_t ms, struct error *err)
{
	int64_t end = clock_monotonic() + ms, left;
	struct pollfd own;

	while ((left = end - clock_monotonic()) > 0)
		if (interrupts_wait(interrupts, &own, 1, left, err) == -1)
			return -1;
	return 0;
}
