#!/usr/bin/env bats
# Agents that are resumed: what their tools made, and what becomes of it when the agent goes on or was edited.
# shellcheck shell=bash disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/agent
load ../support/resume
load ../support/scripted

prepare() {
	resume_tools
	scripted_provider
	mkdir agents tools
	printf -- '---\nprovider: scripted\nmodel: m\ntools: [send]\n---\nLead.\n' >agents/boss.md
	printf '#!/bin/sh\necho topic | awf-step -a boss lead -r\n' >boss.awf
	chmod +x boss.awf
}
resume() { run -"$1" --separate-stderr awf-run --resume "$(id)" "${@:2}" </dev/null; }

@test "what one call of a tool has made is no record for another" {
	tool send '"effects":"none"' 'n=$(jq -r .n); [ "$n" != 2 ] || hold
		awf-step -n --effects external post -r -- sh -c "echo $n | ledger post"'
	script "$(called t1 send '{"n":1}')" "$(called t2 send '{"n":2}')" "$(said ok)"
	die ./boss.awf </dev/null
	same "$(entries post)" 1
	resume 0
	same "$(cut -d' ' -f2 post.ledger)" "1
2"
	same "$(payloads tool.result .output "$(record)")" '"done 1"
"done 2"'
	[[ $stderr != *'not come to'* ]]
	# Each is known by the call of the tool that it is made in.
	same "$(jq -r 'select(.type == "step.started" and .payload.name == "post").payload.tool_call' "$(record)" | sort -u | wc -l)" 2
	awf-verify -q "$(id)"
	awf-verify --determinism "$(id)"
}

@test "so it is where the model failed in between, and nothing was killed" {
	tool send '"effects":"read"' 'jq -r .n | awf-step --effects external post -r -- ledger post'
	# The second answer is none.
	script "$(called t1 send '{"n":1}')" '{"type":"text","text":7}'
	run -3 awf-run --id-file run.id ./boss.awf </dev/null
	same "$(cut -d' ' -f2 post.ledger)" 1
	script "$(called t1 send '{"n":1}')" "$(called t2 send '{"n":2}')" "$(said ok)"
	resume 0
	same "$(cut -d' ' -f2 post.ledger)" "1
2"
}

@test "a child run that the first call of run_workflow has made is not gone on with by the second" {
	sed -i 's/\[send\]/[run_workflow]/' agents/boss.md
	printf '#!/bin/sh\nread -r x; [ "$x" != two ] || hold </dev/null; echo "$x" | awf-step --effects external post -r -- ledger post\n' >child.awf
	chmod +x child.awf
	script "$(called t1 run_workflow '{"workflow":"child","goal":"one"}')" \
		"$(called t2 run_workflow '{"workflow":"child","goal":"two"}'),$(called t3 run_workflow '{"workflow":"child","goal":"two"}')" "$(said ok)"
	die ./boss.awf </dev/null
	resume 0
	same "$(cut -d' ' -f2 post.ledger | paste -sd' ')" "one two two"
	same "$(payloads tool.result '.output | select(.) | [.status, .output]' "$(record)" | paste -sd' ')" \
		'["success","done one"] ["success","done two"] ["success","done two"]'
	same "$(payloads tool.result '.output.run_id | select(.)' "$(record)" | sort -u | wc -l)" 3
}

@test "an agent that is another one is not begun anew, nor left out, by what was said of its tool in doubt" {
	tool send '"effects":"external"' 'n=$(jq -r .n); echo "$n" | ledger send >/dev/null; [ "$n" != 2 ] || hold </dev/null'
	script "$(called t1 send '{"n":1}')" "$(called t2 send '{"n":2}')" "$(said ok)"
	die ./boss.awf </dev/null
	sed -i s/Lead/Follow/ agents/boss.md
	resume 75
	[[ $stderr == *'lead:0:0: send {"n":2}, begun '*', may or may not have happened: say --redo lead:0:0 or --skip lead:0:0' ]]
	resume 75 --skip lead:0:0
	[[ $stderr == *"lead:0:0: its definition is another: agent file, prompt, parameters or tools, and it has changed something before, all of which would be made again: "*"--skip lead:0:0"*"--new lead"* ]]
	same "$(cut -d' ' -f2 send.ledger | paste -sd' ')" "1 2"
	# Once it was asked, that is an answer.
	resume 0 --redo lead:0:0
	same "$(cut -d' ' -f2 send.ledger | paste -sd' ')" "1 2 1 2"
}
