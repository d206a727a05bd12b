/*
 * Approval of tool calls (approve_tools of an agent): before a call that needs one is recorded and
 * run, a step inside of the agent's call asks a person about it: awf-step --approve, with the name of
 * the tool as its own, and with the tool, its arguments, and `always` as its data. So it is asked
 * about, recorded, resumed and replayed as any other approval is.
 *
 * An edit of the arguments is what runs; `always: true` means that no further call of that tool, by
 * that rule, needs an approval in this run. A denial is the result of the call, which the model
 * reads, with its reason. If a call still waits when the process waits no longer, the agent's call
 * waits, too; a resume takes the recorded answer of the model, and asks for the decision again.
 */
#ifndef AWF_TURN_APPROVE_H
#define AWF_TURN_APPROVE_H

#include "base/error.h"
#include "turn/toolrun.h"

/* Asks about those of the calls that need it, all at the same time; they were looked up and checked. A
 * denied call gets its error, an edited one its input, which *edited is set for. -1: the call of the
 * step ends with *err, ERROR_WAITING if nobody has decided. */
int tool_runs_approve(struct tool_runs *r, bool *edited, struct error *err);

#endif
