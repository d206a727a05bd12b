#!/usr/bin/env bats
# awf-serve: many clients, and what they cost.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

record() { awf-run -n --name demo -c 'awf-step -n a -q -- true; awf-step -n b -q -- true'; }

# Hundredths of a second of processor time that the server has used.
used() { awk '{ print $14 + $15 }' "/proc/$SERVE_PID/stat"; }

# So many clients of each path, which idle; what is said to them goes to descriptor 8.
crowd() {
	mkfifo crowd.in
	python3 -S "$ROOT/tests/support/crowd.py" "$BATS_TEST_TMPDIR/socket" "$@" \
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

# The next server has so many descriptors and no more.
few_descriptors() {
	mkdir -p shim
	printf '#!/bin/sh\nulimit -n %d\nexec "%s" "$@"\n' "$1" "$(command -v awf-serve)" >shim/awf-serve
	chmod +x shim/awf-serve
	PATH=$PWD/shim:$PATH
}

# Asks for each path on standard input in a connection of its own, and holds them all until its
# descriptor 7 is closed; what status each got.
hold_all() {
	mkfifo hold.in
	python3 - "$BATS_TEST_TMPDIR/socket" paths 3>&- >held <hold.in 4<&0 <<-'END' &
		import os, socket, sys
		clients = []
		for path in open(sys.argv[2]):
		    client = socket.socket(socket.AF_UNIX)
		    client.connect(sys.argv[1])
		    clients.append(client)
		    got = b""
		    try:
		        client.sendall(f"GET {path.strip()} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
		    except BrokenPipeError:
		        pass  # it was told before it asked
		    while b"\r\n\r\n" not in got and (data := client.recv(65536)):
		        got += data
		    print(got[9:12].decode() + (" retry" if b"\r\nRetry-After: " in got else ""), flush=True)
		os.read(4, 1)
	END
	HOLD_PID=$!
	exec 7>hold.in
	all_held() { [ "$(wc -l <held)" -eq "$(wc -l <paths)" ]; }
	eventually all_held
}
let_go() {
	exec 7>&-
	wait "$HOLD_PID"
	rm hold.in
}
statuses() { sort held | uniq -c | tr -s ' ' | sed 's/^ //; s/ $//' | paste -sd,; }

@test "connections that show no token keep nobody out who has one" {
	record
	serve --clients 100
	TOKEN=$(awf-serve --new-token read)
	# More than there are places: they send nothing, a part of a head, or a request that is refused.
	python3 -S - "$PORT" >stood 3>&- <<-'END' &
		import socket, sys, time
		kept = []
		for i in range(300):
		    kept.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20))
		    kept[-1].sendall([b"", b"G", b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"POST /api/session HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
		        b"Content-Type: application/json\r\nContent-Length: 999\r\n\r\n" % int(sys.argv[1])][i % 4])
		print("all", flush=True)
		time.sleep(60)
	END
	strangers=$!
	eventually grep -q all stood
	for _ in 1 2 3; do
		same "$(status_of -H "Authorization: Bearer $TOKEN" "$URL/api/runs")" 200
		same "$(ask /api/runs -o body -w '%{http_code}')" 200
	done
	[ "$(ask /metrics | sed -n 's/^awf_serve_clients //p')" -le 101 ]
	kill "$strangers"
}

@test "who finds no room is told so, and those who have some are served" {
	record
	few_descriptors 64
	serve --clients 1000
	yes '/api/runs/@/events/stream?follow=always' | head -n 100 >paths
	hold_all
	[[ $(statuses) =~ ^([0-9]+)\ 200,([0-9]+)\ 503\ retry$ ]]
	[ "${BASH_REMATCH[1]}" -ge 30 ]
	[ "$((BASH_REMATCH[1] + BASH_REMATCH[2]))" -eq 100 ]
	idles crowded
	same "$(status_of "$URL/healthz")" 503
	let_go
	healthy() { [ "$(status_of "$URL/healthz")" = 200 ]; }
	eventually healthy
	serve_end
}

