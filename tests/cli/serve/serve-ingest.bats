#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-serve takes in what happened elsewhere: whose it is, what is refused and how, and that
# nothing is written then. Crowds and kills are in tests/fault/serve-ingest.bats.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

# A storage of another machine, and a run of it with steps.
there() { AWF_STORAGE=$PWD/there "$@"; }
there_is() { there awf-run -n --name "$1" -c 'awf-step -n a -r -- echo one; awf-step -n b -q -- false' >printed 2>&1 || true; }
there_id() { there awf-tail --list --json -n 1 | jq -r .run_id; }
# The status of a request of the token, whose answer is in $answer: [CURL OPTION...] PATH.
send() {
	status=$(status_of -H "Authorization: Bearer $TOKEN" "${@:1:$#-1}" "$URL${*: -1}")
	answer=$(cat "$BATS_TEST_TMPDIR/body")
}
# Lines, or a document, from stdin or a file.
send_lines() { send -H 'Content-Type: application/x-ndjson' --data-binary "@${1:--}" /api/ingest; }
send_json() { send -H 'Content-Type: application/json' --data-binary "@${1:--}" /api/ingest; }
# An upload that goes on as long as stdin does, and its answer, with the head, however soon it comes.
upload() { python3 -S "$ROOT/tests/support/upload.py" "$PORT" "$TOKEN" /api/ingest; }
# Members of the answer: FILTER.
said() { jq -c "$1" <<<"$answer"; }
# Everything in the storage that belongs to runs.
written() { find "$AWF_STORAGE" -path "$AWF_STORAGE/serve" -prune -o -type f -printf '%P %s\n' | grep -v '^incoming/lock\|^latest\|audit' | sort; }

start() {
	mkdir -p "$AWF_STORAGE"
	TOKEN=$(awf-serve --new-token ingest --label laptop)
	OTHER=$(awf-serve --new-token ingest --label other)
	serve "$@"
}

@test "who may: nobody without a token with the role, for nothing else" {
	start
	there_is flow
	there awf-tail --json >lines
	good=$TOKEN
	for TOKEN in '' awf_nothing "$(awf-serve --new-token read)" "$(awf-serve --new-token decide)" "$(awf-serve --new-token start)"; do
		send_lines lines
		[ "$status" = 401 ] || [ "$status" = 403 ]
		send -T lines "/api/runs/$(there_id)/blobs/$(sha256sum <lines | cut -d' ' -f1)"
		[ "$status" = 401 ] || [ "$status" = 403 ]
		send -H 'Content-Type: application/json' -d '{"status":"failed"}' "/api/runs/$(there_id)/end"
		[ "$status" = 401 ] || [ "$status" = 403 ]
	done
	same "$(written)" ''
	TOKEN=$good
	send "/api/runs"
	same "$status" 403
	# A page of elsewhere may not either.
	send -H 'Origin: http://evil.example' -H 'Content-Type: application/x-ndjson' --data-binary @lines /api/ingest
	same "$status" 403
	same "$(written)" ''
	# On the socket the user whose server it is needs none: he is who uses awf-record here.
	ask /api/ingest -H 'Content-Type: application/x-ndjson' --data-binary @lines >answer
	same "$(jq -r .accepted answer)" "$(wc -l <lines)"
	same "$(awf-tail --list --json | jq -r .origin)" local
	run -0 awf-record -q <lines
	same "$output" ''
}

