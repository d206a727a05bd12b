/*
 * Groups: steps whose command is a body. A body reads the item's state line, and what
 * it prints passes as it is if it is state lines of this run: the steps inside made
 * them. Anything else that it prints is its result, as that of a command is.
 *
 *   for_each   --each: the call is one body call
 *   while      --while, --until, --max: a call makes one round after the other, each a
 *              body call on what the round before it gave
 *   parallel   --parallel: a call makes one body call per branch
 *
 * The rounds of a loop and the branches of a parallel group are calls in the group's
 * call, of its name and path: NAME:OCC:ITEM/NAME:0:ROUND. They are made by step_call()
 * with the step that group_open() makes of the group's. Retries and time limits are
 * theirs; what happens to the result (--into, -r, --try …) is the group's.
 *
 *   - If a body fails, or one of its lines is an error line, the group's call fails
 *     with that error, the first in order, and passes its own input on. A parallel group
 *     does so as its strategy says:
 *         all          the first failure stops the other branches
 *         any          the first success does; its lines alone go out
 *         best-effort  all are made, and one success is enough; of a branch that failed,
 *                      the error line goes out
 *     A branch that waits for somebody stops none, and the group then waits, unless it
 *     comes to its end without that.
 *   - Nothing of a parallel group depends on which of several branches was first: if
 *     several have succeeded before they could be stopped, the first in order wins. A
 *     replay stops none: each branch comes to the end that is recorded of it, and those
 *     that were not made are not made. A branch of an `any` group that has won in an
 *     earlier attempt is the only one that is made again.
 *   - The end of a group records the lines that went out ("count" says that "result"
 *     is these, {data, metadata}), so that they can go out again: with new tokens
 *     where they had valid ones.
 */
#ifndef AWF_STEP_GROUP_H
#define AWF_STEP_GROUP_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "step/step.h"
#include "step/step_call.h"

/* Here alone files of the step need one another in a circle: a group's work is calls, which
 * step_call() makes, and step_call() has it done. That is the thing itself, as the calls inside
 * are of the same kind, recorded and recalled by the same rules; it goes through group_call()
 * alone, which knows of a call no more than step.h does. */

/* Body calls within a call of a group. step is the group's own, but for where it is
 * and what the group does with results; whoever opened it may change its command. */
struct group {
	struct step step;
	struct step_call *call;    /* the group's */
};

void group_open(struct group *g, struct step_call *call);
/* The group's item as its body calls are given it, which is a line in any case. */
void group_take_input(struct step_call *call, struct item *item);
/* Makes the body call number index. causes come after the group's own step.started.
 * As step_call(). */
int group_call(struct group *g, const struct item *item, const struct buffer *causes,
    int64_t index, struct step_result *result, struct error *err);
void group_close(struct group *g);

/* Make the rounds of a loop, the branches of a parallel group. As step_work(). */
int group_run_loop(struct step_call *call, struct error *err);
int group_run_parallel(struct step_call *call, struct error *err);

#endif
