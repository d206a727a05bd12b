/*
 * A question to whoever sits at the terminal: shows what it is about, and takes a yes, a
 * no, or another text from an editor, which is shown and asked about again.
 *
 * What the code relies on, and keeps:
 *   - It is asked as view/terminal_question.h has it, one at a time in a run.
 *   - What is shown is data: its control characters are made harmless.
 *   - The editor has the terminal for itself, with a process group of its own, so that
 *     its Ctrl-C is not the workflow's; it, and the terminal's modes, do not outlast the
 *     question, however that ends. Its file lies in the run's directory.
 */
#ifndef AWF_STEP_KINDS_QUESTION_H
#define AWF_STEP_KINDS_QUESTION_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/interrupts.h"

enum question_answer {
	ANSWER_NONE, /* nobody there, or no answer: end of file */
	ANSWER_YES, ANSWER_NO
};

struct question {
	/* Set by the caller. */
	const char *about;             /* what waits: "review:0:0" */
	const char *directory;         /* of the run */
	const char *file;              /* name that the text has in an editor; NULL: it cannot be
	                                  edited */
	char *const *environment;      /* of the editor */
	const struct interrupts *interrupts;
	/* Whether an edited text will do; *why tells what is wrong. */
	int (*check)(void *context, const struct buffer *text, struct error *why);
	void *context;

	struct buffer text;            /* changed by an editor */
	bool edited;                   /* it came from one */
	struct buffer reason;          /* of a no; may be empty */
};

/* -1: interrupted (ERROR_CANCELLED, ERROR_DOWNSTREAM_CLOSED), or ERROR_SYSTEM. */
int question_ask(struct question *q, enum question_answer *answer, struct error *err);
void question_free(struct question *q);

#endif
