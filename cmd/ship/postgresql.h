/*
 * A connection to PostgreSQL, of what takes transcripts there and of what reads them there.
 */
#ifndef AWF_SHIP_POSTGRESQL_H
#define AWF_SHIP_POSTGRESQL_H

#include <libpq-fe.h>

#include "base/error.h"

/* Connects, in UTF-8, by a name that the server shows. NULL with *err: ERROR_USAGE: no other try will
 * do. A URL may have a password: no message says anything of it. */
PGconn *postgresql_connect(const char *url, const char *program, struct error *err);
/* The first line of what the server has said, in memory of its own; of a result, if that is not
 * NULL and says something. */
char *postgresql_message(PGconn *db, const PGresult *result);

#endif
