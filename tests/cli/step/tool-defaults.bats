#!/usr/bin/env bats
# What a run as a whole allows its agents: --allow-tools, --tools-policy.
# shellcheck disable=SC2154,SC2016 # bats sets stderr; the shell of a step reads dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/resume

prepare() {
	resume_tools
	mkdir agents tools
	tool add '"effects":"none"' 'echo added'
	tool rub '"effects":"none"' 'echo rubbed'
	tool sum '"effects":"none"' 'echo summed'
	tool wait '"effects":"read"' 'ledger wait; hold'
	agent writer 'tools: [add, rub]'
	says "$(use t1 rub '{}')" "$(use t2 sum '{}')"
	text 'the answer' >answer
}

# The first answer calls these.
says() { stream tool_use "$@" >first; }

serve() { model_server --loop --answer-for tool_use_id answer --answer first; }
offered() { bodies | head -n 1 | jq -c '[.tools[]?.name]'; }
# What became of the calls.
became() { payloads tool.call '[.name, .warning]' | paste -sd' '; payloads tool.result '[.output, .error.code, .error.message]' | paste -sd' '; }

STEP='echo question | awf-step -q -a writer ask'

@test "agents have those of their tools that the run allows; others are refused" {
	serve
	awf-run --allow-tools add,sum -c "$STEP"
	same "$(offered)" '["add"]'
	same "$(became)" '["rub",null] ["sum",null]
[null,"blocked","the run does not allow the tool '"'rub'"'"] [null,"blocked","the tool '"'sum'"' is not allowed"]'
	same "$(payloads run.started '.env | [.AWF_ALLOW_TOOLS, .AWF_TOOLS_POLICY]')" '["add,sum",null]'
	# What the agent's own policy lets run is within the run's list.
	agent writer 'tools: [add]
tools_policy: warn'
	awf-run --allow-tools add,sum -c "$STEP"
	same "$(became)" '["rub",null] ["sum","the agent'"'"'s list of tools does not allow it"]
[null,"blocked","the run does not allow the tool '"'rub'"'"] ["summed",null,null]'
}

@test "with the policy warn calls to others are run, with a warning" {
	serve
	awf-run --allow-tools add --tools-policy warn -c "$STEP"
	same "$(offered)" '["add","rub"]'
	same "$(became)" '["rub","the run'"'"'s list of tools does not allow it"] ["sum","the run'"'"'s list of tools does not allow it"]
["rubbed",null,null] ["summed",null,null]'
	# A default for agents that say nothing.
	awf-run --tools-policy warn -c "$STEP"
	same "$(became)" '["rub",null] ["sum","the agent'"'"'s list of tools does not allow it"]
["rubbed",null,null] ["summed",null,null]'
	agent writer 'tools: [add, rub]
tools_policy: block'
	awf-run --tools-policy warn -c "$STEP"
	same "$(payloads tool.result .error.code | paste -sd' ')" 'null "blocked"'
}

@test "the policy block holds for all agents; awf-step --tools-policy stands for the file's" {
	serve
	agent writer 'tools: [add, rub]
tools_policy: warn'
	awf-run --tools-policy block -c "$STEP"
	same "$(payloads tool.result .error.code | paste -sd' ')" 'null "blocked"'
	awf-run --tools-policy block -c "${STEP/-q/-q --tools-policy warn}"
	same "$(payloads tool.result .error.code | paste -sd' ')" 'null "blocked"'
	awf-run -c "${STEP/-q/-q --tools-policy block}"
	same "$(payloads tool.result .error.code | paste -sd' ')" 'null "blocked"'
	agent writer 'tools: [add, rub]'
	awf-run -c "${STEP/-q/-q --tools-policy warn}"
	same "$(payloads tool.result .error.code | paste -sd' ')" 'null null'
	echo question | awf-step -q --tools-policy warn -a writer ask
	same "$(payloads tool.result .error.code | paste -sd' ')" 'null null'
}

@test "awf-step --allow-tools is cut to the list; -t and stop tools are refused before anything is read" {
	serve
	awf-run --allow-tools sum,add -c 'echo question | awf-step -q --allow-tools rub,sum -a writer ask'
	same "$(offered)" '["sum"]'
	run -2 --separate-stderr awf-run --allow-tools add -c 'exec awf-step -t sum total'
	same "${stderr_lines[0]}" "awf-step: -t: the run does not allow the tool 'sum' (awf-run --allow-tools)"
	same "$(awf-run --allow-tools sum -n -c 'echo {} | awf-step -i json -r -t sum total')" summed
	awf-run --allow-tools add --tools-policy warn -c 'echo {} | awf-step -i json -q -t sum total'
	same "$(payloads tool.call .warning)" '"the run'"'"'s list of tools does not allow it"'
	agent writer 'stop_when: {tool: sum}'
	run -2 --separate-stderr awf-run --allow-tools add -c "$STEP"
	same "${stderr_lines[0]}" "awf-step: agents/writer.md: stop_when: the run does not allow the tool 'sum' (awf-run --allow-tools)"
	# One without a file is AWF's, and so are transfers.
	agent writer 'stop_when: {tool: finish}
handoffs: [other]'
	agent other 'tools: [add, rub]'
	says "$(use t1 finish '{"n":1}')"
	kill "$MODEL_SERVER_PID"
	serve
	same "$(awf-run --allow-tools add -c 'echo question | awf-step -r -a writer ask')" '{"n":1}'
	same "$(offered)" '["transfer_to_other","finish"]'
	says "$(use t1 transfer_to_other '{}')"
	kill "$MODEL_SERVER_PID"
	serve
	awf-run --allow-tools add -c "$STEP"
	same "$(bodies | tail -n 1 | jq -c '[.tools[].name]')" '["add"]'
}

