#!/usr/bin/env bats
# Agent calls end to end: awf-step, a provider, a model server, tools.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	mkdir agents tools
	agent writer 'tools: [add, fail]'
	tool add '"input_schema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]},"effects":"none","concurrent":true' \
		'jq -c ".a + .b"'
	tool fail '"effects":"external"' 'echo it is broken >&2; exit 7'
}

# Serves these files, then what else is said.
serve() {
	local files=() file
	for file; do files+=(--answer "$file"); done
	model_server "${files[@]}" "${FAULTS[@]}"
}
FAULTS=()

@test "a text in, an answer out, all of it recorded" {
	text 'the answer' >answer1
	serve answer1
	same "$(echo question | awf-step -r -a writer ask)" 'the answer'
	same "$(types)" 'message.user message.assistant '
	same "$(payloads message.user .system_prompt)" '"Be brief."'
	same "$(payloads message.user '.blocks[0].text')" '"question"'
	same "$(payloads message.assistant '[.model,.stop_reason,.usage.input_tokens,.usage.output_tokens,.turn,.request_id]')" \
		'["test-1","end_turn",10,5,0,"req_1"]'
	same "$(payloads step.completed .result)" '"the answer"'
	same "$(bodies | jq -c '[.model, .system, (.tools | length)]' | head -c 300)" \
		'["test",'"$(bodies | jq -c .system)"',2]'
}

@test "a tool is called, its result goes back, the answer follows" {
	stream tool_use "$(use t1 add '{"a":2,"b":3}')" >answer1
	text 'it is five' >answer2
	serve answer1 answer2
	same "$(echo 'two and three?' | awf-step a -a writer | jq -c '[.data, .metadata.tool_calls_count]')" \
		'["it is five",1]'
	same "$(types)" 'message.user message.assistant tool.call tool.result message.assistant '
	same "$(payloads tool.call '[.name,.call_id,.input,.effects,.fidelity]')" \
		'["add","t1",{"a":2,"b":3},"none","router"]'
	same "$(payloads tool.result '[.name,.call_id,.output,.fidelity]')" '["add","t1","5","router"]'
	same "$(bodies | tail -n 1 | jq -c '.messages[2].content[0] | [.type,.tool_use_id,.content]')" \
		'["tool_result","t1","5"]'
	# causes: the answer, the call, the result, the next answer
	same "$(jq -rs '[.[] | select(.type | test("^(message|tool)"))] as $e |
		[range(1; $e | length) | $e[.].parent_event_id == $e[. - 1].event_id] | all' "$(transcript)")" true
}

@test "several tools in one turn: failing, refused, wrongly called" {
	stream tool_use "$(use t1 fail '{}')" "$(use t2 rm '{"x":1}')" "$(use t3 add '{"a":"2"}')" \
		"$(use t4 add '{"a":2,"b":2}')" "$(use t5 add '{"a":3,"b":3}')" >answer1
	text "done" >answer2
	serve answer1 answer2
	run -0 --separate-stderr awf-step -r a -a writer <<<go
	same "$output" 'done'
	same "$stderr" 'it is broken'
	same "$(payloads tool.result '[.call_id, .error.code, .output, .stderr]' | tr '\n' ' ')" \
		'["t1","exit_status",null,"it is broken\n"] ["t2","blocked",null,null] ["t3","schema",null,null] ["t4",null,"4",null] ["t5",null,"6",null] '
	same "$(bodies | tail -n 1 | jq -c '[.messages[2].content[].is_error]')" '[true,true,true,null,null]'
	bodies | tail -n 1 | jq -r '.messages[2].content[0].content' | grep -q 'it is broken'
	same "$(jq -c 'select(.type == "message.assistant" and .links) | .links | length' "$(transcript)")" 4
}

@test "limits end the call with their name" {
	stream tool_use "$(use t1 add '{"a":2,"b":3}')" >answer1
	FAULTS=(--loop)
	serve answer1
	run -3 --separate-stderr awf-step -q --max-turns 3 a -a writer <<<go
	same "$stderr" 'awf-step: a: writer: reached max_turns (3) without a result'
	same "$(payloads step.completed .error.code)" '"max_turns"'
	same "$(sent)" 3
	run -3 awf-step -q --max-tokens-total 20 a -a writer <<<go
	same "$(payloads step.completed .error.code)" '"max_tokens"'
	same "$(sent)" 5
}

