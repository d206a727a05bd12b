/*
 * The API keys that AWF knows: those of the providers and those in the keys file
 * (proc/environment.h), and the other environment variables that providers read. It is a separate
 * file because every program needs this part, to remove keys from its messages.
 */
#ifndef AWF_PROC_API_KEYS_H
#define AWF_PROC_API_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* The variables that a provider for an HTTP API reads, in addition to those that all providers
 * read. */
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
/* Replaces the values of keys in a text by stars. */
void api_keys_hide(char *text);

#endif
