#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-ship and its filter for SQLite: what is there afterwards, what is refused and how. Kills and
# crowds are in tests/fault/ship.bats.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/ship

cleanup() {
	[ -z "${SHIP_PID-}" ] || kill "$SHIP_PID" 2>/dev/null || true
}

@test "the newest runs are found by an index, in a database too that was made without it" {
	command -v sqlite3 >/dev/null || skip 'no sqlite3'
	awf-run -n --name one true
	awf-ship --to sqlite:copy.db
	plan() { sqlite3 copy.db 'EXPLAIN QUERY PLAN SELECT run_id, name, started FROM runs ORDER BY started DESC LIMIT 20'; }
	plan | grep 'USING INDEX runs_head_started'
	run ! grep -q 'TEMP B-TREE FOR ORDER BY' < <(plan)
	sqlite3 copy.db 'DROP INDEX runs_head_started'
	run ! grep -q runs_head_started < <(plan)
	awf-run -n --name two true
	awf-ship --to sqlite:copy.db
	plan | grep 'USING INDEX runs_head_started'
	same "$(sqlite3 copy.db 'SELECT name FROM runs ORDER BY started DESC LIMIT 1')" two
}

@test "all lines are there, byte for byte, once, and what comes later follows them" {
	all_come
	# It is as private as they are.
	same "$(stat -c %a runs.db)" 600
}

@test "runs that are named, and the default target" {
	runs
	awf-ship @fails @edits
	TO=sqlite:$AWF_STORAGE/runs.db
	same "$(sql 'SELECT name FROM runs ORDER BY name')" $'edits\nfails'
	awf-ship @edits "$(awf-tail --list --json -n 1 | jq -r .run_id | cut -c -8)"
	same "$(sql 'SELECT name FROM runs ORDER BY name')" $'edits\nfails\nparent'
	# From another storage the same database has both.
	AWF_STORAGE=$PWD/other awf-run -n --name there true
	AWF_STORAGE=$PWD/other awf-ship --to "$TO" --origin elsewhere
	same "$(sql 'SELECT name, origin FROM runs ORDER BY name')" \
		"edits|$(hostname)
fails|$(hostname)
parent|$(hostname)
there|elsewhere"
}

@test "views tell what awf-tail and awf-replay tell" {
	runs
	awf-ship --to "$TO"
	runs_are_told
	same "$(sql "SELECT calls, input_tokens, output_tokens, cost_usd FROM cost_by_day WHERE model = 'm'")" '1|1000|200|0.006'
	same "$(sql "SELECT cost_usd FROM runs WHERE name = 'paid'")" \
		"$(awf-tail --list --json --cost --name paid | jq -r .cost)"
	same "$(sql "SELECT outcome, error, retries FROM steps WHERE path = 'a'")" 'failed|exit_status|2'
	same "$(sql "SELECT id, outcome, asks FROM steps WHERE path = 'check'")" 'check:0:0|waiting|approval'
	same "$(sql "SELECT p.name FROM runs r JOIN runs p ON p.run_id = r.parent_run_id WHERE r.name = 'child'")" parent
	same "$(sql "SELECT c.name FROM steps s JOIN runs c ON c.run_id = s.child_run_id")" child
	same "$(sql "SELECT file, change FROM changed_files")" 'notes.txt|changed'
	same "$(sql "SELECT s.path, t.name, t.outcome FROM tool_calls t JOIN steps s ON s.call = t.call")" 'research|notes|done'
	same "$(sql "SELECT m.path, s.agent FROM llm_calls m JOIN steps s ON s.call = m.call WHERE text LIKE '%paints itself red%'")" 'write|writer'
	same "$(sql "SELECT count(*) FROM steps WHERE outcome = 'open'")" 0
	# What JSON in databases refuses was replaced, in the copy alone.
	same "$(sql "SELECT json_extract(event, '\$.payload.input') FROM agent_run_events WHERE path = 'c' AND type = 'step.started'")" \
		'["x\ufffdy","\ud83d\ude00",null,null,12]'
	# What another program told counts in no sum but the cost of a run of such events, and decides nothing.
	printf '%s\n' '{"type":"message.assistant","payload":{"text":"mine","usage":{"input_tokens":5,"cost_usd":9},"model":"m"}}' \
		'{"type":"run.completed","payload":{"status":"failed"}}' | awf-record -q --name said
	awf-ship --to "$TO"
	same "$(sql "SELECT status, input_tokens, cost_usd FROM runs WHERE name = 'said'")" 'success||9.0'
	same "$(sql "SELECT sum(calls) FROM cost_by_day WHERE model = 'm'")" 1
	same "$(sql "SELECT text FROM llm_calls WHERE source IS NOT NULL")" mine
	views_answer
	# A block that is no object, as in a transcript of another's.
	same "$(sql "BEGIN; UPDATE agent_run_events SET cleaned = json_set(line, '\$.payload.blocks', json('[\"x\",1]')) WHERE type = 'message.assistant'; SELECT count(text) FROM llm_calls; ROLLBACK")" 0
}

