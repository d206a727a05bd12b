/*
 * Supervision of one attempt of a run: starts the workflow under a guardian, relays its
 * stdin, and of a child run its stdout, and waits until the workflow and the steps that
 * it left running have ended, or a signal, the time limit or a fault ends it.
 *
 * In the foreground of a terminal the workflow stays in this process's group, so
 * that Ctrl-C, Ctrl-Z and reading from the terminal work as without awf-run;
 * SIGINT and SIGQUIT are then the workflow's to answer, and waited through. Or it is given a
 * pseudo-terminal, of which it is the foreground, and its user's own is relayed to that.
 * Otherwise it has a group of its own. Cancelling goes by descendants. When
 * supervise_workflow() returns, no descendant is left.
 *
 * Signals that were ignored when the program started (nohup) stay so. They are
 * held from signals_hold() on, except within supervise_workflow(): what comes before the
 * workflow starts cancels it, what comes after it has ended changes nothing more.
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
	VERDICT_FAILED       /* the machine or the storage did: error */
};

#define TERMINAL_POLLS 2

/* A pseudo-terminal for the workflow, as whoever relays it has it. None of these waits. */
struct supervision_terminal {
	const struct guardian_terminal *guardian;
	/* Whether a descriptor is the terminal that is relayed: the workflow gets the other one. */
	bool (*is)(const void *context, int fd);
	void (*started)(void *context, pid_t group);
	/* Fill fds, be polled until *deadline at the latest (0: none), step: the signal by which the
	 * user ends those who are left when the workflow has ended, else 0. */
	nfds_t (*poll)(void *context, struct pollfd fds[TERMINAL_POLLS], int64_t *deadline);
	int (*step)(void *context, const struct pollfd *fds, nfds_t count);
	/* The terminal has stopped the workflow by this signal: returns when that is to go on. */
	void (*stopped)(void *context, int signal_number);
	/* SIGWINCH, SIGCONT or SIGTSTP has come. */
	void (*signalled)(void *context, int signal_number);
	/* The workflow itself has ended. */
	void (*ended)(void *context);
	/* Nobody is left that could write: the rest goes out, and the user's terminal is as it was. */
	void (*finish)(void *context);
	void *context;
};

struct supervision {
	/* Set by the caller. */
	char *const *argv;
	char *const *environment;
	const char *directory;      /* where the workflow starts; NULL: here */
	bool elsewhere;             /* of struct process_spec */
	const char *run_directory;  /* whose roster says which steps run */
	struct input *input;
	struct output *output;      /* NULL: stdout is the workflow's own */
	const struct guardian_service *service; /* NULL: its guardian is asked for nothing */
	const struct supervision_terminal *terminal; /* NULL: none for the workflow */
	int64_t timeout_ms;         /* 0: none */
	bool reader_gone;           /* set before the conclusion: nobody reads what it prints any more */

	/* Filled by supervise_workflow(). */
	enum verdict verdict;
	int wait_status;
	int signal_number;
	int exit_code;
	bool interrupted;           /* SIGTERM or SIGHUP came, or its guardian was killed: what did
	                               that meant no end of this work */
	bool survivors;             /* some descendants could not be ended */
	struct error error;
};

void supervise_workflow(struct supervision *s);

#endif