@test "a stop tool gives the result" {
	agent closer 'stop_when: {tool: finish}'
	stream tool_use "$(use t1 finish '{"score": 7, "why": "good"}')" >answer1
	serve answer1
	same "$(echo x | awf-step a -a closer | jq -c .data)" '{"score":7,"why":"good"}'
	same "$(sent)" 1
}

@test "a stop tool may have a file alone, whose schema the result keeps to" {
	echo '{"description":"Gives the score.","input_schema":{"type":"object","properties":{"score":{"type":"integer"}},"required":["score"]}}' \
		>tools/finish.tool.json
	agent closer 'stop_when: {tool: finish}'
	stream tool_use "$(use t1 finish '{"score": "seven"}')" >answer1
	stream tool_use "$(use t2 finish '{"score": 7}')" >answer2
	serve answer1 answer2
	same "$(echo x | awf-step a -a closer | jq -c .data)" '{"score":7}'
	same "$(sent)" 2
	same "$(bodies | head -n 1 | jq -c '.tools[0] | [.description, .input_schema.required]')" \
		'["Gives the score.",["score"]]'
	[[ $(payloads tool.result .error.message | head -n 1) == *'score'* ]]
	agent closer "$(printf 'tools: [finish]\nstop_when: {tool: finish}')"
	run -2 --separate-stderr awf-step a -a closer </dev/null
	[[ $stderr == *"finish.tool.json: unable to run 'tools/finish'"* ]]
}

@test "a stop tool whose file is broken is refused before anything is read" {
	echo '{"effects":"none"' >tools/finish.tool.json
	agent closer 'stop_when: {tool: finish}'
	run -2 --separate-stderr awf-step a -a closer </dev/null
	[[ $stderr == 'awf-step: '*finish.tool.json* ]]
}

@test "429 with Retry-After is waited for and tried again, and noted" {
	text fine >answer1
	FAULTS=(--fault 1:429:1)
	serve answer1
	began=$(date +%s%N)
	same "$(echo x | awf-step -r a -a writer)" fine
	[ $(($(date +%s%N) - began)) -ge 1000000000 ]
	same "$(payloads step.completed '[.retries[].code]')" '["rate_limit"]'
	same "$(sent)" 2
	same "$(types)" 'message.user message.assistant message.assistant '
	same "$(payloads message.assistant 'select(.retry) | [.partial, .blocks, .retry.code, .retry.try, .retry.of, .delay_ms >= 1000]')" \
		'[true,[],"rate_limit",2,3,true]'
}

@test "what no retry helps fails at once" {
	text fine >answer1
	FAULTS=(--fault '*:401')
	serve answer1
	run -3 --separate-stderr awf-step -q a -a writer <<<x
	[[ "$stderr" == 'awf-step: a: '*anthropic* ]]
	same "$(payloads step.completed .error.code)" '"auth"'
	same "$(sent)" 1
}

@test "a stream that is cut off is an error, never an answer" {
	text 'a long answer that is cut off in the middle' >answer1
	FAULTS=(--fault '*:cut:500')
	serve answer1
	run -3 --separate-stderr awf-step --retries 0 a -a writer <<<x
	same "$(jq -c '[.data, .metadata.error.code]' <<<"$output")" '["x","network"]'
	same "$(payloads message.assistant '[.partial, .blocks[0].type]')" '[true,"stream"]'
}

@test "a stall ends with the timeout" {
	text fine >answer1
	FAULTS=(--fault 1:stall)
	serve answer1
	began=$(date +%s%N)
	run -3 awf-step -q --timeout 500ms a -a writer <<<x
	[ $(($(date +%s%N) - began)) -lt 4000000000 ]
	same "$(payloads step.completed .error.code)" '"timeout"'
}

