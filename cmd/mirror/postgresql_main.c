/*
 * awf-mirror-postgresql: reads what awf-ship wrote to a PostgreSQL database,
 * awf-ship(7), awf-sql(7).
 *
 * What the code relies on:
 *   - One connection listens for notifications, reports runs and reads blobs; another reads lines
 *     row by row, so that of a long run only one line is in memory.
 *   - It listens before it lists, so that a change in between is reported twice rather
 *     than not at all.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/id.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "json/scan.h"
#include "mirror/protocol.h"
#include "mirror/source.h"
#include "ship/postgresql.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define PROGRAM "awf-mirror-postgresql"
#define NOTIFIED_MOST 200   /* notified runs that are queried by id */
#define HEADS "SELECT run_id, seq, digest, origin, pruned_through, " \
	"(extract(epoch FROM clock_timestamp() - last_seen) * 1000)::bigint FROM runs_head "

struct database {
	char *url;
	PGconn *db;
	PGconn *lines;          /* NULL: not connected */
};

/* The server's message as one line; frees the result. */
static int
postgresql_set_error(PGconn *db, PGresult *result, struct error *err)
{
	char *message = postgresql_message(db, result);

	error_set(err, ERROR_SYSTEM, PQstatus(db) == CONNECTION_OK ? PQdb(db) : NULL, "%s", message);
	free(message);
	PQclear(result);
	return -1;
}

/* Returns rows, with bytes in binary; NULL with *err. */
static PGresult *
postgresql_query_rows(struct database *d, const char *sql, int count, const char *const *values,
    int binary, struct error *err)
{
	PGresult *result = PQexecParams(d->db, sql, count, NULL, values, NULL, NULL, binary);

	if (PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK)
		return result;
	postgresql_set_error(d->db, result, err);
	return NULL;
}

static int
open_database(void *context, const char *url, struct error *err)
{
	struct database *d = context;
	PGresult *result;

	d->url = memory_text(url);
	d->db = postgresql_connect(url, PROGRAM, err);
	result = d->db != NULL ? postgresql_query_rows(d, "LISTEN agent_runs", 0, NULL, 0, err) :
	    NULL;
	PQclear(result);
	return result != NULL ? 0 : -1;
}

static int
has_tables(void *context, struct error *err)
{
	const struct database *d = context;

	return postgresql_has_schema(d->db, err);
}

static int
postgresql_send_runs(PGresult *result)
{
	if (result == NULL)
		return -1;
	for (int i = 0; i < PQntuples(result); i++) {
		const struct source_run run = { .run_id = PQgetvalue(result, i, 0),
			.seq = strtoll(PQgetvalue(result, i, 1), NULL, 10), .digest = PQgetvalue(result, i, 2),
			.origin = PQgetvalue(result, i, 3),
			.pruned = strtoll(PQgetvalue(result, i, 4), NULL, 10),
			.idle_ms = strtoll(PQgetvalue(result, i, 5), NULL, 10) };

		source_run(&run);
	}
	PQclear(result);
	return 0;
}

static int
postgresql_list_runs(void *context, struct error *err)
{
	return postgresql_send_runs(postgresql_query_rows(context, HEADS "ORDER BY last_seen DESC",
	    0, NULL, 0, err));
}

static int
socket_of(void *context)
{
	const struct database *d = context;

	return PQsocket(d->db);
}

/* Reads the run id in a notification; false: it has none, and all runs must be listed. */
static bool
postgresql_notified_run(const char *told, char run_id[ID_SIZE])
{
	size_t bad;

	return scan_within(told, strlen(told), SCAN_LINE_DEPTH, &bad) == NULL && *told == '{' &&
	    event_copy_id(span_member(span_of(told, strlen(told)), KEY_RUN_ID), run_id);
}

