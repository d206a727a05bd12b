/*
 * Three processes: the caller, which waits; the first process of the new PID namespace, which sets
 * up the file system and reaps children, and whose end ends all others; and the process of the
 * function, in a second user namespace, so that it cannot undo the setup.
 *
 * What the code relies on: the first process blocks all signals, so that none is lost and none
 * kills it (asserted).
 */
#define _GNU_SOURCE
#include "isolate/isolate.h"

#ifndef AWF_PORTABLE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"
#include "isolate/capabilities.h"
#include "isolate/keeper.h"
#include "isolate/loopback.h"
#include "isolate/overlay.h"
#include "isolate/userns.h"
#include "proc/passing.h"
#include "system/descriptor.h"

#define REPORT_FD 3

struct isolation {
	const struct isolate_spec *spec;
	int (*inside)(void *context);
	void *context;
	struct overlay_plan plan;
	sigset_t mask;       /* signal mask of the caller */
	struct capabilities files;
	int report;
};

/* Capabilities over files: without them root could not write to read-only files, as it could when
 * the workflow was recorded; and without the last one it could not make a user namespace for a
 * sandbox. They give no power over mounts, processes or the kernel. */
static const int over_files[] = {
	CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_SETFCAP
};

/* Ends a process that cannot be isolated, reporting the error. */
static _Noreturn void
isolate_report_refusal(const struct isolation *c, struct error *err, const char *what)
{
	isolate_refused(err, "%s", what);
	keeper_refuse(c->report, err);
}

static bool
all_are_blocked(void)
{
	sigset_t blocked;

	return sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, SIGTERM) == 1 &&
	    sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGCHLD) == 1 &&
	    sigismember(&blocked, SIGTSTP) == 1;
}

