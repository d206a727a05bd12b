#!/usr/bin/env bats
# The live view of awf-tail -f and -F in real terminals.
# shellcheck shell=bash disable=SC2016,SC2154 # what is quoted is for others; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/terminal

prepare() {
	terminals_begin
	make_hold
	export AWF_PROVIDER_PATH="$ROOT/tests/fixtures/providers" SCRIPT=$PWD
}
cleanup() {
	terminals_end
	rm -f held*
	[ -z "${RUN-}" ] || kill "$RUN" 2>/dev/null || true
}

# N LINE...: what the provider does for request N.
script() {
	local number=$1
	shift
	printf '%s\n' "$@" >"$number.sh"
}

@test "a run from its start to its end, in terminals of several sizes" {
	: >held-a
	: >held-b
	: >held-c
	: >held-d
	script 1 'printf "{\"id\":%s,\"type\":\"error\",\"category\":\"overloaded\",\"message\":\"HTTP 429\"}\n" "$id"'
	script 2 'printf "{\"id\":%s,\"type\":\"delta\",\"kind\":\"text\",\"text\":\"Against it speaks the price\"}\n" "$id"
		: >asked; while [ -e held-b ]; do sleep 0.02; done
		printf "{\"id\":%s,\"type\":\"message\",\"blocks\":[{\"type\":\"text\",\"text\":\"no\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":1700,\"output_tokens\":320},\"model\":\"m\"}\n" "$id"'
	cat >child.awf <<-'END'
		#!/bin/sh
		awf-step -n -q critique -- sh -c './hold d; echo fine'
	END
	cat >slow.awf <<-'END'
		#!/bin/sh
		awf-step -n -q research -- sh -c './hold a; echo found'
		echo x | awf-step -q --parallel panel --strategy best-effort -- \
			'awf-step -m scripted/m --retries 2 --delay 1 -p x pro' \
			'awf-step con -- sh -c "echo no database >&2; exit 4"' \
			'awf-run --name child ./child.awf'
		seq 9 | awf-step -q -i lines -j 9 crunch -- sh -c 'read n; test $n -lt 6 || ./hold c'
		echo y | awf-step --approve check -q
	END
	chmod +x slow.awf child.awf
	terminal small 40 12 'NO_COLOR=1 awf-tail -f; echo "status $?"'
	terminal usual 80 24 'awf-tail -f; echo "status $?"'
	terminal large 200 50 'awf-tail -f --color never; echo "status $?"'
	for name in small usual large; do shows "$name" 'waiting for a run'; done
	awf-run -n ./slow.awf >/dev/null 2>&1 3>&- &
	RUN=$!
	shows small 'slow.awf T   1 running
@ research T  sh -c ./hold a…'
	shows usual 'slow.awf ID T   1 running
@ research T  sh -c ./hold a; echo found'
	rm held-a
	says usual 'HTTP 429, try 2 of 3 in 1 s'
	eventually test -e asked
	shows usual '✓ research T  "found"
✗ panel ▸ con T  sh: exit status 4: no database   (best-effort)
slow.awf ID T   2 running, 1 failed
@ panel T  1 of 3
  @ pro T  writing, 5 words
    Against it speaks the price
  @ child ▸ critique T  sh -c ./hold d; echo fine'
	rm held-b
	says large '✓ panel ▸ pro .* 1 turn  "no"'
	rm held-d
	says large 'crunch .* 5 of 9, 55 %, 4 running'
	says large '^  . \[[5-8]\] "[6-9]" .* sh -c read n'
	rm held-c
	wait "$RUN" || true
	for name in small usual large; do says "$name" '^status 0'; done
	shows_all usual '✓ research T  "found"
✗ panel ▸ con T  sh: exit status 4: no database   (best-effort)
✓ panel ▸ pro T  1 turn  "no"
✓ panel ▸ child ▸ critique T  "fine"
✓ panel ▸ child T
✓ panel T  3 lines
✓ crunch T  9 done
… check T  waits: awf-ctl approve check:0:0 ID
… slow.awf ID waiting T   1.7k in 320 out
status 0'
	shows_all large "$(frame usual)"
	same "$(frame small | tail -n 6 | sed 's/   1.*…$//')" '✓ panel T  3 lines
✓ crunch T  9 done
… check T  waits: awf-ctl
approve check:0:0 ID
… slow.awf ID waiting T
status 0'
	# Colours where they are meant.
	screen usual -e | grep -q $'\e\[31m✗\e\[[0-9;]*m panel ▸ con'
	no_colour() { ! screen "$1" -e | grep -q $'\e\[3'; }
	no_colour small
	no_colour large
}

# A run that goes on until held-a is gone.
goes_on() {
	: >held-a
	awf-run -n -c 'awf-step -n -q work -- sh -c "while [ -e held-a ]; do sleep 0.02; done"' 3>&- &
	RUN=$!
}

@test "the log in place of the view: --log, --no-view, AWF_VIEW, a choice of events, a terminal that draws nothing" {
	goes_on
	while IFS='|' read -r name command below; do
		terminal "$name" 80 24 "$command"
		says "$name" '▸ work started \(command\)'
		if [ -n "$below" ]; then says "$name" '^1 call: work'; else says_not "$name" '1 call: work'; fi
	done <<-'END'
		log|awf-tail -f --log|yes
		environment|AWF_VIEW=log awf-tail -f|yes
		chosen|awf-tail -f --type 'step.*'|yes
		off|awf-tail -f --no-view|
		off-environment|AWF_VIEW=off awf-tail -f|
		dumb|TERM=dumb awf-tail -f|
	END
	terminal bad 80 24 'AWF_VIEW=all awf-tail -f; echo "status $?"'
	says bad "^awf-tail: AWF_VIEW: 'all' is none of live, log, off"
	says bad '^status 1'
	run -1 --separate-stderr awf-tail --list --log
	same "$stderr" 'awf-tail: --log: not with --list'
	terminal ascii 80 24 'LC_ALL=C awf-tail -f'
	says ascii '^[-|/\\] work .*  sh -c while'
	# On no terminal nothing changes.
	AWF_VIEW=live awf-tail -f >out 3>&- &
	# Once the run has ended it would wait for another.
	eventually grep -q 'work started' out
	rm held-a
	wait "$!" "$RUN"
	same "$(grep -c 'work started' out)" 1
}

@test "the view goes when it is interrupted, follows the size of the terminal, and comes once more below a word" {
	goes_on
	terminal t 80 24 'sh -c "trap : INT; awf-tail -F; echo status \$?"'
	says t '^⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏ work .*  sh -c while \[ -e held-a \]; do sleep 0.02; done$'
	resize t 40 10
	shows t 'pipeline T   1 running
@ work T  sh -c while [ …'
	kill -9 "$RUN"
	says t 'run died$'
	says t '^waiting for a run$'
	same "$(frame t | grep -c waiting)" 1
	awf-run -n --name other true
	says t '^✓ other [0-9a-f]{8} success'
	keys t C-c
	says t '^(\^C)?status 130'
	says_not t '^waiting'
}
