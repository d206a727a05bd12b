/*
 * awf-mirror-sqlite: what awf-ship took to a database of SQLite, awf-ship(7), awf-sql(7).
 *
 * What the code relies on:
 *   - The database is opened for reading, and is not made; as long as it is not there, it has no
 *     tables yet.
 *   - data_version is another after each transaction of others, in the file that is open: one that
 *     takes its name ends this process, which is started anew.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "mirror/protocol.h"
#include "mirror/source.h"
#include "run/database_url.h"
#include "ship/sqlite.h"

#define PROGRAM "awf-mirror-sqlite"
#define BUSY_MS 60000       /* for who mends the database after a crash */
#define LOOK_MS 50

enum statement { VERSION, DATA_VERSION, LIST, LINES, BLOB, STATEMENTS };
static const char heads[] = "SELECT run_id, seq, digest, origin, pruned_through, "
    "(julianday('now') - julianday(last_seen)) * 86400000 FROM runs_head ORDER BY last_seen DESC";
static const char *const statements[STATEMENTS] = {
	[VERSION] = "PRAGMA user_version",
	[DATA_VERSION] = "PRAGMA data_version",
	[LIST] = heads,
	[LINES] = "SELECT line FROM agent_run_events WHERE run_id = ?1 AND seq > ?2 ORDER BY seq",
	[BLOB] = "SELECT data FROM agent_run_blobs WHERE run_id = ?1 AND sha256 = ?2",
};

struct database {
	char *path;
	sqlite3 *db;            /* NULL: it is not there yet */
	sqlite3_stmt *made[STATEMENTS];
	struct stat file;       /* as it was opened */
	int64_t version;        /* of its data, when it was looked at last */
};

static int
fail(const struct database *d, struct error *err)
{
	return error_set(err, ERROR_SYSTEM, d->path, "%s", sqlite3_errmsg(d->db));
}

/* One that is ready to be bound; NULL with *err. */
static sqlite3_stmt *
statement(struct database *d, enum statement which, struct error *err)
{
	if (d->made[which] == NULL && sqlite3_prepare_v3(d->db, statements[which], -1,
	    SQLITE_PREPARE_PERSISTENT, &d->made[which], NULL) != SQLITE_OK)
		fail(d, err);
	return d->made[which];
}

/* The number that it returns; -1 with *err. */
static int64_t
number(struct database *d, enum statement which, struct error *err)
{
	sqlite3_stmt *s = statement(d, which, err);
	int64_t value = -1;

	if (s == NULL)
		return -1;
	if (sqlite3_step(s) == SQLITE_ROW)
		value = sqlite3_column_int64(s, 0);
	else
		fail(d, err);
	sqlite3_reset(s);
	return value;
}

static int
open_database(void *context, const char *url, struct error *err)
{
	struct database *d = context;

	d->path = database_file(url, err);
	return d->path != NULL ? 0 : -1;
}

static int
has_tables(void *context, struct error *err)
{
	struct database *d = context;
	int64_t version;

	if (d->db == NULL && access(d->path, F_OK) != 0)
		return 0;
	if (d->db == NULL) {
		if (stat(d->path, &d->file) != 0)
			return error_errno(err, ERROR_SYSTEM, d->path, "unable to open");
		if (sqlite3_open_v2(d->path, &d->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
			return fail(d, err);
		sqlite3_busy_timeout(d->db, BUSY_MS);
		sqlite3_extended_result_codes(d->db, 1);
	}
	version = number(d, VERSION, err);
	if (version > AWF_SQLITE_SCHEMA)
		return error_set(err, ERROR_USAGE, d->path, "was made by a later version of AWF, or by "
		    "another program");
	if (version == AWF_SQLITE_SCHEMA)
		d->version = number(d, DATA_VERSION, err);
	return version < 0 || d->version < 0 ? -1 : version == AWF_SQLITE_SCHEMA;
}

/* A text; "" if it is none, or has a NUL. */
static const char *
text_of(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text != NULL && (size_t)sqlite3_column_bytes(s, column) == strlen(text) ? text : "";
}

static int
list(void *context, struct error *err)
{
	struct database *d = context;
	sqlite3_stmt *s = statement(d, LIST, err);
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
		fail(d, err);
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

	if (sqlite_is_replaced(d->path, &d->file))
		return error_set(err, ERROR_SYSTEM, d->path, "was removed or replaced");
	version = number(d, DATA_VERSION, err);
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
	sqlite3_stmt *s = statement(d, LINES, err);
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
		sent = fail(d, err);
	sqlite3_reset(s);
	return sent < 0 ? -1 : 0;
}

static int
send_blob(void *context, const char *run_id, const char *sha256, struct error *err)
{
	struct database *d = context;
	sqlite3_stmt *s = statement(d, BLOB, err);
	int got;

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, run_id, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, sha256, -1, SQLITE_STATIC);
	got = sqlite3_step(s);
	if (got == SQLITE_ROW && sqlite3_column_bytes(s, 0) <= FETCH_BLOB_MOST)
		source_data(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
	else if (got != SQLITE_ROW && got != SQLITE_DONE)
		fail(d, err);
	sqlite3_reset(s);
	return got == SQLITE_ROW || got == SQLITE_DONE ? 0 : -1;
}

static void
close_database(void *context)
{
	struct database *d = context;

	for (size_t i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(d->made[i]);
	sqlite3_close(d->db);
	free(d->path);
}

int
main(int argc, char **argv)
{
	struct database d = { .path = NULL };
	const struct source source = { .program = PROGRAM, .form = "sqlite:[FILE]", .look_ms = LOOK_MS,
		.open = open_database, .ready = has_tables, .list = list, .fd = no_descriptor,
		.changed = has_changed, .lines = send_lines, .blob = send_blob, .close = close_database,
		.context = &d };

	return source_main(&source, argc, argv);
}