@test "blobs come along, up to a size" {
	runs
	awf-ship --to "$TO" --blobs 0
	same "$(sql 'SELECT count(*) FROM agent_run_blobs')" 0
	rm runs.db
	awf-ship --to "$TO" --blobs 1K
	same "$(sql 'SELECT count(*) FROM agent_run_blobs WHERE length(data) > 1024')" 0
	[ "$(sql 'SELECT count(*) FROM agent_run_blobs')" -gt 3 ]
	rm runs.db
	awf-ship --to "$TO"
	blob=$(find "$AWF_STORAGE/blobs" -type f -size +100k | head -n 1)
	same "$(sql "SELECT hex(data) FROM agent_run_blobs WHERE sha256 = '$(basename "$blob")' LIMIT 1" | tr -d '\n' | sha256sum)" \
		"$(od -An -v -tx1 "$blob" | tr -d ' \n' | tr a-f A-F | sha256sum)"
	same "$(sql 'SELECT count(*) FROM agent_run_blobs')" "$(find "$AWF_STORAGE/blobs" -type f | wc -l)"
}

@test "a file that is created has large pages; one that exists keeps its own, and whatever others have in it" {
	awf-run -n --name one true
	awf-ship --to "$TO"
	same "$(sql 'PRAGMA page_size')" 16384
	for size in 512 4096 65536; do
		sqlite3 "mine$size.db" "PRAGMA page_size = $size; CREATE TABLE mine (x); INSERT INTO mine VALUES ('kept'); CREATE INDEX i ON mine (x)"
		TO=sqlite:$PWD/mine$size.db
		awf-ship --to "$TO"
		same_lines
		same "$(sql 'PRAGMA page_size; PRAGMA integrity_check; SELECT x FROM mine')" "$size"$'\nok\nkept'
	done
	# An empty file is one that is created.
	: >none.db
	awf-ship --to sqlite:none.db
	same "$(sqlite3 none.db 'PRAGMA page_size')" 16384
}

@test "-f follows what goes on, and runs that begin, until it is told to end" {
	awf-run -n --name before true
	awf-ship -f --to "$TO" 3>&- &
	SHIP_PID=$!
	eventually test -e runs.db
	awf-run -n --name flow -c 'awf-step -n one -q -- true; until [ -e go ]; do sleep 0.02; done; awf-step -n two -q -- true' 3>&- &
	flow=$!
	counts() { [ "$(sql "$1" 2>/dev/null)" = "$2" ]; }
	eventually counts "SELECT status FROM runs WHERE name = 'flow'" running
	eventually counts "SELECT path, outcome FROM steps" 'one|done'
	: >go
	wait $flow
	eventually counts "SELECT group_concat(path) FROM steps" 'one,two'
	eventually counts "SELECT status FROM runs WHERE name = 'flow'" success
	# A transcript that is removed is no error, nor is one that is not whole.
	rm "$(readlink -f "$AWF_STORAGE/latest")"
	id=77777777-1111-4111-8111-111111111111
	printf '{"seq":1,"tim' >"$AWF_STORAGE/transcripts/$id.jsonl"
	awf-run -n --name last true
	eventually counts "SELECT status FROM runs WHERE name = 'last'" success
	kill "$SHIP_PID"
	wait "$SHIP_PID" || status=$?
	same "$status" 143
	SHIP_PID=
	same "$(sql 'PRAGMA integrity_check')" ok
}

@test "-f: a database that is removed, or replaced by another, gets all runs anew" {
	counts() { [ "$(sql "SELECT group_concat(name) FROM (SELECT name FROM runs WHERE status = 'success' ORDER BY name)" 2>/dev/null)" = "$1" ]; }
	awf-run -n --name a true
	awf-ship -f --to "$TO" 2>said 3>&- &
	SHIP_PID=$!
	eventually counts a
	rm runs.db*
	awf-run -n --name b true
	eventually counts a,b
	grep -q 'runs.db: was removed or replaced since it was opened' said
	AWF_STORAGE=$PWD/other awf-run -n --name other true
	AWF_STORAGE=$PWD/other awf-ship --to sqlite:other.db
	rm runs.db*
	mv other.db runs.db
	awf-run -n --name c true
	eventually counts a,b,c,other
}

