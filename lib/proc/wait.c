/*
 * pidfd_open(2) makes the end of a child something to poll for. Kernels without it get a look
 * every 10 ms.
 */
#include "proc/wait.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/patience.h"
#include "proc/orphans.h"

enum { LOOK_AGAIN = 10 }; /* ms, where there is no descriptor to wait for */

int
wait_descriptor(pid_t pid)
{
#ifdef SYS_pidfd_open
	return (int)syscall(SYS_pidfd_open, pid, 0);
#else
	(void)pid;
	return -1;
#endif
}

bool
wait_child(pid_t pid, int64_t timeout_ms, int *wait_status)
{
	int64_t end = clock_monotonic() + timeout_ms, left;
	struct pollfd fd = { -1, POLLIN, 0 };
	bool ended;

	while (!(ended = waitpid(pid, wait_status, WNOHANG) != 0) &&
	    (left = end - clock_monotonic()) > 0) {
		if (fd.fd == -1)
			fd.fd = wait_descriptor(pid);
		if (fd.fd == -1 && left > LOOK_AGAIN)
			left = LOOK_AGAIN;
		poll(&fd, 1, left > INT_MAX ? INT_MAX : (int)left);
	}
	if (fd.fd != -1)
		close(fd.fd);
	return ended;
}

void
wait_end(pid_t pid, int *wait_status)
{
	tree_signal(pid, SIGTERM);
	if (wait_child(pid, GRACE_MS, wait_status))
		return;
	tree_signal(pid, SIGKILL);
	wait_child(pid, GRACE_MS, wait_status);
}
