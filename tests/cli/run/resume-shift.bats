#!/usr/bin/env bats
# awf-run(1), "Resuming": items that come at other positions than before.
# shellcheck shell=bash disable=SC2016,SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

flow() { printf '%s\n' '#!/bin/sh' "$@" >flow.awf; chmod +x flow.awf; }

# What the first attempt of the flow does, which fails or dies: nothing of it is to be
# done again.
first() {
	rm -f ok ledger
	run -"$1" --separate-stderr awf-run --id-file id ./flow.awf </dev/null
	touch ok
}
resume() { run -"$1" --separate-stderr awf-run --resume "$(cat id)" "${@:2}" </dev/null; }
ledger() { paste -sd' ' ledger; }

# Two lines of each item, but none of those in $FAILS until there is the file ok.
split='awf-step -i lines -O lines split -- sh -c '\''read -r l
	case " $FAILS " in *" $l "*) [ -e ok ] || exit 1; esac; echo $l.1; echo $l.2'\'' |'
send='awf-step --effects external send -- tee -a ledger |'
fin='awf-step -s fin -r -- jq -c .'

@test "an effect is not repeated although the step before gives more lines than before" {
	export FAILS=a
	for jobs in 1 3; do
		flow "printf 'a\nb\nc\n' | $split ${send/send/send -j $jobs} $fin"
		first 3
		same "$(sort ledger | paste -sd' ')" "b.1 b.2 c.1 c.2"
		resume 0
		same "$output" '["a.1","a.2","b.1","b.2","c.1","c.2"]'
		same "$(sort ledger | paste -sd' ')" "a.1 a.2 b.1 b.2 c.1 c.2"
		awf-verify "$(cat id)"
		awf-verify --determinism "$(cat id)"
	done
}

@test "nor is one in the body of a group" {
	export FAILS=a
	flow "printf 'a\nb\n' | $split awf-step --each g -- sh -c 'awf-step --effects external send -- tee -a ledger | awf-step more -- cat' | $fin"
	first 3
	resume 0
	same "$output" '["a.1","a.2","b.1","b.2"]'
	same "$(ledger)" "b.1 b.2 a.1 a.2"
}

@test "work without effects is found, too" {
	export FAILS="b"
	flow "printf 'a\nb\nc\n' | $split awf-step work -- tee -a ledger | $fin"
	first 3
	resume 0
	same "$output" '["a.1","a.2","b.1","b.2","c.1","c.2"]'
	same "$(ledger)" "a.1 a.2 c.1 c.2 b.1 b.2"
}

@test "items that are alike are counted" {
	export FAILS=a
	flow "printf 'a\nb\nb\nb\n' | $split ${send/send/send -j 2} $fin"
	first 3
	resume 0
	same "$output" '["a.1","a.2","b.1","b.2","b.1","b.2","b.1","b.2"]'
	same "$(sort ledger | uniq -c | tr -s ' \n' ' ')" " 1 a.1 1 a.2 3 b.1 3 b.2 "
}

@test "of several, the one that is another now is asked about, and no other" {
	flow 'cat in | awf-step -i lines --effects external send -- tee -a ledger | awf-step fin -r -- sh -c "test -e ok && cat"'
	printf '%s\n' x y z >in
	for jobs in 1 2; do
		sed -i "s/ send/ -j $jobs send/" flow.awf
		printf '%s\n' x y z >in
		first 3
		printf '%s\n' y new other z >in
		resume 75
		[[ $stderr == *"send:0:0: its input is '\"new\"', the recorded one '\"x\"'"*"--redo send:0:0"* ]]
		[[ $stderr == *"send:0:0: its input is '\"other\"'"* ]]
		same "$(sort ledger | paste -sd' ')" "x y z"
		# The answer is about one of them; the other asks whether it is to be made.
		resume 75 --skip send:0:0
		# Whether the record is taken before or after it looks, it asks.
		[[ $stderr == *"send: has asked whether it is send:0:0@1, which another call has taken over"* || $stderr == *"--skip send:0:0@1"* ]]
		same "$(sort ledger | paste -sd' ')" "x y z"
		resume 0 --new send
		same "$output" "$(printf '%s\n' y new other z)"
		same "$(sort ledger | paste -sd' ')" "other x y z"
		same "$(jq -r 'select(.payload.skipped == "by_user").payload.call' "$(transcript)" | sort -u)" send:0:1
	done
}

@test "an item that was taken away, and one that is new: the new one is asked about" {
	flow 'cat in | awf-step -i lines --effects external send -- tee -a ledger | awf-step fin -r -- sh -c "test -e ok && cat"'
	printf '%s\n' x y >in
	first 3
	printf '%s\n' y >in
	resume 0
	same "$output" y
	same "$(ledger)" "x y"
}

@test "what waits while the rest comes is not begun, nor asked about, if the rest does not come" {
	flow 'printf "a\nb\nc\n" | awf-step -i lines -O lines split -- sh -c '\''read -r l
		[ "$l" = c ] || [ -e ok ] || exit 1
		[ "$l" != b ] || [ -e better ] || kill -9 $PPID
		echo $l.1; echo $l.2'\'' |' "$send" "$fin"
	first 3
	resume 3
	[[ $stderr != *--redo* ]]
	[[ $stderr == *"broke off before it was known which of the recorded calls this is"* ]]
	same "$(ledger)" "c.1 c.2"
	touch better
	resume 0
	same "$output" '["a.1","a.2","b.1","b.2","c.1","c.2"]'
	same "$(ledger)" "c.1 c.2 a.1 a.2 b.1 b.2"
}

@test "what was edited since is made anew, which one line counts" {
	flow 'printf "a\nb\nc\n" | awf-step -i lines same -- cat | awf-step work -- tee -a ledger | awf-step fin -q -- test -e ok'
	first 3
	same "$(ledger)" "a b c"
	sed -i 's/work -- tee/work -- tee -i/' flow.awf
	resume 0
	same "${stderr_lines[-1]}" "awf-run: flow.awf: 3 recorded calls were made again instead of used from the record: work 3 (another definition)"
	same "$(ledger)" "a b c a b c"
	first 3
	sed -i 's/c.n/d\\n/' flow.awf
	resume 0
	same "${stderr_lines[-1]}" "awf-run: flow.awf: 2 recorded calls were made again instead of used from the record: $(
		grep -o 'same 1 (another input), work 1 (another input)\|work 1 (another input), same 1 (another input)' <<<"$stderr")"
}
