/*
 * Messages of libpq quote what it does not understand, which may be a part of a password. For that
 * reason messages from before it has tried to reach a server are not shown.
 */
#include "ship/postgresql.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define ANSWER "30"        /* seconds to reach a server; text, as libpq takes it */
#define ANSWER_AGAIN "2"
#define UNREAD_MS "60000"  /* until a server that acknowledges nothing counts as lost */

char *
postgresql_message(PGconn *db, const PGresult *result)
{
	char *message = memory_text(result != NULL && *PQresultErrorMessage(result) != '\0' ?
	    PQresultErrorMessage(result) : PQerrorMessage(db));

	message[strcspn(message, "\n")] = '\0';
	return message;
}

/* Whether a value is a number, or a list of numbers, as demanded: libpq checks that when it
 * connects, and quotes the value. */
static bool
is_number(const PQconninfoOption *option)
{
	static const char *const numbers[] = { "port", "connect_timeout", "tcp_user_timeout", "keepalives",
		"keepalives_idle", "keepalives_interval", "keepalives_count" };

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (strcmp(option->keyword, numbers[i]) == 0)
			return option->val == NULL ||
			    option->val[strspn(option->val, "-0123456789, ")] == '\0';
	return true;
}

/* Whether a URL has the form of one. */
static bool
is_url(const char *url)
{
	char *message = NULL;
	PQconninfoOption *options = PQconninfoParse(url, &message);
	bool is = options != NULL;

	for (const PQconninfoOption *o = options; is && o->keyword != NULL; o++)
		is = is_number(o);
	PQfreemem(message);
	PQconninfoFree(options);
	return is;
}

PGconn *
postgresql_connect(const char *url, const char *program, struct error *err)
{
	static const char *const names[] = { "dbname", "connect_timeout", "tcp_user_timeout",
		"fallback_application_name", "client_encoding", NULL };
	const char *const values[] = { url, ANSWER, UNREAD_MS, program, "UTF8", NULL };
	const char *const again[] = { url, ANSWER_AGAIN, UNREAD_MS, program, "UTF8", NULL };
	bool understood = is_url(url);
	PGconn *db = understood ? PQconnectdbParams(names, values, 1) : NULL;
	char *message;

	if (db != NULL && PQstatus(db) == CONNECTION_OK)
		return db;
	/* For example a port that is not a number: no server was tried. */
	if (understood)
		understood = PQpingParams(names, again, 1) != PQPING_NO_ATTEMPT;
	if (understood) {
		message = postgresql_message(db, NULL);
		error_set(err, ERROR_SYSTEM, NULL, "%s", message);
		free(message);
	} else {
		error_set(err, ERROR_USAGE, NULL, "the URL of the database cannot be understood, or one of "
		    "the variables PG*: see awf-ship(1) (a %%, / or @ in a password is written %%25, %%2F or %%40)");
	}
	PQfinish(db);
	return NULL;
}

/* to_regclass() cannot be used: a session remembers that it has found no table, and if a
 * statement uses nothing else in the same transaction, it does not notice that there is one now. */
int
postgresql_has_schema(PGconn *db, struct error *err)
{
	PGresult *result = PQexec(db, "SELECT coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class "
	    "WHERE relname = 'runs_head' AND pg_table_is_visible(oid)");
	char *message;
	int has;

	if (PQresultStatus(result) == PGRES_TUPLES_OK) {
		has = PQntuples(result) > 0;
		if (has && strcmp(PQgetvalue(result, 0, 0), AWF_POSTGRESQL_SCHEMA) != 0)
			has = error_set(err, ERROR_USAGE, PQdb(db), "has a table runs_head that was made by a "
			    "later version of AWF, or by another program");
	} else {
		message = postgresql_message(db, result);
		has = error_set(err, ERROR_SYSTEM, PQstatus(db) == CONNECTION_OK ? PQdb(db) : NULL, "%s",
		    message);
		free(message);
	}
	PQclear(result);
	return has;
}
