/*
 * Signals that end a program by hand, passed on to the child that does its work.
 */
#ifndef AWF_PROC_PASSING_H
#define AWF_PROC_PASSING_H

#include <signal.h>
#include <sys/types.h>

/* SIGCHLD, and SIGHUP, SIGINT, SIGQUIT and SIGTERM unless they are ignored. */
void passing_add(sigset_t *set);
/* Waits for pid, passing on the signals, which are blocked, to it. There is no time limit: the
 * process has its own. reaped: pid, or -1 to reap all children. Returns the last signal, 0 if none
 * arrived; -1 with ECHILD: this process ignores SIGCHLD or has set SA_NOCLDWAIT, or pid is not its
 * child: its end cannot be determined. */
int passing_wait(pid_t pid, pid_t reaped, int *wait_status);

#endif