@test "lines become the same transcript, whichever come how often" {
	start
	for name in one two; do there_is "$name"; done
	for file in there/transcripts/*; do
		send_lines "$file"
		same "$status" 200
		same "$(said '[.accepted, .duplicates, .missing_blobs, .error]')" "[$(wc -l <"$file"),0,0,null]"
		same "$(said '.runs[]')" "\"$(basename "$file" .jsonl)\""
		# Again, with one more behind it, in disorder.
		send_lines < <(sed -n 3,4p "$file"; cat "$file"; sed -n 2p "$file")
		same "$status" 200
		same "$(said '[.accepted, .duplicates]')" "[0,$(($(wc -l <"$file") + 3))]"
		cmp "$file" "$AWF_STORAGE/transcripts/$(basename "$file")"
	done
	same "$(awf-tail --list --json | jq -r '[.name, .status, (.origin | split(" ")[0])] | join(" ")' | sort)" 'one failed laptop
two failed laptop'
	awf-verify "$(there_id)"
	# What is resumed there goes on here.
	sed -i 's/false/true/' there/none 2>/dev/null || true
	there awf-run --resume @two >/dev/null 2>&1 || true
	send_lines "there/transcripts/$(there_id).jsonl"
	same "$status" 200
	cmp "there/transcripts/$(there_id).jsonl" "$AWF_STORAGE/transcripts/$(there_id).jsonl"
	# Nothing at all is nothing.
	send_lines /dev/null
	same "$status $(said .accepted)" '200 0'
}

# bats test_tags=turn:2
@test "each refusal has its status, says what is wanted, and changes nothing" {
	start
	there_is flow
	id=$(there_id)
	there awf-tail --json >lines
	count=$(wc -l <lines)
	# A run does not begin in its midst.
	send_lines < <(sed -n '3,$p' lines)
	same "$status $(said '[.error.code, .wanted, .error.run_id, .error.line]')" "409 [\"gap\",1,\"$id\",1]"
	same "$(written)" ''
	send_lines < <(sed -n '1,3p;5p' lines)
	same "$status $(said '[.accepted, .error.code, .wanted, .error.line]')" '409 [3,"gap",4,4]'
	before=$(written)
	# Another line; one that does not follow; one that follows but that awf-verify would refuse.
	send_lines < <(sed -n 2p lines; sed -n 3p lines | sed 's/"iteration":0/"iteration":1/'; sed -n 4p lines)
	same "$status $(said '[.accepted, .duplicates, .error.code, .wanted]')" '409 [0,1,"conflict",4]'
	send_lines < <(sed -n 4p lines | sed 's/0"}$/1"}/; t; s/."}$/0"}/')
	same "$status $(said .error.code)" '409 "conflict"'
	send_lines < <(sed -n 4p lines | sed "s/\"event_id\":\"[^\"]*/\"event_id\":\"$(sed -n 2p lines | jq -r .event_id)/")
	same "$status $(said .error.code)" '400 "invalid_input"'
	[[ $(said .error.message) == *'stands twice'* ]]
	# No JSON, no event, lines that were changed.
	for text in x '{' '[]' '{"type":7,"runId":"r"}' '{"type":"x"}' "$(sed -n 4p lines | sed 's/":/": /')" "$(head -c 100 lines)"; do
		send_lines <<<"$text"
		same "$status $(said '[.accepted, .error.code, .error.line]')" '400 [0,"invalid_input",1]'
		send_json <<<"$text"
		same "$status $(said .error.code)" '400 "invalid_input"'
	done
	# The run of another; of this storage; a replay of it; a type that is none; a method.
	TOKEN=$OTHER send_lines lines
	same "$status $(said '[.runs, .error.code, .error.message]')" '403 [[],"forbidden","the run is not one of this sender'"'"'s"]'
	awf-run -n --name own true
	before=$(written)
	send_lines "$(transcript)"
	same "$status" 403
	send_lines <<<"{\"type\":\"x\",\"runId\":\"$(basename "$(transcript)" .jsonl)\"}"
	same "$status" 403
	send_lines < <(sed 's/\("timestamp":"\)20[0-9][0-9]/\12099/' lines)
	same "$status $(said .error.code)" '409 "conflict"'
	send --data-binary @lines /api/ingest
	same "$status" 415
	send -X PUT -H 'Content-Type: application/x-ndjson' --data-binary @lines /api/ingest
	same "$status" 405
	same "$(written)" "$before"
	send_lines < <(sed -n "4,${count}p" lines)
	same "$status" 200
	cmp lines "$AWF_STORAGE/transcripts/$id.jsonl"
}

@test "what is too long is refused, while it is sent" {
	start
	there_is flow
	there awf-tail --json >lines
	# Above the limit of a line; what is before it stands.
	send_lines < <(sed -n 1,2p lines; head -c 34000000 /dev/zero | tr '\0' x)
	same "$status $(said '[.accepted, .error.code, .error.line]')" '413 [2,"too_large",3]'
	# Announced above that of a body, or of a head.
	same "$(printf 'POST /api/ingest HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %s\r\nContent-Type: application/x-ndjson\r\nContent-Length: 2000000000\r\n\r\n' "$PORT" "$TOKEN" | raw | head -n 1 | tr -d '\r')" 'HTTP/1.1 413 Content Too Large'
	# Who goes on sending gets his answer all the same.
	upload < <(echo 'this is none'; until [ -e told ]; do sleep 0.1; done) >out
	: >told
	same "$(grep -c '"code":"invalid_input"' out)" 1
	grep -q '^HTTP/1.1 400 Bad Request' out
	grep -q '^Connection: close' out
}

