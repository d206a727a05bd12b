#!/usr/bin/env bats
# Whatever fails for want of room is told as that, wherever it fails.
# shellcheck shell=bash disable=SC2016
load ../support/helpers
bats_require_minimum_version 1.5.0

# told PROGRAM TIMES COMMAND POINTS: makes each call of the program that needs room fail in turn, TIMES
# of them; there are more than POINTS. What does not end as it does otherwise says what it is, and
# nothing is told as what came of it.
told() {
	local program=$1 times=$2 point status usual
	attempt "" "$3"
	usual=$status
	for point in $(seq 150); do
		case_is_chosen 5 || continue
		attempt "$program $point $times" "$3"
		[ -e reached ] || break
		if [ "$status" != "$usual" ] && ! grep -qE "Disk quota exceeded${TOO:+|$TOO}" err; then
			echo "$program, call $point of $times: $status: $(cat err)"
			false
		fi
		run ! grep -E 'Bad file descriptor|Success|No such file' err
	done
	[ "$point" -gt "$4" ]
}

# attempt QUOTA COMMAND: its status, out and err.
attempt() {
	rm -rf box reached
	mkdir box
	status=0
	# shellcheck disable=SC2030
	(
		cd box
		export AWF_STORAGE=$PWD/storage
		[ -z "${BEFORE:-}" ] || sh -c "$BEFORE" >/dev/null 2>&1 || true
		QUOTA=$1 QUOTA_REACHED=$WORK/reached LD_PRELOAD="$BUILD/tests/fault/quota.so" \
			ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 sh -c "$2"
	) >out 2>err </dev/null 3>&- || status=$?
}

prepare() { WORK=$PWD; }

# bats test_tags=turn:2
@test "awf-run and its steps" {
	local times
	for times in 1 999; do
		told awf-run "$times" 'printf "a\nb\n" >in; awf-run --snapshot -c "awf-step -i lines a -- cat" <in' 30
		told awf-run "$times" 'echo a | awf-run -c "awf-step a -q -- cat"' 15
		told awf-step "$times" 'awf-run -n -c "awf-step -n a -o out -- head -c 300000 /dev/zero"' 8
	done
}

# bats test_tags=turn:3
@test "a resume, a replay, and what is decided" {
	local times
	for times in 1 999; do
		BEFORE='echo a | awf-run -c "awf-step a -- cat; awf-step -n --pending b -- sh -c \"exit 75\""'
		told awf-run "$times" 'awf-run --resume @' 8
		told awf-ctl "$times" 'echo x | awf-ctl complete b' 1
		told awf-replay "$times" 'awf-replay --timeline --html page.html' 1
	done
}

# bats test_tags=turn:2
@test "a database" {
	BEFORE='awf-run -n -c "awf-step -n a -q -- true"'
	# Of a file that SQLite cannot make it says this.
	TOO='unable to open database file$'
	told awf-ship-sqlite 1 'awf-ship --to sqlite:runs.db' 60
}
