/*
 * Agent files, awf-agent(5): Markdown with YAML front matter (libyaml) or JSON. The body is the
 * system prompt. Agent files of other programs are translated first (definitions/dialect.h).
 * Unknown keys are not refused, but a key that looks like a misspelt one causes a warning; values
 * of known keys are checked, and errors name file and line.
 */
#ifndef AWF_DEFINITIONS_AGENT_H
#define AWF_DEFINITIONS_AGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "definitions/approvals.h"
#include "definitions/fallback.h"
#include "definitions/mcp_config.h"
#include "definitions/output_schema.h"
#include "definitions/phase.h"
#include "definitions/pins.h"
#include "isolate/sandbox.h"
#include "limits/ceiling.h"

struct agent {
	char *path;            /* path at which the file was found */
	char *name;            /* the base name of the file if the file does not give one */
	char *description;     /* may be NULL */
	char *provider;        /* may be NULL */
	char *model;           /* may be NULL */
	char *alias;           /* name by which the model is looked up if none is given
	                          (model_alias.h); NULL */
	struct fallback fallback; /* models to be asked if that one does not answer */
	char *system;          /* the body, without white space at its ends; NULL if empty */
	json_t *params;        /* object: max_tokens temperature top_p stop_sequences thinking cache */
	char **tools;          /* names; ends with NULL; may be empty */
	enum tools_policy tools_policy;
	struct {
		int64_t max_turns;         /* 30 by default; 0: no limit */
		int64_t stuck_after;       /* most turns in a row with the same calls and results:
		                              5; 0: no limit */
		int64_t max_tokens_total;  /* 0: no limit */
		int64_t timeout_ms;        /* 0: none */
		int64_t before_turn_ms;    /* time limit of the command before_turn; 0: none */
		int64_t compact_at;        /* tokens of its conversation above which old messages are replaced
		                              by a summary; 0: never */
		int64_t compact_keep;      /* messages that are kept then */
		char *compact_agent;       /* agent that makes the summaries; NULL: this one */
		char *compact_place;       /* FILE:LINE of compact, if there is one */
		struct approvals approvals; /* calls of tools that a person is asked about */
	} limits;                     /* limits of its work */
	char *stop_tool;           /* tool of stop_when, whose input is the result; it may be one of
	                              tools, or have a file of its own, or neither; NULL if none */
	json_t *stop_command;      /* command of stop_when: array of texts or text; NULL */
	json_t *before_turn;       /* a command: array of texts or text; NULL */
	struct pins pins;          /* files that its commands run */
	struct output_schema output; /* schema of the result; none: any result is valid */
	struct {
		bool may_be_empty;         /* an answer without content is valid */
		int64_t repairs;           /* how often an answer that violates `output` is sent
		                              back; 2 by default */
	} answer;
	char *continue_from;   /* path of the step whose conversation is continued; NULL */
	char **handoffs;           /* agents to which it may hand over; NULL: none */
	char *handoffs_place;      /* FILE:LINE of handoffs; NULL */
	struct {
		char **skills;             /* names of skills (skills.h); NULL: none */
		char *skills_place;        /* FILE:LINE of skills; NULL */
		bool agents_md;            /* AGENTS.md files are added to its system prompt */
		char *agents_md_place;     /* NULL */
		bool project_settings;     /* an agent CLI uses the project's settings, which can
		                              run anything (proc/project_files.h) */
		char **skill_directories;  /* absolute paths, found by skills_compose(); NULL */
		char **composed;           /* absolute paths of the files that skills_compose() has
		                              added to the system prompt; NULL */
	} prompt;                     /* what the system prompt consists of, and whose settings a
	                                 CLI uses */
	struct sandbox sandbox;    /* sandbox of its tools, as far as the file sets it */
	struct phases_list phases; /* empty: the task is not divided into phases */
	struct mcp_key mcp;        /* MCP servers whose tools it has */
	json_t *document;          /* the whole file, with unknown keys */
	char *doubt;               /* warnings, a line each: keys that may be misspelt, and what
	                              another program's file has but AWF does not; NULL */
	char *unused;              /* a line about keys of another program's file that have no
	                              meaning in AWF; NULL */
	char sha256[65];           /* digest of the file and of the composed files; "" for
	                              agent_plain() */
};

/* Finds the path of an agent's file. With a directory `beside`: FILE in there, perhaps with the
 * suffix .md or .agent.md. Otherwise FILE itself, if it exists; else, if it contains a slash, FILE
 * in the workflow's directory; else FILE, with and without these suffixes, in ./agents,
 * workflow_directory/agents, the directories of other programs in both (definitions/dialect.h),
 * ~/.config/awf/agents, the user's directories of other programs, and the system's directory. Both
 * directories may be NULL. To be freed by the caller. ERROR_DEFINITION lists the places. */
char *agent_find(const char *file, const char *beside, const char *workflow_directory,
    struct error *err);
/* The directories in which agent_find() searches; a list (base/list.h). */
char **agent_directories(const char *workflow_directory);
/* 0, or -1 with nothing to free: ERROR_DEFINITION with FILE:LINE, or ERROR_SYSTEM. */
int agent_load(struct agent *a, const char *path, struct error *err);
/* The same for the contents of a file, which are modified. */
int agent_parse(struct agent *a, const char *path, struct buffer *text, struct error *err);
/* Makes an agent that has only a model and a prompt (-m without -a). */
void agent_plain(struct agent *a, const char *name);
/* Sets model from "PROVIDER/MODEL" or "MODEL"; and provider, if PROVIDER is known or can be found
 * (models of some servers have slashes in their names). place: where text was given. */
int agent_set_model(struct agent *a, const char *text, const char *place, struct error *err);
/* The tools of the agent and of its phases, each once; ends with NULL. Free the array
 * alone. */
char **agent_tools(const struct agent *a);
/* Appends the schema of the result, if there is one, to the system prompt. */
void agent_tell_output(struct agent *a);
/* Gives the agent these tools, and removes all others from its phases. */
void agent_allow_tools(struct agent *a, char *const *names);
/* A command of the file as argv; a text is passed to the shell. Free only the array. */
char **agent_command(json_t *command);
void agent_free(struct agent *a);

#endif
