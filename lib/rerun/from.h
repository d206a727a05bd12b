/*
 * A workflow run on the answers of a recording, whatever the providers of its agents are; no
 * model is asked. `awf-replay --from` becomes awf-run; `awf-verify --determinism --from` runs
 * it beside itself, so that there is a run whose determinism can be checked.
 */
#ifndef AWF_RERUN_FROM_H
#define AWF_RERUN_FROM_H

#include "base/error.h"
#include "base/id.h"

/* Becomes awf-run, the one beside this program, with these words as its arguments. -1 if
 * the file cannot be answered from (ERROR_USAGE), or awf-run cannot be run. */
int from_run(const char *file, char *const *words, struct error *err);
/* Runs awf-run with these words (options, workflow, arguments), on the answers of the file,
 * and with a snapshot of the workspace, which the replays begin with. What the workflow
 * prints goes nowhere. 0: run_id is that of the run; -1: there is none, or it failed, which
 * is ERROR_DIVERGENCE: the answers are not those that it asks for. Dies of a signal that
 * ends it. */
int from_make_run(const char *file, char *const *words, char run_id[ID_SIZE], struct error *err);

#endif
