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
