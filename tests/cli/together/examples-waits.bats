#!/usr/bin/env bats
# examples/waits: a run that waits for people, by each way that its README names.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

prepare() {
	cp -r "$ROOT/examples/waits/." .
	export COOL=300ms
	printf 'one\ntwo\n' >notes.txt
}
cleanup() { [ -z "${RESUMER-}" ] || kill "$RESUMER" 2>/dev/null || true; }
said() { same "$(cat announced)" $'- one\n- two'; }
status() { awf-tail --list --json | jq -r .status | head -n 1; }

@test "decided, and gone on with by hand" {
	run -75 ./release.awf <notes.txt
	same "$(awf-tail --list --json | jq -c '.waits|map([.call,.for])')" '[["notes:0:0","approval"]]'
	awf-ctl approve notes
	run -0 awf-run --resume @
	said
	awf-verify --determinism --isolation copy
}

@test "by the resumer, by cron, and as a job" {
	awf-worker --resumer >/dev/null 3>&- &
	RESUMER=$!
	run -75 ./release.awf <notes.txt
	awf-ctl approve notes
	eventually eval '[ "$(status)" = success ]'
	said
	kill "$RESUMER"
	wait "$RESUMER" || true

	rm announced
	COOL=5s run -75 ./release.awf <notes.txt
	awf-ctl approve notes
	awf-worker --resumer --once >out
	same "$(cut -f 2 out)" waiting
	[ ! -e announced ]
	eventually eval 'awf-worker --resumer --once >out; [ -e announced ]'
	said

	rm announced
	mkdir jobs
	awf-worker jobs ./release.awf >/dev/null 3>&- &
	RESUMER=$!
	cp notes.txt jobs/.new && mv jobs/.new jobs/release
	eventually test -d jobs/waiting/release
	awf-ctl approve notes
	eventually test -d jobs/done/release
	said
}

@test "denied, the run has failed, and nothing is announced" {
	run -75 ./release.awf <notes.txt
	awf-ctl deny --reason 'the second line is wrong' notes
	run -3 --separate-stderr awf-run --resume @
	[[ $stderr == *'the second line is wrong'* ]]
	[ ! -e announced ]
}
