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

/* Whether the file is a workflow: a regular file that ends in .awf or is executable, and is not
 * hidden. For callers that get its name from others, or list a directory; a shell would execute any
 * other file too, such as a README. */
bool workflow_file_is(const char *path);
/* Checks a workflow that is started for somebody who only names it (an outside agent, a hook, an
 * agent's tool). ERROR_BLOCKED if a sandboxed program may have written it, or a link to it, as it
 * runs without a sandbox. */
int workflow_file_check(const char *path, struct error *err);
/* Whether awf-run finds a workflow with this name: a file, or a program in PATH; otherwise *err is
 * ERROR_USAGE. The directory of awf-run is in PATH (installation_join_path()). */
bool workflow_file_found(const char *word, struct error *err);
/* Appends what the #! line of a file says to awf-run: its options; and sets the variables before
 * it (env -S). ERROR_DEFINITION: it says something that only a shell understands. */
int workflow_file_options(const char *path, char ***options, struct environment *environment,
    struct error *err);
/* This process's environment, less what belongs to a run around it, to the service manager, and
 * to workflows that somebody else was to be given inputs for. */
void workflow_file_environment(struct environment *e);

#endif
