/*
 * awf-ship-postgresql: stores transcripts in a PostgreSQL database, awf-ship(7), awf-sql(7).
 *
 * What the code relies on:
 *   - A batch is one transaction, which locks the rows of runs_head for its runs, in the order of
 *     their ids: the position of a run there cannot change before its lines are appended.
 *   - Lines are written by COPY, without a check: which of them are new was found out before, and
 *     a line that is there cannot be sent again.
 *   - A writer holds a lock on the table that excludes the removal of partitions. So the partition
 *     of a month that was seen stays.
 *   - If other transactions caused it to fail, a transaction is repeated as a whole.
 */
#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "ship/copy.h"
#include "ship/postgresql.h"
#include "ship/row.h"
#include "ship/target.h"
#include "transcript/sync_mode.h"

#define PROGRAM "awf-ship-postgresql"
#define LOCK "7235419012876"    /* held while tables are made: a number chosen for AWF */
#define TRIES 10
#define COPY_BYTES ((size_t)256 << 10)
#define PARTITION "agent_run_events_"
#define COPY "COPY agent_run_events (month, run_id, seq, event_id, parent_event_id, call, type, " \
	"path, ts, cost_usd, line, event) FROM STDIN (FORMAT binary)"
#define COPY_FIELDS 12

extern const char postgresql_sql[];

/* What is known of a run within a transaction. */
struct head {
	struct position have;
	char month[11];             /* 2026-11-01; "": it has no row yet */
	size_t first;               /* the first new line */
	struct run_row told;
};

struct database {
	PGconn *db;
	struct row row;
	struct buffer copy;
	int64_t keep_ms;
	bool again;                 /* what failed may succeed if it is repeated */
};

/* Whether the server would accept other data: class 22: out of range, or a character that its
 * encoding does not have; 23: a duplicate key; 54: too long; 0A: not supported in this encoding. */
static bool
is_due_to_data(const char *state)
{
	static const char *const classes[] = { "22", "23", "54", "0A" };

	for (size_t i = 0; state != NULL && i < sizeof classes / sizeof *classes; i++)
		if (strncmp(state, classes[i], 2) == 0)
			return true;
	return false;
}

/* The message of the server in one line; frees the result. ERROR_INVALID_INPUT: the data that
 * was to be written is the reason. */
static int
ship_postgresql_set_error(struct database *d, PGresult *result, struct error *err)
{
	const char *state = result != NULL ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	char *message = postgresql_message(d->db, result);

	/* Class 40: deadlocks and the like. */
	d->again = state != NULL && strncmp(state, "40", 2) == 0;
	error_set(err, is_due_to_data(state) ? ERROR_INVALID_INPUT : ERROR_SYSTEM, PQdb(d->db), "%s", message);
	free(message);
	PQclear(result);
	return -1;
}

/* Runs a statement and expects this kind of result; NULL with *err. */
static PGresult *
ship_postgresql_query(struct database *d, const char *sql, int count, const char *const *values,
    struct error *err)
{
	PGresult *result = PQexecParams(d->db, sql, count, NULL, values, NULL, NULL, 0);
	ExecStatusType status = PQresultStatus(result);

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return result;
	ship_postgresql_set_error(d, result, err);
	return NULL;
}

/* The same where the result is not needed. */
static int
ship_postgresql_run_statement(struct database *d, const char *sql, int count,
    const char *const *values, struct error *err)
{
	PGresult *result = ship_postgresql_query(d, sql, count, values, err);

	if (result == NULL)
		return -1;
	PQclear(result);
	return 0;
}

/* Runs several statements, without parameters. */
static int
ship_postgresql_execute_script(struct database *d, const char *sql, struct error *err)
{
	PGresult *result = PQexec(d->db, sql);

	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		return ship_postgresql_set_error(d, result, err);
	PQclear(result);
	return 0;
}

static void
roll_back(struct database *d)
{
	if (PQtransactionStatus(d->db) != PQTRANS_IDLE)
		PQclear(PQexec(d->db, "ROLLBACK"));
}

/* ---- opening ---- */