static void
be_function(void *context)
{
	struct isolation *c = context;
	const char *directory = c->spec->directory != NULL ? c->spec->directory : c->plan.workspace;
	struct error err = ERROR_INIT;
	int status;

	setsid();
	if (capabilities_keep(&c->files) != 0)
		isolate_report_refusal(c, &err, "drop the capabilities");
	if (chdir(directory) != 0) {
		error_errno(&err, ERROR_SYSTEM, directory, "unable to start in it");
		keeper_refuse(c->report, &err);
	}
	/* This memory is a copy of the caller's, with its environment; programs inside share the
	 * user namespace and could read it. After an exec a process is dumpable again. */
	if (prctl(PR_SET_DUMPABLE, 0) != 0)
		isolate_report_refusal(c, &err, "close the memory of the process");
	descriptor_close_from(REPORT_FD);
	INVARIANT(getsid(0) == getpid() && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
	status = c->inside(c->context);
	fflush(NULL);
	_exit(status);
}

/* Closes all descriptors except the report's, which becomes REPORT_FD; stdin, which becomes
 * /dev/null; and stdout and stderr, which become /dev/null unless they are open for writing (a
 * directory there would be a way out). */
static int
isolate_close_descriptors(struct isolation *c, struct error *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;

	if (null < 0)
		return isolate_refused(err, "open /dev/null");
	dup2(null, STDIN_FILENO);
	for (fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
			dup2(null, fd);
	}
	if (c->report != REPORT_FD && dup2(c->report, REPORT_FD) < 0)
		return isolate_refused(err, "keep a descriptor");
	INVARIANT(c->report > STDERR_FILENO);
	c->report = REPORT_FD;
	fcntl(REPORT_FD, F_SETFD, FD_CLOEXEC);
	descriptor_close_from(REPORT_FD + 1);
	return 0;
}

static int
isolate_enter_namespaces(struct isolation *c, struct error *err)
{
	static const struct {
		int flag;
		const char *name;
	} parts[] = {
		{ CLONE_NEWNS, "mount" }, { CLONE_NEWNET, "network" },
		{ CLONE_NEWIPC, "IPC" }, { CLONE_NEWUTS, "UTS (host name)" },
	};
	const char *host = c->spec->host_name;

	/* Keys in the caller's session keyring must not be visible. If the kernel has no keyrings
	 * or forbids the call, the same holds inside. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS &&
	    errno != EPERM && errno != EACCES)
		return isolate_refused(err, "leave the session's keys");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (unshare(parts[i].flag) != 0)
			return isolate_refused(err, "make a %s namespace", parts[i].name);
	if (loopback_start() != 0)
		return isolate_refused(err, "start the loopback interface");
	if (host != NULL && sethostname(host, strlen(host)) != 0)
		return isolate_refused(err, "set the host name %s", host);
	if (overlay_view(&c->plan, c->spec->first_pid, err) != 0 ||
	    isolate_close_descriptors(c, err) != 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return isolate_refused(err, "set no_new_privs");
	return 0;
}

static void
be_first(void *context)
{
	static const struct capabilities none;
	struct isolation *c = context;
	struct keeper_report end = { .what = KEEPER_ENDED, .error = ERROR_INIT };
	bool mapped;
	pid_t pid;

	INVARIANT(getpid() == 1 && all_are_blocked());
	setsid();
	if (isolate_enter_namespaces(c, &end.error) != 0)
		keeper_refuse(c->report, &end.error);
	pid = userns_fork(0, be_function, c, &mapped);
	if (pid < 0)
		isolate_report_refusal(c, &end.error, mapped ? "map the ids of a user namespace" :
		    "make a second user namespace");
	if (capabilities_keep(&none) != 0)
		isolate_report_refusal(c, &end.error, "drop the capabilities");
	if (passing_wait(pid, -1, &end.wait_status) == -1)
		isolate_report_refusal(c, &end.error, "wait for what runs in it");
	keeper_tell(c->report, &end);
}

static void
end_at_once(void *context)
{
	(void)context;
	_exit(EXIT_SUCCESS);
}

/* Starts the first process. All signals are blocked, so that it never runs with unblocked
 * signals. */
static int
isolate_run_function(struct isolation *c, struct isolate_end *end, struct error *err)
{
	sigset_t passed_on = c->mask;
	struct keeper_report r;
	int ends[2], status, failed = -1;
	bool mapped;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to make a pipe");
	c->report = ends[1];
	pid = userns_fork(CLONE_NEWPID, be_first, c, &mapped);
	if (pid < 0 && mapped) {
		isolate_refused(err, "map the ids of a user namespace");
	} else if (pid < 0) {
		/* Find out which of the two namespaces was refused. */
		int reason = errno;
		pid_t alone = userns_fork(0, end_at_once, NULL, NULL);

		if (alone > 0) {
			waitpid(alone, NULL, 0);
			errno = reason;
		}
		isolate_refused(err, alone > 0 ? "make a PID namespace" : "make a user namespace");
	}
	/* Block only what the caller blocked and the signals that are passed on: Ctrl-Z stops
	 * this process. */
	passing_add(&passed_on);
	sigprocmask(SIG_SETMASK, &passed_on, NULL);
	close(ends[1]);
	if (pid > 0) {
		end->signal_number = passing_wait(pid, pid, &status);
		if (end->signal_number == -1)
			end->signal_number = 0; /* its own report is used instead */
		if (!keeper_hear(ends[0], &r))
			error_set(err, ERROR_SYSTEM, "isolation", "its first process was killed");
		else if (r.what == KEEPER_REFUSED)
			*err = r.error;
		else
			failed = 0;
		end->wait_status = failed ? 0 : r.wait_status;
	}
	close(ends[0]);
	return failed;
}

int
isolate_run(const struct isolate_spec *spec, int (*inside)(void *context), void *context,
    struct isolate_end *end, struct error *err)
{
	struct isolation c = { .spec = spec, .inside = inside, .context = context, .report = -1 };
	struct error local = ERROR_INIT;
	struct capabilities all;
	struct sigaction action;
	sigset_t every;
	int failed;

	*end = (struct isolate_end){ 0, 0 };
	if (sigaction(SIGCHLD, NULL, &action) == 0 &&
	    (action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT) != 0))
		return error_set(err, ERROR_SYSTEM, "isolation", "this process ignores SIGCHLD or has set SA_NOCLDWAIT, "
		    "so the end of what runs isolated cannot be waited for");
	if (capabilities_get(&all) != 0)
		return isolate_refused(err, "read the capabilities");
	for (size_t i = 0; i < sizeof over_files / sizeof *over_files; i++) {
		uint64_t bit = UINT64_C(1) << over_files[i];

		c.files.effective |= all.effective & bit;
		c.files.permitted |= all.permitted & bit;
	}
	if (overlay_plan(&c.plan, spec, err) != 0)
		return -1;
	fflush(NULL);
	sigfillset(&every);
	sigprocmask(SIG_SETMASK, &every, &c.mask);
	failed = isolate_run_function(&c, end, &local);
	sigprocmask(SIG_SETMASK, &c.mask, NULL);
	if (overlay_plan_end(&c.plan, failed ? NULL : &local) != 0)
		failed = -1;
	if (failed && err != NULL)
		*err = local;
	return failed ? -1 : 0;
}

#else

int
isolate_run(const struct isolate_spec *spec, int (*inside)(void *context), void *context,
    struct isolate_end *end, struct error *err)
{
	(void)spec, (void)inside, (void)context;
	*end = (struct isolate_end){ 0, 0 };
	return error_set(err, ERROR_SYSTEM, "isolation", "not available on this system; "
	    "--isolation copy and --isolation none do without");
}
#endif
