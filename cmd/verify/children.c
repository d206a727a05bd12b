/* The held signals are blocked, and received with sigwaitinfo(2). */
#include "verify/children.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/file.h"
#include "proc/message.h"
#include "system/self.h"

void
children_hold_signals(struct held_signals *h)
{
	static const int numbers[] = { SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct sigaction action;

	sigemptyset(&h->signals);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (sigaction(numbers[i], NULL, &action) == 0 &&
		    (action.sa_handler != SIG_IGN || numbers[i] == SIGCHLD))
			sigaddset(&h->signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &h->signals, &h->before);
}

void
children_let_go(const struct held_signals *h)
{
	sigprocmask(SIG_SETMASK, &h->before, NULL);
}

pid_t
children_start(char *const *argv, int out, int errors, int death_signal,
    const struct held_signals *h, struct error *err)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		error_errno(err, ERROR_SYSTEM, NULL, "unable to fork");
	if (pid != 0)
		return pid;
	self_die_with_parent(death_signal);
	children_let_go(h);
	if (dup2(out, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0)
		execvp(argv[0], argv);
	message_print(path_base(argv[0]), "unable to run it: %s", strerror(errno));
	_exit(STATUS_SYSTEM);
}

int
children_wait(pid_t *pids, int *ends, size_t count, const struct held_signals *h)
{
	int passed = 0;

	for (;;) {
		bool left = false;
		int number;

		for (size_t i = 0; i < count; i++)
			left = left || pids[i] > 0;
		if (!left)
			return passed;
		number = sigwaitinfo(&h->signals, NULL);
		if (number > 0 && number != SIGCHLD)
			passed = number;
		for (size_t i = 0; i < count; i++) {
			if (pids[i] > 0 && number > 0 && number != SIGCHLD)
				kill(pids[i], number);
			if (pids[i] > 0 && number == SIGCHLD &&
			    waitpid(pids[i], &ends[i], WNOHANG) == pids[i])
				pids[i] = 0;
		}
	}
}
