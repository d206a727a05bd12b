/*
 * awf-replay --from: a workflow run on the answers of a recording, whatever the providers of its
 * agents are; no model is asked.
 */
#ifndef AWF_REPLAY_FROM_H
#define AWF_REPLAY_FROM_H

#include "base/error.h"

/* Becomes awf-run, the one beside this program, with these words as its arguments. -1 if
 * the file cannot be answered from (ERROR_USAGE), or awf-run cannot be run. */
int from_run(const char *file, char *const *words, struct error *err);

#endif
