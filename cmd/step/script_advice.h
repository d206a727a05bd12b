/*
 * Of a workflow file that a shell runs, where awf-run was meant: `sh flow.awf` makes a run of
 * each of its steps, which neither its record nor a resume knows as one.
 *
 * It is noticed by the command line of the parent, which is looked at only by a step that makes a
 * run of its own. The first step of a script says it; which script that was stands in the
 * storage, in one line of the file `advised`.
 */
#ifndef AWF_STEP_SCRIPT_ADVICE_H
#define AWF_STEP_SCRIPT_ADVICE_H

#include <stdbool.h>

#include "storage/storage.h"

/* The workflow file that this step's parent runs as a shell, in memory of its own; NULL: none. *first:
 * no other step of it has asked before. */
char *script_advice_of(const struct storage *s, bool *first);

#endif
