/*
 * Errors that no function reports and no caller can handle: out of memory, or no random numbers
 * from the kernel. A program prints one line and exits with status 4; the library for other
 * programs (lib/transcript) has its own fatal_exit(), which makes the call of the interface fail,
 * and the program continues.
 */
#ifndef AWF_BASE_FATAL_H
#define AWF_BASE_FATAL_H

/* what: one line. */
_Noreturn void fatal_exit(const char *what);

#endif
