/*
 * A case: one input, once. In each variant the workflow is run with it, as a child run, or what such a run has printed is
 * read from its record (--report --check); and the checks read what came of it, each as a step or a run beside it. The
 * line of eval/results.h is printed.
 *
 * A workflow, or a check, that failed is a failed call of the evaluation's run, so that a resume makes it again,
 * and nothing else.
 */
#ifndef AWF_EVAL_CASE_H
#define AWF_EVAL_CASE_H

#include "base/error.h"
#include "eval/settings.h"
#include "schema/schema.h"
#include "storage/storage.h"

/* Reads a state line from stdin. STATUS_OK, STATUS_WAITING if a workflow or a check waits for somebody, or -1
 * with *err. */
int eval_case_run(const struct eval_settings *s, struct error *err);

/* Makes a directory for files with ids of child runs, in the directory of the run around, with which it goes if this
 * process is killed. To be freed; NULL: *err. */
char *eval_make_directory(const struct storage *storage, struct error *err);

/* The schema of --schema; NULL with *err. */
struct schema *eval_schema_load(const char *path, struct error *err);

#endif
