/* Runs a command in its sandbox, until all its processes have ended. */
#ifndef AWF_SANDBOX_RUN_H
#define AWF_SANDBOX_RUN_H

#include <stdbool.h>

#include "base/error.h"
#include "sandbox/settings.h"

/* Which parts the sandbox has, or would have. */
struct sandbox_parts {
	bool known;              /* false: it failed before this was determined */
	int landlock;            /* version; LANDLOCK_NONE: none */
	bool namespaces, seccomp;
};

/* Returns the command's wait status, as of waitpid(); 0 if nothing was to be run. -1
 * (ERROR_BLOCKED): it was refused, or ended because it exceeded a limit. left: gets the names of
 * the variables that the command does not see (base/list.h). */
int sandbox_run(const struct settings *s, struct sandbox_parts *parts, char ***left,
    struct error *err);

#endif
