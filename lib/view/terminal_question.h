/*
 * Asking the user a question on the terminal: printing it and reading the answer. The callers
 * define the question and interpret the answer.
 *
 * What the code relies on, and keeps:
 *   - There is somebody to ask if stderr is a terminal and this process is in the foreground of
 *     its own (/dev/tty), whatever stdin and stdout are. Only then something is printed.
 *   - One question at a time: who asks holds flock() on a file that all who might ask there have.
 *   - All waits are interruptible.
 */
#ifndef AWF_VIEW_TERMINAL_QUESTION_H
#define AWF_VIEW_TERMINAL_QUESTION_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/interrupts.h"

/* The file of the lock in the directory of a run. */
#define TERMINAL_QUESTION_FILE "terminal"

struct terminal_question {
	int terminal;   /* -1: nobody is there */
	int turn;       /* descriptor of the lock file */
	const struct interrupts *interrupts;  /* may be NULL */
};

/* Whether there is somebody to ask. */
bool terminal_question_possible(void);
/* Waits until it is this process's turn: path is the lock file, which is created. 1: it may ask; 0:
 * there is no user; -1: interrupted, or ERROR_SYSTEM. Close it in any case. */
int terminal_question_open(struct terminal_question *q, const char *path,
    const struct interrupts *interrupts, struct error *err);
void terminal_question_close(struct terminal_question *q);
/* Prints, with what a terminal obeys or does not show escaped, but LF and tab; empties out. */
int terminal_question_print(struct terminal_question *q, struct buffer *out, struct error *err);
/* Drops what was typed: before a question stood there nothing is an answer to it. */
void terminal_question_forget_typed(struct terminal_question *q);
/* Prints, and reads a line, without its LF. 1: there is one; 0: end of file; -1. */
int terminal_question_ask(struct terminal_question *q, struct buffer *out, struct buffer *line,
    struct error *err);

#endif
