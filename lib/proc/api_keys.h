/*
 * The API keys that AWF knows: those of the servers of models, and those in the keys file
 * (proc/environment.h). Every program removes them from its messages.
 */
#ifndef AWF_PROC_API_KEYS_H
#define AWF_PROC_API_KEYS_H

/* Adds the names of environment variables that hold keys, such as those of an endpoint that this process
 * asks; names may be NULL. */
void api_keys_add(char *const *names);
/* These, and those of all endpoints that come with AWF. Ends with NULL; valid until another is added. */
const char *const *api_keys_known(void);
/* Replaces the values of known keys, and of those in the keys file, in a text by stars. */
void api_keys_hide(char *text);

#endif
