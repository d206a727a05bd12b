#!/usr/bin/env bats
# awf-serve: results. What a run has printed is the answer to a request, which waits for it; who starts a
# run may read it; the events of a queued run.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

prepare() {
	mkdir flows
	mkfifo go
	cat >flows/upper.awf <<-'END'
		#!/usr/bin/env -S awf-run --overlap buffer-all --
		awf-step -r upper -- tr a-z A-Z
	END
	# As long as nobody writes to `go`, and then with that status.
	cat >flows/slow.awf <<-END
		#!/usr/bin/env -S awf-run --overlap buffer-all --
		awf-step -r -n slow -- sh -c 'echo begun; exit "\$(cat $PWD/go)"'
	END
}

start() { awf-serve --new-token start "$@"; }
# TOKEN NAME [CURL OPTION...]: starts a workflow; its run's id.
begin() { curl -s --max-time 20 -H "Authorization: Bearer $1" -d "${BODY-x}" "${@:3}" "$URL/hooks/$2" | jq -r .run_id; }
# What the answer to a GET is, as "STATUS BODY"; with the token in $TOKEN.
get() { ask_tcp "$1" -w '\n%{http_code}' "${@:2}" | awk '/./ { line[++count] = $0 } END { printf "%s", line[count]; for (i = 1; i < count; i++) printf " %s", line[i]; print "" }'; }
code() { jq -r .error.code <<<"${1#* }"; }
# Sockets that the server has open, and calls of a function until it prints something else.
sockets() { find "/proc/$SERVE_PID/fd" -lname 'socket:*' 2>/dev/null | wc -l; }
more_than() { [ "$($1)" -gt "$2" ]; }
at_most() { [ "$($1)" -le "$2" ]; }
queued() { ask '/api/runs?status=queued' | jq '.runs | length'; }

@test "what a hook's run has printed is one request away, which waits for its end" {
	serve --workflows flows
	TOKEN=$(start)
	id=$(BODY=hello begin "$TOKEN" upper)
	same "$(get "/api/runs/$id/output?wait=20s")" '200 HELLO'
	same "$(get "/api/runs/$id/output")" '200 HELLO'
	ask_tcp "/api/runs/$id/output" -D headers -o /dev/null
	grep -qi '^content-disposition: attachment' headers
	awf-verify
	# Until it has ended there is none.
	id=$(begin "$TOKEN" slow)
	same "$(get "/api/runs/$id/output")" "202 {\"run_id\":\"$id\",\"status\":\"running\"}"
	same "$(get "/api/runs/$id/output?wait=1s")" "202 {\"run_id\":\"$id\",\"status\":\"running\"}"
	get "/api/runs/$id/output?wait=20s" >answer 3>&- &
	waiter=$!
	nap 0.1
	echo 0 >go
	wait "$waiter"
	same "$(cat answer)" '200 begun'
	# A run that nobody's hook has started: its output is kept, too, wherever it went but to a terminal.
	TOKEN=$(awf-serve --new-token read)
	awf-run --name piped -c 'awf-step -n -r a -- echo piped' | cat
	same "$(get /api/runs/@piped/output)" '200 piped'
	awf-run --name dropped -c 'awf-step -n -r a -- echo x' >/dev/null
	same "$(get /api/runs/@dropped/output)" '200 x'
	awf-run --name mixed -c 'awf-step -n -r a -- echo x' >mixed 2>&1
	[[ $(get /api/runs/@mixed/output) == '404 {"error":{"code":"not_found","message":"nothing is kept of '* ]]
	for wait in 56s 1h x '' -1; do
		same "$wait $(code "$(get "/api/runs/@piped/output?wait=$wait")")" "$wait invalid_input"
	done
	same "$(get "/api/runs/@piped/output?wait=55")" '200 piped'
}

