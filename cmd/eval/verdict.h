/*
 * What a check says. Its command reads the item (eval/case.h) on stdin, and passes if it ends with 0 and prints
 * neither false, nor a score below 0.5, nor an object whose pass is false; with 1 it fails.
 */
#ifndef AWF_EVAL_VERDICT_H
#define AWF_EVAL_VERDICT_H

#include "base/buffer.h"
#include "base/error.h"

#define EVAL_WHY_MOST 500        /* bytes of what a check says */
#define EVAL_INPUT_LIMIT ((size_t)256 << 20)

/* Runs the command of a check, and prints what it says, as {"pass", "score", "why"}. STATUS_OK; STATUS_WAITING; or -1 with
 * *err: it has said nothing, or what is no verdict. */
#define EVAL_VERDICT_WORD "--verdict"
int eval_verdict_run(const char *command, struct error *err);
/* The named input (awf-run --input) with the item of a check that is a fork, and how long such an item may be: the
 * environment has it. */
#define EVAL_VERDICT_INPUT "judged"
#define EVAL_VERDICT_INPUT_MOST 100000

/* Appends what a program has printed, as a value: JSON; the data of a state line, a text of which may be JSON in turn;
 * otherwise text without its last LF. */
void eval_value_of(const struct buffer *output, struct buffer *out);

#endif
