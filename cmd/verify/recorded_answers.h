/*
 * awf-verify --determinism --from: runs a workflow with the answers of a recording, to get a run
 * whose determinism can be checked.
 */
#ifndef AWF_VERIFY_RECORDED_ANSWERS_H
#define AWF_VERIFY_RECORDED_ANSWERS_H

#include "base/error.h"
#include "base/id.h"

/* Runs awf-run with these words (options, workflow, arguments), with the recorded answers of the
 * file, and with a snapshot of the workspace as the start of the replays. The workflow's output
 * is discarded. Returns 0, and run_id is set; -1: there is no run, or it failed:
 * ERROR_DIVERGENCE means that the workflow asked for other answers. If a signal ends the run,
 * this process dies of it too. */
int recorded_answers_make_run(const char *file, char *const *words, char run_id[ID_SIZE],
    struct error *err);

#endif
