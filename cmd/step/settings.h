/*
 * The command line of awf-step: its options, read and checked.
 */
#ifndef AWF_STEP_SETTINGS_H
#define AWF_STEP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"
#include "step_call/step.h"
#include "storage/state.h"

struct settings {
	struct step step;
	const char *file;
	char **pass_keys;                      /* names; ends with NULL; NULL: none */
	char **opened;                         /* paths; ends with NULL; NULL: none */
	char **makers;                         /* paths of --complete; ends with NULL; NULL: none */
	char **pass_variables;                 /* variables passed into sandboxes, with the keys;
	                                          ends with NULL; NULL: none */
	char *usual_model;                     /* the default model, for a prompt without a model;
	                                          NULL: not needed, or none */
	enum input_form input;
	int64_t jobs, retries;                 /* retries -1: the default */
	uint64_t given;                        /* the options that were given: a bit for each */
	bool joined, by_name, allow_empty, complete, quiet, dry_run;
};

extern const char step_usage[];
extern const struct option_spec step_options[];

/* Reads the command line. 0: go on; otherwise one of OPTION_ASKS(), or -1 with *err. */
int settings_parse(struct settings *s, int argc, char **argv, struct error *err);
void settings_free(struct settings *s);

#endif
