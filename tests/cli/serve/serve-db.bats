#!/usr/bin/env bats
# bats file_tags=turn:3
# awf-serve --db: the runs of a database that awf-ship fills, served by any number of servers. Each
# test is made with SQLite and with PostgreSQL. Kills are in tests/fault/serve-db.bats.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/ship
load ../../support/postgresql
load ../../support/serve-db

setup_file() { postgresql_begin; }
teardown_file() { postgresql_end; }

# Whether the runs of the storage are served, byte for byte, as they are listed here.
all_served() {
	local file run blob
	same "$(ask "${1:-1}" '/api/runs?children=1' | jq -c '[.runs[] | [.run_id, .name, .status, .events]] | sort')" \
		"$(awf-tail --list -R --json | jq -sc '[.[] | [.run_id, .name, .status, .events]] | sort')"
	for file in "$AWF_STORAGE"/transcripts/*.jsonl; do
		run=$(basename "$file" .jsonl)
		ask "${1:-1}" "/api/runs/$run/events" | cmp - "$file" || return 1
		for blob in "$AWF_STORAGE/blobs/$run"/*; do
			[ ! -e "$blob" ] || ask "${1:-1}" "/api/runs/$run/blobs/$(basename "$blob")" | cmp - "$blob" || return 1
		done
	done
}

served_whole() {
	runs
	awf-ship --to "$TO"
	serve_db 1
	copied 1
	all_served
	same "$(ask 1 "/api/runs/$(latest)" | jq -r .origin)" "$(hostname)"
	# What comes later: a decision behind an end, an attempt, another run.
	awf-ctl approve check @waits
	awf-run --resume @waits >/dev/null
	awf-run -n --name later -c 'awf-step -n a -q -- true'
	awf-ship --to "$TO"
	eventually all_served 2>/dev/null
	# What is kept is not copied again.
	inodes=$(cd cache1/awf/db/*/0/record/transcripts && stat -c '%n %i' ./*)
	serve_db_end 1
	awf-run -n --name meanwhile true
	awf-ship --to "$TO"
	serve_db 1
	eventually all_served 2>/dev/null
	same "$(cd cache1/awf/db/*/0/record/transcripts && stat -c '%n %i' ./* | grep -v "$(latest)")" "$inodes"
	same "$(cat serve1.err | grep -v 'unix:')" ''
}
# bats test_tags=turn:2
@test "SQLite: all runs are served, byte for byte, and what comes later; the next start copies only that" { on_sqlite; served_whole; }
# bats test_tags=turn:2
@test "PostgreSQL: all runs are served, byte for byte, and what comes later; the next start copies only that" { on_postgresql; served_whole; }

two_servers() {
	local i
	serve_db 1
	serve_db 2
	awf-ship -f --to "$TO" 2>ship.err 3>&- &
	SHIP_PID=$!
	id=11111111-2222-4333-8444-555555555555
	awf-run --name live --id $id -c 'for i in 1 2 3 4 5 6; do
		printf "$i\n" | awf-step -i lines "s$i" -- sh -c "sleep 0.1; cat" >/dev/null; done
		until [ -e seen ]; do sleep 0.05; done; awf-step -n last -q -- true' </dev/null >/dev/null 3>&- &
	RUN_PID=$!
	for i in 1 2; do
		eventually has_begun $i $id
		ask $i "/api/runs/$id/events/stream" >"stream$i" 3>&- &
		same "$(ask $i "/api/runs/$id" | jq -c '[.status, .alive]')" '["running",true]'
	done
	touch seen
	wait "$RUN_PID"
	for i in 1 2; do
		eventually grep -q '^event: end' "stream$i"
		# Each line once, in order, and its end.
		sed -n 's/^data: //p' "stream$i" | head -n -1 | cmp - "$AWF_STORAGE/transcripts/$id.jsonl"
		same "$(grep -A1 '^event: end' "stream$i" | sed -n 's/^data: //p' | jq -c '[.status, .alive]')" '["success",false]'
		! grep -q '^event: reset\|died' "stream$i"
	done
	same "$(cat ship.err)" ''
}
@test "SQLite: two servers of one database show a run as it goes on, each event once" { on_sqlite; two_servers; }
# bats test_tags=ci
@test "PostgreSQL: two servers of one database show a run as it goes on, each event once" { on_postgresql; two_servers; }

removed_and_replaced() {
	gone=11111111-2222-4333-8444-555555555555 other=21111111-2222-4333-8444-555555555555
	awf-run -n --name gone --id $gone -c 'test -e ok' 2>/dev/null || true
	awf-run -n --name first --id $other -c 'awf-step -n a -q -- true'
	awf-run -n --name stays true
	awf-ship --to "$TO"
	serve_db 1
	copied 1
	same "$(names 1)" 'first gone stays'
	sql "UPDATE runs_head SET last_seen = '2020-01-01T00:00:00Z' WHERE run_id = '$gone'"
	awf-ship --keep 90d --to "$TO"
	eventually names_are 1 'first stays'
	same "$(status_of_run 1 $gone)" 404
	# It goes on: its beginning is not there any more.
	touch ok
	awf-run --resume $gone
	awf-run -n --name later true
	awf-ship --to "$TO"
	eventually names_are 1 'first later stays'
	same "$(sql "SELECT count(*) > 0 FROM agent_run_events WHERE run_id = '$gone'" | tr t 1)" 1
	same "$(status_of_run 1 $gone)" 404
	# The database is made anew, with another run of this id, while nobody looks.
	serve_db_end 1
	for table in runs_head agent_run_events agent_run_blobs; do sql "DELETE FROM $table"; done
	AWF_STORAGE=$PWD/another awf-run -n --name second --id $other -c 'awf-step -n b -q -- true; awf-step -n c -q -- true'
	AWF_STORAGE=$PWD/another awf-ship --to "$TO"
	serve_db 1
	eventually names_are 1 second
	ask 1 "/api/runs/$other/events" | cmp - "another/transcripts/$other.jsonl"
	# And while one does.
	ask 1 "/api/runs/$other/events/stream?follow=always" >stream 3>&- &
	eventually grep -q '^id: 6-' stream
	for table in runs_head agent_run_events agent_run_blobs; do sql "DELETE FROM $table"; done
	awf-ship --to "$TO"
	eventually names_are 1 'first gone later stays'
	ask 1 "/api/runs/$other/events" | cmp - "$AWF_STORAGE/transcripts/$other.jsonl"
	eventually grep -q '"removed"' stream
	ask 1 "/api/runs/$other/events/stream" -H "Last-Event-ID: $(sed -n 's/^id: //p' stream | tail -n 1)" >again
	same "$(grep -c '^event: reset' again)" 1
	sed -n 's/^data: {"seq"/{"seq"/p' again | cmp - "$AWF_STORAGE/transcripts/$other.jsonl"
}
@test "SQLite: what --keep has removed is not served, nor what was replaced" { on_sqlite; removed_and_replaced; }
# bats test_tags=ci
@test "PostgreSQL: what --keep has removed is not served, nor what was replaced" { on_postgresql; removed_and_replaced; }

@test "SQLite: a database that is not there yet is waited for" {
	on_sqlite
	serve_db 1
	same "$(names 1)" ''
	awf-run -n --name first true
	awf-ship --to "$TO"
	eventually names_are 1 first
}

@test "PostgreSQL: what there is, is served while the database is gone, and what comes then, afterwards" {
	on_postgresql
	awf-run -n --name before true
	awf-ship --to "$TO"
	serve_db 1
	copied 1
	postgresql_crash_begin
	eventually metric_is 1 connected 0
	same "$(names 1)" before
	eventually grep -q 'is tried again' serve1.err
	postgresql_start
	awf-run -n --name after true
	awf-ship --to "$TO"
	eventually names_are 1 'after before'
	same "$(grep -c 'is tried again' serve1.err)" 1
	same "$(grep -c 'can be reached again' serve1.err)" 1
}

@test "what cannot be done there is refused in a word" {
	on_sqlite
	mkdir -p "$AWF_STORAGE" flows
	run -1 --separate-stderr awf-serve --db nowhere
	same "$stderr" "awf-serve: --db: 'nowhere' is no URL, such as sqlite:FILE"
	run -1 --separate-stderr awf-serve --db redis:x
	[[ $stderr == "awf-serve: --db: nothing here can read from redis: there is no awf-mirror-redis in "* ]]
	run -1 --separate-stderr awf-serve --db "$TO" --workflows flows
	[[ $stderr == 'awf-serve: --workflows: runs that hooks start are recorded in the storage, and not in a database'* ]]
	# What is no database of ours.
	sqlite3 other.db 'PRAGMA user_version = 7'
	run -1 --separate-stderr env XDG_CACHE_HOME="$PWD/cache" timeout 20 awf-serve --db sqlite:other.db --listen "unix:$PWD/socket"
	[[ $stderr == *'other.db: was made by a later version of AWF, or by another program' ]]
	echo x | awf-run --name waits -c 'awf-step --approve check' >/dev/null 2>&1 || true
	awf-ship --to "$TO"
	serve_db 1
	copied 1
	same "$(ask 1 "/api/runs/$(latest)/decisions" -H 'Content-Type: application/json' -d '{"decision":"approve","call":"check"}' | jq -r '.error.code')" forbidden
	same "$(ask 1 /hooks/x -H 'Content-Type: application/json' -d x | jq -r .error.code)" not_found
}

# N PATH FILE
served_as() { ask "$1" "$2" | cmp -s - "$3"; }
# N [CURL OPTION...]: what comes of stdin as a body of lines.
post() { ask "$1" /api/ingest -H 'Content-Type: application/x-ndjson' --data-binary @- "${@:2}"; }
# NAME TEXT: an event of another program.
event() { jq -nc --arg run "$1" --arg id "$2" '{type: "note", runId: $run, event_id: $id, text: $id}'; }

taken_in() {
	serve_db 1
	serve_db 2
	runs
	id=$(latest)
	# The record of another storage, half here, half there, and once more: each line once.
	head -n 1 "$(transcript)" | post 1 >answer
	same "$(jq -c '[.accepted, .duplicates, .runs]' answer)" "[1,0,[\"$id\"]]"
	cat "$(transcript)" | post 2 >answer
	same "$(jq -c '[.accepted + .duplicates, .error]' answer)" "[$(wc -l <"$(transcript)"),null]"
	post 1 <"$(transcript)" | jq -c '[.accepted, .duplicates]' >answer
	same "$(sql 'SELECT count(*), max(seq) FROM agent_run_events')" "$(wc -l <"$(transcript)")|$(wc -l <"$(transcript)")"
	same "$(sql 'SELECT origin FROM runs_head')" local
	for i in 1 2; do
		eventually served_as $i "/api/runs/$id/events" "$(transcript)"
		same "$(ask $i "/api/runs/$id" | jq -c '[.status, .alive, .origin]')" '["success",false,"local"]'
	done
	# Whose a run is, that was sent by another, is known to all servers.
	awf-ship --to "$TO" 2>/dev/null || true
	other=$(basename "$(ls "$AWF_STORAGE"/transcripts/*.jsonl | grep -v "$id" | head -n 1)" .jsonl)
	same "$(post 1 <"$AWF_STORAGE/transcripts/$other.jsonl" | jq -r .error.code)" forbidden
	# A gap, and another record of the same id.
	AWF_STORAGE=$PWD/there awf-run -n --name there -c 'for i in 1 2 3; do awf-step -n "s$i" -q -- true; done'
	there=$(AWF_STORAGE=$PWD/there; transcript)
	AWF_STORAGE=$PWD/again awf-run -n --name again --id "$(basename "$there" .jsonl)" -c 'awf-step -n other -q -- true'
	head -n 3 "$there" | post 1 | jq -e '.accepted == 3' >/dev/null
	same "$(sed -n '6,$p' "$there" | post 2 | jq -c '[.error.code, .wanted]')" '["gap",4]'
	same "$(post 2 <"again/transcripts/$(basename "$there")" | jq -c '[.error.code, .wanted]')" '["conflict",4]'
	same "$(post 2 <"$there" | jq -c '[.accepted, .duplicates]')" '[5,3]'
	# The same from a server that has not seen it go on.
	same "$(post 1 <"again/transcripts/$(basename "$there")" | jq -c .error.code)" '"conflict"'
	same "$(post 1 <"$there" | jq -c '[.accepted, .duplicates]')" '[0,8]'
	same "$(sql "SELECT line FROM agent_run_events WHERE run_id = '$(basename "$there" .jsonl)' ORDER BY seq")" "$(cat "$there")"
}
@test "SQLite: lines that are sent to either server are in the database, once" { on_sqlite; taken_in; }
# bats test_tags=ci
@test "PostgreSQL: lines that are sent to either server are in the database, once" { on_postgresql; taken_in; }

# What both servers take in at once, of one run: lines, and events, each sent to both.
taken_in_at_once() {
	local i n pids=()
	serve_db 1
	serve_db 2
	many=$(rounds 8 100)
	awf-run -n --name many -c "for i in $(seq -s ' ' "$many"); do awf-step -n s\$i -q -- true; done"
	for ((n = 1; n <= $(wc -l <"$(transcript)"); n += 3)); do
		for i in 1 2; do
			sed -n "1,$((n + 2))p" "$(transcript)" | post $i >"lines.$i" 3>&- &
			pids+=($!)
			event release "$n" | post $i >"events.$i.$n" 3>&- &
			pids+=($!)
			event release "$i of $n" | post $i >"own.$i.$n" 3>&- &
			pids+=($!)
		done
		wait "${pids[@]}"
		pids=()
		same "$(jq -c .error lines.1 lines.2 events.?."$n" own.?."$n" | sort -u)" null
	done
	same "$(sql "SELECT count(*) FROM agent_run_events WHERE run_id = '$(latest)'")" "$(wc -l <"$(transcript)")"
	release=$(jq -r '.runs[0]' events.1.1)
	n=$(ls events.1.* | wc -l)
	same "$(sql "SELECT count(*), max(seq) FROM agent_run_events WHERE run_id = '$release'")" "$((3 * n + 1))|$((3 * n + 1))"
	# Its end, which the other server sees to be there.
	same "$(ask 1 /api/runs/release/end -H 'Content-Type: application/json' -d '{"status":"success"}' | jq -r .status)" success
	same "$(ask 2 /api/runs/release/end -H 'Content-Type: application/json' -d '{"status":"failed"}' | jq -r .error.code)" conflict
	same "$(event release late | post 2 | jq -r .error.code)" conflict
	same "$(event release 1 | post 2 | jq -c '[.accepted, .duplicates]')" '[0,1]'
	for i in 1 2; do
		eventually has_ended $i "$release"
		ask $i "/api/runs/$release/events" >"release.$i"
		awf-verify -q "release.$i"
		same "$(jq -r 'select(.type == "note").payload.data.text' "release.$i" | sort | uniq -d)" ''
		same "$(jq -r 'select(.type == "note").payload.data.text' "release.$i" | wc -l)" "$((3 * n))"
	done
	cmp release.1 release.2
}
has_ended() { [ "$(ask "$1" "/api/runs/$2" | jq -r .status)" = success ]; }
@test "SQLite: two servers take in the same run at once, and each event is there once" { on_sqlite; taken_in_at_once; }
# bats test_tags=turn:3
@test "PostgreSQL: two servers take in the same run at once, and each event is there once" { on_postgresql; taken_in_at_once; }

blobs_taken_in() {
	serve_db 1
	serve_db 2
	awf-run -n --name big -c 'head -c 400000 /dev/zero | tr "\0" x | awf-step -q big -- cat'
	blob=$(ls "$AWF_STORAGE/blobs/$(latest)" | head -n 1)
	put() { ask "$1" "/api/runs/$(latest)/blobs/$blob" -T "$2" -o answer -w '%{http_code}'; }
	same "$(put 1 /dev/null)" 400
	same "$(put 1 "$AWF_STORAGE/blobs/$(latest)/$blob")" 201
	# It is in the database by now, whatever becomes of this server, and the line comes to another.
	same "$(sql "SELECT count(*) FROM agent_run_blobs")" 1
	kill -9 "${SERVERS[1]}"
	post 2 <"$(transcript)" | jq -e '.accepted > 0' >/dev/null
	eventually served_as 2 "/api/runs/$(latest)/blobs/$blob" "$AWF_STORAGE/blobs/$(latest)/$blob"
	# One that comes after its line: to whichever server, all have it.
	serve_db 1
	awf-run -n --name late -c 'head -c 400000 /dev/zero | tr "\0" z | awf-step -q big -- cat'
	blob=$(ls "$AWF_STORAGE/blobs/$(latest)" | head -n 1)
	post 1 <"$(transcript)" | jq -e '.missing_blobs > 0' >/dev/null
	for i in 1 2; do
		eventually served_as $i "/api/runs/$(latest)/events" "$(transcript)"
		same "$(ask $i "/api/runs/$(latest)/blobs/$blob" | jq -r .error.code)" not_found
	done
	same "$(put 1 "$AWF_STORAGE/blobs/$(latest)/$blob")" 201
	for i in 1 2; do served_as $i "/api/runs/$(latest)/blobs/$blob" "$AWF_STORAGE/blobs/$(latest)/$blob"; done
	# What the database has counts neither as missing, nor as waiting for its run.
	serve_db 3 --blob-quota 1M
	awf-run -n --name first -c 'head -c 400000 /dev/zero | tr "\0" w | awf-step -q big -- cat'
	blob=$(ls "$AWF_STORAGE/blobs/$(latest)" | head -n 1)
	for i in 1 2 3 4; do same "$(put 3 "$AWF_STORAGE/blobs/$(latest)/$blob")" 201; done
	for i in {1..20}; do
		head -c 90000 /dev/urandom >bytes
		same "$(ask 3 "/api/runs/$(printf '%08d' "$i")-1111-4111-8111-111111111111/blobs/$(sha256sum bytes | cut -d' ' -f1)" -T bytes -o answer -w '%{http_code}')" 201
	done
	same "$(post 3 <"$(transcript)" | jq -c '[.accepted > 0, .missing_blobs]')" '[true,0]'
	eventually served_as 3 "/api/runs/$(latest)/blobs/$blob" "$AWF_STORAGE/blobs/$(latest)/$blob"
	awf-run -n --name begun -c 'awf-step -n a -q -- true; head -c 400000 /dev/zero | tr "\0" v | awf-step -q big -- cat'
	blob=$(ls "$AWF_STORAGE/blobs/$(latest)" | head -n 1)
	head -n 2 "$(transcript)" | post 3 | jq -e '.accepted == 2' >/dev/null
	same "$(put 3 "$AWF_STORAGE/blobs/$(latest)/$blob")" 201
	same "$(post 3 <"$(transcript)" | jq -c '[.accepted > 0, .missing_blobs]')" '[true,0]'
	eventually served_as 3 "/api/runs/$(latest)/blobs/$blob" "$AWF_STORAGE/blobs/$(latest)/$blob"
	[ "$(du -s --apparent-size -k cache3/awf/db/*/0/outgoing | cut -f1)" -lt 700 ]
	# Of another's run none is taken.
	awf-run -n --name another -c 'head -c 400000 /dev/zero | tr "\0" y | awf-step -q big -- cat'
	awf-ship --to "$TO" --blobs 0 2>/dev/null || true
	blob=$(ls "$AWF_STORAGE/blobs/$(latest)" | head -n 1)
	eventually has_begun 2 "$(latest)"
	same "$(put 2 "$AWF_STORAGE/blobs/$(latest)/$blob")" 403
}
@test "SQLite: a blob that is sent is in the database before it is acknowledged" { on_sqlite; blobs_taken_in; }
# bats test_tags=ci
@test "PostgreSQL: a blob that is sent is in the database before it is acknowledged" { on_postgresql; blobs_taken_in; }

