#!/usr/bin/env bats
# bats file_tags=turn:2
# Recordings of AgentLoom: awf-tail --as agentloom, awf-replay --from, and the provider
# that answers from them.
# stderr is bats'; what is in single quotes is for the scripts that are written.
# shellcheck disable=SC2154,SC2016
bats_require_minimum_version 1.5.0
load ../../support/helpers

# The stream of an answer of a model.
said() {
	jq -cn --arg text "$1" '
		{type: "message_start", message: {id: "1", type: "message", role: "assistant",
			model: "test-1", content: [], stop_reason: null,
			usage: {input_tokens: 10, output_tokens: 1}}},
		{type: "content_block_start", index: 0, content_block: {type: "text", text: ""}},
		{type: "content_block_delta", index: 0, delta: {type: "text_delta", text: $text}},
		{type: "content_block_stop", index: 0},
		{type: "message_delta", delta: {stop_reason: "end_turn"}, usage: {output_tokens: 5}},
		{type: "message_stop"}'
}

# What was asked and answered, but for what a recording does not hold.
messages() {
	jq -cS 'select(.type | startswith("message.")) | [.path, (.payload |
		del(.duration_ms, .request_id, .usage.cache_read_tokens, .usage.cache_write_tokens))]' "$1"
}

# from FILE WORKFLOW: its output, run on recorded answers.
from() { awf-replay --from "$1" -n -c "$2"; }

# refused MESSAGE WORKFLOW: run on rec.json it ends with status 3, and a step says this.
refused() {
	run -3 --separate-stderr from rec.json "$2"
	[[ $stderr == *"awf-step: "*"$PWD/rec.json: $1"* ]] || same "$stderr" "$1"
}

# The step of that name, asked for nothing in particular.
ask="awf-step -n -p hi -m anthropic/m -r"

# The hash of a request, as AgentLoom makes it: hash [TEXT [MODEL]].
hash() {
	python3 - "${1-hi}" "${2-m}" <<-'END'
		import hashlib, json, sys
		request = {"messages": [{"role": "user", "content": sys.argv[1]}], "model": sys.argv[2],
		    "temperature": None, "max_tokens": None, "extra": {}}
		print(hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest())
	END
}

@test "a run against a model, and the same run on its recording" {
	local files=() file
	for file in "$ROOT"/tests/fixtures/brief/*.jsonl; do
		who=${file##*/}
		files+=(--answer-for "You are the ${who%-*}" "$file")
	done
	model_server "${files[@]}"
	export AWF_MODEL=anthropic/scripted-model
	echo 'solid-state batteries' | "$ROOT/examples/brief.awf" >first
	kill "$MODEL_SERVER_PID"
	unset ANTHROPIC_API_KEY
	recorded=$(transcript)
	awf-tail --as agentloom >rec.json
	echo 'solid-state batteries' | awf-replay --from rec.json "$ROOT/examples/brief.awf" >second
	[ "$(transcript)" != "$recorded" ]
	cmp first second
	[ "$(messages "$recorded" | wc -l)" = 10 ]
	diff <(messages "$recorded") <(messages "$(transcript)")
	diff <(awf-tail --as agentloom | jq 'del(._inter_agent_events) | [.. | .content?]') \
		<(jq 'del(._inter_agent_events) | [.. | .content?]' rec.json)
}

@test "a single call is what AgentLoom's recorder writes, and nothing else" {
	export JQ=jq
	said 'an "answer" — é' >stream
	model_server --answer stream
	awf-run -n -c 'awf-step -n -p "a “question”" -m anthropic/m ask -r'
	awf-tail --as agentloom >rec.json
	same "$(jq -c keys_unsorted rec.json)" '["_version","ask"]'
	same "$(jq -c '.ask | keys_unsorted' rec.json)" \
		'["content","model","usage","cost_usd","latency_ms","finish_reason","request_hash"]'
	same "$(jq -c '.ask | [.content, .model, .usage, .finish_reason, .request_hash]' rec.json)" \
		'["an \"answer\" — é","test-1",{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"reasoning_tokens":0},"stop","'"$(hash 'a “question”')"'"]'
}

