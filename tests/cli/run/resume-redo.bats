#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-run(1), "Resuming": --redo of what a condition left out, or whose failure was let pass, in calls and child
# runs that have succeeded.
# shellcheck shell=bash disable=SC2016,SC2154 # scripts expand their dollars; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

# flow LINE...: the workflow; its last steps fail until there are files open and open2.
flow() {
	rm -f ledger open open2
	printf '%s\n' "$@" 'awf-step -n -q gate -- test -e open' 'awf-step -n -q gate2 -- test -e open2' >flow.awf
}
start() { run -"$1" --separate-stderr awf-run -n --id-file id ./flow.awf; }
resume() { run -"$1" --separate-stderr awf-run --resume "$(cat id)" "${@:2}"; }
ledger() { same "$(sort ledger 2>/dev/null)" "$(printf '%s\n' "$@")"; }
EFFECT='awf-step -n -q --effects external'

# In all scripts: a, and b, which is left out or fails until there is a file open.
LEFT_OUT="$EFFECT a -- sh -c 'echo a >>ledger'; $EFFECT --when 'test -e open' b -- sh -c 'echo b >>ledger'"
LET_PASS="$EFFECT a -- sh -c 'echo a >>ledger'; $EFFECT --allow-failure b -- sh -c 'test -e open && echo b >>ledger'"

# makes PATH: --redo of PATH makes b, and no more than that, once.
makes() {
	start 3
	ledger a
	: >open
	resume 3
	ledger a
	resume 3 --redo "$1"
	ledger a b
	resume 3
	: >open2
	resume 0
	ledger a b
	[[ $stderr != *'not come to'* ]]
	awf-replay "$(cat id)"
}

@test "--redo makes a step that its condition left out, or whose failure was let pass, in groups that have succeeded" {
	for what in "$LEFT_OUT" "$LET_PASS"; do
		printf '%s\n' "$what" >w.sh
		flow 'awf-step -n -q --each g -- sh w.sh'
		makes g:0:0/b:0:0
		flow 'awf-step -n -q --parallel g -- "awf-step -n -q w -- sh w.sh" true'
		makes g.w.b
		flow 'awf-step -n -q --max 1 g -- sh -c "awf-step -n -q w -- sh w.sh"'
		makes g:0:0/g:0:0/w:0:0/b:0:0
	done
}

@test "in child runs that have succeeded, and in groups around them and in them, too" {
	for what in "$LEFT_OUT" "$LET_PASS"; do
		printf '%s\n' "$what" >k.awf
		flow 'awf-run -n ./k.awf'
		makes k.b
		flow 'awf-step -n -q w -- awf-run -n -c "awf-run -n ./k.awf"'
		makes w:0:0/pipeline:0:0/k:0:0/b:0:0
		printf '%s\n' 'awf-step -n -q w -- sh k.awf' >l.awf
		flow 'awf-step -n -q --each g -- awf-run -n ./l.awf'
		makes g:0:0/l:0:0/w:0:0/b:0:0
		# The child run has failed, and that was let pass.
		printf '%s\n' "$what" false >k.awf
		flow 'awf-step -n -q w -- sh -c "awf-run --try -n ./k.awf || true"'
		makes w:0:0/k:0:0/b:0:0
	done
}

@test "a condition that says no once more leaves the step out once more" {
	flow "awf-step -n -q --each g -- $EFFECT --when 'test -e never' b -- sh -c 'echo b >>ledger'"
	start 3
	resume 3 --redo g.b
	: >open
	: >open2
	resume 0 --redo g.b
	ledger
}

@test "where what is around it stands, --redo says so, and nothing is run" {
	printf '%s\n' "$LEFT_OUT" >w.sh
	flow 'awf-step -n -q --effects external w -- sh -c "echo w >>ledger; awf-step -n -q v -- sh w.sh"'
	start 3
	: >open
	resume 125 --redo w.v.b
	same "$stderr" 'awf-run: --redo: w:0:0/v:0:0/b:0:0 cannot be made again: it is in w:0:0, which succeeded and has --effects of its own'
	ledger a w

	flow 'awf-step -n -q --effects external w -- sh -c "echo w >>ledger; awf-run -n -c '\''sh w.sh'\''"'
	start 3
	: >open
	resume 125 --redo w.pipeline.b
	same "$stderr" 'awf-run: --redo: w:0:0/pipeline:0:0 cannot be made again: it is in w:0:0, which succeeded and has --effects of its own'
	ledger a w

	flow 'awf-step -n -q --parallel --strategy any g -- "awf-step -n -q v -- sh w.sh" "sleep 60"'
	start 3
	: >open
	resume 125 --redo g.v.b
	same "$stderr" 'awf-run: --redo: g:0:0/g:0:0/v:0:0/b:0:0 cannot be made again: it is in g:0:0, where another branch has succeeded (--strategy any)'
	ledger a

	flow 'awf-run -n --detach --id-file kid ./w.sh | cat'
	start 3
	eventually grep -q '"run.completed"' "$AWF_STORAGE/transcripts/$(cat kid).jsonl"
	: >open
	resume 125 --redo w.b
	same "$stderr" "awf-run: --redo: w:0:0 was detached: resume that run by itself, $(cat kid)"
}
