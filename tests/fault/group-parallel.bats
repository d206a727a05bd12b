#!/usr/bin/env bats
# Parallel groups whose run is killed in the middle: what is made again, and what is not;
# and that what they recorded replays.
# shellcheck shell=bash disable=SC2016,SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/resume

prepare() {
	resume_tools
	ISOLATION=$(isolation)
}

# A workflow of these lines.
flow() {
	printf '%s\n' '#!/bin/sh' "$@" >flow.awf
	chmod +x flow.awf
}

# The ends of a call, an expression of each.
ends() { jq -c "select(.type == \"step.completed\" and .payload.call == \"$1\") | $2" "$(record)"; }
starts() { jq -c "select(.type == \"step.started\" and .payload.call == \"$1\").payload.attempt" "$(record)" | paste -sd' '; }

# The run is done, well, in order, and replays.
sound() {
	same "$(jq -r 'select(.type == "run.completed").payload.status' "$(record)" | tail -n 1)" success
	awf-verify -q "$(id)"
	run -0 awf-verify -q --determinism --isolation "$ISOLATION" "$(id)"
}

@test "all: branches that succeeded are not made again" {
	flow 'awf-step -n --parallel p -r -- "awf-step --effects external a -- ledger a" "echo b" "until [ -s a.ledger ]; do sleep 0.02; done; sleep 0.3; hold >/dev/null; echo c"'
	die -n ./flow.awf
	run -0 --separate-stderr resume
	same "$output" $'done \nb\nc'
	same "$stderr" ''
	same "$(entries a)" 1
	same "$(starts p:0:0/p:0:0/a:0:0)" 1
	same "$(ends p:0:0/p:0:1 '.payload.reused_from | type')" $'"null"\n"string"'
	same "$(starts p:0:0/p:0:2)" '1 2'
	sound
}

@test "all: a failure is tried again, and what succeeded beside it is not" {
	flow 'awf-step -n --parallel p -r -- "awf-step --effects external a -- ledger a" "sleep 0.5; test -e mended"'
	run -3 awf-run -n --id-file run.id ./flow.awf
	same "$(ends p:0:0/p:0:0 .payload.error.code)" null
	touch mended
	run -0 --separate-stderr resume
	same "$(entries a)" 1
	sound
}

@test "any: the winner stands, though the group had not ended; the others are not made" {
	patient
	flow 'awf-step -n --parallel --strategy any p -r -- \
		"awf-step --effects external l -- sh -c \"trap : TERM; ledger l >/dev/null; until [ -s w.ledger ]; do sleep 0.02; done; sleep 0.5; while :; do hold; done\"" \
		"until [ -s l.ledger ]; do sleep 0.02; done; awf-step --effects external w -- ledger w"' 'echo after'
	die -n ./flow.awf
	same "$(ends p:0:0 .seq)" ''
	same "$(ends p:0:0/p:0:0 .seq)" ''
	# The loser was cut off in the middle of an effect, but nothing repeats it.
	run -0 --separate-stderr resume
	same "$output" $'done \nafter'
	same "$stderr" ''
	same "$(entries w) $(entries l)" '1 1'
	same "$(starts p:0:0/p:0:0)" 1
	same "$(ends p:0:0 .payload.winner)" 1
	sound
}

@test "any: without a winner all are made again" {
	flow 'awf-step -n --parallel --strategy any p -r -- "exit 3" "hold >/dev/null; echo b"'
	die -n ./flow.awf
	run -0 --separate-stderr resume
	same "$output" b
	same "$(starts p:0:0/p:0:0)" '1 2'
	same "$(ends p:0:0 .payload.winner)" 1
	sound
}

@test "any: effects of losers are in nobody's way once the group has succeeded" {
	flow 'awf-step -n --parallel --strategy any p -r -- \
		"awf-step --effects external l -- sh -c \"ledger l; sleep 9\"" \
		"until [ -s l.ledger ]; do sleep 0.02; done; echo b"' 'awf-step -n last -r -- hold'
	die -n ./flow.awf
	run -0 --separate-stderr resume
	same "$output" b
	same "$(entries l)" 1
	sound
}

