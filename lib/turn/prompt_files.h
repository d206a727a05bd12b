/*
 * Instruction files: the parts of a prompt other than the data. These are agent files, their
 * output schemas, AGENTS.md and SKILL.md files, tool files with their descriptions, and the
 * template of -p @FILE. A sandboxed program that writes such a file could make the next agent do
 * what the program itself may not do. So an agent with more rights than a sandbox (a tool, server
 * or provider outside of a sandbox, or the network) is refused if a sandboxed program may have
 * written one of its instruction files. An agent whose tools all run in sandboxes without network
 * accepts the file, since it can do no more than the program that wrote it. An agent that may hand
 * over to another one has the rights of both.
 *
 * Data is not restricted: input, attachments, what tools read.
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
