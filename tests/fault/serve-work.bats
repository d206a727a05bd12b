#!/usr/bin/env bats
# awf-serve where the machine fails under what it does in processes of their own: decisions and the
# starts of hooks. What is not on the disk is not said to be done, and starts nothing twice.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/serve

prepare() {
	mkdir flows
	echo 'awf-step -q take -- tee -a received' >flows/deploy.awf
	awf-run --name asks -c 'awf-step --approve ok' <<<cake || [ $? = 75 ]
}
cleanup() { serve_end; }

# VARIABLE=VALUE...: a server with this fault.
faulty() {
	export AWF_SYNC=step ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 "$@"
	LD_PRELOAD=$BUILD/tests/fault/preload.so serve --workflows flows
	for each in "$@"; do unset "${each%%=*}"; done
	export AWF_SYNC=none
}
approve() { ask /api/runs/@asks/decisions -H 'Content-Type: application/json' -d '{"decision":"approve","call":"ok"}' | jq -r '.decision // .error.code'; }
deliver() { ask /hooks/deploy -H 'X-GitHub-Delivery: 1' -d work | jq -r '.status // .error.code'; }
decisions() { payloads step.completed 'select(.approval.decision) | 1' "$(grep -l '"name":"asks"' "$AWF_STORAGE"/transcripts/*.jsonl)" | wc -l; }
said() { grep -q "$1" "$BATS_TEST_TMPDIR/serve.err"; }
idle() { [ "$(ask '/api/runs?status=running' | jq '.runs | length')" = 0 ]; }

# The same without a fault, once.
goes_well() {
	serve_end 2>/dev/null
	serve --workflows flows
	same "$(approve) $(deliver)" 'approved started'
	eventually test -s flows/received
	eventually idle
	same "$(decisions) $(cat flows/received)" '1 work'
	same "$(deliver)" duplicate
}

@test "without processes nothing is decided or started, and others are answered" {
	faulty FAULT_FORK=1
	same "$(approve) $(deliver)" 'internal internal'
	said 'unable to start a process'
	same "$(ask /healthz) $(ask /api/runs | jq '.runs | length')" 'ok 1'
	same "$(decisions)" 0
	goes_well
}

@test "what cannot be synced is not done" {
	faulty FAULT='fdatasync 1 99 EIO' FAULT_ALSO=fsync
	same "$(approve) $(deliver)" 'internal internal'
	[ ! -e flows/received ]
	# The decision stands in the file, though nobody knows for how long.
	serve_end 2>/dev/null
	serve --workflows flows
	[[ $(approve) == conflict || $(approve) == approved ]]
	same "$(deliver)" started
	eventually test -s flows/received
	eventually idle
	same "$(decisions) $(cat flows/received)" '1 work'
}

@test "what cannot be locked is not done" {
	faulty FAULT='flock 1 999999 EWOULDBLOCK'
	same "$(approve)" internal
	said 'locked by another process'
	mkdir -p "$AWF_STORAGE/serve/hooks/deploy"
	flock -o "$AWF_STORAGE/serve/hooks/deploy" sh -c ': >locked; sleep 15' 3>&- &
	locker=$!
	eventually [ -e locked ]
	same "$(deliver)" internal
	said 'unable to lock the claims'
	kill "$locker"
	wait "$locker" || true
	[ ! -e flows/received ]
	same "$(decisions)" 0
	goes_well
}

@test "a process that is killed has decided or not, and its client is told that nobody knows" {
	serve --workflows flows
	flock "$(transcript)" sh -c ': >locked; sleep 1.4' 3>&- &
	locker=$!
	eventually [ -e locked ]
	approve >got 3>&- &
	client=$!
	until pkill -9 -x -P "$SERVE_PID" awf-serve; do sleep 0.01; done
	wait "$client" "$locker"
	same "$(cat got)" internal
	said 'the process that was to decide has died'
	goes_well
}
