#!/usr/bin/env bats
# awf-tail --as: a run in other vocabularies, and their published schemas.
# Each test is a subshell of its own, and stderr is bats':
# shellcheck disable=SC2154,SC2030,SC2031
bats_require_minimum_version 1.5.0
load ../../support/helpers

BRIEF=6f1c2a80-5b1e-4a7d-9c34-0d2f6b7e8a91
NESTED=b7e0c3d2-91aa-4f06-8e55-3c4d5e6f7081
RELEASE=3d2c7a10-64b8-4f0e-9a51-7c0de1f2a3b4
NAMES='interagent agent-event daemon-event langgraph runtime otlp'

# The recorded runs: one with a child, one with all that can go wrong.
prepare() {
	mkdir -p "$AWF_STORAGE/transcripts"
	record brief "$BRIEF"
	record nested "$NESTED"
	record release "$RELEASE"
}

record() {
	chain <"$ROOT/tests/fixtures/$1.events" >"$AWF_STORAGE/transcripts/$2.jsonl"
}

cleanup() {
	[ -z "${TAIL-}" ] || kill "$TAIL" 2>/dev/null || true
	[ -z "${RUN-}" ] || kill "$RUN" 2>/dev/null || true
}

# --tools where they have to be asked for.
tools() {
	if [ "$1" = daemon-event ]; then echo --tools; fi
}

# A projection with all that it can have.
as() {
	awf-tail --as "$1" $(tools "$1") "${@:2}"
}

# A real run of two agents, one of which uses tools.
agents() {
	mkdir -p tools
	printf '#!/bin/sh\nread -r input\nprintf "first line\\nsecond line\\n"\necho note >&2\n' >tools/look
	printf '{"name":"look","description":"looks","input_schema":{"type":"object"}}\n' >tools/look.tool.json
	chmod +x tools/look
	printf -- '---\nname: one\nmodel: replay/%s\ntools: [look]\n---\nLook.\n' "$PWD/one.jsonl" >one.md
	printf -- '---\nname: two\nmodel: replay/%s\n---\nWrite.\n' "$PWD/two.jsonl" >two.md
	printf '%s\n' '{"type":"message","blocks":[{"type":"tool_use","tool_id":"a","tool_name":"look","tool_input":{"at":"it"}},{"type":"tool_use","tool_id":"b","tool_name":"leap","tool_input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":2},"model":"m"}' \
		'{"type":"message","blocks":[{"type":"text","text":"seen"}],"stop_reason":"end_turn","usage":{},"model":"m"}' >one.jsonl
	printf '%s\n' '{"type":"message","blocks":[{"type":"text","text":"written"}],"stop_reason":"end_turn","usage":{},"model":"m"}' >two.jsonl
	echo "echo go | awf-step -a one.md one | awf-step -a two.md two -r; $1" >script
}

@test "the recorded runs come out as they always did" {
	for name in $NAMES; do
		as "$name" -R "$BRIEF" | diff "$ROOT/tests/fixtures/projections/brief.$name" -
		as "$name" "$RELEASE" | diff "$ROOT/tests/fixtures/projections/release.$name" -
		as "$name" "$AWF_STORAGE/transcripts/$RELEASE.jsonl" |
			diff "$ROOT/tests/fixtures/projections/release.$name" -
	done
}

@test "every word of each vocabulary is used" {
	words() { cat "$ROOT/tests/fixtures/projections/"*".$1" | jq -r "$2" | sort -u; }
	known() { awf-verify --schema "$1" | jq -r ".properties.$2.enum[]" | sort; }
	same "$(words interagent .type)" "$(known interagent type)"
	same "$(words agent-event .type)" "$(known agent-event type)"
	same "$(words runtime .type)" "$(known runtime type)"
	same "$(words langgraph .type)" "$(known langgraph type)"
	same "$(words daemon-event .eventKind)" "$(known daemon-event eventKind)"
}

