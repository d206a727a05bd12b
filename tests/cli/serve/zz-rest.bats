#!/usr/bin/env bats
# The page of awf-serve, in Chromium (tests/support/page.bash says what that needs).
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/writing
load ../../support/serve
load ../../support/page

prepare() { page_prepare; }
drive() { page_drive "$@"; }
demo() { awf-run -n --name demo -c 'awf-step -n a -- echo x | awf-step b -q -- cat; awf-step -n c -q -- true'; }

# A run with an event of every kind: MODE of tests/page/rich.mjs.
rich() {
	RICH=0f1e2d3c-0000-4000-8000-00000000001${1:-0}
	mkdir -p "$AWF_STORAGE/transcripts"
	node "$ROOT/tests/page/rich.mjs" "$RICH" "$AWF_STORAGE/blobs/$RICH" "${@:2}" | chain >"$AWF_STORAGE/transcripts/$RICH.jsonl"
}

# grows SEED TABS: a run with calls of all kinds.
grows() {
	scripted_model
	rm held
	script 1 'say "hm " thinking' 'sleep 0.3' 'say "one "' 'sleep 0.3' 'say "two "' \
		"blocks '{\"type\":\"text\",\"text\":\"one two three\"},{\"type\":\"tool_use\",\"tool_id\":\"t1\",\"tool_name\":\"bad\",\"tool_input\":{\"of\":1}}' tool_use"
	script 2 'say wrong' 'sleep 0.3' 'fails overloaded'
	script 3 'say better' 'sleep 0.3' 'say " so"' 'answer "better so"'
	tool bad '"input_schema":{"type":"object"},"effects":"none"' 'sleep 0.2; echo "no such thing" >&2; exit 4'
	printf -- '---\nname: slow\nmodel: scripted/m\ntools: [bad]\n---\nBe brief.\n' >agents/slow.md
	cat >grows.awf <<-'END'
		#!/usr/bin/env -S awf-run --
		for i in 1 2 3; do awf-step -n -a slow --retries 1 --delay 0 -p x s -q & done
		printf 'a\nb\nc\nd\n' | awf-step -i lines -j3 each -q -- sh -c 'sleep 0.2; awf-step one -- cat | awf-step two -r -- sh -c "sleep 0.2; cat"'
		awf-step -n --retries 2 --delay 0 flaky -q -- sh -c 'sleep 0.2; [ -e tried ] || { : >tried; echo once >&2; exit 1; }'
		awf-step -n --try bad -q -- sh -c 'echo no database >&2; exit 4'
		wait
		echo x | awf-step --parallel split -r -- "sleep 0.4; echo a" "awf-step p -r -- cat" "echo c" >/dev/null
		awf-step -n --try in -q -- awf-run -n --name inner -c 'awf-step -n deep -q -- sh -c "sleep 0.3; echo deeper >&2; exit 3"'
		for i in $(seq 20); do awf-step -n "t" -q -- sleep 0.05; done
		echo cake | awf-step --approve ok | awf-step go -- cat | awf-step last -q -- sh -c 'cat; echo the last word >&2; exit 5'
	END
	chmod +x grows.awf
	awf-run -n --name before -c true
	serve --host localhost
	drive grows kinds "$@"
}

@test "a page that followed a run shows what it shows once it is loaded anew" { grows 7 3; }

# bats test_tags=torture
@test "the same for many seeds" {
	for seed in $(seq "$(rounds 1 20)"); do
		rm -rf "$AWF_STORAGE" agents tools tried
		grows "$seed" 6
		serve_end
	done
}

