#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-serve: lists and events in their forms: chosen, projected, outlined.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

record() { awf-run -n --name "${1:-demo}" -c "${2:-printf 'a\nb\n' | awf-step -i lines up -q -- tr a-z A-Z}"; }

@test "a list is chosen from, and comes in pages" {
	for name in one two three four; do record "$name"; done
	run -3 record bad 'awf-step -n -q a -- false'
	record outer 'awf-run -n --name inner -c "awf-step -n -q b -- true"'
	serve
	names() { ask "/api/runs$1" | jq -rc '[.runs[].name] | join(" ")'; }
	same "$(names '')" 'outer bad four three two one'
	same "$(names '?children=1&limit=2')" 'inner outer'
	same "$(names '?name=t*,one')" 'three two one'
	same "$(names '?status=failed')" bad
	same "$(ask '/api/runs' | jq -c '.runs[1:3] | map(.error.code)')" '["exit_status",null]'
	same "$(ask /api/runs/@bad | jq -r .error.message)" 'false: exit status 1'
	same "$(names '?since=1h&limit=1')" outer
	same "$(names '?since=2999-01-01')" ''
	next=$(ask '/api/runs?limit=4' | jq -r .next)
	same "$(names "?before=$next")" 'two one'
	same "$(ask "/api/runs?before=$next" | jq -c .next)" null
	same "$(names '?limit=0')" ''
	while IFS='|' read -r wrong message; do
		same "$(ask "/api/runs?$wrong" | jq -r '"\(.error.code): \(.error.message)"')" "invalid_input: $message"
	done <<-'END'
		limit=1001|limit is to be a whole number from 0 to 1000
		limit=x|limit is to be a whole number from 0 to 1000
		limit=|limit is to be a whole number from 0 to 1000
		children=9223372036854775808|children is to be a whole number from 0 to 1
		status=lost|status is one of queued, running, waiting, success, failed, cancelled, timeout, died
		since=soon|since is no time (as in 2026-11-21, 2h)
		before=1|before is the id of a run
		other=1|the parameter other is not known here, but these: name status since limit before children sort turned
		since+limit=1|the parameter since limit is not known here, but these: name status since limit before children sort turned
		limit=1&limit=2|a parameter is given twice
	END
}

@test "changes of the list come as they happen" {
	record before
	mkfifo go
	serve
	ask /api/runs/stream >list 3>&- &
	eventually grep -q retry list
	awf-run -n --name after -c 'awf-step -n a -q -- cat go' 3>&- &
	eventually grep -q '"name":"after","status":"running"' list
	echo >go
	eventually grep -q '"name":"after","status":"success".*"calls":1' list
	run ! grep -q before list
	# One that is killed is told, though nothing of it changes.
	awf-run -n --name killed -c 'awf-step -n a -q -- cat go' 3>&- &
	eventually grep -q '"name":"killed","status":"running"' list
	kill -KILL "$!"
	eventually grep -q '"name":"killed","status":"died"' list
	rm "$(transcript)"
	eventually grep -qx 'event: gone' list
}

