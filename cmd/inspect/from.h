/*
 * awf-replay --from: a workflow run on the answers of a recording, whatever the
 * providers of its agents are. No model is asked.
 */
#ifndef AWF_INSPECT_FROM_H
#define AWF_INSPECT_FROM_H

#include "base/error.h"

/* From now on whatever this process starts gets the answers of its agents from the file.
 * ERROR_USAGE if it cannot be answered from. */
int from_answers(const char *file, struct error *err);
/* Becomes awf-run, the one beside this program, with these words as its arguments. -1 if
 * the file cannot be answered from, or awf-run cannot be run. */
int from_run(const char *file, char *const *words, struct error *err);

#endif
