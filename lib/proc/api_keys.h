/*
 * The API keys that AWF handles: those of the providers, and what the file of keys has
 * (proc/environment.h), and what else providers read of the environment. On its own, as every
 * program that tells of an error needs no more of providers than this.
 */
#ifndef AWF_PROC_API_KEYS_H
#define AWF_PROC_API_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* The variables that a provider which asks a model API by HTTP reads, beside those that all of
 * them do. */
struct provider_variables {
	const char *provider;
	const char *key, *key_fallback; /* the latter may be NULL */
	const char *base;               /* the URL of another server than the API's own */
};
/* NULL: it is not one of these. */
const struct provider_variables *provider_variables(const char *provider);
/* Whether it, or one of its libraries, reads NAME=VALUE; *path: as that of a file. */
bool provider_reads(const struct provider_variables *v, const char *variable, bool *path);
/* Environment names that hold keys of the providers' table; ends with NULL. */
const char *const *provider_key_names(void);
/* Puts stars over the values of keys in a text. */
void api_keys_hide(char *text);

#endif
