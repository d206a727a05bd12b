/*
 * Agent files of other programs, as they are: Claude Code's sub-agents, GitHub Copilot's and
 * VS Code's custom agents, opencode's and Gemini CLI's. They look like ours, Markdown with YAML
 * front matter whose body is the system prompt, but their keys, their tools and their models
 * have other names.
 *
 * Whose a file is, the place where it lies says (.claude/agents, .github/agents,
 * .opencode/agent, .gemini/agents, NAME.agent.md), else what only theirs have; a file with our
 * key `provider` is ours. The keys are put into our words before they are read: so the rest of
 * the house knows agents of one kind.
 *
 * A tool that is not here is left out, and so is one that they allow within limits that are not
 * known here (Bash(git:*), or one to be asked about): an agent never has more than its file gives
 * it. No list of tools means, as it does to them, all that are built in.
 *
 * Sources: code.claude.com/docs/en/sub-agents; docs.github.com, "Custom agents configuration";
 * opencode.ai/docs/agents; geminicli.com/docs/core/subagents.
 */
#ifndef AWF_DEFINITIONS_DIALECT_H
#define AWF_DEFINITIONS_DIALECT_H

#include <stdbool.h>

#include "base/error.h"
#include "formats/definition.h"

struct dialect;

/* What was said that has no key here. */
struct dialect_rest {
	char *left_out;   /* a warning, "FILE:LINE: warning: …", of tools and skills; NULL */
	char *alias;      /* a model by a name without version, "sonnet"; NULL */
};

/* Directories, from a project's on, that their agent files lie in; with colons between. */
extern const char dialect_directories[];
/* Those of the user that are there; in memory of its own, NULL: none. */
char *dialect_user_directories(void);

/* Whose the file is. NULL: it is ours. */
const struct dialect *dialect_of(const struct definition *d);
/* The program, for people. */
const char *dialect_program(const struct dialect *dialect);
/* Puts the document into our words; keys that are unknown to both stay. -1, ERROR_DEFINITION:
 * it says that it is switched off, or an agent elsewhere. What rest has is the caller's. */
int dialect_translate(const struct dialect *dialect, struct definition *d,
    const char *workflow_directory, struct dialect_rest *rest, struct error *err);

#endif