@test "Ctrl-C ends a call that waits" {
	text fine >answer1
	FAULTS=(--fault 1:stall)
	serve answer1
	echo x | env --default-signal=INT awf-step -q a -a writer 3>&- &
	pid=$!
	until [ -s "$MODEL_SERVER_LOG" ]; do sleep 0.02; done
	kill -INT "$pid"
	wait "$pid" || true
	same "$(payloads step.completed .error.code)" '"cancelled"'
}

@test "nobody reads the output: no further request" {
	stream tool_use "$(use t1 add '{"a":2,"b":3}')" >answer1
	FAULTS=(--loop)
	serve answer1
	{ echo x | awf-step a -a writer || true; } | true
	sleep 0.2
	[ "$(sent)" -le 2 ]
	[ -z "$(payloads step.completed 'select(.error.code != "downstream_closed")')" ]
}

@test "a failed input makes no call" {
	text fine >answer1
	serve answer1
	run -3 sh -c 'printf x | awf-step a -- false | awf-step -q -a writer b'
	same "$(wc -l <"$MODEL_SERVER_LOG" 2>/dev/null || echo 0)" 0
}

@test "no key in any event, nor in the environment of a tool" {
	tool spy '"effects":"none"' 'env; cat /proc/self/cmdline'
	agent spied 'tools: [spy]'
	stream tool_use "$(use t1 spy '{}')" >answer1
	text fine >answer2
	serve answer1 answer2
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo 'MY_OTHER_KEY=other-test-key' >"$XDG_CONFIG_HOME/awf/keys"
	chmod 600 "$XDG_CONFIG_HOME/awf/keys"
	MY_OTHER_KEY=other-test-key awf-step -q a -a spied <<<x
	payloads tool.result .output | grep -q PATH=
	run -1 grep -r 'test-key' "$AWF_STORAGE"
	same "$(jq -c '.headers["x-api-key"]' "$MODEL_SERVER_LOG" | sort -u)" true
}

@test "no part of a key is recorded where what a tool says is cut, or its output is refused" {
	mkdir -p tools
	export MY_KEY=own-test-key-0123456789
	printf '{"env":"MY_KEY","command":["sh","-c","echo $MY_KEY >&2; head -c 65520 /dev/zero | tr '"'\\\\\\\\0'"' x >&2; exit 4"]}' >tools/cut.tool.json
	run -3 awf-step -i json -q -t cut a <<<'{}'
	same "$(payloads tool.result '.stderr[:20]')" '"***************\nxxxx"'
	printf '{"env":"MY_KEY","output_schema":{"enum":[1]},"command":["sh","-c","echo \\"$MY_KEY\\""]}' >tools/wrong.tool.json
	run -3 awf-step -i json -q -t wrong a <<<'{}'
	[[ $output == *'breaks its schema: it has a key in it'* ]]
	run -1 grep -r 'test-key' "$AWF_STORAGE"
}

@test "no key that a tool was given is recorded with what it says of its failure" {
	tool spy '"effects":"none","env":"MY_KEY"' 'echo "bad key $MY_KEY" >&2; exit 1'
	agent spied 'tools: [spy]'
	stream tool_use "$(use t1 spy '{}')" >answer1
	text fine >answer2
	serve answer1 answer2
	MY_KEY=own-test-key awf-step -q a -a spied <<<x
	same "$(payloads tool.result .stderr)" '"bad key ************\n"'
	run -1 grep -r 'own-test-key' "$AWF_STORAGE"
}

@test "a key from the keys file reaches the provider" {
	text fine >answer1
	serve answer1
	unset ANTHROPIC_API_KEY
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo 'ANTHROPIC_API_KEY=from-the-file' >"$XDG_CONFIG_HOME/awf/keys"
	run -4 --separate-stderr awf-step -q a -a writer <<<x
	[[ "$stderr" == *'chmod 600'* ]]
	chmod 600 "$XDG_CONFIG_HOME/awf/keys"
	awf-step -q a -a writer <<<x
	same "$(jq -c '.headers["x-api-key"]' "$MODEL_SERVER_LOG")" true
}

