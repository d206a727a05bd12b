/*
 * What a user has settled for all runs: ~/.config/awf/config, lines of KEY = VALUE, with # before
 * what is none. What is said nearer to the work, by an option, a file or the environment, comes
 * before it.
 */
#ifndef AWF_IO_CONFIG_H
#define AWF_IO_CONFIG_H

#include "base/error.h"

#define CONFIG_FILE "config"

enum config_key {
	CONFIG_MODEL,  /* PROVIDER/MODEL, or an alias (formats/model_alias.h), where nobody names one */
	CONFIG_VIEW,   /* live, log or off: what is shown of runs that go on (view/screen.h) */
	CONFIG_SANDBOX, /* require or prefer: where the system lacks a part of it (isolate/sandbox.h) */
	CONFIG_PROJECT_SETTINGS, /* true or false: whether agent CLIs take settings of the project
	                            (proc/project_files.h) */
	CONFIG_TRUST,   /* digests of what definitions of projects may run (definitions/trust.h), with commas */
	CONFIG_PROJECT_KEYS /* names of keys that they may have, with commas */
};

/* *value becomes what is said for the key, in memory of its own, or NULL. -1: the file cannot be
 * read, or has a line that is no setting: ERROR_DEFINITION with FILE:LINE. */
int config_read(enum config_key key, char **value, struct error *err);
/* The same of a key that is one of the words, which end with NULL: *word is its place among them,
 * and stays as it is if nothing is said. *place: the file that says it, in memory of its own, or NULL;
 * place may be NULL. ERROR_DEFINITION for another word, too. */
int config_word(enum config_key key, const char *const *words, int *word, char **place,
    struct error *err);

#endif
