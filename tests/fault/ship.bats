#!/usr/bin/env bats
# awf-ship where it, or its filter, is killed again and again, and where many ship the same: rows
# are the lines of the transcripts, and none is there twice.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/ship

# Transcripts that take a while: some hundred lines each.
many_lines() {
	local i
	for i in 1 2 3; do
		awf-run -n --name "run$i" -c 'seq 60 | awf-step -i lines a -q -- sh -c "head -c $((RANDOM % 3000)) /dev/zero | tr \"\\0\" x"' >/dev/null
	done
}

# The children of a process.
children() { cat "/proc/$1/task/$1/children" 2>/dev/null || true; }

# ROUNDS: awf-ship or its filter is killed after up to 60 ms, and then it is started anew.
killed() {
	local round pid victims
	RANDOM=${SEED:-1}
	for ((round = 0; round < $1; round++)); do
		awf-ship --to "$TO" 2>/dev/null 3>&- &
		pid=$!
		nap "0.0$((RANDOM % 50 + 10))"
		victims=$pid
		((RANDOM % 2)) || victims=$(children "$pid")
		# shellcheck disable=SC2086
		[ -z "$victims" ] || kill -9 $victims 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		# What is there is a beginning of each run.
		same "$(sql 'SELECT (SELECT count(*) FROM agent_run_events) - (SELECT coalesce(sum(seq), 0) FROM runs_head)')" 0
		# Once all is there: from the beginning.
		if awf-ship --to "$TO" && ((round % 3 == 2)); then
			same_lines
			empty
		fi
	done
	awf-ship --to "$TO"
	same_lines
}

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

@test "SQLite: 20 at once ship the same to one database" {
	many_lines
	local pids=() i
	for i in {1..20}; do
		awf-ship --to "$TO" 2>"err.$i" 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; done
	same "$(cat err.*)" ''
	same_lines
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
	run -0 env AWF_SYNC=step strace -f -o trace -e trace=fdatasync,write -P "$(transcript)" awf-ship --to mine:
	[[ $(<trace) == *'fdatasync('*'= 0'* ]]
	same "$(wc -l <told)" "$(($(wc -l <"$(transcript)") + 1))"
	run -0 env AWF_SYNC=none strace -f -o trace -e trace=fdatasync,write -P "$(transcript)" awf-ship --to mine:
	[[ $(<trace) != *'fdatasync('* ]]
	# One that fails is no less.
	run -4 --separate-stderr env AWF_SYNC=step strace -f -o trace -e inject=fdatasync:error=EIO -e trace=fdatasync -P "$(transcript)" awf-ship --to mine:
	[[ $stderr == *"awf-ship: $(transcript): unable to sync: Input/output error"* ]]
}

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
