#!/usr/bin/env bats
# The queries of awf-sql(7) and the examples of awf-ship(1), as they stand there.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/manual
load ../support/ship

# What each of the queries gives that are asked of any database, of runs().
answers_are_right() {
	ask() { sql "$(example awf-sql.7 "$1")"; }
	today=$(sql 'SELECT max(day) FROM cost_by_day')
	same "$(ask 'FROM cost_by_day' | grep '|m|')" "$today|replay|m|1|1000|200|0.006"
	same "$(ask 'AS worst_ms' | cut -d'|' -f1,2)" 'notes|1'
	same "$(ask 'AS percent' | head -n 1 | sed 's/\.0*$//')" 'a|1|100'
	same "$(ask 'AS retries')" 'a|1|2'
	same "$(ask 'WHERE input_tokens IS NOT NULL' | cut -d'|' -f2-)" 'paid|1000|200|0.006'
	same "$(ask "'%notes.txt'" | cut -d'|' -f2-4)" 'edit|notes.txt|changed'
	[[ $(ask "'%autumn%'") == *'|write|answers/writer.jsonl|In autumn the tree '* ]]
	[[ $(ask p95_ms) =~ research\|[0-9]+ ]]
	same "$(ask "'waiting'" | cut -d'|' -f1,3,4)" 'waits|check:0:0|approval'
	same "$(ask "t.name = 'notes'" | cut -d'|' -f2,4)" 'brief.awf|1'
}

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
	unset AWF_STORAGE
	mkdir -p "$HOME/.local/share"
	mv "$BATS_TEST_TMPDIR/storage" "$HOME/.local/share/awf"
	[[ $(bash -c "$(example awf-ship.1 'ORDER BY started')") == *'paid|success|0.006'* ]]
	[[ $(bash -c "$(example awf-ship.1 'header -column')" | tail -n 1) =~ ^child\ +done\ +[0-9]+\ *$ ]]
	run -0 bash -c "$(example awf-ship.1 'LIMIT 1')"
	same "$(bash -c "$(example awf-ship.1 'cmp - ')")" same
	[[ $(bash -c "$(example awf-ship.7 'What a filter' 2>/dev/null || example awf-ship.7 'sqlite:copy.db' | sed "s|/usr/local|$BUILD|")") == *'"seq":'* ]]
}