# bats test_tags=turn:2
@test "an upload that is cut off anywhere leaves whole lines, and goes on" {
	start
	there awf-run -n --name flow -c 'seq 40 | awf-step -i lines a -q -- true'
	id=$(there_id)
	file=there/transcripts/$id.jsonl
	size=$(wc -c <"$file")
	for part in 1 2 3 4 5 6 7; do
		{
			printf 'POST /api/ingest HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %s\r\nContent-Type: application/x-ndjson\r\nContent-Length: %s\r\n\r\n' "$PORT" "$TOKEN" "$size"
			head -c $((size * part / 8)) "$file"
		} >part
		python3 -c 'import os, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(open("part", "rb").read())
s.close()' "$PORT"
		here=$AWF_STORAGE/transcripts/$id.jsonl
		eventually [ -s "$here" ]
		cmp -n "$(wc -c <"$here")" "$file" "$here"
		same "$(tail -c 1 "$here" | od -An -c | tr -d ' ')" '\n'
	done
	send_lines "$file"
	same "$status" 200
	cmp "$file" "$here"
}

@test "events of programs make a run, each once, with seqs of their own, and end it" {
	start
	jq -nc '{events: [{type: "tool.start", event_id: "1", runId: "job 7", payload: {tool: "fetch", args: {url: "u"}}},
		{type: "tool.end", event_id: "2", parent_event_id: "1", runId: "job 7", payload: {tool: "fetch", result: "ok"}},
		{type: "llm.turn.end", event_id: "3", runId: "job 7", payload: {text: "hi"}}]}' >document
	send_json document
	same "$status $(said '[.accepted, .duplicates]')" '200 [3,0]'
	id=$(jq -r '.runs[0]' <<<"$answer")
	send_json document
	same "$status $(said '[.accepted, .duplicates, .runs]')" "200 [0,3,[\"$id\"]]"
	send_lines < <(jq -c '.events[]' document; echo '{"type":"run.completed","event_id":4,"runId":"job 7"}'; jq -c . document)
	same "$status $(said '[.accepted, .duplicates]')" '200 [1,6]'
	same "$(jq -r '"\(.seq) \(.type)"' "$AWF_STORAGE/transcripts/$id.jsonl" | paste -sd,)" \
		'1 run.started,2 tool.call,3 tool.result,4 message.assistant,5 foreign.run.completed'
	same "$(awf-tail --list --json | jq -r '[.name, .status] | join(" ")')" 'job 7 running'
	# Of several in a document what is before a bad one stands.
	jq -nc '{events: [{type: "a", event_id: "5", runId: "job 7"}, {x: 1}, {type: "b", runId: "job 7"}]}' >document
	send_json document
	same "$status $(said '[.accepted, .error.code, .error.event]')" '400 [1,"invalid_input",2]'
	# Its sender ends it, once, by its name or its id; nobody else does.
	finish() { send -H 'Content-Type: application/json' -d "{\"status\":\"$1\"}" "/api/runs/$2/end"; }
	TOKEN=$OTHER finish success "$id"
	same "$status" 403
	TOKEN=$OTHER finish success job%207
	same "$status" 403
	finish "done" "$id"
	same "$status" 400
	finish failed job%207
	same "$status $(said '[.run_id, .status]')" "200 [\"$id\",\"failed\"]"
	finish failed "$id"
	same "$status $(said .error.code)" '409 "conflict"'
	send_lines <<<'{"type":"late","runId":"job 7"}'
	same "$status $(said .error.code)" '409 "conflict"'
	same "$(awf-tail --list --json | jq -r .status)" failed
	awf-verify "$id"
	# The same name of another sender is another run.
	TOKEN=$OTHER send_lines <<<'{"type":"x","runId":"job 7"}'
	same "$status" 200
	[ "$(jq -r '.runs[0]' <<<"$answer")" != "$id" ]
	# Mirrors have their own end.
	there_is flow
	send_lines "there/transcripts/$(there_id).jsonl"
	finish success "$(there_id)"
	same "$status" 403
}