@test "token counts that add up to more than an integer holds break no view" {
	for _ in 1 2 3; do
		echo '{"type":"message.assistant","payload":{"model":"m","blocks":[],"usage":{"input_tokens":9223372036854775807,"output_tokens":7}}}'
	done | awf-record -q --name odd
	odd=$(transcript)
	chained "$odd" 's/"source":{[^}]*},//' >t && mv t "$odd"
	awf-run -n --name none true
	awf-ship --to "$TO"
	same "$(sql "SELECT input_tokens, output_tokens FROM runs WHERE name = 'odd'")" '9223372036854775807|21'
	same "$(sql "SELECT input_tokens, output_tokens FROM runs WHERE name = 'none'")" '|'
	same "$(sql "SELECT output_tokens, calls FROM cost_by_day")" '21|3'
}

@test "-f RUN ends with the run, and what its end has left is there" {
	awf-run -n --name flow -c 'until [ -e go ]; do sleep 0.02; done; awf-step -n two -q -- true' 3>&- &
	flow=$!
	eventually test -e "$AWF_STORAGE/latest"
	awf-ship -f --to "$TO" @ 3>&- &
	SHIP_PID=$!
	eventually test -s runs.db
	: >go
	wait $flow
	wait "$SHIP_PID"
	SHIP_PID=
	same_lines
}

@test "another line where one is there: nothing is changed, it is said, and other runs go on" {
	awf-run -n --name one -c 'awf-step -n a -q -- true; awf-step -n b -q -- true'
	awf-ship --to "$TO"
	sql 'SELECT * FROM agent_run_events' >before
	file=$(transcript)
	id=$(basename "$file" .jsonl)
	# As a storage that was restored and went on otherwise.
	cp "$file" kept
	sed '$d' kept >"$file"
	awf-ship --to "$TO"
	tail -n 1 kept | sed 's/"exit_code":0/"exit_code":7/' >>"$file"
	awf-run -n --name two true
	run -3 --separate-stderr awf-ship --to "$TO"
	same "$stderr" "awf-ship: $id: the target has another line 6: it is another transcript from there on, and nothing more of it is sent"
	same "$(sql "SELECT * FROM agent_run_events WHERE run_id = '$id'")" "$(cat before)"
	same "$(sql "SELECT status FROM runs WHERE name = 'two'")" success
	# A chain that is broken.
	sed 2d kept >"$file"
	rm runs.db
	run -3 --separate-stderr awf-ship --to "$TO"
	same "$stderr" "awf-ship: $id:2: the line does not follow from the one before it, and nothing more of the run is sent: see awf-verify"
	same "$(sql "SELECT seq FROM runs_head WHERE run_id = '$id'")" 1
	same "$(sql "SELECT status FROM runs WHERE name = 'two'")" success
}