@test "approve with an edit and without, deny with a reason, say that work has failed" {
	cat >flow <<-'END'
		awf-step --approve ok | awf-step go -r -- cat
	END
	awf-run --name one flow <<<cake || [ $? = 75 ]
	awf-run --name two flow <<<cake || [ $? = 75 ]
	printf 'a\r\nb\r\n' | awf-run --name three flow || [ $? = 75 ]
	awf-run -n --name four -c 'awf-step -n --pending job -q -- sh -c "exit 75"' || [ $? = 75 ]
	printf 'a\r\nb\r\n' | awf-run --name five flow || [ $? = 75 ]
	awf-run --name six -c 'awf-step -i json --approve ok | awf-step go -r -- cat' <<<'{"order": 12345678901234567890, "price": 1.0, "n": 1}' || [ $? = 75 ]
	awf-run -n --name seven -c 'awf-step -n --pending -O json job -- sh -c "exit 75" | awf-step go -r -- cat' || [ $? = 75 ]
	echo '{"type":"object","required":["ok"]}' >answer.json
	awf-run --name eight -c "echo cake | awf-step --ask 'Is {{data}} right?' --ask-grace 300 --output-schema answer.json -r q" >answered 3>&- &
	runner=$!
	serve
	drive decide @one @two @three @four @five @six @seven @eight
	wait "$runner"
	same "$(cat answered)" '{"ok":1}'
	same "$(awf-run --resume @one)" tea
	run -3 awf-run --resume @two
	same "$(awf-run --resume @three | od -An -c | tr -d ' ')" 'a\r\nb\r\n'
	run -3 awf-run --resume @four
	same "$(awf-run --resume @five | od -An -c | tr -d ' ')" 'c\r\nb\r\n'
	same "$(awf-run --resume @six)" '{"order":12345678901234567890,"price":1.0,"n":2}'
	same "$(awf-run --resume @seven)" '{"id":98765432109876543210}'
}

@test "a tool call of an agent: its arguments as text, and always for this run" {
	mkdir -p agents tools
	export ASAN_OPTIONS=detect_leaks=0
	tool ship '"effects":"external","input_schema":{"type":"object"}' "cat >>'$PWD/ledger'; echo shipped"
	agent op 'tools: [ship]
approve_tools: [ship]'
	stream tool_use "$(use t1 ship '{"command":"ls\ncat \u200bx","n":12345678901234567890}')" >first
	stream tool_use "$(use t2 ship '{"command":"make"}')" >second
	text done >last
	model_server --answer first --answer second --answer last
	awf-run --wait 60s --name tools -c 'echo x | awf-step -a op -r work' >out 3>&- &
	runner=$!
	eventually eval 'awf-tail --list --json | jq -e ".waits" >/dev/null'
	serve
	drive toolApproval @tools
	wait "$runner"
	same "$(cat out)" 'done'
	same "$(jq -c .command ledger | wc -l)" 2
	grep -q 12345678901234567890 ledger
}

