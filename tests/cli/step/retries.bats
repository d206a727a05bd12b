#!/usr/bin/env bats
# Tries that fail are in the record, and in the log, when they happen.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0

load ../../support/helpers
load ../../support/agent

# A command that fails twice, and what it does with each try.
flaky() {
	printf '%s\n' "awf-step -n a -r --retries 2 --delay 1ms --retry-on exit_status -- sh -c '$1; echo x >>tries; [ \$(wc -l <tries) -ge 3 ] && ${2-echo done}'" >flow.awf
}

retries() {
	jq -c 'select(.payload.retry) | [.type, .payload.partial, .payload.retry.code, .payload.retry.try, .payload.retry.of]' "$(transcript)"
}

# Whether the record is whole, a replay makes the same, retries too, and what else is told
# of it does not take a retry for an answer.
holds() {
	local form
	run -0 awf-verify -v
	[[ $output != *unknown* ]]
	same "$(jq -rs '(map(select(.type == "step.started") | .event_id)) as $started |
		map(select(.payload.retry)) | all(.parent_event_id as $p | $started | index($p) != null)' "$(transcript)")" true
	awf-verify --determinism --isolation copy
	awf-replay -q --isolation copy
	for form in agentloom runtime interagent langgraph otlp agent-event daemon-event; do
		awf-tail -R --as "$form" "$(transcript)" >form
		run ! grep -q '"delay_ms"' form
	done
	same "$(awf-replay --tree | grep -c ' turn ' || true)" "$1"
	awf-replay --timeline >/dev/null
	awf-replay --state a >/dev/null
}

@test "a try that failed is told when it happens" {
	# What is recorded is there before the next try.
	# shellcheck disable=SC2016
	flaky 'grep -c \"retry\" "$AWF_TRANSCRIPT" >>seen' 'cat seen'
	same "$(awf-run -n ./flow.awf)" "$(printf '0\n1\n2')"
	same "$(retries)" "$(printf '["message.assistant",true,"exit_status",%s,3]\n' 2 3)"
	run -0 awf-tail
	[[ $output == *"exit status 1, try 2 of 3 in 0"*"exit status 1, try 3 of 3 in 0"* ]]
}

@test "a command's" {
	flaky :
	same "$(awf-run -n ./flow.awf)" "done"
	same "$(retries | wc -l)" 2
	holds 0
	same "$(payloads step.completed '.retries | length')" 2
}

@test "a tool's alone" {
	mkdir tools
	tool shaky '"effects":"read"' 'echo x >>tries; [ $(wc -l <tries) -ge 3 ] && echo 7'
	echo "echo '{}' | awf-step -i json -r --retries 2 --delay 1ms --retry-on exit_status -t shaky a" >flow.awf
	same "$(awf-run -n ./flow.awf)" 7
	same "$(retries | wc -l)" 2
	holds 0
}

@test "an agent's, and who goes on with it reads none of them" {
	mkdir agents
	agent writer
	agent reader 'continue_from: a'
	text fine >answer1
	text more >answer2
	model_server --answer answer1 --answer answer2 --fault 1:500:0
	printf '%s\n' 'echo hi | awf-step -a writer --delay 1ms a | awf-step -r -a reader b' >flow.awf
	same "$(awf-run -n ./flow.awf)" more
	same "$(retries | wc -l)" 1
	same "$(bodies | tail -n 1 | jq -c '[.messages[].role]')" '["user","assistant","user"]'
	holds 2
}

@test "a run that is resumed between two tries goes on" {
	# shellcheck disable=SC2016
	flaky '[ "$(wc -l 2>/dev/null <tries)" = 1 ] && [ ! -e cut ] && touch cut && kill -9 $PPID'
	run ! awf-run -n ./flow.awf
	same "$(retries | wc -l)" 1
	run -0 awf-run --resume @
	run -0 awf-verify
	same "$(jq -r 'select(.type == "step.completed").payload.result' "$(transcript)")" "done"
}