@test "a run without success has no result, and whoever waits for it is told at once" {
	serve --workflows flows
	TOKEN=$(start)
	id=$(begin "$TOKEN" slow)
	get "/api/runs/$id/output?wait=15s" >answer 3>&- &
	waiter=$!
	echo 7 >go
	wait "$waiter"
	same "$(code "$(cat answer)")" failed
	[[ $(cat answer) == "409 "*"its status is failed: sh: exit status 7"* ]]
	# What it had printed, if that is asked for.
	printf 'echo half; exit 3\n' >flows/half.awf
	id=$(begin "$TOKEN" half)
	same "$(code "$(get "/api/runs/$id/output?wait=15s")")" failed
	same "$(get "/api/runs/$id/output?partial=1")" '200 half'
	# Cancelled, and killed.
	for how in cancelled died; do
		id=$(begin "$TOKEN" slow)
		eventually grep -q '"step.started"' "$AWF_STORAGE/transcripts/$id.jsonl"
		get "/api/runs/$id/output?wait=15s" >answer 3>&- &
		waiter=$!
		if [ $how = cancelled ]; then
			awf-ctl cancel "$id"
		else
			kill -9 "$(cut -d' ' -f 1 "$AWF_STORAGE/runs/$id/lock")"
		fi
		wait "$waiter"
		same "$(code "$(cat answer)")" $how
	done
	# One that waits for somebody goes on later.
	TOKEN=$(awf-serve --new-token read)
	awf-run --name ask -c 'awf-step -r --approve check' <<<draft | cat
	id=$(awf-tail --list --json -n 1 | jq -r .run_id)
	same "$(get "/api/runs/$id/output?wait=1s")" "202 {\"run_id\":\"$id\",\"status\":\"waiting\"}"
	get "/api/runs/$id/output?wait=15s" >answer 3>&- &
	waiter=$!
	awf-ctl approve check "$id"
	awf-run --resume "$id" | cat
	wait "$waiter"
	same "$(cat answer)" '200 draft'
}

@test "a run that was killed while it only waited for a person still waits, and its output comes after that" {
	serve --workflows flows
	TOKEN=$(awf-serve --new-token read)
	awf-run --wait 60s --name asks -c 'echo hello | awf-step -r ok --approve' >out 2>err 3>&- &
	run_pid=$!
	eventually eval '[ "$(awf-tail --list --json 2>/dev/null | jq -r ".waits[0].call // empty")" = ok:0:0 ]'
	id=$(basename "$(transcript)" .jsonl)
	kill -9 "$run_pid"
	wait "$run_pid" || true
	eventually eval '[ "$(awf-tail --list --json | jq -r .status)" = waiting ]'
	same "$(get "/api/runs/$id/output")" "202 {\"run_id\":\"$id\",\"status\":\"waiting\"}"
	get "/api/runs/$id/output?wait=20s" >answer 3>&- &
	waiter=$!
	awf-ctl approve ok 2>/dev/null
	awf-run --resume "$id" | cat
	wait "$waiter"
	same "$(cat answer)" '200 hello'
}

