/*
 * Which providers there are, where they lie, and what their processes find.
 */
#ifndef AWF_PROVIDERS_PROVIDER_FIND_H
#define AWF_PROVIDERS_PROVIDER_FIND_H

#include <stdbool.h>

#include "base/error.h"
#include "proc/environment.h"
#include "providers/endpoint.h"

struct keys;

/* Names of providers that come with AWF, ends with NULL. */
const char *const *provider_names(void);
/* Whether it is one of them that runs an agent CLI: a program with tools and a choice of
 * models of its own, whose turn may do anything. */
bool provider_is_cli(const char *name);
/* Whether one tells of its tools only when they have ended, so that nobody knows what ran when
 * it was cut off. */
bool provider_tells_late(const char *name);
/* Whether one cannot change anything with these tools, which end with NULL: there are some,
 * and all of them read. */
bool provider_only_reads(const char *name, char *const *tools);
/* The executable awf-provider-NAME in $AWF_PROVIDER_PATH, the libexec directory
 * beside this program, $PATH; else that which speaks to the endpoint of this name
 * (providers/endpoint.h). ERROR_DEFINITION with a suggestion; ERROR_SYSTEM. */
char *provider_find(const char *name, struct error *err);
/* The endpoint that a name stands for, where it is that of no other program: those for HTTP APIs that
 * come with AWF have one each. 1; 0: there is none; -1: ERROR_DEFINITION, ERROR_SYSTEM. */
int provider_endpoint(const char *name, struct endpoint **e, struct error *err);

/* The names of all programs that are found so: first those that come with AWF, whether they are there
 * or not. A list (base/list.h). */
char **provider_list(void);
/* These, and the names of endpoints. */
char **provider_list_all(void);
/* What a provider's process finds: this environment, and the keys of the keys file that are
 * not in it; keys may be NULL. */
void provider_environment(const struct keys *keys, struct environment *e);
/* Puts those keys into an environment. Inside of a command with --models what is asked is recorded
 * here, and passes there: of a token that it was given only what passes is taken. */
void provider_environment_add(const struct keys *keys, struct environment *e);

/* Whether there is such a provider: those that come with AWF need not be looked for until
 * they are started. ERROR_DEFINITION. */
int provider_check(const char *name, struct error *err);
/* Likewise of one that a definition file names, which may never be asked: in a replay it is
 * there, unless the recording says that it was not. */
int provider_check_named(const char *name, struct error *err);

#endif
