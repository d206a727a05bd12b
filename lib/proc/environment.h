/*
 * Environments of children: this process's, less the names of API keys, plus
 * what is set for the child; and what of it a sandboxed program may see.
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

/* Whether the first len bytes are the name of a shell's variable. */
bool environment_name_valid(const char *text, size_t len);

/* A copy of this process's environment. */
void environment_begin(struct environment *e);
void environment_copy(struct environment *e, const struct environment *from);
void environment_set(struct environment *e, const char *name, const char *value);
void environment_unset(struct environment *e, const char *name);
const char *environment_get(const struct environment *e, const char *name);
/* Takes out what is no sandboxed program's: variables whose name or value says that they
 * hold a secret, or the socket of an agent that does, unless passed (ends with NULL; may be
 * NULL) names them. What AWF itself sets stays. */
void environment_close_in(struct environment *e, char *const *passed);
/* Whether it is one of these. */
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
