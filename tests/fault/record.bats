#!/usr/bin/env bats
# awf-record where it is killed, crowded, or out of room: nothing that was acknowledged is lost,
# nothing is there twice, and what is there is what was sent.
# shellcheck shell=bash disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../support/helpers

cleanup() {
	[ -z "${OWNER-}" ] || kill -9 "$OWNER" 2>/dev/null || true
}

# Transcripts of another machine in there/transcripts: some hundred lines each.
elsewhere() {
	local i
	for i in 1 2 3; do
		AWF_STORAGE=$PWD/there awf-run -n --name "run$i" -c 'seq 60 | awf-step -i lines a -q -- sh -c "head -c $((RANDOM % 3000)) /dev/zero | tr \"\\0\" x"' >printed 2>&1
	done
}

# What a program did, in one line, as durability.bats has it.
order() {
	rm -f trace
	env AWF_SYNC=step ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 TRACED=awf-record TRACE="$PWD/trace" \
		LD_PRELOAD="$BUILD/tests/fault/trace.so" "$@" >out
	tr '\n' ',' <trace
}

@test "what is acknowledged is on disk" {
	awf-run -n true
	trace=$(order awf-record --name job <<<'{"type":"x"}')
	same "${trace#*line run.started,}" 'rename ,line x,sync line,stdout ,line run.completed,sync line,rename directory,'
	# What another process may not have synced, too.
	trace=$(order awf-record @job < <(echo '{"type":"x","event_id":1}'; echo '{"type":"x","event_id":1}'))
	[[ $trace == *'line x,sync line,stdout ,line run.completed,'* ]]
	mkfifo in
	awf-record -q @job <in &
	OWNER=$!
	exec 8>in
	echo '{"type":"x","event_id":2}' >&8
	eventually grep -q '"event_id":2' "$(transcript)"
	same "$(order awf-record @job <<<'{"type":"x","event_id":2}')" 'sync line,stdout ,'
	same "$(jq -r .duplicate out)" true
	exec 8>&-
	wait "$OWNER"

	AWF_STORAGE=$PWD/there awf-run -n --name r -c 'awf-step -n a -q -- true'
	lines() { AWF_STORAGE=$PWD/there awf-tail --json; }
	# Whose it is comes first, then the transcript's name, then the lines, at once.
	same "$(order awf-record < <(lines))" 'sync directory,sync file,sync directory,sync directory,line run.started,sync line,stdout ,'
	same "$(order awf-record < <(lines))" 'sync line,stdout ,'
}

# bats test_tags=turn:3
@test "20 senders at once, doubled, in disorder, cut off, killed: the same files" {
	elsewhere
	for ((seed = 1; seed <= $(rounds 1 20); seed++)); do
		rm -rf "$AWF_STORAGE"
		run -0 --separate-stderr python3 "$ROOT/tests/fault/senders.py" lines there/transcripts "$seed" 20 "$(rounds 4 10)"
		same "$stderr" ''
		for file in there/transcripts/*.jsonl; do cmp "$file" "$AWF_STORAGE/transcripts/$(basename "$file")"; done
		same "$(awf-tail --list --json | jq -r .status | uniq)" success
	done
}

@test "events that many send, again and again as they are killed, are there once each" {
	for ((seed = 1; seed <= $(rounds 1 20); seed++)); do
		rm -f in
		mkfifo in
		awf-record --name "job$seed" <in >out &
		OWNER=$!
		exec 8>in
		echo '{"type":"first"}' >&8
		eventually [ -s out ]
		id=$(jq -r .run_id out)
		run -0 --separate-stderr python3 "$ROOT/tests/fault/senders.py" events "$id" "$seed" 8 "$(rounds 300 2000)"
		same "$stderr" ''
		exec 8>&-
		wait "$OWNER"
		: >out
		awf-verify -q "$id"
		same "$(jq -r .seq "$(transcript)")" "$(seq "$(wc -l <"$(transcript)")")"
	done
}

# bats test_tags=turn:2
@test "one that conducts a run, killed at any moment, goes on with it" {
	for ((i = 0; i < 300; i++)); do echo "{\"type\":\"x\",\"event_id\":$i,\"payload\":{\"text\":\"$(printf "%0$((RANDOM % 500 + 1))d" 0)\"}}"; done >events
	awf-record --name job </dev/null
	head -n 1 events | awf-record --name job >acknowledged
	id=$(jq -r .run_id acknowledged)
	for ((round = 0; round < $(rounds 8 200); round++)); do
		{ cat events; sleep 5; } | awf-record "$id" >>acknowledged 2>err 3>&- &
		pid=$(jobs -p | tail -n 1)
		sleep "0.0$((RANDOM % 6))"
		pkill -9 -P $BASHPID -x awf-record || true
		kill "$pid" 2>/dev/null || true
		wait 2>/dev/null || true
		# Whole lines; each once; all that was acknowledged.
		grep '"event_id":[0-9]*,"seq"\|duplicate' acknowledged | grep '}$' | sed 's/.*"event_id":\([0-9]*\).*/\1/' | sort -u >told
		grep '"type":"x"' "$(transcript)" | grep '"}$' | sed 's/.*"source":{"type":"x","event_id":\([0-9]*\)}.*/\1/' | sort >there
		same "$(uniq -d there)" ''
		same "$(comm -23 told there)" ''
	done
	awf-record -q "$id" <events
	same "$(grep -c '"type":"x"' "$(transcript)")" 300
	awf-verify -q
	same "$(awf-tail --list --json | jq -r .status)" success
}

