/*
 * A command in its sandbox, from its start to the end of all that it started.
 */
#ifndef AWF_SANDBOX_RUN_H
#define AWF_SANDBOX_RUN_H

#include <stdbool.h>

#include "base/error.h"
#include "sandbox/settings.h"

/* What it was made of, or would have been. */
struct sandbox_parts {
	bool known;              /* false: it came to nothing before that was looked at */
	int landlock;            /* its version; LANDLOCK_NONE */
	bool namespaces, seccomp;
};

/* Returns the command's wait status, as waitpid() gives it; 0 if nothing was to be run.
 * -1: it was refused, or ended for what it used up: ERROR_BLOCKED. left: the variables that the
 * command does not see are added (base/list.h). */
int sandbox_run(const struct settings *s, struct sandbox_parts *parts, char ***left,
    struct error *err);

#endif
