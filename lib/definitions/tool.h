/*
 * Tools, awf-tool(5): NAME.tool.json beside an executable, an entry of a file with several tools,
 * or an executable that describes itself (NAME --schema); in AWF's format, or in that of model APIs
 * or MCP servers. Arguments are passed as JSON on stdin, the result is read from stdout; a non-zero
 * exit status is a failed call, with stderr as the error. Arguments and results are checked against
 * their schemas; a schema with a misspelt keyword is refused when it is loaded.
 */
#ifndef AWF_DEFINITIONS_TOOL_H
#define AWF_DEFINITIONS_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buffer.h"
#include "base/error.h"
#include "definitions/pins.h"
#include "isolate/sandbox.h"
#include "json/scan.h"
#include "limits/tool_name.h"
#include "schema/schema.h"
#include "transcript/effects.h"

struct definition;
struct definition_key;

/* Prefix of the names of those programs in AWF's own directory that are tools. */
#define TOOL_OWN_PREFIX "awf-tool-"

struct tool {
	char *name;
	char *path;                   /* path of the .tool.json, of the file with several tools, or
	                                 of the program */
	char *description;            /* may be NULL */
	struct buffer input_schema;   /* minified JSON, as the model gets it */
	struct schema *input;
	struct schema *output;        /* NULL: not checked */
	char **argv;                  /* of its command; ends with NULL */
	char *via;                    /* launcher of its command, text for the shell; NULL: it runs
	                                 here */
	bool missing;                 /* it has neither a command nor an executable */
	int64_t timeout_ms;           /* 0: none */
	int64_t max_result;           /* most bytes of a result that a model gets; 0: not set */
	enum effects effects;
	bool idempotent;
	bool concurrent;
	bool starts_run;              /* each call starts a child run */
	char *changes;                /* name of the argument that says which file is changed;
	                                 NULL */
	struct pins pins;             /* its file, and the files that its command runs */
	bool own;                     /* AWF itself has it; it is identified by AWF's version */
	struct timespec loaded;
	struct sandbox sandbox;       /* sandbox settings of its file; preset: the defaults of AWF's
	                                 own tools */
	char **environment;           /* variables that are passed although they contain keys; ends
	                                 with NULL */
	char sha256[65];              /* digest of its file and of the files in the same directory
	                                 that it runs; AWF's own programs are represented by name
	                                 and version */
};

/* Variable with the directory in which the builtin tool `read` finds results that were too long for
 * the model (turn/result_cut.h); and the beginning of their names. */
#define TOOL_RESULTS "AWF_RESULTS"
/* Set for AWF's bash tool, which keeps its output until its end, if others may see what it prints: it then
 * prints the end of what came to its stderr, too, between two NUL bytes (proc/subprocess.h, framed). */
#define TOOL_SHOWS "AWF_TOOL_SHOWS"
#define TOOL_RESULT_NAME "awf-result-"
/* Variable that tells a tool that starts runs when the step has loaded it: SECONDS.NANOSECONDS. */
#define TOOL_LOADED "AWF_TOOL_LOADED"

/* A reader of a key (definition.h): names of tools, or mcp__SERVER__*; no name may occur twice. */
int tool_names_read(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
/* Finds the file of a tool; to be freed by the caller. Tools that come with AWF are not searched
 * for in the current directory, where sandboxed programs write. Others: NAME.tool.json in
 * $AWF_TOOL_PATH, ./tools, workflow_directory/tools, the user's (~/.config/awf/tools) and the
 * system's directory, and beside AWF's own tools. ERROR_DEFINITION lists the places that were
 * searched. */
char *tool_find(const char *name, const char *workflow_directory, struct error *err);
/* The directories that are searched for tools that do not come with AWF; a list (base/list.h). */
char **tool_directories(const char *workflow_directory);
/* Adds the names of the tools in a file with several, each once. 0: it is no such file; -1: a step
 * would refuse it. */
int tool_list_names(const char *path, char ***names, struct error *err);
/* Finds a tool and loads it. tool_load_form() loads a tool that may consist only of its file,
 * without a program. */
int tool_load(struct tool *t, const char *name, const char *workflow_directory,
    struct error *err);
int tool_load_form(struct tool *t, const char *name, const char *workflow_directory,
    struct error *err);
void tool_free(struct tool *t);

/* Adds default values that the tool requires and the input lacks. Whether there are any; then
 * filled, which must be empty, is the complete input. */
bool tool_fill_input(const struct tool *t, struct span input, struct buffer *filled);
/* Checks arguments (JSON) against the schema. -1: why gets a line for the model. */
int tool_check_input(const struct tool *t, struct span input, struct buffer *why);
/* Converts the output of a tool to JSON: the value, if the tool has an output schema or the bytes
 * are one JSON object or array; otherwise a string, without one final LF. -1: it does not match
 * the schema. */
int tool_result(const struct tool *t, const char *bytes, size_t len, struct buffer *json,
    struct buffer *why);

#endif