@test "a full disk: what was acknowledged stands, and the rest comes when there is room" {
	unshare -m true 2>/dev/null || skip "needs the right to mount"
	elsewhere
	for ((i = 0; i < 400; i++)); do echo "{\"type\":\"x\",\"event_id\":$i,\"payload\":{\"text\":\"$(printf '%04000d' 0)\"}}"; done >events
	mkdir small
	run -0 unshare -m sh -euc 'mount -t tmpfs -o size=1m small small
		export AWF_STORAGE=$PWD/small/storage
		awf-record --name job <events >told 2>err && exit 1
		status=$?
		[ "$status" = 4 ] || { echo "status $status"; exit 1; }
		grep "No space left on device" err
		cp small/storage/transcripts/*.jsonl half.jsonl
		cat there/transcripts/*.jsonl | awf-record --origin them >told2 2>err2 && exit 1
		mount -o remount,size=16m small
		awf-record "$(head -n 1 told | jq -r .run_id)" <events >told3
		cat there/transcripts/*.jsonl | awf-record -q --origin them
		awf-verify -q "$(head -n 1 told | jq -r .run_id)"
		for file in there/transcripts/*; do cmp "$file" "small/storage/transcripts/${file##*/}"; done
		cp small/storage/transcripts/"$(head -n 1 told | jq -r .run_id)".jsonl whole.jsonl'
	same "$(grep -c '"type":"x"' whole.jsonl)" 400
	# Nothing was acknowledged then that was not there.
	same "$(tail -n 1 told | jq .seq)" "$(grep -c '"type":"x"' half.jsonl | awk '{ print $1 + 1 }')" ||
		[ "$(tail -n 1 told | jq .seq)" -le "$(wc -l <half.jsonl)" ]
	cmp -n "$(($(wc -c <half.jsonl)))" half.jsonl whole.jsonl
}

@test "a sync that fails: nothing is acknowledged, and nothing more is taken" {
	AWF_STORAGE=$PWD/there awf-run -n --name r -c 'awf-step -n a -q -- true'
	for fault in 'fdatasync 1 99 EIO'; do
		run -4 --separate-stderr env AWF_SYNC=step ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 FAULT="$fault" \
			LD_PRELOAD="$BUILD/tests/fault/preload.so" awf-record < <(AWF_STORAGE=$PWD/there awf-tail --json)
		same "$output" ''
		same "$(grep -c 'unable to sync' <<<"$stderr")" 1
	done
	AWF_STORAGE=$PWD/there awf-tail --json | awf-record >out
	cmp "$PWD"/there/transcripts/*.jsonl "$AWF_STORAGE"/transcripts/*.jsonl
}

# bats test_tags=turn:3
@test "a run that is removed while it is sent is there from its first line, or not at all" {
	elsewhere
	for ((round = 0; round < $(rounds 10 200); round++)); do
		for file in there/transcripts/*.jsonl; do
			for i in 1 2; do awf-record -q --lease 0 --origin them <"$file" 2>>err & done
		done
		for i in 1 2 3 4 5; do awf-ctl prune --max-count 0 2>>err || true; done
		wait
		for file in "$AWF_STORAGE"/transcripts/*.jsonl; do
			[ -e "$file" ] || continue
			cmp -n "$(wc -c <"$file")" "$file" "there/transcripts/$(basename "$file")"
			[ ! -s "$file" ] || [ -e "$AWF_STORAGE/origins/$(basename "$file" .jsonl)" ]
		done
	done
	awf-ctl prune --max-count 0
	same "$(find "$AWF_STORAGE/transcripts" "$AWF_STORAGE/origins" "$AWF_STORAGE/blobs" -type f)" ''
	same "$(grep -v 'would leave a gap\|is being removed' err)" ''
}