@test "--dry-run prints the request that would be sent, and sends none" {
	text fine >answer1
	serve answer1
	echo 'what is "x"?' | awf-step --dry-run a -a writer >dry
	[ ! -s "$MODEL_SERVER_LOG" ]
	[ ! -e "$AWF_STORAGE/latest" ]
	same "$(jq -c '[.id, .model, .system, .messages[0].blocks[0].text, [.tools[].name], .stream]' dry)" \
		'[1,"test","Be brief.","what is \"x\"?",["add","fail"],true]'
	echo 'what is "x"?' | awf-step -q a -a writer
	same "$(payloads message.assistant .request_sha256)" \
		"\"$(sed 's/^{"id":1,"step":"a",/{/' dry | tr -d '\n' | sha256sum | cut -d ' ' -f 1)\""
}

@test "the same agent through Chat Completions" {
	printf '%s\n' \
		'{"id":"c","object":"chat.completion.chunk","model":"t-1","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"add","arguments":"{\"a\":20,"}}]}}]}' \
		'{"id":"c","object":"chat.completion.chunk","model":"t-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"b\":22}"}}]}}]}' \
		'{"id":"c","object":"chat.completion.chunk","model":"t-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}' \
		'[DONE]' >answer1
	printf '%s\n' \
		'{"id":"c","object":"chat.completion.chunk","model":"t-1","choices":[{"index":0,"delta":{"role":"assistant","content":"forty-two"}}]}' \
		'{"id":"c","object":"chat.completion.chunk","model":"t-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}' \
		'[DONE]' >answer2
	serve answer1 answer2
	same "$(echo x | awf-step -r -m openai/t a -a writer)" forty-two
	same "$(payloads tool.result .output)" '"42"'
	same "$(bodies | tail -n 1 | jq -c '.messages[-1] | [.role, .tool_call_id, .content]')" \
		'["tool","t1","42"]'
}

@test "live text on stderr with -v, made harmless" {
	stream end_turn '{"type":"text","text":"one\n\u001b[2Jtwo"}' >answer1
	serve answer1
	run -0 --separate-stderr awf-step -v -q a -a writer <<<x
	same "$stderr" "$(printf 'one\n\\x1b[2Jtwo')"
}

@test "a tool alone: an operation" {
	same "$(echo '{"a":1,"b":2}' | awf-step -i json -r -t add sum)" 3
	same "$(types)" 'tool.call tool.result '
	run -3 --separate-stderr awf-step -i json -q -t add sum <<<'{"a":1}'
	[[ "$stderr" == 'awf-step: sum: '*schema* ]]
	same "$(payloads tool.result .error.code)" '"schema"'
	run -3 awf-step -i json -q -t fail sum <<<'{}'
	same "$(payloads step.completed .error.code)" '"exit_status"'
}

# bats test_tags=turn:2
@test "an agent that goes round in circles is stuck" {
	stream tool_use "$(use t1 add '{"a":2,"b":3}')" >same
	stream tool_use "$(use t2 add '{"a":3,"b":2}')" >other
	text 'done' >answer
	FAULTS=(--loop)
	serve same
	run -3 --separate-stderr awf-step -r a -a writer <<<x
	same "$stderr" 'awf-step: a: writer: made the same tool call in 5 turns, and the same came of it (stuck_after): add {"a":2,"b":3}'
	same "$(payloads step.completed .error.code) $(sent)" '"stuck" 5'
	agent lasting "$(printf 'tools: [add]\nstuck_after: 3')"
	run -3 awf-step -r a -a lasting <<<x
	same "$(sent)" 8
	# Another call between them, or another result, is a step forward.
	FAULTS=()
	serve same same same same other same same same same answer
	same "$(awf-run -c 'awf-step -r a -a writer' <<<x)" 'done'
	awf-verify --determinism
}

@test "empty lines before the front matter are no body" {
	printf '\n  \n---\nname: late\ntools: []\nmodel: anthropic/m\n---\nBe brief.\n' >agents/late.md
	same "$(awf-step --dry-run -n -p hi -a late x | jq -c '[.system, .model]')" '["Be brief.","m"]'
	printf '\n---\nmax_turns: many\n---\n' >agents/bad.md
	run -2 --separate-stderr awf-step -n -p hi -m anthropic/m -a bad x
	[[ $stderr == 'awf-step: '*'agents/bad.md:3: '* ]]
}
