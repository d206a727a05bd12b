/*
 * The guardian is forked with all signals blocked, and takes them by sigwaitinfo(2): none is
 * lost or kills it. It asks for a signal at its parent's death and only then looks whether
 * the parent is still there. Reports go through a pipe, each whole as it is below PIPE_BUF.
 * That the pipe closes after the report of the end says that nobody is left; before it, that
 * the guardian was killed.
 */
#define _GNU_SOURCE /* pipe2() */
#include "proc/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/file.h"
#include "proc/descendants.h"

#define REPORT_FD 3
/* It may be forked by a process that is known by its name. */
#define GUARDIAN_NAME "awf-guardian"

/* Below PIPE_BUF, so that a report is read whole or not at all. */
struct report {
	enum { REPORT_STARTED, REPORT_FAILED, REPORT_ENDED } what;
	int value; /* exit code of a failed start; wait status of the end */
	int reason; /* errno of a failed start */
	struct error error;
};

/* If nobody reads it any more the program has gone, which the guardian notices. */
static void
report(int fd, const struct report *r)
{
	file_write(fd, r, sizeof *r);
}

/* Asks for SIGTERM when the parent goes. Elsewhere than on Linux the guardian
 * looks twice a second. */
static void
follow_parent(void)
{
#ifdef PR_SET_PDEATHSIG
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_NAME, GUARDIAN_NAME);
#endif
}

/* The signal; -1 if none came. */
static int
wait_for_signal(const sigset_t *signals)
{
#ifdef PR_SET_PDEATHSIG
	return sigwaitinfo(signals, NULL);
#else
	const struct timespec half_second = { 0, 500000000 };

	return sigtimedwait(signals, NULL, &half_second);
#endif
}

/* Lets go of all that was inherited; returns the descriptor of the pipe. */
static int
let_go(int pipe_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (dup2(pipe_fd, REPORT_FD) == REPORT_FD)
		pipe_fd = REPORT_FD;
	fcntl(pipe_fd, F_SETFD, FD_CLOEXEC);
	closefrom(REPORT_FD + 1);
	setpgid(0, 0);
	return pipe_fd;
}

/* Whether nothing is left but what goes a way of its own. */
static bool
alone(void)
{
	return descendants_signal(getpid(), 0, NULL) == 0;
}

/* Reaps until no child is left or the parent has gone. */
static void
guard(pid_t parent, pid_t started, int pipe_fd, const sigset_t *signals)
{
	bool ended = false;
	int number = -1;

	for (;;) {
		struct report end = { .what = REPORT_ENDED };
		pid_t pid;

		while ((pid = waitpid(-1, &end.value, WNOHANG)) > 0)
			if (pid == started) {
				report(pipe_fd, &end);
				ended = true;
			}
		if ((pid < 0 && errno == ECHILD) || (ended && alone()))
			return;
		if (getppid() != parent) {
			descendants_end(getpid(), SIGKILL, NULL);
			return;
		}
		if (number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM)
			descendants_pass_on(number);
		number = wait_for_signal(signals);
	}
}

static _Noreturn void
be_guardian(pid_t parent, int pipe_fd, const struct process_spec *spec, const sigset_t *signals)
{
	struct report start = { .what = REPORT_STARTED };
	struct process p;

	follow_parent();
	descendants_adopt();
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	if (process_start(&p, spec, &start.value, &start.error) != 0) {
		start.what = REPORT_FAILED;
		start.reason = errno;
		report(pipe_fd, &start);
		_exit(EXIT_FAILURE);
	}
	report(pipe_fd, &start);
	pipe_fd = let_go(pipe_fd);
	guard(parent, p.pid, pipe_fd, signals);
	_exit(EXIT_SUCCESS);
}

/* Whether a whole report came; false at the end. */
static bool
read_report(int fd, struct report *r)
{
	ssize_t got;

	do
		got = read(fd, r, sizeof *r);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof *r;
}

static int
fork_guardian(struct guardian *g, const struct process_spec *spec, struct error *err)
{
	pid_t parent = getpid();
	sigset_t all, old;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to make a pipe");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	g->pid = fork();
	if (g->pid == 0)
		be_guardian(parent, ends[1], spec, &all);
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(ends[1]);
	g->report = ends[0];
	if (g->pid > 0)
		return 0;
	close(ends[0]);
	g->report = -1;
	return error_errno(err, ERROR_SYSTEM, NULL, "unable to fork");
}

static int
not_started(struct guardian *g, const struct report *r, int *exit_code, struct error *err)
{
	*exit_code = PROCESS_CANNOT_RUN;
	if (r == NULL) {
		g->state = GUARDIAN_LOST;
		error_set(err, ERROR_SYSTEM, NULL, "the guardian was killed");
	} else {
		*exit_code = r->value;
		*err = r->error;
	}
	guardian_close(g);
	if (r == NULL)
		descendants_end(getpid(), SIGKILL, NULL); /* what it may have started is ours now */
	errno = r != NULL ? r->reason : EPERM;
	return -1;
}

int
guardian_start(struct guardian *g, const struct process_spec *spec, int *exit_code,
    struct error *err)
{
	struct report first;

	*g = (struct guardian){ -1, -1, GUARDIAN_RUNNING, 0 };
	*exit_code = PROCESS_CANNOT_RUN;
	descendants_adopt();
	if (fork_guardian(g, spec, err) != 0)
		return -1;
	if (!read_report(g->report, &first))
		return not_started(g, NULL, exit_code, err);
	if (first.what == REPORT_FAILED)
		return not_started(g, &first, exit_code, err);
	return 0;
}

enum guardian_state
guardian_read(struct guardian *g)
{
	struct report r;

	if (read_report(g->report, &r)) {
		g->wait_status = r.value;
		return g->state = GUARDIAN_ENDED;
	}
	/* The pipe is closed: it ended because all had ended, or it was killed. */
	if (g->state == GUARDIAN_RUNNING || g->state == GUARDIAN_ENDED) {
		int status = 0;
		bool clean = waitpid(g->pid, &status, 0) == g->pid && WIFEXITED(status) &&
		    WEXITSTATUS(status) == EXIT_SUCCESS;

		g->pid = -1;
		g->state = clean && g->state == GUARDIAN_ENDED ? GUARDIAN_ALONE : GUARDIAN_LOST;
	}
	return g->state;
}

void
guardian_close(struct guardian *g)
{
	file_close(&g->report);
	if (g->pid > 0)
		waitpid(g->pid, NULL, 0);
	g->pid = -1;
}
