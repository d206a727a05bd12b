#!/usr/bin/env bats
# The idioms of awf(7) run as they are printed there.
# shellcheck disable=SC2154 # bats sets output and stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/manual

prepare() {
	mkdir stubs
	export PATH=$PWD/stubs:$PATH AWF_MODEL=replay/$PWD/said.jsonl
	for name in a b agent chair reviewer; do echo "You are $name." >"$name.md"; done
	answers 'You are a.' 'a said' 'You are b.' 'b said' 'You are agent.' 'agent said' \
		'You are chair.' 'chair said' 'You are reviewer.' reviewed >said.jsonl
	stub x 'echo "x of $(cat)"'
	stub y 'echo "y of $(cat)"'
	stub z 'jq -c .'
	echo TODO >in
	printf 'one\ntwo\n' >lines
}

# Runs an idiom on a file, after this beginning of a pipeline if there is one.
try() { awf-run -c "${3-} { $(idiom "$1")
	}" <"$2"; }

# What was given to the models at each step, by path.
asked() {
	jq -r 'select(.type == "message.user") | [.path, .payload.blocks[0].text] | join(": ")' \
		"$(readlink -f "$AWF_STORAGE/latest")" | sort
}
data() { jq -r '.data | if type == "string" then . else tojson end'; }

@test "one after another" {
	same "$(try 'One after another' in)" 'b said'
	same "$(asked)" "$(printf '%s\n' 'first: TODO' 'second: a said')"
}

@test "for each line" {
	same "$(try 'For each line, four at a time' lines | data)" "$(printf 'reviewed\nreviewed')"
	same "$(asked)" "$(printf '%s\n' 'review: one' 'review: two')"
}

@test "for each file" {
	mkdir notes
	echo this >'notes/a note.md'
	echo that >notes/other.md
	same "$(try 'For each file' in | data)" "$(printf 'agent said\nagent said')"
	same "$(asked)" "$(printf '%s\n' 'sum: that' 'sum: this')"
}

@test "join" {
	same "$(try Join lines 'awf-step -i lines seed -- cat |' | data)" 'chair said'
	same "$(asked)" 'join: ["one","two"]'
}

@test "fan out and join" {
	same "$(try 'Fan out and join' in)" 'chair said'
	same "$(asked)" "$(printf '%s\n' 'decide: {"con":"b said","pro":"a said"}' 'panel.con: TODO' 'panel.pro: TODO')"
}

@test "the first that succeeds" {
	same "$(try 'The first that succeeds' in | data)" 'a said'
	same "$(asked)" 'ask.one: TODO'
}

@test "side by side" {
	same "$(try 'Two commands at the same time' in | data)" '{"a":"x of TODO","b":"y of TODO"}'
}

@test "named pipes and tee" {
	same "$(try 'Named pipes and tee' in)" 'chair said'
	same "$(asked)" "$(printf '%s\n' 'con: agent said' 'find: TODO' 'pro: agent said' \
		'weigh: {"con":"b said","pro":"a said"}')"
}

@test "a pipeline of its own for each item" {
	same "$(try 'A pipeline of its own for each item' lines | data)" "$(printf 'b said\nb said')"
	same "$(asked)" "$(printf '%s\n' 'answer.draft: one' 'answer.draft: two' 'answer.polish: a said' 'answer.polish: a said')"
}

@test "loop" {
	export JQ=jq
	printf -- '---\nstop_when: {tool: verdict}\n---\nYou are judge.\n' >judge.md
	verdict() { printf '{"match":%s,"blocks":[{"type":"tool_use","tool_id":"1","tool_name":"verdict","tool_input":{"accepted":%s}}]}\n' "$@"; }
	{ verdict '"You are judge."' false; verdict '["You are judge.","false"]' true; } >>said.jsonl
	same "$(try Loop in | data)" '{"input":"TODO","draft":"a said","verdict":{"accepted":true}}'
	same "$(asked | cut -d: -f1 | paste -sd' ')" 'refine.draft refine.draft refine.judge refine.judge'
}

@test "wait for a person" {
	printf '#!/bin/sh\ncat >sent\n' >send
	chmod +x send
	run -75 --separate-stderr try 'Wait for a person' in
	run ! test -e sent
	sh -c "$(sed -n "s/^\.Ql \(awf-ctl approve .*\) \.$/\1/p" "$ROOT/man/awf.7")" </dev/null
	same "$(cat sent)" 'agent said'
}

