#!/usr/bin/env bats
# awf-serve --db where PostgreSQL, the filters, awf-mirror or awf-serve are killed again and again:
# what is served is the record, each line once; and what was acknowledged is in the database, once.
# shellcheck shell=bash disable=SC2016,SC2154
# bats file_tags=ci
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/postgresql
load ../support/serve-db
load ../support/ship-kill

setup_file() { export PGFSYNC=on; postgresql_begin; }
teardown_file() { postgresql_end; }

# What there is of each run in the directory is a beginning of it.
beginnings() {
	local file
	for file in cache1/awf/db/*/*/record/transcripts/*.jsonl; do
		# One that is made anew is gone for a moment.
		cp "$file" was 2>/dev/null || continue
		cmp -n "$(stat -c %s was)" was "$AWF_STORAGE/transcripts/$(basename "$file")" || return 1
	done
}

# The processes of a kind that belong to server N: 1: awf-mirror, 2: its filter, 3: those by which it
# sends, which its threads have started.
processes() {
	local pid name
	for pid in $(cat /proc/"${SERVERS[$1]}"/task/*/children 2>/dev/null); do
		name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
		case $2$name in
		1awf-mirror | 3awf-ship*) echo "$pid" ;;
		2awf-mirror) children "$pid" ;;
		esac
	done
}
find_victims() { victims=$(processes "$1" "$2" | xargs) && [ -n "$victims" ]; }

# N KIND: kills something of what server N is made of; who dies of it is started anew.
kill_one() {
	local victims=
	case $2 in
	0) postgresql_crash ;;
	4)
		kill -9 "${SERVERS[$1]}"
		wait "${SERVERS[$1]}" 2>/dev/null || true
		serve_db "$1" ;;
	*)
		# It may just have been killed.
		eventually find_victims "$1" "$2"
		# shellcheck disable=SC2086
		kill -9 $victims || return 0 ;;
	esac
	echo "$2" >>kills
}

# What was killed.
kinds() { sort -u kills | xargs; }

# Whether a server shows all transcripts as they are.
all_as_here() {
	local file
	for file in "$AWF_STORAGE"/transcripts/*.jsonl; do
		ask "$1" "/api/runs/$(basename "$file" .jsonl)/events" | cmp -s - "$file" || return 1
	done
}

@test "PostgreSQL: what is served is the record, whatever is killed while runs come and go on" {
	local i
	on_postgresql
	RANDOM=${SEED:-1}
	serve_db 1
	awf-ship -f --to "$TO" 2>/dev/null 3>&- &
	SHIP_PID=$!
	for ((i = 0; i < $(rounds 10 80); i++)); do
		awf-run -n --name "run$i" -c 'seq 12 | awf-step -i lines a -q -- sh -c "head -c $((RANDOM % 3000)) /dev/zero | tr \"\\0\" x"' >/dev/null 3>&- &
		RUN_PID=$!
		nap "0.$((RANDOM % 20 + 10))"
		kill_one 1 "$((i % 4 + i % 4 / 3))"
		beginnings
		wait "$RUN_PID"
	done
	eventually all_as_here 1
	beginnings
	same "$(kinds)" '0 1 2 4'
	# None is thought to have died.
	same "$(ask 1 '/api/runs?limit=1000' | jq -r '[.runs[].status] | unique | join(" ")')" success
}

# N M: sends event M of a run until it is acknowledged.
send_until() {
	local answer
	for _ in {1..400}; do
		answer=$(jq -nc --arg m "$2" '{type: "note", runId: "shared", event_id: $m, text: $m}' |
			ask "$1" /api/ingest -H 'Content-Type: application/x-ndjson' --data-binary @- 2>/dev/null |
			jq -r 'if .error == null then .accepted + .duplicates else 0 end' 2>/dev/null)
		[ "$answer" != 1 ] || { echo "$2" >>"acknowledged.$1"; return 0; }
		nap 0.05
	done
	return 1
}

@test "PostgreSQL: what two servers have acknowledged is in the database, once, whatever is killed" {
	local i n pids
	on_postgresql
	export AWF_SYNC=step
	RANDOM=${SEED:-2}
	serve_db 1
	serve_db 2
	for ((i = 0; i < $(rounds 10 80); i++)); do
		pids=()
		for n in 1 2; do
			send_until $n "$i" 3>&- &
			pids+=($!)
			send_until $n "$n of $i" 3>&- &
			pids+=($!)
		done
		nap "0.0$((RANDOM % 60 + 10))"
		kill_one "$((RANDOM % 2 + 1))" "$((i % 5))"
		for n in "${pids[@]}"; do wait "$n"; done
	done
	same "$(kinds)" '0 1 2 3 4'
	sql "SELECT event #>> '{payload,data,text}' FROM agent_run_events WHERE type = 'note' ORDER BY 1" >there
	same "$(uniq -d there)" ''
	same "$(sort -u acknowledged.* | LC_ALL=C sort)" "$(LC_ALL=C sort there)"
	sql 'SELECT line FROM agent_run_events ORDER BY seq' >whole
	awf-verify -q whole
	same "$(wc -l <whole)" "$((3 * i + 1))"
	for n in 1 2; do
		run=$(sql 'SELECT run_id FROM runs_head')
		served_whole() { ask "$n" "/api/runs/$run/events" | cmp -s - whole; }
		eventually served_whole
	done
}

note() { jq -nc --arg run "$1" '{type: "note", runId: $run, text: "x"}' | ask 1 /api/ingest -m 120 -H 'Content-Type: application/x-ndjson' --data-binary @-; }

@test "PostgreSQL: a database that hangs is waited for once for all, and not at the end" {
	local i begun posts=()
	on_postgresql
	serve_db 1
	same "$(note 0 | jq -c '[.accepted, .error]')" '[1,null]'
	postgresql_signal STOP
	STOPPED=1
	begun=$SECONDS
	for i in 1 2 3 4 5 6; do
		note "$i" >"answer$i" 3>&- &
		posts+=($!)
	done
	wait "${posts[@]}"
	[ $((SECONDS - begun)) -lt 50 ]
	same "$(jq -c '[.accepted, .error.code]' answer? | sort -u)" '[0,"unavailable"]'
	note 7 >answer 3>&- &
	posts=($!)
	nap 0.5
	begun=$SECONDS
	serve_db_end 1
	[ $((SECONDS - begun)) -lt 9 ]
	wait "${posts[@]}" || true
	postgresql_signal CONT
	STOPPED=
	serve_db 1
	same "$(note 0 | jq -c '[.accepted, .error]')" '[1,null]'
}