# bats test_tags=turn:2
@test "filters choose source events and change no line" {
	export JQ=jq
	for name in $NAMES; do
		as "$name" "$RELEASE" >all
		as "$name" "$RELEASE" --after 12 >some
		jq -c 'select(.source_seq > 12)' all | cmp - some
		as "$name" "$RELEASE" -n 9 >some
		jq -c 'select(.source_seq > 19)' all | cmp - some
		as "$name" "$RELEASE" --after 3 --type 'step.*' -n 4 >some
		jq -c 'select(.source_seq == (20, 21, 25, 26))' all | sort -u | cmp - <(sort some)
		as "$name" "$RELEASE" --errors --path ship >some
		jq -c 'select(.source_seq == 19)' all | cmp - some
		as "$name" "$RELEASE" --grep nothing-like-it >some
		[ ! -s some ]
	done
}

# bats test_tags=turn:2
@test "live lines are those of later, wherever a follower began" {
	export JQ=jq
	agents 'read -r line <go'
	mkfifo go
	for name in $NAMES; do
		# Both followers are there, by what they write, before the run goes on: they would wait for the
		# next run, were this one over.
		rm -f whole part
		awf-run script 3>&- &
		RUN=$!
		until now=$(transcript) && [ "$now" != "${last-}" ] &&
			[ "$(grep -cs '"type":"step.completed"' "$now")" = 2 ]; do
			nap 0.01
		done
		as "$name" -f >whole 3>&- &
		TAIL=$!
		as "$name" -f -n 3 >part 3>&- &
		second=$!
		eventually test -s whole
		eventually test -s part
		echo >go
		wait "$RUN" "$TAIL" "$second"
		last=$now
		as "$name" >after
		cmp whole after
		first=$(head -n 1 part | jq .source_seq)
		[ "$first" -gt 5 ]
		jq -c "select(.source_seq >= $first)" after | cmp - part
	done
}

@test "-f counts on in a run that had ended when the following began" {
	awf-run --id-file id true
	as runtime -f >out 3>&- &
	TAIL=$!
	sleep 0.2
	awf-run -c 'awf-step -n x -- true'
	wait "$TAIL"
	same "$(jq -c '[.offset, .type]' out | tr -d '\n')" \
		"$(as runtime | jq -c '[.offset, .type]' | tr -d '\n')"
}

# bats test_tags=turn:4
@test "a real run has the form of the schemas, for an independent validator too" {
	agents true
	same "$(awf-run script)" written
	python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"
	for name in $NAMES; do
		awf-verify --schema "$name" >schema.json
		as "$name" | cat - "$ROOT/tests/fixtures/projections/"*".$name" >lines
		python3 - <<-'END'
			import json, jsonschema
			schema = json.load(open("schema.json"))
			jsonschema.Draft202012Validator.check_schema(schema)
			validator = jsonschema.Draft202012Validator(schema)
			for line in open("lines"):
			    value = json.loads(line)
			    validator.validate(value)
			    for key in schema["required"]:
			        assert not validator.is_valid({k: v for k, v in value.items() if k != key}), key
			    assert not validator.is_valid({**value, "other": 1})
		END
	done
}

@test "interagent: hashes are those of the payloads, causes are lines before" {
	export JQ=jq
	as interagent "$RELEASE" >lines
	jq -c .payload "$AWF_STORAGE/transcripts/$RELEASE.jsonl" | while read -r payload; do
		printf %s "$payload" | sha256sum | cut -c1-16
	done >hashes
	[ "$(wc -l <hashes)" = 28 ]
	while IFS=$'\t' read -r seq hash ref; do
		same "$hash" "$(sed -n "${seq}p" hashes)"
		same "$ref" "transcripts/$RELEASE.jsonl#$seq"
	done < <(jq -r '[.source_seq, .payload_hash, .payload_ref] | @tsv' lines)
	jq -se '. as $lines | all(range(length); . as $i | $lines[$i].parent_event_id as $parent |
		$parent == null or any($lines[:$i][]; .event_id == $parent))' lines
	jq -se '(map(.event_id) | unique | length) == length' lines
}

