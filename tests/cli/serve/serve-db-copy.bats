#!/usr/bin/env bats
# The copy that awf-serve --db keeps of a database: what becomes of it when the database is another,
# or wrong, or when the copy cannot be written. What is served is in tests/cli/serve/serve-db.bats.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/postgresql
load ../../support/serve-db

setup_file() { postgresql_begin; }
teardown_file() { postgresql_end; }

# What is started here by itself lives until its stdin is closed.
cleanup() {
	exec 8>&- 9>&-
	local pid
	for pid in "${SERVERS[@]}" ${SHIP_PID-} ${RUN_PID-}; do
		kill "$pid" 2>/dev/null || true
	done
	for pid in ${SHIP_PID-} ${RUN_PID-}; do kill -9 "$pid" 2>/dev/null || true; done
	for pid in "${SERVERS[@]}"; do wait "$pid" || true; done
}

run_id() { printf '%08d-1111-4111-8111-111111111111' "$1"; }
# N [NAME]: a run of four lines, with this number.
numbered() { awf-run -n --name "${2-run$1}" --id "$(run_id "$1")" -c 'awf-step -n a -q -- true'; }
children_of() { cat /proc/"$1"/task/*/children 2>/dev/null; }

@test "SQLite: a directory that cannot be written is tried again ever later, and is no database that is gone" {
	on_sqlite
	awf-run -n --name big -c 'seq 40 | awf-step -i lines a -q -- sh -c "cat >/dev/null; head -c 400 /dev/zero | tr \"\\0\" x"' >/dev/null
	awf-ship --to "$TO"
	# The filter of awf-mirror, which notes how often it is started.
	printf '%s\n' '#!/bin/sh' 'ulimit -Sf unlimited' "echo x >>$PWD/starts" "exec $BUILD/libexec/awf/awf-mirror-sqlite $TO" >awf-mirror-counted
	chmod +x awf-mirror-counted
	mkfifo told
	(trap '' XFSZ && ulimit -Sf 4 && PATH=$PWD:$PATH exec "$BUILD/libexec/awf/awf-mirror" counted:x "$PWD/mirror") <told >said 2>said.err 3>&- &
	RUN_PID=$!
	exec 8>told 9>/dev/null
	eventually grep -q 'File too large (it is tried again)$' said.err
	nap 5
	# After 250 ms at first, 1.5 s at last.
	[ "$(wc -l <starts)" -le 8 ]
	same "$(wc -l <said.err)" 1
	prlimit --pid "$RUN_PID" --fsize=unlimited:unlimited
	copy=mirror/record/transcripts/$(latest).jsonl
	eventually cmp -s "$copy" "$(transcript)"
	eventually grep -q 'can be written again$' said.err
	same "$(wc -l <said.err)" 2
	exec 8>&-
	wait "$RUN_PID"
}

@test "SQLite: what awf-ship had not completed in a file without a log when it was killed is undone before it is read" {
	on_sqlite
	numbered 1
	awf-ship --to "$TO"
	sql 'PRAGMA journal_mode = delete' >/dev/null
	# So small a cache is written into the file before the transaction ends.
	mkfifo held
	sqlite3 runs.db <held >/dev/null 3>&- &
	RUN_PID=$!
	exec 8>held
	printf '%s\n' 'PRAGMA cache_size = 1;' 'BEGIN;' 'CREATE TABLE more AS SELECT 1 AS a, randomblob(100000) AS b;' \
		"UPDATE agent_run_events SET line = 'x', cleaned = hex(randomblob(30000));" '.shell touch begun' >&8
	eventually test -e begun
	test -s runs.db-journal
	kill -9 "$RUN_PID"
	wait "$RUN_PID" || true
	exec 8>&-
	serve_db 1
	copied 1
	same "$(names 1)" run1
}

@test "SQLite: SIGTERM to all processes of a server leaves none of them, nor a copy that is not trusted" {
	on_sqlite
	numbered 1
	awf-ship --to "$TO"
	serve_db 1
	copied 1
	mirror=$(children_of "${SERVERS[1]}" | xargs)
	filter=$(children_of "$mirror" | xargs)
	same "$(cat "/proc/$mirror/comm")" awf-mirror
	note=$(echo cache1/awf/db/*/0)/unsynced
	test -e "$note"
	kill "$mirror" "$filter" "${SERVERS[1]}"
	wait "${SERVERS[1]}" || true
	unset 'SERVERS[1]'
	eventually test ! -e "/proc/$mirror"
	eventually test ! -e "/proc/$filter"
	test ! -e "$note"
}