@test "a run inside of a run can lower it, and not raise it" {
	# shellcheck disable=SC2016
	show='sh -c '\''echo "$AWF_ALLOW_TOOLS|$AWF_TOOLS_POLICY"'\'
	while IFS='|' read -r outer inner list policy; do
		# shellcheck disable=SC2086
		same "$outer / $inner: $(awf-run $outer -c "awf-run $inner -c $(printf %q "$show")")" \
			"$outer / $inner: $list|$policy"
	done <<-'END'
		--allow-tools=a,b,c||a,b,c|
		--allow-tools=a,b,c|--allow-tools=c,d,a|c,a|
		--allow-tools=a,b|--allow-tools=c||
		--allow-tools=a|--tools-policy=warn|a|
		--allow-tools=a --tools-policy=warn|--tools-policy=block|a|block
		--allow-tools=a --tools-policy=warn|--tools-policy=warn|a|warn
		--tools-policy=block|--tools-policy=warn||block
		--tools-policy=warn|--allow-tools=a|a|warn
		|--allow-tools=a|a|
	END
	same "$(AWF_ALLOW_TOOLS=a awf-run --allow-tools a,b -c "$show")" 'a|'
}

@test "a run that is resumed has what it had, whatever is allowed now" {
	agent writer 'tools: [add, wait, rub]'
	says "$(use t1 wait '{}')" "$(use t2 rub '{}')"
	serve
	printf '#!/bin/sh\n%s\n' 'echo question | awf-step -r -a writer ask' >flow.awf
	chmod +x flow.awf
	die -n --allow-tools add,wait ./flow.awf
	run -0 --separate-stderr env AWF_ALLOW_TOOLS=rub AWF_TOOLS_POLICY=warn awf-run --resume "$(id)"
	same "$output" 'the answer'
	RECORD=$(record)
	same "$(payloads run.started .env.AWF_ALLOW_TOOLS)" '"add,wait"
"add,wait"'
	same "$(payloads tool.result .error.code | paste -sd' ')" 'null "blocked"'
	same "$(sent)" 2
	# A replay, too.
	AWF_ALLOW_TOOLS=rub awf-verify -q --determinism --isolation copy "$(id)"
	# A fork may have another.
	awf-run -n --fork "$(id)" --at ask >out
	same "$(bodies | tail -n 1 | jq -c '[.tools[].name]')" '["add","wait"]'
	awf-run -n --allow-tools rub --fork "$(id)" --at ask >out
	same "$(bodies | tail -n 1 | jq -c '[.tools[].name]')" '["rub"]'
	run -125 --separate-stderr awf-run --resume "$(id)" --allow-tools rub
	same "$stderr" 'awf-run: --resume: not with --allow-tools: the run has its own'
}

@test "what is wrong is said" {
	run -125 --separate-stderr awf-run --allow-tools 'a,b c' -c true
	same "$stderr" "awf-run: --allow-tools: 'b c' is no tool's name (1 to 64 of A-Z a-z 0-9 _ -)"
	run -125 --separate-stderr awf-run --tools-policy stop -c true
	same "$stderr" "awf-run: --tools-policy: 'stop' is neither block nor warn"
	run -125 --separate-stderr env AWF_TOOLS_POLICY=stop awf-run -c true
	same "$stderr" "awf-run: AWF_TOOLS_POLICY: 'stop' is neither block nor warn"
	run -1 --separate-stderr awf-step --tools-policy stop -a writer a
	same "$stderr" "awf-step: --tools-policy: 'stop' is neither block nor warn"
	run -1 --separate-stderr env AWF_TOOLS_POLICY=stop awf-step -n -p x -a writer a
	same "$stderr" "awf-step: AWF_TOOLS_POLICY: 'stop' is neither block nor warn"
	run -1 --separate-stderr awf-step --tools-policy warn a -- true
	same "$stderr" 'awf-step: --tools-policy: only with -a or -m'
	run -125 awf-run --allow-tools ',a' -c true
}
