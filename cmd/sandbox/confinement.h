/*
 * A command in its sandbox, from its start to the end of all that it started.
 */
#ifndef AWF_SANDBOX_CONFINEMENT_H
#define AWF_SANDBOX_CONFINEMENT_H

#include "base/error.h"
#include "sandbox/places.h"
#include "sandbox/settings.h"

/* Returns the command's wait status, as waitpid() gives it. -1: it was refused, or ended
 * for what it used up: ERROR_BLOCKED. */
int confinement_run(const struct settings *s, struct places *p, struct error *err);

#endif
