/*
 * pidfd_open(2) makes the end of a child something to poll for. Kernels without it get a look
 * every 10 ms.
 */
#include "proc/wait.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#ifndef AWF_PORTABLE
#include <sys/syscall.h>
#endif

#include "base/clock.h"
#include "base/invariant.h"
#include "base/patience.h"
#include "io/polling.h"
#include "proc/orphans.h"

enum { LOOK_AGAIN = 10 }; /* ms, where there is no descriptor to wait for */

int
wait_descriptor(pid_t pid)
{
#ifndef AWF_PORTABLE
	return (int)syscall(SYS_pidfd_open, pid, 0);
#else
	(void)pid;
	return -1;
#endif
}

bool
wait_child(pid_t pid, int64_t timeout_ms, int *wait_status)
{
	int64_t end = clock_monotonic() + timeout_ms, now;
	int fd = -1;
	bool ended;

	INVARIANT(pid > 0);
	while (!(ended = waitpid(pid, wait_status, WNOHANG) != 0) &&
	    (now = clock_monotonic()) < end) {
		if (fd == -1)
			fd = wait_descriptor(pid);
		poll_one(fd, POLLIN, fd == -1 && now + LOOK_AGAIN < end ? now + LOOK_AGAIN : end);
	}
	if (fd != -1)
		close(fd);
	return ended;
}

void
wait_killed(pid_t pid, int *wait_status)
{
	tree_signal(pid, SIGKILL);
	wait_child(pid, GRACE_MS, wait_status);
}

void
wait_end(pid_t pid, int *wait_status)
{
	tree_signal(pid, SIGTERM);
	if (wait_child(pid, GRACE_MS, wait_status))
		return;
	wait_killed(pid, wait_status);
}
