/*
 * Files of instructions: what the prompts of a step's agents are made of beside the data. These are
 * agent files, their output schemas, AGENTS.md and SKILL.md files, the files of tools, which say what they
 * are for, and the template of -p @FILE. A
 * sandboxed program that writes one would have the next agent do what it may not do itself, so such a
 * file is refused to an agent that has more than a sandbox: a tool, server or provider that runs in
 * none, or the network. An agent whose tools are all in sandboxes without the network takes it: it can
 * do no more than the program that wrote it. Who may hand over to another agent has the rights of that.
 *
 * What is data is no matter of this: input, attachments, what tools read.
 */
#ifndef AWF_TURN_PROMPT_FILES_H
#define AWF_TURN_PROMPT_FILES_H

#include "base/error.h"
#include "isolate/sandbox.h"
#include "turn/team.h"

/* ERROR_DEFINITION at a file of instructions that a sandboxed program may have written
 * (workspace/sandboxed_times.h) and that an agent with more rights would follow. template: of the first agent;
 * NULL: none. Where no sandboxed program has run, nothing is looked at. */
int prompt_files_check(const struct team *team, const char *template, const struct sandbox *step,
    struct error *err);

#endif
