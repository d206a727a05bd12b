#!/usr/bin/env bats
# fallback: other models are asked when the first does not answer.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/resume

prepare() {
	mkdir agents tools
	agent writer 'fallback: [openai/other, {provider: anthropic, model: third}]'
	chat='{"model":"o-1","choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n'
	# shellcheck disable=SC2059 # it is a format
	printf "$chat" other >other
	text third >third
	text first >first
}

# The models that were asked, in a row.
models() { bodies | jq -r .model | tr '\n' ' '; }

@test "the next is asked when the tries are used up, and the record says who answered" {
	model_server --answer other --fault 1:529 --fault 2:500
	same "$(echo hi | awf-step -r -a writer ask --retries 1 --delay 1ms)" other
	same "$(models)" 'test test other '
	same "$(payloads message.assistant 'select(.retry) | [.retry.code, .retry.try, .retry.of]')" '["overloaded",2,2]'
	same "$(payloads message.assistant 'select(.partial | not) | [.provider, .fallback, .model]')" '["openai",1,"o-1"]'
	same "$(payloads step.completed '.retries | map([.provider, .model, .code, .turn])')" \
		'[["anthropic","test","overloaded",0],["anthropic","test","provider",0]]'
	awf-verify -q
	same "$(bodies | tail -n 1 | jq -c '.messages | map([.role, .content])')" '[["system","Be brief."],["user","hi"]]'
}

@test "a server that asks for a long wait is not waited for if there is another, and for a short one it is" {
	model_server --answer other --fault 1:429:61000ms
	SECONDS=0
	same "$(echo hi | awf-step -r -a writer ask --retries 2 --delay 1ms)" other
	same "$(models)" 'test other '
	[ "$SECONDS" -lt 30 ]
	kill "$MODEL_SERVER_PID"
	model_server --answer first --fault 1:429:20ms
	same "$(echo hi | awf-step -r -a writer ask --retries 2 --delay 1ms)" first
	same "$(models)" 'test test '
}

@test "without need nobody else is asked, nor recorded" {
	model_server --answer first
	same "$(echo hi | awf-step -r -a writer ask)" first
	same "$(models)" 'test '
	same "$(payloads message.assistant '[.provider, .fallback]')" '[null,null]'
}

@test "what is the caller's fault is told at once" {
	for status in 400 401 413; do
		model_server --answer other --fault 1:$status
		run -3 awf-step -q -a writer ask <<<hi
		same "$status $(models)" "$status test "
		kill "$MODEL_SERVER_PID"
	done
}

@test "one after the other; the last one's error is the call's" {
	model_server --fault '*:503'
	run -3 --separate-stderr awf-step -q -a writer ask --retries 0 <<<hi
	[[ $stderr == 'awf-step: ask: anthropic: HTTP 503'* ]]
	same "$(models)" 'test other third '
	same "$(payloads step.completed '.retries | map(.model)')" '["test","other"]'
}

@test "who has answered goes on; the conversation comes along" {
	agent writer 'fallback: [openai/other]
tools: [add]'
	tool add '"effects":"none"' 'echo 5'
	stream tool_use '{"type":"thinking","thinking":"hm","signature":"s"}' "$(use t1 add '{"a":2}')" >call
	echo '{"model":"o-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t2","function":{"name":"add","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}' >again
	model_server --answer call --answer again --answer other --fault 2:529
	same "$(echo hi | awf-step -r -a writer ask --retries 0)" other
	same "$(models)" 'test test other other '
	same "$(payloads message.assistant .fallback | tr '\n' ' ')" 'null 1 1 '
	same "$(bodies | tail -n 1 | jq -c '.messages | map(.role)')" \
		'["system","user","assistant","tool","assistant","tool"]'
}

@test "-m stands in for the first alone" {
	model_server --answer other --fault 1:529
	same "$(echo hi | awf-step -r -a writer -m anthropic/mine ask --retries 0)" other
	same "$(models)" 'mine other '
}

@test "a replay, and a run that goes on, follow what was recorded" {
	model_server --answer other --fault 1:529
	recorded 0 -c 'awf-step -r -a writer ask --retries 0' <<<hi
	kill "$MODEL_SERVER_PID"
	resume_tools
	agent writer 'fallback: [openai/other]
tools: [wait]'
	tool wait '"effects":"none"' 'hold >/dev/null; echo done'
	echo '{"model":"o-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t2","function":{"name":"wait","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}' >call
	model_server --answer call --answer other --fault 1:529
	die -n -c 'awf-step -r -a writer -p hi ask --retries 0 -n'
	same "$(resume)" other
	same "$(models)" 'test other other '
}

@test "a fallback is part of the definition" {
	model_server --answer first --loop
	awf-run -n --id-file run.id -c 'awf-step -n -q -a writer -p hi ask; false' || true
	resume || true
	same "$(models)" 'test '
	agent writer 'fallback: [openai/another]'
	resume || true
	same "$(models)" 'test test '
}

@test "an agent that is handed over to has the models of the first, if it names none" {
	agent writer 'handoffs: [second]
fallback: [openai/other]'
	printf -- '---\nname: second\n---\nGo on.\n' >agents/second.md
	stream tool_use "$(use t1 transfer_to_second '{}')" >call
	model_server --answer call --answer other --fault 2:529
	same "$(echo hi | awf-step -r -a writer ask --retries 0)" other
	same "$(models)" 'test test other '
}

@test "what is no fallback is refused" {
	while IFS='|' read -r value why; do
		agent writer "fallback: $value"
		run -2 --separate-stderr awf-step -q -a writer ask </dev/null
		same "$stderr" "awf-step: agents/writer.md:5: fallback: $why"
	done <<-'END'
		openai/x|expected a list of PROVIDER/MODEL, got text
		[]|expected a list of PROVIDER/MODEL, got list
		[model]|expected PROVIDER/MODEL, or {provider: …, model: …}, in each place
		[{provider: openai}]|expected PROVIDER/MODEL, or {provider: …, model: …}, in each place
		[openia/x]|unknown provider 'openia' (did you mean 'openai'?)
	END
}
