#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-mcp: runs whose processes wait for an approval, decided by the client's user or elsewhere.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	export ASAN_OPTIONS=detect_leaks=0
	mkdir flows agents tools
	: >ledger
	export LEDGER=$PWD/ledger
	# A model writes, a person approves, an effect outside takes it.
	flow asks '' 'awf-step -m anthropic/test -p "Write about {{data}}" write | awf-step --approve check |' \
		'	awf-step -r use --effects external -- ./effect'
	printf '#!/bin/sh\nexec tee -a "$LEDGER"\n' >effect
	chmod +x effect
	text 'a draft' >draft
	model_server --loop --answer draft
}
# What a test leaves waiting ends with it.
cleanup() {
	local run
	for run in $(awf-tail --list --json --status running 2>/dev/null | jq -r .run_id); do
		awf-ctl cancel "$run" 2>/dev/null || true
	done
}
# flow NAME OPTIONS LINE...
flow() {
	local name=$1 options=$2
	shift 2
	printf '%s\n' "#!/usr/bin/env -S awf-run $options --" "$@" >"flows/$name.awf"
	chmod +x "flows/$name.awf"
}
START='TOOL:start_workflow {"workflow":"asks","input":"cake"}'
# SAYINGS: what the client's user says; asks what stands on stdin, and prints questions and states.
says() {
	MCP_ELICITS=$1 python3 -S "$ROOT/tests/support/mcp-client.py" awf-mcp -w flows |
		jq -rc 'if .asked then .asked else .ok // .failed | [.status, .isComplete, .output // .error.message // .error] end'
}
decided() { jq -c 'select(.payload.approval.decision).payload.approval | [.decision, .by]' "$AWF_STORAGE/latest" | sort -u; }
attempts() { jq -c 'select(.type == "run.started")' "$AWF_STORAGE/latest" | wc -l; }

@test "the client's user approves, edits or denies while the process waits: the run goes on by itself" {
	local modern said sent=0
	for modern in '' 1; do
		if [ -n "$modern" ]; then export MCP_MODERN=1; fi
		while IFS='|' read -r said state taken decision; do
			: >ledger
			says "[$said]" <<<"$START" >out
			same "$(tail -n 1 out)" "$state"
			same "$(head -n 3 out)" 'asks.awf: check:0:0 waits for your approval of:

a draft'
			same "$(cat ledger)" "$taken"
			same "$(decided)" "[\"$decision\",\"tester\"]"
			same "$(attempts)" 1
			sent=$((sent + 1))
			same "$(sent)" "$sent"
			awf-verify -q
			awf-verify --determinism --isolation copy
		done <<-'END'
			{"action":"accept","content":{"approve":true,"edited":""}}|["success",true,"a draft\n"]|a draft|approved
			{"action":"accept","content":{"approve":true,"edited":"a better one"}}|["success",true,"a better one"]|a better one|edited
			{"action":"accept","content":{"approve":false}}|["failed",true,""]||denied
		END
	done
}

@test "with --wait 0 in the file the run ends, and is resumed after the decision: no model, no effect twice" {
	sed -i '1s/awf-run/awf-run --wait 0/' flows/asks.awf
	says '[{"action":"accept","content":{"approve":true,"edited":"mine"}}]' <<<"$START" >out
	same "$(tail -n 1 out)" '["success",true,"mine"]'
	same "$(cat ledger)" mine
	same "$(sent)" 1
	same "$(attempts)" 2
	awf-verify -q
}

