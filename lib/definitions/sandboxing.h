/*
 * The keys `sandbox` and `network` of agent and tool files, and the resulting sandbox of a tool
 * when they are combined with the step's options.
 */
#ifndef AWF_DEFINITIONS_SANDBOXING_H
#define AWF_DEFINITIONS_SANDBOXING_H

#include "definitions/agent.h"
#include "definitions/tool.h"
#include "formats/definition.h"
#include "isolate/sandbox.h"
#include "json/writer.h"

/* Readers of the keys (definition.h); the member at offset is a struct sandbox. sandbox: a mode, or
 * false for none; network: true or false. */
int sandboxing_mode(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int sandboxing_network(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);

/* Decides about the sandbox of a tool in a step; agent: that uses it; NULL: none. ERROR_DEFINITION
 * at the tool's file if it is not possible. */
int sandboxing_decide(struct sandbox *decided, const struct sandbox *step,
    const struct agent *agent, const struct tool *tool, struct error *err);
/* The same for something that is not a tool: an MCP server that an agent names, or a command. */
int sandboxing_decide_command(struct sandbox *decided, const struct sandbox *step,
    const struct agent *agent, struct error *err);

/* The same for a command that checks what an agent's tools have written, such as a build: it runs
 * in a sandbox if one of them does, unless a setting says none. */
int sandboxing_decide_judge(struct sandbox *decided, const struct sandbox *step,
    const struct agent *agent, const struct tool *tools, size_t count, struct error *err);

/* Writes the members sandbox and network of a call's record; nothing if there is no sandbox. */
void sandboxing_write(const struct sandbox *s, struct writer *w);

#endif
