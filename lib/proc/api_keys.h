/*
 * The API keys that AWF handles: those of the providers, and what the file of keys has
 * (proc/environment.h). On its own, as every program that tells of an error needs no more of
 * providers than this.
 */
#ifndef AWF_PROC_API_KEYS_H
#define AWF_PROC_API_KEYS_H

/* Environment names that hold keys of the providers' table; ends with NULL. */
const char *const *provider_key_names(void);
/* Puts stars over the values of keys in a text. */
void api_keys_hide(char *text);

#endif
