/*
 * The user's configuration for all runs: ~/.config/awf/config, with lines KEY = VALUE and comments
 * that begin with #. Options, definition files and environment variables take precedence over it.
 */
#ifndef AWF_IO_CONFIG_H
#define AWF_IO_CONFIG_H

#include "base/error.h"

#define CONFIG_FILE "config"

enum config_key {
	CONFIG_MODEL,  /* PROVIDER/MODEL, or an alias (formats/model_alias.h), if nothing else
	                  names a model */
	CONFIG_VIEW,   /* live, log or off: how running runs are shown (view/screen.h) */
	CONFIG_SANDBOX, /* require or prefer: if the system lacks a part of the sandbox
	                   (isolate/sandbox.h) */
	CONFIG_PROJECT_SETTINGS, /* true or false: whether agent CLIs use settings of the project
	                            (proc/project_files.h) */
	CONFIG_TRUST,   /* digests of what project definitions may execute (definitions/trust.h),
	                   comma-separated */
	CONFIG_PROJECT_KEYS, /* names of keys that project definitions may use, comma-separated */
	CONFIG_NOTIFY,  /* a command that is told how runs end (cmd/run/notice.h) */
	CONFIG_NOTIFY_ON /* of which ends, comma-separated */
};

/* Sets *value to the value of the key, which the caller frees, or to NULL if it is not set. -1:
 * the file cannot be read, or has an invalid line: ERROR_DEFINITION with FILE:LINE. */
int config_read(enum config_key key, char **value, struct error *err);
/* The same for a key whose value must be one of words (ends with NULL): sets *word to its
 * index, or leaves it unchanged if the key is not set. Sets *place (place may be NULL) to the
 * file, which the caller frees, or to NULL. Any other value is ERROR_DEFINITION, too. */
int config_word(enum config_key key, const char *const *words, int *word, char **place,
    struct error *err);

#endif