@test "PostgreSQL: what is sent while the database is gone is not acknowledged, and is taken afterwards" {
	on_postgresql
	serve_db 1
	awf-run -n --name one true
	head -n 1 "$(transcript)" | post 1 | jq -e '.accepted == 1' >/dev/null
	postgresql_crash_begin
	same "$(post 1 <"$(transcript)" | jq -c '[.accepted, .error.code]')" '[0,"unavailable"]'
	same "$(event x 1 | post 1 | jq -c '[.accepted, .error.code]')" '[0,"unavailable"]'
	postgresql_start
	same "$(event x 1 | post 1 | jq -c '[.accepted, .error]')" '[1,null]'
	same "$(post 1 <"$(transcript)" | jq -c '[.accepted + .duplicates, .error]')" '[2,null]'
	same "$(sql 'SELECT count(*) FROM agent_run_events')" 4
}

@test "PostgreSQL: a line that it cannot hold is its sender's fault, and is no run" {
	on_postgresql
	AWF_STORAGE=$PWD/another awf-run -n --name early true
	line=$(AWF_STORAGE=$PWD/another awf-tail --json | head -n 1)
	id=$(jq -r .run_id <<<"$line")
	serve_db 1
	sed 's/"timestamp":"[0-9]*-/"timestamp":"0000-/' <<<"$line" | post 1 -w '%{http_code}\n' >answer
	same "$(tail -n 1 answer)" 400
	same "$(head -n 1 answer | jq -c --arg id "$id" '[.accepted, .error.code, .error.run_id == $id, (.error.message | test("cannot hold it"))]')" \
		'[0,"invalid_input",true,true]'
	same "$(status_of_run 1 "$id")" 404
	# The run is anybody's still.
	sed 's/"timestamp":"[0-9]*-/"timestamp":"0001-/' <<<"$line" | post 1 >answer
	same "$(jq .accepted answer)" 1
	eventually names_are 1 early
}