# bats test_tags=turn:4
@test "changes of the list come whatever becomes of the directory of the transcripts" {
	record before
	serve
	ask '/api/runs/stream' >list 3>&- &
	eventually grep -q retry list
	same "$(ask /api/runs | jq -c '[.runs[].name]')" '["before"]'
	told() { [ "$(grep -o '"name":"[^"]*","status":"success"\|^event: gone' list | sed 's/^"name":"\(.*\)","status.*/\1/; s/^event: //' | uniq | paste -sd' ')" = "$1" ]; }
	# Another one takes its place, and is removed.
	mv "$AWF_STORAGE/transcripts" aside
	record second
	eventually told 'gone second'
	rm -r "$AWF_STORAGE/transcripts"
	eventually told 'gone second gone'
	# What comes back is told of as it was.
	mv aside "$AWF_STORAGE/transcripts"
	eventually told 'gone second gone before'
	record third
	eventually told 'gone second gone before third'
	# A list that is asked for meanwhile hides nothing.
	rm "$(transcript)"
	ask /api/runs >/dev/null
	eventually told 'gone second gone before third gone'
}

@test "what cannot be read is not said to be none" {
	record first
	record second
	# Root may read anything, but for what it has given away.
	[ "$EUID" != 0 ] || awf-serve() { exec setpriv --bounding-set -dac_override,-dac_read_search "$BUILD/bin/awf-serve" "$@"; }
	serve
	file=$(transcript)
	id=$(basename "$file" .jsonl)
	said() { ask "$1" | jq -r '.error | "\(.code): \(.message)"'; }
	chmod 000 "$file"
	for path in '' /events '/events?follow=1' '/events?as=runtime' /events/1 /events/stream /outline; do
		same "$path $(said "/api/runs/$id$path")" "$path internal: the server failed to do it: its log says why"
	done
	grep -qF "$file: unable to open: Permission denied" "$BATS_TEST_TMPDIR/serve.err"
	same "$(ask /api/runs | jq -c '[.runs[].name]')" '["first"]'
	chmod 600 "$file"
	same "$(ask "/api/runs/$id/events" | cmp - "$file")" ''
	for mode in '000 transcripts' '000 .'; do
		chmod "${mode% *}" "$AWF_STORAGE/${mode#* }"
		for path in /api/runs "/api/runs?name=second" /metrics /healthz "/api/runs/$id" /api/runs/@ /api/runs/@second "/api/runs/$id/events" \
			"/api/runs/@/events/stream" "/workflows/$id/events" "/api/runs/$id/blobs/$(printf 0%.0s {1..64})"; do
			same "$mode $path $(said "$path")" "$mode $path unavailable: the storage cannot be read"
		done
		chmod 700 "$AWF_STORAGE/${mode#* }"
	done
	same "$(ask /api/runs | jq -c '[.runs[].name]')" '["second","first"]'
}

@test "events are chosen by type and path" {
	record demo 'awf-step -n -q a -- true; awf-step -n -q b -- true'
	serve
	for query in 'type=step.*' 'path=b' 'type=step.started&path=b' 'type=none'; do
		options=$(sed 's/&/ /g; s/^\| / --/g' <<<"$query")
		# shellcheck disable=SC2086
		same "$(ask "/api/runs/@/events?$query")" "$(awf-tail --json $options)"
		same "$(ask "/api/runs/@/events/stream?$query" | messages | sed '/^end: /d; s/ [^ ]*$//')" \
			"$(ask "/api/runs/@/events?$query")"
	done
	same "$(ask '/api/runs/@/events?type=step.*&limit=2&after=2' | jq -c .seq | paste -sd' ')" '3 4'
}

@test "events come in other vocabularies, by their own numbers" {
	record
	serve
	for name in runtime langgraph interagent agent-event daemon-event otlp; do
		awf-tail --as "$name" >whole
		ask "/api/runs/@/events?as=$name" >served
		cmp whole served
		ask "/api/runs/@/events/stream?as=$name" | messages >messages
		same "$(sed '$d; s/ [^ ]*$//' messages)" "$(cat whole)"
		# What follows the second line.
		id=$(sed -n '2s/.* //p' messages)
		same "$(ask "/api/runs/@/events?as=$name&after=$id&limit=1")" "$(sed -n 3p whole)"
		same "$(ask "/api/runs/@/events/stream?as=$name" -H "Last-Event-ID: $id" | messages | head -n 1)" \
			"$(sed -n 3p messages)"
		last=$(sed '$d' messages | sed -n '$s/.* //p')
		same "$(ask "/api/runs/@/events/stream?as=$name" -H "Last-Event-ID: $last" -w '%{http_code}')" 204
	done
	# By offset, as a workflow runtime has it: 0 and none are everything.
	awf-tail --as runtime >whole
	same "$(ask /workflows/@/events)" "$(cat whole)"
	same "$(ask '/workflows/@/events?offset=0')" "$(cat whole)"
	same "$(ask '/workflows/@/events?offset=3')" "$(sed 1,4d whole)"
	for wrong in as=none as=agentloom 'as=runtime&type=x' 'as=runtime&path=x'; do
		same "$(ask "/api/runs/@/events?$wrong" | jq -r .error.code)" invalid_input
	done
}

@test "a projection is followed while the run goes on" {
	mkfifo go
	awf-run -n --name slow -c 'awf-step -n a -q -- cat go; awf-step -n b -q -- cat go' 3>&- &
	serve
	eventually test -e "$AWF_STORAGE/latest"
	ask /workflows/@/events >events 3>&- &
	stream=$!
	eventually grep -q '"path":"a"' events
	echo >go
	eventually grep -q '"path":"b"' events
	echo >go
	wait "$stream"
	same "$(grep -v '^$' events)" "$(awf-tail --as runtime)"
}

@test "an outline says what there is, in parts" {
	record demo 'awf-step -i lines outer -q -- awf-step inner -r -q -- tr a-z A-Z <<END
a
b
END
	awf-step -n -q --try bad -- sh -c "echo wrong >&2; exit 3" || true'
	serve
	ask /api/runs/@/outline >outline
	same "$(jq -c '[.events[] | .[0:2]]' outline)" "$(jq -sc '[.[] | [.seq, .type]]' "$(transcript)")"
	same "$(jq -c '[.calls[] | [.id, .state, .around]]' outline)" \
		'[["outer:0:0","succeeded",null],["outer:0:0/inner:0:0","succeeded",0],["outer:0:1","succeeded",null],["outer:0:1/inner:0:0","succeeded",2],["bad:0:0","failed",null]]'
	same "$(jq -c .next outline)" null
	# Whose each event is, how long what it ends took, its size, and a word.
	same "$(jq -c '[.events[] | .[2]]' outline)" '[-1,0,1,1,0,2,3,3,2,4,4,-1]'
	same "$(jq -c '.events[10] | [.[4] > 0, .[5], .[6], .[7]]' outline)" \
		"[true,$(sed -n 11p "$(transcript)" | tr -d '\n' | wc -c),\"sh: exit status 3: wrong\",\"exit_status\"]"
	# In parts: all events, and each with the calls that it is of, and those around them.
	after=0
	while [ "$after" != null ]; do
		ask "/api/runs/@/outline?after=$after&limit=5" >part
		same "$(jq '[.calls[].n] as $n | all(.events[]; .[2] == -1 or (.[2] | IN($n[]))) and
			all(.calls[]; .around == null or (.around | IN($n[])))' part)" true
		jq -c '.events[]' part >>events
		after=$(jq .next part)
	done
	same "$(cat events)" "$(jq -c '.events[]' outline)"
}

@test "what waits is shown with what it is asked about" {
	run -75 record demo 'printf "a draft" | awf-step --approve check -q; printf x | awf-step --pending work -q -- sh -c "exit 75"'
	serve
	ask /api/runs/@ >run
	same "$(jq -c '[.status, .waiting, .calls.waiting]' run)" '["waiting",2,2]'
	same "$(jq -c '.waits | map([.call, .path, .for, .input.text])' run)" \
		'[["check:0:0","check","approval","a draft"],["work:0:0","work","completion","x"]]'
	same "$(jq -r '.waits[0].since | length' run)" 27
	awf-ctl approve check @ 2>/dev/null
	same "$(ask /api/runs/@ | jq -c '[.waiting, [.waits[].call]]')" '[1,["work:0:0"]]'
}

@test "a blob is saved, and shown only if it is a picture" {
	record big 'head -c 300000 /dev/zero | tr "\0" x | awf-step -r -q big -- cat >/dev/null'
	printf '\x89PNG\r\n\x1a\n00000000' >picture.png
	sha=$(jq -r '.refs[0].sha256 // empty' "$(transcript)" | head -n 1)
	run_id=$(basename "$(transcript)" .jsonl)
	picture=$(sha256sum <picture.png | cut -c 1-64)
	cp picture.png "$AWF_STORAGE/blobs/$run_id/$picture"
	serve
	same "$(ask "/api/runs/@/blobs/$sha" -D headers | sha256sum)" "$sha  -"
	grep -qi '^content-type: application/octet-stream' headers
	grep -qi '^content-disposition: attachment' headers
	grep -qi '^content-security-policy: .*sandbox' headers
	same "$(ask "/api/runs/@/blobs/$picture" -D headers | sha256sum)" "$picture  -"
	grep -qi '^content-type: image/png' headers
	for none in "${sha/?/0}" "${sha:0:63}" ..%2f..%2fserve%2ftokens "$sha%00"; do
		[[ $(ask "/api/runs/@/blobs/$none" | jq -r .error.code) =~ not_found|invalid_input ]]
	done
}
