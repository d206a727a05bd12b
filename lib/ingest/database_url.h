/*
 * URLs of databases that awf-ship fills: sqlite:FILE, postgresql://HOST/DATABASE and others.
 */
#ifndef AWF_INGEST_DATABASE_URL_H
#define AWF_INGEST_DATABASE_URL_H

#include "base/buffer.h"
#include "base/error.h"

/* The path of the file that sqlite:FILE names, or runs.db in the storage for sqlite: alone; in
 * memory of its own. NULL with *err. */
char *database_file(const char *url, struct error *err);
/* Appends what tells it from other databases: a file by its whole path; a URL of a server without
 * its password, and for PostgreSQL the variables of the environment that say what it does not. */
int database_identity(const char *url, struct buffer *out, struct error *err);

#endif