@test "a wrong table of prices stops the start" {
	on_sqlite
	mkdir -p "$AWF_STORAGE" "$XDG_CONFIG_HOME/awf"
	echo nonsense >"$XDG_CONFIG_HOME/awf/prices"
	run -2 --separate-stderr env XDG_CACHE_HOME="$PWD/cache" timeout 20 awf-serve --db "$TO" --listen "unix:$PWD/socket"
	[[ $stderr == *prices* ]]
}

@test "SQLite: an event without an id is there once, also where another run of its body was gone on with elsewhere" {
	on_sqlite
	serve_db 1
	serve_db 2
	same "$(event a 1 | post 1 | jq -c '[.accepted, .error]')" '[1,null]'
	for i in 1 2 3; do
		same "$(event b "$i.1" | post 1 | jq -c '[.accepted, .error]')" '[1,null]'
		same "$(event b "$i.2" | post 2 | jq -c '[.accepted, .error]')" '[1,null]'
		{
			echo '{"type":"note","runId":"a","text":"anonymous"}'
			echo '{"events":[{"type":"note","runId":"a","text":"anonymous"},{"type":"note","runId":"a","text":"anonymous"}]}'
			event b "$i.3"
		} | post 1 >answer
		same "$(jq -c '[.accepted, .duplicates, .error]' answer)" '[4,0,null]'
		same "$(sql "SELECT count(*) FROM agent_run_events WHERE line LIKE '%anonymous%'")" "$((3 * i))"
	done
}

