#!/usr/bin/env bats
# awf-run --on-complete and --on-failure when the system fails it.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
load ../support/helpers
bats_require_minimum_version 1.5.0

@test "a full disk is a failure that is told, as what it is" {
	unshare -m true 2>/dev/null || skip "needs the right to mount"
	mkdir "$AWF_STORAGE"
	unshare -m sh -c 'mount -t tmpfs -o size=64k,mode=700 small "$AWF_STORAGE" &&
		head -c 200000 /dev/zero | awf-run --on-complete "echo complete" --on-failure "cat >summary" -c "cat >/dev/null"
		echo "status $?"' >out 2>&1 || true
	grep -qx 'status 125' out
	run ! grep -q complete out
	same "$(jq -c '[.status, .exit_code, .error.code]' summary)" '["failed",125,"system"]'
}

@test "an end that cannot be recorded is told as a failure" {
	run -125 env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD="$BUILD/tests/fault/preload.so" \
		FAULT='fdatasync 1 9 EIO' AWF_SYNC=step awf-run -n --on-complete 'echo complete' --on-failure 'cat >summary' true
	[[ $output != *complete* ]]
	same "$(jq -c '[.status, .exit_code, .error.code]' summary)" '["failed",125,"system"]'
}

@test "awf-run killed in the midst of it: the run has its end, and nothing is left" {
	awf-run -n --on-complete 'echo $$ >pid; touch up; sleep 1000' true 3>&- 2>/dev/null &
	eventually test -e up
	kill -9 $!
	wait $! || true
	awf-verify -q
	same "$(jq -r .type "$(transcript)" | paste -sd' ')" 'run.started run.completed'
	eventually gone "$(cat pid)"
}
