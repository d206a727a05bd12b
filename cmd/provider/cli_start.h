/*
 * What cli_process.c needs of cli_start.c: argv, environment and files of a run, which
 * last until cli_clear().
 */
#ifndef AWF_PROVIDER_CLI_START_H
#define AWF_PROVIDER_CLI_START_H

#include "cli.h"

/* The run may have failed then. cli_clear() is called either way. */
void cli_prepare(struct cli_run *r);
void cli_clear(struct cli_run *r);

#endif
