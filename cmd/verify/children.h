/*
 * Programs that awf-verify starts. Signals that would end awf-verify are held meanwhile and passed
 * on to these programs, so that each can finish first.
 */
#ifndef AWF_VERIFY_CHILDREN_H
#define AWF_VERIFY_CHILDREN_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct held_signals {
	sigset_t signals;   /* SIGCHLD included */
	sigset_t before;    /* earlier signal mask */
};

void children_hold_signals(struct held_signals *h);
void children_let_go(const struct held_signals *h);
/* Starts a program with the given stdout and stderr. It gets death_signal if this process ends (if
 * the system supports that). Returns its pid; -1 with *err. */
pid_t children_start(char *const *argv, int out, int errors, int death_signal,
    const struct held_signals *h, struct error *err);
/* Waits for all pids that are not 0, sets each to 0, and stores the wait statuses in ends. Returns
 * the last signal that arrived meanwhile and was passed on; 0: none. */
int children_wait(pid_t *pids, int *ends, size_t count, const struct held_signals *h);

#endif
