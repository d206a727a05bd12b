/*
 * Environments of child processes: this process's environment without API keys, plus variables set
 * for the child; and which variables contain secrets.
 */
#ifndef AWF_PROC_ENVIRONMENT_H
#define AWF_PROC_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct environment {
	char **list;    /* NAME=VALUE, ends with NULL; for process_spec */
	size_t count;
	size_t capacity;
};

/* Whether the first len bytes are a valid name of a shell variable. */
bool environment_name_valid(const char *text, size_t len);

/* Whether it is a valid pattern: a name, or the beginning of names followed by a star,
 * such as CI_*. */
bool environment_pattern_valid(const char *text);
bool environment_pattern_matches(const char *pattern, const char *name, size_t len);

/* A copy of this process's environment. */
void environment_begin(struct environment *e);
void environment_copy(struct environment *e, const struct environment *from);
void environment_set(struct environment *e, const char *name, const char *value);
void environment_unset(struct environment *e, const char *name);
const char *environment_get(const struct environment *e, const char *name);
/* Whether a variable contains a secret, or points to an agent that holds secrets, judging by
 * the words of its name or by its value. Inputs of a run (AWF_INPUT_) are judged only by their
 * values. */
bool environment_is_secret(const char *name, const char *value);
void environment_free(struct environment *e);

/* API keys: NAME=VALUE lines of ~/.config/awf/keys ($XDG_CONFIG_HOME). A file
 * that others may read is refused (ERROR_SYSTEM: "chmod 600"). A missing file is
 * an empty one. The value of a key is in the environment or in that file. */
struct keys {
	char **names;
	char **values;
	size_t count;
};
int keys_load(struct keys *k, struct error *err);
/* The environment's value, else the file's; NULL if neither has it. k may be NULL. */
const char *keys_value(const struct keys *k, const char *name);
/* Whether a variable of that name and value holds a secret: it is one of the file, or it is
 * called or looks like one. k may be NULL. */
bool keys_is_secret(const struct keys *k, const char *name, const char *value);
void keys_free(struct keys *k);

#endif
