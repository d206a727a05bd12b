/*
 * The environment variables of providers, and of the commands that print their keys: which of them a
 * provider's process reads, and which hold keys that other programs are not given.
 */
#ifndef AWF_PROC_PROVIDER_VARIABLES_H
#define AWF_PROC_PROVIDER_VARIABLES_H

#include <stdbool.h>

/* Whether a provider's program for an HTTP API, or one of its libraries, reads NAME=VALUE; *path: as
 * that of a file. own: the variables of its endpoint (providers/endpoint.h), which ends with NULL;
 * NULL: none. commands: it runs one for its key, which reads what it needs. */
bool provider_reads(char *const *own, bool commands, const char *variable, bool *path);
/* Whether a command that prints a key is given NAME=VALUE (key.command of awf-endpoint(5)). */
bool key_command_reads(const char *variable);
/* Environment names that hold keys of models' servers: api_keys_known() after those that the files of
 * the user's endpoints name have been added, at the first call. Valid until another is added. */
const char *const *provider_key_names(void);

#endif
