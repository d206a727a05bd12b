/*
 * The user's terminal while a workflow runs: the workflow gets a pseudo-terminal, this module
 * relays between the two, and draws the live view of the run (view/live_view.h) below the output.
 *
 * What the code relies on, and keeps:
 *  - The terminal is used only if no other program uses it: this process is in its foreground;
 *    stderr is the terminal; stdout is the terminal, a file or a device; so is stdin, or it is a
 *    pipe without a writer; no outer run has a view; and no other process holds its lock, flock(2)
 *    of the device.
 *  - Every byte of output is written once, in order. Before output is written, the view is erased.
 *    It is drawn again only if no output has come for REST_MS, the cursor is in a state that allows
 *    it (run/terminal_output.h), and the workflow's terminal is in line mode with echo.
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
	int fd;                     /* the terminal; -1: it was closed */
	int master;                 /* the master of the pseudo-terminal */
	char name[64];              /* path of the pseudo-terminal, for GPG_TTY */
	pid_t group;                /* process group of the workflow; 0: not started */
	bool taken;                 /* the terminal is in raw mode, and is read */
	bool ended;                 /* the workflow has ended */
	bool begun;                 /* something was drawn or printed */
	struct buffer in, out;      /* pending bytes for the workflow, and for the terminal */
	struct terminal_output output;
	int64_t printed_at;         /* when the workflow last wrote, monotonic ms */
	int64_t look_at;            /* when the transcript is to be read next */

	/* The view. */
	struct screen screen;
	struct follow follow;
	struct follow_callbacks callbacks;
	struct live_feed feed;
	struct cost cost;
	struct buffer told;         /* permanent lines that are to be printed */
};

#define TERMINAL_INIT { .fd = -1, .master = -1, .guardian = { .slave = -1, .terminal = -1 } }

/* Takes over the terminal for a run that has begun. False, with nothing changed, if that is not
 * possible. */
bool terminal_open(struct terminal *t, const struct run *run);
/* Sets the workflow's variables that say that a view is shown, and on which terminal. */
void terminal_export(const struct terminal *t, struct environment *e);
void terminal_close(struct terminal *t);

#endif