@test "agent-event: no more than half of a file, a job for a child run" {
	as agent-event "$RELEASE" >lines
	[ "$(grep -c '/home/user:/bin/sh' lines)" = 0 ]
	jq -se 'all(.[]; .payload.message | utf8bytelength <= 163)' lines
	same "$(jq -r 'select(.type == "tool.output" and .payload.tool == "read" and .payload.stream == "stdout").payload.sha256' lines)" \
		"$(jq -j 'select(.seq == 10).payload.output' "$AWF_STORAGE/transcripts/$RELEASE.jsonl" | sha256sum | cut -c1-64)"
	same "$(as agent-event -R "$BRIEF" | jq -r .runKind | sort | uniq -c | tr -s ' \n' ' ')" ' 4 job 27 session '
}

@test "daemon-event: tools on request, and counted only then" {
	same "$(awf-tail --as daemon-event "$RELEASE" | jq -r .eventKind | grep -c tool)" 0
	same "$(awf-tail --as daemon-event "$RELEASE" | jq .seq | tr '\n' ' ')" "$(seq 13 | tr '\n' ' ')"
	same "$(awf-tail --as daemon-event --tools "$RELEASE" | jq -r .eventKind | grep -c tool)" 6
}

@test "otlp: one trace per run that was recorded in none, spans within spans, a link to the parent" {
	spans='.resourceSpans[].scopeSpans[].spans[]'
	as otlp -R "$BRIEF" | jq -c "$spans" >spans
	same "$(jq -r .traceId spans | sort -u)" "$(printf '%s\n' "$BRIEF" "$NESTED" | tr -d -)"
	jq -se '. as $all | all(.[] | select(.parentSpanId);
		. as $s | any($all[]; .spanId == $s.parentSpanId and .traceId == $s.traceId and
		(.startTimeUnixNano | tonumber) <= ($s.startTimeUnixNano | tonumber)))' spans
	jq -se '. as $all | [.[].links[]?] | length == 2 and all(.[];
		. as $l | any($all[]; .spanId == $l.spanId and .traceId == $l.traceId))' spans
	jq -se '(map(.spanId) | unique | length) == length' spans
	jq -se "map(select(.name == \"invoke_workflow nested\")) | length == 2 and
		.[0].links[0].traceId == .[1].traceId and .[1].links == []" spans
}

# The context that NAME of the last run, or of all below it, had.
context_of() {
	awf-tail -R --as otlp | jq -r --arg name "$1" '.resourceSpans[].scopeSpans[].spans[] |
		select(.name == $name) | "00-\(.traceId)-\(.spanId)-00"'
}

@test "otlp: a run is in the trace that it was started in, and what it starts in its own" {
	outer=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00
	agents
	printf '#!/bin/sh\nread -r input\nprintenv TRACEPARENT\n' >tools/look
	{
		cat script
		echo 'printenv TRACEPARENT >run'
		echo 'awf-step -n -q call -- sh -c "printenv TRACEPARENT TRACESTATE >call"'
		echo "awf-run -n --name child -c 'awf-step -n -q inner -- sh -c \"printenv TRACEPARENT >inner\"'"
	} >all
	TRACEPARENT=$outer TRACESTATE=x=1 awf-run --name top -c "$(cat all)" >/dev/null
	same "$(payloads run.started .traceparent)" "\"$outer\""
	same "$(cat run)" "$(context_of 'invoke_workflow top')"
	same "$(cat call)" "$(context_of 'step call'; echo x=1)"
	same "$(cat inner)" "$(context_of 'step inner')"
	same "$(payloads tool.result 'select(.name == "look").output' | jq -r . | head -n 1)" \
		"$(context_of 'execute_tool look')"
	# One tree, below the span that is outside of it; each within what is around it.
	awf-tail -R --as otlp | jq -c '.resourceSpans[].scopeSpans[].spans[]' >spans
	jq -se '. as $all | [.[] | select(.parentSpanId as $in | any($all[]; .spanId == $in) | not)] |
		map([.name, .traceId, .parentSpanId]) ==
			[["invoke_workflow top", "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"]]' spans
	jq -se '. as $all | all(.[]; . as $s | .traceId == $all[0].traceId and all($all[] | select(.spanId == $s.parentSpanId);
		(.startTimeUnixNano | tonumber) <= ($s.startTimeUnixNano | tonumber) and
		(.endTimeUnixNano | tonumber) >= ($s.endTimeUnixNano | tonumber)))' spans
	awf-verify
}

