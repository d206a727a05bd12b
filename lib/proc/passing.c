/*
 * The caller has blocked these signals and SIGCHLD, so that sigwaitinfo(2) also gets those that
 * came before the wait; there is no handler.
 */
#include "proc/passing.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/wait.h>

#include "base/invariant.h"

static const int passed_on[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
#define PASSED_ON (sizeof passed_on / sizeof passed_on[0])

void
passing_add(sigset_t *set)
{
	struct sigaction action;

	sigaddset(set, SIGCHLD);
	for (size_t i = 0; i < PASSED_ON; i++)
		if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(set, passed_on[i]);
}

/* Whether the caller has blocked the signals that are waited for, so that none is lost. */
static bool
are_blocked(const sigset_t *set)
{
	sigset_t blocked;

	if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0)
		return false;
	for (size_t i = 0; i < PASSED_ON; i++)
		if (sigismember(set, passed_on[i]) == 1 && sigismember(&blocked, passed_on[i]) != 1)
			return false;
	return sigismember(&blocked, SIGCHLD) == 1;
}

int
passing_wait(pid_t pid, pid_t reaped, int *wait_status)
{
	struct sigaction action;
	sigset_t set;
	pid_t ended;
	int last = 0, number;

	sigemptyset(&set);
	passing_add(&set);
	INVARIANT(pid > 0 && are_blocked(&set));
	/* Nothing would report its end. */
	if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
		errno = ECHILD;
		return -1;
	}
	while ((ended = waitpid(reaped, wait_status, WNOHANG)) != pid) {
		if (ended == -1 && errno != EINTR)
			return -1;
		if (ended != 0)
			continue;
		number = sigwaitinfo(&set, NULL);
		if (number > 0 && number != SIGCHLD && kill(pid, number) == 0)
			last = number;
	}
	return last;
}
