/* An SQLite database, for programs that write transcripts to it and that read them from it. */
#ifndef AWF_SHIP_SQLITE_H
#define AWF_SHIP_SQLITE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

#define AWF_SQLITE_SCHEMA 1 /* PRAGMA user_version: the version of the tables and views */

struct sqlite {
	char *path;             /* owned by the user of the struct */
	sqlite3 *db;            /* NULL: it is not open */
	struct stat file;       /* as it was opened */
};

/* Opens the file at path, with flags of sqlite3_open_v2(), and waits for others who write so long.
 * SQLITE_OPEN_CREATE: makes it, for its user alone. ERROR_SYSTEM; sqlite3_close() is called either
 * way. */
int sqlite_open(struct sqlite *s, int flags, int busy_ms, struct error *err);
/* Whether the file of that name is another than the one that is open, or none. */
bool sqlite_is_replaced(const struct sqlite *s);
/* Sets err to the error of the last call; ERROR_INVALID_INPUT if it is caused by the data to be
 * written. Returns -1. */
int sqlite_fail(const struct sqlite *s, struct error *err);
/* A statement that is ready to be bound, kept in *made from its first use on; NULL with *err. */
sqlite3_stmt *sqlite_statement(const struct sqlite *s, const char *sql, sqlite3_stmt **made,
    struct error *err);
/* The number that one returns; -1 with *err. */
int64_t sqlite_number(const struct sqlite *s, const char *sql, sqlite3_stmt **made, struct error *err);
/* 1 if the tables and views are there; 0; -1 with *err, ERROR_USAGE: they are of a later version, or
 * another's. made is as of sqlite_statement(). */
int sqlite_has_schema(const struct sqlite *s, sqlite3_stmt **made, struct error *err);

#endif
