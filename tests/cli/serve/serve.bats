#!/usr/bin/env bats
# awf-serve: what can be asked for, and what comes.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

record() { printf 'a\nb\n' | awf-run --name demo -c 'awf-step -i lines up -q -- tr a-z A-Z'; }

# Whether a step has begun.
started() { grep -qs "\"path\":\"$1\"" "$AWF_STORAGE"/transcripts/*.jsonl; }

@test "lists runs, shows one, and sends its events" {
	record
	run_id=$(basename "$(transcript)" .jsonl)
	serve
	same "$(ask /healthz)" ok
	same "$(ask /api/runs | jq -c '[.runs[] | [.run_id, .name, .status, .calls, .waiting, .alive, .cost]]')" \
		"[[\"$run_id\",\"demo\",\"success\",2,0,false,\"0\"]]"
	# As awf-tail lists it.
	same "$(ask /api/runs | jq -c '.runs[0] | del(.waiting, .alive, .cost)')" \
		"$(awf-tail --list --json | jq -c .)"
	for name in "$run_id" "${run_id:0:6}" @ @demo; do
		same "$(ask "/api/runs/$name" | jq -c '[.run_id, .attempt, .seq, .calls.succeeded]')" "[\"$run_id\",1,6,2]"
	done
	ask /api/runs/@/events >events
	cmp events "$(transcript)"
	same "$(ask '/api/runs/@/events?after=2&limit=3')" "$(sed -n 3,5p "$(transcript)")"
	same "$(ask /api/runs/@/events/4)" "$(sed -n 4p "$(transcript)")"
	for none in /api/runs/@none /api/runs/ffffffff /api/runs/@/events/7 /api/nothing /api/runs/@/nothing; do
		same "$(ask "$none" -w ' %{http_code}' | jq -rc 'if type == "object" then .error.code else . end' | paste -sd' ')" 'not_found 404'
	done
	serve_end
}

@test "a run that began before 1970 is listed as others are" {
	AWF_STORAGE=$PWD/another awf-run -n --name old true
	AWF_STORAGE=$PWD/another awf-tail --json | sed '2,$d; s/"timestamp":"[^"]*"/"timestamp":"1969-12-31T00:40:31.500000Z"/' |
		awf-record -q
	record
	same "$(TZ=UTC0 awf-tail --list | awk '{print $1, $4, $5}')" "demo $(date -u +%F) $(TZ=UTC0 awf-tail --list | awk 'NR == 1 {print $5}')
old 1969-12-31 00:40:31"
	[[ $(TZ=UTC0 awf-tail "$(awf-tail --list --json | jq -r 'select(.name == "old").run_id')" | head -n 1) == *"1969-12-31 00:40:31,"* ]]
	serve
	same "$(ask /api/runs | jq -r '[.runs[].name] | join(" ")')" 'demo old'
	same "$(ask '/api/runs?since=1980-01-01' | jq -r '[.runs[].name] | join(" ")')" demo
	same "$(ask '/api/runs?since=1960-01-01' | jq -r '[.runs[].name] | join(" ")')" 'demo old'
}

@test "a name of several runs is a conflict, and one of none is not found, whatever the storage is called" {
	export AWF_STORAGE=$PWD/several
	mkdir -p several/transcripts
	record
	for last in 1 2; do cp "$(transcript)" "several/transcripts/ffffffff-0000-7000-8000-00000000000$last.jsonl"; done
	serve
	same "$(ask /api/runs/ffff | jq -r '.error | "\(.code): \(.message)"')" "conflict: several runs' ids begin so: give more of it"
	same "$(ask /api/runs/ffffffff-0000-7000-8000-000000000001 | jq -r .status)" success
	for none in @none eeee; do
		same "$(ask "/api/runs/$none" | jq -r .error.code)" not_found
	done
}

@test "a stream has each event once, then the end; who has all is told 204" {
	record
	serve
	ask /api/runs/@/events/stream | messages >messages
	same "$(sed '$d' messages | sed 's/ [^ ]*$//')" "$(cat "$(transcript)")"
	same "$(tail -n 1 messages)" 'end: {"status":"success","attempt":1,"seq":6,"alive":false}'
	# The id is the number, and the beginning of the digest that the next line has.
	id=$(sed -n '4s/.* //p' messages)
	same "$id" "4-$(sed -n 5p "$(transcript)" | jq -r '.prev[:8]')"
	same "$(ask /api/runs/@/events/stream -H "Last-Event-ID: $id" | messages)" "$(sed 1,4d messages)"
	same "$(ask '/api/runs/@/events/stream?afterSeq=4' | messages)" "$(sed 1,4d messages)"
	last=$(sed -n '6s/.* //p' messages)
	same "$(ask /api/runs/@/events/stream -H "Last-Event-ID: $last" -w '%{http_code}')" 204
	# Another line at its place, or none: all comes anew.
	for id in 4-00000000 9-12345678; do
		ask /api/runs/@/events/stream -H "Last-Event-ID: $id" | messages >reset
		[[ $(head -n 1 reset) == 'reset: {'* ]]
		same "$(sed 1d reset)" "$(cat messages)"
	done
}

@test "a run is followed while it goes on" {
	mkfifo go
	awf-run -n --name slow -c 'awf-step -n a -q -- true; awf-step -n b -q -- cat go' 3>&- &
	runner=$!
	eventually started b
	serve
	ask /api/runs/@slow/events/stream >stream 3>&- &
	stream=$!
	ask '/api/runs/@slow/events?follow=1' >lines 3>&- &
	lines=$!
	eventually grep -q '"path":"b"' stream
	eventually grep -q '"path":"b"' lines
	# A comment, and an empty line, show that they live.
	eventually grep -qx : stream
	eventually grep -qx '' lines
	same "$(ask /api/runs/@slow | jq -c '[.status, .alive, .calls.open, .open[0].path]')" '["running",true,1,"b"]'
	echo x >go
	wait "$runner" "$stream" "$lines"
	same "$(grep -v '^$' lines)" "$(cat "$(transcript)")"
	same "$(messages <stream | sed '$d; s/ [^ ]*$//')" "$(cat "$(transcript)")"
	same "$(messages <stream | tail -n 1)" 'end: {"status":"success","attempt":1,"seq":6,"alive":false}'
}

# bats test_tags=turn:2
@test "a line of any length comes whole in a range, and as its size in a stream" {
	record
	file=$(transcript)
	{
		printf '{"seq":7,"timestamp":"2026-11-21T08:15:30.123456Z","type":"x.large","path":"a","payload":["'
		head -c 20000000 /dev/zero | tr '\0' x
		printf '"]}\n'
		printf '{"seq":8,"type":"x.small"}\n'
	} >>"$file"
	serve
	for path in events 'events?follow=1' 'events?type=*' 'events?limit=8&follow=1'; do
		ask "/api/runs/@/$path" | cmp - "$file"
	done
	ask '/api/runs/@/events?follow=1' --http1.0 | cmp - "$file"
	ask /api/runs/@/events/stream >stream
	[ "$(wc -c <stream)" -lt 20000 ]
	same "$(messages <stream | sed -n '7s/ [^ ]*$//p' | jq -c '[.seq, .type, .path, .bytes]')" \
		"[7,\"x.large\",\"a\",$(sed -n 7p "$file" | tr -d '\n' | wc -c)]"
	same "$(messages <stream | sed -n '8s/ [^ ]*$//p')" '{"seq":8,"type":"x.small"}'
	# Who is told the head alone is told the same.
	same "$(ask /api/runs/@/events/stream -I | sed -n '1p; s/^\(Content-Type: .*\)/\1/p' | tr -d '\r' | paste -sd' ')" \
		'HTTP/1.1 200 OK Content-Type: text/event-stream'
	same "$(ask /api/runs/@/events -I | sed -n 's/^Content-Length: //p' | tr -d '\r')" "$(stat -c %s "$file")"
}

@test "tokens: what each may, and that one that is revoked may nothing more" {
	record
	awf-run -n --name other -c true
	serve
	same "$(status_of "$URL/api/runs")" 401
	TOKEN=$(awf-serve --new-token read --label 'a dashboard')
	[[ $TOKEN =~ ^awf_[A-Za-z0-9_-]{43}$ ]]
	run ! grep -q "$TOKEN" "$AWF_STORAGE/serve/tokens"
	same "$(stat -c %a "$AWF_STORAGE/serve/tokens")" 600
	same "$(ask_tcp /api/runs | jq -c '[.runs[].name]')" '["other","demo"]'
	same "$(ask_tcp /api/session | jq -c '[.may, .label]')" '[["read"],"a dashboard"]'
	limited=$(awf-serve --new-token read --name 'oth*,x')
	same "$(TOKEN=$limited ask_tcp /api/runs | jq -c '[.runs[].name]')" '["other"]'
	same "$(TOKEN=$limited ask_tcp /api/runs/@demo | jq -r .error.code)" not_found
	ingest=$(awf-serve --new-token ingest)
	same "$(TOKEN=$ingest ask_tcp /api/runs | jq -r .error.code)" forbidden
	same "$(awf-serve --list-tokens | wc -l)" 3
	ask_tcp '/api/runs/@/events/stream?follow=always' >stream 3>&- &
	eventually grep -q run.completed stream
	# What is sent ends, though nobody asks for anything.
	awf-serve --revoke-token "$TOKEN"
	run ! wait "$!"
	same "$(status_of -H "Authorization: Bearer $TOKEN" "$URL/api/runs")" 401
	awf-serve --revoke-token "$(awf-serve --list-tokens | head -n 1 | cut -c 1-12)"
	same "$(status_of -H "Authorization: Bearer $limited" "$URL/api/runs")" 401
	run -1 awf-serve --revoke-token 123456
	# In a URL none counts.
	same "$(status_of "$URL/api/runs?token=$ingest")" 401
	same "$(ask "/api/runs?token=$ingest" | jq -r .error.code)" invalid_input
}

@test "the file of tokens counts as it is now, but for what is damaged in it, which is said" {
	record
	serve
	file=$AWF_STORAGE/serve/tokens
	one=$(awf-serve --new-token decide --label one) two=$(awf-serve --new-token read)
	may() { status_of -H "Authorization: Bearer $1" "$URL/api/runs"; }
	decides() { status_of -H "Authorization: Bearer $1" -H 'Content-Type: application/json' -d '{}' "$URL/api/runs/@/decisions"; }
	same "$(may "$one") $(decides "$one") $(may "$two")" '200 400 200'
	# A role is taken away; and names are given.
	TOKEN=$one ask_tcp '/api/runs/@/events/stream?follow=always' >stream 3>&- &
	eventually grep -q run.completed stream
	sed -i 's/ decide / read /' "$file"
	run ! wait "$!"
	same "$(may "$one") $(decides "$one") $(may "$two")" '200 403 200'
	sed -i '1s/ \* / other /' "$file"
	same "$(TOKEN=$one ask_tcp /api/runs | jq -c .runs) $(may "$two")" '[] 200'
	# A line that is cut off, or none.
	cp "$file" whole
	while read -r change; do
		sed -i "$change" "$file"
		same "$change: $(may "$one") $(may "$two")" "$change: 401 200"
		grep -qF "$file:1: is no line of a token, or has no end, and counts for nothing: mend it or take it out" "$BATS_TEST_TMPDIR/serve.err"
		: >"$BATS_TEST_TMPDIR/serve.err"
		# It is not lost either.
		cp "$file" damaged
		for option in '--new-token read' --list-tokens "--revoke-token $two"; do
			# shellcheck disable=SC2086
			run -4 awf-serve $option
			[[ $output == *"awf-serve: $file:1: is no line of a token"* ]]
		done
		cmp "$file" damaged
		cat whole >"$file"
		same "$(may "$one") $(may "$two")" '200 200'
	done <<-'END'
		1s/^./X/
		1s/^.//
		1s/ read / write /
		1s/ 20..-/ /
		1s/.*//
	END
	truncate -s -1 "$file"
	same "$(may "$one") $(may "$two")" '200 401'
	grep -qF "$file:2: is no line" "$BATS_TEST_TMPDIR/serve.err"
}