@test "best-effort: what succeeded is not made again, what failed is" {
	flow 'awf-step -n --parallel --strategy best-effort p -- "exit 3" "awf-step --effects external a -- ledger a" \
		"until [ -s a.ledger ]; do sleep 0.02; done; sleep 0.3; hold >/dev/null; echo c" | jq -c "[.data, .metadata.error.code]"'
	die -n ./flow.awf
	run -0 --separate-stderr resume
	same "$output" $'[null,"exit_status"]\n["done ",null]\n["c",null]'
	same "$(entries a)" 1
	same "$(starts p:0:0/p:0:0)" '1 2'
	sound
}

@test "a group that ended gives its lines again, whatever its branches would do now" {
	flow 'awf-step -n --parallel --strategy any p -- "sleep 9" "jq -r .data | ledger w" | awf-step -r last -- hold'
	die -n ./flow.awf
	run -0 --separate-stderr resume
	same "$output" 'done null'
	same "$(entries w)" 1
	same "$(ends p:0:0 '.payload.reused_from | type')" $'"null"\n"string"'
	same "$(starts p:0:0/p:0:1)" 1
	sound
}

@test "parallel in a loop, killed in a round" {
	flow 'echo 0 | awf-step --max 3 loop -r -- sh -c "awf-step --parallel p -- \"awf-step --effects external a -- ledger a\" \
		\"until [ \\\$(wc -l <a.ledger) -ge 2 ]; do touch go; sleep 0.02; test -e held || break; test \\\$(wc -l <a.ledger) -ge 2 || break; done; sleep 0.5; hold >/dev/null; echo b\" |
		awf-step -s j -- jq -c length"'
	die -n ./flow.awf
	run -0 --separate-stderr resume
	same "$output" 2
	same "$(entries a)" 3
	sound
}

# bats test_tags=turn:3
@test "every strategy replays, however its branches ended" {
	while IFS='|' read -r expected arguments; do
		flow "echo x | awf-step --parallel $arguments"
		run -"$expected" awf-run -n --id-file run.id ./flow.awf
		for _ in $(seq "$(rounds 1 3)"); do
			run -0 awf-verify --determinism --isolation "$ISOLATION" "$(id)"
			same "$output" ''
		done
	done <<-'EOF'
	0|p -r -- "echo a" "awf-step in -- echo b" "sleep 0.1; echo c"
	3|p -r -- "echo a" "awf-step in -- sh -c 'sleep 9'" "sleep 0.2; exit 4"
	3|-j 1 p -r -- "exit 4" "echo b"
	0|--strategy any p -r -- "exit 3" "awf-step in -- sleep 9" "trap 'exit 0' TERM; sleep 9 & wait" "sleep 0.2; awf-step ok -- echo d"
	0|--strategy any p -r -- "echo a" "echo b" "echo c" "echo d" "echo e"
	0|--strategy any -j 2 p -r -- "echo a" "sleep 9" "echo c"
	3|--strategy any p -r -- "exit 3" "sleep 0.1; exit 4"
	0|--strategy best-effort p -- "exit 3" "awf-step in -- false" "echo c"
	0|--strategy best-effort --timeout 200ms p -- "sleep 9" "awf-step in -q -- true; sleep 9" "echo c"
	3|--strategy all --timeout 200ms p -- "awf-step in -q -- true; sleep 9" "echo c"
	EOF
}

@test "another branch, or another strategy, is another call" {
	flow 'awf-step -n --parallel p -r -- "echo a" "echo b"' 'false'
	run -1 awf-run -n --id-file run.id ./flow.awf
	flow 'awf-step -n --parallel p -r -- "echo a" "echo c"' 'true'
	run -0 --separate-stderr resume
	same "$output" $'a\nc'
	same "$(starts p:0:0/p:0:0)" '1 2'
	sound
}

@test "a group that failed because a branch died is not rescued, whatever others failed with" {
	for strategy in any best-effort; do
		run -3 --separate-stderr awf-run -n -c "awf-step -n --parallel --strategy $strategy p -- 'awf-step a -- false' \
			'awf-step b -- sh -c \"kill -9 \\\$PPID; sleep 0.1\"' | awf-step --rescue c -- touch rescued"
		[[ $stderr == *'p:0:0 failed: branch 1: the step p:0:0/p:0:1/b:0 died before its end'* ]]
		[ ! -e rescued ]
	done
}