@test "SQLite: what was removed before it was sent is not acknowledged as if it had been" {
	on_sqlite
	serve_db 1
	awf-run -n --name one -c 'awf-step -n a -q -- true'
	one=$(transcript)
	head -n 1 "$one" | post 1 | jq -e '.accepted == 1' >/dev/null
	shipper=$(shippers | head -n 1)
	kill -STOP "$shipper"
	# The first run is taken in, and waits for the second, about which the filter is asked.
	{ sed -n '2,$p' "$one"; event another 1; } | post 1 >answer 3>&- &
	POST=$!
	file=$(echo cache1/awf/db/*/0/outgoing/transcripts/"$(basename "$one")")
	eventually cmp -s "$file" "$one"
	rm "$file"
	kill -CONT "$shipper"
	wait "$POST"
	same "$(jq -c .error answer)" null
	same "$(sql "SELECT count(*) FROM agent_run_events WHERE run_id = '$(basename "$one" .jsonl)'")" "$(wc -l <"$one")"
}
# The filters by which server 1 sends; its threads have started them.
shippers() {
	local pid
	for pid in $(cat /proc/"${SERVERS[1]}"/task/*/children); do
		case $(cat "/proc/$pid/comm") in awf-ship*) echo "$pid" ;; esac
	done
}

