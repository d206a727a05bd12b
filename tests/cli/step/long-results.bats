#!/usr/bin/env bats
# Results of tools that are too long for a model.
# shellcheck shell=bash disable=SC2154,SC2016 # bats sets stderr; the shell of a tool reads dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/resume

prepare() {
	# A leak sanitizer traces its process, which a sandbox does not allow.
	export ASAN_OPTIONS=detect_leaks=0
	mkdir agents tools
	tool long '"input_schema":{"type":"object"},"effects":"none"' 'seq 1 100000; head -c 5000 /dev/zero | tr "\0" x; echo; echo end'
	tool short '"input_schema":{"type":"object"},"effects":"none","max_result":10' 'printf "äöüäöüäöü\n"'
	tool fails '"input_schema":{"type":"object"},"effects":"none","max_result":20' 'echo one two three four five; echo six >&2; exit 1'
	agent worker 'tools: [long, short, fails, read]'
}

# What the model was given as the result of a call in the last request.
result() { bodies | tail -n 1 | jq -r --arg id "$1" '.messages[].content[]? | select(.tool_use_id? == $id).content'; }

# bats test_tags=turn:4
@test "the model is given the beginning, and gets the rest by read" {
	stream tool_use "$(use t1 long '{}')" "$(use t2 short '{}')" "$(use t3 fails '{}')" >first
	text fine >last
	model_server --answer first --answer last
	same "$(awf-step -a worker -r step <<<go)" fine
	result t1 >long
	same "$(head -c 200000 long | sha256sum)" "$( (seq 1 100000) | head -c 200000 | sha256sum)"
	name=$(grep -o 'awf-result-[0-9a-f]*' long)
	offset=$(sed -n 's/.*offset \([0-9]*\)\]$/\1/p' long)
	[[ $(tail -n 1 long) == "[These are the first 200000 of 593899 bytes. The tool read, if you have it, shows the rest: file_path \"$name\", offset $offset]" ]]
	same "$(result t2)" "äöüäö
[These are the first 10 of 18 bytes. The tool read, if you have it, shows the rest: file_path \"$(result t2 | grep -o 'awf-result-[0-9a-f]*')\", offset 1]"
	[[ $(result t3) == 'exit status 1'*'[These are the first 20 of '* ]]
	# The whole is in the record.
	awf-verify -q
	same "$(payloads tool.result .max_result)" '200000
10
20'
	kill "$MODEL_SERVER_PID"
	# Its name tells which call it is of, so nobody knows it before.
	stream tool_use "$(use other long '{}')" >first
	model_server --answer first --answer last
	same "$(awf-step -a worker -r step <<<go)" fine
	[[ $(result other) != *"$name"* ]]
	[[ $(result other) == *awf-result-* ]]
	kill "$MODEL_SERVER_PID"
	# The sandboxed tool finds it in this run.
	stream tool_use "$(use t1 long '{}')" >first
	stream tool_use "$(use t2 read '{"file_path":"'"$name"'","offset":'"$offset"',"limit":1}')" "$(use t3 read '{"file_path":"'"$name"'","offset":100001}')" >second
	model_server --answer first --answer second --answer last
	same "$(awf-step -a worker -r step <<<go)" fine
	same "$(result t2 | head -n 1)" "$(printf '%6d\t%d' "$offset" "$offset")"
	same "$(result t3 | awk '{ print length($2) }' | paste -sd' ')" '1900 1900 1200 3'
	# A file of the name in the workspace, which a sandboxed tool can make, is none of its lines.
	kill "$MODEL_SERVER_PID"
	seq 1 100000 | sed 's/$/ all is well/' >"$name"
	model_server --answer first --answer second --answer last
	same "$(awf-step -a worker -r step <<<go)" fine
	same "$(result t2 | head -n 1)" "$(printf '%6d\t%d' "$offset" "$offset")"
	# Not in another.
	kill "$MODEL_SERVER_PID"
	stream tool_use "$(use t2 read '{"file_path":"'"$name"'"}')" >first
	model_server --answer first --answer last
	same "$(awf-step -a worker -r step <<<go)" fine
	[[ $(result t2) == *'No such file'* ]]
}

# bats test_tags=turn:2
@test "replays, resumes and conversations that go on give the model the same" {
	stream tool_use "$(use t1 long '{}')" >first
	text fine >last
	printf -- '---\nprovider: anthropic\nmodel: test\ncontinue_from: one\n---\n' >agents/two.md
	model_server --answer first --answer last --answer last
	awf-run -c 'awf-step -a worker one | awf-step -a two -p "go on" two' <<<x >/dev/null
	result t1 | tail -n 1 | grep -q 'These are the first 200000 of'
	same "$(bodies | sed -n 2p | jq -c '.messages[2].content[0].content' | sha256sum)" \
		"$(bodies | sed -n 3p | jq -c '.messages[2].content[0].content' | sha256sum)"
	awf-replay -q @
	awf-verify -q
}

# bats test_tags=turn:2
@test "nothing unmasked is kept for read" {
	tool long '"input_schema":{"type":"object"},"effects":"none"' 'yes s3cr3t | head -n 60000'
	stream tool_use "$(use t1 long '{}')" >first
	text fine >last
	model_server --answer first --answer last
	awf-run --mask 'sed -u s/s3cr3t/xxxxxx/g' -c 'awf-step -a worker one' <<<x >/dev/null
	result t1 | grep -q s3cr3t
	run ! grep -rq s3cr3t "$AWF_STORAGE"
}
