#!/usr/bin/env bats
# examples/incident.awf: an alert is handed over to the agent who knows about its cause.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume
load ../../support/examples

prepare() { example incident; }

incident() { ./incident.awf <samples/alert.json; }
# The turns of the conversation, and whose they are since it was handed over.
turns() {
	jq -r 'select(.type == "message.assistant").payload | [.turn, .agent // empty] | join(":")' \
		"$(transcript)" | paste -sd' '
}
tools() { jq -r 'select(.type == "tool.call").payload.name' "$(transcript)" | paste -sd' '; }

@test "the agent on duty looks, hands over, and the database's agent goes on" {
	run -0 incident
	same "${lines[0]}" 'database: The backup that began at 07:38 holds a lock on stock, and every checkout waits for it.'
	same "$(turns)" '0 1 2:database 3:database'
	same "$(tools)" 'search_log transfer_to_database search_log'
	same "$(awf-replay --tree | grep -o 'turn [0-9].* (' | paste -sd' ')" 'turn 0 ( turn 1 ( turn 2 of database ( turn 3 of database ('
	deterministic
}

@test "what is easy is settled by the agent on duty" {
	echo '{"match":"You are on duty","blocks":[{"type":"text","text":"It has passed."}]}' >"$RECORDING"
	run -0 incident
	same "$output" 'duty: It has passed.'
	deterministic
}

@test "it can be handed on from there" {
	sed -i '3,$d' "$RECORDING"
	cat >>"$RECORDING" <<-'END'
		{"match":"You know about databases","turn":2,"stop_reason":"tool_use","blocks":[{"type":"tool_use","tool_id":"toolu_09","tool_name":"transfer_to_network","tool_input":{}}]}
		{"match":"You know about networks","turn":3,"blocks":[{"type":"text","text":"The name server is down."}]}
	END
	run -0 incident
	same "$output" 'network: The name server is down.'
	same "$(tools)" 'search_log transfer_to_database transfer_to_network'
	deterministic
}

@test "an agent who fails is told of; resumed, nobody is asked again who has answered" {
	forget 'You know about databases'
	run -3 --separate-stderr incident
	same "$output" ''
	[[ $stderr == *'step triage:0:0 failed: '*'no recorded answer'* ]]
	recall
	run -0 awf-run --resume @
	[[ ${lines[0]} == 'database: The backup that began'* ]]
	same "$(answers "$(transcript)")" ' 4 triage '
	same "$(tools)" 'search_log transfer_to_database search_log'
	deterministic
}

@test "killed after the hand-over, it goes on with the agent who took it over" {
	hold 'You know about databases'
	die ./incident.awf <samples/alert.json
	run -0 resume
	[[ ${lines[0]} == 'database: The backup that began'* ]]
	same "$(answers "$(transcript)")" ' 4 triage '
	deterministic
}

@test "an alert that is no JSON is refused" {
	run -3 --separate-stderr ./incident.awf <<<'the shop is slow'
	same "$output" ''
	same "$(answers "$(transcript)")" ''
}
