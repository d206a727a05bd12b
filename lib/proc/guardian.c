/*
 * The guardian is forked with all signals blocked, and reads them one by one (signalfd(2)): none is
 * lost or kills it. It requests a signal for its parent's death and only then checks whether the
 * parent still lives. Reports are sent through a pipe; each arrives whole, because it is shorter
 * than PIPE_BUF. If the pipe closes after the report of the end, no descendant is left; if it
 * closes before, the guardian was killed.
 */
#include "proc/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#ifndef AWF_PORTABLE
#include <sys/signalfd.h>
#endif

#include "base/clock.h"
#include "base/invariant.h"
#include "base/patience.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/polling.h"
#include "proc/descendants.h"
#include "proc/wait.h"
#include "system/descriptor.h"
#include "system/self.h"

/* It may be forked by a process that is recognized by its name. */
#define GUARDIAN_NAME "awf-guardian"

/* Below PIPE_BUF, so that a report is read whole or not at all. */
struct report {
	enum { REPORT_STARTED, REPORT_FAILED, REPORT_STOPPED, REPORT_ENDED } what;
	int value; /* process id; exit code of a failed start; signal; wait status of the end */
	int reason; /* errno of a failed start */
	struct error error;
};

_Static_assert(sizeof(struct report) <= PIPE_BUF, "a report is written at once");

/* Signals that a terminal, or another process of its user, sends to the program's group do not
 * reach the guardian: it has a group of its own, and no signal except SIGKILL ends or stops it. */
static bool
guardian_stands_apart(void)
{
	sigset_t blocked;

	return getpgrp() == getpid() && sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 &&
	    sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGTERM) == 1 &&
	    sigismember(&blocked, SIGTSTP) == 1 && sigismember(&blocked, SIGHUP) == 1;
}

/* If nobody reads the pipe any more, the program has ended, which the guardian notices. */
static void
guardian_send_report(int fd, const struct report *r)
{
	file_write(fd, r, sizeof *r);
}

/* Waits for a signal and reads it, or for a request for a helper: 0 then. */
static int
wait_for_signal(int signals_fd, int service_fd, const sigset_t *signals)
{
#ifndef AWF_PORTABLE
	struct pollfd fds[] = { { signals_fd, POLLIN, 0 }, { service_fd, POLLIN, 0 } };
	struct signalfd_siginfo taken;

	if (signals_fd == -1)
		return sigwaitinfo(signals, NULL);
	poll_until(fds, 2, 0);
	return fds[0].revents != 0 && read(signals_fd, &taken, sizeof taken) == sizeof taken ?
	    (int)taken.ssi_signo : 0;
#else
	/* Without a signal at the parent's death, check for it twice a second. */
	(void)signals_fd;
	(void)service_fd;
	return sigtimedwait(signals, NULL, &(struct timespec){ 0, 500000000 });
#endif
}

/* Ends all helpers at the same time, including processes left by a helper that took too long. */
static void
end_helpers(const pid_t *helpers, size_t count)
{
	const int64_t end = clock_monotonic() + HELPER_END_MS;
	int64_t left;
	int unused;

	for (size_t i = 0; i < count; i++)
		kill(helpers[i], GUARDIAN_ENDS);
	for (size_t i = 0; i < count; i++) {
		left = end - clock_monotonic();
		if (wait_child(helpers[i], left > 0 ? left : 0, &unused))
			continue;
		kill(helpers[i], SIGKILL);
		waitpid(helpers[i], NULL, 0);
		descendants_end(getpid(), SIGKILL, helpers + i + 1);
	}
}

/* Closes all descriptors above 2 except these. */
static void
close_others(const int *kept, size_t count)
{
	int last = STDERR_FILENO;

	for (size_t i = 0; i < count; i++)
		last = kept[i] > last ? kept[i] : last;
	for (int fd = STDERR_FILENO + 1; fd < last; fd++) {
		bool keep = false;

		for (size_t i = 0; i < count; i++)
			keep |= kept[i] == fd;
		if (!keep)
			close(fd);
	}
	descriptor_close_from(last + 1);
}

/* A workflow has stopped that does not have the terminal: by Ctrl-Z, or because it did something
 * that background processes must not do. */
static bool
is_stopped_by_terminal(int status)
{
	return WIFSTOPPED(status) && (WSTOPSIG(status) == SIGTSTP || WSTOPSIG(status) == SIGTTIN ||
	    WSTOPSIG(status) == SIGTTOU);
}

/* The process that changed the modes of the terminal cannot restore them any more. */
static void
guardian_restore_terminal(const struct guardian_terminal *t)
{
	static const char erase[] = "\r\033[J";
	struct guardian_modes *m = t->modes;
	struct termios now;

	if (!m->taken || tcgetattr(t->terminal, &now) != 0 || now.c_lflag != m->others.c_lflag ||
	    now.c_iflag != m->others.c_iflag || now.c_oflag != m->others.c_oflag)
		return;
	if (m->drawn)
		(void)!write(t->terminal, erase, strlen(erase));
	tcsetattr(t->terminal, TCSANOW, &m->own);
}

