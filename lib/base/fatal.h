/*
 * Errors that no function reports and no caller can handle: out of memory, or no random numbers
 * from the kernel. A program prints one line and exits with status 4; the library for other
 * programs (lib/transcript) has its own fatal_exit(), which makes the called function return an
 * error, and the program continues.
 */
#ifndef AWF_BASE_FATAL_H
#define AWF_BASE_FATAL_H

/* what: the message, one line. */
_Noreturn void fatal_exit(const char *what);

#endif
