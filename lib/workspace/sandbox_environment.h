/*
 * The environment of a sandboxed program: the variables in a list (paths of programs and
 * libraries, languages, terminals, toolchains, certificates, AWF's own variables), and those that
 * the workflow of this run, or of an enclosing run, has set since it was started. Variables whose
 * name or value looks like a secret (proc/environment.h) are left out. Any other variable may be a
 * secret, and is only passed if it is named (--pass-env).
 */
#ifndef AWF_WORKSPACE_SANDBOX_ENVIRONMENT_H
#define AWF_WORKSPACE_SANDBOX_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/environment.h"

/* Whether the list has the name. */
bool sandbox_environment_lists(const char *name, size_t len);
/* Takes out of the environment what the program does not see. run_directory: of the run whose
 * workflow has set variables; NULL: none. passed: what is seen nevertheless, names or beginnings with
 * a star; ends with NULL; may be NULL. left: the names of what was taken out are added (base/list.h);
 * may be NULL. -1: the run's start cannot be read; only what is listed or passed is left then. */
int sandbox_environment_close(struct environment *e, const char *run_directory,
    char *const *passed, char ***left, struct error *err);

/* A line for who wonders why a program failed that has run without these variables: it names those
 * that its stderr names (NULL: not known), else some, and how to pass one. In a run (NULL: there is
 * none) it is told once. False: it was, there is nothing to tell, or, if only_named, the stderr names
 * none. */
bool sandbox_environment_hint(char *const *left, const char *run_directory, const char *errors,
    size_t len, bool only_named, struct buffer *out);
/* The same of a program that was started with the environment, and saw what two lists pass. */
bool sandbox_environment_hint_of(const struct environment *e, char *const *passed,
    char *const *passed_too, const char *run_directory, const char *errors, size_t len, bool only_named,
    struct buffer *out);

#endif
