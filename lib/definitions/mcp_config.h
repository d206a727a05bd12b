/*
 * Definitions of MCP servers, awf-mcp(5): programs or URLs that offer tools to agents over the
 * Model Context Protocol. They are in a .mcp.json or in a file of an editor, in the form that other
 * programs use, or in the agent file itself:
 *
 *    {"mcpServers": {"files": {"command": "mcp-server-filesystem", "args": ["."]},
 *                    "issues": {"url": "https://example.com/mcp"}}}
 *
 * A definition is read and checked when the agent is loaded. The environment is read only when the
 * server is started, so that a replay, which starts no server, needs no variables. Keys of other
 * programs are ignored.
 */
#ifndef AWF_DEFINITIONS_MCP_CONFIG_H
#define AWF_DEFINITIONS_MCP_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "formats/definition.h"
#include "proc/environment.h"

struct mcp_definition {
	char *name;                /* A-Z a-z 0-9 - and single _; other characters become _ */
	char *place;               /* for messages: the file, and the server in it */
	char *file;                /* the file that contains it */
	struct buffer text;        /* the definition as JSON, for the digest of a
	                              step's definition */
	/* These members may contain ${NAME}, ${NAME:-DEFAULT} and the like. */
	char *command;             /* NULL: it has a URL */
	char **arguments;
	char **variables, **values;
	char *directory;           /* working directory; NULL: that of the step */
	char *url;                 /* NULL: it is a program that is started */
	bool sse;                  /* the server uses the transport of 2024-11-05 */
	char **headers, **header_values;

	char **only, **without;    /* tools that may be used, and tools that may not; NULL: all
	                              may */
	bool keep;                 /* one server for all steps of a run */
	int64_t timeout_ms;        /* for a call without a sign of progress; 0: that of the step */
	int64_t startup_timeout_ms; /* for the time until its tools are listed */
};

/* The key mcp_servers: names for mcp_definition_find(), or an object of definitions. */
struct mcp_key {
	char **names;              /* ends with NULL; NULL: no servers */
	struct mcp_definition *own; /* definitions in the object; NULL: they are elsewhere */
	char *place;               /* FILE:LINE */
};
/* A reader of a key (definition.h): the member at offset is a struct mcp_key. */
int mcp_key_read(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err);
void mcp_key_free(struct mcp_key *key);

/* Finds the definition of a server in the first of these files that has it: .mcp.json and
 * .vscode/mcp.json, here and in the workflow's directory (which may be NULL), and
 * ~/.config/awf/mcp.json. ERROR_DEFINITION lists the places. Call mcp_definition_free() whatever
 * the result. */
int mcp_definition_find(struct mcp_definition *m, const char *name,
    const char *workflow_directory, struct error *err);
/* A server's name as it is in the names of its tools, mcp__NAME__TOOL: characters that are not
 * allowed there become _, and several _ become one. To be freed by the caller. */
char *mcp_server_name(const char *name);
/* Whether a tool of the server may be used. */
bool mcp_definition_has(const struct mcp_definition *m, const char *tool);
/* Copies a definition. */
void mcp_definition_copy(struct mcp_definition *m, const struct mcp_definition *from);
void mcp_definition_free(struct mcp_definition *m);

/* Replaces the variables of a text. ${NAME} and ${env:NAME} are values of the environment, or else
 * of the keys file, or else the default. ${input:NAME} is the value of awf-run --input, or else the
 * variable NAME in capitals (defaults of inputs, which are elsewhere in the file, are already in
 * the text). ${workspaceFolder} and ${userHome} are directories, and so are ${CLAUDE_PLUGIN_ROOT},
 * that of the file (NULL: none), and ${CLAUDE_PROJECT_DIR}, unless the environment sets them. The
 * result is allocated; ERROR_DEFINITION at place names a variable without a value. Values that are
 * secrets are added to secrets, if that is not NULL. */
char *mcp_expand(const char *text, const char *file, const struct keys *keys, char ***secrets,
    const char *place, struct error *err);
/* The names of the variables, or keys, whose values a definition uses (base/list.h). */
char **mcp_taken_variables(const struct mcp_definition *m);

#endif
