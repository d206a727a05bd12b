/*
 * Programs that awf-verify starts. The signals that would end it are held meanwhile, and passed on
 * to them: each ends what it does first.
 */
#ifndef AWF_VERIFY_CHILDREN_H
#define AWF_VERIFY_CHILDREN_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct held_signals {
	sigset_t signals;   /* SIGCHLD among them */
	sigset_t before;    /* the mask until then */
};

void children_hold_signals(struct held_signals *h);
void children_let_go(const struct held_signals *h);
/* Starts a program, with these as its stdout and stderr, and with the signal that it gets if this
 * process ends (where the system can do that). Its pid; -1 with *err. */
pid_t children_start(char *const *argv, int out, int errors, int death_signal,
    const struct held_signals *h, struct error *err);
/* Waits for those whose pid is not 0, which it then is, with their wait statuses in ends. The last
 * signal that came meanwhile and was passed on; 0: none. */
int children_wait(pid_t *pids, int *ends, size_t count, const struct held_signals *h);

#endif