/* Prints nothing: it is normal that tables exist already. */
static void
drop_notice(void *unused, const PGresult *result)
{
	(void)unused, (void)result;
}

static int
make_schema(struct database *d, struct error *err)
{
	int has = postgresql_has_schema(d->db, err);

	/* A database from a version without this index gets it, if the user may make it.
	 * Checking first for the index avoids a lock that waits for writers. Two processes that
	 * both make it could fail, in spite of IF NOT EXISTS. */
	if (has != 0)
		return has < 0 ? -1 : ship_postgresql_execute_script(d,
		    "DO $$ BEGIN IF to_regclass('runs_head_started') IS NULL THEN "
		    "PERFORM pg_advisory_xact_lock(" LOCK "); "
		    "CREATE INDEX IF NOT EXISTS runs_head_started ON runs_head (started); END IF; "
		    "EXCEPTION WHEN insufficient_privilege THEN NULL; END $$", err);
	if (ship_postgresql_execute_script(d, "BEGIN; SELECT pg_advisory_xact_lock(" LOCK ")",
	    err) == 0)
		has = postgresql_has_schema(d->db, err);
	else
		has = -1;
	if (has == 0 && ship_postgresql_execute_script(d, postgresql_sql, err) == 0 &&
	    ship_postgresql_execute_script(d,
	    "COMMENT ON TABLE runs_head IS '" AWF_POSTGRESQL_SCHEMA "'; COMMIT", err) == 0)
		return 0;
	roll_back(d);
	return has == 1 ? 0 : -1;
}

/* The server compresses long values. With the method that it uses by default that takes nearly half of
 * its time; lz4 is used instead if the server has it, and nobody has chosen a method. */
static int
choose_compression(struct database *d, struct error *err)
{
	return ship_postgresql_execute_script(d, "SELECT set_config(name, 'lz4', false) FROM pg_settings "
	    "WHERE name = 'default_toast_compression' AND source = 'default' AND 'lz4' = ANY (enumvals)", err);
}

static int
open_database(void *context, const char *url, int64_t keep_ms, struct error *err)
{
	struct database *d = context;
	enum sync_mode sync;

	d->keep_ms = keep_ms;
	if (sync_mode_from_environment(&sync, err) != 0)
		return -1;
	d->db = postgresql_connect(url, "awf-ship", err);
	if (d->db == NULL)
		return -1;
	PQsetNoticeReceiver(d->db, drop_notice, NULL);
	return (sync == SYNC_NONE && ship_postgresql_execute_script(d,
	    "SET synchronous_commit = off", err) != 0) ||
	    choose_compression(d, err) != 0 || make_schema(d, err) != 0 ? -1 : 0;
}

static void
close_database(void *context)
{
	struct database *d = context;

	PQfinish(d->db);
	row_free(&d->row);
	buffer_free(&d->copy);
}

/* ---- what the database has ---- */

static void
read_position(PGresult *result, int row, int column, struct position *have)
{
	have->seq = strtoll(PQgetvalue(result, row, column), NULL, 10);
	snprintf(have->digest, sizeof have->digest, "%s", PQgetvalue(result, row, column + 1));
}

static int
ship_postgresql_ask_position(void *context, struct batch_run *sent, struct position *have,
    struct error *err)
{
	const char *const values[] = { sent->run_id };
	PGresult *result = ship_postgresql_query(context,
	    "SELECT seq, digest, pruned_through FROM runs_head "
	    "WHERE run_id = $1::uuid", 1, values, err);

	if (result == NULL)
		return -1;
	*have = (struct position){ .seq = 0 };
	if (PQntuples(result) == 1) {
		read_position(result, 0, 0, have);
		have->pruned = strtoll(PQgetvalue(result, 0, 2), NULL, 10);
	}
	PQclear(result);
	return 0;
}

/* Whether it has this line, or had it: lines that were removed are not compared. */
static int
ship_postgresql_has_line(void *context, const struct batch_run *sent, size_t number,
    struct error *err)
{
	char seq[24];
	const char *const values[] = { sent->run_id, seq };
	struct span line = batch_line_text(sent, number);
	PGresult *result;
	int failed = 0;