@test "the published schema is that of the document, for an independent validator too" {
	python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"
	awf-verify --schema agentloom >schema.json
	awf-tail --as agentloom "$ROOT/examples/recordings/brief.jsonl" >real.json
	awf-verify --schema interagent >events.json
	python3 - "$ROOT/tests/fixtures/projections/brief.agentloom" <<-'END'
		import json, jsonschema, sys
		schema, events = json.load(open("schema.json")), json.load(open("events.json"))
		jsonschema.Draft202012Validator.check_schema(schema)
		validator = jsonschema.Draft202012Validator(schema)
		for path in "real.json", sys.argv[1]:
		    document = json.load(open(path))
		    validator.validate(document)
		    for event in document["_inter_agent_events"]:
		        jsonschema.Draft202012Validator(events).validate(event)
		    for wrong in {"_version": 1}, {"_other": 1}, {"a": 1}, {"a": {}}, {"a": []}:
		        assert not validator.is_valid({**document, **wrong}), wrong
	END
}

@test "the recorded run comes out as it always did, alone and with its child" {
	export JQ=jq
	mkdir -p "$AWF_STORAGE/transcripts"
	chain <"$ROOT/tests/fixtures/brief.events" \
		>"$AWF_STORAGE/transcripts/6f1c2a80-5b1e-4a7d-9c34-0d2f6b7e8a91.jsonl"
	chain <"$ROOT/tests/fixtures/nested.events" \
		>"$AWF_STORAGE/transcripts/b7e0c3d2-91aa-4f06-8e55-3c4d5e6f7081.jsonl"
	awf-tail -R --as agentloom 6f1c2a80 | diff "$ROOT/tests/fixtures/projections/brief.agentloom" -
	diff <(awf-tail --as agentloom 6f1c2a80 | jq -c '._inter_agent_events[]') \
		<(awf-tail --as interagent 6f1c2a80 | jq -c 'del(.dropped)')
	same "$(awf-tail --as agentloom b7e0c3d2)" '{"_version":2}'
}

@test "events only where there are several steps" {
	echo '{"blocks":[{"type":"text","text":"x"}]}' >answers.jsonl
	awf-run -c "printf '1\n' | awf-step -i lines -m replay/answers.jsonl a >/dev/null"
	same "$(awf-tail --as agentloom | jq -c keys)" '["_version","a"]'
	awf-run -c 'awf-step -n a -- true | awf-step b -- cat' >/dev/null
	same "$(awf-tail --as agentloom | jq -c 'keys, (._inter_agent_events | length)' | tr -d '\n')" \
		'["_inter_agent_events","_version"]8'
}

@test "answers by the step's path, its name, the request, and in the older form" {
	cat >rec.json <<-END
		{
		  "_version": 2,
		  "_comment": ["not an entry"],
		  "alone": {"content": "by name", "model": "gpt-4o-mini", "provider": "openai",
		            "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
		            "cost_usd": 0.002, "latency_ms": 20.5, "finish_reason": "stop"},
		  "group.inner": {"content": "by path"},
		  "inner": {"content": "by the last name"},
		  "$(hash)": {"content": "by hash"}
		}
	END
	same "$(from rec.json "$ask alone")" 'by name'
	same "$(jq -c 'select(.type == "message.assistant").payload | [.model, .usage, .stop_reason]' "$(transcript)")" \
		'["gpt-4o-mini",{"input_tokens":3,"output_tokens":4},"end_turn"]'
	same "$(jq -c 'select(.type == "step.started").payload | [.provider, .model]' "$(transcript)")" '["replay","m"]'
	same "$(from rec.json "AWF_PATH=group $ask inner")" 'by path'
	same "$(from rec.json "AWF_PATH=outer.other $ask inner")" 'by the last name'
	same "$(from rec.json "$ask elsewhere")" 'by hash'
	printf '{"alone":{"content":"no version"},"%s":{"content":"by the messages"}}' \
		"$(printf '[{"content": "hi", "role": "user"}]' | sha256sum | cut -d' ' -f1)" >rec.json
	same "$(from rec.json "$ask alone")" 'no version'
	same "$(from rec.json "$ask elsewhere")" 'by the messages'
	jq '._version = 2' rec.json >two.json && mv two.json rec.json
	refused "no entry for step 'elsewhere', nor for the request (hash $(hash | cut -c1-16))" "$ask elsewhere"
}

