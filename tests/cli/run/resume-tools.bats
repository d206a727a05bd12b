#!/usr/bin/env bats
# Agents that are resumed: what their tools made, and what becomes of it when the agent goes on or was edited.
# shellcheck shell=bash disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/resume
load ../../support/scripted

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

@test "what a tool has made whose result is known is not made again: --redo says so" {
	tool send '"effects":"read"' 'awf-step -n --when "test -e open" post -r -- sh -c "echo done >>post.ledger"; echo sent'
	# The second answer is none.
	script "$(called t1 send '{"n":1}')" '{"type":"text","text":7}'
	run -3 awf-run --id-file run.id ./boss.awf </dev/null
	: >open
	resume 125 --redo lead.post
	same "$stderr" 'awf-run: --redo: lead:0:0/post:0:0 cannot be made again: it was made by a tool of lead:0:0, whose result is used'
	same "$(entries post)" 0
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
	[[ $stderr == *'lead:0:0/send#2: send {"n":2}, begun '*', may or may not have happened: say --redo lead:0:0/send#2 or --skip lead:0:0/send#2' ]]
	resume 75 --skip lead:0:0
	[[ $stderr == *"lead:0:0: its definition is another: agent file, prompt, parameters or tools, and it has changed something before, all of which would be made again: "*"--skip lead:0:0"*"--new lead"* ]]
	same "$(cut -d' ' -f2 send.ledger | paste -sd' ')" "1 2"
	# Once it was asked, that is an answer.
	resume 0 --redo lead:0:0
	same "$(cut -d' ' -f2 send.ledger | paste -sd' ')" "1 2 1 2"
}

# Two calls of a tool in one answer, both in doubt: the first has happened, the second has not.
two_in_doubt() {
	tool send '"effects":"external","concurrent":true' 'case $(jq -r .n) in
		1) [ ! -e again ] || hold </dev/null
			echo 1 | ledger send >/dev/null
			while [ -e held ] && [ ! -e two ]; do sleep 0.02; done
			hold </dev/null ;;
		2) : >two
			while [ -e held ]; do sleep 0.02; done
			echo 2 | ledger send >/dev/null ;;
		3) echo 3 | ledger send >/dev/null ;;
		esac'
	script "$(called t1 send '{"n":1}'),$(called t2 send '{"n":2}')" "$(called t3 send '{"n":3}')" "$(said ok)"
	die ./boss.awf </dev/null
	same "$(cut -d' ' -f2 send.ledger)" 1
}

@test "each of several tool calls in doubt is answered for itself" {
	two_in_doubt
	resume 75
	same "$(sed 's/, begun.*hap/ hap/; s/awf-run: //' <<<"$stderr")" \
		'lead:0:0/send#1: send {"n":1} happened: say --redo lead:0:0/send#1 or --skip lead:0:0/send#1
lead:0:0/send#2: send {"n":2} happened: say --redo lead:0:0/send#2 or --skip lead:0:0/send#2'
	# What is left is asked about, and nothing has run.
	resume 75 --skip lead:0:0/send#1
	[[ $stderr == *'lead:0:0/send#2: '* && $stderr != *'send#1'* ]]
	same "$(cut -d' ' -f2 send.ledger)" 1
	resume 0 --skip lead:0:0/send#1 --redo lead:0:0/send#2
	same "$(cut -d' ' -f2 send.ledger | paste -sd' ')" "1 2 3"
	same "$(payloads tool.result '.error.code' "$(record)" | paste -sd' ')" '"interrupted" null null'
	awf-verify -q "$(id)"
	awf-verify --determinism "$(id)"
}

@test "a tool call's own answer comes before that of the call it is in" {
	two_in_doubt
	resume 0 --skip lead:0:0 --redo lead:0:0/send#2
	same "$(cut -d' ' -f2 send.ledger | paste -sd' ')" "1 2 3"
}

@test "a tool call keeps its number where it is made again, and in doubt again" {
	two_in_doubt
	: >again
	die_again --redo lead:0:0
	resume 75
	[[ $stderr == *'send#1: send {"n":1}'*'send#2: send {"n":2}'* ]]
	resume 0 --redo lead:0:0/send#2 --redo lead:0:0/send#1
	same "$(cut -d' ' -f2 send.ledger | sort | paste -sd' ')" "1 1 2 3"
}

@test "a tool call that is not in doubt is no answer, and none is answered twice" {
	two_in_doubt
	resume 125 --redo lead:0:0/send#3 --skip lead:0:0
	same "$stderr" "awf-run: --redo: 'lead:0:0/send#3' is no call of a tool that is in doubt: say which call, lead:0:0/send#1 or lead:0:0/send#2"
	resume 125 --redo lead:0:0/send#1 --skip lead:0:0/send#1
	same "$stderr" "awf-run: --skip: lead:0:0/send#1 is named by --redo too"
	resume 125 --redo lad:0:0/send#1
	[[ $stderr == *"no recorded call is, or is of, 'lad:0:0' (did you mean 'lead:0:0'?)" ]]
	same "$(cut -d' ' -f2 send.ledger)" 1
	resume 0 --redo lead:0:0
	same "$(cut -d' ' -f2 send.ledger | sort | paste -sd' ')" "1 1 2 3"
}

@test "an agent with a tool that reads is not asked again because of a variable that is new, but asked about" {
	mkdir -p agents tools
	agent boss 'tools: [look]'
	tool look '"effects":"read"' 'echo found'
	stream tool_use "$(use t1 look '{}')" >asks
	text done >answer
	model_server --answer asks --answer answer
	printf '%s\n' 'export STARTED=$(date +%s%N)' 'awf-step -n -q -a boss -p topic lead' 'awf-step -n -q gate -- test -e open' >flow.awf
	run -3 awf-run -n --id-file id flow.awf
	same "$(bodies | grep -c .)" 2
	: >open
	run -75 --separate-stderr awf-run --resume "$(<id)"
	[[ $stderr == *'lead:0:0: STARTED has another value (--ignore-env STARTED if no call depends on it), and it has been paid for before'* ]]
	cp -r "${AWF_STORAGE:-$HOME/.local/share/awf}" kept
	run -0 awf-run --resume "$(<id)" --ignore-env STARTED
	same "$(bodies | grep -c .)" 2
	# The answers that are printed, too.
	export AWF_STORAGE=$PWD/kept
	run -0 awf-run --resume "$(<id)" --skip lead:0:0
	same "$(bodies | grep -c .)" 2
}