@test "runs that are refused for one reason are told three times and then counted" {
	command -v sqlite3 >/dev/null || skip 'no sqlite3'
	for name in 1 2 3 4 5 6 7; do awf-run -n --name "n$name" -c 'awf-step -n -q a -- true'; done
	awf-run -n --name whole true
	for file in "$AWF_STORAGE"/transcripts/*.jsonl; do
		! grep -q '"name":"n[0-9]"' "$file" || sed -i 2d "$file"
	done
	run -3 --separate-stderr awf-ship --to sqlite:runs.db
	same "$(wc -l <<<"$stderr")" 4
	same "${stderr##*$'\n'}" 'awf-ship: the line does not follow from the one before it, and nothing more of the run is sent: see awf-verify … and 4 more like it'
	same "$(sqlite3 runs.db "SELECT count(*) FROM runs WHERE status = 'success'")" 1
}

@test "without -f refusals are counted until the end, however long that takes" {
	for name in 1 2 3 4 5; do awf-run -n --name "n$name" true; done
	mkdir filters
	cat >filters/awf-ship-late <<-'END'
		#!/bin/sh
		echo '{"awf_ship":1,"takes":[]}'
		while read -r question; do
			sleep 0.1
			run=${question#*:}
			echo "{\"run_id\":${run%%,*},\"error\":{\"code\":\"system\",\"message\":\"not now\"}}"
		done
	END
	chmod +x filters/awf-ship-late
	PATH=$PWD/filters:$PATH run -4 --separate-stderr awf-ship --to late:x
	same "$(wc -l <<<"$stderr")" 4
	same "${stderr##*$'\n'}" 'awf-ship: not now … and 2 more like it'
}

@test "what the database cannot hold holds up no other run" {
	others_come 'UNIQUE constraint failed'
}

@test "a filter believes no more than it has to: a gap, a line of nobody, lines that others brought" {
	awf-run -n --name one -c 'awf-step -n a -q -- true'
	filter=$BUILD/libexec/awf/awf-ship-sqlite
	id=$(basename "$(transcript)" .jsonl)
	ask="{\"run_id\":\"$id\",\"origin\":\"x\",\"transcript\":\"\",\"size\":0}"
	digest=$(tail -n 1 "$(transcript)" | tr -d '\n' | b2sum -l 256 | cut -c -64)
	last="{\"run_id\":\"$id\",\"seq\":4,\"digest\":\"$digest\"}"
	run -0 --separate-stderr "$filter" "$TO" < <(echo "$ask"; sed 1,2d "$(transcript)")
	same "$(sed -n 3p <<<"$output" | jq -r '.error.code, .error.message')" 'divergence
the target has lost lines: it has 0, and had 2'
	same "$(sql 'SELECT count(*) FROM agent_run_events')" 0
	run -0 --separate-stderr "$filter" "$TO" < <(echo "$ask"; head -n 2 "$(transcript)")
	same "$(jq -r .seq <<<"${lines[2]}")" 2
	# All of them once more, as of who has asked before another has brought some; then but a few.
	run -0 --separate-stderr "$filter" "$TO" < <(echo "$ask"; cat "$(transcript)")
	same "${lines[0]}" '{"awf_ship":1,"takes":["about","blobs","lone_blobs","fetch_blobs"]}'
	same "${lines[2]}" "$last"
	run -0 --separate-stderr "$filter" "$TO" < <(echo "$ask"; head -n 3 "$(transcript)")
	same "$(jq -r .seq <<<"${lines[2]}")" 3
	run -0 --separate-stderr "$filter" "$TO" < <(echo "$ask"; head -n 3 "$(transcript)" | sed '3s/true/else/')
	same "$(jq -r .error.message <<<"${lines[2]}")" 'the target has another line 3, and nothing more of the run is sent'
	same "$(sql "SELECT line FROM agent_run_events ORDER BY seq")" "$(cat "$(transcript)")"
	# Asked about anew, as once its transcript was replaced, before those that came are written.
	run -0 --separate-stderr "$filter" sqlite:anew.db < <(echo "$ask"; head -n 3 "$(transcript)"; echo "$ask"; cat "$(transcript)")
	same "$(jq -r .seq <<<"$output" | xargs)" 'null 0 3 3 4'
	same "$(TO=sqlite:anew.db sql "SELECT line FROM agent_run_events ORDER BY seq")" "$(cat "$(transcript)")"
	while IFS='|' read -r input message; do
		run -1 --separate-stderr "$filter" "$TO" <<<"$input"
		same "$stderr" "awf-ship-sqlite: $message"
	done <<-END
		{"seq":1,"type":"run.started","run_id":"$id"}|stdin: a line of a run that was not asked about: see awf-ship(7)
		nothing|stdin: a line that is no JSON object: see awf-ship(7)
		{"run_id":"x"}|stdin: a question without a run: see awf-ship(7)
		{"blob":"x","run_id":"$id","path":"/x"}|stdin: a blob of no run that was asked about: see awf-ship(7)
	END
	# What a later version may say is passed over; a line that is not whole is none.
	run -0 --separate-stderr "$filter" "$TO" < <(echo '{"new":1}'; echo '{}'; printf '{"seq":1,')
}

@test "a filter takes a blob that no line follows, of a run that nobody has told of, if it is that blob" {
	filter=$BUILD/libexec/awf/awf-ship-sqlite
	printf hello >hello
	hello=$(sha256sum hello | cut -c -64)
	mv hello "$hello"
	blob="{\"blob\":\"$hello\",\"run_id\":\"77777777-1111-4111-8111-111111111111\",\"path\":\"$PWD/$hello\",\"alone\":true}"
	run -0 --separate-stderr "$filter" "$TO" <<<"$blob"$'\n'"$blob"
	same "$(jq -c '[.blob, .run_id]' <<<"${lines[2]}")" "$(jq -c '[.blob, .run_id]' <<<"$blob")"
	same "${#lines[@]}" 3
	same "$(sql 'SELECT data FROM agent_run_blobs')" hello
	printf hullo >"$hello"
	run -4 --separate-stderr "$filter" "$TO" <<<"$blob"
	same "$stderr" "awf-ship-sqlite: $PWD/$hello: is not the blob that it is to be"
	same "$(sql 'SELECT data FROM agent_run_blobs')" hello
}

@test "--keep removes whole runs, and they are not sent again" {
	runs
	awf-ship --to "$TO"
	all=$(sql 'SELECT count(*) FROM runs_head')
	# A run of which nothing came for a year.
	sql "UPDATE runs_head SET last_seen = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-365 days') WHERE name IN ('fails', 'waits')"
	awf-ship --to "$TO" --keep 90d
	same "$(sql "SELECT count(*) FROM runs WHERE name IN ('fails', 'waits')")" 0
	same "$(sql 'SELECT count(*) FROM runs_head')" "$all"
	same "$(sql 'SELECT count(*) FROM agent_run_events')" "$(sql 'SELECT sum(seq - pruned_through) FROM runs_head')"
	same "$(sql 'SELECT count(*) FROM agent_run_blobs WHERE run_id NOT IN (SELECT run_id FROM agent_run_events)')" 0
	same "$(sql 'SELECT count(*) FROM agent_run_texts WHERE rowid NOT IN (SELECT id FROM agent_run_events)')" 0
	awf-ship --to "$TO"
	same "$(sql "SELECT count(*) FROM runs WHERE name = 'waits'")" 0
	# One that goes on is there from then on.
	awf-ctl approve check @waits
	awf-run --resume @waits >/dev/null
	awf-ship --to "$TO" --keep 90d
	same "$(sql "SELECT status, attempt, events FROM runs WHERE name = 'waits'")" "success|2|$(sed 1,4d "$(transcript)" | wc -l)"
}

@test "what is wrong is said, and how it ends tells what it was" {
	awf-run -n --name one true
	while IFS='|' read -r status words message; do
		# shellcheck disable=SC2086
		run "-$status" --separate-stderr awf-ship $words
		same "$stderr" "$message"
	done <<-END
		1|--to nowhere|awf-ship: --to: 'nowhere' is no URL, such as sqlite:FILE
		1|--to nosuch:x|awf-ship: --to: nothing here can write to nosuch: there is no awf-ship-nosuch in $(dirname "$BUILD/bin")/libexec/awf:/usr/local/libexec/awf, nor in PATH (is its package, such as awf-sql, not installed, or was AWF built where its library was missing?)
		1|--keep 0|awf-ship: --keep: is no time at all
		1|--blobs many|awf-ship: --blobs: 'many' is not a size (as in 500, 64K, 20M, 2G)
		1|@nosuch|awf-ship: @nosuch: no run of this name in $AWF_STORAGE (awf-tail --list shows what there is)
		4|--to sqlite:$PWD/none/x.db|awf-ship-sqlite: $PWD/none/x.db: unable to open: No such file or directory
	END
	echo nonsense >prices
	run -2 --separate-stderr env AWF_PRICES=prices awf-ship --to "$TO"
	[[ $stderr == 'awf-ship: prices:1: '* ]]
	echo 'no database, but longer than its head would be, to be sure of that: 100 bytes are enough, they say' >text.db
	run -4 --separate-stderr awf-ship --to sqlite:text.db
	same "$stderr" 'awf-ship-sqlite: text.db: file is not a database'
	sqlite3 other.db 'PRAGMA user_version = 9; CREATE TABLE t (x)'
	run -1 --separate-stderr awf-ship --to sqlite:other.db
	same "$stderr" 'awf-ship-sqlite: other.db: was made by a later version of AWF, or by another program'
	# Filters that are none.
	mkdir filters
	PATH=$PWD/filters:$PATH
	filter() { printf '#!/bin/sh\n%s\n' "$1" >filters/awf-ship-mine; chmod +x filters/awf-ship-mine; }
	while IFS='|' read -r status text message; do
		filter "$text"
		run "-$status" --separate-stderr awf-ship --to mine:x
		same "$stderr" "awf-ship: $PWD/filters/awf-ship-mine: $message"
	done <<-'END'
		4|exit 0|has ended before everything was stored: exit status 0
		4|kill -9 $$|has ended before everything was stored: killed by signal 9 (Killed)
		4|echo hello; cat >/dev/null|sends invalid JSON
		4|echo "{\"awf_ship\":2}"; cat >/dev/null|does not speak as awf-ship(7) says
		4|echo "{\"awf_ship\":1}"; echo "{\"run_id\":\"x\",\"seq\":1}"; cat >/dev/null|names a run that it was not asked about
	END
	filter 'echo "mine: not today" >&2; exit 3'
	run -3 --separate-stderr awf-ship --to mine:x
	same "$stderr" 'mine: not today'
}

@test "-f tries again what failed, and a target whose name is wrong not" {
	awf-run -n --name one true
	mkdir filters
	PATH=$PWD/filters:$PATH
	cat >filters/awf-ship-mine <<-END
		#!/bin/sh
		echo x >>tries
		[ "\$(wc -l <tries)" -ge 3 ] || { sleep 0.1; exit 4; }
		exec "$BUILD/libexec/awf/awf-ship-sqlite" "$TO"
	END
	chmod +x filters/awf-ship-mine
	awf-ship -f --to mine:x @ 2>/dev/null
	same "$(wc -l <tries)" 3
	same_lines
	printf '#!/bin/sh\nexit 1\n' >filters/awf-ship-mine
	run -1 awf-ship -f --to mine:x
	# A run that was refused before is no less so.
	awf-run -n --name two true
	bad=$(awf-tail --list --json --name one | jq -r .run_id)
	cat >filters/awf-ship-mine <<-END
		#!/bin/sh
		echo x >>fails
		echo '{"awf_ship":1}'
		while read -r line; do
			case \$line in
			*'"$bad","origin"'*) echo '{"run_id":"$bad","error":{"code":"divergence","message":"no"}}'; continue ;;
			'{"seq":'*) [ "\$(wc -l <fails)" -ge 2 ] || exit 4 ;;
			esac
			printf '%s\n' "\$line" | jq -c '{run_id, seq: (.seq // 0)}'
		done
	END
	run -3 --separate-stderr awf-ship -f --to mine:x @one @two
	same "$stderr" "awf-ship: $bad: no"
	same "$(wc -l <fails)" 2
}

@test "a filter that takes all that awf-ship writes at once gets the rest, too, before it has stored anything" {
	jq -nc 'range(100) | {type: "note", x: ("x" * 20000)}' | awf-record -q --name big
	mkdir filters
	cat >filters/awf-ship-mine <<-'END'
		#!/usr/bin/env python3
		import fcntl, json, sys
		fcntl.fcntl(0, 1031, 1 << 20) # F_SETPIPE_SZ
		print('{"awf_ship":1}', flush=True)
		run = json.loads(sys.stdin.readline())["run_id"]
		print(json.dumps({"run_id": run, "seq": 0}), flush=True)
		for line in sys.stdin:
		    if json.loads(line)["type"] == "run.completed":
		        print(json.dumps({"run_id": run, "seq": json.loads(line)["seq"]}), flush=True)
	END
	chmod +x filters/awf-ship-mine
	PATH=$PWD/filters:$PATH timeout 20 awf-ship --to mine:
}

# bats test_tags=turn:3
@test "the filter of awf-ship(7), in shell" {
	load ../../support/manual
	runs
	mkdir filters
	example awf-ship.7 'dir=${1#files:}' >filters/awf-ship-files
	chmod +x filters/awf-ship-files
	PATH=$PWD/filters:$PATH
	awf-ship --to "files:$PWD/copies"
	for file in "$AWF_STORAGE"/transcripts/*.jsonl; do cmp "$file" "copies/$(basename "$file" .jsonl)"; done
	before=$(stat -c '%i %s' copies/* | sort)
	awf-ship --to "files:$PWD/copies"
	same "$(stat -c '%i %s' copies/* | sort)" "$before"
}

@test "the unit that is among the examples" {
	command -v systemd-analyze >/dev/null || skip 'needs systemd-analyze'
	mkdir units
	sed "s|/usr/local/bin|$BUILD/bin|" "$ROOT/examples/ship/awf-ship.service" >units/awf-ship.service
	run -0 env SYSTEMD_UNIT_PATH="$PWD/units:" systemd-analyze verify --man=no units/awf-ship.service
	same "$output" ''
}
