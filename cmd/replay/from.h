/*
 * awf-replay --from: runs a workflow with the answers of a recording instead of its agents'
 * providers; no model is asked.
 */
#ifndef AWF_REPLAY_FROM_H
#define AWF_REPLAY_FROM_H

#include "base/error.h"

/* Becomes awf-run, from the directory of this program, with these words as arguments. Returns -1 if
 * answers cannot be taken from the file (ERROR_USAGE), or awf-run cannot be executed. */
int from_run(const char *file, char *const *words, struct error *err);

#endif
