#!/usr/bin/env bats
# awf-run --overlap when processes are killed and disks are full.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
load ../support/helpers
bats_require_minimum_version 1.5.0

prepare() { PIDS=(); }

cleanup() {
	kill -9 "${PIDS[@]}" 2>/dev/null || true
}

# As in tests/cli/run/overlap.bats: start N POLICY.
start() {
	awf-run -n --name nightly --overlap "$2" --id-file "id.$1" -c \
		'echo $1 begins >>order; until [ -e go ]; do sleep 0.01; done; echo $1 ends >>order' \
		"$1" >/dev/null 2>"stderr.$1" 3>&- &
	PIDS[$1]=$!
}

begun() { grep -qsx "$1 begins" order; }
tickets() { find "$AWF_STORAGE/queues" -name '0*' 2>/dev/null | wc -l; }
in_line() { [ "$(tickets)" -eq "$1" ]; }
order() { paste -sd' ' order; }
destroy() {
	kill -9 "${PIDS[$1]}"
	wait "${PIDS[$1]}" 2>/dev/null || true
}
ended() {
	local status=0
	wait "${PIDS[$1]}" || status=$?
	same "$1: $status" "$1: $2"
}
faulty() {
	local fault=$1
	shift
	env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
		LD_PRELOAD="$BUILD/tests/fault/preload.so" FAULT="$fault" "$@"
}
audit() { jq -c "$1" "$AWF_STORAGE/audit.jsonl"; }
clean() { same "$(find "$AWF_STORAGE/queues" -mindepth 1)" ""; }

@test "skip: a holder that was killed holds nobody up" {
	for round in 1 2 3; do
		rm -f order
		start 1 skip
		eventually begun 1
		destroy 1
		run -0 awf-run -n --name nightly --overlap skip -c 'echo ran'
		same "$output" ran
	done
	clean
}

@test "skip: what one that was killed has left is waited for" {
	patient
	start 1 skip
	eventually begun 1
	guardian=$(cat "/proc/${PIDS[1]}/task/${PIDS[1]}/children")
	left=$(cat "/proc/${guardian% }/task/${guardian% }/children")
	kill -STOP "${PIDS[1]}"
	kill -9 "${guardian% }"
	destroy 1
	start 2 skip
	sleep 0.5
	same "$(order)" '1 begins'
	kill -9 "${left% }"
	eventually begun 2
	touch go
	ended 2 0
	same "$(order)" '1 begins 2 begins 2 ends'
	clean
}

# bats test_tags=turn:2
@test "buffer-all: whoever is killed, the others keep their order" {
	# Eight in line; which of them are killed, the first last, as the next begins then.
	while read -r killed expected; do
		rm -f order go
		for i in 1 2 3 4 5 6 7 8; do
			start "$i" buffer-all
			eventually in_line "$i"
		done
		eventually begun 1
		for i in ${killed//,/ }; do destroy "$i"; done
		[[ ,$killed, != *,1,* ]] || eventually begun "${expected:0:1}"
		touch go
		for i in ${expected//,/ }; do ended "$i" 0; done
		same "$(grep -v '^1 begins' order | grep begins | cut -d' ' -f1 | paste -sd,)" "${expected#1,}"
		same "$(awk '$1 != 1 { if ($2 == "begins") { if (n++) print "two at once" } else n-- }' order)" ""
		clean
	done <<-'END'
		1 2,3,4,5,6,7,8
		4 1,2,3,5,6,7,8
		2,3,4 1,5,6,7,8
		8 1,2,3,4,5,6,7
		5,2,1 3,4,6,7,8
		7,3,1 2,4,5,6,8
	END
}

@test "buffer-one: a process that waited and was killed frees its place" {
	start 1 buffer-one
	eventually begun 1
	for i in 2 3 4; do
		start "$i" buffer-one
		eventually in_line 2
		destroy "$i"
	done
	start 5 buffer-one
	eventually in_line 2
	run -0 awf-run -n --name nightly --overlap buffer-one -c 'echo ran'
	same "$output" ""
	touch go
	ended 1 0
	ended 5 0
	same "$(order)" '1 begins 1 ends 5 begins 5 ends'
	clean
}

@test "buffer-one: where the holder was killed, the one that waits takes its place, and another may wait" {
	for round in 1 2 3; do
		rm -f order go
		start 1 buffer-one
		eventually begun 1
		start 2 buffer-one
		eventually in_line 2
		destroy 1
		start 3 buffer-one
		eventually begun 2
		eventually in_line 2
		touch go
		ended 2 0
		ended 3 0
		same "$(order)" '1 begins 2 begins 2 ends 3 begins 3 ends'
		clean
	done
}

@test "cancel-other: one that took a place and was killed leaves it to the next" {
	awf-run -n --name nightly -c 'trap "" TERM; echo 1 begins >>order; until [ -e end ]; do sleep 0.01; done' 2>stderr.1 3>&- &
	PIDS[1]=$!
	eventually begun 1
	start 2 cancel-other
	eventually in_line 1
	destroy 2
	start 3 cancel-other
	touch end go
	ended 3 0
	ended 1 143
	same "$(order)" '1 begins 3 begins 3 ends'
	clean
}

@test "what a power cut leaves of a queue holds nobody up" {
	start 1 skip
	eventually begun 1
	queue=$(echo "$AWF_STORAGE"/queues/*)
	destroy 1
	: >"$queue/0000000000000000007"
	head -c 100 /dev/urandom >"$queue/0000000000000000008"
	head -c 100 /dev/urandom >"$queue/lock"
	run -0 awf-run -n --name nightly --overlap skip -c 'echo ran'
	same "$output" ran
	clean
}

@test "a full disk: no ticket, no run; none of the others minds" {
	start 1 buffer-all
	eventually begun 1
	while IFS='|' read -r fault message; do
		run -125 --separate-stderr faulty "$fault" awf-run -n --name nightly --overlap buffer-all -c 'echo ran'
		same "$output" ""
		[[ $stderr == "awf-run: $AWF_STORAGE/queues/"*": $message" ]]
		same "$(tickets)" 1
	done <<-'END'
		write 1 1 ENOSPC|unable to write a ticket: No space left on device
	END
	touch go
	ended 1 0
	clean
}

@test "a skip that cannot be told to the audit trail is a warning" {
	start 1 skip
	eventually begun 1
	run -0 faulty 'write 1 1 ENOSPC' awf-run -n --name nightly --overlap skip -c 'echo ran'
	same "$output" "awf-run: $AWF_STORAGE/audit.jsonl: unable to write the audit trail: No space left on device"
}

@test "a queue that cannot be made or read is told by its name" {
	mkdir -p "$AWF_STORAGE"
	: >"$AWF_STORAGE/queues"
	run -125 awf-run -n --overlap skip -c 'echo ran'
	same "$output" "awf-run: $AWF_STORAGE/queues: not a directory: move it away"
	rm "$AWF_STORAGE/queues"
	ln -s "$PWD" "$AWF_STORAGE/queues"
	run -125 awf-run -n --overlap skip -c 'echo ran'
	same "$output" "awf-run: $AWF_STORAGE/queues: not a directory: move it away"
	same "$(ls)" ""
}
