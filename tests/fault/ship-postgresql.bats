#!/usr/bin/env bats
# awf-ship where it, its filter, or PostgreSQL is killed again and again, and where many ship the
# same at once: rows are the lines of the transcripts, and none is there twice.
# shellcheck shell=bash disable=SC2016,SC2154
# bats file_tags=ci
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/ship
load ../support/ship-kill
load ../support/postgresql

setup_file() { postgresql_begin; }
teardown_file() { postgresql_end; }

cleanup() { [ -z "${SHIP_PID-}" ] || kill "$SHIP_PID" 2>/dev/null || true; }

empty() { sql 'BEGIN; TRUNCATE runs_head, agent_run_events, agent_run_blobs; COMMIT'; }

@test "PostgreSQL: awf-ship and its filter are killed at any moment" {
	many_lines
	awf-ship --to "$TO"
	empty
	killed "$(rounds 4 140)"
}

@test "PostgreSQL: the server is killed at any moment, and awf-ship -f goes on" {
	many_lines
	local round
	# What is acknowledged outlives a crash of the server only if it was synced.
	export AWF_SYNC=step
	for ((round = 0; round < $(rounds 2 60); round++)); do
		awf-ship --to "$TO"
		empty
		awf-ship -f --to "$TO" 2>errors 3>&- &
		SHIP_PID=$!
		nap "0.0$((RANDOM % 90 + 10))"
		postgresql_crash
		eventually all_there
		kill "$SHIP_PID"
		wait "$SHIP_PID" || true
		SHIP_PID=
		same_lines
	done
}

@test "PostgreSQL: 20 at once ship the same to one database that is empty" {
	many_lines
	at_once
}

# SQL: awf-ship begins while another makes tables, and waits until it has said this and committed.
ship_behind_another() {
	local lock
	lock=$(sed -n 's/^#define LOCK "\([0-9]*\)".*/\1/p' "$ROOT/cmd/ship/postgresql_main.c")
	advisory() { [ "$(sql "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted")" = 1 ]; }
	waits() { [ "$(sql 'SELECT count(*) > 0 FROM pg_locks WHERE NOT granted')" = t ]; }
	{
		echo "BEGIN; SELECT pg_advisory_xact_lock($lock);"
		eventually advisory
		echo "$1"
		awf-ship --to "$TO" 2>errors 3>&- &
		eventually waits
		echo 'COMMIT;'
		wait $!
	} | psql -XqAt -v ON_ERROR_STOP=1 >made
	same "$(cat errors)" ''
	same_lines
}

@test "PostgreSQL: tables that another has made while awf-ship waited to make them stay as they are" {
	awf-run -n true
	ship_behind_another "$(cat "$ROOT/cmd/ship/postgresql.sql"); COMMENT ON TABLE runs_head IS 'awf 1';
		SELECT 'runs', 'runs'::regclass::oid;"
	same "$(grep '^runs|' made)" "runs|$(sql "SELECT 'runs'::regclass::oid")"
}

@test "PostgreSQL: two at once find a database without the index of runs" {
	awf-run -n true
	awf-ship --to "$TO"
	sql 'DROP INDEX runs_head_started'
	awf-run -n true
	ship_behind_another 'CREATE INDEX runs_head_started ON runs_head (started);'
}
