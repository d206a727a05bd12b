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
/* Removes variables that the program must not see. run_directory: of the run whose workflow has set
 * variables; NULL: none. passed: variables to keep, names or beginnings with a star;
 * NULL-terminated; may be NULL. left: gets the names of removed variables (base/list.h); may be
 * NULL. -1: the run's start cannot be read; then only listed and passed variables remain. */
int sandbox_environment_close(struct environment *e, const char *run_directory,
    char *const *passed, char ***left, struct error *err);

/* A hint for a user whose program failed without these variables: names those mentioned in its
 * stderr (NULL: unknown), otherwise some, and says how to pass one. In a run (NULL: none) it is
 * printed once. False: it was printed before, there is nothing to say, or, with only_named, stderr
 * mentions none. */
bool sandbox_environment_hint(char *const *left, const char *run_directory, const char *errors,
    size_t len, bool only_named, struct buffer *out);
/* The same for a program that was started with this environment and the variables of two lists. */
bool sandbox_environment_hint_of(const struct environment *e, char *const *passed,
    char *const *passed_too, const char *run_directory, const char *errors, size_t len, bool only_named,
    struct buffer *out);

#endif
