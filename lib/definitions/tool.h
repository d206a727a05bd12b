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

/* How the programs in AWF's own directory are called that are tools. */
#define TOOL_OWN_PREFIX "awf-tool-"

struct tool {
	char *name;
	char *path;                   /* of the .tool.json, of the file with several tools, or of
	                                 the program */
	char *description;            /* may be NULL */
	struct buffer input_schema;   /* minified JSON, the bytes that the model gets */
	struct schema *input;
	struct schema *output;        /* NULL: not checked */
	char **argv;                  /* of its command; ends with NULL */
	char *via;                    /* the launcher of its command, shell text; NULL: it runs here */
	bool missing;                 /* it has neither a command nor an executable */
	int64_t timeout_ms;           /* 0: none */
	int64_t max_result;           /* bytes of a result that a model is given; 0: not said */
	enum effects effects;
	bool idempotent;
	bool concurrent;
	bool starts_run;              /* each call of it starts a child run */
	char *changes;                /* the argument that names the file it changes; NULL */
	struct pins pins;             /* its file, and the files that it runs */
	bool own;                     /* it comes with AWF, and is identified by AWF's version */
	struct timespec loaded;
	struct sandbox sandbox;       /* what its file says; preset: it is one of AWF's own tools */
	char **environment;           /* names that it gets though they are keys; ends
	                                 with NULL */
	char sha256[65];              /* of its file and of the files beside it that it runs; AWF's
	                                 own programs are represented by name and version */
};

/* Where the builtin tool `read` finds results that were too long for the model (turn/result_cut.h),
 * and what their names begin with. */
#define TOOL_RESULTS "AWF_RESULTS"
#define TOOL_RESULT_NAME "awf-result-"
/* Tells a tool that starts runs when the step loaded it: SECONDS.NANOSECONDS. */
#define TOOL_LOADED "AWF_TOOL_LOADED"

/* A reader of a key (definition.h): names of tools, or mcp__SERVER__*; no name may occur twice. */
int tool_names_read(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
/* Finds the file of a tool; allocated. Tools that come with AWF are not searched for in the current
 * directory, where sandboxed programs write. Others: NAME.tool.json in $AWF_TOOL_PATH, ./tools,
 * workflow_directory/tools, the user's (~/.config/awf/tools) and the system's directory, and beside
 * AWF's own tools. ERROR_DEFINITION lists the places that were searched. */
char *tool_find(const char *name, const char *workflow_directory, struct error *err);
/* The directories that are searched for tools that do not come with AWF; a list (base/list.h). */
char **tool_directories(const char *workflow_directory);
/* Adds the names of the tools that a file of several has, each once. 0: it is no such file. -1: it is one from
 * which a step would take none. */
int tool_list_names(const char *path, char ***names, struct error *err);
/* Finds it and loads it. tool_load_form() loads one of which there may be no more than
 * its file. */
int tool_load(struct tool *t, const char *name, const char *workflow_directory,
    struct error *err);
int tool_load_form(struct tool *t, const char *name, const char *workflow_directory,
    struct error *err);
void tool_free(struct tool *t);

/* What a call lacks that the tool requires and has defaults for. Whether there was any:
 * then filled, which is empty before, is the whole input. */
bool tool_fill_input(const struct tool *t, struct span input, struct buffer *filled);
/* Checks arguments (JSON). -1: why says it in a line for the model. */
int tool_check_input(const struct tool *t, struct span input, struct buffer *why);
/* Converts the output of a tool to JSON: the value, if the tool has an output schema or the bytes
 * are one JSON object or array; otherwise a string, without one final LF. -1: it does not match
 * the schema. */
int tool_result(const struct tool *t, const char *bytes, size_t len, struct buffer *json,
    struct buffer *why);

#endif
