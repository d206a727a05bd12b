#!/usr/bin/env bats
# awf-record, awf-serve: events that came in a vocabulary of ours come out in it as they came.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

prepare() {
	AGENT=$ROOT/tests/fixtures/agent-events.jsonl
	BETWEEN=$ROOT/tests/fixtures/interagent-events.jsonl
}

sorted() { jq -cS . "$@"; }
as_they_came() { cmp <(sorted "$1") <(sorted "$2"); }

@test "AgentEvents come out as they came: type, payload, kind of run, time, number" {
	awf-record -q <"$AGENT"
	awf-verify
	awf-tail --as agent-event >out
	as_they_came "$AGENT" out
	same "$(payloads run.started .vocabulary)" '"agent-event"'
	# Again from what came out; and from where they were shown to others.
	awf-record -q <out
	awf-tail --as agent-event | cmp - out
	serve
	TOKEN=$(awf-serve --new-token ingest)
	ask_tcp /api/ingest -H 'Content-Type: application/x-ndjson' --data-binary @"$AGENT" >answer
	same "$(jq -r .accepted answer)" "$(wc -l <"$AGENT" | tr -d ' ')"
	id=$(jq -r '.runs[0]' answer)
	ask "/api/runs/$id/events?as=agent-event" | cmp - out
	ask_tcp /api/runs/s-1/end -H 'Content-Type: application/json' -d '{"status":"success"}' >/dev/null
	ask "/api/runs/$id/events/stream?as=agent-event" | messages | grep -v '^end' | sed 's/ [0-9]*$//' | cmp - out
	# The other vocabularies tell the same of them as ever.
	same "$(awf-tail --as runtime | jq -r .type | grep -c '^tool')" 4
}

@test "what is large, and what is odd, comes out as it came" {
	head -c 300000 /dev/zero | tr '\0' x | jq -Rc --slurpfile like "$AGENT" '. as $x | $like[] |
		if .type == "tool.end" then .payload.result = $x elif .type == "llm.turn.end" then .payload.text = $x
		elif .type == "tool.output" then .payload.message = $x else . end' >large
	awf-record -q <large
	[ -n "$(ls "$AWF_STORAGE"/blobs/*/)" ]
	awf-tail --as agent-event >out
	as_they_came large out
	# Members that AWF has places for, of kinds that do not fit there, and each way to say one thing.
	jq -nc '{seq: 1, ts: "t", runId: "r", runKind: "job", phase: "queued"} as $e |
		({tool: 1, callId: 2, args: null}, {name: "n", tool: "t", args: 1, arguments: 2, input: 3}, {tool: "t", error: null},
		{tool: "t", error: [1]}, {tool: "t", error: {code: 1, message: 2}}, {tool: "t", error: {message: "m", code: "c", more: 1}},
		{tool: "t", durationMs: -1}, {tool: "t", data: {tool: 1}, source: 1, fidelity: "x", names: {a: 1}},
		{tool: "t", "a/b": 1, "": 2}) as $tool |
		$e + {type: ("tool.start", "tool.end"), payload: $tool},
		($e + {type: ("llm.turn.start", "llm.turn.end", "handoff"), payload: ({}, {text: "t", message: "m", content: [], role: "x"},
			{blocks: [{type: "text", text: "t", fidelity: null}, {type: "y"}], data: 1}, {content: "c", prompt: "p", turn: 1.0})}),
		($e + {type: ("handoff", "error"), payload: (1, null, [{blocks: [1]}], {blocks: [{fidelity: "a"}]}), extra: {payload: 1}})' >odd
	awf-record -q <odd
	awf-tail --as agent-event >out
	as_they_came odd out
	awf-verify
}

@test "the end of a sender is as it told it, and so is what it said in other words" {
	lines() { awf-tail --as agent-event | jq -r '.type + " " + .phase' | tail -n "$1" | paste -sd,; }
	# A line that is refused is no failure of the sender.
	head -n 5 "$AGENT" | awf-record -q
	same "$(lines 1)" 'tool.start running'
	{ head -n 5 "$AGENT"; echo '{'; } | awf-record -q 2>/dev/null || true
	same "$(lines 1)" 'tool.start running'
	{ cat "$AGENT"; echo '{'; } | awf-record -q 2>/dev/null || true
	same "$(lines 1)" 'run.completed completed'
	{ cat "$AGENT"; echo '{"type":"weather"}'; } | awf-record -q
	same "$(awf-tail --as agent-event | tail -n 1 | jq -c '[.type, .dropped]')" '["run.completed",1]'
	# In a run of ours they stand among its lines.
	awf-run -n -c "awf-step -n a -q -- sh -c 'awf-record -q <$AGENT'"
	awf-tail --as agent-event >out
	as_they_came "$AGENT" <(grep -v source_seq out)
	same "$(grep source_seq out | jq -r .type | paste -sd,)" run.started,run.phase,run.phase,run.completed
}

# Records the events N times in another order, each time into a new run; how many digests that gives.
shuffled() {
	for i in $(seq "$1"); do
		shuf --random-source=<(yes "$i") "$BETWEEN" | awf-record -q
		awf-tail --as interagent >out
		as_they_came <(sort "$BETWEEN") <(sort out) || return 1
		# Each is behind its cause.
		jq -se '. as $all | all(range(length); $all[.].parent_event_id as $cause | $cause == null or
			any($all[:.][]; .event_id == $cause))' out >/dev/null || return 1
		awf-replay --canonical | sha256sum
	done | sort -u | wc -l
}

@test "inter-agent events come out as they came, behind their causes; in any order they have one canonical digest" {
	same "$(shuffled 20)" 1
	awf-verify
	same "$(awf-replay --canonical | wc -l | tr -d ' ')" "$(wc -l <"$BETWEEN" | tr -d ' ')"
	# Other events have another one.
	digest=$(awf-replay --canonical | sha256sum)
	sed '1s/"agent_id":"[a-z]*"/"agent_id":"other"/' "$BETWEEN" | awf-record -q
	[ "$(awf-replay --canonical | sha256sum)" != "$digest" ]
}

# bats test_tags=ci
@test "inter-agent events have one canonical digest in a thousand orders" {
	same "$(shuffled 1000)" 1
}
