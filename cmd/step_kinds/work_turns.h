/*
 * For agents, and for tools that are called without one: the turn loop runs the tools of both
 * (turn/turn.h).
 */
#ifndef AWF_STEP_KINDS_WORK_TURNS_H
#define AWF_STEP_KINDS_WORK_TURNS_H

#include "definitions/agent.h"
#include "definitions/tool.h"
#include "step_call/step_call.h"
#include "step_call/step_files.h"
#include "turn/turn.h"

/* Checks that the tool can have the sandbox that is required; agent NULL: none.
 * ERROR_DEFINITION. */
int work_settle_tool(const struct step *s, const struct agent *agent, struct tool *tool,
    struct error *err);
/* Adds the tool's file, and the files beside it that it runs. */
void work_name_tool(struct step_files *f, const struct tool *tool);

/* Sets the members that depend on the call and the step. */
void work_turns_begin(struct step_call *call, struct turns *t);
/* Sets the end of the call from the result, and frees t. result: of turns_run() or
 * turns_operation(). */
void work_turns_end(struct step_call *call, struct turns *t, int result);

#endif
