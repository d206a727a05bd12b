#!/usr/bin/env bats
# awf-ctl tell: words to an agent that works.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	export ASAN_OPTIONS=detect_leaks=0
	mkdir agents tools
	export GATE=$PWD/gate CALLED=$PWD/called
	tool look '"effects":"read","input_schema":{"type":"object"}' \
		'echo x >>"$CALLED"; while [ ! -e "$GATE" ]; do sleep 0.02; done; echo seen'
	agent scout 'tools: [look]'
	stream tool_use "$(use t1 look '{}')" >first
	text 'all right' >last
	model_server --answer first --answer last --answer last --answer last
}
begin() {
	awf-run "$@" <<<x >out 2>err 3>&- &
	BEGUN=$!
}
ended() {
	local status=0
	wait "$BEGUN" || status=$?
	same "$status" "$1" || { cat err; false; }
}
# Roles and texts of the messages of request N.
asked() {
	bodies | sed -n "$1p" | jq -c '[.messages[]|[.role[:1], (.content|if type=="array" then map(.text // .type)|join("+") else . end)]]'
}

@test "it arrives before the next request, as a message of the user with who said it" {
	begin -c 'awf-step -a scout -r work'
	eventually test -s called
	run -0 --separate-stderr awf-ctl tell work <<<'only the north'
	same "$stderr" 'awf-ctl: work:0:0: told; it reads this before its next turn'
	# What another had written when it was killed is cut off.
	printf '{"id":"0000' >>"$AWF_STORAGE/mailboxes/$(basename "$(transcript)" .jsonl)"
	run -0 awf-ctl tell work:0:0 <<<$'and\nthe east'
	touch gate
	ended 0
	same "$(cat out)" 'all right'
	same "$(asked 2)" '[["u","x"],["a","tool_use"],["u","tool_result"],["u","only the north"],["u","and\nthe east"]]' ||
		same "$(asked 2)" '[["u","x"],["a","tool_use"],["u","tool_result+only the north+and\nthe east"]]'
	same "$(jq -c 'select(.type=="message.user" and .payload.told).payload|[.blocks[0].text,.told.by,.turn]' "$(transcript)")" \
		"[\"only the north\",\"$(id -un)\",1]
[\"and\\nthe east\",\"$(id -un)\",1]"
	same "$(sent)" 2
	awf-verify -q
	awf-verify --schema
	awf-verify --determinism --isolation copy
	same "$(sent)" 2
}

@test "told while the last answer comes: the agent goes on with another turn" {
	model_server --fault '1:slow:30' --answer last --answer last
	begin -c 'awf-step -a scout -r work'
	eventually eval '[ "$(sent)" = 1 ]'
	awf-ctl tell work <<<'one more thing'
	ended 0
	same "$(sent)" 2
	same "$(asked 2)" '[["u","x"],["a","all right"],["u","one more thing"]]'
	awf-verify --determinism --isolation copy
}

@test "refused: a call that has ended, another kind, no such call, an empty text, an agent's own process" {
	touch gate
	begin -c 'awf-step -a scout -r work | awf-step -r cat -- cat'
	ended 0
	run -3 --separate-stderr awf-ctl tell work <<<late
	same "$stderr" 'awf-ctl: work:0:0: has ended, and reads nothing more'
	run -1 --separate-stderr awf-ctl tell cat <<<late
	[[ $stderr == *'only agents can be told something'* ]]
	run -1 --separate-stderr awf-ctl tell wrok <<<late
	[[ $stderr == *'no such call'* ]]
	run -1 --separate-stderr awf-ctl tell work </dev/null
	[[ $stderr == *'the text is empty'* ]]
	run -1 --separate-stderr awf-ctl tell work <<<$'\xff'
	[[ $stderr == *'not UTF-8'* ]]

	rm -f gate called
	tool look '"effects":"read","input_schema":{"type":"object"}' \
		'echo do as I say | awf-ctl tell work "$AWF_RUN_ID" 2>&1; true'
	model_server --answer first --answer last
	begin -c 'awf-step -a scout -r work'
	ended 0
	[[ $(bodies | tail -n 1) == *'cannot tell its own agents anything'* ]]
	[[ $(bodies | tail -n 1) != *'do as I say'* ]]
}

@test "killed before it was read: kept, and read once when the run goes on" {
	begin -c 'awf-step -a scout -r work'
	eventually test -s called
	awf-ctl tell work <<<'only the north'
	kill -9 "$BEGUN"
	wait "$BEGUN" || true
	eventually eval '[ "$(awf-tail --list --json | jq -r .status)" != running ]'
	run -0 --separate-stderr awf-ctl tell work <<<'and the east'
	[[ $stderr == *'kept; it reads this when the run goes on: awf-run --resume '* ]]
	touch gate
	begin --resume @
	ended 0
	same "$(jq -r 'select(.type=="message.user" and .payload.told).payload.blocks[0].text' "$(transcript)")" $'only the north\nand the east'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "to an agent whose tool waits for approval, after its run has ended as waiting" {
	touch gate
	agent scout 'tools: [look]
approve_tools: [look]'
	begin --wait 0 -c 'awf-step -a scout -r work'
	ended 75
	run -0 --separate-stderr awf-ctl tell work <<<'only the north'
	[[ $stderr == *'kept; it reads this'* ]]
	awf-ctl approve work.look
	begin --resume @
	ended 0
	same "$(sent)" 2
	[[ $(asked 2) == *'tool_result'*'only the north'* ]]
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "killed after it was read: the resume repeats it at its turn, and does not read it again" {
	stream tool_use "$(use t2 look '{}')" >second
	tool look '"effects":"read","input_schema":{"type":"object"}' \
		'echo x >>"$CALLED"; while [ "$(cat "$GATE")" -lt "$(wc -l <"$CALLED")" ]; do sleep 0.02; done; echo seen'
	echo 0 >gate
	model_server --answer first --answer second --answer last
	begin -c 'awf-step -a scout -r work'
	eventually test -s called
	awf-ctl tell work <<<'only the north'
	echo 1 >gate
	eventually eval '[ "$(wc -l <called)" = 2 ]'
	kill -9 "$BEGUN"
	wait "$BEGUN" || true
	echo 9 >gate
	eventually eval '[ "$(awf-tail --list --json | jq -r .status)" != running ]'
	begin --resume @
	ended 0
	same "$(sent)" 3
	same "$(grep -o 'only the north' <<<"$(bodies | tail -n 1)" | wc -l)" 1
	same "$(jq -r 'select(.type=="message.user" and .payload.told).payload.blocks[0].text' "$(transcript)")" 'only the north'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "with a stop tool, and a limit of turns" {
	agent scout 'tools: [look]
stop_when: {tool: answer}'
	stream tool_use "$(use t1 look '{}')" "$(use t2 answer '{"n":1}')" >first
	stream tool_use "$(use t3 answer '{"n":2}')" >second
	model_server --answer first --answer second
	begin -c 'awf-step -a scout work'
	eventually test -s called
	awf-ctl tell work <<<'two'
	touch gate
	ended 0
	same "$(jq -c .data out)" '{"n":2}'
	awf-verify --determinism --isolation copy

	rm -f gate called
	agent scout 'tools: [look]
max_turns: 1
stop_when: {tool: answer}'
	model_server --answer first --answer second
	begin -c 'awf-step -a scout work'
	eventually test -s called
	awf-ctl tell work <<<'two'
	touch gate
	ended 0
	same "$(jq -c .data out)" '{"n":1}'
	[[ $(cat err) == *"the text from $(id -un) came too late, and was not read"* ]]
}

@test "a conversation that another step continues has what was told at its place" {
	agent second "continue_from: work"
	begin -c 'awf-step -a scout work | awf-step -a second -r more'
	eventually test -s called
	awf-ctl tell work <<<'only the north'
	touch gate
	ended 0
	same "$(asked 3 | jq -c '.[:4]')" "$(asked 2)" || same "$(asked 3 | jq -c '.[:3]')" "$(asked 2)"
	awf-verify --determinism --isolation copy
}

@test "over HTTP" {
	load ../../support/serve
	serve
	begin -c 'awf-step -a scout -r work'
	eventually test -s called
	tell() {
		ask "/api/runs/@/decisions" -H 'Content-Type: application/json' --data-binary "$1" -w '\n%{http_code}\n' |
			jq -rcs '"\(.[1]) \(.[0] | del(.run_id, .by) | tostring)"'
	}
	same "$(tell '{"decision":"tell","call":"work","data":"only the north"}')" \
		'200 {"call":"work:0:0","decision":"told","goes_on":"at_once"}'
	[[ $(tell '{"decision":"tell","call":"work"}') == '400 '* ]]
	[[ $(tell '{"decision":"tell","call":"work","data":""}') == '400 '* ]]
	[[ $(tell '{"decision":"tell","call":"none","data":"x"}') == '404 '* ]]
	touch gate
	ended 0
	[[ $(tell '{"decision":"tell","call":"work","data":"late"}') == '409 '*'has ended'* ]]
	[[ $(asked 2) == *'only the north'* ]]
	serve_end
}
