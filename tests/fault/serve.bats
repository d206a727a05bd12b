#!/usr/bin/env bats
# awf-serve: connections that break, and a server that is killed, cost no event and double none.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/serve

# Each client for itself, by the same seeds each time; SEED=N for others.
client() {
	local name=$1
	shift
	python3 -S "$ROOT/tests/support/eventsource.py" "$@" "$CUTS" "$((${SEED:-1} * 10 + ${#CLIENTS[@]}))" \
		>"$name" 2>"$name.said" 3>&- &
	CLIENTS+=($!)
}

# Starts the server, which may have been killed, on the same socket.
start() {
	awf-serve --listen "unix:$BATS_TEST_TMPDIR/socket" 2>>"$BATS_TEST_TMPDIR/serve.err" 3>&- &
	SERVE_PID=$!
}

# Kills the server and starts it again, now and then, until the clients are done.
kill_server() {
	local kills=0
	while kill -0 "${CLIENTS[@]}" 2>/dev/null; do
		sleep "0.$((RANDOM % 9))"
		kill -KILL "$SERVE_PID"
		wait "$SERVE_PID" 2>/dev/null || true
		start
		kills=$((kills + 1))
	done
	echo "$kills kills" >&2
}

# Each client has the transcript, after at least so many connections, and was never told to begin
# anew.
have_all() {
	for name; do
		cat "$name.said" >&2
		cmp "$name" "$(transcript)"
		grep -q ' 0 resets' "$name.said"
		[ "$(cut -d' ' -f1 "$name.said")" -ge $((CUTS / 2)) ]
	done
	for client in "${CLIENTS[@]}"; do wait "$client"; done
	kill "$SERVE_PID"
	wait "$SERVE_PID"
}

workflow='awf-step -i lines up -q -- sh -c "tr a-z A-Z; sleep 0.02"'

@test "every event comes once and in order, however often a connection breaks or the server is killed" {
	CUTS=$(rounds 20 1000) CLIENTS=()
	seq "$(rounds 50 600)" | awf-run --name demo -c "$workflow; printf over | awf-step -r -q the-last -- cat" >/dev/null 3>&- &
	runner=$!
	started() { [ -e "$AWF_STORAGE/latest" ] && [ -s "$(transcript)" ]; }
	eventually started
	start
	url=/api/runs/$(basename "$(transcript)" .jsonl)/events/stream
	client one "$BATS_TEST_TMPDIR/socket" "$url?follow=always" '"type":"run.completed"'
	client two "$BATS_TEST_TMPDIR/socket" "$url" '"type":"run.completed"'
	client three --curl "$BATS_TEST_TMPDIR/socket" "$url?follow=always" '"type":"run.completed"'
	kill_server
	wait "$runner"
	have_all one two three
}

# bats test_tags=turn:2
@test "what a killed run left torn is never sent, and what follows its repair is" {
	CUTS=$(rounds 20 300) CLIENTS=()
	seq "$(rounds 30 200)" | setsid awf-run --name demo -c "$workflow" >/dev/null 3>&- &
	runner=$!
	going() { [ -e "$AWF_STORAGE/latest" ] && [ "$(grep -c step.completed "$(transcript)")" -ge 5 ]; }
	eventually going
	start
	url=/api/runs/$(basename "$(transcript)" .jsonl)/events/stream
	client one "$BATS_TEST_TMPDIR/socket" "$url?follow=always" '"type":"run.completed"'
	client two --curl "$BATS_TEST_TMPDIR/socket" "$url?follow=always" '"type":"run.completed"'
	kill -KILL -- "-$runner"
	wait "$runner" 2>/dev/null || true
	# A line of which not all was written, nor at once.
	for _ in {1..3}; do
		sed -n 4p "$(transcript)" | head -c 70 | tr -d '\n' >>"$(transcript)"
		sleep 0.1
	done
	awf-run --resume @ >/dev/null 2>resumed
	grep -q 'moved 210 bytes of a torn line' resumed
	kill_server
	have_all one two
}
