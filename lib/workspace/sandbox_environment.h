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

/* Whether a variable is in the list. */
bool sandbox_environment_lists(const char *name, size_t len);
/* Removes variables that the program must not see. run_directory: of the run whose workflow may
 * have set variables; NULL: none. passed: variables to keep, as names, or as beginnings followed by
 * a star; NULL-terminated; may be NULL. left: gets the names of removed variables (base/list.h);
 * may be NULL. -1: START_FILE of the run cannot be read; then only listed and passed variables are
 * kept. */
int sandbox_environment_close(struct environment *e, const char *run_directory,
    char *const *passed, char ***left, struct error *err);

/* Prints a hint for the user whose program failed without these variables: names the variables that
 * its stderr mentions (NULL: not known), else some of them, and says how to pass one. In a run
 * (run_directory, may be NULL) it is printed only once. False: it was printed before, there are no
 * such variables, or only_named is set and stderr mentions none. */
bool sandbox_environment_hint(char *const *left, const char *run_directory, const char *errors,
    size_t len, bool only_named, struct buffer *out);
/* The same for a program that was started with this environment and with the variables of two
 * lists. */
bool sandbox_environment_hint_of(const struct environment *e, char *const *passed,
    char *const *passed_too, const char *run_directory, const char *errors, size_t len, bool only_named,
    struct buffer *out);

#endif