# Seconds that a command takes.
seconds() {
	local begun=$EPOCHREALTIME
	"$@" >/dev/null
	echo $(((${EPOCHREALTIME/./} - ${begun/./}) / 1000000))
}

not_to_be_had() {
	awf-run -n --name removed -c 'awf-step -n a -q -- true'
	removed=$(transcript)
	awf-run -n --name bad -c 'awf-step -n a -q -- true'
	bad=$(transcript)
	serve_db 1
	head -n 2 "$removed" | post 1 | jq -e '.accepted == 2' >/dev/null
	head -n 2 "$bad" | post 1 | jq -e '.accepted == 2' >/dev/null
	sql "UPDATE runs_head SET last_seen = '2020-01-01T00:00:00Z' WHERE run_id = '$(basename "$removed" .jsonl)'"
	mkdir empty
	AWF_STORAGE=$PWD/empty awf-ship --keep 90d --to "$TO"
	sql "UPDATE runs_head SET digest = 'zz' WHERE run_id = '$(basename "$bad" .jsonl)'"
	serve_db_end 1
	serve_db 1
	# What was removed is refused at once, and for good.
	[ "$(seconds post 1 <"$removed")" -lt 4 ]
	same "$(post 1 <"$removed" | jq -c '[.accepted, .error.code]')" '[0,"conflict"]'
	# What the copy does not come to is waited for once.
	same "$(post 1 <"$bad" | jq -c '[.accepted, .error.code]')" '[0,"unavailable"]'
	for i in 1 2 3; do [ "$(seconds post 1 <"$bad")" -lt 4 ]; done
	same "$(event x 1 | post 1 | jq -c '[.accepted, .error]')" '[1,null]'
}
@test "SQLite: a run that was removed is refused at once, and one that cannot be had holds up no other" { on_sqlite; not_to_be_had; }
@test "PostgreSQL: a run that was removed is refused at once, and one that cannot be had holds up no other" { on_postgresql; not_to_be_had; }

