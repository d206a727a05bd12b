/*
 * awf-run --dry-run: prints what the steps of a workflow would ask or run. The workflow is executed
 * without a run: its steps append what they would do to the file DRY_RUN_FILE, one JSON line for
 * each item (awf-step --dry-run), and output a placeholder as their result. Nothing is recorded.
 * Commands of the workflow that are not steps are executed. A workflow that it starts with awf-run
 * appends to the same file.
 */
#ifndef AWF_RUN_DRY_RUN_H
#define AWF_RUN_DRY_RUN_H

#include "run/settings.h"

/* Prints the lines on stdout, ordered by time. Returns the workflow's exit status, or that of an
 * error, which was printed. */
int dry_run(const struct settings *s);

#endif
