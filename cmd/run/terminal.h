/*
 * The user's terminal while a workflow runs: the workflow gets a pseudo-terminal, this module
 * relays between the two, and draws the live view of the run (view/live_view.h) below the output.
 *
 * What the code relies on, and keeps:
 *  - The terminal is used only if nobody else uses it: this process is in its foreground; stderr is
 *    the terminal; stdout is the terminal, a file or a device; stdin too, or a pipe that has no
 *    writer left; no outer run has a view; and nobody else holds its lock, flock(2) of the device.
 *  - Every byte of output is written once, in order. The view is erased before, and drawn only when
 *    the output is at rest (run/terminal_output.h) for REST_MS and the workflow, if it reads the
 *    terminal, reads lines with echo.
 *  - In the background nothing is read and nothing drawn.
 *  - The terminal's modes are restored when the workflow has ended, when it is stopped, and when
 *    this process is killed (proc/guardian.h).
 *  - Nothing here waits, except at the end for the terminal to accept the remaining output.
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
	struct supervision_terminal relay;  /* callbacks for the supervision of the workflow */

	/* Used by terminal.c only. */
	struct guardian_terminal guardian;
	dev_t device;
	int fd;                     /* of the terminal; -1: it is closed */
	int master;                 /* of the pseudo-terminal */
	char name[64];              /* of the pseudo-terminal, for GPG_TTY */
	pid_t group;                /* process group of the workflow; 0: not started */
	bool taken;                 /* it is in raw mode, and is read */
	bool ended;                 /* the workflow has ended */
	bool begun;                 /* something was drawn or printed */
	struct buffer in, out;      /* bytes for the workflow, bytes for the terminal */
	struct terminal_output output;
	int64_t printed_at;         /* last output of the workflow; monotonic ms */
	int64_t look_at;            /* when the transcript is read next */

	/* The view. */
	struct screen screen;
	struct follow follow;
	struct follow_callbacks callbacks;
	struct live_feed feed;
	struct cost cost;
	struct buffer told;         /* lines that wait to be printed */
};

#define TERMINAL_INIT { .fd = -1, .master = -1, .guardian = { .slave = -1, .terminal = -1 } }

/* Takes over the terminal for a run that has begun. Returns false, and changes nothing, if
 * it may not. */
bool terminal_open(struct terminal *t, const struct run *run);
/* Sets variables for the workflow: that a view is shown, and which terminal it has. */
void terminal_export(const struct terminal *t, struct environment *e);
void terminal_close(struct terminal *t);

#endif