# bats test_tags=turn:2
@test "SQLite: of many runs that do not end the last used are open" {
	on_sqlite
	ulimit -n 1024
	serve_db 1
	for i in 1 2 3 4; do
		jq -nc --arg i "$i" 'range(300) | {type: "note", runId: "\($i) \(.)", text: "x"}' | post 1 >answer
		same "$(jq -c '[.accepted, .error]' answer)" '[300,null]'
	done
	[ "$(ls "/proc/${SERVERS[1]}/fd" | wc -l)" -lt 600 ]
	[ "$(ls cache1/awf/db/*/0/outgoing/transcripts | wc -l)" -lt 300 ]
	# One that was let go of goes on.
	eventually copied_now 1
	same "$(jq -nc '{type: "note", runId: "1 7", text: "y"}' | post 1 | jq -c '[.accepted, .error]')" '[1,null]'
	same "$(sql 'SELECT count(*), count(DISTINCT run_id) FROM agent_run_events')" '2401|1200'
}

@test "SQLite: awf-ship to one server, awf-tail from another" {
	on_sqlite
	serve_db 1 --listen 127.0.0.1:0
	serve_db 2
	URL=$(sed -n 's/^awf-serve: \(http:.*\)/\1/p' serve1.err)
	mkdir -p "$XDG_CONFIG_HOME/awf"
	(umask 077 && echo "AWF_INGEST_TOKEN=$URL $(awf-serve --new-token ingest --label there)" >"$XDG_CONFIG_HOME/awf/keys")
	export AWF_STORAGE=$PWD/elsewhere
	runs
	awf-ship --to "$URL/api/ingest"
	eventually all_served 2 2>/dev/null
	[[ $(ask 2 "/api/runs/$(latest)" | jq -r .origin) == 'there ('* ]]
}