@test "the printed link logs in once; its session is not for ever" {
	record
	serve
	login() { curl -s -H 'Content-Type: application/json' -d "$1" -D headers "$URL/api/session"; }
	TOKEN=$(login "{\"code\":\"$CODE\"}" | jq -r .token)
	same "$(ask_tcp /api/session | jq -c .may)" '["read","decide"]'
	same "$(login "{\"code\":\"$CODE\"}" | jq -r .error.code)" unauthorized
	run ! grep -qi set-cookie headers
	# A token begins one, too; with a cookie, for what changes nothing.
	session=$(login "{\"token\":\"$(awf-serve --new-token read)\",\"cookie\":true}" | jq -r .token)
	grep -qi "^set-cookie: awf-session-$PORT=$session; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict" headers
	same "$(status_of -b "awf-session-$PORT=$session" "$URL/api/runs")" 200
	same "$(status_of -b "awf-session-$PORT=$session" -X POST "$URL/api/session/end")" 401
	same "$(status_of -H "Authorization: Bearer $session" -X POST "$URL/api/session/end")" 204
	same "$(status_of -b "awf-session-$PORT=$session" "$URL/api/runs")" 401
}

@test "a storage that is not there is not made" {
	export AWF_STORAGE=$PWD/none
	for command in '--listen 127.0.0.1:0' '--new-token read' --list-tokens '--revoke-token 123456'; do
		# shellcheck disable=SC2086
		run -4 awf-serve $command
		[[ $output == "awf-serve: $AWF_STORAGE: there is no storage "* ]]
		[ ! -e none ]
	done
}

