/*
 * A sandboxed program may change settings of the terminals that it writes to (echo, what Ctrl-C
 * does, the size), stop their output, and change the flags of its standard descriptors
 * (O_NONBLOCK), which others have open too. All of this is restored when it has ended.
 */
#ifndef AWF_SANDBOX_TERMINALS_H
#define AWF_SANDBOX_TERMINALS_H

#include <stdbool.h>
#include <sys/ioctl.h>
#include <termios.h>

#define TERMINALS 3 /* stdin, stdout, stderr */

struct terminal_state {
	int flags;                   /* of fcntl(2), for any file; -1: it is not open */
	bool known;                  /* it is a terminal */
	struct termios settings;
	struct winsize size;
};

void terminals_save(struct terminal_state states[TERMINALS]);
/* Call it with SIGTTOU blocked or ignored, as this process may be in the background. */
void terminals_restore(const struct terminal_state states[TERMINALS]);

#endif
