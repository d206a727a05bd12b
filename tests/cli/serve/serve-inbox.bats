#!/usr/bin/env bats
# bats file_tags=ci
# The inbox of awf-serve's page, in Chromium (tests/support/page.bash says what that needs).
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/writing
load ../../support/serve
load ../../support/page

prepare() { page_prepare; }
drive() { PAGE=views page_drive "$@"; }
asks() { awf-run --name "$1" -c 'awf-step --approve ok | awf-step go -r -- cat' <<<"$2" || [ $? = 75 ]; }

@test "twenty decisions by keys, in under a minute, each of which went through" {
	local i pids=
	: >ledger
	for i in $(seq 20); do
		awf-run --wait 5m --name "r$i" -c "echo r$i | awf-step --approve ok | awf-step --effects external go -q -- tee -a ledger" 3>&- &
		pids+=" $!"
		eventually eval "awf-tail --list --json | jq -e 'select(.name == \"r$i\").waits | length == 1' >/dev/null"
	done
	serve
	drive twenty 20 >&3
	# shellcheck disable=SC2086 # numbers
	wait $pids
	same "$(sort -V ledger)" "$(seq -f 'r%g' 20)"
}

@test "keys alone: next, edit, deny with a reason, always, results, questions; what others decide, and what comes" {
	mkdir -p agents tools
	export ASAN_OPTIONS=detect_leaks=0
	for name in one two three; do asks "$name" cake; done
	tool ship '"effects":"external","input_schema":{"type":"object"}' "cat >>'$PWD/ledger'; echo shipped"
	agent op 'tools: [ship]
approve_tools: [ship]'
	stream tool_use "$(use t1 ship '{"command":"cat \u200bx"}')" >first
	stream tool_use "$(use t2 ship '{"command":"make"}')" >second
	text done >last
	model_server --answer first --answer second --answer last
	awf-run --wait 300s --name tool -c 'echo x | awf-step -a op -r work' >out 3>&- &
	worker=$!
	eventually eval 'awf-tail --list --json | jq -e "select(.name == \"tool\").waits" >/dev/null'
	awf-run -n --name job -c 'awf-step -n --pending -r job -- sh -c "exit 75"' || [ $? = 75 ]
	awf-run --name asks -c 'echo x | awf-step --ask "Is {{data}} right?" --ask-grace 300 -r q' >answered 3>&- &
	asker=$!
	eventually eval 'awf-tail --list --json | jq -e "select(.name == \"asks\" and .status == \"running\")" >/dev/null'
	serve
	drive keys
	wait "$worker" "$asker"
	same "$(cat out)" 'done'
	same "$(jq -r .command ledger | paste -sd,)" "$(printf 'cat \342\200\213x,make')"
	same "$(cat answered)" yes
	same "$(awf-run --resume @two)" 'tea
a'
	run -3 --separate-stderr awf-run --resume @three
	[[ $stderr == *'not now'* ]]
	same "$(awf-run --resume @job)" 'done by hand'
}

@test "the network is lost and comes back" {
	asks one cake
	asks two cake
	serve --host localhost
	drive lost
	same "$(awf-run --resume @one)" tea
}

@test "who may only read sees what waits" {
	asks one cake
	serve
	drive reader "$(awf-serve --new-token read)"
}
