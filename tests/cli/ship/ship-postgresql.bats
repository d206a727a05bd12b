#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-ship and its filter for PostgreSQL: what is there afterwards, the queries of awf-sql(7), what
# is refused and how. Kills and crowds are in tests/fault/ship-postgresql.bats.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/manual
load ../../support/ship
load ../../support/ship-sql
load ../../support/postgresql

setup_file() { postgresql_begin; }
teardown_file() { postgresql_end; }

# bats test_tags=turn:3
@test "all lines are there, byte for byte, once, and what comes later follows them" {
	all_come "postgres:///$PGDATABASE"
}

# bats test_tags=turn:3
@test "ten queries, in PostgreSQL" {
	runs
	awf-ship --to "$TO"
	answers_are_right
	[[ $(sql "$(example awf-sql.7 plainto_tsquery)") == *'|write|'* ]]
}

# bats test_tags=turn:2
@test "what JSON in PostgreSQL refuses, and what is no number, breaks no view" {
	runs
	printf '%s\n' '{"type":"message.assistant","payload":{"text":"a\u0000b","model":"m"}}' '{"type":"odd","x":[1e-20000,1e400]}' \
		'{"type":"tool.call","payload":{"name":"\u0001\u0002\u0003","call_id":"1","input":{}}}' | awf-record -q --name odd
	# White space that JSON may have, though no AWF writes it.
	id=44444444-1111-4111-8111-111111111111
	AWF_STORAGE=$PWD/other awf-run -n --name spaced --id $id true
	chained "$PWD/other/transcripts/$id.jsonl" 's/"payload":/"payload":\r\t/' >"$AWF_STORAGE/transcripts/$id.jsonl"
	awf-verify "$AWF_STORAGE/transcripts/$id.jsonl"
	awf-ship --to "$TO"
	same_lines
	views_answer
	same "$(sql "SELECT text FROM llm_calls WHERE source IS NOT NULL")" 'a�b'
	same "$(sql "SELECT event #>> '{payload,input}' FROM agent_run_events WHERE path = 'c' AND type = 'step.started'")" \
		'["x�y", "😀", null, null, 12]'
	same "$(sql "SELECT event #> '{payload,data,x}' FROM agent_run_events WHERE type = 'odd'")" '[null, null]'
}

@test "blobs come along, and whoever listens is told" {
	runs
	awf-ship --to "$TO"
	same "$(sql 'SELECT count(*) FROM agent_run_blobs')" "$(find "$AWF_STORAGE/blobs" -type f | wc -l)"
	blob=$(find "$AWF_STORAGE/blobs" -type f -size +100k | head -n 1)
	same "$(sql "SELECT DISTINCT encode(sha256(data), 'hex') FROM agent_run_blobs WHERE sha256 = '$(basename "$blob")'")" "$(basename "$blob")"
	awf-run -n --name later true
	# psql shows what has come behind each answer.
	mkfifo in
	psql -XqAt <in >heard 3>&- &
	listener=$!
	exec 8>in
	echo "LISTEN agent_runs; SELECT 'ready';" >&8
	eventually grep -q ready heard
	awf-ship --to "$TO"
	echo "SELECT 1;" >&8
	exec 8>&-
	wait "$listener"
	same "$(grep -o '{.*}' heard | jq -c '[.run_id, .seq, .status]')" "[\"$(basename "$(transcript)" .jsonl)\",2,\"success\"]"
}

# bats test_tags=turn:4
@test "a run is in the partition of the month in which it began; --keep removes runs, then partitions" {
	runs
	old=33333333-1111-4111-8111-111111111111
	AWF_STORAGE=$PWD/other awf-run -n --name old --id $old -c 'awf-step -n a -q -- true'
	# A year ago, and on until now.
	chained "$PWD/other/transcripts/$old.jsonl" '1,2s/"timestamp":"[0-9]*-[0-9]*/"timestamp":"2025-11/' >"$AWF_STORAGE/transcripts/$old.jsonl"
	awf-ship --to "$TO"
	same_lines
	same "$(sql "SELECT count(*) FROM agent_run_events_2025_11")" 4
	same "$(sql "SELECT month FROM runs_head WHERE run_id = '$old'")" 2025-11-01
	partitions() { sql "SELECT count(*) FROM pg_inherits WHERE inhparent = 'agent_run_events'::regclass"; }
	same "$(partitions)" 2
	sql "UPDATE runs_head SET last_seen = now() - interval '365 days' WHERE name IN ('old', 'waits')"
	all=$(sql 'SELECT count(*) FROM runs_head')
	awf-ship --to "$TO" --keep 90d
	same "$(sql "SELECT count(*) FROM runs WHERE name IN ('old', 'waits')")" 0
	same "$(partitions)" 1
	same "$(sql 'SELECT count(*) FROM runs_head')" "$all"
	same "$(sql 'SELECT count(*) FROM agent_run_events')" "$(sql 'SELECT sum(seq - pruned_through) FROM runs_head')"
	same "$(sql 'SELECT count(*) FROM agent_run_blobs WHERE run_id NOT IN (SELECT run_id FROM agent_run_events)')" 0
	awf-ship --to "$TO"
	same "$(sql "SELECT count(*) FROM runs WHERE name IN ('old', 'waits')")" 0
	awf-ctl approve check @waits
	awf-run --resume @waits >/dev/null
	awf-ship --to "$TO" --keep 90d
	same "$(sql "SELECT status, attempt, events FROM runs WHERE name = 'waits'")" "success|2|$(sed 1,4d "$(transcript)" | wc -l)"
}