@test "every night" {
	line=$(idiom 'Every night')
	cp lines repositories
	printf 'awf-step -i lines -r tell -- cat\n' >"$HOME/digest.awf"
	for _ in 1 2; do
		run -0 --separate-stderr sh -c "${line#'15 3 * * *  '}"
		same "$output" "$(cat lines)"
	done
	printf 'awf-step -n -q tell -- false\n' >"$HOME/digest.awf"
	run -3 --separate-stderr sh -c "${line#'15 3 * * *  '}"
	same "${stderr_lines[-2]}" 'awf-run: digest.awf: step tell:0:0 failed: false: exit status 1'
}

@test "a run inside of a run" {
	printf '#!/usr/bin/env -S awf-run --\nawf-step -a a.md find\n' >child.awf
	chmod +x child.awf
	same "$(try 'A run inside of a run' in)" 'agent said'
	same "$(asked)" 'use: a said'
	same "$(jq -r 'select(.type == "step.call_workflow.completed").payload.call' "$(readlink -f "$AWF_STORAGE/latest")")" child:0:0
}

@test "make" {
	idiom Make >Makefile
	echo one >a.txt
	echo two >b.txt
	awf-run make -sj4 <in
	same "$(cat all.txt)" 'chair said'
	same "$(asked)" "$(printf '%s\n' 'a: one' 'all: ["agent said","agent said"]' 'b: two')"
	echo three >b.txt
	touch -d '1 hour' b.txt
	awf-run make -sj4 <in
	same "$(asked)" "$(printf '%s\n' 'all: ["agent said","agent said"]' 'b: three')"
	same "$(jq -c 'select(.type == "step.started" and .path == "all") | .links | map(type)' \
		"$(readlink -f "$AWF_STORAGE/latest")")" '["object"]'
	echo '{}' >said.jsonl
	touch -d '2 hours' a.txt
	run ! awf-run make -sj4 <in
	same "$(jq -r .data a.state)" 'agent said'
}

@test "branch" {
	printf '#!/bin/sh\necho "$KIND"\n' >classify
	chmod +x classify
	same "$(KIND=bug try Branch in)" 'a said'
	same "$(KIND=other try Branch in)" 'b said'
	rm classify
	run -3 --separate-stderr try Branch in
	same "$(asked)" ''
}

@test "test" {
	same "$(try Test in)" 'agent said'
	echo done >in
	run -0 --separate-stderr try Test in
	same "$output" ''
	same "$(asked)" ''
}

@test "catch and fall back" {
	echo cached >cache
	stub curl 'exit 7'
	same "$(try 'Catch and fall back' in 2>/dev/null | data)" cached
	stub curl 'echo fetched'
	same "$(try 'Catch and fall back' in | data)" fetched
}

@test "skip" {
	seed='awf-step -i json -O json seed -- cat |'
	echo '{"urgent":false}' >in
	same "$(try Skip in "$seed" | data)" '{"urgent":false}'
	echo '{"urgent":true}' >in
	same "$(try Skip in "$seed" | data)" 'agent said'
}

@test "change on the way" {
	same "$(try 'Change the data between steps' in | data)" 'y of X OF TODO'
	same "$(jq -sr '.[2:5] | [.[1].event_id == .[2].parent_event_id] | tojson' "$(readlink -f "$AWF_STORAGE/latest")")" '[true]'
}

@test "look between" {
	text=$(idiom 'Show the data between steps')
	same "$(awf-run -c "${text/\/dev\/tty/looked}" <in | data)" 'y of x of TODO'
	same "$(data <looked)" 'x of TODO'
}

@test "the answer alone" {
	same "$(try 'The answer alone' in)" 'agent said'
}

@test "no idiom is untried" {
	sed -n '/^\.Sh IDIOMS/,/^\.Sh EFFECTS/s/^\.It //p' "$ROOT/man/awf.7" | sort >there
	grep -oE "(try|idiom) ('[^']*'|[A-Z][a-z]*)" "$BATS_TEST_FILENAME" | cut -d' ' -f2- | tr -d "'" | sort -u >tried
	same "$(comm -23 there tried)" ''
	[ "$(wc -l <there)" -ge 10 ]
}
