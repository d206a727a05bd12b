/*
 * awf-mirror-sqlite: reads what awf-ship wrote to an SQLite database, awf-ship(7), awf-sql(7).
 *
 * What the code relies on:
 *   - The database is opened for reading, and not created; as long as it does not exist, it
 *     has no tables.
 *   - data_version changes with each transaction of another connection in the open file; if another
 *     file gets its name, this process ends, and is started again.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "ingest/database_url.h"
#include "mirror/protocol.h"
#include "mirror/source.h"
#include "ship/sqlite.h"

#define PROGRAM "awf-mirror-sqlite"
#define BUSY_MS 60000       /* while another process recovers the database after a crash */
#define LOOK_MS 50

enum statement { VERSION, DATA_VERSION, LIST, LINES, BLOB, STATEMENTS };
static const char heads[] = "SELECT run_id, seq, digest, origin, pruned_through, "
    "(julianday('now') - julianday(last_seen)) * 86400000 FROM runs_head ORDER BY last_seen DESC";
static const char *const statements[STATEMENTS] = {
	[DATA_VERSION] = "PRAGMA data_version",
	[LIST] = heads,
	[LINES] = "SELECT line FROM agent_run_events WHERE run_id = ?1 AND seq > ?2 ORDER BY seq",
	[BLOB] = "SELECT data FROM agent_run_blobs WHERE run_id = ?1 AND sha256 = ?2",
};

struct database {
	struct sqlite at;       /* not open: the file does not exist yet */
	sqlite3_stmt *made[STATEMENTS];
	int64_t version;        /* data_version at the last check */
};

/* Prepares a statement for binding; NULL with *err. */
static sqlite3_stmt *
sqlite_ready_statement(struct database *d, enum statement which, struct error *err)
{
	return sqlite_statement(&d->at, statements[which], &d->made[which], err);
}

static int
open_database(void *context, const char *url, struct error *err)
{
	struct database *d = context;

	d->at.path = database_file(url, err);
	return d->at.path != NULL ? 0 : -1;
}

/* Undoes what a process that was killed had not completed in a file without a log, which nobody can read
 * before that. It takes somebody who may write: if that fails, reading fails, and says why. */
static void
roll_back_unfinished(const struct database *d)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(d->at.path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
		sqlite3_busy_timeout(db, BUSY_MS);
		sqlite3_exec(db, "PRAGMA schema_version", NULL, NULL, NULL);
	}
	sqlite3_close(db);
}

static int64_t
data_version(struct database *d, struct error *err)
{
	return sqlite_number(&d->at, statements[DATA_VERSION], &d->made[DATA_VERSION], err);
}

static int
has_tables(void *context, struct error *err)
{
	struct database *d = context;
	int has;

	if (d->at.db == NULL && access(d->at.path, F_OK) != 0)
		return 0;
	if (d->at.db == NULL && sqlite_open(&d->at, SQLITE_OPEN_READONLY, BUSY_MS, err) != 0)
		return -1;
	has = sqlite_has_schema(&d->at, &d->made[VERSION], err);
	if (has < 0 && sqlite3_extended_errcode(d->at.db) == SQLITE_READONLY_ROLLBACK) {
		roll_back_unfinished(d);
		*err = (struct error)ERROR_INIT;
		has = sqlite_has_schema(&d->at, &d->made[VERSION], err);
	}
	if (has == 1) {
		d->version = data_version(d, err);
		has = d->version < 0 ? -1 : 1;
	}
	return has;
}

/* Returns a text; "" if it is another type, or contains a NUL. */
static const char *
text_of(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text != NULL && (size_t)sqlite3_column_bytes(s, column) == strlen(text) ? text : "";
}

static int
sqlite_list_runs(void *context, struct error *err)
{
	struct database *d = context;
	sqlite3_stmt *s = sqlite_ready_statement(d, LIST, err);
	int got;

	if (s == NULL)
		return -1;
	while ((got = sqlite3_step(s)) == SQLITE_ROW) {
		const struct source_run run = { .run_id = text_of(s, 0), .seq = sqlite3_column_int64(s, 1),
			.digest = text_of(s, 2), .origin = text_of(s, 3), .pruned = sqlite3_column_int64(s, 4),
			.idle_ms = sqlite3_column_int64(s, 5) };

		source_run(&run);
	}
	if (got != SQLITE_DONE)
		sqlite_fail(&d->at, err);
	sqlite3_reset(s);
	return got == SQLITE_DONE ? 0 : -1;
}

static int
no_descriptor(void *context)
{
	(void)context;
	return -1;
}

static int
has_changed(void *context, struct error *err)
{
	struct database *d = context;
	int64_t version;
	int changed;

	if (sqlite_is_replaced(&d->at))
		return error_set(err, ERROR_SYSTEM, d->at.path, "was removed or replaced");
	version = data_version(d, err);
	if (version < 0)
		return -1;
	changed = version != d->version ? CHANGED_UNKNOWN : CHANGED_NOTHING;
	d->version = version;
	return changed;
}

static int
send_lines(void *context, const char *run_id, int64_t after, struct error *err)
{
	struct database *d = context;
	sqlite3_stmt *s = sqlite_ready_statement(d, LINES, err);
	int got, sent = 0;

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, run_id, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, after);
	while (sent == 0 && (got = sqlite3_step(s)) == SQLITE_ROW) {
		const char *line = (const char *)sqlite3_column_text(s, 0);

		sent = source_line(line, line != NULL ? (size_t)sqlite3_column_bytes(s, 0) : 0, err);
	}
	if (sent == 0 && got != SQLITE_DONE)
		sent = sqlite_fail(&d->at, err);
	sqlite3_reset(s);
	return sent < 0 ? -1 : 0;
}

static int
send_blob(void *context, const char *run_id, const char *sha256, struct error *err)
{
	struct database *d = context;
	sqlite3_stmt *s = sqlite_ready_statement(d, BLOB, err);
	int got;

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, run_id, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, sha256, -1, SQLITE_STATIC);
	got = sqlite3_step(s);
	if (got == SQLITE_ROW && sqlite3_column_bytes(s, 0) <= FETCH_BLOB_MOST)
		source_data(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
	else if (got != SQLITE_ROW && got != SQLITE_DONE)
		sqlite_fail(&d->at, err);
	sqlite3_reset(s);
	return got == SQLITE_ROW || got == SQLITE_DONE ? 0 : -1;
}

static void
close_database(void *context)
{
	struct database *d = context;

	for (size_t i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(d->made[i]);
	sqlite3_close(d->at.db);
	free(d->at.path);
}

int
main(int argc, char **argv)
{
	struct database d = { .version = 0 };
	const struct source source = { .program = PROGRAM, .form = "sqlite:[FILE]", .look_ms = LOOK_MS,
		.open = open_database, .ready = has_tables, .list = sqlite_list_runs,
		.fd = no_descriptor,
		.changed = has_changed, .lines = send_lines, .blob = send_blob, .close = close_database,
		.context = &d };

	return source_main(&source, argc, argv);
}
