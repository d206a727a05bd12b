/*
 * The terminal of awf-run's user while a workflow runs: the workflow gets a pseudo-terminal of
 * its own, which this relays, and below what it prints the live view of the run is drawn
 * (view/live_view.h).
 *
 * What the code relies on, and keeps:
 *   - The terminal is taken only where nobody else has a claim to it: this process is in its
 *     foreground; stderr is it; stdout is it, a file or a device; so is stdin, or a pipe that
 *     nobody writes to any more; no run around this one has a view; and no other one has its
 *     lock, flock(2) of the device.
 *   - Every byte that is printed there goes out once, in its order. The view is erased before, and
 *     drawn where the output of the workflow rests (run/terminal_output.h), has done so for
 *     REST_MS, and the workflow reads lines with an echo, if anything.
 *   - In the background nothing is read, and nothing drawn.
 *   - Its modes are as they were when the workflow has ended, when it is stopped, and when this
 *     process is killed (proc/guardian.h).
 *   - Nothing here waits, but at the end for the terminal to take the rest.
 */
#ifndef AWF_CMD_RUN_TERMINAL_H
#define AWF_CMD_RUN_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "base/buffer.h"
#include "model/cost.h"
#include "model/follow.h"
#include "proc/environment.h"
#include "proc/guardian.h"
#include "run/terminal_output.h"
#include "start/supervise.h"
#include "storage/run.h"
#include "view/live_feed.h"
#include "view/screen.h"

struct terminal {
	struct supervision_terminal relay;  /* for whoever supervises the workflow */

	/* For terminal.c alone. */
	struct guardian_terminal guardian;
	dev_t device;
	int fd;                     /* of the terminal; -1: it is gone */
	int master;                 /* of the pseudo-terminal */
	char name[64];              /* of that, for GPG_TTY */
	pid_t group;                /* of the workflow; 0: it has not started */
	bool taken;                 /* it has other modes, and is read */
	bool ended;                 /* the workflow itself has */
	bool begun;                 /* something was drawn or printed */
	struct buffer in, out;      /* to be written to the workflow, to the terminal */
	struct terminal_output output;
	int64_t printed_at;         /* by the workflow; monotonic ms */
	int64_t look_at;            /* at the run, the next time */

	/* The view. */
	struct screen screen;
	struct follow follow;
	struct follow_callbacks callbacks;
	struct live_feed feed;
	struct cost cost;
	struct buffer told;         /* lines that wait until they can be printed */
};

#define TERMINAL_INIT { .fd = -1, .master = -1, .guardian = { .slave = -1, .terminal = -1 } }

/* Takes it for a run that has begun, if that may be: false, and nothing is changed. */
bool terminal_open(struct terminal *t, const struct run *run);
/* What the workflow is to know: that the run is shown, and which terminal is its own. */
void terminal_export(const struct terminal *t, struct environment *e);
void terminal_close(struct terminal *t);

#endif
