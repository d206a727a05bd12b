/*
 * A kernel filter for the system calls that a sandboxed program may not make. They fail as if the
 * user lacked permission. seccomp_rules.c lists them with the reasons.
 */
#ifndef AWF_ISOLATE_SECCOMP_H
#define AWF_ISOLATE_SECCOMP_H

#include <stdbool.h>

#include "base/error.h"

/* Flags; their sum is the number of a filter. */
enum { SECCOMP_NETWORK = 1, SECCOMP_ALONE = 2, SECCOMP_FILTERS = 4 };

/* Whether this kernel supports filters. */
bool seccomp_available(void);
/* network: allow TCP and UDP sockets. alone: there are no namespaces, so the filter also denies
 * what these would prevent: all changes of modes, owners, times and attributes of files, System V
 * IPC, and priorities and limits of other processes. Requires no_new_privs. ERROR_BLOCKED. */
int seccomp_enforce(bool network, bool alone, struct error *err);

#endif
