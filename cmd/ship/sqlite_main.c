/*
 * awf-ship-sqlite: stores transcripts in an SQLite database, awf-ship(7), awf-sql(7).
 *
 * What the code relies on:
 *   - A batch is one transaction, which begins with the writer's lock: the position of a run, in
 *     its row of runs_head, cannot change before its lines are appended. So many may write.
 *   - What is committed is on disk, unless AWF_SYNC is none, and in the file that has the name.
 *   - A file has a write-ahead log, so that those who read and those who write do not wait for one another.
 *     A new one gets it when few lines come at a time: until then each page is written once, where it
 *     belongs, instead of twice.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "ingest/database_url.h"
#include "ship/row.h"
#include "ship/sqlite.h"
#include "ship/target.h"
#include "transcript/sync_mode.h"

#define PROGRAM "awf-ship-sqlite"
#define BUSY_MS 300000      /* for other writers */
#define PAGE_BYTES "16384"   /* of a file that is created */
#define FEW_BYTES ((size_t)4 << 20) /* of a batch: no more lines were waiting */
#define LOG_BYTES (64 << 20) /* of the log, after which it is copied into the file */

extern const char sqlite_sql[];

enum statement {
	VERSION, FIND_HEAD, FIND_LINE, ADD_EVENT, ADD_TEXT, ADD_BLOB, FIND_BLOB, PUT_HEAD, STATEMENTS
};
static const char *const statements[STATEMENTS] = {
	[FIND_HEAD] = "SELECT seq, digest, pruned_through FROM runs_head WHERE run_id = ?1",
	[FIND_LINE] = "SELECT line FROM agent_run_events WHERE run_id = ?1 AND seq = ?2",
	[ADD_EVENT] = "INSERT INTO agent_run_events (run_id, seq, event_id, parent_event_id, call, type, "
	    "path, ts, cost_usd, line, cleaned) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
	[ADD_TEXT] = "INSERT INTO agent_run_texts (rowid, text) VALUES (?1, ?2)",
	[FIND_BLOB] = "SELECT data FROM agent_run_blobs WHERE run_id = ?1 AND sha256 = ?2 AND "
	    "length(data) <= " TARGET_BLOB_MOST,
	[ADD_BLOB] = "INSERT OR IGNORE INTO agent_run_blobs (run_id, sha256, data) VALUES (?1, ?2, ?3)",
	[PUT_HEAD] = "INSERT INTO runs_head (run_id, origin, seq, digest, name, status, started, "
	    "started_seq, ended_seq, last_seen) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
	    "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) ON CONFLICT (run_id) DO UPDATE SET seq = ?3, "
	    "digest = ?4, name = coalesce(?5, name), status = coalesce(?6, status), "
	    "started = coalesce(?7, started), started_seq = coalesce(?8, started_seq), "
	    "ended_seq = CASE WHEN ?10 THEN ?9 ELSE coalesce(?9, ended_seq) END, "
	    "last_seen = excluded.last_seen",
};

struct database {
	struct sqlite at;
	sqlite3_stmt *made[STATEMENTS];
	struct row row;
	int64_t keep_ms;
	bool filling;               /* a new file, which has no log yet */
};

/* Checks that the file still has its name: a file that was removed or replaced meanwhile can
 * still be written to. */
static int
check_place(const struct database *d, struct error *err)
{
	return !sqlite_is_replaced(&d->at) ? 0 : error_set(err, ERROR_SYSTEM, d->at.path,
	    "was removed or replaced since it was opened");
}

/* Replaces an error by that of check_place(), if that is its cause: SQLite calls it an error of the disk, or says
 * that the file may not be written to. */
static int
keep_cause(const struct database *d, struct error *err)
{
	struct error place = ERROR_INIT;

	if (check_place(d, &place) != 0)
		*err = place;
	return -1;
}