	snprintf(seq, sizeof seq, "%lld", (long long)sent->lines[number].seq);
	result = ship_postgresql_query(context,
	    "SELECT line FROM agent_run_events WHERE run_id = $1::uuid AND "
	    "seq = $2::bigint", 2, values, err);
	if (result == NULL)
		return -1;
	if (PQntuples(result) == 1 && ((size_t)PQgetlength(result, 0, 0) != line.len ||
	    memcmp(PQgetvalue(result, 0, 0), line.at, line.len) != 0))
		failed = error_set(err, ERROR_DIVERGENCE, sent->run_id, "the target has another line %s, "
		    "and nothing more of the run is sent", seq);
	PQclear(result);
	return failed;
}

/* Adds a row for each run that begins. */
static int
add_head(struct database *d, struct batch_run *sent, struct error *err)
{
	char month[11];
	const char *const values[] = { sent->run_id, month, sent->origin };

	if (row_make(&d->row, sent, 0, err) != 0)
		return -1;
	snprintf(month, sizeof month, "%.7s-01", d->row.ts);
	return ship_postgresql_run_statement(d,
	    "INSERT INTO runs_head (run_id, month, origin, seq, digest, last_seen) "
	    "VALUES ($1::uuid, $2::date, $3, 0, '', now()) ON CONFLICT DO NOTHING", 3, values, err);
}

/* Locks the row of a run, and finds out which lines are new. -1, ERROR_DIVERGENCE: the run is
 * refused. */
static int
lock_head(struct database *d, struct batch_run *sent, struct head *head, struct error *err)
{
	static const char sql[] = "SELECT seq, digest, to_char(month, 'YYYY-MM-DD') FROM runs_head "
	    "WHERE run_id = $1::uuid FOR UPDATE";
	const char *const values[] = { sent->run_id };
	PGresult *result = ship_postgresql_query(d, sql, 1, values, err);

	if (result != NULL && PQntuples(result) == 0 && sent->lines[0].seq == 1) {
		PQclear(result);
		result = add_head(d, sent, err) == 0 ?
		    ship_postgresql_query(d, sql, 1, values, err) : NULL;
	}
	if (result == NULL)
		return -1;
	*head = (struct head){ .first = 0 };
	if (PQntuples(result) == 1) {
		read_position(result, 0, 0, &head->have);
		snprintf(head->month, sizeof head->month, "%s", PQgetvalue(result, 0, 2));
	}
	PQclear(result);
	return batch_new_lines(sent, &head->have, &head->first, ship_postgresql_has_line, d, err);
}

/* ---- partitions ---- */

/* Makes the partition of a month in a transaction of its own, because that takes a lock that
 * excludes all writers. */
static int
make_partition(struct database *d, const char *month, struct error *err)
{
	char *sql = memory_format("BEGIN; SELECT pg_advisory_xact_lock(" LOCK "); "
	    "CREATE TABLE IF NOT EXISTS " PARTITION "%.4s_%.2s PARTITION OF agent_run_events "
	    "FOR VALUES FROM ('%s') TO ((date '%s' + interval '1 month')::date); COMMIT",
	    month, month + 5, month, month);
	int failed = ship_postgresql_execute_script(d, sql, err);

	free(sql);
	if (failed != 0)
		roll_back(d);
	return failed;
}

/* 1: it exists; 0; -1. */
static int
has_partition(struct database *d, const char *month, struct error *err)
{
	const char *const values[] = { month };
	PGresult *result = ship_postgresql_query(d,
	    "SELECT to_regclass('" PARTITION "' || to_char($1::date, 'YYYY_MM')) "
	    "IS NOT NULL", 1, values, err);
	int has;

	if (result == NULL)
		return -1;
	has = *PQgetvalue(result, 0, 0) == 't';
	PQclear(result);
	return has;
}

/* ---- writing ---- */

static int
send_copy(struct database *d, struct error *err)
{
	int sent = d->copy.len == 0 || PQputCopyData(d->db, d->copy.data, (int)d->copy.len) == 1;

	buffer_clear(&d->copy);
	return sent ? 0 : ship_postgresql_set_error(d, NULL, err);
}

