/*
 * The API keys that AWF knows: those of the servers of models and those in the keys file
 * (proc/environment.h), and the other environment variables that providers read. It is a separate
 * file because every program needs this part, to remove keys from its messages.
 */
#ifndef AWF_PROC_API_KEYS_H
#define AWF_PROC_API_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a provider's program for an HTTP API, or one of its libraries, reads NAME=VALUE; *path: as
 * that of a file. own: the variables of its endpoint (providers/endpoint.h), which ends with NULL;
 * NULL: none. commands: it runs one for its key, which reads what it needs. */
bool provider_reads(char *const *own, bool commands, const char *variable, bool *path);
/* Whether a command that prints a key is given NAME=VALUE (key.command of awf-endpoint(5)). */
bool key_command_reads(const char *variable);
/* Environment names that hold keys of models' servers: of all endpoints that come with AWF, of those
 * that the user's files define, and those added. Ends with NULL; valid until another is added. */
const char *const *provider_key_names(void);
/* Adds the names of an endpoint that this process asks. */
void provider_key_names_add(char *const *names);
/* Replaces the values of keys in a text by stars. */
void api_keys_hide(char *text);

#endif
