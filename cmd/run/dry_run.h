/*
 * awf-run --dry-run: what the steps of a workflow would ask or run. The workflow itself runs, with
 * no run around it: its steps find the name of a file in the environment (DRY_RUN_FILE), add to it
 * what they would do, a line of JSON for each item (awf-step --dry-run), and give a text in place
 * of what that would come to. Nothing is recorded. What the workflow runs beside steps does run.
 * A workflow that it starts with awf-run adds to the same file.
 */
#ifndef AWF_RUN_DRY_RUN_H
#define AWF_RUN_DRY_RUN_H

#include "run/settings.h"

/* Prints the lines on stdout in the order of their times. The workflow's exit status, or that of
 * what hindered it, which was said. */
int dry_run(const struct settings *s);

#endif
