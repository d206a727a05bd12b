#!/usr/bin/env bats
# awf-serve: many clients, and what they cost.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/serve

record() { awf-run -n --name demo -c 'awf-step -n a -q -- true; awf-step -n b -q -- true'; }

# Hundredths of a second of processor time that the server has used.
used() { awk '{ print $14 + $15 }' "/proc/$SERVE_PID/stat"; }

# So many clients of each path, which idle; what is said to them goes to descriptor 8.
crowd() {
	mkfifo crowd.in
	python3 "$ROOT/tests/support/crowd.py" "$BATS_TEST_TMPDIR/socket" "$@" \
		<crowd.in >crowd.out 3>&- &
	CROWD_PID=$!
	exec 8>crowd.in
	eventually grep -q ready crowd.out
}
crowd_end() {
	exec 8>&-
	wait "$CROWD_PID"
	rm crowd.in
}

# That the server does next to nothing now.
idles() {
	local before
	sleep 0.3
	before=$(used)
	sleep 1
	[ $(($(used) - before)) -lt 15 ] || { echo "$1: busy: $(($(used) - before)) ms/10 of a second" >&2; return 1; }
}

@test "idle clients cost nothing, whatever becomes of the file" {
	record
	file=$(transcript)
	events=/api/runs/$(basename "$file" .jsonl)/events
	serve
	crowd 60 /api/runs/stream "$events?follow=always" "$events/stream?follow=always" \
		"$events/stream?follow=always&as=runtime" "$events/stream?follow=always&type=none"
	idles ended
	# A line that is not whole, and that is cut off again, as a repair does it; then lines.
	size=$(stat -c %s "$file")
	printf '{"seq":9,"time' >>"$file"
	idles torn
	truncate -s "$size" "$file"
	idles repaired
	truncate -s $((size - 100)) "$file"
	idles 'cut within a line'
	truncate -s 0 "$file"
	idles empty
	rm "$file"
	idles removed
	crowd_end
	serve_end
}

@test "idle clients of a run that goes on cost nothing" {
	mkfifo go
	awf-run -n --name slow -c 'awf-step -n a -q -- cat go' 3>&- &
	runner=$!
	started() { grep -qs step.started "$AWF_STORAGE"/transcripts/*.jsonl; }
	eventually started
	serve
	crowd 300 /api/runs/@/events/stream
	idles alive
	echo x >go
	wait "$runner"
	idles ended
	# Each was told the end.
	echo >&8
	eventually grep -q '^300 ' crowd.out
	[ "$(sed -n 's/^300 //p' crowd.out)" -gt $((300 * 500)) ]
	crowd_end
	serve_end
}

@test "what was cut is told, and all comes anew, though the file grew again meanwhile" {
	record
	file=$(transcript)
	serve
	ask '/api/runs/@/events/stream?follow=always' >stream 3>&- &
	ask '/api/runs/@/events/stream?follow=always&as=runtime' >projected 3>&- &
	eventually grep -q run.completed stream
	eventually grep -q '^data: ' projected
	kill -STOP "$SERVE_PID"
	cp "$file" whole
	# Cut to two lines, and then longer than it was, between two looks at it.
	head -n 2 whole >"$file"
	sed -n 's/"seq":1,/"seq":3,/; s/demo/other/; 1p' whole >>"$file"
	yes "$(sed -n 2p whole)" | head -n 20 >>"$file"
	kill -CONT "$SERVE_PID"
	eventually grep -qx 'event: reset' stream
	eventually grep -qx 'event: reset' projected
	eventually grep -q '"other"' stream
	# And shorter, in the middle of a line.
	truncate -s -3 "$file"
	resets() { [ "$(grep -cx 'event: reset' stream)" -eq 2 ]; }
	eventually resets
	seqs() { messages <stream | tail -n "$1" | grep -o '"seq":[0-9]*' | tr -dc '0-9\n' | paste -sd' '; }
	last() { [ "$(seqs 22)" = "1 2 3$(printf ' 2%.0s' {1..19})" ]; }
	eventually last
}
