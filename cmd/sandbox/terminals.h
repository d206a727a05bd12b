/*
 * A sandboxed program may change settings of the terminals that it writes to (echo, what Ctrl-C
 * does, the size). They are restored when it has ended.
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
/* Call it with SIGTTOU blocked or ignored, as this process may be in the background. */
void terminals_restore(const struct terminal_state states[TERMINALS]);

#endif