@test "what a tool prints while it runs, and what the agent is told meanwhile" {
	mkdir -p agents tools
	export ASAN_OPTIONS=detect_leaks=0 GATE=$PWD/gate
	tool look '"effects":"read","input_schema":{"type":"object"}' 'cat >/dev/null
echo north; echo aside >&2
until [ -e "$GATE.1" ]; do sleep 0.02; done
echo south
until [ -e "$GATE.2" ]; do sleep 0.02; done'
	agent scout $'tools: [look]\nsandbox: none'
	stream tool_use "$(use t1 look '{}')" >first
	text 'all right' >last
	model_server --answer first --answer last
	awf-run --name told -c 'echo x | awf-step -a scout -r work' >out 3>&- &
	runner=$!
	eventually grep -qs tool.call "$AWF_STORAGE/latest"
	serve
	drive tell @told "$GATE"
	wait "$runner"
	same "$(cat out)" 'all right'
	same "$(sent)" 2
	same "$(payloads message.user 'select(.told) | [.blocks[0].text, .told.by]' | jq -c '.[0]' | paste -sd,)" \
		'"only the <b>north","and the east"'
	[[ $(bodies | tail -n 1) == *'only the <b>north'*'and the east'* ]]
	[[ $(payloads tool.result .) == *north*south* ]]
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "who may only read decides nothing, and is out when logged out" {
	awf-run --name waits -c 'awf-step --approve ok' <<<cake || [ $? = 75 ]
	serve
	drive read @waits "$(awf-serve --new-token read)"
}

@test "a run that was killed runs no more" {
	awf-run -n --name killed -c 'awf-step -n a -q -- sleep 60' 3>&- &
	runner=$!
	eventually grep -qs step.started "$AWF_STORAGE/latest"
	serve
	drive died @killed "$runner"
	run ! wait "$runner"
}

@test "a run is stopped" {
	awf-run -n --name live -c 'awf-step -n a -q -- sleep 60' 3>&- &
	runner=$!
	eventually [ -e "$AWF_STORAGE/latest" ]
	serve
	drive stop @live
	run ! wait "$runner"
}

# long EVENTS [calls]: a run of so many events, or calls, in $LONG.
long() {
	LONG=0f1e2d3c-0000-4000-8000-000000000001
	mkdir -p "$AWF_STORAGE/transcripts"
	node "$ROOT/tests/page/long.mjs" "$1" "$LONG" "${@:2}" | chain >"$AWF_STORAGE/transcripts/$LONG.jsonl"
}

@test "100,000 events are scrolled from the first to the last within 16 ms a frame" {
	long 100000
	same "$(wc -l <"$AWF_STORAGE/transcripts/$LONG.jsonl")" 100000
	serve
	drive long "$LONG" 100000 16 >&3
}

@test "a run of 140,000 calls is shown whole" {
	long 140000 calls
	serve
	drive calls "$LONG" 140000 16 >&3
}

@test "two runs compared: causes open, the rest folded, links to both; and what a run is compared with" {
	cat >f <<-'END'
		#!/bin/sh
		awf-step -i lines up -- sh -c 'sed s/a/A/' | awf-step low -- tr A-Z a-z | awf-step -s n -q -- wc -c
		awf-step -n say -q -- echo 'The quick brown fox'
		awf-step -n rest -q -- seq 3
	END
	sed -e "s/A/AB/" -e 's/brown/<b>red<\/b>/' f >g
	echo 'awf-step -n extra -q -- echo "<img src=x onerror=window.bad=1>"' >>g
	chmod +x f g
	printf '%s\n' a1 a2 a3 | awf-run --id-file before --name demo ./f
	printf '%s\n' a1 a2 a3 | awf-run --id-file after --name demo ./g
	awf-run --id-file fork --fork "$(cat after)" --at say </dev/null
	serve
	drive compare "$(cat before)" "$(cat after)" "$(cat fork)"
}

@test "an evaluation: what passed, what failed and why, links to its runs and to what differs; it is added to while it goes on" {
	printf '%s\n' '#!/bin/sh' 'awf-step -r say -- sh -c "read -r x; [ \"\$x\" != bad ] || exit 4; if [ -n \"\$UP\" ]; then echo \"\$x\" | tr a-z A-Z; else echo \"\$x\"; fi"' >flow
	printf '%s\n' '#!/bin/sh' 'awf-step -r wait -- sh -c "until [ -e go ]; do sleep 0.05; done; cat"' >slow
	chmod +x flow slow
	printf '%s\n' '{"id":"a","input":"a","expected":"a"}' '{"id":"bad","input":"bad","expected":"b"}' '{"id":"<i>Up","input":"<i>Up","expected":"c"}' >in
	run -2 awf-eval -i in --name tried -k 2 --variant plain --variant up=UP=1 \
		-c 'same=jq -c "{pass: (.result == .expected), why: \"no <img src=x onerror=window.bad=1> for \\(.result)\"}"' -c 'short=jq -e ".result | length < 9"' ./flow
	echo x | awf-eval -i - --name later ./slow >/dev/null 3>&- &
	runner=$!
	eventually eval 'awf-tail --list --json | jq -e "select(.name == \"later\")" >/dev/null'
	awf-run -n --name awf-eval -c 'awf-step -n -q say -- true'
	serve
	drive evaluation @tried @later @awf-eval "$PWD/go"
	wait "$runner"
}

@test "axe finds nothing, in light and dark, wide and narrow" {
	awf-run --name waits -c 'awf-step --approve ok' <<<cake || [ $? = 75 ]
	awf-run -n --name broken -c 'awf-step -n a -q -- sh -c "echo why >&2; false"' || true
	rich
	serve
	drive axe "$RICH" @waits @broken
}
