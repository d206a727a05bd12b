/*
 * Asking the user a question on the terminal: printing it and reading the answer. The callers
 * define the question and interpret the answer.
 *
 * What the code relies on, and keeps:
 *   - There is somebody to ask if stderr is a terminal and this process is in the foreground of its
 *     controlling terminal (/dev/tty), whatever stdin and stdout are. Otherwise nothing is printed.
 *   - One question at a time: a process that asks holds flock() on a file that all processes share
 *     that may ask on this terminal.
 *   - All waits are interruptible.
 */
#ifndef AWF_VIEW_TERMINAL_QUESTION_H
#define AWF_VIEW_TERMINAL_QUESTION_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/interrupts.h"

/* Name of the lock file in the directory of a run. */
#define TERMINAL_QUESTION_FILE "terminal"

struct terminal_question {
	int terminal;   /* -1: nobody can be asked */
	int turn;       /* descriptor of the lock file */
	const struct interrupts *interrupts;  /* may be NULL */
};

/* Whether there is a user who can be asked. */
bool terminal_question_possible(void);
/* Waits until it is this process's turn: path is the lock file, which is created. 1: it may ask; 0:
 * there is no user; -1: interrupted, or ERROR_SYSTEM. Close it in any case. */
int terminal_question_open(struct terminal_question *q, const char *path,
    const struct interrupts *interrupts, struct error *err);
void terminal_question_close(struct terminal_question *q);
/* Prints out and empties it; control characters except LF and tab are escaped. */
int terminal_question_print(struct terminal_question *q, struct buffer *out, struct error *err);
/* Drops what was typed so far: it was typed before the question was asked. */
void terminal_question_forget_typed(struct terminal_question *q);
/* Prints out, and reads a line, without its LF. 1: a line; 0: end of file; -1 with *err. */
int terminal_question_ask(struct terminal_question *q, struct buffer *out, struct buffer *line,
    struct error *err);

#endif
