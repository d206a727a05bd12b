/*
 * Waiting for descriptors until a time of the monotonic clock. A caught signal ends the wait in
 * the same way as the timeout: callers then check what the signal handler has set, and the clock,
 * and need not handle EINTR.
 */
#ifndef AWF_IO_POLLING_H
#define AWF_IO_POLLING_H

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* Waits until one of the descriptors (-1: ignored) is ready, at most until deadline
 * (clock_monotonic(); 0: for ever). Returns how many are ready; 0: the time is over, or a signal
 * was caught; -1 with errno: poll(2) failed. revents are all 0 unless some are ready. */
int poll_until(struct pollfd *fds, size_t count, int64_t deadline);
/* The same with another signal mask during the wait: no signal can arrive unnoticed between a check
 * of what its handler sets and the wait. */
int poll_unblocked(struct pollfd *fds, size_t count, int64_t deadline, const sigset_t *mask);

/* Waits for one descriptor (-1: none) and returns its revents; 0: none, or poll(2) failed. */
short poll_one(int fd, short events, int64_t deadline);
short poll_now(int fd, short events);

#endif
