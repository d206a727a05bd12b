#!/usr/bin/env bats
# awf-serve: text under way, in the stream of a run's events. The providers do what a script
# says, as in live.bats.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/writing
load ../../support/serve

prepare() {
	scripted_model
	# The script of request N goes on when its text has been seen: there is a file seen.N.
	seen='while [ ! -e "$SCRIPT/seen.$n" ]; do sleep 0.02; done'
}

cleanup() {
	rm -f held
	serve_end
	# shellcheck disable=SC2046
	kill -9 $(jobs -p) 2>/dev/null || true
}

ask_model() { awf-step -r -m scripted/m -p '{{data}}' "$@" <<<x; }
is_ready() { [ -e ready ]; }
begun() { [ -e "$AWF_STORAGE/latest" ]; }

# Follows the latest run, in a file.
follow() { ask "/api/runs/@/events/stream?live=1${2-}" >"$1" 3>&- & }
# What came: the types of events, and what has a name, without its call.
came() {
	messages <"$1" | sed 's/ [0-9]*-[0-9a-f]*$//; s/"call":"[0-9a-f-]*",//; /^live: \|^end: \|^reset: /b; s/.*"type":"\([a-z_]*\.[a-z_.]*\)".*/\1/'
}
shows() { came "$1" 2>/dev/null | grep -qF "$2"; }

@test "text comes while it is written, to who was there and to who comes later, and is done when it is recorded" {
	serve
	script 1 'say "one "' 'say "two "' 'say "look {" tool' hold 'say three' "$seen" 'answer "one two three"'
	ask_model s >out 3>&- &
	run=$!
	eventually begun
	follow early
	eventually is_ready
	eventually shows early '"append":"look {"'
	follow late
	eventually shows late '"append":"look {"'
	go_on
	for each in early late; do eventually shows "$each" '"append":"three"'; done
	: >seen.1
	wait "$run"
	for each in early late; do
		eventually shows "$each" 'end: {'
		same "$(came "$each" | grep -v '^live.*three\|^live.*done')" 'run.started
step.started
message.user
live: {"turn":0,"kind":"text","append":"one two "}
live: {"turn":0,"kind":"tool","append":"look {"}
message.assistant
step.completed
run.completed
end: {"status":"success","attempt":1,"seq":6,"alive":false}'
		same "$(came "$each" | grep '^live.*three\|^live.*done')" 'live: {"turn":0,"kind":"text","append":"three"}
live: {"done":true}'
	done
	# Others are told nothing of it.
	run ! grep -q '^event: live' < <(ask /api/runs/@/events/stream)
}

@test "what is asked again begins anew; each turn has its own text, and none while tools run" {
	printf -- '---\nname: slow\nmodel: scripted/m\ntools: [slow]\n---\nBe brief.\n' >agents/slow.md
	tool slow '"input_schema":{"type":"object"},"effects":"none"' "while [ -e $PWD/held ]; do sleep 0.02; done; echo 5"
	script 1 'say "wrong"' "$seen" 'fails overloaded'
	script 2 'say "let me see"' "$seen" 'blocks '"'"'{"type":"tool_use","tool_id":"t1","tool_name":"slow","tool_input":{}}'"'"' tool_use'
	script 3 'say "five"' "$seen" 'answer five'
	serve
	awf-step -r -a slow --retries 1 --delay 0 -p x s <<<x >out 2>err 3>&- &
	run=$!
	eventually begun
	follow first
	eventually shows first '"append":"wrong"'
	: >seen.1
	eventually shows first '"append":"let me see"'
	: >seen.2
	# While the tool runs nothing is being written, though the file is there still.
	eventually shows first '{"done":true}'
	follow second
	eventually shows second tool.call
	sleep 0.3
	run ! shows second live
	go_on
	eventually shows second tool.result
	eventually shows second '"turn":1,"kind":"text","append":"five"'
	eventually shows first '"turn":1,"kind":"text","append":"five"'
	: >seen.3
	wait "$run"
	same "$(came first | grep ^live)" 'live: {"turn":0,"kind":"text","append":"wrong"}
live: {"turn":0,"restart":true}
live: {"turn":0,"kind":"text","append":"let me see"}
live: {"done":true}
live: {"turn":1,"kind":"text","append":"five"}
live: {"done":true}'
}

