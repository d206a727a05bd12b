#!/usr/bin/env bats
# awf-replay: what it shows of a recorded run.
# shellcheck disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../support/helpers

BRIEF=6f1c2a80-5b1e-4a7d-9c34-0d2f6b7e8a91
NESTED=b7e0c3d2-91aa-4f06-8e55-3c4d5e6f7081
RELEASE=3d2c7a10-64b8-4f0e-9a51-7c0de1f2a3b4

# The recorded runs: one with a group and a child, one with two attempts and much that
# can go wrong.
prepare() {
	mkdir -p "$AWF_STORAGE/transcripts"
	record brief "$BRIEF"
	record nested "$NESTED"
	record release "$RELEASE"
}

record() {
	chain <"$ROOT/tests/fixtures/$1.events" >"$AWF_STORAGE/transcripts/$2.jsonl"
}

# A real run: four agents at a time, each with two tool calls at once, and commands.
concurrent() {
	mkdir -p tools
	printf '#!/bin/sh\ncat >/dev/null\necho seen\n' >tools/look
	printf '{"name":"look","description":"looks","concurrent":true,"input_schema":{"type":"object"}}\n' >tools/look.tool.json
	chmod +x tools/look
	printf -- '---\nname: one\nmodel: replay/%s\ntools: [look]\n---\nLook.\n' "$PWD/answers" >one.md
	for item in a b c d e f; do
		printf '{"match":"item %s","blocks":[%s,%s]}\n' $item \
			'{"type":"tool_use","tool_id":"1","tool_name":"look","tool_input":{}}' \
			'{"type":"tool_use","tool_id":"2","tool_name":"look","tool_input":{}}'
		printf '{"match":"item %s","blocks":[{"type":"text","text":"done %s"}]}\n' $item $item
	done >answers
	awf-run -c 'printf "item %s\n" a b c d e f | awf-step -i lines -j 4 first -- cat |
		awf-step -j 4 -a one.md ask | awf-step -s last -r -- wc -l' >/dev/null
	transcript
}

# A transcript of events that stand here as "ID PARENT LINKS TYPE PAYLOAD": one digit
# for an id, - for none.
events() {
	local id parent links type payload
	uuid() { sed 's/[0-9]/"00000000-0000-4000-8000-00000000000&"/g; s/-$/null/' <<<"$1"; }
	while read -r id parent links type payload; do
		printf '{"timestamp":"2026-11-21T08:00:00.000000Z","event_id":%s,"run_id":%s,"parent_event_id":%s,' \
			"$(uuid "$id")" "$(uuid 1)" "$(uuid "$parent")"
		[ "$links" = - ] || printf '"links":[%s],' "$(uuid "$links")"
		printf '"type":"%s","path":"","iteration":0,"payload":%s}\n' "$type" "${payload:-null}"
	done | chain
}

refused() {
	run "-$1" --separate-stderr awf-replay "${@:3}"
	same "$output" ''
	same "$stderr" "awf-replay: $2"
}

# Whether it has the canonical bytes that it has however its lines are interleaved.
interleaved() {
	local file=$1 count=$2 seed
	awf-replay --canonical "$file" >canonical
	same "$(wc -l <canonical)" "$(wc -l <"$file")"
	same "$(awf-replay --order causal "$file" | cut -d, -f3)" "$(cut -d, -f1 canonical | tr -d '{')"
	for seed in $(seq "$count"); do
		python3 "$ROOT/tests/support/interleave.py" "$seed" <"$file" >other.jsonl
		awf-replay --canonical other.jsonl | cmp - canonical
		cut -d, -f3 other.jsonl | sha256sum
	done >orders
	[ "$(sort -u orders | wc -l)" -ge $((count * 9 / 10)) ]
}

@test "one recording, written in 50 other interleavings: the same canonical bytes" {
	interleaved "$(concurrent)" 50
	awf-verify -q other.jsonl
}

@test "a group, two attempts, a type of tomorrow in other interleavings" {
	interleaved "$AWF_STORAGE/transcripts/$RELEASE.jsonl" 10
	interleaved "$AWF_STORAGE/transcripts/$BRIEF.jsonl" 10
}

@test "--canonical: without time and seals, the rest byte for byte" {
	events >t.jsonl <<-'END'
		1 - - run.started {"name":"n","attempt":1,"z":1.50,"a":"\u00e9"}
		2 1 - step.started {"call":"a:0:0","attempt":1,"input":{"duration_ms":5,"seq":1}}
		3 2 - step.completed {"call":"a:0:0","result":{"duration_ms":7},"duration_ms":9,"retries":[{"code":"x","duration_ms":3,"turn":0},{"duration_ms":1}]}
		4 1 - run.completed {"status":"success","duration_ms":4,"seal":{"algorithm":"ed25519","signature":"00"}}
	END
	run -0 awf-replay --canonical t.jsonl
	same "$output" '{"event_id":"00000000-0000-4000-8000-000000000001","run_id":"00000000-0000-4000-8000-000000000001","parent_event_id":null,"type":"run.started","path":"","iteration":0,"payload":{"name":"n","attempt":1,"z":1.50,"a":"\u00e9"}}
{"event_id":"00000000-0000-4000-8000-000000000002","run_id":"00000000-0000-4000-8000-000000000001","parent_event_id":"00000000-0000-4000-8000-000000000001","type":"step.started","path":"","iteration":0,"payload":{"call":"a:0:0","attempt":1,"input":{"duration_ms":5,"seq":1}}}
{"event_id":"00000000-0000-4000-8000-000000000003","run_id":"00000000-0000-4000-8000-000000000001","parent_event_id":"00000000-0000-4000-8000-000000000002","type":"step.completed","path":"","iteration":0,"payload":{"call":"a:0:0","result":{"duration_ms":7},"retries":[{"code":"x","turn":0},{}]}}
{"event_id":"00000000-0000-4000-8000-000000000004","run_id":"00000000-0000-4000-8000-000000000001","parent_event_id":"00000000-0000-4000-8000-000000000001","type":"run.completed","path":"","iteration":0,"payload":{"status":"success"}}'
}

