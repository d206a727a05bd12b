#!/usr/bin/env bats
# A parent with two children, one of which has a child too, killed at random moments and
# resumed until it is done: no effect happens twice.
# CRASH_ROUNDS=100 for the long run; CRASH_SEED=N for the same choices again.
# shellcheck shell=bash disable=SC2016
bats_require_minimum_version 1.5.0
load ../support/helpers

# An effect: its name is entered into the ledger, once, and it takes a while.
effect() { echo "awf-step --effects external $1 -- sh -c 'cat; sleep 0.02; echo $1 >>ledger; sleep 0.02'"; }

prepare() {
	printf '%s\n' "$(effect deep)" >inner.awf
	printf '%s\n' "$(effect a1) | awf-run ./inner.awf | $(effect a2)" >a.awf
	printf '%s\n' "$(effect b1) | $(effect b2)" >b.awf
	printf '%s\n' "$(effect gen) <item | awf-run ./a.awf | awf-run ./b.awf | $(effect last) -q" >top.awf
	echo item >item
	: >ledger
}

# Starts awf-run with these words in a session of its own, and kills all of it after a
# while, or lets it end. Its status.
run_for() {
	local seconds=$1 session status=0
	shift
	setsid awf-run "$@" >out 2>err 3>&- </dev/null &
	session=$!
	( sleep "$seconds"
	  ps -o pid= -s "$session" | xargs -r kill -9 2>/dev/null ) 3>&- &
	wait "$session" 2>/dev/null || status=$?
	wait
	return "$status"
}

# What is asked about is answered by the ledger.
decide() {
	local call name
	decisions=()
	while IFS= read -r call; do
		name=${call##*/}
		name=${name%%:*}
		if grep -qx "$name" ledger; then decisions+=(--skip "$call"); else decisions+=(--redo "$call"); fi
	done < <(sed -n 's/.* or --skip \([^ ,]*\).*/\1/p' err)
}

once() {
	local status=0 tries=0 decisions=()
	RANDOM=$1
	run_for "0.$((RANDOM % 5))$((RANDOM % 10))" -n --id-file id ./top.awf || status=$?
	while [ "$status" -ne 0 ]; do
		# On a busy machine what it is given does not suffice: it gets more and more.
		tries=$((tries + 1))
		[ "$tries" -lt 60 ] || { cat err; return 1; }
		if [ ! -s id ]; then
			status=0
			run_for "0.$((RANDOM % 5))$((RANDOM % 10))" -n --id-file id ./top.awf || status=$?
			continue
		fi
		[ "$status" -ne 75 ] && decisions=() || decide
		status=0
		run_for "$((tries / 10)).$((RANDOM % 6))$((RANDOM % 10))" --resume "$(cat id)" "${decisions[@]}" || status=$?
	done
	sort ledger | uniq -c | awk '$1 != 1' >twice
	[ ! -s twice ] || { cat twice; return 1; }
	same "$(sort ledger | tr '\n' ' ')" "a1 a2 b1 b2 deep gen last "
	# A run may have been killed before its first line.
	find "$AWF_STORAGE/transcripts" -name '*.jsonl' -size +0c -exec awf-verify {} +
}

@test "everything is killed at random moments" {
	for round in $(seq "${CRASH_ROUNDS:-$(rounds 1 4)}"); do
		seed=${CRASH_SEED:-$RANDOM}
		rm -rf "$AWF_STORAGE" id
		: >ledger
		once "$seed" || { echo "seed $seed, round $round" >&2; return 1; }
	done
}
