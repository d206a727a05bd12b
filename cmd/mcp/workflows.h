/*
 * The workflows that may be started: files of one directory, which are known from the start on. One
 * that has changed since is not started any more, as whoever is led through it might have done
 * that.
 *
 * A file says in comments of its first lines what it is:
 *
 *     # awf: description: Reviews a change in three steps
 *     # awf: input: {"type": "object", "properties": {"change": {"type": "string"}}}
 *
 * With a description it is a tool of its own. Its input is checked by the schema, if there is one,
 * and is text else.
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
	char *name;              /* of the file */
	char *tool;              /* its name as a tool */
	char *path;              /* absolute */
	char *description;       /* NULL: it is no tool */
	char *input;             /* the schema, JSON; NULL */
	struct schema *schema;
	char sha256[DIGEST_SIZE];
};

struct workflows {
	char *directory;         /* absolute */
	struct workflow_entry *list;
	size_t count;
	char **too_large;        /* files that are none for that; a list */
};

/* Reads the directory: its files that end in .awf or may be run, up to 16 MiB each. ERROR_USAGE: it cannot be read, or
 * one of them says what cannot be. */
int workflows_load(struct workflows *w, const char *directory, struct error *err);
void workflows_free(struct workflows *w);
/* By its name, with .awf or without, or as a tool. NULL: there is none, and *err says what there
 * is. */
const struct workflow_entry *workflows_find(const struct workflows *w, const char *name,
    struct error *err);
/* The workflow of the directory that made a run, as the run's first line says: its script is that
 * file. NULL with *err, ERROR_BLOCKED: another program, a pipeline, or a file of another directory
 * made it, or it is recorded elsewhere. name: set to the name of the run, in memory of its own; may
 * be NULL. */
const struct workflow_entry *workflows_of_run(const struct workflows *w, const struct storage *s,
    const char *run_id, char **name, struct error *err);
/* Whether the file is as it was, and no sandboxed program may have written it; else ERROR_BLOCKED. */
int workflow_check(const struct workflow_entry *e, struct error *err);
/* Whether the input is one of it: 0, or -1 with *err. */
int workflow_check_input(const struct workflow_entry *e, struct span input, struct error *err);

#endif