@test "a token for names that mean nothing is not made" {
	mkdir -p "$AWF_STORAGE"
	for wrong in '' , a, ,a a,,b '[' 'a,[' '[!]' '[]' 'x\' 'a b'; do
		run -1 --separate-stderr awf-serve --new-token read --name "$wrong"
		[[ $stderr == 'awf-serve: --name: '* && -z $output ]]
	done
	[ ! -e "$AWF_STORAGE/serve/tokens" ]
	for right in 'a' '*,b' '[ab]?' '[]]' '[!a-z]x' 'x\[' '[[]'; do
		awf-serve --new-token read --name "$right"
	done
	same "$(awf-serve --list-tokens | wc -l)" 7
	# Nor is one that cannot be printed, as nobody would have it.
	mkfifo unread
	exec 8<>unread
	exec 7>unread 8<&- # nobody reads it any more
	run -4 --separate-stderr sh -c 'awf-serve --new-token read >&7'
	exec 7>&-
	run -4 --separate-stderr sh -c 'awf-serve --new-token read >/dev/full'
	same "$stderr" "awf-serve: stdout: unable to write: No space left on device"
	same "$(awf-serve --list-tokens | wc -l)" 7
	run -1 awf-serve --new-token read --label $'a\nb'
	[[ $output == 'awf-serve: --label: is to be one line' ]]
}