@test "steps whose names look like metadata are known by their requests" {
	said one >stream
	model_server --answer stream
	same "$(awf-run -n -c "$ask _version")" one
	awf-tail --as agentloom >rec.json
	same "$(jq -c keys rec.json)" '["'"$(hash)"'","_version"]'
	same "$(from rec.json "$ask _version")" one
}

@test "a single answer is given again and again, those of a list once each" {
	echo '{"_version":2,"one":{"content":"same"},"many":[{"content":"1"},{"content":"2"},{"content":"3"}]}' >rec.json
	same "$(from rec.json "$ask one; $ask one; $ask one" | paste -sd' ')" 'same same same'
	same "$(from rec.json "$ask many; $ask many; $ask many" | paste -sd' ')" '1 2 3'
	same "$(from rec.json "printf 'a\nb\nc\n' | awf-step -i lines -m openai/m many -r" | paste -sd' ')" '1 2 3'
	same "$(from rec.json "printf 'a\nb\nc\n' | awf-step -j 3 -i lines -m openai/m many -r" | sort | paste -sd' ')" '1 2 3'
	refused "entry 'many': no answer is left (it has 3)" "$ask many; $ask many; $ask many; $ask many"
	same "$output" "$(printf '1\n2\n3')"
	echo '{"many":[]}' >rec.json
	refused "entry 'many': no answer is left (it has 0)" "$ask many"
	same "$(find "$AWF_STORAGE/runs" -name given)" ''
}

@test "answers that were made for a request find it, whatever runs first" {
	for n in 1 2 3 4; do said "answer $n" >"stream$n"; done
	model_server --answer-for item1 stream1 --answer-for item2 stream2 \
		--answer-for item3 stream3 --answer-for item4 stream4
	each="printf 'item%d\n' 1 2 3 4 | awf-step -j 4 -i lines -m anthropic/m each -r"
	awf-run -c "$each" >first
	awf-tail --as agentloom | jq -c '.each |= sort_by(.content) | .each |= reverse' >rec.json
	same "$(jq -c '[.each[].content]' rec.json)" '["answer 4","answer 3","answer 2","answer 1"]'
	for _ in 1 2 3; do from rec.json "$each" | cmp first -; done
	jq -c 'del(.each[].request_hash)' rec.json >digests.json
	from digests.json "$each" | cmp first -
}

@test "tools run again between the answers, as the calls in them say" {
	mkdir tools
	printf '{"description":"adds","input_schema":{"type":"object"},"effects":"none"}\n' >tools/add.tool.json
	printf '#!/bin/sh\njq -c ".a + .b"\n' >tools/add
	chmod +x tools/add
	printf -- '---\nmodel: openai/gpt\ntools: [add]\n---\nAdd.\n' >adder.md
	cat >rec.json <<-'END'
		{"ask": [
		  {"content": "", "tool_calls": [
		     {"id": "call_a", "name": "add", "arguments": {"a": 1.50e1, "b": 2}},
		     {"name": "add", "arguments": null}],
		   "usage": {"prompt_tokens": 35, "completion_tokens": 18, "reasoning_tokens": 2}, "finish_reason": "tool_calls"},
		  {"content": "seventeen", "finish_reason": "stop"}]}
	END
	same "$(from rec.json 'awf-step -n -p hi -a adder.md ask -r')" seventeen
	same "$(jq -c 'select(.type == "tool.result").payload | [.call_id, .output]' "$(transcript)" | tr -d '\n')" \
		'["call_a","17"]["call_2","null"]'
	same "$(jq -c 'select(.type == "message.assistant").payload | [.stop_reason, .usage]' "$(transcript)" | tr -d '\n')" \
		'["tool_use",{"input_tokens":35,"output_tokens":20,"reasoning_tokens":2}]["end_turn",{}]'
	grep -q '"tool_input":{"a":1.50e1,"b":2}' "$(transcript)"
}

