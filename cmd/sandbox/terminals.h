/*
 * Terminals that a sandboxed program writes to: it may change how they behave (echo, what Ctrl-C does,
 * their size), which would last. They are as they were when it has ended.
 */
#ifndef AWF_SANDBOX_TERMINALS_H
#define AWF_SANDBOX_TERMINALS_H

#include <stdbool.h>
#include <sys/ioctl.h>
#include <termios.h>

#define TERMINALS 3 /* stdin, stdout, stderr */

struct terminal_state {
	bool known;                  /* it is a terminal */
	struct termios settings;
	struct winsize size;
};

void terminals_save(struct terminal_state states[TERMINALS]);
/* With SIGTTOU blocked or ignored: this process may be in the background. */
void terminals_restore(const struct terminal_state states[TERMINALS]);

#endif