@test "who starts a run by a token may read that run, and no other" {
	serve --workflows flows
	mine=$(start) other=$(start --label other)
	TOKEN=$mine
	id=$(BODY=hello begin "$mine" upper)
	theirs=$(BODY=theirs begin "$other" upper)
	get "/api/runs/$id/output?wait=20s" >/dev/null
	same "$(TOKEN=$other get "/api/runs/$theirs/output?wait=15s")" '200 THEIRS'
	same "$(ask_tcp "/api/runs/$id" | jq -r .status)" success
	ask_tcp "/api/runs/$id/events" | cmp - "$AWF_STORAGE/transcripts/$id.jsonl"
	sha256=$(sed -n 's/.*"stdout":{"sha256":"\([0-9a-f]*\).*/\1/p' "$AWF_STORAGE/transcripts/$id.jsonl")
	for path in '' /outline /events /events/stream /events/1 /input /output "/blobs/$sha256"; do
		same "$path $(status_of -H "Authorization: Bearer $mine" "$URL/api/runs/$id$path")" "$path 200"
		same "$path $(status_of -H "Authorization: Bearer $other" "$URL/api/runs/$id$path")" "$path 404"
		# Not even that there is such a run.
		for name in @ @upper.awf "${theirs:0:8}" "${theirs:0:4}" "$theirs"; do
			same "$name$path $(status_of -H "Authorization: Bearer $mine" "$URL/api/runs/$name$path")" "$name$path 404"
		done
	done
	same "$(status_of -H "Authorization: Bearer $mine" "$URL/workflows/$id/events")" 200
	same "$(status_of -H "Authorization: Bearer $other" "$URL/workflows/$id/events")" 404
	for path in /api/runs /api/runs/stream /metrics; do
		same "$path $(status_of -H "Authorization: Bearer $mine" "$URL$path")" "$path 403"
	done
	same "$(status_of -H "Authorization: Bearer $mine" -H 'Content-Type: application/json' \
		-d '{"decision":"cancel"}' "$URL/api/runs/$id/decisions")" 403
	# A session of its own is the same sender; so is the token after a restart of the server.
	session=$(curl -s -H 'Content-Type: application/json' -d "{\"token\": \"$mine\"}" "$URL/api/session" | jq -r .token)
	same "$(TOKEN=$session get "/api/runs/$id/output")" '200 HELLO'
	same "$(code "$(TOKEN=$session get "/api/runs/$theirs/output")")" not_found
	serve_end 2>/dev/null
	serve --workflows flows
	same "$(get "/api/runs/$id/output")" '200 HELLO'
	# A duplicate of somebody else's delivery tells the id, as ever, and no more.
	first=$(begin "$mine" upper -H 'X-GitHub-Delivery: 1')
	same "$(begin "$other" upper -H 'X-GitHub-Delivery: 1')" "$first"
	same "$(code "$(TOKEN=$other get "/api/runs/$first/output?wait=5s")")" not_found
	# A token that is revoked gets nothing, and is not waited with.
	id=$(begin "$mine" slow)
	get "/api/runs/$id/output?wait=15s" >answer 3>&- &
	waiter=$!
	nap 0.2
	awf-serve --revoke-token "$mine"
	echo 0 >go
	wait "$waiter"
	same "$(code "$(cat answer)")" unauthorized
}

