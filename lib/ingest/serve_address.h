/*
 * The address of an awf-serve, and the token for it, which stands in the file of keys
 * (proc/environment.h), in a line NAME=ORIGIN TOKEN, for those who ask one and those who send to it.
 */
#ifndef AWF_INGEST_SERVE_ADDRESS_H
#define AWF_INGEST_SERVE_ADDRESS_H

#include <stdbool.h>

#include "base/error.h"

/* Reads SCHEME://HOST[:PORT], where a URL begins. *origin has it in small letters, with the port, in
 * memory of its own; *loopback: it is this machine, to which no proxy leads. What stands behind it,
 * or NULL if it is none, and *origin is then, too. */
const char *serve_address_read(const char *text, char **origin, bool *loopback);
/* "Authorization: Bearer TOKEN" for that origin, in memory of its own; NULL: the file has none by
 * this name. base is for messages. ERROR_USAGE: the one for this host is for https alone;
 * ERROR_DEFINITION, ERROR_SYSTEM: of the file. */
int serve_address_token(const char *name, const char *origin, const char *base,
    char **authorization, struct error *err);

#endif
