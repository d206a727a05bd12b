/*
 * Reads unchanged agent files of other programs: Claude Code's sub-agents, GitHub Copilot's and VS
 * Code's custom agents, and agents of opencode and Gemini CLI. They have the same format as AWF's,
 * Markdown with YAML front matter whose body is the system prompt, but other names for keys, tools
 * and models.
 *
 * The program of a file is determined by its path (.claude/agents, .github/agents,
 * .opencode/agent, .gemini/agents, NAME.agent.md), or else by contents that only that program's
 * files have; a file with AWF's key `provider` is AWF's. Keys are translated before they are read,
 * so that the rest of the code knows only one kind of agent.
 *
 * Tools that AWF does not have are left out, and so are tools that are allowed only within limits
 * that AWF cannot enforce, such as Bash(git:*): an agent never gets more than its file allows. What a
 * file wants to be asked about becomes a rule of approve_tools. Without a list of tools the agent gets all built-in tools, as in those programs.
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

/* What AWF cannot use of another program's file. */
struct dialect_rest {
	char *left_out;   /* a warning about tools and skills, "FILE:LINE: warning: …"; NULL */
	char *alias;      /* a model's name without version, such as "sonnet"; NULL */
};

/* Directories of their agent files, relative to a project; separated by colons. */
extern const char dialect_directories[];
/* The user's directories for these that exist; to be freed by the caller; NULL: none. */
char *dialect_user_directories(void);

/* The dialect of a file; NULL: it is AWF's own format. */
const struct dialect *dialect_of(const struct definition *d);
/* The program's name, for messages. */
const char *dialect_program(const struct dialect *dialect);
/* Translates the document into AWF's keys; keys that neither program knows are kept. -1,
 * ERROR_DEFINITION: the agent is switched off, or runs elsewhere. The caller frees the
 * members of rest. */
int dialect_translate(const struct dialect *dialect, struct definition *d,
    const char *workflow_directory, struct dialect_rest *rest, struct error *err);

#endif
