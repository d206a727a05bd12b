# Sourced by the bats files about awf-ship: runs to be shipped, and targets that are asked.
# shellcheck shell=bash

# A database of SQLite beside the storage; without its filter these tests are left out.
prepare() {
	[ -e "$BUILD/libexec/awf/awf-ship-sqlite" ] || skip 'built without libsqlite3'
	command -v sqlite3 >/dev/null || skip 'no sqlite3 here'
	TO=sqlite:$PWD/runs.db
}

# What the target answers to a query, columns with | between.
sql() { sqlite3 -cmd '.timeout 20000' "${TO#sqlite:}" "$1"; }

# Runs of several kinds: agents with a tool, a failure after retries, bytes that databases refuse,
# a decision that is waited for, a file that was changed, a child.
runs() {
	awf init demo >/dev/null
	(cd demo && ./brief.awf >/dev/null)
	printf '%s\n' '{"type":"message","blocks":[{"type":"text","text":"Paid."}],"stop_reason":"end_turn","usage":{"input_tokens":1000,"output_tokens":200},"model":"m"}' >answer.jsonl
	echo 'replay/* 3 15' >prices
	export AWF_PRICES=$PWD/prices
	awf-step -n -q -m replay/answer.jsonl -p hi paid
	awf-run -n --name fails -c 'awf-step -n a -r --retries 2 --delay 1ms -- false' 2>/dev/null || true
	awf-run -n --name bytes -c 'printf "%s" "[\"x\\u0000y\",\"\\ud83d\\ude00\",1e999,1e-999,12]" | awf-step -i json -q c -- cat
		head -c 300000 /dev/zero | tr "\\0" x | awf-step -q big -- cat'
	echo x | awf-run --name waits -c 'awf-step --approve check' >/dev/null 2>&1 || true
	(cd demo && awf-run -n --name edits -c 'awf-step -n edit --effects workspace -q -- sh -c "echo more >>notes.txt"')
	awf-run -n --name parent -c 'awf-run -n --name child -c "awf-step -n inner -q -- true"'
}

# Whether the target has the lines of each transcript, and nothing else.
same_lines() {
	local file
	for file in "$AWF_STORAGE"/transcripts/*.jsonl; do
		sql "SELECT line FROM agent_run_events WHERE run_id = '$(basename "$file" .jsonl)' ORDER BY seq" |
			cmp - "$file" || return 1
	done
	same "$(sql 'SELECT count(*) FROM agent_run_events')" "$(cat "$AWF_STORAGE"/transcripts/*.jsonl | wc -l)"
}

# Whether all lines come, byte for byte, once, and what comes later follows them: a run that goes on,
# a decision behind an end, a further run. [URL]: another name of the same target.
all_come() {
	runs
	run -0 --separate-stderr awf-ship --to "$TO"
	same "$output$stderr" ''
	same_lines
	run -0 --separate-stderr awf-ship --to "${1-$TO}"
	same_lines
	awf-ctl approve check @waits
	awf-run --resume @waits >/dev/null
	awf-run -n --name later -c 'awf-step -n a -q -- true'
	awf-ship --to "$TO"
	same_lines
	same "$(sql "SELECT status, attempt FROM runs WHERE name = 'waits'")" 'success|2'
	same "$(sql "SELECT s.id, s.outcome, s.attempt FROM steps s JOIN runs r ON r.run_id = s.run_id WHERE r.name = 'waits' ORDER BY s.seq")" \
		$'check:0:0|done|1\ncheck:0:0|done|2'
	runs_are_told
}

# Whether the target tells of each run what awf-tail does.
runs_are_told() {
	same "$(sql 'SELECT run_id, name, status FROM runs ORDER BY run_id')" \
		"$(awf-tail --list -R --json | jq -r '[.run_id, .name, .status] | join("|")' | sort)"
}

# TRANSCRIPT SCRIPT: what it is once sed(1) has changed its events.
chained() { sed -E 's/^\{"seq":[0-9]+,/{/; s/,"prev":"[0-9a-f]+"\}$/}/' "$1" | sed "$2" | chain; }

# WHY...: whether of runs, of which some are nothing that the database can hold, for reasons of which each
# has one WHY, the others come: one has an event_id twice, one is of the year 0, one has a long type.
others_come() {
	local name why
	for name in early twice year0 long late; do
		awf-run -n --name $name -c 'awf-step -n a -q -- true'
		local "$name=$(transcript)"
	done
	id=$(sed -n 2p "$twice" | jq -r .event_id)
	chained "$twice" "3s/\"event_id\":\"[^\"]*/\"event_id\":\"$id/" >t && mv t "$twice"
	chained "$year0" '3s/"timestamp":"..../"timestamp":"0000/' >t && mv t "$year0"
	chained "$long" "3s/\"type\":\"[^\"]*/\"type\":\"$(seq 99 | while read -r i; do sha256sum <<<"$i"; done | tr -d ' \n-')/" >t && mv t "$long"
	for _ in 1 2; do
		run -3 --separate-stderr awf-ship --to "$TO"
		same "$(grep -c ': the target cannot hold it, and nothing more of the run is sent: ' <<<"$stderr")" $#
		for why; do [[ $stderr == *"$why"* ]]; done
	done
	for name in early late; do
		sql "SELECT line FROM agent_run_events WHERE run_id = '$(basename "${!name}" .jsonl)' ORDER BY seq" | cmp - "${!name}"
	done
	same "$(sql "SELECT count(*) FROM agent_run_events WHERE run_id = '$(basename "$twice" .jsonl)'")" 0
}

# Whether each view answers, whatever other programs have told.
views_answer() {
	local view
	printf '%s\n' '{"type":"tool.call","payload":{"name":"t","call_id":"1","input":{}}}' \
		'{"type":"tool.result","payload":{"name":"t","call_id":"1","output":"x","changed":["a.txt",7]}}' | awf-record -q --name odd
	awf-ship --to "$TO"
	for view in runs steps llm_calls tool_calls changed_files cost_by_day; do
		sql "SELECT * FROM $view" >/dev/null || return 1
	done
	same "$(sql "SELECT count(*), min(file) FROM changed_files")" '1|notes.txt'
}