# The lines of a run in the database, changed by an SQL expression of theirs: RUN SEQ EXPRESSION.
change_line() { sql "UPDATE agent_run_events SET line = $3 WHERE run_id = '$1' AND seq = $2"; }
# N: a run of four lines, with this number.
numbered() {
	awf-run -n --name "run$1" --id "$(run_id "$1")" -c 'awf-step -n a -q -- true'
}
run_id() { printf '%08d-1111-4111-8111-111111111111' "$1"; }

@test "SQLite: servers of one user have a directory each, which is taken up again, but not after a crash of the machine" {
	on_sqlite
	awf-run -n --name one true
	awf-ship --to "$TO"
	serve_db 1
	copied 1
	# With the same cache, by another name of the file.
	ln -s cache1 cache2
	TO=sqlite:runs.db serve_db 2
	copied 2
	same "$(cd cache1/awf/db && echo */*)" "$(cd cache1/awf/db && echo *)/0 $(cd cache1/awf/db && echo *)/1"
	same "$(names 2)" one
	serve_db_end 2
	same "$(stat -c %a cache1/awf/db/*/0)" 700
	# Killed, it is taken up where it is; what the machine has lost is not believed.
	file=$(echo cache1/awf/db/*/0/record/transcripts/"$(latest)".jsonl)
	note=$(echo cache1/awf/db/*/0)/unsynced
	for change in true 'echo another >"$note"'; do
		kill -9 "${SERVERS[1]}"
		wait "${SERVERS[1]}" || true
		eventually flock -n "${note%/*}/filling" true
		ln "$file" kept
		eval "$change"
		serve_db 1
		copied 1
		same "$(names 1)" one
		if [ "$change" = true ]; then same "$(stat -c %h "$file")" 2; else same "$(stat -c %h "$file")" 1; fi
		rm kept
	done
	serve_db_end 1
	same "$(ls "$note" 2>/dev/null || true)" ''
}

@test "SQLite: a run lives for ten minutes after its last line came to the database" {
	on_sqlite
	AWF_STORAGE=$PWD/there awf-run -n --name one -c 'awf-step -n a -q -- true'
	mkdir -p "$AWF_STORAGE/transcripts"
	for i in 1 2; do
		id=$(run_id "$i")
		AWF_STORAGE=$PWD/there awf-run -n --name "run$i" --id "$id" -c 'awf-step -n a -q -- true'
		head -n 2 "there/transcripts/$id.jsonl" >"$AWF_STORAGE/transcripts/$id.jsonl"
	done
	awf-ship --to "$TO"
	sql "UPDATE runs_head SET last_seen = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-9 minutes') WHERE run_id = '$(run_id 1)'"
	sql "UPDATE runs_head SET last_seen = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-11 minutes') WHERE run_id = '$(run_id 2)'"
	serve_db 1
	copied 1
	same "$(ask 1 "/api/runs/$(run_id 1)" | jq -c '[.status, .alive]')" '["running",true]'
	same "$(ask 1 "/api/runs/$(run_id 2)" | jq -c '[.status, .alive]')" '["died",false]'
	# It goes on.
	cp "there/transcripts/$(run_id 2).jsonl" "$AWF_STORAGE/transcripts/"
	awf-ship --to "$TO"
	eventually has_ended 1 "$(run_id 2)"
}

@test "the examples" {
	on_sqlite
	awf-run -n --name one true
	sed -n '/^\.Dl\|^\.Bd/,/^\.Ed/p' "$ROOT/man/awf-ship.7" | grep -A2 '^awf-ship --to sqlite:copy.db' |
		sed "s|/usr/local/libexec/awf|$BUILD/libexec/awf|" >example
	same "$(wc -l <example)" 3
	same "$(bash example | grep -c '^one ')" 1
}

# All files but those of the server, and what a database has beside it.
files() { find . "$HOME" "$AWF_STORAGE" | grep -v '^\./cache1\|^\./socket1\|^\./serve1\.err\|/runs\.db-' | sort; }