# bats test_tags=turn:2
@test "blobs come before the line that names them, or after it, and no others" {
	start --blob-quota 1M
	there awf-run -n --name big -c 'awf-step -n a -q -- sh -c "head -c 400000 /dev/zero | tr \"\\0\" x"'
	id=$(there_id)
	blob=$(ls "there/blobs/$id")
	there awf-tail --json >lines
	put() { send -T "$1" "/api/runs/$2/blobs/$3"; }
	put "there/blobs/$id/$blob" "$id" "$blob"
	same "$status $(said '[.run_id, .sha256]')" "201 [\"$id\",\"$blob\"]"
	same "$(find "$AWF_STORAGE/incoming" -type f -name "$blob" | wc -l)" 1
	send_lines lines
	same "$status $(said .missing_blobs)" '200 0'
	awf-verify "$id"
	# In chunks, and again.
	send -T - "/api/runs/$id/blobs/$blob" <"there/blobs/$id/$blob"
	same "$status" 201
	awf-verify "$id"
	# After it.
	there awf-run -n --name more -c 'awf-step -n a -q -- sh -c "head -c 300000 /dev/zero | tr \"\\0\" y"'
	id=$(there_id)
	send_lines "there/transcripts/$id.jsonl"
	same "$(said .missing_blobs)" 1
	blob=$(ls "there/blobs/$id")
	put "there/blobs/$id/$blob" "$id" "$blob"
	same "$status" 201
	awf-verify "$id"

	before=$(written)
	put lines "$id" "$blob"
	same "$status $(said .error.code)" '400 "invalid_input"'
	TOKEN=$OTHER put "there/blobs/$id/$blob" "$id" "$blob"
	same "$status" 403
	put lines "${id:0:8}" "$blob"
	same "$status" 400
	put lines "$id" "${blob:0:8}"
	same "$status" 400
	put lines "$id" "${blob^^}"
	same "$status" 400
	# What waits for runs that have not come has a quota, and goes after a day.
	head -c 1100000 /dev/urandom >much
	put much 11111111-1111-4111-8111-111111111111 "$(sha256sum <much | cut -d' ' -f1)"
	same "$status" 429
	head -c 600000 much >half
	sha=$(sha256sum <half | cut -d' ' -f1)
	send -T - "/api/runs/22222222-2222-4222-8222-222222222222/blobs/$sha" <much
	[ "$status" = 413 ] || [ "$status" = 429 ]
	same "$(written)" "$before"
	put half 11111111-1111-4111-8111-111111111111 "$sha"
	same "$status" 201
	put half 22222222-2222-4222-8222-222222222222 "$sha"
	same "$status" 429
	touch -d '2 days ago' "$AWF_STORAGE/incoming/11111111-1111-4111-8111-111111111111"
	put half 22222222-2222-4222-8222-222222222222 "$sha"
	same "$status" 201
	[ ! -e "$AWF_STORAGE/incoming/11111111-1111-4111-8111-111111111111" ]
}

@test "a quota of blobs has room for one in 64 KiB, each of a run of its own" {
	start --blob-quota 256K
	for i in 1 2 3 4 5; do
		echo "$i" >bytes
		send -T bytes "/api/runs/1111111$i-1111-4111-8111-111111111111/blobs/$(sha256sum <bytes | cut -d' ' -f1)"
		echo "$status"
	done >answers
	same "$(xargs <answers)" '201 201 201 201 429'
}

@test "who sends too fast is told when to come again, and gets there" {
	start --ingest-rate 10
	seq 3000 | jq -c '{type: "x", event_id: ., payload: {text: ("x" * 300)}}' | there awf-record -q
	file=there/transcripts/$(there_id).jsonl
	count=$(wc -l <"$file")
	send_lines "$file"
	same "$status $(said .error.code)" '429 "too_many"'
	taken=$(said .accepted)
	[ "$taken" -ge 100 ]
	[ "$taken" -lt 1500 ]
	same "$(said .wanted)" "$((taken + 1))"
	# Another run from the same address has to wait, too.
	same "$(curl -s -D head -o /dev/null -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/x-ndjson' --data-binary '{"type":"x","runId":"r"}' "$URL/api/ingest")" ''
	same "$(head -n 1 head | tr -d '\r')" 'HTTP/1.1 429 Too Many Requests'
	wait=$(sed -n 's/^Retry-After: \([0-9]*\).*/\1/p' head)
	[ "$wait" -ge 1 ]
	[ "$wait" -le 140 ]
	serve_end
	# Those that the server still knows have to wait; it began anew.
	serve --ingest-rate 1000000
	send_lines "$file"
	same "$status $(said '[.accepted, .duplicates]')" "200 [$((count - taken)),$taken]"
	cmp "$file" "$AWF_STORAGE/transcripts/$(basename "$file")"
}

