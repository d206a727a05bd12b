#!/usr/bin/env bats
# Approval of an agent's tool calls: approve_tools.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	export ASAN_OPTIONS=detect_leaks=0
	mkdir agents tools
	export LEDGER=$PWD/ledger
	tool ship '"effects":"external","input_schema":{"type":"object","required":["to"],"properties":{"to":{"type":"string"}}}' \
		'cat >>"$LEDGER"; echo shipped'
	agent op 'tools: [ship]
approve_tools: [ship]'
	stream tool_use "$(use t1 ship '{"to":"prod"}')" >first
	text done >last
	model_server --loop --answer-for tool_use_id last --answer first
	: >ledger
}

begin() {
	awf-run --wait "${WAIT-30s}" "$@" <in >out 2>err 3>&- &
	BEGUN=$!
}
ended() {
	local status=0
	wait "$BEGUN" || status=$?
	same "$status" "$1" || { cat err; false; }
}
waits() { awf-tail --list --json 2>/dev/null | jq -c '.waits // [] | map(.call)' | head -n 1; }
wait_for() { eventually eval "[ \"\$(waits)\" = '$1' ]"; }
# What the model was told in the last request.
told() { bodies | tail -n 1 | jq -c '.messages[-1].content[]|select(.type=="tool_result")|[.tool_use_id,.is_error,(.content|if type=="array" then .[0].text else . end)]'; }

