/*
 * Interrupts: events that end a wait early: a caught signal, or that the reader of stdout has
 * gone, so that the result is not needed any more. All waits of a program use these functions, so
 * that none misses an interrupt.
 */
#ifndef AWF_PROC_INTERRUPTS_H
#define AWF_PROC_INTERRUPTS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct interrupts {
	volatile int *signal_number;  /* set by a handler; 0: none. May be NULL */
	int downstream;               /* descriptor polled for POLLERR (stdout), -1: none */
};

/* Catches the signals in a list that ends with 0: the last one to arrive is stored where the
 * result says, which has no downstream. A signal that was ignored before, as with nohup(1),
 * stays ignored. */
const struct interrupts *interrupts_catch(const int *signals);
/* Ends this process as the signal would have. */
_Noreturn void signals_die(int signal_number);

/* Whether something has interrupted: fills *err with cancelled or
 * downstream_closed and returns true. interrupts may be NULL. */
bool interrupts_arrived(const struct interrupts *interrupts, struct error *err);

/* Waits like poll_until() for fds[1] to fds[count - 1], at most until deadline (0: for ever);
 * fds[0] is used by this function. A signal that arrives just before the wait ends it too. 0, with
 * revents set; -1: interrupted, or poll() failed (ERROR_SYSTEM). interrupts may be NULL. */
int interrupts_wait(const struct interrupts *interrupts, struct pollfd *fds, size_t count,
    int64_t deadline, struct error *err);

/* Sleeps; -1: interrupted. */
int interrupts_sleep(const struct interrupts *interrupts, int64_t ms, struct error *err);

#endif