@test "a token for some workflows begins no others" {
	start
	TOKEN=$(awf-serve --new-token ingest --name 'nightly*')
	there_is flow
	there_is nightly-1
	for file in there/transcripts/*; do send_lines "$file"; done
	send_lines <<<'{"type":"x","runId":"job"}'
	same "$status" 403
	send_lines <<<'{"type":"x","runId":"nightly-2"}'
	same "$status" 200
	# One that has begun goes on by its id, too, whether the server knows it still or not.
	for restart in true false; do
		send_lines <<<"{\"type\":\"x\",\"runId\":$(said '.runs[0]')}"
		same "$status $(said .accepted)" '200 1'
		! $restart || { serve_end; serve; }
	done
	same "$(awf-tail --list --json | jq -r .name | sort | paste -sd,)" nightly-1,nightly-2
}

@test "a run whose lock somebody holds holds up no other, and goes on" {
	start
	for name in one two; do there_is "$name"; done
	two=$(there_id)
	one=$(there awf-tail --list --json | jq -r 'select(.name == "one").run_id')
	send_lines < <(head -n 2 "there/transcripts/$one.jsonl")
	for held in transcripts/$one.jsonl origins/$one; do
		flock "$AWF_STORAGE/$held" sh -c 'touch held; until [ -e go ]; do sleep 0.05; done' 3>&- &
		holding=$!
		eventually [ -e held ]
		curl -s -o sent -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/x-ndjson' --data-binary "@there/transcripts/$one.jsonl" "$URL/api/ingest" 3>&- &
		sending=$!
		for i in 1 2 3 4 5; do same "$(status_of --max-time 1 "$URL/healthz")" 200; done
		send_lines "there/transcripts/$two.jsonl"
		same "$status" 200
		wait "$sending"
		same "$(jq -r .error.code sent)" unavailable
		touch go
		wait "$holding"
		rm held go
	done
	send_lines "there/transcripts/$one.jsonl"
	same "$status $(said .duplicates)" '200 2'
	for file in there/transcripts/*; do cmp "$file" "$AWF_STORAGE/transcripts/$(basename "$file")"; done
}

@test "a token that is revoked while it sends gets no further" {
	start
	there awf-run -n --name flow -c 'seq 20 | awf-step -i lines a -q -- true'
	file=there/transcripts/$(there_id).jsonl
	upload < <(head -n 5 "$file"; until [ -e revoked ]; do sleep 0.05; done; tail -n +6 "$file"; until [ -e told ]; do sleep 0.1; done) >out 3>&- &
	uploading=$!
	eventually [ -s "$AWF_STORAGE/transcripts/$(basename "$file")" ]
	awf-serve --revoke-token "$TOKEN"
	# Any request makes the server look.
	status_of -H "Authorization: Bearer $TOKEN" "$URL/api/runs"
	touch revoked
	wait "$uploading"
	: >told
	grep -q '^HTTP/1.1 401' out
	same "$(wc -l <"$AWF_STORAGE/transcripts/$(basename "$file")")" 5
}

@test "what cannot be synced is not acknowledged" {
	mkdir "$AWF_STORAGE"
	TOKEN=$(awf-serve --new-token ingest)
	there_is flow
	export AWF_SYNC=step ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 FAULT='fdatasync 1 99 EIO'
	LD_PRELOAD=$BUILD/tests/fault/preload.so serve
	unset FAULT AWF_SYNC
	send_lines "there/transcripts/$(there_id).jsonl"
	same "$status $(said '[.accepted, .error]')" '503 [0,{"code":"unavailable","message":"the server failed to take it: its log says why"}]'
	# Nor behind something else that is wrong.
	send_lines < <(cat "there/transcripts/$(there_id).jsonl"; echo x)
	same "$status $(said '[.accepted, .duplicates, .error.code]')" '503 [0,0,"unavailable"]'
	grep -q 'unable to sync' "$BATS_TEST_TMPDIR/serve.err"
}
