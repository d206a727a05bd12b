/*
 * A question to the user at the terminal: shows what it is about, and reads a yes, a no, or a new
 * text from an editor, which is then shown with the question again.
 *
 * What the code relies on, and keeps:
 *   - Questions are asked as in view/terminal_question.h: in a run, one at a time.
 *   - What is shown is data: its control characters are made harmless.
 *   - The editor has the terminal for itself, and a process group of its own, so that its Ctrl-C
 *     does not reach the workflow. When the question ends in any way, the editor is ended and the
 *     terminal's modes are restored. The editor's file is in the run's directory.
 */
#ifndef AWF_STEP_KINDS_QUESTION_H
#define AWF_STEP_KINDS_QUESTION_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/interrupts.h"

enum question_answer {
	ANSWER_NONE, /* there is no user, or no answer: end of file */
	ANSWER_YES, ANSWER_NO,
	ANSWER_ALWAYS /* yes, and no more such questions in this run */
};

struct question {
	/* Set by the caller. */
	const char *about;             /* what waits: "review:0:0" */
	const char *directory;         /* of the run */
	const char *file;              /* name that the text has in an editor; NULL: it cannot be
	                                  edited */
	char *const *environment;      /* of the editor */
	const struct interrupts *interrupts;
	/* Checks an edited text; *why says what is wrong with it. */
	int (*check)(void *context, const struct buffer *text, struct error *why);
	/* Writes the text for people, and returns whether ANSWER_ALWAYS can be given; NULL: it is shown as
	 * it is, and that cannot. */
	bool (*show)(void *context, const struct buffer *text, struct buffer *out);
	void *context;

	struct buffer text;            /* changed by an editor */
	bool edited;                   /* it came from one */
	struct buffer reason;          /* the reason for a no; may be empty */
};

/* -1: interrupted (ERROR_CANCELLED, ERROR_DOWNSTREAM_CLOSED), or ERROR_SYSTEM. */
int question_ask(struct question *q, enum question_answer *answer, struct error *err);
void question_free(struct question *q);

#endif
