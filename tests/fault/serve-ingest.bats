#!/usr/bin/env bats
# awf-serve where those who send are many, in disorder and cut off, and where it is killed itself:
# nothing that was acknowledged is lost, nothing is there twice, and what is there is what was sent.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/serve

cleanup() {
	[ -z "${KILLER-}" ] || { touch stop; wait "$KILLER" || true; }
	# shellcheck disable=SC2046
	kill -9 $(cat pid tails 2>/dev/null) 2>/dev/null || true
	serve_end
}

# Transcripts of a machine in NAME/transcripts.
machine() {
	local i
	for i in 1 2; do
		AWF_STORAGE=$PWD/$1 awf-run -n --name "$1-$i" -c 'seq 60 | awf-step -i lines a -q -- sh -c "head -c $((RANDOM % 3000)) /dev/zero | tr \"\\0\" x"' >printed 2>&1
	done
}

# A server that is killed again and again, at any moment, until there is a file "stop": then one
# goes on.
killed_server() {
	PORT=$(python3 -Sc 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
	URL=http://127.0.0.1:$PORT
	export URL
	while :; do
		awf-serve --listen "127.0.0.1:$PORT" >/dev/null 2>>err &
		echo $! >pid
		[ ! -e stop ] || break
		sleep "$((RANDOM % 2)).$((RANDOM % 10))"
		kill -9 "$(cat pid)"
		wait "$(cat pid)" 2>/dev/null || true
	done 3>&- &
	KILLER=$!
	eventually curl -s -o /dev/null "$URL/healthz"
}

# No more of that; the server that stays answers.
stays() {
	touch stop
	wait "$KILLER"
	KILLER=
	eventually curl -s -o /dev/null "$URL/healthz"
}

# bats test_tags=turn:3
@test "two machines, 20 senders at once, doubled, in disorder, cut off; the server killed: the same files" {
	machine a
	machine b
	for ((seed = 1; seed <= $(rounds 1 20); seed++)); do
		rm -rf "$AWF_STORAGE" stop
		mkdir -p "$AWF_STORAGE"
		token_a=$(awf-serve --new-token ingest --label a)
		token_b=$(awf-serve --new-token ingest --label b)
		killed_server
		TOKEN=$token_a python3 "$ROOT/tests/fault/senders.py" lines a/transcripts "$((seed * 2))" 10 "$(rounds 6 20)" 2>faults_a 3>&- &
		a=$!
		TOKEN=$token_b python3 "$ROOT/tests/fault/senders.py" lines b/transcripts "$((seed * 2 + 1))" 10 "$(rounds 6 20)" 2>faults_b 3>&- &
		b=$!
		wait "$a" || status_a=$?
		wait "$b" || status_b=$?
		stays
		same "$(cat faults_a faults_b)${status_a-}${status_b-}" ''
		for file in {a,b}/transcripts/*.jsonl; do
			cmp "$file" "$AWF_STORAGE/transcripts/$(basename "$file")"
			awf-verify -q "$(basename "$file" .jsonl)"
		done
		same "$(awf-tail --list --json | jq -r '[.name[:1], .origin[:1], .status] | join(" ")' | sort | uniq -c | awk '{ print $1, $2, $3, $4 }')" '2 a a success
2 b b success'
		kill "$(cat pid)"
	done
	# What it said is that it listened, and what it found torn.
	same "$(grep -v ': http://\|moved' err)" ''
}

# Sends lines as they come, at most twenty at a time and each twice, by curl, until they are taken.
send_on() {
	local batch='' line count=0
	while IFS= read -r line; do
		batch+=$line$'\n'
		count=$((count + 1))
		if [ "$count" -lt 20 ] && read -r -t 0; then continue; fi
		for _ in 1 2; do
			until printf %s "$batch" | curl -sf -o /dev/null --max-time 10 -H "Authorization: Bearer $1" \
				-H 'Content-Type: application/x-ndjson' --data-binary @- "$URL/api/ingest"; do
				sleep 0.1
			done
		done
		batch='' count=0
	done
}

@test "two machines are followed by awf-tail -F and curl, while they work and the server is killed" {
	mkdir -p a b "$AWF_STORAGE"
	killed_server
	for machine in a b; do
		token=$(awf-serve --new-token ingest --label "$machine")
		AWF_STORAGE=$PWD/$machine awf-tail -F -R --json 2>/dev/null 3>&- >"$machine/stream" &
		echo $! >>tails
		# It shows the latest run, and those that come: what was over by then it does not know.
		eventually sh -c "ls -l /proc/$!/fd | grep -q inotify"
		tail -n +1 -f "$machine/stream" 2>/dev/null 3>&- > >(send_on "$token" 3>&-) &
		echo $! >>tails
	done
	for ((round = 0; round < $(rounds 2 20); round++)); do
		for machine in a b; do
			AWF_STORAGE=$PWD/$machine awf-run -n --name "$machine$round" -c 'seq 20 | awf-step -i lines one -q -- true; awf-run -n --name inner -c "awf-step -n two -r -- echo x"' >/dev/null 3>&- &
			runs+=($!)
		done
		wait "${runs[@]}"
		runs=()
	done
	stays
	all() { for file in {a,b}/transcripts/*.jsonl; do cmp -s "$file" "$AWF_STORAGE/transcripts/$(basename "$file")" || return 1; done; }
	eventually all
	same "$(awf-tail --list -R -n 1000 --json | jq -r .status | sort | uniq -c | awk '{ print $1, $2 }')" "$(($(rounds 2 20) * 4)) success"
	kill "$(cat pid)"
}

@test "events that many send, again and again, are there once each, with seqs without a gap" {
	for ((seed = 1; seed <= $(rounds 1 20); seed++)); do
		rm -rf "$AWF_STORAGE" stop
		mkdir -p "$AWF_STORAGE"
		TOKEN=$(awf-serve --new-token ingest)
		export TOKEN
		killed_server
		run -0 --separate-stderr python3 "$ROOT/tests/fault/senders.py" events 0b7a1c52-93d4-4e8f-a6b0-5c1d2e3f4a5b "$seed" 8 "$(rounds 300 2000)"
		stays
		same "$stderr" ''
		awf-verify -q 0b7a1c52
		same "$(jq -r .seq "$(transcript)")" "$(seq "$(wc -l <"$(transcript)")")"
		kill "$(cat pid)"
	done
}

@test "a full disk: what was acknowledged stands, and the rest comes when there is room" {
	unshare -m true 2>/dev/null || skip "needs the right to mount"
	machine a
	machine b
	for ((i = 0; i < 400; i++)); do echo "{\"type\":\"x\",\"event_id\":$i,\"runId\":\"job\",\"payload\":{\"text\":\"$(printf '%04000d' 0)\"}}"; done >events
	head -c 3000000 /dev/urandom >blob
	mkdir small
	cat >script <<-'END'
		mount -t tmpfs -o size=1m small small
		export AWF_STORAGE=$PWD/small/storage
		mkdir -p "$AWF_STORAGE"
		token=$(awf-serve --new-token ingest)
		awf-serve --listen 127.0.0.1:0 >out 2>err &
		trap 'kill %1' EXIT
		until [ -s out ]; do sleep 0.05; done
		url=$(sed 's/\/#.*//' out)
		send() { curl -sS -o "$1.json" -w '%{http_code}' -H "Authorization: Bearer $token" -H 'Content-Type: application/x-ndjson' --data-binary @- "$url/api/ingest"; }
		# Blobs as large have no room, nor is any left behind.
		sha=$(sha256sum <blob | cut -d' ' -f1)
		put() { curl -sS -o put.json -w '%{http_code}' -H "Authorization: Bearer $token" -T blob "$url/api/runs/11111111-1111-4111-8111-111111111111/blobs/$sha"; }
		[ "$(put)" = 503 ]
		[ "$(find small/storage/incoming -name '*.part' | wc -l)" = 0 ]
		[ "$(send half <events)" = 503 ]
		run=$(jq -r '.runs[0]' half.json)
		[ "$(wc -l <"small/storage/transcripts/$run.jsonl")" = "$(jq '.accepted + 1' half.json)" ]
		cp "small/storage/transcripts/$run.jsonl" half.jsonl
		[ "$(cat {a,b}/transcripts/*.jsonl | send none)" = 503 ]
		grep 'No space left on device' err
		# The server answers all the same, and goes on when there is room.
		[ "$(curl -s "$url/healthz")" = ok ]
		mount -o remount,size=32m small
		[ "$(send rest <events)" = 200 ]
		[ "$(jq '.accepted + .duplicates' rest.json)" = 400 ]
		cat {a,b}/transcripts/*.jsonl | send all
		for file in {a,b}/transcripts/*; do cmp "$file" "small/storage/transcripts/${file##*/}"; done
		[ "$(put)" = 201 ]
		awf-verify -q "$run"
		cp "small/storage/transcripts/$run.jsonl" whole.jsonl
	END
	run -0 unshare -m bash -eux script
	same "$(grep -c '"type":"x"' whole.jsonl)" 400
	cmp -n "$(($(wc -c <half.jsonl)))" half.jsonl whole.jsonl
}
