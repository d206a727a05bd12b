/*
 * The guardian: a process between a program and the processes that it runs, which makes sure that
 * none of them outlives the program, however the program ends.
 *
 * What the code relies on, and keeps (tests: tests/cli/run/awf-run.bats, tests/fault/awf-run.bats):
 *   - The guardian is the reaper of orphans below it (child subreaper), so a setsid() child or a
 *     double fork stays its descendant.
 *   - When the program dies, by SIGKILL too, the guardian gets a signal (PDEATHSIG), kills all its
 *     descendants, reaps them and ends ("SIGKILL to awf-run").
 *   - The program is a subreaper too, so killing the guardian orphans nothing: its descendants
 *     become the program's ("SIGKILL to the guardian").
 *   - The guardian blocks all signals and has a process group of its own, so that Ctrl-C, Ctrl-Z
 *     and `kill -- -PGID` do not reach it (asserted). It closes every descriptor but the pipe on
 *     which it reports and those of its duties. It ends when its last descendant has ended.
 *   - A detached process (proc/descendants.h) is not ended, and the guardian does not wait for it.
 *   - It may get a pseudo-terminal, whose session it leads and in whose foreground the program
 *     runs, and the real terminal, whose modes the watched process has changed. If the watched
 *     process is killed, the guardian restores these modes, unless another process has changed
 *     them since.
 *   - It may be asked to start helpers, which do not count as descendants of the program: it does
 *     not wait for them, and ends them last, with GUARDIAN_ENDS. A helper that catches this signal
 *     has time to end its own children.
 *   - It may get a directory that was created for the program: if the watched process has died,
 *     the guardian removes the directory at the end, when no process is left that could create
 *     files in it.
 */
#ifndef AWF_PROC_GUARDIAN_H
#define AWF_PROC_GUARDIAN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "base/error.h"
#include "proc/process.h"

enum guardian_state {
	GUARDIAN_RUNNING, /* the program it started runs */
	GUARDIAN_ENDED,   /* that has ended (wait_status), others still run */
	GUARDIAN_ALONE,   /* no descendant is left */
	GUARDIAN_LOST     /* the guardian itself was killed */
};

/* How a guardian is asked for helpers, on Linux alone. */
#define GUARDIAN_HELPERS 32
#define GUARDIAN_ENDS SIGUSR1
struct guardian_service {
	int fd;                       /* -1: nobody asks */
	/* Called when fd can be read: receives a request without waiting, and if there is room
	 * starts the process. Returns its pid; 0: none was started. */
	pid_t (*serve)(int fd, bool room);
};

/* The terminals that a guardian handles. */
struct guardian_terminal {
	int slave;        /* of the pseudo-terminal */
	int terminal;     /* its user's own, that it is shown on */
	/* Shared memory: what must be restored on the terminal. */
	struct guardian_modes {
		volatile bool taken; /* the terminal's modes were changed */
		volatile bool drawn; /* something is drawn after its cursor */
		struct termios own, others;
	} *modes;
};

/* Additional duties; each may be NULL. */
struct guardian_duties {
	const struct guardian_service *service; /* its descriptor stays the caller's */
	const struct guardian_terminal *terminal;
	const char *directory;        /* an absolute path */
};

struct guardian {
	pid_t pid;
	pid_t program;    /* that it started, and the number of its group if it has its own */
	int stopped;      /* the signal that has stopped the program; 0 again once that was read */
	int report;       /* poll it for POLLIN, then call guardian_read() */
	enum guardian_state state;
	int wait_status;  /* from GUARDIAN_ENDED on */
};

/* Makes this process a subreaper, forks the guardian and lets it start a program (no pipes). duties
 * may be NULL. Errors and *exit_code as in process_start(). If the guardian is killed before it has
 * reported, g->state is GUARDIAN_LOST, and what it may have started is killed. */
int guardian_start(struct guardian *g, const struct process_spec *spec,
    const struct guardian_duties *duties, int *exit_code, struct error *err);
/* Takes the next report and returns the state. While the program runs that may be that a terminal
 * has stopped it: g->stopped. */
enum guardian_state guardian_read(struct guardian *g);
/* Reaps the guardian; only once it is alone, lost or was ended. */
void guardian_close(struct guardian *g);

#endif