/* The row of a line. -1, ERROR_INVALID_INPUT: a column cannot represent what it has. */
static int
copy_line(struct buffer *out, const struct row *row, const char *run_id, int64_t month,
    struct error *err)
{
	if (strncmp(row->ts, "0000", 4) == 0)
		return error_set(err, ERROR_INVALID_INPUT, run_id, "date/time field value out of range: \"%s\"",
		    row->ts);
	copy_row(out, COPY_FIELDS);
	copy_date(out, month);
	copy_uuid(out, run_id);
	copy_bigint(out, row->seq);
	copy_uuid(out, row->event_id);
	copy_uuid(out, row->parent_event_id);
	copy_uuid(out, row->call);
	copy_text(out, buffer_string(&row->type_name), row->type_name.len);
	copy_text(out, buffer_string(&row->path), row->path.len);
	copy_timestamptz(out, row->wall);
	if (*row->cost == '\0')
		copy_null(out);
	else if (copy_numeric(out, row->cost) != 0)
		return error_set(err, ERROR_INVALID_INPUT, run_id, "cost out of range: %s", row->cost);
	copy_text(out, row->line.at, row->line.len);
	copy_jsonb(out, row->event);
	return 0;
}

static int
copy_run(struct database *d, const struct batch_run *sent, struct head *head, struct error *err)
{
	struct row *row = &d->row;
	int64_t month = 0;

	/* The database's, such as 2026-11-01. */
	if (head->first < sent->count && clock_parse(head->month, 0, &month) != 0)
		return error_set(err, ERROR_SYSTEM, PQdb(d->db), "the month %s is none", head->month);
	for (size_t i = head->first; i < sent->count; i++) {
		if (row_make(row, sent, i, err) != 0 ||
		    copy_line(&d->copy, row, sent->run_id, month, err) != 0)
			return -1;
		run_row_take(&head->told, row);
		if (d->copy.len >= COPY_BYTES && send_copy(d, err) != 0)
			return -1;
	}
	return 0;
}

/* Writes the new lines of all runs. */
static int
copy_all(struct database *d, const struct batch *b, struct head *heads, struct error *err)
{
	PGresult *result = PQexec(d->db, COPY);
	int failed = 0;

	if (PQresultStatus(result) != PGRES_COPY_IN)
		return ship_postgresql_set_error(d, result, err);
	PQclear(result);
	buffer_clear(&d->copy);
	copy_begin(&d->copy);
	for (size_t i = 0; failed == 0 && i < b->with_count; i++)
		if (!b->with[i]->refused)
			failed = copy_run(d, b->with[i], &heads[i], err);
	copy_end(&d->copy);
	if (failed != 0 || send_copy(d, err) != 0 || PQputCopyEnd(d->db, NULL) != 1)
		return failed != 0 || err->code != ERROR_NONE ? -1 :
		    ship_postgresql_set_error(d, NULL, err);
	result = PQgetResult(d->db);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		failed = ship_postgresql_set_error(d, result, err);
	else
		PQclear(result);
	while ((result = PQgetResult(d->db)) != NULL)
		PQclear(result);
	return failed;
}

static int
put_blob(void *context, const char *run_id, const char *sha256, const struct buffer *bytes,
    struct error *err)
{
	struct database *d = context;
	const char *const values[] = { run_id, sha256, buffer_string(bytes) };
	const int lengths[] = { 0, 0, (int)bytes->len }, formats[] = { 0, 0, 1 };
	PGresult *result = PQexecParams(d->db, "INSERT INTO agent_run_blobs VALUES "
	    "($1::uuid, $2, $3::bytea) ON CONFLICT DO NOTHING", 3, NULL, values, lengths, formats, 0);

	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		return ship_postgresql_set_error(d, result, err);
	PQclear(result);
	return 0;
}

