/*
 * Starting workflow files from a program as if they were run by hand: awf-run gets the options in
 * their #! line.
 */
#ifndef AWF_WORKSPACE_WORKFLOW_FILE_H
#define AWF_WORKSPACE_WORKFLOW_FILE_H

#include <stdbool.h>

#include "base/error.h"
#include "proc/environment.h"
#include "storage/storage.h"

/* Whether the file is a workflow, for whoever takes its name from somebody else and for whoever lists
 * a directory of them: a regular file that ends in .awf or may be run, and is not hidden. Anything
 * else, a README beside them, would be run by a shell. */
bool workflow_file_is(const char *path);
/* Whether it is started for somebody who only names it (an outside agent, a hook, an agent's tool): not
 * if a sandboxed program may have written it, or a link to it, as it runs in no sandbox. ERROR_BLOCKED. */
int workflow_file_check(const char *path, struct error *err);
/* Whether awf-run finds a workflow of this name that it can run: a file, or a program in PATH; else
 * *err is ERROR_USAGE. Those of the programs beside awf-run are in PATH (installation_join_path()). */
bool workflow_file_found(const char *word, struct error *err);
/* Appends what the #! line of a file says to awf-run: its options; and sets the variables before
 * it (env -S). ERROR_DEFINITION: it says something that only a shell understands. */
int workflow_file_options(const char *path, char ***options, struct environment *environment,
    struct error *err);
/* This process's environment, less what belongs to a run around it, to the service manager, and
 * to workflows that somebody else was to be given inputs for. */
void workflow_file_environment(struct environment *e);

#endif
