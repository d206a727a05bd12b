/*
 * What a user has settled for all runs: ~/.config/awf/config, lines of KEY = VALUE, with # before
 * what is none. What is said nearer to the work, by an option, a file or the environment, comes
 * before it.
 */
#ifndef AWF_BASE_CONFIG_H
#define AWF_BASE_CONFIG_H

#include "base/error.h"

#define CONFIG_FILE "config"

enum config_key {
	CONFIG_MODEL,  /* PROVIDER/MODEL, or an alias (agent/model_alias.h), where nobody names one */
	CONFIG_VIEW,   /* live, log or off: what is shown of runs that go on (run/screen.h) */
	CONFIG_SANDBOX /* require or prefer: where the system lacks a part of it (isolate/sandbox.h) */
};

/* *value becomes what is said for the key, in memory of its own, or NULL. -1: the file cannot be
 * read, or has a line that is no setting: ERROR_DEFINITION with FILE:LINE. */
int config_read(enum config_key key, char **value, struct error *err);

#endif