static int
get_blob(void *context, const char *run_id, const char *sha256, const char *path,
    struct error *err)
{
	struct database *d = context;
	const char *const values[] = { run_id, sha256 };
	PGresult *result = PQexecParams(d->db, "SELECT data FROM agent_run_blobs WHERE run_id = $1::uuid AND "
	    "sha256 = $2 AND octet_length(data) <= " TARGET_BLOB_MOST, 2, NULL, values, NULL, NULL, 1);
	int got;

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		return ship_postgresql_set_error(d, result, err);
	got = PQntuples(result) == 0 ? 0 :
	    target_blob(path, PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0), err);
	PQclear(result);
	return got;
}

/* Updates the position of the run, and notifies listeners, who then query the rest. */
static int
put_head(struct database *d, const struct batch_run *sent, const struct head *head,
    struct error *err)
{
	const struct run_row *told = &head->told;
	char seq[24], started[24], ended[24];
	struct position now;
	const char *const values[] = { sent->run_id, seq, now.digest, *told->name ? told->name : NULL,
		*told->status ? told->status : NULL, *told->started ? told->started : NULL,
		told->started_seq > 0 ? started : NULL, told->ended_seq > 0 ? ended : NULL,
		told->begun ? "true" : "false" };

	batch_position(sent, &now);
	snprintf(seq, sizeof seq, "%lld", (long long)now.seq);
	snprintf(started, sizeof started, "%lld", (long long)told->started_seq);
	snprintf(ended, sizeof ended, "%lld", (long long)told->ended_seq);
	return ship_postgresql_run_statement(d,
	    "WITH head AS (UPDATE runs_head SET seq = $2::bigint, digest = $3, "
	    "name = coalesce($4, name), status = coalesce($5, status), "
	    "started = coalesce($6::timestamptz, started), "
	    "started_seq = coalesce($7::bigint, started_seq), "
	    "ended_seq = CASE WHEN $9::boolean THEN $8::bigint ELSE coalesce($8::bigint, ended_seq) END, "
	    "last_seen = clock_timestamp() WHERE run_id = $1::uuid RETURNING run_id, seq, status) "
	    "SELECT pg_notify('agent_runs', jsonb_build_object('run_id', run_id, 'seq', seq, 'status', "
	    "status)::text) FROM head", 9, values, err);
}

/* The transaction, up to its end. d->again: it must be repeated. */
static int
write_all(struct database *d, struct batch *b, struct head *heads, struct error *err)
{
	const char *there = "";     /* a month whose partition exists */
	char missing[11] = "";
	bool some = false;

	if (ship_postgresql_execute_script(d,
	    "BEGIN; LOCK TABLE agent_run_events IN ROW EXCLUSIVE MODE", err) != 0)
		return -1;
	for (size_t i = 0; i < b->with_count && *missing == '\0'; i++) {
		struct batch_run *sent = b->with[i];
		int has;

		if (sent->refused)
			continue;
		if (lock_head(d, sent, &heads[i], err) != 0) {
			if (err->code != ERROR_DIVERGENCE)
				return -1;
			target_refuse(sent, err);
			*err = (struct error)ERROR_INIT;
			continue;
		}
		some |= heads[i].first < sent->count;
		if (heads[i].first == sent->count || strcmp(heads[i].month, there) == 0)
			continue;
		has = has_partition(d, heads[i].month, err);
		if (has < 0)
			return -1;
		there = heads[i].month;
		if (has == 0)
			memcpy(missing, there, sizeof missing);
	}
	if (*missing != '\0') {
		roll_back(d);
		d->again = make_partition(d, missing, err) == 0;
		return -1;
	}
	if (some && copy_all(d, b, heads, err) != 0)
		return -1;
	for (size_t i = 0; i < b->with_count; i++) {
		const struct batch_run *sent = b->with[i];

		if (!sent->refused && heads[i].first < sent->count &&
		    (target_put_blobs(sent, put_blob, d, err) != 0 || put_head(d, sent, &heads[i], err) != 0))
			return -1;
	}
	return ship_postgresql_execute_script(d, "COMMIT", err);
}

