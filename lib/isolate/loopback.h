/*
 * The loopback interface of a network namespace that has no other. One service may be reached
 * through it: a listening socket is made inside and passed to a program outside, which serves it.
 * So programs in the namespace reach that program, and nothing else.
 */
#ifndef AWF_ISOLATE_LOOPBACK_H
#define AWF_ISOLATE_LOOPBACK_H

#include "base/error.h"

#define LOOPBACK_PORT 8080 /* always free, since the namespace is new */

/* Enables lo in this process's network namespace. -1 with errno. */
int loopback_start(void);
/* Enables it, makes a socket that listens on 127.0.0.1:LOOPBACK_PORT, and sends that over a Unix
 * socket. -1 with ERROR_BLOCKED. */
int loopback_lend(int over, struct error *err);
/* Receives such a socket without waiting: its descriptor, CLOEXEC; -1 with errno, which is 0 at the
 * end of the connection. */
int loopback_borrow(int over);

#endif
