/*
 * The phases of an agent while its call is made: parts of the work that the model is
 * given one at a time. Each has instructions, tools and a token of its own; it ends when
 * the model calls continue_workflow, on the last finish_workflow, with that token. The
 * answer to that is the next phase. Whatever else the model does leaves it where it is.
 *
 * A phase is a sub-step, STEP.PHASE, whose call lies in the call of the step; what is
 * said and done in it are that call's events:
 *
 *     step.started (the agent)
 *       step.started → message.user → message.assistant → … → step.completed
 *       step.started → message.assistant → … → step.completed
 *     step.completed (the agent), linked to the last of them
 *
 * What the code relies on:
 *   - All calls of one answer belong to the phase in which the model was asked; the
 *     phase moves on when all their results stand.
 *   - Tokens are left to chance once: that of the first phase stands in its
 *     step.started, those of the others in the result that handed them out.
 *   - A call that is gone on with records no phase again that has ended, and the one
 *     that was cut off once more, under its token.
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
	char (*tokens)[PHASE_TOKEN_SIZE]; /* up to that of the current one */
	char next[PHASE_TOKEN_SIZE];
	enum phase_move move;        /* what the results of this turn lead to */
	struct buffer input, output; /* of the current one, JSON */
	bool reminded;               /* the answer before called nothing */

	/* Its sub-step. */
	struct call call;
	char *path, *id;
	char started[ID_SIZE];
	char before[ID_SIZE];        /* the end of the one before; "" */
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
/* Makes the offer that of the current phase. */
void phases_offer(struct loop *l);
/* Appends what tells a model of the current phase: text. */
void phases_tell(const struct loop *l, struct buffer *out);
/* The recorded message of the user that the current phase began with, in whichever
 * attempt; NULL: there is none. */
const struct recalled_event *phases_prompt(const struct loop *l);
/* Begins the current phase as a sub-step. */
int phases_start(struct loop *l, struct error *err);
/* Whether the current phase may have another turn; -1: *err. */
int phases_check_limit(const struct loop *l, struct error *err);
/* The model has answered without a call: appends to text, a message for it, what it has to do, once
 * in a row. -1: the call ends with *err. */
int phases_remind(struct loop *l, struct buffer *text, struct error *err);
/* The results of a turn stand. 0: the conversation goes on, perhaps in the next phase;
 * 1: the last one has ended, and turns->result is filled; -1 with *err. */
int phases_move(struct loop *l, struct error *err);
/* The call of the step takes its place again, behind its phases; what ended it (why, or
 * NULL and its result) ends the open one too. -1: that could not be recorded. */
int phases_leave(struct loop *l, const struct error *why, struct error *err);
void phases_free(struct phases *p);

#endif
