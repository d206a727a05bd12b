/*
 * A key that a command prints: a program named in the user's endpoint file, such as `az account
 * get-access-token` or `gcloud auth print-access-token`. It runs without a shell, in the user's
 * home directory, with nothing on stdin. Its output is kept only in this process's memory, and used
 * until it expires or a server rejects it; then the command runs again.
 *
 * It prints the key itself, as one line of at most 16 KiB, or a JSON object: {"token": …}, with
 * "expires_in" (seconds), "expires_on" (seconds since 1970, or a date) or "Expiration" (a date). It
 * runs again a minute before that time or, if there is none, after `refresh`. The JSON of the
 * programs of Azure, Google and Databricks (accessToken, access_token, expiry) is understood too.
 *
 * All errors are ERROR_AUTH and name the command, without its arguments. The calling program must
 * ignore SIGPIPE.
 */
#ifndef AWF_API_KEY_COMMAND_H
#define AWF_API_KEY_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "json/scan.h"
#include "proc/subprocess.h"

#define KEY_COMMAND_OUTPUT_LIMIT ((size_t)16 << 10)

struct key_command;

/* command: an array of strings; key: the object that contains "timeout" and "refresh" (seconds).
 * They are copied. NULL with ERROR_DEFINITION. */
struct key_command *key_command_open(struct span command, struct span key, struct error *err);
void key_command_close(struct key_command *k); /* wipes the key; k may be NULL */

/* The key, valid until the next call for k. Runs the command if there is no valid key, and waits for its
 * end. NULL: *err is the reason. */
const char *key_command_key(struct key_command *k, struct error *err);
/* The same for a command that prints an object with other members; SPAN_NONE: *err is the
 * reason. */
struct span key_command_object(struct key_command *k, struct error *err);
/* How often the command has printed a key, which tells one key from the next. */
unsigned key_command_runs(const struct key_command *k);
/* A server has rejected the key of this run: unless there is a newer one, the command runs again when
 * a key is needed. So it runs once, however many requests with the old key are rejected. */
void key_command_refused(struct key_command *k, unsigned run);

/* The command beside other work. Who finds no key ready waits until key_command_serve() says that the
 * command has ended, and then asks for the key, or why there is none. */

/* Whether key_command_key() will not wait. If it would, the command is started, unless it runs. */
bool key_command_ready(struct key_command *k);
#define KEY_COMMAND_FDS SUBPROCESS_FDS
/* What to poll, as subprocess_poll(). False: it does not run. */
bool key_command_poll(struct key_command *k, struct pollfd fds[KEY_COMMAND_FDS], int64_t *deadline);
/* True: it has ended. What it printed holds until key_command_settle(), also if it has expired, for those
 * who have waited. */
bool key_command_serve(struct key_command *k, const struct pollfd fds[KEY_COMMAND_FDS]);
void key_command_settle(struct key_command *k);

#endif
