#!/usr/bin/env bats
# The jq queries that people run on a transcript.
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() { chain <"$ROOT/tests/fixtures/brief.events" >run.jsonl; }

@test "pretty print" {
	export JQ=jq
	jq . run.jsonl >pretty
	same "$(jq -c . pretty)" "$(cat run.jsonl)"
}

@test "every tool call with its result" {
	export JQ=jq
	same "$(jq -sr '(map(select(.type == "tool.result")) | INDEX(.payload.call_id)) as $results
		| .[] | select(.type == "tool.call")
		| [.payload.name, (.payload.input | tojson), ($results[.payload.call_id].payload
			| .output // .error.message)] | @tsv' run.jsonl)" "$(printf '%s\t%s\t%s\n' \
		read '{"path":"notes.md","limit":40}' 'Sulfides conduct well.\nOxides are stable.\n' \
		search '{"query":"solid electrolyte"}' 'exit status 1')"
}

@test "the result of a call is what the call caused" {
	same "$(jq -sr '. as $all | .[] | select(.type == "tool.call") | .event_id as $id
		| $all[] | select(.type == "tool.result" and .parent_event_id == $id)
		| .payload.name' run.jsonl | paste -sd' ')" 'read search'
}

@test "all assistant text" {
	same "$(jq -r 'select(.type == "message.assistant").payload.blocks[]
		| select(.type == "text").text' run.jsonl)" "$(printf '%s\n' \
		'I will look at two sources.' 'Solid-state batteries replace the liquid electrolyte.')"
}

@test "only router tool events" {
	same "$(jq -c 'select((.type | startswith("tool.")) and .payload.fidelity == "router").seq' \
		run.jsonl | paste -sd' ')" '5 6 7 8'
}

@test "the step tree, from step.started" {
	same "$(jq -r 'select(.type | test("^step\\.(call_workflow\\.)?started$"))
		| (.path | split(".")) as $names
		| "  " * ($names | length - 1) + $names[-1] + " " + .payload.kind' run.jsonl)" \
		"$(printf '%s\n' 'research agent' 'check command' 'nested call_workflow' \
		'review for_each' '  lint command' '  lint command')"
}

@test "on a big run, and through awf-tail" {
	"$BUILD/tests/bench/gen_transcript" 1000000 big.jsonl
	calls=$(jq -s 'map(select(.type == "tool.call")) | length' big.jsonl)
	same "$(awf-tail --json --type tool.call big.jsonl | jq -s length)" "$calls"
	same "$(jq -s '[.[] | select(.type == "tool.result") | .payload.call_id] | unique | length' \
		big.jsonl)" "$calls"
	jq -se '.[-1].payload.usage.calls == (map(select(.type == "step.started")) | length)' big.jsonl
}
