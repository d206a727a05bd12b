/*
 * A kernel filter for the system calls that a sandboxed program may not make. They fail as if the
 * user lacked permission. seccomp_rules.c lists them with the reasons.
 */
#ifndef AWF_ISOLATE_SECCOMP_H
#define AWF_ISOLATE_SECCOMP_H

#include <stdbool.h>

#include "base/error.h"

/* Which filter: a number made of these. */
enum { SECCOMP_NETWORK = 1, SECCOMP_ALONE = 2, SECCOMP_FILTERS = 4 };

/* Whether this kernel filters calls. */
bool seccomp_available(void);
/* network: sockets of TCP and UDP are allowed. alone: no namespaces help, so what they would
 * keep from the machine is denied here: all changes of modes, owners, times and attributes of
 * files, System V IPC, and the priorities and limits of other processes. Wants no_new_privs.
 * ERROR_BLOCKED. */
int seccomp_enforce(bool network, bool alone, struct error *err);

#endif