@test "another line where one is there: nothing is changed, it is said, and other runs go on" {
	awf-run -n --name one -c 'awf-step -n a -q -- true'
	awf-ship --to "$TO"
	sql 'SELECT * FROM agent_run_events' >before
	file=$(transcript)
	id=$(basename "$file" .jsonl)
	cp "$file" kept
	sed '$d' kept >"$file"
	tail -n 1 kept | sed 's/"exit_code":0/"exit_code":7/' >>"$file"
	awf-run -n --name two true
	run -3 --separate-stderr awf-ship --to "$TO"
	same "$stderr" "awf-ship: $id: the target has another line 4: it is another transcript from there on, and nothing more of it is sent"
	same "$(sql "SELECT * FROM agent_run_events WHERE run_id = '$id'")" "$(cat before)"
	same "$(sql "SELECT status FROM runs WHERE name = 'two'")" success
	# Behind the back of awf-ship, which asked before: lines of others, fewer, and other ones.
	filter=$BUILD/libexec/awf/awf-ship-postgresql
	ask="{\"run_id\":\"$id\",\"origin\":\"x\",\"transcript\":\"\",\"size\":0}"
	run -0 --separate-stderr "$filter" "$TO" < <(echo "$ask"; head -n 3 kept)
	same "$(jq -r .seq <<<"${lines[2]}")" 3
	run -0 --separate-stderr "$filter" "$TO" < <(echo "$ask"; head -n 3 kept | sed '3s/true/else/')
	same "$(jq -r .error.message <<<"${lines[2]}")" 'the target has another line 3, and nothing more of the run is sent'
	run -0 --separate-stderr "$filter" "$TO" < <(echo "$ask"; cat "$file")
	same "$(jq -r .error.code <<<"${lines[2]}")" divergence
	same "$(sql "SELECT * FROM agent_run_events WHERE run_id = '$id'")" "$(cat before)"
}

# bats test_tags=turn:2
@test "what the database cannot hold holds up no other run" {
	others_come 'duplicate key value' 'date/time field value out of range' 'index row size'
}

@test "costs, times and texts are those of the lines, as the server itself would read them" {
	local costs='0 0.0041 1e-7 12345678.000000001 99999999 10000 1E+3 0.00 -0.5 123.45e-3 12e30 0.00010000 9999.9999'
	jq -nc 'range(11) | {type: "note", x: .}' | awf-record -q --name odd
	file=$(transcript)
	id=$(basename "$file" .jsonl)
	# A type with bytes that texts of COPY do not have as they are, and a time before 2000.
	jq -c '([9, 1, 92, 46, 34, 13, 10, 2, 127, 228] | implode) as $odd | del(.seq, .prev) |
		.timestamp = "1969-07-20T20:17:40.000001Z" | .path = "a" + $odd | if .payload.data then .type += $odd else . end' "$file" | chain >lines
	mv lines "$file"
	{
		echo "{\"run_id\":\"$id\",\"origin\":\"x\",\"transcript\":\"\",\"size\":0}"
		# shellcheck disable=SC2086 # each is a word
		paste -d '\n' <(printf '{"cost_usd":%s}\n' $costs) "$file"
	} | "$BUILD/libexec/awf/awf-ship-postgresql" "$TO" >/dev/null
	same_lines
	same "$(sql 'SELECT cost_usd FROM agent_run_events ORDER BY seq')" \
		"$(sql "SELECT unnest(string_to_array('$costs', ' ')::numeric[])")"
	same "$(sql "SELECT DISTINCT ts AT TIME ZONE 'UTC', month FROM agent_run_events")" '1969-07-20 20:17:40.000001|1969-07-01'
	same "$(sql "SELECT count(*) FROM agent_run_events WHERE type <> event ->> 'type' OR path <> event ->> 'path' OR
		event <> line::jsonb OR event_id <> (event ->> 'event_id')::uuid OR
		parent_event_id IS DISTINCT FROM (event ->> 'parent_event_id')::uuid")" 0
	same "$(sql "SELECT count(*) FROM agent_run_events WHERE type LIKE E'note\\t\\x01%'")" 11
}

@test "long values are compressed by lz4 where the server has it, and nobody has chosen otherwise" {
	sql "SELECT 1 FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)" | grep -q 1 || skip 'no lz4'
	long() { jq -nc '{type: "note", x: ("x" * 9000)}' | awf-record -q --name "$1"; }
	methods() { sql 'SELECT DISTINCT pg_column_compression(line) FROM agent_run_events WHERE length(line) > 9000 ORDER BY 1'; }
	long one
	awf-ship --to "$TO"
	same "$(methods)" lz4
	sql "ALTER DATABASE $PGDATABASE SET default_toast_compression = pglz"
	long two
	awf-ship --to "$TO"
	same "$(methods)" $'lz4\npglz'
	same_lines
}

@test "what is wrong is said" {
	awf-run -n --name one true
	run -4 --separate-stderr awf-ship --to "postgresql://$(id -un):secret@/none?host=$PWD"
	[[ $stderr == "awf-ship-postgresql: connection to server on socket \"$PWD/.s.PGSQL.5432\" failed: "* && $stderr != *secret* ]]
	run -4 --separate-stderr awf-ship --to 'postgresql:///nosuch'
	[[ $stderr == *'database "nosuch" does not exist' ]]
	sql 'CREATE TABLE runs_head (x int)'
	run -1 --separate-stderr awf-ship --to "$TO"
	same "$stderr" "awf-ship-postgresql: $PGDATABASE: has a table runs_head that was made by a later version of AWF, or by another program"
}
