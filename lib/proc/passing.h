/*
 * Signals that end a program by hand, passed on to the child that does its work.
 */
#ifndef AWF_PROC_PASSING_H
#define AWF_PROC_PASSING_H

#include <signal.h>
#include <sys/types.h>

/* SIGCHLD, and SIGHUP, SIGINT, SIGQUIT and SIGTERM unless they are ignored. */
void passing_add(sigset_t *set);
/* Waits for pid, passing on those to it; they are blocked. It has no limit: what is
 * waited for has its own. reaped: pid, or -1 to reap all children. Returns the last
 * signal, 0 if none came; -1 with ECHILD: this process ignores SIGCHLD or does not keep its children's
 * ends (SA_NOCLDWAIT), or it is no child of its: nobody can tell how it ended, if it has. */
int passing_wait(pid_t pid, pid_t reaped, int *wait_status);

#endif
