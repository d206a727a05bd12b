#!/usr/bin/env bats
# Agents that were cut off go on where they were.
# shellcheck shell=bash disable=SC2016,SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/agent
load ../support/resume

prepare() {
	resume_tools
	mkdir agents tools
	agent writer 'tools: [note, wait, big]'
	tool note '"effects":"external"' 'ledger note'
	# Enters itself, then is held.
	tool wait '"effects":"read"' 'ledger wait; hold'
	tool big '"effects":"external"' 'ledger big >/dev/null; head -c 300000 /dev/zero | tr "\0" x; printf "\377\376"'
	printf '#!/bin/sh\n%s\n' 'echo "the question" | awf-step -a writer ask -r' >flow.awf
	chmod +x flow.awf
}

# Serves an answer for each turn, known by the tool result that comes before it:
# TOOL_ID FILE..., the last turn first, then the file of the first turn.
serve_turns() {
	local arguments=()
	while [ $# -gt 1 ]; do
		arguments+=(--answer-for "\"tool_use_id\":\"$1\"" "$2")
		shift 2
	done
	model_server --loop "${arguments[@]}" --answer "$1" "${FAULTS[@]}"
}
FAULTS=()

# The events of a type in the record: an expression.
payloads() { jq -c "select(.type == \"$1\").payload | $2" "$(record)"; }
asks() { jq -c '.messages | length' <(bodies) | paste -sd' '; }

@test "no answered request is sent again, no tool with a result is run again" {
	stream tool_use "$(use t1 note '{"n":1}')" "$(use t2 big '{}')" >first
	stream tool_use "$(use t3 note '{"n":2}')" "$(use t4 wait '{}')" >second
	text 'the answer' >third
	serve_turns t4 third t2 second first
	die -n ./flow.awf
	same "$(asks)" "1 3"
	same "$(entries note) $(entries big) $(entries wait)" "2 1 1"
	run -0 --separate-stderr resume
	same "$output" "the answer"
	same "$(asks)" "1 3 5"
	same "$(entries note) $(entries big) $(entries wait)" "2 1 2"
	# What it went on with is what an undisturbed run would have sent.
	bodies | tail -n 1 >resumed
	awf-run -n ./flow.awf >out
	bodies | tail -n 1 | cmp - resumed
	awf-verify -q "$(id)"
}

@test "an effect of a tool that was cut off is asked about, by the step of the agent" {
	tool halt '"effects":"external"' 'ledger halt; hold'
	agent writer 'tools: [note, halt]'
	stream tool_use "$(use t1 note '{"n":1}')" "$(use t2 halt '{"to":"somebody"}')" "$(use t3 note '{"n":2}')" >first
	text 'the answer' >second
	serve_turns t2 second first
	die -n ./flow.awf
	same "$(entries note) $(entries halt)" "1 1"
	run -75 --separate-stderr resume
	[[ $stderr == *ask:0:0*halt* || $stderr == *halt*ask:0:0* ]]
	same "$(asks) $(entries note) $(entries halt)" "1 1 1"
	cp -r "$AWF_STORAGE" storage2
	run -0 --separate-stderr resume --redo ask
	same "$output" "the answer"
	same "$(asks) $(entries note) $(entries halt)" "1 3 2 2"
	same "$(bodies | tail -n 1 | jq -c '[.messages[2].content[].is_error]')" '[null,null,null]'
	# The same once more, and skipped.
	rm -rf "$AWF_STORAGE"
	mv storage2 "$AWF_STORAGE"
	run -0 --separate-stderr resume --skip ask:0:0
	same "$output" "the answer"
	same "$(entries note) $(entries halt)" "3 2"
	same "$(bodies | tail -n 1 | jq -c '[.messages[2].content[].is_error]')" '[null,true,null]'
	awf-verify -q "$(id)"
}

# bats test_tags=turn:2
@test "undeclared tools are asked about, idempotent ones are not" {
	while IFS='|' read -r members code; do
		rm -f ./*.ledger
		tool halt "$members" 'ledger halt; hold'
		agent writer 'tools: [halt]'
		stream tool_use "$(use t1 halt '{}')" >first
		text 'the answer' >second
		serve_turns t1 second first
		die -n ./flow.awf
		run -"$code" --separate-stderr resume
		same "$members: $(entries halt)" "$members: $((code == 0 ? 2 : 1))"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		"title":"undeclared"|75
		"effects":"external","idempotent":true|0
		"effects":"workspace","idempotent":true|0
		"effects":"workspace"|75
		"idempotent":true|0
		"effects":"none"|0
	END
}

@test "an agent that failed goes on after its last answer" {
	stream tool_use "$(use t1 note '{"n":1}')" >first
	text 'the answer' >second
	FAULTS=(--fault 2:401)
	serve_turns t1 second first
	run -3 awf-run -n --id-file run.id ./flow.awf
	same "$(asks) $(entries note)" "1 3 1"
	run -0 --separate-stderr resume
	same "$output" "the answer"
	same "$(asks) $(entries note)" "1 3 3 1"
	awf-verify -q "$(id)"
}

@test "a stop tool that was called and not told of ends the call without a request" {
	agent writer 'tools: [note]
stop_when: {tool: finish}'
	stream tool_use "$(use t1 finish '{"score":7}')" >first
	serve_turns first
	awf-run -n --id-file run.id ./flow.awf >out
	# Back to where the answer was the last that was recorded.
	line=$(grep -n '"type":"message.assistant"' "$(record)" | cut -d: -f1)
	sed -i "$((line + 1)),\$d" "$(record)"
	run -0 --separate-stderr resume
	same "$output" '{"score":7}'
	same "$(asks)" 1
}

@test "turns and tokens of all attempts count against the limits" {
	for limit in max_turns:2 max_tokens_total:25; do
		rm -f ./*.ledger
		agent writer "tools: [note, wait]
${limit%:*}: ${limit#*:}"
		stream tool_use "$(use t1 wait '{}')" >first
		stream tool_use "$(use t2 note '{}')" >second
		text never >third
		serve_turns t2 third t1 second first
		die -n ./flow.awf
		run -3 --separate-stderr resume
		same "$limit: $(asks)" "$limit: 1 3"
		[[ $(payloads step.completed .error.code) == *max_* ]]
		kill "$MODEL_SERVER_PID"
	done
}

@test "a changed agent that has had effects stops with what changed; one without starts anew" {
	stream tool_use "$(use t1 note '{}')" "$(use t2 wait '{}')" >first
	text 'the answer' >second
	serve_turns t2 second first
	die -n ./flow.awf
	sed -i 's/Be brief/Be verbose/' agents/writer.md
	run -75 --separate-stderr resume
	[[ $stderr == *ask* ]]
	[[ $stderr == *--redo* ]]
	same "$(asks) $(entries note)" "1 1"
	run -0 --separate-stderr resume --redo ask
	same "$output" "the answer"
	same "$(asks) $(entries note)" "1 1 3 2"
	kill "$MODEL_SERVER_PID"
	rm -f ./*.ledger
	stream tool_use "$(use t2 wait '{}')" >first
	serve_turns t2 second first
	die -n ./flow.awf
	sed -i 's/Be verbose/Be brief/' agents/writer.md
	run -0 --separate-stderr resume
	same "$(asks)" "1 1 3"
}

@test "several items in flight: each goes on in its own conversation" {
	cat >flow.awf <<-'END'
		#!/bin/sh
		printf 'item %s\n' 0 1 2 3 | awf-step -i lines -j 4 -a writer ask -r
	END
	arguments=()
	for n in 0 1 2 3; do
		stream tool_use "$(use "t$n" wait "{\"n\":$n}")" >"first$n"
		text "answer $n" >"second$n"
		arguments+=(--answer-for "\"tool_use_id\":\"t$n\"" "second$n" --answer-for "item $n" "first$n")
	done
	model_server --loop "${arguments[@]}"
	: >held
	awf-run -n --id-file run.id ./flow.awf >out1 3>&- &
	eventually sh -c 'test "$(wc -l <wait.ledger)" -eq 4' 2>/dev/null
	kill -9 $!
	wait $! || true
	eventually deserted
	rm -f held
	run -0 --separate-stderr resume
	same "$output" "$(printf 'answer %s\n' 0 1 2 3)"
	same "$(bodies | jq -c '.messages | length' | sort | uniq -c | tr -s ' ' | paste -sd,)" " 4 1, 4 3"
	same "$(entries wait)" 8
	awf-verify -q "$(id)"
}

@test "a tool that was skipped stays skipped, whatever happens before the model is told" {
	tool halt '"effects":"external"' 'ledger halt; hold'
	agent writer 'tools: [halt, wait]'
	stream tool_use "$(use t1 halt '{}')" "$(use t2 wait '{}')" >first
	text 'the answer' >second
	serve_turns t2 second first
	die -n ./flow.awf
	die_again --skip ask
	same "$(entries halt) $(entries wait)" "1 1"
	run -0 --separate-stderr resume
	same "$output" "the answer"
	same "$(asks) $(entries halt) $(entries wait)" "1 3 1 2"
	same "$(bodies | tail -n 1 | jq -c '[.messages[2].content[].is_error]')" '[true,null]'
}

@test "a tool that was ended by its time limit, and of which the model was not told" {
	tool halt '"effects":"external","timeout":"200ms"' 'ledger halt; [ -e fine ] || sleep 5'
	agent writer 'tools: [halt, wait]'
	stream tool_use "$(use t1 halt '{}')" "$(use t2 wait '{}')" >first
	text 'the answer' >second
	serve_turns t2 second first
	die -n ./flow.awf
	: >fine
	run -75 --separate-stderr resume
	[[ $stderr == *ask:0:0* ]]
	run -0 --separate-stderr resume --redo ask
	same "$(asks) $(entries halt)" "1 3 2"
	same "$(bodies | tail -n 1 | jq -c '[.messages[2].content[].is_error]')" '[null,null]'
}