static int
ship_postgresql_write_batch(void *context, struct batch *b, struct error *err)
{
	struct database *d = context;
	struct head *heads = memory_zero(b->with_count, sizeof *heads);
	int failed = -1;

	for (int i = 0; failed != 0 && i < TRIES; i++) {
		*err = (struct error)ERROR_INIT;
		d->again = false;
		failed = write_all(d, b, heads, err);
		if (failed != 0)
			roll_back(d);
		if (!d->again)
			break;
	}
	for (size_t i = 0; failed == 0 && i < b->with_count; i++) {
		struct position have;

		if (b->with[i]->refused)
			continue;
		batch_position(b->with[i], &have);
		target_have(b->with[i], &have);
	}
	free(heads);
	if (failed != 0 && err->code == ERROR_NONE)
		error_set(err, ERROR_SYSTEM, PQdb(d->db), "others remove what is to be written to");
	return failed;
}

/* ---- removing ---- */

/* Drops a partition that has become empty, unless somebody is writing. */
static int
drop_partition(struct database *d, const char *name, struct error *err)
{
	char *look = memory_format("SELECT 1 FROM %s LIMIT 1", name);
	char *drop = memory_format("DROP TABLE %s; COMMIT", name);
	PGresult *result = NULL;
	int failed = ship_postgresql_execute_script(d, "BEGIN; SET LOCAL lock_timeout = '1s'; "
	    "LOCK TABLE agent_run_events IN ACCESS EXCLUSIVE MODE", err);

	/* Another time. */
	if (failed != 0 && PQstatus(d->db) == CONNECTION_OK) {
		*err = (struct error)ERROR_INIT;
		failed = 0;
	} else if (failed == 0 && (result = ship_postgresql_query(d, look, 0, NULL, err)) == NULL) {
		failed = -1;
	} else if (failed == 0 && PQntuples(result) == 0) {
		failed = ship_postgresql_execute_script(d, drop, err);
	}
	PQclear(result);
	roll_back(d);
	free(drop);
	free(look);
	return failed;
}

/* Removes whole runs, by the server's clock; their heads stay, so that they are not sent again.
 * A run to which somebody is adding lines does not count as old. */
static int
ship_postgresql_prune_runs(void *context, struct error *err)
{
	struct database *d = context;
	char ms[24];
	const char *const values[] = { ms };
	PGresult *result;
	int failed = 0;

	snprintf(ms, sizeof ms, "%lld", (long long)d->keep_ms);
	if (ship_postgresql_run_statement(d,
	    "WITH old AS (UPDATE runs_head SET pruned_through = seq WHERE run_id IN ("
	    "SELECT run_id FROM runs_head WHERE seq > pruned_through AND "
	    "last_seen < now() - $1::bigint * interval '1 ms' ORDER BY run_id FOR UPDATE SKIP LOCKED) "
	    "RETURNING run_id, month), "
	    "blobs AS (DELETE FROM agent_run_blobs b USING old WHERE b.run_id = old.run_id) "
	    "DELETE FROM agent_run_events e USING old WHERE e.month = old.month AND e.run_id = old.run_id",
	    1, values, err) != 0 || ship_postgresql_execute_script(d, "NOTIFY agent_runs, '{}'",
	    err) != 0)
		return -1;
	result = ship_postgresql_query(d,
	    "SELECT c.oid::regclass FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
	    "WHERE i.inhparent = to_regclass('agent_run_events') AND c.relname < '" PARTITION "' || "
	    "to_char(now() - $1::bigint * interval '1 ms', 'YYYY_MM')", 1, values, err);
	if (result == NULL)
		return -1;
	for (int i = 0; failed == 0 && i < PQntuples(result); i++)
		failed = drop_partition(d, PQgetvalue(result, i, 0), err);
	PQclear(result);
	return failed;
}

int
main(int argc, char **argv)
{
	struct database d = { .db = NULL };
	const struct target target = { .program = PROGRAM, .form = "postgresql://[HOST]/DATABASE",
		.about = true, .blobs = true, .keeps = true, .open = open_database,
		.ask = ship_postgresql_ask_position,
		.write = ship_postgresql_write_batch, .put_blob = put_blob, .get_blob = get_blob,
		.prune = ship_postgresql_prune_runs, .close = close_database, .context = &d };

	return target_main(&target, argc, argv);
}