@test "--order: lines unchanged; seq brings the order of the file back" {
	file=$(concurrent)
	awf-replay --order causal "$file" >causal
	run -1 cmp -s causal "$file"
	sort causal | cmp - <(sort "$file")
	awf-replay --order seq causal | cmp - "$file"
	shuf causal >shuffled
	awf-replay --order causal shuffled | cmp - causal
}

@test "--order causal: attempts one after the other, whatever their ids" {
	events >t.jsonl <<-'END'
		9 - - run.started {"attempt":1}
		8 9 - step.started {"call":"a:0:0","attempt":1}
		7 9 - step.started {"call":"b:0:0","attempt":1}
		6 8 - step.completed {"call":"a:0:0"}
		5 - - run.started {"attempt":2}
		2 6 - step.started {"call":"c:0:0","attempt":2}
		1 2 7 message.user {}
		3 5 - run.completed {}
	END
	same "$(awf-replay --order causal t.jsonl | jq -r '.event_id[-1:]' | tr -d '\n')" 97865213
}

@test "causes that make no order name the event" {
	id=00000000-0000-4000-8000-00000000000
	start='1 - - run.started {"attempt":1}'
	while IFS='|' read -r message events; do
		printf '%s\n' "$start" "${events//;/$'\n'}" | sed 's/; /\n/g' | events >t.jsonl
		for display in '--order causal' --canonical; do
			# shellcheck disable=SC2086 # two words
			refused 3 "${message//ID/$id}" $display t.jsonl
		done
	done <<-'END'
		ID3: the parent of this message.user (seq 2), event ID2, is not recorded|3 2 - message.user
		ID4: the link of this step.started (seq 3), event ID9, is not recorded|3 1 - step.started;4 3 3,9 step.started
		ID2: this step.started (seq 2) has no parent|2 - - step.started
		ID2: this message.user (seq 2) is a cause of itself|2 2 - message.user
		ID2: this message.user (seq 2) is a cause of itself, by way of ID3|2 3 - message.user;3 2 - message.user;4 3 - message.user
		ID3: this message.user (seq 3) is a cause of itself, by way of ID4|2 1 - step.started;3 2 4 message.user;4 3 2 message.user
		ID2: this event is recorded twice, as seq 2 and 3|2 1 - step.started;2 1 - step.started
		ID3: the link of this message.user (seq 2), event ID2, is of the later attempt 2|3 1 2 message.user;2 - - run.started {"attempt":2}
		ID3: the parent of this message.user (seq 3), event ID2, is the end of the same attempt 1|2 1 - run.completed;3 2 - message.user
	END
}

@test "damaged recordings, and a line that is being written" {
	file=$AWF_STORAGE/transcripts/$NESTED.jsonl
	sed '3s/"payload"/payload/' "$file" >t.jsonl
	refused 1 "t.jsonl: line 3 is damaged: it is no event (see awf-verify)" --canonical t.jsonl
	sed '2s/^{"seq":2/{"sep":2/' "$file" >t.jsonl
	refused 1 "t.jsonl: line 2 is damaged: it is not whole (see awf-verify)" --order seq t.jsonl
	sed '4s/"event_id":"0/"event_id":"X/' "$file" >t.jsonl
	refused 1 "t.jsonl: line 4 is damaged: its ids are no UUIDs (see awf-verify)" --order causal t.jsonl
	head -c -9 "$file" >t.jsonl
	awf-replay --order seq t.jsonl | cmp - <(head -n 3 "$file")
	: >empty.jsonl
	for display in '--order seq' '--order causal' --canonical; do
		# shellcheck disable=SC2086 # two words
		same "$(awf-replay $display empty.jsonl)" ''
	done
}

@test "wrong command lines" {
	refused 1 "@: there is no run yet in $AWF_STORAGE" --order seq
	refused 1 "--order: no such order 'casual' (did you mean 'causal'?)" --order casual
	refused 1 "--order: no such order 'x': causal or seq" --order x
	refused 1 '--canonical: not with --order' --order seq --canonical
	refused 1 'b: only one run at a time' --canonical a b
	run -1 --separate-stderr awf-replay --canonical @none
	[[ $stderr == "awf-replay: @none: "* ]]
	same "$(awf-replay --version)" "awf-replay $(awf-run --version | cut -d' ' -f2)"
}

@test "a full disk is told, a reader that goes away ends it" {
	run -4 --separate-stderr sh -c 'awf-replay --canonical "$1" >/dev/full' sh "$BRIEF"
	same "$stderr" 'awf-replay: stdout: unable to write: No space left on device'
	same "$(awf-replay --order seq "$BRIEF" | head -n 1 | cut -c1-9)" '{"seq":1,'
}