@test "several calls write at the same time; one that is killed writes no more" {
	# Each has a provider of its own.
	script 1 'say "one"' hold 'answer one'
	serve
	printf 'a\nb\n' | awf-run --name pair -c 'awf-step -i lines -j 2 -q -m scripted/m -p x s' >out 2>err 3>&- &
	run=$!
	eventually begun
	follow stream '&follow=always'
	both() { [ "$(messages <stream | grep '"append":"one"' | grep -o '"call":"[^"]*"' | sort -u | wc -l)" = 2 ]; }
	eventually both
	id=$(basename "$(transcript)" .jsonl)
	kill -9 "$run"
	done_twice() { [ "$(came stream | grep -c '"done":true')" = 2 ]; }
	eventually done_twice
	# Its files, should any be left, are of nothing that happens.
	follow late '&follow=always'
	eventually shows late step.started
	sleep 0.3
	run ! shows late live:
	# Gone on with, it writes anew, for who has stayed.
	rm -f ready
	awf-run --resume "$id" >out 2>err 3>&- &
	run=$!
	# What was left may be shown between the lock of the new attempt and its first event.
	more() { [ "$(came late | awk '/^run.started/ { n++ } n == 2 && /"append"/ { c++ } END { print c }')" = 2 ]; }
	eventually more || { came late; false; }
	go_on
	wait "$run"
}

@test "a masked run has no text under way, and live goes with all lines alone" {
	script 1 'say "the secret"' hold 'answer done'
	serve
	awf-run --mask 'sed -u s/secret/xxx/' -c 'awf-step -q -m scripted/m -p x s' <<<x >out 2>err 3>&- &
	run=$!
	eventually begun
	follow stream
	eventually is_ready
	sleep 0.3
	go_on
	wait "$run"
	eventually shows stream 'end: {'
	run ! grep -q '^event: live\|secret' stream
	for wrong in 'type=run.*' 'path=s' 'as=runtime' 'live=2'; do
		same "$(ask "/api/runs/@/events/stream?live=1&$wrong" | jq -r .error.code)" invalid_input
	done
	same "$(ask '/api/runs/@/events?live=1' | jq -r .error.code)" invalid_input
}

@test "ten who look on have one watch of each file" {
	script 1 'say "one"' hold 'answer one'
	serve
	ask_model s >out 3>&- &
	run=$!
	eventually begun
	follow stream.1
	eventually shows stream.1 '"append":"one"'
	watches() { cat /proc/"$SERVE_PID"/fdinfo/* 2>/dev/null | grep -c ^inotify; }
	before=$(watches)
	for i in $(seq 2 10); do follow "stream.$i"; done
	for i in $(seq 2 10); do eventually shows "stream.$i" '"append":"one"'; done
	same "$(watches)" "$before"
	go_on
	wait "$run"
	for i in $(seq 10); do eventually shows "stream.$i" 'end: {'; done
	# And none when nobody does.
	none() { [ "$(watches)" = 0 ]; }
	eventually none
}

@test "long text comes whole, to who comes late too" {
	script 1 'for i in 1 2 3 4 5 6; do say "$(head -c 40000 /dev/zero | tr "\0" "$i")"; sleep 0.1; done' hold 'answer done'
	serve
	ask_model s >out 3>&- &
	run=$!
	eventually begun
	eventually is_ready
	follow stream
	eventually shows stream '"append":"6'
	for i in 1 2 3 4 5 6; do head -c 40000 /dev/zero | tr '\0' "$i"; done >whole
	cmp whole <(messages <stream | sed -n 's/^live: //p' | jq -j .append)
	go_on
	wait "$run"
}

@test "where nothing tells of changes, they are looked for" {
	unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_inotify_instances' 2>/dev/null || skip "needs user namespaces"
	awf-serve() { exec unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_inotify_instances; exec "$@"' sh "$BUILD/bin/awf-serve" "$@"; }
	script 1 'say "one"' hold 'say "two"' "$seen" 'answer "one two"'
	serve
	unset -f awf-serve
	ask_model s >out 3>&- &
	run=$!
	eventually begun
	token=$(awf-serve --new-token read)
	curl -sN -H "Authorization: Bearer $token" "$URL/api/runs/@/events/stream?live=1" >stream 3>&- &
	eventually shows stream '"append":"one"'
	go_on
	eventually shows stream '"append":"two"'
	: >seen.1
	wait "$run"
	# That the answer is there is mostly seen later than the end.
	eventually shows stream 'end: {'
	same "$(came stream | grep '^live.*append')" 'live: {"turn":0,"kind":"text","append":"one"}
live: {"turn":0,"kind":"text","append":"two"}'
}
