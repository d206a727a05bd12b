/*
 * Starts workflow files from a program as if a user had started them: awf-run gets the options in
 * their #! line.
 */
#ifndef AWF_WORKSPACE_WORKFLOW_FILE_H
#define AWF_WORKSPACE_WORKFLOW_FILE_H

#include <stdbool.h>

#include "base/error.h"
#include "proc/environment.h"
#include "storage/storage.h"

/* Whether a file is a workflow: a regular file that ends in .awf or is executable, and is not
 * hidden. For callers that list a directory, or get the name from somebody else: a shell would
 * execute any other file, too, such as a README. */
bool workflow_file_is(const char *path);
/* Checks a workflow that is started for somebody who only names it (an outside agent, a hook, an
 * agent's tool). ERROR_BLOCKED if a sandboxed program may have written the file, or a link to it: a
 * workflow runs without a sandbox. */
int workflow_file_check(const char *path, struct error *err);
/* Whether awf-run would find a workflow with this name: as a file, or as a program in PATH;
 * otherwise *err is ERROR_USAGE. The directory of awf-run must be in PATH
 * (installation_join_path()). */
bool workflow_file_found(const char *word, struct error *err);
/* Appends the options for awf-run in the #! line of a file, and sets the variables before them (env
 * -S). ERROR_DEFINITION if the line contains something that only a shell understands. */
int workflow_file_options(const char *path, char ***options, struct environment *environment,
    struct error *err);
/* Copies this process's environment without the variables of an outer run and of the service
 * manager, and without AWF_INPUT_ variables, which are meant for other workflows. */
void workflow_file_environment(struct environment *e);

#endif
