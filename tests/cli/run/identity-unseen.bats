#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-run(1), "Which recorded call is which": calls that differ by what stands in no argument and in no
# variable of the usual kind: descriptors, functions, bytes that are not UTF-8, a file that is read.
# shellcheck shell=bash disable=SC2016,SC2154 # scripts expand their dollars; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

# flow LINE...: the workflow, for bash; push N writes N down, but fails for c until there is a file open.
flow() {
	printf '%s\n' '#!/bin/bash' "$@" 'wait' >flow.awf
	chmod +x flow.awf
	printf '#!/bin/sh\n[ "$1" != c ] || [ -e "%s/open" ] || exit 1\necho "$1" >>"%s/ledger"\n' "$PWD" "$PWD" >push
	chmod +x push
	printf '%s\n' a b c d >list
}
start() { run -"$1" --separate-stderr awf-run -n --id-file id ./flow.awf; }
resume() { run -"$1" --separate-stderr awf-run --resume "$(cat id)" "${@:2}"; }
ledger() { same "$(sort ledger 2>/dev/null)" "$(printf '%s\n' "$@")"; }
STEP='awf-step -n -q --effects external push --'

@test "a file on another descriptor is part of a call" {
	flow 'for x in $(cat list); do echo $x >in.$x; '"$STEP"' sh -c '\''./push "$(cat <&3)"'\'' 3<in.$x; done'
	start 3
	printf '%s\n' z a b c d >list
	: >open
	resume 0
	ledger a b c d z
}

@test "what a process substitution gives is not known: its effects are asked about" {
	flow 'for x in $(cat list); do '"$STEP"' sh -c '\''./push "$(cat "$1")"'\'' - <(echo $x); done'
	start 3
	printf '%s\n' z a b c d >list
	: >open
	resume 75
	ledger a b d
	[[ $stderr == *'nothing tells which of the recorded calls of this name it is (what descriptor '*' read is not known)'* ]]
}

@test "a pipe that all steps inherit tells no calls apart, nor one that was open when the run was started" {
	flow 'exec 4< <(sleep 0.1)' 'for x in $(cat list); do '"$STEP"' ./push $x; done'
	run -3 --separate-stderr bash -c 'exec awf-run -n --id-file id ./flow.awf 7< <(sleep 0.1)'
	: >open
	resume 0
	ledger a b c d
}

@test "functions that bash exports tell calls apart; one that was edited keeps its results" {
	flow 'for x in $(cat list); do (eval "f() { ./push $x; }"; export -f f; sleep 0.0$((RANDOM % 9)); exec '"$STEP"' bash -c f) & done'
	start 3
	printf '%s\n' z a b c d >list
	: >open
	resume 0
	ledger a b c d z

	rm ledger open
	flow 'f() { echo "$1" >>ledger; }' 'export -f f' 'for x in a b; do awf-step -n -q --effects external add -- bash -c "f $x"; done' \
		'awf-step -n -q gate -- test -e open'
	start 3
	sed -i 's/f() { echo "$1"/f() { echo "new $1"/' flow.awf
	: >open
	resume 0
	ledger a b
}

@test "of variables that begin as those of make, parallel and ssh only theirs are left out" {
	for name in MAKE_ENV PARALLEL_HOST SSH_ALIAS; do
		rm -f ledger open
		flow 'for x in $(cat list); do '"$name"'=$x '"$STEP"' sh -c '\''./push $'"$name"\''; done'
		start 3
		printf '%s\n' z a b c d >list
		: >open
		resume 0
		ledger a b c d z
	done
}

@test "bytes that are not UTF-8 tell arguments and directories apart" {
	flow 'i=0; for x in $(cat list); do i=$((i + 1)); v=$(printf "\\36$i"); echo $x >"map.$v"
		(sleep 0.0$((RANDOM % 9)); exec '"$STEP"' sh -c '\''./push "$(cat "map.$1")"'\'' - "$v") & done'
	start 3
	: >open
	resume 0
	ledger a b c d

	rm ledger open
	flow 'i=0; for x in $(cat list); do i=$((i + 1)); v=$(printf "in\\36$i"); mkdir -p "$v"; echo $x >"$v/n"
		(cd "$v"; sleep 0.0$((RANDOM % 9)); exec '"$STEP"' sh -c '\''../push "$(cat n)"'\'') & done'
	start 3
	: >open
	resume 0
	ledger a b c d
	same "$(awf-tail --json --type step.started "$(cat id)" | jq -r .payload.directory | sort -u | head -n 1)" 'in\xf1'
}

@test "an id or a time that each call has of its own does not make a call another: its effect is asked about" {
	for value in '$(cat /proc/sys/kernel/random/uuid)' '$(date +%s%N)' '$BASHPID'; do
		rm -f ledger open
		flow 'for x in 1 2 3; do ID='"$value $STEP"' ./push a; done' "$STEP"' ./push c'
		start 3
		: >open
		resume 75
		ledger a a a c
		[[ $stderr == *'push:0:0: ID has another value (--ignore-env ID if no call depends on it)'* ]]
		resume 0 --ignore-env ID
		ledger a a a c
	done
	# In new directories, too.
	rm -f ledger open
	flow 'for x in 1 2 3; do d=run-$(date +%s%N); mkdir $d; (cd $d; '"$STEP"' ../push a); done' "$STEP"' ./push c'
	start 3
	: >open
	resume 75
	ledger a a a c
}

@test "calls that nothing distinguishes are known by their order, whatever they read" {
	flow 'for x in $(cat list); do echo $x >name; '"$STEP"' sh -c '\''./push "$(cat name)"'\''; done'
	start 3
	: >open
	resume 0
	ledger a b c d
}
