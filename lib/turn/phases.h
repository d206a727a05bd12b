/*
 * The phases of an agent during its call: parts of the work that the model gets one after another.
 * Each phase has its own instructions, tools and token. It ends when the model calls
 * continue_workflow, or in the last phase finish_workflow, with that token. The result of that call
 * is the next phase. Nothing else that the model does changes the phase.
 *
 * A phase is a sub-step, STEP.PHASE, whose call is inside the call of the step; the messages and
 * tool calls in it are events of that call:
 *
 *    step.started (the agent)
 *      step.started → message.user → message.assistant → … → step.completed
 *      step.started → message.assistant → … → step.completed
 *    step.completed (the agent), linked to the last of them
 *
 * What the code relies on:
 *   - All calls of one answer belong to the phase in which the model was asked; the phase changes
 *     when all their results are final.
 *   - Each token is generated once and recorded: that of the first phase in its step.started, those
 *     of the others in the result that contains them.
 *   - A resumed call does not record a phase again that has ended; it records the phase that was
 *     cut off once more, with the same token.
 */
#ifndef AWF_TURN_PHASES_H
#define AWF_TURN_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "definitions/phase.h"
#include "proc/environment.h"
#include "transcript/call.h"
#include "turn/control.h"

#define PHASE_TOKEN_SIZE 33 /* 32 hex digits and a NUL */

struct loop;
struct recalled_event;

enum phase_move { PHASE_STAYS, PHASE_PROCEEDS, PHASE_FINISHES };

struct phases {
	struct control proceed, finish;
	size_t current;
	int64_t first_turn;          /* of the current one */
	char (*tokens)[PHASE_TOKEN_SIZE]; /* for the phases up to the current one */
	char next[PHASE_TOKEN_SIZE];
	enum phase_move move;        /* what follows from the results of this turn */
	struct buffer input, output; /* of the current phase, JSON */
	bool reminded;               /* the answer before called nothing */

	/* Its sub-step. */
	struct call call;
	char *path, *id;
	char started[ID_SIZE];
	char before[ID_SIZE];        /* the event that ended the previous phase; "" */
	bool before_is_new;          /* this attempt made that */
	bool open;
	bool silent;                 /* an earlier attempt recorded it, to its end */
	int64_t begun;               /* monotonic ms */
	struct environment environment;

	/* The call of the step, whose place in the turns its phases take. */
	struct call *outer;
	const char *outer_started;
	const struct environment *outer_environment;
};

/* Whether the agent has any. */
bool phases_given(const struct loop *l);
/* Makes the tools that end phases and the first token. */
int phases_begin(struct loop *l, struct error *err);
/* Sets the offer to that of the current phase. */
void phases_offer(struct loop *l);
/* Appends the description of the current phase for the model, as text. */
void phases_tell(const struct loop *l, struct buffer *out);
/* The recorded message of the user with which the current phase began, in any attempt; NULL:
 * there is none. */
const struct recalled_event *phases_prompt(const struct loop *l);
/* Begins the current phase as a sub-step. */
int phases_start(struct loop *l, struct error *err);
/* Whether the current phase may have another turn; -1: *err. */
int phases_check_limit(const struct loop *l, struct error *err);
/* The model has answered without a call: appends to text, a message for it, what it has to do, once
 * in a row. -1: the call ends with *err. */
int phases_remind(struct loop *l, struct buffer *text, struct error *err);
/* To be called when the results of a turn are final. 0: the conversation continues, perhaps in the
 * next phase; 1: the last phase has ended, and turns->result is set; -1 with *err. */
int phases_move(struct loop *l, struct error *err);
/* Makes the call of the step the current one again, after its phases. An open phase ends as
 * the call does: with the error `why` or, if that is NULL, with its result. -1: that could not
 * be recorded. */
int phases_leave(struct loop *l, const struct error *why, struct error *err);
void phases_free(struct phases *p);

#endif
