#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-ship where it, or its filter, is killed again and again, and where many ship the same: rows
# are the lines of the transcripts, and none is there twice.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/ship
load ../support/ship-kill

# A filter whose awf-ship was killed may be writing still.
empty() {
	sql 'BEGIN; DELETE FROM runs_head; DELETE FROM agent_run_events; DELETE FROM agent_run_texts; DELETE FROM agent_run_blobs; COMMIT'
}
cleanup() { ! mountpoint -q small || umount small; }

@test "SQLite: killed at any moment" {
	many_lines
	awf-ship --to "$TO"
	empty
	awf-ship --to "$TO" "$(basename "$(transcript)" .jsonl)"
	killed "$(rounds 6 200)"
}

@test "SQLite: killed at any moment while a new database is made and filled" {
	many_lines
	RANDOM=${SEED:-1}
	for ((round = 0; round < $(rounds 6 200); round++)); do
		rm -f runs.db*
		awf-ship --to "$TO" 2>/dev/null 3>&- &
		pid=$!
		nap "0.0$((RANDOM % 50 + 10))"
		victims=$pid
		((RANDOM % 2)) || victims=$(children "$pid")
		# shellcheck disable=SC2086
		[ -z "$victims" ] || kill -9 $victims 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		awf-ship --to "$TO"
		same_lines
		same "$(sql 'PRAGMA journal_mode')" wal
		same "$(sql 'PRAGMA integrity_check')" ok
	done
}

# bats test_tags=turn:3
@test "SQLite: 20 at once ship the same to one database" {
	many_lines
	at_once
}

@test "SQLite: awf-ship waits for another who writes to a file that keeps no log yet" {
	command -v sqlite3 >/dev/null || skip "no sqlite3"
	awf-run -n true
	reads() { [ "$(for p in $(pgrep -x awf-ship-sqlite); do ls -l "/proc/$p/fd" 2>/dev/null; done | grep -c -- "-> $PWD/runs.db$")" = 1 ]; }
	{
		echo 'BEGIN IMMEDIATE; CREATE TABLE another (a);'
		eventually test -e runs.db-journal
		awf-ship --to "$TO" 2>errors 3>&- &
		eventually reads
		# It asks again and again.
		nap 0.3
		echo 'COMMIT;'
		wait $!
	} | sqlite3 "$PWD/runs.db"
	same "$(cat errors)" ''
	same_lines
}

# bats test_tags=turn:3
@test "SQLite: 20 at once find a database without the index of runs" {
	many_lines
	awf-ship --to "$TO"
	for ((round = 0; round < $(rounds 3 20); round++)); do
		sql 'DROP INDEX runs_head_started'
		at_once
		same "$(sql "SELECT count(*) FROM sqlite_master WHERE name = 'runs_head_started'")" 1
	done
}

@test "what is sent was synced before" {
	awf-run -n --name a -c 'awf-step -n a -q -- true'
	mkdir filters
	cat >filters/awf-ship-mine <<-'END'
		#!/bin/sh
		echo '{"awf_ship":1}'
		while read -r line; do
			echo "$line" >>told
			run=$(printf '%s' "$line" | jq -r .run_id)
			printf '%s\n' "$line" | jq -c '{run_id, seq: (.seq // 0)}'
		done
	END
	chmod +x filters/awf-ship-mine
	PATH=$PWD/filters:$PATH
	run -0 env AWF_SYNC=step strace -f -y -o trace -e trace=fdatasync,write awf-ship --to mine:
	[[ $(grep -oE -m 2 "fdatasync\([0-9]+<$(transcript)>\) += 0|write\(.*\{.{0,2}seq.{0,2}:1," trace | cut -d'(' -f1 | xargs) == 'fdatasync write' ]]
	same "$(wc -l <told)" "$(($(wc -l <"$(transcript)") + 1))"
	run -0 env AWF_SYNC=none strace -f -o trace -e trace=fdatasync,write -P "$(transcript)" awf-ship --to mine:
	[[ $(<trace) != *'fdatasync('* ]]
	# One that fails is no less.
	run -4 --separate-stderr env AWF_SYNC=step strace -f -o trace -e inject=fdatasync:error=EIO -e trace=fdatasync -P "$(transcript)" awf-ship --to mine:
	[[ $stderr == *"awf-ship: $(transcript): unable to sync: Input/output error"* ]]
}

# bats test_tags=turn:3
@test "a full disk is no loss" {
	many_lines
	mkdir small
	mount -t tmpfs -o size=300k none small 2>/dev/null || skip 'needs to mount'
	TO=sqlite:$PWD/small/runs.db
	run -4 --separate-stderr awf-ship --to "$TO"
	[[ $stderr == "awf-ship-sqlite: $PWD/small/runs.db: database or disk is full" ]]
	mount -o remount,size=100m small
	awf-ship --to "$TO"
	same_lines
}