@test "approved while its process waits: the call is made, and the model reads its result" {
	echo x >in
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	same "$(cat ledger)" ''
	awf-ctl approve work.ship
	ended 0
	same "$(cat out)" 'done'
	same "$(cat ledger)" '{"to":"prod"}'
	same "$(sent)" 2
	same "$(told)" '["t1",null,"shipped"]' || same "$(told)" '["t1",false,"shipped"]'
	same "$(jq -c 'select(.path=="work.ship" and .type=="step.started").payload|[.kind,.input.tool,.input.input,.input.rule,.input.always]' "$(transcript)")" \
		'["approval","ship",{"to":"prod"},"ship",false]'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "denied, with the reason; edited; and an edit that the tool does not take" {
	echo x >in
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	awf-ctl deny --reason 'not on a Friday' work.ship
	ended 0
	same "$(cat ledger)" ''
	same "$(told | jq -c '.[1:]')" "[true,\"denied by $(id -un): not on a Friday\"]"
	awf-verify --determinism --isolation copy

	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	awf-ctl approve -e work.ship <<<'{"tool":"ship","input":{"to":"test"},"rule":"ship","always":false}'
	ended 0
	same "$(cat ledger)" '{"to":"test"}'
	same "$(payloads tool.call .input)" '{"to":"test"}'
	awf-verify --determinism --isolation copy

	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	awf-ctl approve -e work.ship <<<'{"tool":"ship","input":{"to":7}}'
	ended 0
	same "$(wc -l <ledger)" 1
	[[ $(told) == *'the arguments break the schema'* ]]
}

@test "unattended: the call waits, and a resume asks the model nothing twice" {
	echo x >in
	WAIT=0 begin -c 'awf-step -a op work | awf-step -r after -- cat'
	ended 75
	same "$(waits)" '["work:0:0/ship:0:0"]'
	same "$(sent)" 1
	awf-verify -q
	awf-verify --determinism --isolation copy
	WAIT=0 begin --resume @
	ended 75
	same "$(sent)" 1
	awf-ctl approve work.ship
	WAIT=0 begin --resume @
	ended 0
	same "$(cat out)" 'done'
	same "$(sent)" 2
	same "$(cat ledger)" '{"to":"prod"}'
	same "$(payloads tool.call .name | wc -l)" 1
	awf-verify -q
	awf-verify --determinism --isolation copy
	run -0 awf-run --resume @
	same "$(sent)" 2
}

@test "killed while it waits: the same" {
	echo x >in
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	kill -9 "$BEGUN"
	wait "$BEGUN" || true
	eventually eval '[ "$(awf-tail --list --json | jq -r .status)" = waiting ]'
	awf-ctl approve work.ship
	WAIT=0 begin --resume @
	ended 0
	same "$(sent)" 2
	same "$(cat ledger)" '{"to":"prod"}'
}

@test "always: this tool, this rule, this run, and never a fork" {
	stream tool_use "$(use t1 ship '{"to":"a"}')" >first
	stream tool_use "$(use t2 ship '{"to":"b"}')" >second
	model_server --answer first --answer second --answer last
	echo x >in
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	awf-ctl approve -e work.ship <<<'{"tool":"ship","input":{"to":"a"},"rule":"ship","always":true}'
	ended 0
	same "$(cat ledger)" '{"to":"a"}
{"to":"b"}'
	awf-verify --determinism --isolation copy
	model_server --answer second --answer last
	WAIT=0 begin --fork @ --at work
	ended 75
	same "$(waits)" '["work:0:0/ship:0:0"]'
}

@test "several calls of an answer are asked about at the same time, and are made when all are decided" {
	stream tool_use "$(use t1 ship '{"to":"a"}')" "$(use t2 ship '{"to":"b"}')" "$(use t3 ship '{"to":"c"}')" >first
	model_server --loop --answer-for tool_use_id last --answer first
	echo x >in
	begin -c 'awf-step -a op -r work'
	eventually eval '[ "$(waits | jq length)" = 3 ]'
	for call in $(waits | jq -r '.[]'); do
		same "$(cat ledger)" ''
		awf-ctl approve "$call"
	done
	ended 0
	same "$(wc -l <ledger)" 3
	same "$(sent)" 2
	awf-verify --determinism --isolation copy
}

@test "the time in which a person decides is not the agent's" {
	agent op 'tools: [ship]
timeout: 2s
approve_tools: ["sh*"]'
	echo x >in
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	sleep 2.5
	awf-ctl approve work.ship
	ended 0
	same "$(cat ledger)" '{"to":"prod"}'
}

@test "rules on arguments: what needs no question, and what does" {
	tool sh '"effects":"none","input_schema":{"type":"object","required":["command"],"properties":{"command":{"type":"string"}}}' 'cat >/dev/null'
	agent op 'tools: [sh]
approve_tools:
  - tool: sh
    unless: {properties: {command: {pattern: "(ls|git (status|diff))( [A-Za-z0-9./ _-]+)?|cat [^ ]+|wc -l < [a-z]+|make( check)? && ls"}}}'
	local command calls=() index=0 asked=() line
	# ask or allow, and the command
	cat >table <<-'END'
		allow ls
		allow ls -l
		allow ls src/a.c src/b.c
		allow git status
		allow git diff
		ask git diff HEAD~1
		allow git status -s
		allow cat README
		allow cat src/a.c
		allow wc -l < file
		allow make && ls
		allow make check && ls
		ask ls ; rm -rf x
		ask ls; rm -rf x
		ask ls && rm x
		ask ls || rm x
		ask ls | sh
		ask ls & rm x
		ask ls $(rm x)
		ask ls `rm x`
		ask ls > out
		ask ls < in
		ask ls $HOME
		ask ls {a,b}
		ask lsof
		ask git push
		ask git
		ask git statuses
		ask git diffs
		ask  ls
		ask git status; git push
		ask git diff --output=x; true
		ask cat a b
		ask cat a;b
		ask cat $(b)
		ask cat a|b
		ask wc -l < FILE
		ask wc -l < a > b
		ask make clean && ls
		ask make && ls && rm x
		ask sudo ls
		ask rm -rf x
	END
	while IFS= read -r line; do
		calls+=("$(use "t$index" sh "$(jq -cn --arg c "${line#* }" '{command:$c}')")")
		[ "${line%% *}" = allow ] || asked+=("${line#* }")
		index=$((index + 1))
	done <table
	[ "$index" -ge 40 ]
	calls+=("$(use nl sh '{"command":"ls\nrm x"}')" "$(use nul sh '{"command":"ls\u0000"}')")
	stream tool_use "${calls[@]}" >first
	model_server --loop --answer-for tool_use_id last --answer first
	echo x >in
	WAIT=0 begin -c 'awf-step -a op -r work'
	ended 75
	same "$(jq -r 'select(.type=="step.started" and .path=="work.sh").payload.input.input.command|select(test("\n|\u0000")|not)' "$(transcript)" | sort)" \
		"$(printf '%s\n' "${asked[@]}" | sort)"
	same "$(waits | jq length)" $((${#asked[@]} + 2))
}

@test "tools of MCP servers by a pattern; wrong rules are refused" {
	for wrong in '7' '{tool: x, when: y}' '{unless: {}}' '[""]' '{tool: x, unless: {propertys: {}}}' '{tool: x, unless: {pattern: "("}}'; do
		agent op "tools: [ship]
approve_tools: $wrong"
		run -2 --separate-stderr awf-step -a op work <<<x
		[[ $stderr == *approve_tools* ]]
	done
}

@test "a masked run, in which nobody can decide: the call is refused" {
	echo x >in
	run -0 awf-run --mask cat -c 'awf-step -a op -r work <in'
	same "$(cat ledger)" ''
	[[ $(told) == *'nobody can decide later about a run that is masked'* ]]
}