# What no awf-ship has brought, in both kinds of database.
nonsense() {
	local i
	for i in {1..9}; do numbered "$i"; done
	awf-run -n --name big -c 'head -c 400000 /dev/zero | tr "\\0" x | awf-step -q big -- cat'
	awf-ship --to "$TO"
	# A gap; a line of another run; one that is no line; one that says another word; two in one;
	# a digest that is none, as of a line that is not there; 100 MB; no lines at all; a blob that
	# is another.
	sql "DELETE FROM agent_run_events WHERE run_id = '$(run_id 1)' AND seq = 2"
	change_line "$(run_id 2)" 3 "(SELECT line FROM agent_run_events WHERE run_id = '$(run_id 9)' AND seq = 3)"
	change_line "$(run_id 3)" 3 "'x' || line"
	change_line "$(run_id 4)" 3 "'{\"run_id\":\"$(run_id 9)\",\"gone\":true}'"
	change_line "$(run_id 5)" 3 "line || '$(printf '\n')
{\"run_id\":\"$(run_id 9)\",\"gone\":true}'"
	sql "UPDATE runs_head SET seq = 900, digest = '../../x', origin = 'a$(printf '\t')b' WHERE run_id = '$(run_id 6)'"
	change_line "$(run_id 7)" 3 "$HUGE"
	sql "DELETE FROM agent_run_events WHERE run_id = '$(run_id 8)'"
	sql "UPDATE agent_run_blobs SET data = 'another'"
	files >"$BATS_TEST_TMPDIR/before"
	serve_db 1
	eventually metric_is 1 runs_refused 8
	eventually metric_is 1 runs_behind 0
	ask 1 "/api/runs/$(run_id 9)/events" | cmp - "$AWF_STORAGE/transcripts/$(run_id 9).jsonl"
	ask 1 "/api/runs/$(latest)/events" | cmp - "$(transcript)"
	same "$(ask 1 "/api/runs/$(latest)/blobs/$(ls "$AWF_STORAGE/blobs/$(latest)")" | jq -r .error.code)" not_found
	# What came before is served, and is a beginning of the record.
	for i in 2 3 4 5 7; do
		ask 1 "/api/runs/$(run_id "$i")/events" | cmp - <(head -n 2 "$AWF_STORAGE/transcripts/$(run_id "$i").jsonl")
	done
	same "$(status_of_run 1 "$(run_id 8)")" 404
	for i in {1..8}; do same "$i $(grep -c "$(run_id "$i"): .* is not served$" serve1.err)" "$i 1"; done
	# One that is mended goes on, and the others as before.
	sql "DELETE FROM agent_run_events WHERE run_id = '$(run_id 8)'; DELETE FROM runs_head WHERE run_id = '$(run_id 8)'"
	awf-ship --to "$TO" 2>/dev/null || true
	eventually served_as 1 "/api/runs/$(run_id 8)/events" "$AWF_STORAGE/transcripts/$(run_id 8).jsonl"
	files >"$BATS_TEST_TMPDIR/after"
	diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
	same "$(find cache1 -type f | grep -v "^cache1/awf/db/[0-9a-f]*/0/" || true)" ''
}

# bats test_tags=turn:3
@test "SQLite: what is no record in the database is refused in a line, and nothing else is held up" {
	on_sqlite
	HUGE="(WITH RECURSIVE big (n, text) AS (SELECT 1, 'x' UNION ALL SELECT n * 2, text || text FROM big WHERE n < $(rounds 10000000 100000000)) SELECT text FROM big ORDER BY n DESC LIMIT 1)"
	awf-run -n --name first true
	awf-ship --to "$TO"
	# Names that are no ids: none becomes a path.
	for name in '../../x' '/tmp/x' '' "$(run_id 1)x" "a$(printf '\n')b"; do
		sql "INSERT INTO runs_head SELECT '$name', origin, seq, digest, name, status, started, started_seq, ended_seq, last_seen, 0 FROM runs_head LIMIT 1"
	done
	sql "INSERT INTO agent_run_events (run_id, seq, event_id, type, path, ts, line) SELECT '../../x', seq, event_id, type, path, ts, line FROM agent_run_events"
	nonsense
	same "$(grep -c 'is no id of a run' serve1.err)" 5
	# A NUL in a line, and in a name.
	change_line "$(run_id 9)" 4 "CAST(CAST(line AS blob) || x'00' AS text)"
	sql "UPDATE runs_head SET digest = 'y' WHERE run_id = '$(run_id 9)'; UPDATE runs_head SET run_id = CAST(x'610062' AS text) WHERE run_id = ''"
	eventually grep -q "$(run_id 9): .* is not served$" serve1.err
	ask 1 "/api/runs/$(run_id 9)/events" | cmp - <(head -n 3 "$AWF_STORAGE/transcripts/$(run_id 9).jsonl")
}

# bats test_tags=turn:2
@test "PostgreSQL: what is no record in the database is refused in a line, and nothing else is held up" {
	on_postgresql
	HUGE="repeat('x', $(rounds 10000000 100000000))"
	nonsense
	# What others notify is no more than a hint.
	sql "NOTIFY agent_runs, 'nonsense'"
	sql "NOTIFY agent_runs, '{\"run_id\": \"../../x\"}'"
	sql "NOTIFY agent_runs, '{\"run_id\": \"$(run_id 9)\", \"seq\": 999, \"status\": \"failed\"}'"
	awf-run -n --name after true
	awf-ship --to "$TO" 2>/dev/null || true
	eventually served_as 1 "/api/runs/$(latest)/events" "$(transcript)"
}