@test "another role is 403, whatever is asked for" {
	record
	serve --workflows .
	roles=(read decide ingest start)
	for role in "${roles[@]}"; do tokens+=("$(awf-serve --new-token "$role")"); done
	# What each may not.
	while read -r method path may; do
		for i in 0 1 2 3; do
			body=()
			[ "$method" = GET ] || body=(-H 'Content-Type: application/json' -d '{}')
			got=$(status_of "${body[@]}" -H "Authorization: Bearer ${tokens[i]}" "$URL$path")
			want=403
			# Of runs that it has not started it is not told that they exist.
			[[ "$method $path ${roles[i]}" != "GET "*/@*" start" ]] || want=404
			[[ " $may " != *" ${roles[i]} "* || $got == 40[13] ]] || want=$got
			same "$method $path ${roles[i]} $got" "$method $path ${roles[i]} $want"
		done
	done <<-'END'
		GET /api/runs read decide
		GET /api/runs/@ read decide
		GET /api/runs/@/outline read decide
		GET /api/runs/@/events read decide
		GET /api/runs/@/events/1 read decide
		GET /api/runs/@/blobs/x read decide
		GET /workflows/@/events read decide
		GET /api/session read decide
		GET /metrics read decide
		POST /api/runs/@/decisions decide
		POST /hooks/none start
	END
}

@test "who has another role is told which, and which it takes" {
	record
	serve
	refused() { curl -s -H "Authorization: Bearer $1" -H 'Content-Type: application/json' -d '{}' "$URL/api/runs/@/decisions" | jq -r .error.message; }
	token=$(awf-serve --new-token read --label 'phone of Ann')
	same "$(refused "$token")" 'the token phone of Ann has the role read, and this takes the role decide (awf-serve --new-token decide makes one)'
	token=$(awf-serve --new-token ingest)
	same "$(refused "$token")" "the token $(awf-serve --list-tokens | sed -n 's/ *ingest.*//p') has the role ingest, and this takes the role decide (awf-serve --new-token decide makes one)"
}