@test "otlp: an attempt is in the trace that it was started in, else in that of the first" {
	first=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
	other=00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01
	TRACEPARENT=$first run awf-run -n -c 'awf-step -n -q s -- false'
	run awf-run --resume @
	TRACEPARENT=$other run awf-run --resume @
	same "$(payloads run.started .traceparent | jq -r .)" "$(printf '%s\n' $first $first $other)"
	# What is no trace context begins a trace of its own, and what went with it is dropped.
	TRACEPARENT=00-x TRACESTATE=x=1 awf-run -n -c 'env | grep ^TRACE' >have
	same "$(payloads run.started 'has("traceparent")')" false
	same "$(cat have)" "TRACEPARENT=$(context_of 'invoke_workflow pipeline' | sed s/00$/01/)"
	# Nor is one believed that stands in a transcript.
	jq -c '.payload.traceparent = "x"' "$(transcript)" | sed 1q >odd.jsonl
	awf-tail --as otlp odd.jsonl
}

@test "otlp: a chat has its conversation, and lies within its call whatever it took" {
	agents
	PATH=$PATH awf-run -c "$(cat script)" >/dev/null
	sed 's/"duration_ms":[0-9]*,"turn"/"duration_ms":3600000,"turn"/' "$AWF_STORAGE/latest" >long.jsonl
	awf-tail --as otlp long.jsonl 2>/dev/null | jq -c '.resourceSpans[].scopeSpans[].spans[]' >spans
	same "$(jq -r .name spans | grep -c ^chat)" 3
	jq -se '. as $all | all(.[] | select(.name | startswith("chat"));
		. as $s | any($all[]; .spanId == $s.parentSpanId and
			(.startTimeUnixNano | tonumber) <= ($s.startTimeUnixNano | tonumber) and
			(.endTimeUnixNano | tonumber) >= ($s.endTimeUnixNano | tonumber)))' spans
	# The two turns of one agent are one conversation, the other agent has its own.
	same "$(jq -rs 'map(select(.name | startswith("chat")) | .attributes[] | select(.key == "gen_ai.conversation.id").value.stringValue) |
		[length, (unique | length)] | @tsv' spans)" "$(printf '3\t2')"
}

@test "--schema prints what is installed" {
	same "$(awf-verify --schema transcript)" "$(awf-verify --schema)"
	for name in $NAMES; do
		run -0 awf-verify --schema "$name"
		same "$output" "$(cat "$ROOT/lib/projection/$name.schema.json")"
	done
}

@test "wrong names and what does not go together" {
	while IFS='|' read -r command message; do
		run -1 --separate-stderr sh -c "$command </dev/null"
		same "$output" ''
		same "$stderr" "$message"
	done <<-'END'
		awf-tail --as agent-events|awf-tail: --as: no such vocabulary 'agent-events' (did you mean 'agent-event'?)
		awf-tail --as x|awf-tail: --as: no such vocabulary 'x' (see awf-projections(7))
		awf-tail --tools|awf-tail: --tools: only with --as
		awf-tail --as runtime --tools|awf-tail: --tools: --as runtime has them always
		awf-tail --as runtime --json|awf-tail: --as: not with --json
		awf-tail --as runtime --inline|awf-tail: --as: not with --inline
		awf-tail --as runtime --list|awf-tail: --as: not with --list
		awf-tail --as runtime -|awf-tail: --as: not with -
		awf-verify --schema otpl|awf-verify: --schema: no such vocabulary 'otpl' (did you mean 'otlp'?)
		awf-verify --schema transcripts|awf-verify: --schema: no such vocabulary 'transcripts' (did you mean 'transcript'?)
		awf-verify --schema x|awf-verify: --schema: no such vocabulary 'x' (see awf-projections(7))
		awf-verify --schema otlp runtime|awf-verify: runtime: only one schema at a time
	END
}

