/*
 * URLs of databases that awf-ship fills: sqlite:FILE, postgresql://HOST/DATABASE and others.
 */
#ifndef AWF_INGEST_DATABASE_URL_H
#define AWF_INGEST_DATABASE_URL_H

#include "base/buffer.h"
#include "base/error.h"

/* The path of the file that sqlite:FILE names, or runs.db in the storage for sqlite: alone;
 * allocated. NULL with *err. */
char *database_file(const char *url, struct error *err);
/* Appends the identity of a database: the absolute path of a file; the URL of a server without
 * its password, and for PostgreSQL the environment variables that supply what the URL leaves
 * out. */
int database_identity(const char *url, struct buffer *out, struct error *err);

#endif
