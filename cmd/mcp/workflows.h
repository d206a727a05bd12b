/*
 * The workflows that may be started: the files of one directory, as they were when the program
 * started. A file that has changed since is not started any more, because the agent may have
 * changed it.
 *
 * A file describes its workflow in comments in its first lines:
 *
 *    # awf: description: Reviews a change in three steps
 *    # awf: input: {"type": "object", "properties": {"change": {"type": "string"}}}
 *
 * A workflow with a description is a tool of its own. Its input is checked by the schema if there
 * is one; otherwise it is text.
 */
#ifndef AWF_MCP_WORKFLOWS_H
#define AWF_MCP_WORKFLOWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"
#include "schema/schema.h"
#include "storage/storage.h"

struct workflow_entry {
	char *name;              /* name of the file */
	char *tool;              /* its name as a tool */
	char *path;              /* path of the file, absolute */
	char *description;       /* NULL: it is not a tool of its own */
	char *input;             /* schema of its input, JSON; NULL: a text */
	struct schema *schema;
	char sha256[DIGEST_SIZE];
};

struct workflows {
	char *directory;         /* absolute */
	struct workflow_entry *list;
	size_t count;
	char **too_large;        /* files that are ignored because of their size; a list */
};

/* Reads the directory: its files that end in .awf or are executable, up to 16 MiB each. -1 with
 * *err: the directory cannot be read (ERROR_USAGE), a file cannot be read, or it declares an
 * invalid schema. */
int workflows_load(struct workflows *w, const char *directory, struct error *err);
void workflows_free(struct workflows *w);
/* Finds a workflow by its name, with or without .awf, or by the name of its tool. NULL with *err,
 * which suggests a similar name, or lists all: there is none. */
const struct workflow_entry *workflows_find(const struct workflows *w, const char *name,
    struct error *err);
/* Finds the workflow of the directory that a run executes: according to the run's first line, its
 * script is that file. NULL with *err, ERROR_BLOCKED: it executes another program, a pipeline, or a
 * file of another directory, or is recorded elsewhere. name: set to the name of the run, in memory
 * of its own; may be NULL. */
const struct workflow_entry *workflows_of_run(const struct workflows *w, const struct storage *s,
    const char *run_id, char **name, struct error *err);
/* Checks that the file has not changed, and that no sandboxed program may have written it; else
 * ERROR_BLOCKED. */
int workflow_check(const struct workflow_entry *e, struct error *err);
/* Checks an input against the workflow's schema: 0, or -1 with *err. */
int workflow_check_input(const struct workflow_entry *e, struct span input, struct error *err);

#endif