@test "files of many runs leave descriptors for what is looked into at once" {
	for _ in {1..30}; do awf-run -n -c true; done
	few_descriptors 64
	serve
	for file in "$AWF_STORAGE"/transcripts/*.jsonl; do
		run_id=$(basename "$file" .jsonl)
		printf '%s\n' "/api/runs/$run_id/events/stream?follow=always" "/api/runs/$run_id/events/stream?follow=always&as=runtime"
	done >paths
	hold_all
	[[ $(statuses) =~ ^([0-9]+)\ 200,([0-9]+)\ 503\ retry$ ]]
	[ "${BASH_REMATCH[1]}" -ge 15 ]
	let_go
	# All of it is given back.
	healthy() { [ "$(ask "/api/runs/@/events?as=runtime" | wc -l)" -gt 0 ]; }
	eventually healthy
	serve_end
}

@test "a server that can let nobody in waits, and does not go round and round" {
	record
	serve
	yes /healthz | head -n 20 >paths
	hold_all
	let_go
	prlimit --pid "$SERVE_PID" --nofile=4:64
	ask /healthz >late 3>&- &
	idles full
	[ ! -s late ]
	prlimit --pid "$SERVE_PID" --nofile=64:64
	wait "$!"
	same "$(cat late)" ok
	serve_end
}

@test "clients are limited, all together and from one address" {
	record
	serve --clients 6 --clients-per-address 3 --trusted-proxy 127.0.0.1
	TOKEN=$(awf-serve --new-token read)
	from() {
		ask_tcp '/api/runs/@/events/stream?follow=always' -H "X-Forwarded-For: 10.9.9.9, $1" >"stream.$2" 3>&- &
		eventually grep -q run.completed "stream.$2"
	}
	from 10.0.0.1 1
	from 10.0.0.1 2
	first=$!
	same "$(status_of -H "Authorization: Bearer $TOKEN" -H 'X-Forwarded-For: 10.0.0.1' "$URL/api/runs")" 200
	from 10.0.0.1 3
	same "$(status_of -D headers -H "Authorization: Bearer $TOKEN" -H 'X-Forwarded-For: 10.0.0.1' "$URL/api/runs")" 429
	grep -qi '^retry-after: [0-9]' headers
	same "$(jq -r .error.code "$BATS_TEST_TMPDIR/body")" too_many
	# Who has been told so may ask again on the same connection.
	python3 - "$PORT" "$TOKEN" >again 3>&- <<-'END' &
		import http.client, itertools, sys, time
		client = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
		headers = {"Authorization": "Bearer " + sys.argv[2], "X-Forwarded-For": "10.0.0.1"}
		def ask():
		    client.request("GET", "/api/runs", headers=headers)
		    answer = client.getresponse()
		    answer.read()
		    return answer.status
		print(ask(), flush=True)
		end = time.monotonic() + 20
		while (status := ask()) != 200 and time.monotonic() < end:
		    time.sleep(0.05)
		print(status)
	END
	asks_again=$!
	eventually grep -q 429 again
	# What others say of themselves before it does not count.
	same "$(status_of -H "Authorization: Bearer $TOKEN" -H 'X-Forwarded-For: 10.0.0.1, 10.0.0.2' "$URL/api/runs")" 200
	same "$(status_of -H "Authorization: Bearer $TOKEN" -H 'X-Forwarded-For: 10.0.0.2' -H 'X-Forwarded-For: 10.0.0.1' "$URL/api/runs")" 429
	from 2001:db8::1 4
	from 10.0.0.2 5
	same "$(status_of -D headers "$URL/healthz")" 503
	grep -qi '^retry-after: [0-9]' headers
	same "$(jq -r .error.code "$BATS_TEST_TMPDIR/body")" unavailable
	pkill -P "$first" || true # curl, where the shell runs it as its child
	kill "$first" 2>/dev/null || true
	wait "$asks_again"
	same "$(paste -sd' ' again)" '429 200'
	same_status() { [ "$(status_of -H "Authorization: Bearer $TOKEN" -H 'X-Forwarded-For: 10.0.0.1' "$URL/api/runs")" = "$1" ]; }
	eventually same_status 200
	# Of an address of its own as of any other.
	serve_end
	address=$(hostname -I 2>/dev/null | cut -d' ' -f1)
	[[ $address =~ ^[0-9.]+$ ]] || return 0
	serve --clients-per-address 2 --listen "$address:0" --host "$address"
	own=$(sed -n "s/.*\(http:\/\/$address:.*\)/\1/p" "$BATS_TEST_TMPDIR/serve.err")
	for i in 1 2; do
		curl -sN -H "Authorization: Bearer $TOKEN" "$own/api/runs/stream" >"list.$i" 3>&- &
		eventually grep -q retry "list.$i"
	done
	same "$(status_of "$own/healthz")" 429
	kill %%
	let_in() { [ "$(status_of "$own/healthz")" = 200 ]; }
	eventually let_in
}

@test "a body that comes a byte at a time costs no more the more clients there are" {
	mkdir flows
	echo true >flows/deploy.awf
	serve --workflows flows
	python3 - "$PORT" 3>&- <<-'END'
		import socket, sys
		address = ("127.0.0.1", int(sys.argv[1]))
		idle = [socket.create_connection(address) for _ in range(900)]
		client = socket.create_connection(address)
		client.sendall(b"POST /hooks/deploy HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nTransfer-Encoding: chunked\r\n"
		               b"X-Hub-Signature-256: sha256=%s\r\n\r\n" % (address[1], b"0" * 64))
		client.sendall(b"1\r\nx\r\n" * 400000 + b"0\r\n\r\n")
		assert client.recv(4096).startswith(b"HTTP/1.1 401 ")
	END
	[ "$(used)" -lt 30 ] || { echo "it took $(used) hundredths of a second" >&2; return 1; }
}

# bats test_tags=turn:2
@test "a busy server ends when it is told to" {
	serve
	python3 - "$PORT" 3>&- <<-'END' &
		import socket, sys, threading
		request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n" % sys.argv[1].encode()
		def flood():
		    client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		    threading.Thread(target=lambda: [None for _ in iter(lambda: client.recv(1 << 20), b"")], daemon=True).start()
		    try:
		        while True:
		            client.sendall(request * 100)
		    except OSError:
		        pass
		threads = [threading.Thread(target=flood) for _ in range(4)]
		[t.start() for t in threads]
		[t.join() for t in threads]
	END
	busy() { [ "$(used)" -gt 20 ]; }
	eventually busy
	serve_end
	wait "$!"
}
