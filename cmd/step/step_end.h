/*
 * What came of a call: its output, how the work went, and what its step.completed tells of
 * it. Whoever makes the call fills it, and whatever fails on the way is its error; recorders
 * and makers of lines read it.
 *
 * The output is results, which the call has made, or items that pass: lines that steps in its
 * body have made, which go out as they came. An item that passes without a line of its own
 * gets one of this call.
 */
#ifndef AWF_STEP_STEP_END_H
#define AWF_STEP_STEP_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/changed.h"
#include "base/buffer.h"
#include "base/error.h"
#include "run/state.h"
#include "transcript/seal.h"

/* Of a condition. */
struct condition_answer {
	bool asked, answered, yes;
};

struct step_end {
	struct data *results;
	size_t result_count;
	bool passes;               /* the output is lines instead: */
	struct item *passed;
	size_t passed_count;
	size_t gone_count;         /* of a recorded end that is taken: passed, and not recorded */

	struct error error;
	bool told;                 /* the error is what a line of the output told of */
	const char *skipped;       /* why the work was not done; NULL */
	bool reused;               /* a recorded end is linked to, and its result not repeated */
	bool overruled;            /* by a decision that was recorded meanwhile */
	struct condition_answer until;
	int64_t winner;            /* the branch of an `any` group that won; -1 */
	struct error lost;         /* why a branch of a group that succeeded failed; ERROR_NONE */

	int exit_code;             /* of a command; -1 */
	bool killed;               /* a signal ended the command, or the operation's tool */
	struct buffer retries;     /* inside of a JSON array */
	struct buffer errors;      /* tail of stderr */
	int64_t errors_bytes;
	struct changed changed;    /* files, by a command */
	int64_t tool_calls;
	char *agent;               /* that ended it, if it is not the step's first; NULL */
	int64_t duration_ms;
	struct buffer approval;    /* payload.approval: of what waits, or was decided; "": none */
	struct seal_key seal;      /* that signs a decision made here; else without a public key */
};

void step_end_begin(struct step_end *end);
/* Takes over what data holds. */
void step_end_add_result(struct step_end *end, struct data *data);
void step_end_forget_results(struct step_end *end);
/* Takes over an item as output. */
void step_end_pass(struct step_end *end, struct item *item);
void step_end_forget_passed(struct step_end *end);
/* --into: the result becomes a member of the item's data, whose other members stay; data that
 * is no object moves to input. More than one result is an error. */
void step_end_put_into(struct step_end *end, const char *key, const struct item *item);
void step_end_free(struct step_end *end);

#endif
