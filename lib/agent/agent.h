/*
 * Agent files, awf-agent(5): Markdown with YAML front matter (libyaml) or JSON.
 * The body is the system prompt. Keys of later versions and of other programs
 * are kept, not refused; values of known keys are checked and errors name file
 * and line.
 */
#ifndef AWF_AGENT_AGENT_H
#define AWF_AGENT_AGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

enum tools_policy { TOOLS_BLOCK, TOOLS_WARN };

struct agent {
	char *path;            /* where it was found */
	char *name;            /* of the file's name if it says none */
	char *description;     /* may be NULL */
	char *provider;        /* may be NULL */
	char *model;           /* may be NULL */
	char *system;          /* the body, without white space at its ends */
	json_t *params;        /* object: max_tokens temperature top_p stop_sequences thinking */
	char **tools;          /* names; ends with NULL; may be empty */
	enum tools_policy tools_policy;
	int64_t max_turns;         /* 30; 0: no limit */
	int64_t max_tokens_total;  /* 0: no limit */
	int64_t timeout_ms;        /* 0: none */
	char *stop_tool;           /* stop_when {tool}: NULL if none */
	json_t *stop_command;      /* stop_when {command}: array of texts or text; NULL */
	json_t *document;          /* everything, unknown keys too */
	char sha256[65];           /* of the file's bytes */
};

/* Finds FILE: as it is if it has a slash or exists; then with and without .md in
 * ./agents, workflow_directory/agents, ~/.config/awf/agents and the system's.
 * ERROR_DEFINITION lists where was looked. */
char *agent_find(const char *file, const char *workflow_directory, struct error *err);
int agent_load(struct agent *a, const char *path, struct error *err);
/* An agent of a model and a prompt alone (-m without -a). */
void agent_plain(struct agent *a, const char *name);
/* "PROVIDER/MODEL" or "MODEL": sets model, and provider if PROVIDER is a known or
 * findable one (models of some servers have slashes themselves). */
int agent_set_model(struct agent *a, const char *text, struct error *err);
void agent_free(struct agent *a);

/* Prompts: {{data}}, {{data.x.y}}, {{data.list.0}}, {{inputs.k}}; a missing name
 * is ERROR_INVALID_INPUT naming it, {{data.x?}} may be missing; "\{{" is itself.
 * Strings go in as they are, other values as JSON. inputs: JSON object. */
int prompt_render(const char *prompt, struct span data, struct span inputs, const char *place,
    struct buffer *out, struct error *err);

/* YAML (libyaml) as JSON: core schema for plain scalars, merge keys and anchors
 * refused. first_line is the number of its first line in the file. */
json_t *yaml_parse(const char *bytes, size_t len, const char *path, int first_line,
    struct error *err);

#endif