refused_stays() {
	local inodes
	for i in 1 2 3; do numbered "$i"; done
	awf-ship --to "$TO"
	# A line does not follow from the one before it; a digest is not that of the line.
	sql "UPDATE agent_run_events SET line = replace(line, 'step.started', 'step.starter') WHERE run_id = '$(run_id 1)' AND seq = 2"
	digest=$(sql "SELECT digest FROM runs_head WHERE run_id = '$(run_id 2)'")
	sql "UPDATE runs_head SET digest = 'zz' WHERE run_id = '$(run_id 2)'"
	serve_db 1
	eventually metric_is 1 runs_refused 2
	eventually metric_is 1 runs_behind 0
	eventually grep -q "$(run_id 2): the database has another digest of line 4 than that of the line; " serve1.err
	same "$(ask 1 "/api/runs/$(run_id 1)/events" | wc -l)" 2
	# Both are tried again after three seconds.
	inodes=$(cd cache1/awf/db/*/0/record/transcripts && stat -c '%n %i' ./*)
	nap 4
	same "$(cd cache1/awf/db/*/0/record/transcripts && stat -c '%n %i' ./*)" "$inodes"
	same "$(grep -c 'is not served$' serve1.err)" 2
	# What is right then is copied: another run of this id, and the digest.
	for table in runs_head agent_run_events; do sql "DELETE FROM $table WHERE run_id = '$(run_id 1)'"; done
	sql "UPDATE runs_head SET digest = '$digest' WHERE run_id = '$(run_id 2)'"
	export AWF_STORAGE=$PWD/another
	numbered 1 replaced
	awf-ship --to "$TO"
	eventually metric_is 1 runs_refused 0
	eventually names_are 1 'replaced run2 run3'
	ask 1 "/api/runs/$(run_id 1)/events" | cmp - "$(transcript)"
}
# bats test_tags=turn:2
@test "SQLite: a run that is refused stays as it is, until it is right" { on_sqlite; refused_stays; }
# bats test_tags=ci
@test "PostgreSQL: a run that is refused stays as it is, until it is right" { on_postgresql; refused_stays; }

@test "SQLite: a file that is put in the place of the database is the database" {
	on_sqlite
	numbered 1 before
	awf-ship --to "$TO"
	serve_db 1
	copied 1
	same "$(names 1)" before
	AWF_STORAGE=$PWD/another numbered 2 after
	AWF_STORAGE=$PWD/another awf-ship --to sqlite:new.db
	mv new.db runs.db
	eventually names_are 1 after
	eventually metric_is 1 runs 1
	same "$(grep -c 'runs.db: was removed or replaced (it is tried again)$' serve1.err)" 1
	# One that is gone leaves what there is.
	rm runs.db
	eventually metric_is 1 connected 0
	same "$(names 1)" after
	metric_is 1 runs 1
}

@test "PostgreSQL: another server, by the environment alone, has another copy" {
	on_postgresql
	TO=postgresql://
	numbered 1
	awf-ship --to "$TO"
	serve_db 1
	copied 1
	serve_db_end 1
	for other in PGHOST=/nowhere PGPORT=1 PGDATABASE=another PGUSER=nobody PGOPTIONS=-csearch_path=x; do
		export "${other?}"
		serve_db 1
		same "$other $(names 1)" "$other "
		serve_db_end 1
		export PGHOST=$PGROOT PGPORT=5432 PGUSER=postgres PGDATABASE=t$BATS_TEST_NUMBER
		unset PGOPTIONS
	done
	# The first one is as it was, with another password, too.
	PGPASSWORD=x serve_db 1
	copied 1
	same "$(names 1) $(echo cache1/awf/db/*/ | wc -w)" 'run1 6'
}

@test "PostgreSQL: a change that is told of while the filter asks about another is not slept over" {
	on_postgresql
	for i in 1 2 3 4; do numbered "$i"; done
	awf-ship --to "$TO"
	mkfifo questions statements
	"$BUILD/libexec/awf/awf-mirror-postgresql" "$TO" <questions >told 3>&- &
	RUN_PID=$!
	exec 8>questions
	psql -XqAt <statements >answers 3>&- 8>&- &
	SHIP_PID=$!
	exec 9>statements
	# A list of all runs, which is made every three seconds, may come between: then once more.
	for i in 2 3 4; do
		lists=$(grep -c listed told || true)
		eventually eval '[ "$(grep -c listed told)" -gt "$lists" ]'
		: >answers
		echo "BEGIN; LOCK TABLE runs_head; SELECT 'locked';" >&9
		eventually grep -q locked answers
		sql "NOTIFY agent_runs, '{\"run_id\": \"$(run_id 1)\"}'"
		eventually eval "[ \"\$(sql 'SELECT count(*) FROM pg_locks WHERE NOT granted')\" = 1 ]"
		# It comes while the filter waits for the answer about the first.
		echo "UPDATE runs_head SET pruned_through = seq WHERE run_id = '$(run_id "$i")';" >&9
		sql "NOTIFY agent_runs, '{\"run_id\": \"$(run_id "$i")\"}'"
		nap 0.3
		echo 'COMMIT;' >&9
		eventually grep -q "$(run_id "$i").*pruned" told
		last=$(tail -n 1 told | jq -r .run_id)
		[ "$last" != "$(run_id "$i")" ] || break
	done
	same "$last" "$(run_id "$i")"
	exec 8>&- 9>&-
	wait "$RUN_PID" "$SHIP_PID"
}

@test "PostgreSQL: a URL that is none is refused by all, and no message has its password" {
	local url
	[ -e "$BUILD/libexec/awf/awf-mirror-postgresql" ] || skip 'built without libpq'
	numbered 1
	for url in 'postgresql://u:s3cret@[::1/db' 'postgresql://u:s3cret%zz@localhost/db' \
		'postgresql://u:s3cret/x@localhost/db' 'postgresql://u:p@localhost/db?s3cret=1' \
		'postgresql://u:p@localhost/db?sslmode=s3cret' 'postgresql://u:p@localhost/db?connect_timeout=s3cret'; do
		run -1 --separate-stderr "$BUILD/libexec/awf/awf-mirror-postgresql" "$url" </dev/null
		[[ $stderr == 'awf-mirror-postgresql: the URL of the database cannot be understood, '* ]]
		run -1 --separate-stderr env XDG_CACHE_HOME="$PWD/cache" timeout 20 awf-serve --db "$url" --listen "unix:$PWD/socket"
		[[ $stderr == *'the URL of the database cannot be understood, '* ]]
		[[ $stderr != *s3cret* ]]
		run -1 --separate-stderr awf-ship --to "$url"
		[[ $stderr == *'the URL of the database cannot be understood, '* ]]
		[[ $stderr != *s3cret* ]]
	done
	run -1 --separate-stderr awf-serve --db 'post gres://u:s3cret@localhost/db'
	same "$stderr" "awf-serve: --db: 'post gres' is no URL, such as sqlite:FILE"
}
