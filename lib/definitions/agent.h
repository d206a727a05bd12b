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
#include "definitions/fallback.h"
#include "definitions/mcp_config.h"
#include "definitions/output_schema.h"
#include "definitions/phase.h"
#include "definitions/pins.h"
#include "isolate/sandbox.h"
#include "limits/ceiling.h"

struct agent {
	char *path;            /* where it was found */
	char *name;            /* the base name of the file if the file does not give one */
	char *description;     /* may be NULL */
	char *provider;        /* may be NULL */
	char *model;           /* may be NULL */
	char *alias;           /* of the model, looked up if no model is named
	                          (model_alias.h); NULL */
	struct fallback fallback; /* the models to ask if that one does not answer */
	char *system;          /* the body, without white space at its ends; NULL if empty */
	json_t *params;        /* object: max_tokens temperature top_p stop_sequences thinking cache */
	char **tools;          /* names; ends with NULL; may be empty */
	enum tools_policy tools_policy;
	struct {
		int64_t max_turns;         /* 30; 0: no limit */
		int64_t stuck_after;       /* turns that call the same with the same result: 5; 0: no limit */
		int64_t max_tokens_total;  /* 0: no limit */
		int64_t timeout_ms;        /* 0: none */
		int64_t before_turn_ms;    /* of the command before a turn; 0: none */
	} limits;                     /* of its work */
	char *stop_tool;           /* stop_when {tool}: its input is the result; it may be one
	                              of tools, or have a file, or neither; NULL if none */
	json_t *stop_command;      /* stop_when {command}: array of texts or text; NULL */
	json_t *before_turn;       /* a command: array of texts or text; NULL */
	struct pins pins;          /* files that it runs */
	struct output_schema output; /* of the result; without a schema: any */
	struct {
		bool may_be_empty;         /* an answer without content is one */
		int64_t repairs;           /* 2: so often one that breaks `output` is sent back */
	} answer;
	char *continue_from;   /* path of the step whose conversation goes on; NULL */
	char **handoffs;           /* agents to hand over to, as they are named; NULL: none */
	char *handoffs_place;      /* FILE:LINE of that; NULL */
	struct {
		char **skills;             /* names (skills.h); NULL: none */
		char *skills_place;        /* FILE:LINE of that; NULL */
		bool agents_md;            /* AGENTS.md files belong to its system prompt */
		char *agents_md_place;     /* NULL */
		bool project_settings;     /* an agent CLI takes the project's settings, which can run anything
		                              (proc/project_files.h) */
		char **skill_directories;  /* absolute; found by skills_compose(); NULL */
		char **composed;           /* absolute paths of the files that are in its system
		                              prompt, as skills_compose() left it; NULL */
	} prompt;                     /* what its system prompt is made of, and whose settings a CLI takes */
	struct sandbox sandbox;    /* of its tools, as far as the file says */
	struct phases_list phases; /* none: it has a task as a whole */
	struct mcp_key mcp;        /* servers whose tools it has */
	json_t *document;          /* everything, unknown keys too */
	char *doubt;               /* warnings of keys that are perhaps misspelt, and of what another
	                              program's file has and is not here, a line each; NULL */
	char *unused;              /* keys of another program's file that mean nothing here: a line;
	                              NULL */
	char sha256[65];           /* of the file's bytes, and of those of the composed files; ""
	                              for agent_plain() */
};

/* Finds the path of FILE. With a directory `beside`: FILE in there, also with .md or .agent.md.
 * Otherwise FILE itself if it exists; else, if it contains a slash, FILE in the workflow's
 * directory. Else FILE, with and without these suffixes, in ./agents, workflow_directory/agents,
 * the directories of other programs in both (definitions/dialect.h), ~/.config/awf/agents, the
 * user's directories of other programs, and the system's directory. Both directories may be NULL.
 * The result is allocated. ERROR_DEFINITION lists the places. */
char *agent_find(const char *file, const char *beside, const char *workflow_directory,
    struct error *err);
/* The directories in which that searches; a list (base/list.h). */
char **agent_directories(const char *workflow_directory);
/* 0, or -1 with nothing to free: ERROR_DEFINITION with FILE:LINE, or ERROR_SYSTEM. */
int agent_load(struct agent *a, const char *path, struct error *err);
/* The same for the contents of a file, which are modified. */
int agent_parse(struct agent *a, const char *path, struct buffer *text, struct error *err);
/* An agent that has only a model and a prompt (-m without -a). */
void agent_plain(struct agent *a, const char *name);
/* "PROVIDER/MODEL" or "MODEL": sets model, and provider if PROVIDER is a known or
 * findable one (models of some servers have slashes themselves). place is where it
 * was said. */
int agent_set_model(struct agent *a, const char *text, const char *place, struct error *err);
/* The tools of the agent and of its phases, each once; ends with NULL. Free the array
 * alone. */
char **agent_tools(const struct agent *a);
/* Appends the schema of the result, if there is one, to the system prompt. */
void agent_tell_output(struct agent *a);
/* Gives the agent these tools, and its phases no others. */
void agent_allow_tools(struct agent *a, char *const *names);
/* A command of the file as argv: text is for the shell. Free the array alone. */
char **agent_command(json_t *command);
void agent_free(struct agent *a);

#endif