@test "of an agent's tool call the arguments are edited; nothing else is taken for them" {
	tool ship '"effects":"external","input_schema":{"type":"object","required":["to"],"properties":{"to":{"type":"string"}}}' \
		'cat >>"$LEDGER"; echo shipped'
	agent op 'tools: [ship]
approve_tools: [ship]'
	stream tool_use "$(use t1 ship '{"to":"prod"}')" >first
	text done >last
	flow ships '' 'awf-step -n draft -- echo x | awf-step -a op -r work'
	ships() { says "$1" <<<'TOOL:start_workflow {"workflow":"ships"}' >out; }
	model_server --loop --answer-for tool_use_id last --answer first
	ships '[{"action":"accept","content":{"approve":true,"edited":"{\"to\":\"test\"}"}}]'
	same "$(tail -n 1 out)" '["success",true,"done\n"]'
	same "$(cat ledger)" '{"to":"test"}'
	same "$(sent)" 2
	same "$(attempts)" 1
	awf-verify --determinism --isolation copy
	ships '[{"action":"accept","content":{"approve":false,"reason":"not today"}}]'
	same "$(tail -n 1 out)" '["success",true,"done\n"]'
	same "$(cat ledger)" '{"to":"test"}'
	[[ $(bodies | tail -n 1) == *'denied by tester: not today'* ]]
	for edited in '"{"' '7' '"{} {}"'; do
		ships "[{\"action\":\"accept\",\"content\":{\"approve\":true,\"edited\":$edited}}]"
		[[ $(tail -n 1 out) == *'edited: is to be '* ]]
		same "$(decided)" ''
	done
	ships '[{"action":"accept","content":{"approve":false,"edited":"{}"}}]'
	[[ $(tail -n 1 out) == *'edited: is for what is approved'* ]]
	same "$(cat ledger)" '{"to":"test"}'
}

@test "a client that cannot ask is told what waits, and the run goes on with a decision from elsewhere" {
	mkfifo lines
	python3 -S "$ROOT/tests/support/mcp-client.py" awf-mcp -w flows <lines 3>&- |
		jq --unbuffered -c '.ok | [.status, .isComplete, .waitsFor, .output]' >out 3>&- &
	exec 9>lines
	echo "$START" >&9
	eventually [ -s out ]
	same "$(jq -c '[.[:2], .[2][0].call, .[2][0].asks, .[3]]' out)" '[["waiting",false],"check:0:0","approval",null]'
	same "$(awf-tail --list --json | jq -r .status)" running
	awf-ctl approve check </dev/null
	# By itself: nobody has asked awf-mcp for anything.
	eventually eval '[ "$(awf-tail --list --json | jq -r .status)" = success ]'
	same "$(cat ledger)" 'a draft'
	echo 'TOOL:wait_workflow {"run":"$RUN"}' >&9
	exec 9>&-
	wait $!
	same "$(tail -n 1 out)" '["success",true,null,"a draft\n"]'
	same "$(attempts)" 1
	same "$(sent)" 1
}

@test "what waits in a child run, and the next one of two approvals, are told too" {
	cat >inner.awf <<-'END'
		awf-step -n draft -- echo inner | awf-step --approve check -r
	END
	flow outer '' 'awf-run -n ./inner.awf | awf-step --approve again -r'
	mkfifo lines
	python3 -S "$ROOT/tests/support/mcp-client.py" awf-mcp -w flows <lines 3>&- |
		jq --unbuffered -c '.ok | [.status, (.waitsFor // [] | map([.call, has("run")])), .output]' >out 3>&- &
	exec 9>lines
	echo 'TOOL:start_workflow {"workflow":"outer"}' >&9
	eventually [ -s out ]
	same "$(cat out)" '["waiting",[["check:0:0",true]],null]'
	awf-ctl approve check "$(awf-tail --list --json --children | jq -r 'select(.child).run_id')" </dev/null
	eventually eval '[ "$(awf-tail --list --json --status waiting | jq -r ".waits[0].call")" = again:0:0 ]'
	echo 'TOOL:wait_workflow {"run":"$RUN"}' >&9
	eventually eval '[ "$(wc -l <out)" = 2 ]'
	same "$(tail -n 1 out)" '["waiting",[["again:0:0",false]],null]'
	awf-ctl approve again </dev/null
	echo 'TOOL:wait_workflow {"run":"$RUN"}' >&9
	exec 9>&-
	wait $!
	same "$(tail -n 1 out)" '["success",[],"inner\n"]'
}