@test "a hook's request may itself wait for the output" {
	serve --workflows flows
	TOKEN=$(start)
	post() { curl -s --max-time 60 -H "Authorization: Bearer $TOKEN" -d "$1" -w ' %{http_code}' "${@:3}" "$URL/hooks/$2" | tr -d '\n'; }
	same "$(post hello 'upper?wait=20s')" 'HELLO 200'
	same "$(post hello 'upper?wait=20s' -H 'X-GitHub-Delivery: 1')" 'HELLO 200'
	same "$(post other 'upper?wait=20s' -H 'X-GitHub-Delivery: 1')" 'HELLO 200'
	same "$(post x 'slow?wait=1s' | sed 's/"run_id":"[^"]*",//')" '{"status":"running"} 202'
	# The first one ends, and the second one.
	(echo 3 >go; sleep 0.3; echo 0 >go) 3>&- &
	same "$(post x 'slow?wait=20s')" 'begun 200'
	# Whoever repeats a signed body gets no output; nor does another token that repeats a delivery.
	printf secret >flows/upper.secret
	chmod 600 flows/upper.secret
	signature=$(printf x | openssl dgst -sha256 -hmac secret -r | sed 's/ .*//; s/^/sha256=/')
	same "$(curl -s -H "X-Hub-Signature-256: $signature" -d x "$URL/hooks/upper?wait=5s" | jq -r .error.message)" \
		'wait goes with a token, not with a signature'
	TOKEN=$(start)
	same "$(post x 'upper?wait=20s' -H 'X-GitHub-Delivery: 1' | sed 's/"run_id":"[^"]*",//')" \
		'{"name":"upper.awf","status":"duplicate"} 200'
	[[ $(post x 'upper?wait=2h') == *'"invalid_input"'*' 400' ]]
}

@test "the events of a queued run are streamed from the first one on" {
	serve --workflows flows
	TOKEN=$(start)
	first=$(begin "$TOKEN" slow)
	eventually grep -q '"step.started"' "$AWF_STORAGE/transcripts/$first.jsonl"
	id=$(begin "$TOKEN" slow)
	[ ! -e "$AWF_STORAGE/transcripts/$id.jsonl" ]
	same "$(ask_tcp "/api/runs/$id" | jq -c '[.status, .name, .calls.total, .alive]')" '["queued","slow.awf",0,false]'
	same "$(get "/api/runs/$id/output?wait=1s")" "202 {\"run_id\":\"$id\",\"status\":\"queued\"}"
	same "$(get "/api/runs/$id/events")" 200
	same "$(get "/api/runs/$id/outline?after=0&limit=9")" '200 {"calls":[],"events":[],"next":null}'
	# To others it is as if it were not there; who may read the workflow sees it.
	same "$(TOKEN=$(start) get "/api/runs/$id/events" | cut -c 1-3)" 404
	same "$(TOKEN=$(awf-serve --new-token read --name 'upper*') get "/api/runs/$id/events" | cut -c 1-3)" 404
	same "$(TOKEN=$(awf-serve --new-token read --name 'slow*') get "/api/runs/$id/events" | cut -c 1-3)" 200
	streams='events/stream events?follow=1 events?follow=1&after=2 events/stream?as=agent-event events/stream?live=1 events/stream?type=run.*'
	number=0
	for stream in $streams; do
		number=$((number + 1))
		ask_tcp "/api/runs/$id/$stream" >"got.$number" 3>&- &
		followers+=($!)
	done
	ask_tcp "/workflows/$id/events" >got.7 3>&- &
	followers+=($!)
	get "/api/runs/$id/output?wait=15s" >answer 3>&- &
	followers+=($!)
	eventually grep -q retry got.1
	echo 0 >go
	eventually [ -e "$AWF_STORAGE/transcripts/$id.jsonl" ]
	echo 0 >go
	wait "${followers[@]}"
	transcript=$AWF_STORAGE/transcripts/$id.jsonl
	same "$(cat answer)" '200 begun'
	messages <got.1 | grep -v '^end' | sed 's/ [0-9]*-[0-9a-f]*$//' | cmp - "$transcript"
	same "$(messages <got.1 | tail -n 1 | jq -Rr 'ltrimstr("end: ") | fromjson.status')" success
	grep . got.2 | cmp - "$transcript"
	grep . got.3 | cmp - <(tail -n +3 "$transcript")
	messages <got.4 | grep -v '^end' | sed 's/ [0-9]*$//' | cmp - <(awf-tail --as agent-event "$id")
	same "$(messages <got.5 | grep -v '^end\|^live' | wc -l)" "$(wc -l <"$transcript")"
	same "$(messages <got.6 | grep -v '^end' | jq -Rr 'sub(" [0-9]+-[0-9a-f]+$"; "") | fromjson.type' | paste -sd,)" run.started,run.completed
	grep . got.7 | cmp - <(awf-tail --as runtime "$id")
}

@test "a queued run that never begins ends its streams; one that is resumed goes on" {
	serve --workflows flows
	TOKEN=$(start)
	first=$(begin "$TOKEN" slow)
	eventually grep -q '"step.started"' "$AWF_STORAGE/transcripts/$first.jsonl"
	id=$(begin "$TOKEN" slow)
	ask_tcp "/api/runs/$id/events/stream" >got 3>&- &
	follower=$!
	get "/api/runs/$id/output?wait=15s" >answer 3>&- &
	waiter=$!
	eventually grep -q retry got
	awf-ctl cancel "$id"
	wait "$follower" "$waiter"
	same "$(messages <got)" 'end: {"status":"removed","seq":0,"alive":false}'
	same "$(code "$(cat answer)")" not_found
	same "$(code "$(get "/api/runs/$id")")" not_found
	echo 5 >go
	eventually grep -q '"run.completed"' "$AWF_STORAGE/transcripts/$first.jsonl"
	# The first has failed. It is queued again, behind another one.
	second=$(begin "$TOKEN" slow)
	eventually grep -q '"step.started"' "$AWF_STORAGE/transcripts/$second.jsonl"
	(cd flows && exec awf-run --overlap buffer-all --resume "$first") >resumed 2>told 3>&- &
	resumer=$!
	eventually more_than queued 0
	same "$(get "/api/runs/$first/output")" "202 {\"run_id\":\"$first\",\"status\":\"queued\"}"
	ask_tcp "/api/runs/$first/events/stream" >got 3>&- &
	follower=$!
	get "/api/runs/$first/output?wait=15s" >answer 3>&- &
	waiter=$!
	echo 0 >go
	attempts() { grep -c '"run.started"' "$AWF_STORAGE/transcripts/$first.jsonl"; }
	eventually more_than attempts 1
	echo 0 >go
	wait "$follower" "$waiter" "$resumer"
	same "$(cat answer)" '200 begun'
	same "$(messages <got | grep -v '^end' | sed 's/ [0-9]*-[0-9a-f]*$//' | jq -r .type | grep -c '^run')" 4
}

@test "many clients that wait cost no process and no thread each; one that leaves makes room" {
	serve --workflows flows --clients 40
	TOKEN=$(start)
	id=$(begin "$TOKEN" slow)
	eventually grep -q '"step.started"' "$AWF_STORAGE/transcripts/$id.jsonl"
	tasks() { ls "/proc/$SERVE_PID/task" | wc -l; }
	before=$(tasks) idle=$(sockets)
	for i in $(seq 30); do
		curl -s --max-time 20 -H "Authorization: Bearer $TOKEN" "$URL/api/runs/$id/output?wait=15s" >"got.$i" 3>&- &
		waiters+=($!)
	done
	eventually more_than sockets $((idle + 29))
	same "$(tasks)" "$before"
	none_left() { [ -z "$(pgrep -x -P "$SERVE_PID" awf-serve)" ]; }
	eventually none_left
	# Ten leave.
	for waiter in "${waiters[@]:0:10}"; do
		kill -9 "$waiter"
		wait "$waiter" 2>/dev/null || true
	done
	eventually at_most sockets $((idle + 20))
	echo 0 >go
	wait "${waiters[@]:10}"
	same "$(cat got.1[1-9] got.2? got.30 | sort | uniq -c | awk '{ print $1, $2 }')" '20 begun'
	# A server that ends does not let them wait.
	id=$(begin "$TOKEN" slow)
	get "/api/runs/$id/output?wait=15s" >got 3>&- &
	waiter=$!
	eventually more_than sockets "$idle"
	serve_end
	wait "$waiter"
	same "$(code "$(cat got)")" unavailable
	echo 0 >go
}

@test "who has started a run is forgotten when the run is removed, not before" {
	serve --workflows flows
	TOKEN=$(start)
	id=$(BODY=hello begin "$TOKEN" upper)
	same "$(get "/api/runs/$id/output?wait=20s")" '200 HELLO'
	notes=$AWF_STORAGE/serve/started
	same "$(stat -c %a "$notes/$id")" 600
	gone=00000000-0000-4000-8000-000000000000
	cp "$notes/$id" "$notes/$gone"
	touch -d '2 days ago' "$notes"/*
	another=$(begin "$TOKEN" upper)
	same "$(ls "$notes")" "$(printf '%s\n' "$id" "$another" swept | sort)"
	# A run that was not started leaves none.
	sed -i '1s/--overlap buffer-all/--nothing/' flows/upper.awf
	begin "$TOKEN" upper
	same "$(ls "$notes" | wc -l)" 3
}
