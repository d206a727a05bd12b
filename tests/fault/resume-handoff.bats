#!/usr/bin/env bats
# Calls that were handed over, and cut off: the agent that was at work goes on.
# shellcheck shell=bash disable=SC2016,SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/agent
load ../support/resume

prepare() {
	resume_tools
	mkdir agents tools
	agent triage 'tools: [note, wait]
handoffs: [billing]'
	agent billing 'tools: [note, wait]
handoffs: [triage]'
	sed -i 's/Be brief/Be exact/; s/^model: test$/model: test-billing/' agents/billing.md
	tool note '"effects":"external"' 'ledger note'
	tool wait '"effects":"read"' 'ledger wait; hold'
	printf '#!/bin/sh\n%s\n' 'echo "the question" | awf-step -a triage ask' >flow.awf
	chmod +x flow.awf
}

# Serves an answer for each turn, known by the tool result that comes before it.
serve_turns() {
	local arguments=()
	while [ $# -gt 1 ]; do
		arguments+=(--answer-for "\"tool_use_id\":\"$1\"" "$2")
		shift 2
	done
	model_server --loop "${arguments[@]}" --answer "$1"
}

payloads() { jq -c "select(.type == \"$1\").payload | $2" "$(record)"; }
asks() { jq -c '[.model, (.messages | length)]' <(bodies) | paste -sd' '; }

# What an undisturbed run asks last is what the resumed one asked.
same_as_undisturbed() {
	bodies | tail -n 1 >resumed
	awf-run -n ./flow.awf >out2
	bodies | tail -n 1 | cmp - resumed
}

@test "cut off in a tool of the second agent, it goes on there" {
	stream tool_use "$(use t1 transfer_to_billing '{"reason":"money"}')" "$(use t2 note '{"n":1}')" >first
	stream tool_use "$(use t3 note '{"n":2}')" "$(use t4 wait '{}')" >second
	text 'the answer' >third
	serve_turns t4 third t2 second first
	die -n ./flow.awf
	same "$(asks)" '["test",1] ["test-billing",3]'
	run -0 --separate-stderr resume
	same "$(jq -c '[.data, .metadata.agent_name]' <<<"$output")" '["the answer","billing"]'
	same "$(asks)" '["test",1] ["test-billing",3] ["test-billing",5]'
	same "$(entries note) $(entries wait)" "2 2"
	same "$(payloads message.user .handoff.to | paste -sd,)" 'null,"billing"'
	same "$(payloads message.assistant '[.turn, .agent]' | paste -sd,)" '[0,null],[1,"billing"],[2,"billing"]'
	awf-verify -q "$(id)"
	awf-verify -q --determinism --isolation copy "$(id)"
	same_as_undisturbed
}

@test "cut off in a tool beside the transfer, it is handed over then, once" {
	stream tool_use "$(use t1 transfer_to_billing '{}')" "$(use t2 wait '{}')" >first
	text 'the answer' >second
	serve_turns t2 second first
	die -n ./flow.awf
	same "$(payloads message.user .handoff.to)" null
	run -0 --separate-stderr resume
	same "$(asks)" '["test",1] ["test-billing",3]'
	same "$(payloads tool.call .name | paste -sd,)" '"transfer_to_billing","wait","wait"'
	same "$(payloads message.user .handoff.to | paste -sd,)" 'null,"billing"'
	awf-verify -q "$(id)"
	awf-verify -q --determinism --isolation copy "$(id)"
	same_as_undisturbed
}

# bats test_tags=turn:2
@test "cut off at any event of a call that comes back to its first agent" {
	stream tool_use "$(use t1 transfer_to_billing '{}')" >first
	stream tool_use "$(use t2 note '{"n":1}')" "$(use t3 transfer_to_triage '{}')" >second
	text 'the answer' >third
	serve_turns t3 third t1 second first
	awf-run -n --id-file run.id ./flow.awf >out1
	same "$(jq -c '[.data, .metadata.agent_name]' out1)" '["the answer","triage"]'
	cp "$(record)" whole
	for cut in $(seq 3 $(($(wc -l <whole) - 2))); do
		case_is_chosen 3 || continue
		head -n "$cut" whole >"$(record)"
		: >"$MODEL_SERVER_LOG"
		run --separate-stderr resume --redo ask
		same "$cut: $status $(jq -c '[.data, .metadata.agent_name]' <<<"$output")" "$cut: 0 [\"the answer\",\"triage\"]"
		awf-verify -q "$(id)"
		same "$cut: $(payloads message.user '[.turn, .handoff.to]' | paste -sd,)" \
			"$cut: [0,null],[1,\"billing\"],[2,\"triage\"]"
		same "$cut: $(head -n "$cut" whole | grep -c '"type":"message.assistant"') $(sent)" \
			"$cut: $((3 - $(sent))) $(sent)"
		awf-verify -q --determinism --isolation copy "$(id)"
	done
}

@test "a completed call is taken as it was, with the agent that ended it" {
	stream tool_use "$(use t1 transfer_to_billing '{}')" >first
	text 'the answer' >second
	serve_turns t1 second first
	printf '#!/bin/sh\n%s\n' 'echo "the question" | awf-step -a triage ask | awf-step -e then -- sh -c "cat; ledger then; hold </dev/null"' >flow.awf
	die -n ./flow.awf
	run -0 --separate-stderr resume
	same "$(jq -c .data <<<"$output" | grep -o 'agent_name[^,]*' | head -n 1)" 'agent_name\":\"billing\"'
	same "$(asks)" '["test",1] ["test-billing",3]'
	awf-verify -q "$(id)"
}

@test "an agent that was changed after it was handed to is another definition" {
	stream tool_use "$(use t1 transfer_to_billing '{}')" >first
	stream tool_use "$(use t2 note '{}')" "$(use t3 wait '{}')" >second
	text 'the answer' >third
	serve_turns t3 third t1 second first
	die -n ./flow.awf
	sed -i 's/Be exact/Be vague/' agents/billing.md
	run -75 --separate-stderr resume
	[[ $stderr == *ask* ]]
	[[ $stderr == *--redo* ]]
	run -0 --separate-stderr resume --redo ask
	same "$(asks)" '["test",1] ["test-billing",3] ["test",1] ["test-billing",3] ["test-billing",5]'
}