static _Noreturn void
be_guardian(pid_t parent, int pipe_fd, const struct process_spec *spec,
    const struct guardian_duties *duties, const sigset_t *signals)
{
	const struct guardian_service *service = duties->service;
	const struct guardian_terminal *terminal = duties->terminal;
	struct report start = { .what = REPORT_STARTED };
	int service_fd = service == NULL ? -1 : service->fd, signals_fd = -1, null, number = -1;
	pid_t helpers[GUARDIAN_HELPERS + 1] = { 0 };
	size_t helper_count = 0;
	bool ended = false;
	struct process p;

	/* When the parent dies, the kernel sends SIGTERM. */
	self_die_with_parent(SIGTERM);
	self_name(GUARDIAN_NAME);
	descendants_adopt();
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	if (terminal != NULL) {
		setsid();
		ioctl(terminal->slave, TIOCSCTTY, 0);
	}
	if (process_start(&p, spec, &start.value, &start.error) != 0) {
		start.what = REPORT_FAILED;
		start.reason = errno;
		guardian_send_report(pipe_fd, &start);
		_exit(EXIT_FAILURE);
	}
	start.value = (int)p.pid;
	guardian_send_report(pipe_fd, &start);

	/* Close everything that was inherited. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	close_others((int[]){ pipe_fd, service_fd, terminal != NULL ? terminal->terminal : -1 }, 3);
	setpgid(0, 0);
#ifndef AWF_PORTABLE
	signals_fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
#endif
	INVARIANT(guardian_stands_apart());

	/* Reap until no child is left, except processes that continue independently, or until
	 * the parent has ended. */
	for (;;) {
		struct report end = { .what = REPORT_ENDED };
		pid_t pid;

		while ((pid = waitpid(-1, &end.value, WNOHANG | (terminal != NULL ? WUNTRACED : 0))) > 0) {
			if (WIFSTOPPED(end.value)) {
				if (pid == p.pid && is_stopped_by_terminal(end.value))
					guardian_send_report(pipe_fd,
					    &(struct report){ .what = REPORT_STOPPED,
					    .value = WSTOPSIG(end.value) });
				continue;
			}
			if (pid == p.pid) {
				guardian_send_report(pipe_fd, &end);
				ended = true;
			}
			for (size_t i = 0; i < helper_count; i++)
				if (helpers[i] == pid) {
					helpers[i] = helpers[--helper_count];
					helpers[helper_count] = 0;
				}
		}
		if ((pid < 0 && errno == ECHILD) ||
		    (ended && (descendants_are(helpers) || descendants_signal(getpid(), 0, helpers) == 0)))
			break;
		if (getppid() != parent) {
			if (terminal != NULL)
				guardian_restore_terminal(terminal);
			descendants_end(getpid(), SIGKILL, NULL);
			break;
		}
		if (number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM)
			descendants_pass_on(number);
		number = wait_for_signal(signals_fd, service_fd, signals);
		if (service != NULL && number == 0 && poll_now(service_fd, POLLIN) != 0 &&
		    (pid = service->serve(service_fd, helper_count < GUARDIAN_HELPERS)) > 0)
			helpers[helper_count++] = pid;
		INVARIANT(helper_count <= GUARDIAN_HELPERS && helpers[helper_count] == 0);
	}
	end_helpers(helpers, helper_count);
	if (duties->directory != NULL && getppid() != parent)
		copytree_remove(duties->directory, NULL);
	_exit(EXIT_SUCCESS);
}

/* Whether a complete report arrived; false at the end. */
static bool
read_report(int fd, struct report *r)
{
	ssize_t got;

	do
		got = read(fd, r, sizeof *r);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof *r;
}

int
guardian_start(struct guardian *g, const struct process_spec *spec,
    const struct guardian_duties *duties, int *exit_code, struct error *err)
{
	static const struct guardian_duties none;
	const pid_t parent = getpid();
	struct report first;
	sigset_t all, old;
	int ends[2], reason = EPERM;

	*g = (struct guardian){ .pid = -1, .program = -1, .report = -1 };
	*exit_code = PROCESS_CANNOT_RUN;
	descendants_adopt();
	if (descriptor_pipe(ends) != 0)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to make a pipe");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	g->pid = fork();
	if (g->pid == 0)
		be_guardian(parent, ends[1], spec, duties != NULL ? duties : &none, &all);
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(ends[1]);
	if (g->pid < 0) {
		close(ends[0]);
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to fork");
	}

	g->report = ends[0];
	if (!read_report(g->report, &first)) {
		g->state = GUARDIAN_LOST;
		error_set(err, ERROR_SYSTEM, NULL, "the process of AWF that watches over the command was killed");
		guardian_close(g);
		descendants_end(getpid(), SIGKILL, NULL); /* what it may have started are this
		                                             process's children now */
	} else if (first.what == REPORT_FAILED) {
		*exit_code = first.value;
		*err = first.error;
		reason = first.reason;
		guardian_close(g);
	} else {
		g->program = first.value;
		return 0;
	}
	errno = reason;
	return -1;
}

enum guardian_state
guardian_read(struct guardian *g)
{
	struct report r;

	g->stopped = 0;
	if (read_report(g->report, &r)) {
		if (r.what == REPORT_STOPPED) {
			g->stopped = r.value;
			return g->state;
		}
		INVARIANT(r.what == REPORT_ENDED && g->state == GUARDIAN_RUNNING);
		g->wait_status = r.value;
		return g->state = GUARDIAN_ENDED;
	}
	/* The pipe is closed: the guardian ended because everything had ended, or it was killed. */
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
	INVARIANT(g->pid > 0 || g->state == GUARDIAN_ALONE || g->state == GUARDIAN_LOST || g->program == -1);
	file_close(&g->report);
	if (g->pid > 0)
		waitpid(g->pid, NULL, 0);
	g->pid = -1;
}
