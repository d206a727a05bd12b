/*
 * The system calls that a sandboxed program may not make: a filter in the kernel. They
 * fail as if the user lacked the right.
 */
#ifndef AWF_SANDBOX_SECCOMP_H
#define AWF_SANDBOX_SECCOMP_H

#include <stdbool.h>

#include "base/error.h"

/* Whether this kernel filters calls, and this program knows the calls of this machine. */
bool seccomp_available(void);
/* alone: no namespaces help, so what they would keep from the machine is denied here: all
 * changes of modes, owners, times and attributes of files, System V IPC, and the
 * priorities and limits of other processes. Wants no_new_privs. ERROR_BLOCKED. */
int seccomp_enforce(bool network, bool alone, struct error *err);

#endif
