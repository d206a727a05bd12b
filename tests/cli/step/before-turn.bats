#!/usr/bin/env bats
# bats file_tags=turn:2
# A program that is asked before each turn of an agent.
# shellcheck disable=SC2154,SC2016 # bats sets stderr; jq has dollars of its own
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/resume

prepare() {
	resume_tools
	mkdir agents tools
	tool note '"effects":"external"' 'ledger note'
	tool wait '"effects":"read"' 'ledger wait; hold'
	stream tool_use "$(use t1 note '{"n":1}')" >first
	text 'the answer' >answer
	printf '#!/bin/sh\n%s\n' 'echo question | awf-step -a writer ask -r' >flow.awf
	chmod +x flow.awf
}

# An agent whose program is this shell text; what it reads is in $input, and in the file
# asked.
guided() {
	printf '#!/bin/sh\ninput=$(cat)\necho "$input" >>asked\ngiven() { echo "$input" | jq "$@"; }\n%s\n' "$1" >guide
	chmod +x guide
	agent writer "tools: [note, wait]
before_turn: [$PWD/guide]
${2-}"
}

serve() {
	local files=() file
	for file; do files+=(--answer "$file"); done
	model_server "${files[@]}"
}

serve_turns() { model_server --loop --answer-for '"tool_use_id"' answer --answer first; }

@test "it reads what is to be asked; saying nothing changes nothing" {
	guided 'exit 0' 'temperature: 0.5'
	serve first answer
	same "$(echo question | awf-step -r a -a writer)" 'the answer'
	same "$(jq -c '[.turn, .agent, .usage, .model, .system, (.messages | length), [.tools[].name], .params]' asked)" \
		'[0,"writer",{},"test","Be brief.",1,["note","wait"],{"temperature":0.5}]
[1,"writer",{"input_tokens":10,"output_tokens":5},"test","Be brief.",3,["note","wait"],{"temperature":0.5}]'
	same "$(types)" 'message.user message.assistant tool.call tool.result message.assistant '
	cp "$MODEL_SERVER_LOG" guided.log
	kill "$MODEL_SERVER_PID"
	agent writer 'tools: [note, wait]
temperature: 0.5'
	serve first answer
	same "$(echo question | awf-step -r a -a writer)" 'the answer'
	same "$(bodies)" "$(jq -c '.body | if type == "string" then fromjson else . end' guided.log)"
}