@test "a request that differs from the recorded one gets no answer" {
	said one >stream
	model_server --answer stream
	awf-run -n -c "$ask ask" >/dev/null
	awf-tail --as agentloom >rec.json
	same "$(from rec.json "$ask ask")" one
	other=$(hash hello | cut -c1-16) recorded=$(hash | cut -c1-16)
	differs="entry 'ask': the request differs from the recorded one (hash $other, not $recorded): record it again, or take out request_hash"
	refused "$differs" "awf-step -n -p hello -m anthropic/m ask"
	jq -c '.ask |= [.]' rec.json >list.json && mv list.json rec.json
	refused "$differs" "awf-step -n -p hello -m anthropic/m ask"
	jq -c 'del(.ask[].request_hash)' rec.json >free.json && mv free.json rec.json
	same "$(from rec.json "awf-step -n -p hello -m anthropic/m ask -r")" one
}

@test "texts in blobs are whole, and missed if they are gone" {
	long=$(head -c 300000 /dev/zero | tr '\0' x)
	printf '{"blocks":[{"type":"text","text":"%s"}]}\n' "$long" >answers.jsonl
	awf-run -n -c 'awf-step -n -p hi -m replay/answers.jsonl a' >/dev/null
	same "$(awf-tail --as agentloom | jq '.a.content | length')" 300000
	rm -r "$AWF_STORAGE/blobs"
	run -4 --separate-stderr awf-tail --as agentloom
	same "$output" ''
	[[ $stderr == "awf-tail: "*": unable to open the blob: No such file or directory" ]]
}

@test "another run in the run has lists of its own" {
	echo '{"a":[{"content":"1"},{"content":"2"}],"b":{"content":"3"}}' >rec.json
	same "$(from rec.json "$ask a; awf-run -n -c '$ask a; $ask b'; $ask a" | paste -sd' ')" '1 1 3 2'
}

