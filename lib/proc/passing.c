/*
 * The caller has blocked these signals and SIGCHLD, so that sigwaitinfo(2) takes whatever
 * came before the wait too; there is no handler.
 */
#include "proc/passing.h"

#include <stddef.h>
#include <sys/wait.h>

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

int
passing_wait(pid_t pid, pid_t reaped, int *wait_status)
{
	sigset_t set;
	pid_t ended;
	int last = 0, number;

	sigemptyset(&set);
	passing_add(&set);
	while ((ended = waitpid(reaped, wait_status, WNOHANG)) != pid) {
		if (ended != 0)
			continue;
		number = sigwaitinfo(&set, NULL);
		if (number > 0 && number != SIGCHLD && kill(pid, number) == 0)
			last = number;
	}
	return last;
}
