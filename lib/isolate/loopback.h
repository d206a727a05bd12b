/*
 * The loopback of a network namespace that has nothing else, and the one thing that may be behind
 * it: a socket that listens there is made inside, and handed out to a program that serves it
 * outside. So who is in the namespace reaches that program, and nothing more.
 */
#ifndef AWF_ISOLATE_LOOPBACK_H
#define AWF_ISOLATE_LOOPBACK_H

#include "base/error.h"

#define LOOPBACK_PORT 8080 /* nobody else is there to have it */

/* Starts lo, in this process's network namespace. -1 with errno. */
int loopback_start(void);
/* Starts it, and sends a socket that listens on 127.0.0.1:LOOPBACK_PORT over a Unix socket.
 * ERROR_BLOCKED. */
int loopback_lend(int over, struct error *err);
/* Takes one that was sent: its descriptor, CLOEXEC; -1 with errno, 0 at the end. Does not wait. */
int loopback_borrow(int over);

#endif
