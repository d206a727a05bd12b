/*
 * Detects a workflow file that a shell runs instead of awf-run: with `sh flow.awf` each step
 * creates a run of its own, so there is no transcript of the whole, and it cannot be resumed.
 *
 * It is detected by the command line of the parent process, which only a step that creates a run
 * looks at. Only the first step of a script prints the advice; the last such script is stored in
 * the file `advised` of the storage.
 */
#ifndef AWF_STEP_SCRIPT_ADVICE_H
#define AWF_STEP_SCRIPT_ADVICE_H

#include <stdbool.h>

#include "storage/storage.h"

/* The workflow file that the parent of this step runs as a shell, allocated; NULL: none. *first: no
 * earlier step of it has asked. */
char *script_advice_of(const struct storage *s, bool *first);

#endif
