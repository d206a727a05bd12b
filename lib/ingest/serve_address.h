/*
 * The address of an awf-serve, and the token for it from the file of keys (proc/environment.h), in
 * a line NAME=ORIGIN TOKEN, for programs that query a server and those that send to it.
 */
#ifndef AWF_INGEST_SERVE_ADDRESS_H
#define AWF_INGEST_SERVE_ADDRESS_H

#include <stdbool.h>

#include "base/error.h"

/* Reads SCHEME://HOST[:PORT] at the beginning of a URL. *origin gets it in lower case with the
 * port, allocated; *loopback: it is this machine, which no proxy reaches. Returns the rest of
 * the text, or NULL if it is invalid; then *origin is NULL too. */
const char *serve_address_read(const char *text, char **origin, bool *loopback);
/* "Authorization: Bearer TOKEN" for that origin, allocated; NULL: the file has none with this
 * name. base is for messages. ERROR_USAGE: the token for this host is for https only;
 * ERROR_DEFINITION, ERROR_SYSTEM: about the file. */
int serve_address_token(const char *name, const char *origin, const char *base,
    char **authorization, struct error *err);

#endif
