/*
 * What no function can report, and no caller can help: no memory is left, or the kernel has
 * no random numbers. A program says so in one line and ends with status 4; in the library
 * that other programs link (lib/transcript), which has a fatal_exit() of its own, the call of the
 * interface fails, and the program goes on.
 */
#ifndef AWF_BASE_FATAL_H
#define AWF_BASE_FATAL_H

/* what: one line. */
_Noreturn void fatal_exit(const char *what);

#endif
