/*
 * A key that a command prints: a program that the user's endpoint file names, such as
 * `az account get-access-token` or `gcloud auth print-access-token`. It runs without a shell, in
 * the user's home directory, with nothing on stdin. What it has printed is kept in this process's
 * memory alone, and used until it has expired or a server has refused it; then the command runs
 * once more.
 *
 * It prints the key itself, as one line of at most 16 KiB, or a JSON object: {"token": …}, with
 * "expires_in" (seconds), or "expires_on" (seconds since 1970, or a date), or "Expiration" (a date).
 * These say when it runs again: a minute before. Without them it runs again after `refresh`.
 * What the programs of Azure, Google and Databricks print in JSON (accessToken, access_token,
 * expiry) is understood too.
 *
 * All errors are ERROR_AUTH and name the command, without its arguments. The program that calls
 * this ignores SIGPIPE.
 */
#ifndef AWF_API_KEY_COMMAND_H
#define AWF_API_KEY_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "json/scan.h"

#define KEY_COMMAND_OUTPUT_LIMIT ((size_t)16 << 10)

struct key_command;

/* command: an array of texts; key: the object whose "timeout" and "refresh" (seconds) hold for it. They are
 * copied. NULL with ERROR_DEFINITION. */
struct key_command *key_command_open(struct span command, struct span key, struct error *err);
void key_command_close(struct key_command *k); /* wipes what it has; NULL is nothing */

/* The key, which is valid until the next call for k. Runs the command if there is none that is
 * fresh. NULL: *err says why. */
const char *key_command_key(struct key_command *k, struct error *err);
/* The same for a command that prints an object with other members; SPAN_NONE: *err says why. */
struct span key_command_object(struct key_command *k, struct error *err);
/* A server has refused what it said: it runs again when it is asked for next. */
void key_command_refused(struct key_command *k);

#endif