static int
ship_sqlite_execute_script(struct database *d, const char *sql, struct error *err)
{
	return sqlite3_exec(d->at.db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : sqlite_fail(&d->at, err);
}

/* Prepares a statement for binding; NULL with *err. */
static sqlite3_stmt *
ship_sqlite_ready_statement(struct database *d, enum statement which, struct error *err)
{
	return sqlite_statement(&d->at, statements[which], &d->made[which], err);
}

static void
bind_text(sqlite3_stmt *s, int at, const char *text)
{
	if (*text == '\0')
		sqlite3_bind_null(s, at);
	else
		sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

static void
bind_span(sqlite3_stmt *s, int at, struct span text)
{
	sqlite3_bind_text64(s, at, text.at, text.len, SQLITE_STATIC, SQLITE_UTF8);
}

static void
bind_number(sqlite3_stmt *s, int at, int64_t number)
{
	if (number == 0)
		sqlite3_bind_null(s, at);
	else
		sqlite3_bind_int64(s, at, number);
}

/* Runs a statement that returns no row. */
static int
ship_sqlite_run_statement(struct database *d, sqlite3_stmt *s, struct error *err)
{
	int failed = sqlite3_step(s) == SQLITE_DONE ? 0 : sqlite_fail(&d->at, err);

	sqlite3_reset(s);
	return failed;
}

/* ---- opening ---- */

/* Makes tables and views, once. */
static int
make_schema(struct database *d, struct error *err)
{
	int has = sqlite_has_schema(&d->at, &d->made[VERSION], err);
	char set[64];

	/* A database from a version without this index gets it; if it exists, nothing is
	 * written. */
	if (has != 0)
		return has < 0 ? -1 :
		    ship_sqlite_execute_script(d,
		    "CREATE INDEX IF NOT EXISTS runs_head_started ON runs_head (started)", err);
	snprintf(set, sizeof set, "PRAGMA user_version = %d; COMMIT", AWF_SQLITE_SCHEMA);
	has = ship_sqlite_execute_script(d, "BEGIN IMMEDIATE", err) == 0 ?
	    sqlite_has_schema(&d->at, &d->made[VERSION], err) : -1;
	if (has != -1 && (has == 1 || ship_sqlite_execute_script(d, sqlite_sql, err) == 0) &&
	    ship_sqlite_execute_script(d, set, err) == 0)
		return 0;
	sqlite3_exec(d->at.db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

/* Switches the file to a write-ahead log. SQLite does not wait for other writers at this point,
 * because it has read from the file by then, so the wait is here. */
static int
use_log(struct database *d, struct error *err)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const int64_t until = clock_monotonic() + BUSY_MS;
	int code;

	while (((code = sqlite3_exec(d->at.db, "PRAGMA journal_mode = wal", NULL, NULL, NULL)) & 0xff) == SQLITE_BUSY &&
	    clock_monotonic() < until)
		nanosleep(&pause, NULL);
	return code == SQLITE_OK ? 0 : sqlite_fail(&d->at, err);
}

/* Switches a new file to a write-ahead log, unless somebody is using it at this moment: then later. The log is also
 * opened now. The next transaction would do that, and if the file was replaced before that, it would make a log that
 * counts as one of the other file. */
static void
end_filling(struct database *d)
{
	struct error ignored = ERROR_INIT;

	if (!d->filling || sqlite_is_replaced(&d->at) ||
	    sqlite3_exec(d->at.db, "PRAGMA journal_mode = wal", NULL, NULL, NULL) != SQLITE_OK)
		return;
	d->filling = false;
	sqlite_has_schema(&d->at, &d->made[VERSION], &ignored);
}

/* How much is kept in memory and in the log, and when it is synced. The log ends at so many pages. */
static int
set_limits(struct database *d, enum sync_mode sync, struct error *err)
{
	sqlite3_stmt *made = NULL;
	const int64_t page = sqlite_number(&d->at, "PRAGMA page_size", &made, err);
	char *sql;
	int failed;

	sqlite3_finalize(made);
	if (page <= 0)
		return -1;
	sql = memory_format("PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = %lld; "
	    "PRAGMA synchronous = %s", (long long)(LOG_BYTES / page), sync == SYNC_NONE ? "off" : "extra");
	failed = ship_sqlite_execute_script(d, sql, err);
	free(sql);
	return failed;
}

static int
open_database(void *context, const char *url, int64_t keep_ms, struct error *err)
{
	struct database *d = context;
	enum sync_mode sync;

	d->keep_ms = keep_ms;
	if (sync_mode_from_environment(&sync, err) != 0)
		return -1;
	d->at.path = database_file(url, err);
	if (d->at.path == NULL)
		return -1;
	/* It contains what transcripts contain, and is as private. */
	umask(077);
	if (sqlite_open(&d->at, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, BUSY_MS, err) != 0)
		return -1;
	/* A line has some kilobytes: so pages of the usual 4 KiB have one or two and are often half empty,
	 * and each page is a write of its own. A file that exists keeps its size. */
	d->filling = d->at.file.st_size == 0;
	return ship_sqlite_execute_script(d, "PRAGMA page_size = " PAGE_BYTES, err) != 0 ||
	    (!d->filling && use_log(d, err) != 0) || set_limits(d, sync, err) != 0 || make_schema(d, err) != 0 ? -1 : 0;
}

static void
close_database(void *context)
{
	struct database *d = context;

	end_filling(d);
	for (size_t i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(d->made[i]);
	sqlite3_close(d->at.db);
	row_free(&d->row);
	free(d->at.path);
}

/* ---- what the database has ---- */

static int
ship_sqlite_ask_position(void *context, struct batch_run *sent, struct position *have,
    struct error *err)
{
	struct database *d = context;
	sqlite3_stmt *s = ship_sqlite_ready_statement(d, FIND_HEAD, err);
	int got;

	if (s == NULL)
		return keep_cause(d, err);
	if (check_place(d, err) != 0)
		return -1;
	*have = (struct position){ .seq = 0 };
	bind_text(s, 1, sent->run_id);
	got = sqlite3_step(s);
	if (got == SQLITE_ROW) {
		have->seq = sqlite3_column_int64(s, 0);
		snprintf(have->digest, sizeof have->digest, "%s", (const char *)sqlite3_column_text(s, 1));
		have->pruned = sqlite3_column_int64(s, 2);
	} else if (got != SQLITE_DONE) {
		sqlite_fail(&d->at, err);
	}
	sqlite3_reset(s);
	return got == SQLITE_ROW || got == SQLITE_DONE ? 0 : keep_cause(d, err);
}

/* Whether it has this line, or had it: lines that were removed are not compared. */
static int
ship_sqlite_has_line(void *context, const struct batch_run *sent, size_t number, struct error *err)
{
	struct database *d = context;
	sqlite3_stmt *s = ship_sqlite_ready_statement(d, FIND_LINE, err);
	struct span line = batch_line_text(sent, number);
	int got, failed = 0;

	if (s == NULL)
		return -1;
	bind_text(s, 1, sent->run_id);
	sqlite3_bind_int64(s, 2, sent->lines[number].seq);
	got = sqlite3_step(s);
	if (got == SQLITE_ROW && ((size_t)sqlite3_column_bytes(s, 0) != line.len ||
	    memcmp(sqlite3_column_text(s, 0), line.at, line.len) != 0))
		failed = error_set(err, ERROR_DIVERGENCE, sent->run_id, "the target has another line %lld, "
		    "and nothing more of the run is sent", (long long)sent->lines[number].seq);
	else if (got != SQLITE_ROW && got != SQLITE_DONE)
		failed = sqlite_fail(&d->at, err);
	sqlite3_reset(s);
	return failed;
}

/* ---- writing ---- */

static int
add_event(struct database *d, const struct batch_run *sent, size_t number, struct run_row *told,
    struct error *err)
{
	sqlite3_stmt *s = ship_sqlite_ready_statement(d, ADD_EVENT, err),
	    *t = ship_sqlite_ready_statement(d, ADD_TEXT, err);
	struct row *row = &d->row;

	if (s == NULL || t == NULL || row_make(row, sent, number, err) != 0)
		return -1;
	bind_text(s, 1, sent->run_id);
	sqlite3_bind_int64(s, 2, row->seq);
	bind_text(s, 3, row->event_id);
	bind_text(s, 4, row->parent_event_id);
	bind_text(s, 5, row->call);
	sqlite3_bind_text(s, 6, buffer_string(&row->type_name), -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 7, buffer_string(&row->path), -1, SQLITE_STATIC);
	bind_text(s, 8, row->ts);
	bind_text(s, 9, row->cost); /* its column converts it to a number */
	bind_span(s, 10, row->line);
	if (row->cleaned.len > 0)
		bind_span(s, 11, row->event);
	else
		sqlite3_bind_null(s, 11);
	if (ship_sqlite_run_statement(d, s, err) != 0)
		return -1;
	run_row_take(told, row);
	if (row->text.len == 0)
		return 0;
	sqlite3_bind_int64(t, 1, sqlite3_last_insert_rowid(d->at.db));
	bind_span(t, 2, span_of(row->text.data, row->text.len));
	return ship_sqlite_run_statement(d, t, err);
}

static int
put_blob(void *context, const char *run_id, const char *sha256, const struct buffer *bytes,
    struct error *err)
{
	struct database *d = context;
	sqlite3_stmt *s = ship_sqlite_ready_statement(d, ADD_BLOB, err);

	if (s == NULL)
		return -1;
	bind_text(s, 1, run_id);
	bind_text(s, 2, sha256);
	sqlite3_bind_blob64(s, 3, buffer_string(bytes), bytes->len, SQLITE_STATIC);
	return ship_sqlite_run_statement(d, s, err) != 0 || check_place(d, err) != 0 ? -1 : 0;
}

static int
get_blob(void *context, const char *run_id, const char *sha256, const char *path,
    struct error *err)
{
	struct database *d = context;
	sqlite3_stmt *s = ship_sqlite_ready_statement(d, FIND_BLOB, err);
	int got = -1;

	if (s == NULL)
		return -1;
	bind_text(s, 1, run_id);
	bind_text(s, 2, sha256);
	switch (sqlite3_step(s)) {
	case SQLITE_ROW:
		got = target_blob(path, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), err);
		break;
	case SQLITE_DONE:
		got = 0;
		break;
	default:
		sqlite_fail(&d->at, err);
	}
	sqlite3_reset(s);
	return got;
}

static int
put_head(struct database *d, const struct batch_run *sent, const struct run_row *told,
    struct error *err)
{
	sqlite3_stmt *s = ship_sqlite_ready_statement(d, PUT_HEAD, err);
	struct position head;

	if (s == NULL)
		return -1;
	batch_position(sent, &head);
	bind_text(s, 1, sent->run_id);
	sqlite3_bind_text(s, 2, sent->origin, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 3, head.seq);
	bind_text(s, 4, head.digest);
	bind_text(s, 5, told->name);
	bind_text(s, 6, told->status);
	bind_text(s, 7, told->started);
	bind_number(s, 8, told->started_seq);
	bind_number(s, 9, told->ended_seq);
	sqlite3_bind_int(s, 10, told->begun);
	return ship_sqlite_run_statement(d, s, err);
}

/* -1 with ERROR_DIVERGENCE: nothing of the run was written. */
static int
write_run(struct database *d, struct batch_run *sent, struct error *err)
{
	struct run_row told = { .started_seq = 0 };
	struct position have;
	size_t first;

	if (ship_sqlite_ask_position(d, sent, &have, err) != 0 ||
	    batch_new_lines(sent, &have, &first, ship_sqlite_has_line, d, err) != 0)
		return -1;
	if (first == sent->count)
		return 0;
	for (size_t i = first; i < sent->count; i++)
		if (add_event(d, sent, i, &told, err) != 0)
			return -1;
	return target_put_blobs(sent, put_blob, d, err) != 0 || put_head(d, sent, &told, err) != 0 ? -1 : 0;
}

static int
ship_sqlite_write_batch(void *context, struct batch *b, struct error *err)
{
	struct database *d = context;

	if (check_place(d, err) != 0)
		return -1;
	if (ship_sqlite_execute_script(d, "BEGIN IMMEDIATE", err) != 0)
		return keep_cause(d, err);
	for (size_t i = 0; i < b->with_count; i++) {
		if (b->with[i]->refused || write_run(d, b->with[i], err) == 0)
			continue;
		if (err->code != ERROR_DIVERGENCE) {
			sqlite3_exec(d->at.db, "ROLLBACK", NULL, NULL, NULL);
			return keep_cause(d, err);
		}
		target_refuse(b->with[i], err);
		*err = (struct error)ERROR_INIT;
	}
	if (ship_sqlite_execute_script(d, "COMMIT", err) != 0)
		return keep_cause(d, err);
	if (check_place(d, err) != 0)
		return -1;
	for (size_t i = 0; i < b->with_count; i++) {
		struct position have;

		if (b->with[i]->refused)
			continue;
		batch_position(b->with[i], &have);
		target_have(b->with[i], &have);
	}
	if (b->bytes < FEW_BYTES)
		end_filling(d);
	return 0;
}

/* Removes whole runs, by this machine's clock; their heads stay, so that they are not sent
 * again. */
static int
ship_sqlite_prune_runs(void *context, struct error *err)
{
	struct database *d = context;
	char *sql = memory_format("BEGIN IMMEDIATE; CREATE TEMP TABLE old AS SELECT run_id FROM runs_head "
	    "WHERE seq > pruned_through AND julianday(last_seen) < julianday('now') - %.9f;"
	    "DELETE FROM agent_run_texts WHERE rowid IN (SELECT id FROM agent_run_events WHERE run_id IN old);"
	    "DELETE FROM agent_run_blobs WHERE run_id IN old;"
	    "DELETE FROM agent_run_events WHERE run_id IN old;"
	    "UPDATE runs_head SET pruned_through = seq WHERE run_id IN old;"
	    "DROP TABLE old; COMMIT", (double)d->keep_ms / 86400000.0);
	int failed = ship_sqlite_execute_script(d, sql, err);

	free(sql);
	return failed;
}

int
main(int argc, char **argv)
{
	struct database d = { .keep_ms = 0 };
	const struct target target = { .program = PROGRAM, .form = "sqlite:[FILE]", .about = true,
		.blobs = true, .keeps = true, .open = open_database,
		.ask = ship_sqlite_ask_position, .write = ship_sqlite_write_batch,
		.put_blob = put_blob, .get_blob = get_blob, .prune = ship_sqlite_prune_runs,
		.close = close_database, .context = &d };

	return target_main(&target, argc, argv);
}