static int
has_changed(void *context, struct error *err)
{
	struct database *d = context;
	struct buffer ids = BUFFER_INIT;
	const char *values[1];
	PGnotify *told;
	char run_id[ID_SIZE];
	size_t count = 0;
	int changed = CHANGED_NOTHING;

	if (PQconsumeInput(d->db) == 0)
		return postgresql_set_error(d->db, NULL, err);
	for (; (told = PQnotifies(d->db)) != NULL; PQfreemem(told))
		if (changed == CHANGED_NOTHING && postgresql_notified_run(told->extra, run_id) &&
		    count++ < NOTIFIED_MOST)
			buffer_format(&ids, "%c%s", ids.len == 0 ? '{' : ',', run_id);
		else
			changed = CHANGED_UNKNOWN;
	if (changed == CHANGED_NOTHING && count > 0) {
		buffer_byte(&ids, '}');
		values[0] = buffer_string(&ids);
		changed = postgresql_send_runs(postgresql_query_rows(d,
		    HEADS "WHERE run_id = ANY ($1::uuid[])", 1, values, 0, err)) == 0 ?
		    CHANGED_TOLD : -1;
	}
	buffer_free(&ids);
	return changed;
}

/* Sends rows of one column, each a line. 1: stop, the rest is useless. */
static int
send_rows(struct database *d, struct error *err)
{
	PGresult *result;
	int sent = 0;

	while (sent == 0 && (result = PQgetResult(d->lines)) != NULL) {
		if (PQresultStatus(result) == PGRES_SINGLE_TUPLE) {
			sent = source_line(PQgetisnull(result, 0, 0) ? NULL : PQgetvalue(result, 0, 0),
			    (size_t)PQgetlength(result, 0, 0), err);
		} else if (PQresultStatus(result) != PGRES_TUPLES_OK) {
			sent = postgresql_set_error(d->lines, result, err);
			continue;
		}
		PQclear(result);
	}
	return sent;
}

static int
send_lines(void *context, const char *run_id, int64_t after, struct error *err)
{
	struct database *d = context;
	char from[24], most[24];
	const char *const values[] = { run_id, from, most };
	int sent;

	if (d->lines == NULL && (d->lines = postgresql_connect(d->url, PROGRAM, err)) == NULL)
		return -1;
	snprintf(from, sizeof from, "%lld", (long long)after);
	snprintf(most, sizeof most, "%zu", SCAN_LINE_LIMIT);
	if (PQsendQueryParams(d->lines, "SELECT CASE WHEN octet_length(e.line) <= $3::bigint THEN e.line "
	    "END FROM runs_head h JOIN agent_run_events e ON e.month = h.month AND e.run_id = h.run_id "
	    "WHERE h.run_id = $1::uuid AND e.seq > $2::bigint ORDER BY e.seq", 3, NULL, values, NULL, NULL,
	    0) != 1 || PQsetSingleRowMode(d->lines) != 1)
		return postgresql_set_error(d->lines, NULL, err);
	sent = send_rows(d, err);
	/* Nobody reads the rest. */
	if (sent != 0) {
		PQfinish(d->lines);
		d->lines = NULL;
	}
	return sent < 0 ? -1 : 0;
}

static int
send_blob(void *context, const char *run_id, const char *sha256, struct error *err)
{
	char most[24];
	const char *const values[] = { run_id, sha256, most };
	PGresult *result;

	snprintf(most, sizeof most, "%lld", (long long)FETCH_BLOB_MOST);
	result = postgresql_query_rows(context,
	    "SELECT data FROM agent_run_blobs WHERE run_id = $1::uuid AND "
	    "sha256 = $2 AND octet_length(data) <= $3::bigint", 3, values, 1, err);
	if (result == NULL)
		return -1;
	if (PQntuples(result) == 1)
		source_data(PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0));
	PQclear(result);
	return 0;
}

static void
close_database(void *context)
{
	struct database *d = context;

	PQfinish(d->lines);
	PQfinish(d->db);
	free(d->url);
}

int
main(int argc, char **argv)
{
	struct database d = { .db = NULL };
	const struct source source = { .program = PROGRAM, .form = "postgresql://[HOST]/DATABASE",
		.look_ms = FETCH_LIST_MS, .open = open_database, .ready = has_tables,
		.list = postgresql_list_runs,
		.fd = socket_of, .changed = has_changed, .lines = send_lines, .blob = send_blob,
		.close = close_database, .context = &d };

	return source_main(&source, argc, argv);
}