@test "what is no recording is refused before anything runs" {
	while IFS='|' read -r text message; do
		printf %b "$text" >rec.json
		run -1 --separate-stderr from rec.json 'echo ran'
		same "$output" ''
		same "$stderr" "awf-replay: rec.json$message"
		same "$(printf '{"id":1,"model":"rec.json","messages":[]}\n' | "$BUILD/libexec/awf/awf-provider-replay" |
			jq -r .message)" "rec.json$message"
	done <<-'END'
		{\n "_version": 2,\n "a": {"content": hello}\n}\n|:3: byte 19: expected a value
		{"_version":2,"a":{"content":"cut"|:1: byte 35: ends too early
		{"_version":3}|: _version is 3: only 2, and files without one, can be replayed
		{"_version":1,"a":{}}|: _version is 1: only 2, and files without one, can be replayed
		{"_version":"2"}|: _version is "2": only 2, and files without one, can be replayed
		{"a":"text"}|: entry 'a': expected an answer, or a list of them
		{"a":[{},1]}|: entry 'a': expected an answer, or a list of them
		{"a":{"content":4}}|: entry 'a': content: expected a string
		{"a":{"tool_calls":{}}}|: entry 'a': tool_calls: expected an array
		{"a":{"tool_calls":[{"id":"1"}]}}|: entry 'a': tool_calls: expected objects with a name
	END
	run -1 --separate-stderr from none.json true
	same "$stderr" 'awf-replay: none.json: unable to open: No such file or directory'
	same "$(find "$AWF_STORAGE" -name '*.jsonl' | wc -l)" 0
}

@test "an answer that says nothing is empty" {
	echo '{"_version":2,"a":{"content":null,"usage":null,"finish_reason":null},"b":{"embeddings":[[0.1]]}}' >rec.json
	same "$(from rec.json "$ask a; $ask b")" "$(printf '\n\n')"
	same "$(jq -c 'select(.type == "message.assistant").payload | [.blocks, .stop_reason, .usage, .model]' "$(transcript)" | tr -d '\n')" \
		'[[],"end_turn",{},"m"][[],"end_turn",{},"m"]'
}

@test "--from is awf-run, whatever the agents say" {
	echo '{"a":{"content":"x"}}' >rec.json
	mkdir elsewhere
	printf -- '---\nprovider: anthropic\nmodel: claude\n---\nBe brief.\n' >a.md
	printf '#!/bin/sh\ncd elsewhere && awf-step -n -p hi -a ../a.md a -r; echo "$1 $AWF_INPUT_k"; exit 7\n' >flow
	chmod +x flow
	run -7 --separate-stderr awf-replay --from=rec.json --name named --input k=v -n ./flow word
	same "$output" "$(printf 'x\nword v')"
	same "$(jq -r 'select(.type == "run.started").payload | [.name, .argv[-1]] | join(" ")' "$(transcript)")" 'named word'
	same "$(AWF_MODEL=x/y from rec.json 'awf-step -n -p hi -m nowhere/m a -r')" x
	cp "$(transcript)" recorded.jsonl
	same "$(AWF_REPLAY=none AWF_PROVIDER=none from recorded.jsonl 'awf-step -n -p hi -m nowhere/m a -r')" x
	run -1 --separate-stderr awf-replay --canonical --from rec.json
	same "$stderr" 'awf-replay: --from: must be the first option: what follows it is for awf-run'
	run -1 --separate-stderr awf-replay --from
	same "$stderr" 'awf-replay: --from: needs an argument, FILE'
	run -125 --separate-stderr awf-replay --from rec.json
	same "$stderr" 'awf-run: no workflow given (see --help)'
	cp "$BUILD/bin/awf-replay" elsewhere
	run -4 --separate-stderr elsewhere/awf-replay --from rec.json true
	same "$stderr" "awf-replay: $PWD/elsewhere/awf-run: unable to run: No such file or directory"
}

@test "AWF_PROVIDER has to be one" {
	AWF_PROVIDER=rplay run -2 --separate-stderr awf-step -n -p hi -m anthropic/m a
	same "$stderr" "awf-step: AWF_PROVIDER: unknown provider 'rplay' (did you mean 'replay'?)"
	AWF_PROVIDER='' run -2 --separate-stderr awf-step -n -p hi -m m a
	[[ $stderr == "awf-step: -m: no provider for the model m: "* ]]
}

@test "what was given cannot be noted" {
	echo '{"a":[{"content":"x"}]}' >rec.json
	run -3 --separate-stderr from rec.json "mkdir \$AWF_STORAGE/runs/\$AWF_RUN_ID/given; $ask a"
	[[ $stderr == *"/given: unable to open"* ]]
}

@test "a document is no stream" {
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086 # several words
		run -1 --separate-stderr awf-tail --as agentloom $options
		same "$output" ''
		same "$stderr" "awf-tail: $message"
	done <<-'END'
		-f|-f: not with --as agentloom
		-F|-F: not with --as agentloom
		-n 3|-n: not with --as agentloom
		--after 3|--after: not with --as agentloom
		--since 1d|--since: not with --as agentloom
		--type step.*|--type: not with --as agentloom
		--path a|--path: not with --as agentloom
		--grep x|--grep: not with --as agentloom
		--errors|--errors: not with --as agentloom
		--drop|--drop: not with --as agentloom
		--tools|--tools: not with --as agentloom
		--json|--as: not with --json
		-|--as: not with -
	END
	awf-run true
	run -4 --separate-stderr sh -c 'awf-tail --as agentloom >/dev/full'
	same "$stderr" 'awf-tail: stdout: unable to write: No space left on device'
}

@test "a run that is going has a recording of what was said so far" {
	echo '{"blocks":[{"type":"text","text":"x"}]}' >answers.jsonl
	awf-run -n -c 'awf-step -n -p hi -m replay/answers.jsonl a >/dev/null; awf-tail --as agentloom' >rec.json
	same "$(jq -c .a.content rec.json)" '"x"'
}

# verified OPTIONS…: a run of a workflow on rec.json, and two replays of it.
verified() { awf-verify --determinism --isolation "${ISOLATION-copy}" --from rec.json "$@"; }

# Namespaces, where there are some.
find_isolation() {
	ISOLATION=namespaces
	awf-run -n -c 'awf-step -n probe -q -- true'
	awf-replay -q 2>/dev/null || ISOLATION=copy
}

# bats test_tags=turn:2
@test "a workflow on recorded answers comes to the same three times" {
	find_isolation
	cat >rec.json <<-'END'
		{"_version": 2, "ask": {"content": "x"}, "each": [{"content": "1"}, {"content": "2"}],
		 "nested": {"content": "y"}}
	END
	cat >flow <<-'END'
		#!/bin/sh
		awf-step -n -p hi -m anthropic/m ask | awf-step keep --effects workspace -- sh -c "cat >>log; wc -l <log"
		awf-step -i lines -m openai/m each
		awf-run -n -c 'awf-step -n -p hi -m anthropic/m nested -r'
	END
	chmod +x flow
	printf 'u\nv\n' >input
	run -0 --separate-stderr verified ./flow <input
	same "$output$stderr" ''
	same "$(wc -l <log)" 1
	run -0 --separate-stderr verified --name other ./flow <input
	same "$output$stderr" ''
	same "$(jq -r 'select(.type == "run.started").payload | .name, .snapshot' "$(transcript)" | paste -sd' ')" 'other true'
	same "$(jq -r 'select(.type == "step.started").payload | .provider // empty' "$(transcript)" | sort -u)" replay
	same "$(find "$AWF_STORAGE/replays" -mindepth 1)" ''
	run -0 awf-replay -q --isolation "$ISOLATION"
}

@test "a workflow on recorded answers that depends on chance is named" {
	find_isolation
	echo '{"ask": {"content": "x"}, "then": [{"content": "1"}]}' >rec.json
	run -3 --separate-stderr verified -n -c "$ask ask; od -An -N8 -tx1 /dev/urandom | awf-step -m openai/m then"
	same "$output" ''
	[[ $stderr == "awf-verify: pipeline: the replays differ: then:0:0: "* ]] || same "$stderr" ''
}

@test "a workflow that asks for other answers than were recorded is no success, and not replayed" {
	echo '{"ask": {"content": "x"}, "many": [{"content": "1"}]}' >rec.json
	run -3 --separate-stderr verified -n -c "$ask ask; $ask more"
	[[ $stderr == *"rec.json: no entry for step 'more'"*"awf-verify: rec.json: the run on these answers ("*") is no success: exit status 3" ]]
	run -3 --separate-stderr verified -n -c "$ask many; $ask many"
	[[ $stderr == *"entry 'many': no answer is left (it has 1)"*"is no success: exit status 3" ]]
	[ ! -e "$AWF_STORAGE/replays" ]
}

@test "of recorded answers: wrong command lines" {
	echo '{"ask": {"content": "x"}}' >rec.json
	echo '{"ask": 1}' >bad.json
	while IFS='|' read -r status arguments message; do
		# shellcheck disable=SC2086 # several words
		run "-$status" --separate-stderr awf-verify $arguments
		same "$(tail -n 1 <<<"$stderr")" "awf-verify: $message"
	done <<-'END'
		1|--from rec.json true|--from: only with --determinism
		1|--determinism @ --from rec.json true|@: a run cannot be given with --from; the workflow follows it
		1|--determinism --from|--from: needs an argument, FILE
		1|--determinism --from bad.json true|bad.json: no run was made on these answers: exit status 1
		1|--determinism --from none.json true|none.json: no run was made on these answers: exit status 1
		1|--determinism --from rec.json|rec.json: no run was made on these answers: exit status 125
	END
	run -1 --separate-stderr awf-verify --determinism --from bad.json true
	same "${stderr_lines[0]}" "awf-replay: bad.json: entry 'ask': expected an answer, or a list of them"
	[ ! -e "$AWF_STORAGE/transcripts" ] || same "$(ls "$AWF_STORAGE/transcripts")" ''
}

@test "a signal ends the workflow that runs on recorded answers" {
	echo '{"ask": {"content": "x"}}' >rec.json
	mkfifo begun
	export TMPDIR=$PWD/tmp
	mkdir tmp
	awf-verify --determinism --from rec.json -n -c 'echo >begun; exec sleep 100' 2>said &
	read -r <begun
	kill -TERM $!
	wait $! || status=$?
	same "$status" 143
	grep -q 'cancelled by signal 15' said
	same "$(find tmp -type f)" ''
	[ ! -e "$AWF_STORAGE/replays" ]
}