@test "it changes model, tools, messages and parameters, of the next turn alone" {
	guided 'if [ "$(given .turn)" = 0 ]; then
		given "{model: \"other\", tools: [\"note\"], params: {max_tokens: 99, temperature: null},
			messages: [.messages[], {role: \"user\", blocks: [{type: \"text\", text: \"Use note.\"}]}]}"
	fi' 'temperature: 0.5
max_tokens: 10'
	serve first answer
	same "$(echo question | awf-step -r a -a writer)" 'the answer'
	same "$(bodies | jq -c '[.model, [.tools[].name], .max_tokens, .temperature, [.messages[].content[] | .text // .type]]')" \
		'["other",["note"],99,null,["question","Use note."]]
["test",["note","wait"],10,0.5,["question","tool_use","tool_result"]]'
	same "$(types)" 'message.user message.user message.assistant tool.call tool.result message.assistant '
	same "$(payloads message.user '[.turn, (.blocks | length), .before_turn.model, .before_turn.tools, .before_turn.params]')" \
		'[0,1,null,null,null]
[0,0,"other",["note"],{"max_tokens":99,"temperature":null}]'
	same "$(jq -rs '[.[] | select(.type | test("^(message|tool)"))] as $e |
		[range(1; $e | length) | $e[.].parent_event_id == $e[. - 1].event_id] | all' "$(transcript)")" true
	awf-verify -q
	same "$(awf-tail --as agent-event | jq -c 'select(.type == "llm.turn.start").payload.turn' | paste -sd' ')" '0 1'
	same "$(awf-tail | grep -c 'before_turn')" 1
}

@test "a tool that it does not name is not offered, and refused if it is called" {
	guided 'echo "{\"tools\":[]}"'
	serve first answer
	echo question | awf-step -q a -a writer
	same "$(bodies | jq -c '[.tool_choice.type, .tools[0].name]' | paste -sd' ')" '[null,null] ["none","note"]'
	same "$(payloads tool.result .error.code)" '"blocked"'
	same "$(entries note)" 0
}

@test "it ends the call, with a result or an error" {
	guided 'echo "{\"end\": {\"result\": {\"cached\" : 1.50}}}"'
	serve first answer
	same "$(echo question | awf-step -r a -a writer)" '{"cached":1.50}'
	same "$(types)" 'message.user message.user '
	same "$(sent)" 0
	guided 'given -e ".usage.input_tokens > 5" >/dev/null && echo "{\"end\":{\"error\":\"the budget is used up\"}}"; :'
	rm asked
	run -3 --separate-stderr awf-step -q a -a writer <<<question
	same "$stderr" 'awf-step: a: writer: before_turn: the budget is used up'
	same "$(payloads step.completed .error.code)" '"blocked"'
	same "$(payloads message.user .before_turn | tail -n 1)" '{"end":{"error":"the budget is used up"}}'
	same "$(sent)" 1
}

# bats test_tags=turn:2
@test "what is wrong with it or its answer ends the call with a named error" {
	serve first answer
	while IFS='|' read -r program code message; do
		guided "$program"
		run -3 --separate-stderr awf-step -q a -a writer <<<question
		same "$(tail -n 1 <<<"$stderr")" "awf-step: a: writer: $message"
		same "$program: $(payloads step.completed .error.code)" "$program: \"$code\""
	done <<-'END'
		exit 7|exit_status|the command of before_turn: exit status 7
		echo no|schema|the answer of before_turn: no JSON: expected a value
		echo '[]'|schema|the answer of before_turn: no JSON object, or one that is too deep
		echo '{"modell":"x"}'|schema|the answer of before_turn: modell: unknown key (did you mean 'model'?)
		echo '{"model":""}'|schema|the answer of before_turn: model: expected the name of a model
		echo '{"tools":["note","rm"]}'|blocked|the answer of before_turn: tools: 'rm' is none of those that the turn has
		echo '{"tools":"note"}'|schema|the answer of before_turn: tools: expected a list of names
		echo '{"messages":[]}'|schema|the answer of before_turn: messages: expected a list of objects with a role (user, assistant) and a list of blocks with a type each
		echo '{"messages":[{"role":"user","blocks":["x"]}]}'|schema|the answer of before_turn: messages: expected a list of objects with a role (user, assistant) and a list of blocks with a type each
		echo '{"params":{"max_token":1}}'|schema|the answer of before_turn: params: max_token: unknown key (did you mean 'max_tokens'?)
		echo '{"params":{"max_tokens":0}}'|schema|the answer of before_turn: params: max_tokens: expected a whole number from 1 to 2147483647
		echo '{"params":[]}'|schema|the answer of before_turn: params: expected an object
		echo '{"end":{}}'|schema|the answer of before_turn: end: expected {"result": …} or {"error": "…"}
		echo '{"end":{"result":1,"error":"x"}}'|schema|the answer of before_turn: end: expected {"result": …} or {"error": "…"}
	END
	same "$(sent)" 0
}

@test "it has a time limit, and Ctrl-C ends it" {
	serve first answer
	guided 'exec sleep 100'
	sed -i "s|^before_turn: .*|before_turn: {command: [$PWD/guide], timeout: 200ms}|" agents/writer.md
	run -3 --separate-stderr awf-step -q a -a writer <<<question
	same "$(payloads step.completed .error.code)" '"timeout"'
	[[ $stderr == *'the command of before_turn'* ]]
	guided 'exec sleep 100'
	run -3 awf-step -q --timeout 300ms a -a writer <<<question
	same "$(payloads step.completed .error.code)" '"timeout"'
	rm asked
	echo x | env --default-signal=INT awf-step -q a -a writer 3>&- &
	eventually test -s asked
	kill -INT $!
	wait $! || true
	same "$(payloads step.completed .error.code)" '"cancelled"'
	same "$(sent)" 0
}

@test "a text is for the shell; each agent has its own; stop conditions hold" {
	agent writer 'handoffs: [other]
before_turn: "jq -c \"{model: (.model + \\\"-1\\\")}\""'
	agent other 'stop_when: {tool: finish}
before_turn: "jq -c \"{model: (.model + \\\"-2\\\"), tools: [.tools[].name]}\""'
	stream tool_use "$(use t1 transfer_to_other '{}')" >first
	stream tool_use "$(use t2 finish '{"sum":7}')" >second
	serve first second
	same "$(echo x | awf-step a -a writer | jq -c '[.data, .metadata.agent_name]')" '[{"sum":7},"other"]'
	same "$(bodies | jq -r .model | paste -sd' ')" 'test-1 test-2'
	same "$(payloads message.user '[.turn, .agent, .before_turn.model, .handoff.to]')" \
		'[0,null,null,null]
[0,null,"test-1",null]
[1,"other",null,"other"]
[1,"other","test-2",null]'
	same "$(awf-tail --as agent-event | jq -c 'select(.type == "llm.turn.start").payload.turn' | paste -sd' ')" '0 1 2'
	# The stop tool may be taken away, too.
	kill "$MODEL_SERVER_PID"
	agent writer 'stop_when: {tool: finish}
before_turn: "jq -c \"{tools: []}\""'
	serve second answer
	same "$(echo x | awf-step a -r -a writer)" 'the answer'
	# A stop command is asked about what the changed turn answered.
	kill "$MODEL_SERVER_PID"
	agent writer 'stop_when: {command: "grep -q answer"}
tools: [note]
before_turn: "jq -c \"{tools: []}\""'
	stream tool_use '{"type":"text","text":"an answer"}' "$(use t1 note '{}')" >first
	serve first
	same "$(echo x | awf-step a -r -a writer)" 'an answer'
}

# bats test_tags=turn:2
@test "cut off before the model answers, and after: what it said stands" {
	guided 'date +1%N | jq -c "{params: {max_tokens: (. % 1000 + 1)}}"'
	stream tool_use "$(use t1 note '{"n":1}')" "$(use t2 wait '{}')" >first
	serve_turns
	die -n ./flow.awf
	run -0 --separate-stderr resume
	same "$output" 'the answer'
	RECORD=$(record)
	same "$(jq .turn asked | paste -sd' ')" '0 1'
	same "$(payloads message.user .turn | paste -sd' ')" '0 0 1'
	same "$(bodies | jq -c .max_tokens | paste -sd' ')" \
		"$(payloads message.user '.before_turn.params.max_tokens // empty' | paste -sd' ')"
	awf-verify -q "$(id)"
	# Cut off at each event.
	guided 'given -c "{params: {max_tokens: (5 + .turn)}}"'
	tool wait '"effects":"read"' 'echo fine'
	awf-run -n --id-file run.id ./flow.awf >out1
	RECORD=$(record)
	cp "$RECORD" whole
	for cut in $(seq 3 $(($(wc -l <whole) - 2))); do
		head -n "$cut" whole >"$RECORD"
		: >"$MODEL_SERVER_LOG"
		run -0 --separate-stderr resume --redo ask
		same "$cut: $output" "$cut: the answer"
		same "$cut: $(payloads message.user '[.turn, .before_turn.params.max_tokens]' | paste -sd,)" \
			"$cut: [0,null],[0,5],[1,6]"
		awf-verify -q "$(id)"
		awf-verify -q --determinism --isolation copy "$(id)"
	done
}

@test "a call that it ended asks again when it is resumed" {
	guided 'test -e go || echo "{\"end\":{\"error\":\"not yet\"}}"'
	serve_turns
	run -3 awf-run -n --id-file run.id ./flow.awf
	: >go
	run -0 --separate-stderr resume
	same "$output" 'the answer'
	awf-verify -q "$(id)"
}

@test "it replays, and is asked again; another answer is a divergence" {
	guided 'given -c "select(.turn == 1) | {tools: [\"note\"]}"'
	serve first answer
	awf-run -n --id-file run.id ./flow.awf >out
	awf-verify -q --determinism --isolation copy "$(id)"
	printf '#!/bin/sh\ncat >/dev/null\n' >guide
	run -3 --separate-stderr awf-replay --isolation none
	[[ $stderr == *'turn 1: the answer of before_turn is , the recorded one {"tools":["note"]}'* ]]
	printf '#!/bin/sh\necho "{\\"model\\":\\"x\\"}"\n' >guide
	run -3 --separate-stderr awf-replay --isolation none
	[[ $stderr == *'turn 0: the answer of before_turn is {"model":"x"}, the recorded one '* ]]
}

@test "--dry-run asks nobody" {
	guided 'echo "{\"model\":\"x\"}"'
	same "$(echo question | awf-step --dry-run a -a writer | jq -r .model)" test
	[ ! -e asked ]
}

@test "phases and it go together: it is asked in each, about the tools of the phase" {
	cat >agents/writer.md <<-END
		---
		provider: anthropic
		model: test
		tools: []
		phases:
		  - {name: look, instructions: Look., tools: [note]}
		  - {name: write, instructions: Write.}
		before_turn: "jq -c 'select(.turn == 1) | {params: {max_tokens: 7}}'"
		---
	END
	# The token of a phase stands in the request.
	token() { bodies | tail -n 1 | grep -o 'token[^0-9a-f]*[0-9a-f]\{32\}' | tail -n 1 | grep -o '[0-9a-f]*$'; }
	stream tool_use "$(use t1 note '{"n":1}')" >first
	text never >second
	serve first second
	run -3 awf-step -q a -a writer <<<question
	same "$(bodies | head -n 2 | jq -c '[.max_tokens, .tools[0].name]' | paste -sd' ')" '[8192,"note"] [7,"note"]'
	[ -n "$(token)" ]
	same "$(payloads message.user 'select(.before_turn) | [.turn, .before_turn.params.max_tokens]')" '[1,7]'
	awf-verify -q
}
