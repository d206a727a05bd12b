/*
 * Supervises one attempt of a run: starts the workflow under a guardian, relays its stdin, and for
 * a child run its stdout, and waits until the workflow and the steps that it left running have
 * ended, or until a signal, the time limit or an error ends it.
 *
 * In the foreground of a terminal the workflow stays in this process's group, so that Ctrl-C,
 * Ctrl-Z and reading from the terminal work as without awf-run; the workflow handles SIGINT and
 * SIGQUIT itself, and this process waits. Or the workflow gets a pseudo-terminal, is in its
 * foreground, and the user's terminal is relayed to it. Otherwise it has its own process group.
 * Cancelling signals all descendants. When supervise_workflow() returns, no descendant is left.
 *
 * Signals that were ignored when the program started (nohup) stay ignored. Others are held from
 * signals_hold() on, except within supervise_workflow(): one that arrives before the workflow
 * starts cancels it, one that arrives after its end has no effect.
 */
#ifndef AWF_START_SUPERVISE_H
#define AWF_START_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "proc/held_signals.h"
#include "proc/guardian.h"
#include "proc/process.h"
#include "start/input.h"
#include "start/output.h"

enum verdict {
	VERDICT_ENDED,       /* by itself: wait_status */
	VERDICT_CANCELLED,   /* by signal_number */
	VERDICT_TIMEOUT,
	VERDICT_NOT_STARTED, /* exit_code 126 or 127, error */
	VERDICT_FAILED       /* an error of the machine or the storage: error */
};

#define TERMINAL_POLLS 2

/* A pseudo-terminal for the workflow: callbacks of the module that relays it. None of
 * them waits. */
struct supervision_terminal {
	const struct guardian_terminal *guardian;
	/* Whether a descriptor is the user's terminal: the workflow gets the
	 * pseudo-terminal instead. */
	bool (*is)(const void *context, int fd);
	void (*started)(void *context, pid_t group);
	/* poll() fills fds, to be polled until *deadline (0: none) at the latest, then step() is
	 * called. It returns the signal with which the user ends the processes left after the
	 * workflow's end, otherwise 0. */
	nfds_t (*poll)(void *context, struct pollfd fds[TERMINAL_POLLS], int64_t *deadline);
	int (*step)(void *context, const struct pollfd *fds, nfds_t count);
	/* The terminal has stopped the workflow by this signal: returns when the workflow is
	 * to continue. */
	void (*stopped)(void *context, int signal_number);
	/* SIGWINCH, SIGCONT or SIGTSTP has come. */
	void (*signalled)(void *context, int signal_number);
	/* The workflow itself has ended. */
	void (*ended)(void *context);
	/* No process is left that could write: writes the remaining output and restores the
	 * user's terminal. */
	void (*finish)(void *context);
	void *context;
};

struct supervision {
	/* Set by the caller. */
	char *const *argv;
	char *const *environment;
	const char *directory;      /* working directory of the workflow; NULL: the current one */
	bool elsewhere;             /* of struct process_spec */
	const char *run_directory;  /* its roster says which steps run */
	struct input *input;
	struct output *output;      /* NULL: the workflow has this process's stdout */
	const struct guardian_service *service; /* NULL: the guardian serves no requests */
	const struct supervision_terminal *terminal; /* NULL: none for the workflow */
	int64_t timeout_ms;         /* 0: none */
	bool reader_gone;           /* set before the conclusion: the reader of the output
	                               closed the pipe */

	/* Filled by supervise_workflow(). */
	enum verdict verdict;
	int wait_status;
	int signal_number;
	int exit_code;
	bool interrupted;           /* SIGTERM or SIGHUP arrived, or the guardian was killed: the
	                               work was ended from outside */
	bool survivors;             /* some descendants could not be ended */
	struct error error;
};

void supervise_workflow(struct supervision *s);

#endif
