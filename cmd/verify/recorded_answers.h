/*
 * awf-verify --determinism --from: a workflow is run on the answers of a recording, so that there is
 * a run whose determinism can be checked.
 */
#ifndef AWF_VERIFY_RECORDED_ANSWERS_H
#define AWF_VERIFY_RECORDED_ANSWERS_H

#include "base/error.h"
#include "base/id.h"

/* Runs awf-run with these words (options, workflow, arguments), on the answers of the file,
 * and with a snapshot of the workspace, which the replays begin with. What the workflow
 * prints goes nowhere. 0: run_id is that of the run; -1: there is none, or it failed, which
 * is ERROR_DIVERGENCE: the answers are not those that it asks for. Dies of a signal that
 * ends it. */
int recorded_answers_make_run(const char *file, char *const *words, char run_id[ID_SIZE],
    struct error *err);

#endif
