/*
 * The signals that would end this process, held until it looks at them: SIGHUP, SIGINT, SIGQUIT
 * and SIGTERM. What is between two looks is done whole.
 */
#ifndef AWF_PROC_HELD_SIGNALS_H
#define AWF_PROC_HELD_SIGNALS_H

#include <signal.h>

#define SIGNALS_ENDING 4 /* how many there are */

/* Blocks the signals that cancel. */
void signals_hold(void);
/* A held signal that has arrived and is not ignored; 0: none. */
int signals_held(void);
/* Restores the earlier signal mask. */
void signals_let_go(void);
/* Waits until fd (-1: none) can be read, at most timeout_ms, or for one of them: its
 * number, still held; 0. */
int signals_wait(int fd, int timeout_ms);
/* Forgets those that came. */
void signals_drop(void);
/* Lets a handler have these signals; ignored ones stay ignored. before: earlier actions. */
void signals_catch(void (*handler)(int), struct sigaction before[SIGNALS_ENDING]);
void signals_catch_no_more(const struct sigaction before[SIGNALS_ENDING]);

#endif
