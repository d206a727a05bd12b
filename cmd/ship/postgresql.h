/*
 * A connection to PostgreSQL, for programs that write transcripts to it and that read them from it.
 */
#ifndef AWF_SHIP_POSTGRESQL_H
#define AWF_SHIP_POSTGRESQL_H

#include <libpq-fe.h>

#include "base/error.h"

/* Connects, in UTF-8, by a name that the server shows. NULL with *err: ERROR_USAGE: no other try will
 * do. A URL may have a password: no message says anything of it. */
PGconn *postgresql_connect(const char *url, const char *program, struct error *err);
/* The first line of the server's message, to be freed by the caller; that of a result if it is not
 * NULL and has one. */
char *postgresql_message(PGconn *db, const PGresult *result);

#define AWF_POSTGRESQL_SCHEMA "awf 1" /* comment of runs_head: the version of tables and views */
/* 1 if the tables and views are there; 0; -1 with *err, ERROR_USAGE: they are another's. */
int postgresql_has_schema(PGconn *db, struct error *err);

#endif
