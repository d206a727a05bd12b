#!/usr/bin/env bats
# The queries of awf-sql(7) and the examples of awf-ship(1), as they stand there.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/manual
load ../../support/ship
load ../../support/ship-sql

@test "ten queries, and words, in SQLite" {
	runs
	awf-ship --to "$TO"
	answers_are_right
	[[ $(sql "$(example awf-sql.7 snippet)") == *'|'*'[sugar]'* ]]
}

@test "95 of 100 calls: the value that is meant" {
	seq 20 | awf-run --name p -c 'awf-step -i lines -q p -- true'
	awf-ship --to "$TO"
	same "$(sql "$(example awf-sql.7 p95_ms)")" "p|$(sql "SELECT duration_ms FROM steps ORDER BY duration_ms" | sed -n 19p)"
}

@test "examples of awf-ship(1)" {
	runs
	unset AWF_STORAGE XDG_DATA_HOME
	mkdir -p "$HOME/.local/share"
	mv "$BATS_TEST_TMPDIR/storage" "$HOME/.local/share/awf"
	[[ $(bash -c "$(example awf-ship.1 'ORDER BY started')") == *'paid|success|0.006'* ]]
	[[ $(bash -c "$(example awf-ship.1 'header -column')" | tail -n 1) =~ ^child\ +done\ +[0-9]+\ *$ ]]
	awf-ship --to sqlite:report.db @bytes
	[ -n "$(bash -c "$(example awf-ship.1 'LIMIT 1')")" ]
	same "$(bash -c "$(example awf-ship.1 'cmp - ')")" same
	[[ $(bash -c "$(example awf-ship.7 'awf mirror sqlite:copy.db')") == *paid*success* ]]
	[[ $(bash -c "$(example awf-ship.7 'awf ship-sqlite sqlite:copy.db')") == *'"seq":'* ]]
}
