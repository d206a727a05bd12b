/*
 * Waiting for a child with a time limit.
 */
#ifndef AWF_PROC_WAIT_H
#define AWF_PROC_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A descriptor (CLOEXEC) that is readable when the process has ended; -1 if the
 * system has no such thing. */
int wait_descriptor(pid_t pid);
/* Waits for a child, at most timeout_ms. Whether it has ended; *wait_status is set
 * then. */
bool wait_child(pid_t pid, int64_t timeout_ms, int *wait_status);
/* Ends a child that should have ended by itself: SIGTERM to it and all its
 * descendants, SIGKILL five seconds later. */
void wait_end(pid_t pid, int *wait_status);
/* Likewise with SIGKILL at once. */
void wait_killed(pid_t pid, int *wait_status);

#endif