@test "a damaged line is named, makes no line, and is not counted" {
	sed '2s/"payload"/payload/' "$AWF_STORAGE/transcripts/$NESTED.jsonl" >damaged.jsonl
	run -0 --separate-stderr awf-tail --as runtime damaged.jsonl
	[[ $stderr == *'line 2 is damaged'* ]]
	same "$(jq -c '[.offset, .source_seq]' <<<"$output" | tr -d '\n')" '[0,1][1,3][2,3][3,4]'
	run -0 --separate-stderr awf-tail --as runtime --after 2 damaged.jsonl
	same "$(jq -c '[.offset, .source_seq]' <<<"$output" | tr -d '\n')" '[1,3][2,3][3,4]'
}

@test "interagent: times far ahead have all of their digits" {
	sed 's/"timestamp":"2[0-9]*-/"timestamp":"9999-/' "$AWF_STORAGE/transcripts/$RELEASE.jsonl" >far.jsonl
	awf-tail --as interagent far.jsonl 2>/dev/null | grep -o '"timestamp_ns":[^,]*' >times
	[ -s times ]
	run ! grep -vE '^"timestamp_ns":2533[0-9]{17}$' times
}

@test "a turn starts when the last tool has answered, an agent when something happens in its call" {
	export JQ=jq
	agents true
	printf 'echo go | awf-step --when false -a one.md never; echo go | awf-step -a one.md one | awf-step -a two.md two -r\n' >script
	awf-run script >out
	as agent-event >lines
	# Of two tools that one turn wants, the second one's end begins the next turn.
	same "$(jq -r 'select(.payload.path == "one") | .type + (.payload.turn // "" | tostring)' lines | paste -sd' ')" \
		'run.phase llm.turn.start0 llm.turn.end0 tool.start tool.output tool.output tool.end tool.start safety.block tool.end llm.turn.start1 llm.turn.end1 run.phase'
	same "$(jq -c 'select(.type == "llm.turn.start" and .payload.turn == 1).source_seq' lines)" \
		"$(jq -c 'select(.type == "tool.end").source_seq' lines | tail -n 1)"
	as runtime >lines
	same "$(jq -r 'select(.type | test("^agent.(initialized|completed)")) | .type + " " + .data.agent_name' lines | paste -sd,)" \
		'agent.initialized one,agent.completed one,agent.initialized two,agent.completed two'
	same "$(jq -c 'select(.type == "agent.initialized").data' lines | head -n 1 | jq -r .provider)" replay
	# What the run has printed, by its size and digest.
	same "$(jq -r 'select(.type == "workflow.completed").data | "\(.output_size) \(.output_sha256)"' lines)" \
		"$(wc -c <out | tr -d ' ') $(sha256sum <out | cut -d' ' -f1)"
	# A further attempt takes the results that are there: no agent begins in it.
	printf 'echo go | awf-step -a one.md one | awf-step -a two.md two -r; false\n' >script
	awf-run script >out || true
	awf-run --resume >out || true
	as runtime | jq -r '"\(.type) \(.data.attempt // "")"' >types
	same "$(sed '1,/workflow.started 2/d' types | grep -c '^agent')" 0
}

@test "what a vocabulary has no word for is counted at the end" {
	jq -nc '{type: "weather"}, {type: "tool.start", payload: {tool: "look", callId: "1"}}, {type: "weather"}' | awf-record -q
	for name in agent-event interagent runtime langgraph daemon-event; do
		as "$name" >lines
		same "$name $(jq -c 'select(.dropped).dropped' lines)" "$name 2"
		tail -n 1 lines | grep -q '"dropped":2'
	done
	awf-run -n -c 'awf-step -n a -- true'
	as agent-event >lines
	same "$(grep -c dropped lines || true)" 0
}