@test "who asks for what there is in another way is told which there is" {
	serve
	told() { ask "$@" | jq -r .error.message; }
	same "$(told /api/runs -X PUT)" 'PUT is not for what is asked for: GET, HEAD'
	same "$(told /api/runs/stream?x=1)" 'the parameter x is not known here, but these: children'
	same "$(told /api/session?x=1)" 'the parameter x is not known here'
	head -c 70000 /dev/zero >large
	same "$(told /api/session -H 'Content-Type: application/json' --data-binary @large)" 'the body is too large: 4096 bytes are taken here'
}

@test "a session that is begun with a session ends with it" {
	record
	serve
	login() { curl -s -H 'Content-Type: application/json' -d "$1" -D headers "$URL/api/session"; }
	first=$(login "{\"code\":\"$CODE\"}")
	sleep 1.1
	second=$(login "{\"token\":$(jq .token <<<"$first"),\"cookie\":true}")
	same "$(jq -c '[.expires, .may]' <<<"$second")" "$(jq -c '[.expires, .may]' <<<"$first")"
	grep -qE 'Max-Age=60479[0-9];' headers
	TOKEN=$(jq -r .token <<<"$second")
	same "$(ask_tcp /api/session -o /dev/null -w '%{http_code}')" 200
	same "$(status_of -H "Authorization: Bearer $(jq -r .token <<<"$first")" -X POST "$URL/api/session/end")" 204
	same "$(ask_tcp /api/session | jq -r .error.code)" unauthorized
}

@test "a stream of a run that is removed says so" {
	record
	serve
	ask '/api/runs/@/events/stream?follow=always' >stream 3>&- &
	stream=$!
	eventually grep -q run.completed stream
	rm "$(transcript)"
	wait "$stream"
	same "$(messages <stream | tail -n 1 | jq -Rc 'ltrimstr("end: ") | fromjson | [.status, .alive]')" '["removed",false]'
}

@test "the curl of tests/support is told what curl is told" {
	local real words
	real=$(PATH=${PATH//"$BUILD/tests/support:"/} type -P curl)
	serve
	TOKEN=$(awf-serve --new-token read)
	said() { "$1" -s --max-time 20 "${@:2}" 2>&1 || echo "exit $?"; }
	while read -r words; do
		eval "set -- $words"
		same "$words: $(said curl "$@")" "$words: $(said "$real" "$@")"
	done <<-'END'
		"$URL/healthz" -w '%{http_code}'
		"$URL/api/runs"
		"$URL/api/runs" -H "Authorization: Bearer $TOKEN" -w '\n%{http_code}'
		"$URL/nowhere" -o /dev/stdout -w '\n%{http_code}'
		--unix-socket "$BATS_TEST_TMPDIR/socket" http://localhost/api/runs
		--unix-socket "$BATS_TEST_TMPDIR/socket" http://localhost/api/ingest -d '{}'
		--unix-socket "$BATS_TEST_TMPDIR/socket" http://localhost/openapi.json -X POST --data-binary "@$ROOT/README.md"
		--unix-socket "$PWD/nobody" http://localhost/ -w '%{http_code}'
		http://127.0.0.1:1/ -w '%{http_code}'
		-I "$URL/healthz" --unknown-option
	END
}

@test "a server whose link nobody gets ends, and says why" {
	mkdir -p "$AWF_STORAGE"
	run -4 --separate-stderr env -u JOURNAL_STREAM timeout 10 sh -c 'exec awf-serve --listen 127.0.0.1:0 >/dev/full'
	same "${stderr_lines[-1]}" 'awf-serve: stdout: unable to write: No space left on device'
	run -4 --separate-stderr env -u JOURNAL_STREAM timeout 10 sh -c 'exec awf-serve --listen 127.0.0.1:0 >&-'
	same "${stderr_lines[-1]}" 'awf-serve: stdout: unable to write: Bad file descriptor'
}
