#!/usr/bin/env bats
# bats file_tags=ci
# awf-import: a log that is cut at 500 places, and taken in from one to the next, gives the bytes of one import,
# in each format. The places are chosen by AWF_CUTS_SEED, which is printed where this does not hold.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/import

CUTS=500

prepare() {
	unset XDG_DATA_HOME GEMINI_CLI_HOME COPILOT_HOME
	FIXTURES=$ROOT/tests/fixtures/import
	: "${AWF_CUTS_SEED:=$(($(date +%s) / 86400))}"
	echo "AWF_CUTS_SEED=$AWF_CUTS_SEED"
}
records() { cat "$AWF_STORAGE"/transcripts/*.jsonl; }
# SIZE: so many places below, in order.
places() { awk -v seed="$AWF_CUTS_SEED" -v size="$1" -v cuts="$CUTS" 'BEGIN { srand(seed); while (cuts-- > 0) print int(rand() * size) }' | sort -n; }
# FORMAT FILE: cuts the log that is at FILE.
in_pieces() {
	local bytes
	cp "$2" whole
	: >"$2"
	for bytes in $(places "$(stat -c %s whole)"); do
		head -c "$bytes" whole >"$2"
		awf-import -q --from "$1" "$2" || { echo "at $bytes"; return 1; }
	done
	cp whole "$2"
	as_once "$1" "$2"
}
# FORMAT FILE: what was recorded is what one import gives.
as_once() {
	awf-import -q --from "$1" --ended 0s "$2"
	sound
	records >pieces
	[ -s pieces ]
	export AWF_STORAGE=$PWD/once
	awf-import -q --from "$1" --ended 0s "$2"
	cmp pieces <(records)
}

@test "claude" {
	clock=0
	mkdir -p "$HOME/.claude/projects/-work-shop/$SESSION/subagents"
	LOG=$HOME/.claude/projects/-work-shop/$SESSION.jsonl
	{
		first
		second
		prompt 3 'Look.'
		answer m4 "$(use t4 Task '{"prompt":"find it"}')" 9
		result t4 'found' '' ',"toolUseResult":{"agentId":"a17"}'
		answer m5 "$(text Good.)" 2
	} >"$LOG"
	{ prompt s1 'find it'; answer s2 "$(use t9 Grep '{"pattern":"x"}')" 7; result t9 'x.c'; answer s3 "$(text found)" 3; } >"${LOG%.jsonl}/subagents/agent-a17.jsonl"
	in_pieces claude "$LOG"
}

@test "codex" {
	mkdir -p "$HOME/.codex/sessions/2026/03/02"
	LOG=$HOME/.codex/sessions/2026/03/02/rollout-2026-03-02T10-01-00-x.jsonl
	codex_log >"$LOG"
	in_pieces codex "$LOG"
}

@test "gemini" {
	gemini
	in_pieces gemini "$LOG"
}

@test "copilot" {
	copilot
	in_pieces copilot "$LOG"
}

@test "otel" {
	cp "$FIXTURES/ai-sdk-6.otlp.jsonl" log.jsonl
	in_pieces otel ./log.jsonl
}

@test "agents" {
	cp "$FIXTURES/openai-agents-0.20.jsonl" log.jsonl
	in_pieces agents ./log.jsonl
}

@test "inspect" {
	inspect_log >log.json
	in_pieces inspect ./log.json
}

@test "awf" {
	AWF_STORAGE=$PWD/there awf-run -n --name flow -c 'awf-step -n big -- sh -c "head -c 70000 /dev/zero | tr \\\\0 x" | awf-step next -q -- wc -c' 2>&1
	cp there/transcripts/*.jsonl log.jsonl
	cp -r there/blobs . 2>/dev/null || true
	in_pieces awf ./log.jsonl
	cmp log.jsonl pieces
}

# SEED: what happens to a database, one change in a line, until it is whole.db: an answer begins, a part comes, is added to,
# and ends; which of them is next is chosen.
changes() {
	python3 - "$1" <<-'END'
		import json, random, sqlite3, sys
		r = random.Random(int(sys.argv[1]))
		w = sqlite3.connect("whole.db")
		messages = w.execute("SELECT id, data, time_updated FROM message ORDER BY time_created, id").fetchall()
		def q(text): return "'" + str(text).replace("'", "''") + "'"
		def message(id): return "INSERT INTO message SELECT id, session_id, time_created, time_created, json_remove(data, '$.time.completed', '$.finish') FROM w.message WHERE id = %s" % q(id)
		def part(id, data): return "INSERT INTO part SELECT id, message_id, session_id, time_created, time_created, %s FROM w.part WHERE id = %s" % (q(json.dumps(data)), q(id))
		def grow(table, id, data, when): return "UPDATE %s SET data = %s, time_updated = %s WHERE id = %s" % (table, q(data), when, q(id))
		for id, data, when in messages:
		    print(message(id))
		    waiting = [[p] for p in w.execute("SELECT id, data, time_updated FROM part WHERE message_id = ? ORDER BY id", (id,))]
		    begun = []
		    while waiting or begun:
		        if waiting and (not begun or r.random() < 0.5):
		            p = waiting.pop(0)[0]
		            d = json.loads(p[1])
		            steps = [grow("part", *p)]
		            if d.get("type") in ("text", "reasoning") and len(d.get("text", "")) > 1:
		                n = r.randrange(len(d["text"]))
		                steps.insert(0, grow("part", p[0], json.dumps({**d, "text": d["text"][:n]}), p[2]))
		                d = {**d, "text": ""}
		            elif d.get("type") == "tool":
		                state = {k: v for k, v in d["state"].items() if k not in ("output", "error", "metadata")}
		                steps.insert(0, grow("part", p[0], json.dumps({**d, "state": {**state, "status": "running"}}), p[2]))
		                d = {**d, "state": {**state, "status": "pending"}}
		            print(part(p[0], d))
		            begun.append(steps)
		        else:
		            steps = r.choice(begun)
		            print(steps.pop(0))
		            if not steps:
		                begun.remove(steps)
		    print(grow("message", id, data, when))
	END
}

@test "opencode" {
	local made=0 change
	opencode
	mv "$DB" whole.db
	cp whole.db "$DB"
	AWF_STORAGE=$PWD/once awf-import -q --from opencode --ended 0s "$DATA"
	while [ "$made" -lt "$CUTS" ]; do
		export AWF_STORAGE=$PWD/pieces-$made
		rm "$DB"*
		db "$(sqlite3 whole.db .schema); ATTACH 'whole.db' AS w; INSERT INTO session SELECT * FROM w.session"
		while read -r change; do
			db "ATTACH 'whole.db' AS w; $change"
			awf-import -q --from opencode "$DATA" || { echo "after $change"; return 1; }
			made=$((made + 1))
		done < <(changes "$((AWF_CUTS_SEED + made))")
		awf-import -q --from opencode --ended 0s "$DATA"
		sound
		cmp <(records) <(cat once/transcripts/*.jsonl)
	done
}
