#!/usr/bin/env bats
# bats file_tags=turn:2
# What a user allows of the calls of a provider, awf-limits(5), is kept across steps and runs.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0

load ../../support/helpers
load ../../support/agent

prepare() {
	mkdir -p agents "$XDG_CONFIG_HOME/awf"
	agent writer
	text fine >answer
}

limits() { printf '%s\n' "$@" >"$XDG_CONFIG_HOME/awf/limits"; }
serve() { model_server --answer answer --loop "$@"; }
count() { curl -s "$MODEL_SERVER/count" | jq -c "$1"; }
# What was told of waits.
waits() { jq -r 'select(.payload.wait) | .payload | [.wait.provider, .wait.reason // "over"] | join(": ")' "$(transcript)"; }
# N steps at once, of as many runs.
crowd() {
	local pids=() i status=0
	for ((i = 0; i < $1; i++)); do
		echo x | awf-step -q "s$i" -a writer 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || status=$?; done
	return "$status"
}
# The file's locks on bytes beyond the first: who waits, and who has a place.
file() { echo "$AWF_STORAGE/limits/anthropic"; }
waiting() { [ "$(awk -v inode="$(stat -c %i "$(file)")" '$6 ~ ":" inode "$" && $7 > 1000000' /proc/locks | wc -l)" = "$1" ]; }
# So many requests have come: who is killed then leaves the next its own answer.
asked() { [ "$(count .requests)" -ge "$1" ]; }
# MS: a call that is under way, each piece of whose answer takes so long; and its end.
hold() {
	serve --fault "1:slow:$1"
	echo x | awf-step -q a -a writer 3>&- &
	holder=$!
	eventually asked 1
}
let_go() {
	kill "$holder"
	wait "$holder" || true
}

# bats test_tags=turn:2
@test "fifty steps at once, of as many runs, are four calls at once" {
	limits '# mine' '' 'anthropic at-once=4'
	serve --fault '*:slow:2'
	crowd 50
	same "$(count '[.requests, .most <= 4, .most > 1]')" '[50,true,true]'
}

@test "a step starts no more calls than may ask at the same time, unless its agent has tools" {
	limits 'anthropic at-once=3'
	serve --fault '*:slow:2'
	seq 20 | awf-step -q -i lines -j 20 wide -a writer 3>&- &
	most=0
	while kill -0 $! 2>/dev/null; do
		now=$(pgrep -c -f '^[^ ]*awf-step -q -i lines -j 20 wide') || true
		[ "$now" -le "$most" ] || most=$now
	done
	wait $!
	same "$(count '[.requests, .most <= 3]')" '[20,true]'
	# The step itself, and three of its calls.
	[ "$most" -le 4 ] && [ "$most" -ge 2 ]
}

@test "a run's steps share with another's, and with items of one step" {
	limits '* at-once=2'
	serve --fault '*:slow:2'
	awf-run -n -- sh -c 'seq 6 | awf-step -q -i lines -j 6 a -a writer' 3>&- &
	awf-run -n -- sh -c 'for i in 1 2 3 4; do echo x | awf-step -q b$i -a writer & done; wait'
	wait $!
	same "$(count '[.requests, .most <= 2]')" '[10,true]'
}

@test "without limits as many as come" {
	serve --fault '*:slow:50'
	crowd 6
	[ "$(count .most)" -gt 4 ]
	[ ! -e "$AWF_STORAGE/limits" ]
	limits 'openai at-once=1'
	crowd 1
	[ ! -e "$AWF_STORAGE/limits" ]
}

@test "no limits file costs an open for the step, and one for each call" {
	command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null || skip "no strace"
	serve
	echo x | strace -f -o calls awf-step -q a -a writer
	same "$(grep -c 'awf/limits' calls)" 2
	[ ! -e "$AWF_STORAGE/limits" ]
}

@test "so many a minute, and the rest when it is over" {
	limits 'anthropic per-minute=3'
	serve
	began=$(date +%s%3N)
	crowd 5
	took=$(($(date +%s%3N) - began))
	same "$(count .requests)" 5
	[ "$took" -ge "$(patience_of 60000)" ]
}

@test "so many tokens a minute, as answers tell them, and the rest when it is over" {
	limits 'anthropic tokens-per-minute=40'
	serve
	began=$(date +%s%3N)
	# Each uses 15.
	for i in 1 2 3; do crowd 1; done
	[ "$(($(date +%s%3N) - began))" -lt "$(patience_of 60000)" ]
	run -0 --separate-stderr awf-step -v -r b -a writer <<<x
	[[ $stderr == *"writer: waiting for anthropic: 40 tokens in the last minute, next try in "* ]]
	[ "$(($(date +%s%3N) - began))" -ge "$(patience_of 55000)" ]
	same "$(count .requests)" 4
}

@test "calls at the same time see each other's tokens before there is an answer" {
	limits 'anthropic tokens-per-minute=700'
	serve --fault '*:slow:100'
	yes word | head -n 300 | tr '\n' ' ' >prompt
	pids=()
	for i in 1 2 3 4 5; do
		awf-step -q "s$i" -a writer <prompt 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; done
	same "$(count '[.requests, .most]')" '[5,2]'
}

@test "a request that is larger than the limit goes alone" {
	limits 'anthropic tokens-per-minute=10'
	serve
	began=$(date +%s%3N)
	yes word | head -n 300 | tr '\n' ' ' | awf-step -q a -a writer
	[ "$(($(date +%s%3N) - began))" -lt "$(patience_of 60000)" ]
	same "$(awf doctor --json | jq -r 'select(.name == "limits").message' | tr -d 0-9)" \
		'anthropic:  tokens a minute ( used), down after  failures'
	run -3 --separate-stderr awf-step --timeout 500ms b -a writer <<<x
	[[ $stderr == "awf-step: b: anthropic: was not asked: 10 tokens in the last minute" ]]
	same "$(count .requests)" 1
}

@test "a wait is told on stderr, in the record and by awf-tail, and replayed" {
	limits 'anthropic at-once=1'
	hold 400
	# shellcheck disable=SC2016
	run -0 --separate-stderr awf-run -n -- sh -c 'echo x | awf-step -v -r b -a writer'
	wait "$holder"
	same "$output" fine
	[[ $stderr == *"writer: waiting for anthropic: 1 of 1 calls under way"* ]]
	same "$(waits)" $'anthropic: 1 of 1 calls under way\nanthropic: over'
	run -0 awf-tail
	[[ $output == *"b waiting for anthropic: 1 of 1 calls under way"*"b asks anthropic after "* ]]
	awf-verify -q
	awf-verify --determinism --isolation copy
	# What was waited is in no answer's time.
	same "$(jq -s 'map(select(.type == "message.assistant").payload) | .[-1].duration_ms < .[-2].duration_ms' "$(transcript)")" true
	run ! grep -q '"wait"' <(awf-tail -R --as otlp "$(transcript)")
}

@test "a short wait is told nowhere" {
	limits 'anthropic at-once=1'
	serve --fault '*:slow:5'
	crowd 4
	# On a busy machine some may have been longer.
	same "$(jq -s --argjson told "$(patience_of 1000)" 'map(.payload | select(.wait and .duration_ms != null and .duration_ms < $told).wait)' \
		"$AWF_STORAGE"/transcripts/*)" '[]'
}

@test "who holds a place and is killed leaves it, and so does who waits" {
	limits 'anthropic at-once=1'
	hold 60000
	echo x | awf-step -q b -a writer 3>&- &
	waiter=$!
	eventually waiting 1
	echo x | awf-step -q c -a writer >out 3>&- &
	last=$!
	eventually waiting 2
	kill -9 "$waiter"
	eventually waiting 1
	kill -9 "$holder"
	wait "$last"
	same "$(count .requests)" 2
}

@test "a cancel while waiting works at once, and lets the next go first" {
	limits 'anthropic at-once=1'
	hold 60000
	echo x | awf-step b -a writer 2>err 3>&- &
	waiter=$!
	eventually waiting 1
	began=$(date +%s%3N)
	kill "$waiter"
	wait "$waiter" || status=$?
	[ "$(($(date +%s%3N) - began))" -lt 3000 ]
	[ "$status" -ne 0 ]
	grep -q 'cancelled by signal 15' err
	eventually waiting 0
	let_go
}

@test "a wait counts for --timeout, whose error says what for" {
	limits 'anthropic at-once=1'
	hold 60000
	run -3 --separate-stderr awf-step b -a writer --timeout 300ms <<<x
	same "$stderr" 'awf-step: b: anthropic: was not asked: 1 of 1 calls under way'
	same "$(payloads step.completed .error.code)" '"timeout"'
	let_go
}

@test "who is stopped when it is his turn holds nobody up" {
	limits 'anthropic at-once=1'
	hold 300
	echo x | awf-step -q b -a writer >b.out 3>&- &
	stopped=$!
	eventually waiting 1
	kill -STOP "$stopped"
	echo x | awf-step -q c -a writer
	kill -CONT "$stopped"
	wait "$stopped"
	same "$(count .requests)" 3
}

@test "an API that is down is tried by one, after longer and longer pauses, until it answers" {
	limits 'anthropic down-after=3'
	serve --fault 1:503 --fault 2:529 --fault 3:503 --fault 4:503 --fault 5:503
	for i in 1 2 3; do run -3 awf-step -q --retries 0 "s$i" -a writer <<<x; done
	local pids=()
	for i in 1 2 3 4 5 6; do
		awf-run -n -c "echo x | awf-step -q --delay 1ms a -a writer" 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; done
	# Two trials in vain, and then each once.
	same "$(count .requests)" 11
	jq -r .time "$MODEL_SERVER_LOG" >when
	same "$(jq -nR --argjson first "$(patience_of 5000)" '[inputs | (.[20:26] | tonumber) as $us |
		(.[0:19] + "Z" | fromdate) * 1000 + $us / 1000] |
		.[3] - .[2] >= $first and .[4] - .[3] >= 2 * $first and .[5] - .[4] >= 4 * $first' when)" true
	same "$(grep -ho '"reason":"down since [0-9:]* UTC"' "$AWF_STORAGE"/transcripts/* | sort -u | wc -l)" 1
	grep -hq '"reason":"down since [^"]*"},"delay_ms":[0-9]' "$AWF_STORAGE"/transcripts/*
	grep -hq '"wait":{"provider":"anthropic"},"duration_ms":[0-9]' "$AWF_STORAGE"/transcripts/*
	run -0 awf-tail
	[[ $output == *"a waiting for anthropic: down since "??:??:??" UTC, next try in "* ]]
	awf-verify --determinism --isolation copy
}

@test "a trial that is killed is left to another" {
	limits 'anthropic down-after=1'
	serve --fault 1:503 --fault 2:slow:60000
	run -3 --separate-stderr awf-step -q --retries 0 a -a writer <<<x
	echo x | awf-step -q b -a writer 3>&- &
	trial=$!
	eventually asked 2
	held_trial
	echo x | awf-step -q c -a writer 3>&- &
	other=$!
	eventually waiting 1
	kill -9 "$trial"
	wait "$other"
	same "$(count .requests)" 3
	# It has answered: nobody waits any more.
	crowd 2
	same "$(count .requests)" 5
}
held_trial() { awk -v inode="$(stat -c %i "$(file)")" '$2 == "OFDLCK" && $6 ~ ":" inode "$" && $7 == 0' /proc/locks | grep -q .; }

@test "nobody who has a fallback waits for an API that is down" {
	patient # it is down still when it is asked for again
	limits 'anthropic down-after=1'
	agent writer 'fallback: [openai/other]'
	echo '{"model":"o-1","choices":[{"index":0,"delta":{"content":"instead"},"finish_reason":"stop"}]}' >other
	model_server --answer-for '"model":"other"' other --loop --fault 1:503
	run -0 --separate-stderr awf-step -r --retries 0 a -a writer <<<x
	same "$output" instead
	run -0 --separate-stderr awf-step -r --retries 0 b -a writer <<<x
	same "$output" instead
	# Of the second step the first API has heard nothing.
	same "$(jq -r .path "$MODEL_SERVER_LOG" | grep -c messages)" 1
}

@test "an answer of any kind says that it is up" {
	limits 'anthropic down-after=2'
	serve --fault 1:503 --fault 2:429 --fault 3:503 --fault 4:401
	for i in 1 2 3 4; do run -3 awf-step -q --retries 0 "s$i" -a writer <<<x; done
	run -0 awf-step -q --retries 0 a -a writer <<<x
	same "$(count .requests)" 5
}

@test "a server that is not there is down, and one that is never down is asked each time" {
	patient # it is down still when it is asked for again
	limits 'anthropic down-after=1'
	export ANTHROPIC_API_KEY=key
	run -3 awf-step -q --retries 0 a -a writer <<<x
	run -3 --separate-stderr awf-step --retries 0 --timeout 500ms b -a writer <<<x
	[[ $stderr == 'awf-step: b: anthropic: was not asked: down since '??:??:??' UTC' ]]
	limits 'anthropic down-after=0'
	run -3 --separate-stderr awf-step --retries 0 --timeout 5s b -a writer <<<x
	[[ $stderr != *'was not asked'* ]]
}

@test "calls within a call of an agent CLI, by a tool or by its own hand, do not wait for it" {
	limits 'claude at-once=1'
	mkdir -p bin inner/agents tools
	printf -- '---\nprovider: claude\n%s\n---\n' 'tools: [nested]' >agents/outer.md
	printf -- '---\nprovider: claude\n---\n' >inner/agents/inner.md
	cat >nest <<-'END'
		#!/bin/sh
		unset AWF_RUN_ID AWF_TRANSCRIPT AWF_PARENT AWF_CALL AWF_PATH AWF_TASK AWF_BODY AWF_WORKFLOW_DIR
		cd "${0%/*}/inner" && echo x | awf-step -r "$1" -a inner --timeout 20s
	END
	chmod +x nest
	cat >bin/claude <<-END
		#!/bin/sh
		case \$PWD in
		*/inner) ;;
		*) $PWD/nest byhand </dev/null >byhand 2>&1 ;;
		esac
		exec "$ROOT/tests/support/mcp-cli.py" "\$@"
	END
	chmod +x bin/claude
	export PATH="$PWD/bin:$PATH"
	tool nested '"input_schema":{"type":"object"},"effects":"read"' "cat >/dev/null; $PWD/nest tool"
	: >inner/script
	echo '{"call":"nested","arguments":{}}' >script
	run -0 --separate-stderr awf-step -r --timeout 20s a -a outer <<<x
	same "$output $(cat byhand)" 'nothing nothing'
	[[ $(cat heard) == *'"text":"nothing"'* ]]
	# Its place was there again for the rest of the turn, and is free now.
	run -0 --separate-stderr awf-step -r --timeout 20s b -a outer <<<x
}

# A program that asks N models at once, whose answers it prints, of which it needs no key.
program() {
	cat >ask <<-'END'
		send() {
			curl -sS -H "x-api-key: $ANTHROPIC_API_KEY" -H content-type:application/json \
				-d "{\"model\":\"m\",\"max_tokens\":9,\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"$1\"}]}" \
				"$ANTHROPIC_BASE_URL/v1/messages" "${@:2}"
		}
		for i in $(seq "$1"); do send "$i" "${@:2}" >"out.$i" & done
		wait
		cat out.*
	END
}

@test "what a program asks by --models takes places among the calls of its provider" {
	limits 'anthropic at-once=2'
	program
	serve --fault '*:slow:2'
	# Of two programs, and of agents beside them.
	awf-run -n -c 'seq 2 | awf-step -q -i lines -j 2 --models app -- bash ask 6' 3>&- &
	programs=$!
	crowd 4
	wait "$programs"
	same "$(count '[.requests, .most <= 2, .most > 1]')" '[16,true,true]'
	# Of many that wait in one process each begins.
	limits 'anthropic at-once=1'
	rm -r "$AWF_STORAGE"
	cat >many.py <<-'END'
		import json, os, socket, urllib.parse
		url = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
		asked = []
		for i in range(60):
		    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": str(i)}]})
		    asked.append(socket.create_connection((url.hostname, url.port)))
		    asked[-1].sendall(f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: {os.environ['ANTHROPIC_API_KEY']}\r\n"
		                      f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
		for one in asked:
		    while one.recv(65536): pass
	END
	serve
	awf-run -n -c 'awf-step -n -q --models app -- python3 -S many.py'
	same "$(count '[.requests, .most]')" '[60,1]'
	same "$(payloads message.user '.blocks[0].text' | sort)" "$(seq -f '"%g"' 0 59 | sort)"
	serve --fault '*:slow:2'
	# A minute has so many of them.
	limits 'anthropic per-minute=3'
	rm -r "$AWF_STORAGE/limits"
	began=$(date +%s%3N)
	awf-run -n -c 'awf-step -n -q --models app -- bash ask 5'
	[ "$(($(date +%s%3N) - began))" -ge "$(patience_of 60000)" ]
}

@test "a wait of a program's request is told as that of an agent, and replayed; it records nothing before its turn" {
	limits 'anthropic at-once=1'
	program
	hold 400
	awf-run -n -c 'awf-step -n -r --models app -- bash ask 1' >out 3>&- &
	program=$!
	eventually grep -qrs '"wait"' "$AWF_STORAGE/transcripts"
	same "$(payloads message.user 1)" ''
	wait "$holder"
	wait "$program"
	grep -q fine out
	same "$(waits)" $'anthropic: 1 of 1 calls under way\nanthropic: over'
	run -0 awf-tail
	[[ $output == *"app waiting for anthropic: 1 of 1 calls under way"*"app asks anthropic after "* ]]
	awf-verify -q
	kill "$MODEL_SERVER_PID"
	awf-verify --determinism --isolation copy
	same "$(jq -s 'map(select(.type == "message.assistant").payload) | .[-1].duration_ms < .[-2].duration_ms' "$(transcript)")" true
}

@test "a program that hangs up while its request waits leaves its turn to others, and asks nothing" {
	limits 'anthropic at-once=1'
	program
	hold 60000
	awf-run -n -c 'awf-step -n -q --models app -- bash ask 1 --max-time 1; true' 2>err 3>&- &
	program=$!
	eventually waiting 1
	echo x | awf-step -q c -a writer >out 3>&- &
	last=$!
	eventually waiting 2
	eventually waiting 1
	let_go
	wait "$last" "$program"
	same "$(count .requests)" 2
	same "$(jq -r 'select(.type == "message.user") | .path' "$AWF_STORAGE"/transcripts/* | sort | paste -sd' ')" 'a c'
}

@test "--timeout of a program says what its request waited for, and a killed one leaves its places" {
	limits 'anthropic at-once=1'
	program
	hold 60000
	run -3 --separate-stderr awf-step -n --models --timeout 300ms b -- bash ask 1
	same "$stderr" 'awf-step: b: anthropic: was not asked: 1 of 1 calls under way'
	same "$(payloads step.completed .error.code)" '"timeout"'
	let_go
	# One that holds its place, and one that waits for it.
	serve --fault '1:slow:60000'
	awf-step -n -q --models d -- bash ask 2 3>&- &
	program=$!
	eventually waiting 1
	pids=$(pgrep -P "$program")
	# shellcheck disable=SC2086
	kill -9 "$program" $pids
	echo x | awf-step -q c -a writer
	same "$(count .requests)" 2
}

@test "while an API is down the requests of programs wait, but for one that tries" {
	limits 'anthropic down-after=2'
	program
	serve --fault 1:503 --fault 2:529 --fault 3:503
	run -0 --separate-stderr awf-step -n -r --models a -- bash ask 2
	[[ $output == *overloaded* ]]
	run -0 --separate-stderr awf-run -n -c 'awf-step -n -r --models b -- bash ask 4'
	[[ $output == *fine*fine*fine* ]]
	# The one that tried failed once more, as the program asks nothing twice.
	same "$(count .requests)" 6
	same "$(waits | sort -u | cut -c-21 | paste -sd,)" 'anthropic: down since,anthropic: over'
	awf-verify --determinism --isolation copy
}

@test "a limits file that is wrong refuses what a program asks" {
	limits 'anthropic at-one=4'
	program
	serve
	run -3 --separate-stderr awf-step -n -r --models b -- bash ask 1
	same "$stderr" "awf-step: b: $XDG_CONFIG_HOME/awf/limits:1: 'at-one' is no limit (did you mean 'at-once'?)"
	same "$(count .requests)" 0
}

@test "a file that is wrong is one line" {
	serve
	wrong() {
		limits "$1"
		run -3 --separate-stderr awf-step b -a writer <<<x
		same "$stderr" "awf-step: b: $XDG_CONFIG_HOME/awf/limits${2}"
	}
	wrong $'anthropic at-once=4\nanthropic 4' ":2: expected PROVIDER at-once=N per-minute=N tokens-per-minute=N down-after=N cost-per-day=USD, not '4'"
	wrong 'anthropic at-one=4' ":1: 'at-one' is no limit (did you mean 'at-once'?)"
	wrong 'anthropic at-once=0' ":1: expected at-once=N, N from 1 to 1024, not '0'"
	wrong 'anthropic at-once=' ":1: expected at-once=N, N from 1 to 1024, not ''"
	wrong 'anthropic per-minute=1e3' ":1: expected per-minute=N, N from 1 to 16384, not '1e3'"
	wrong 'anthropic tokens-per-minute=0' ":1: expected tokens-per-minute=N, N from 1 to 1000000000, not '0'"
	wrong 'anthropic down-after=99999999999999999999' ":1: expected down-after=N, N from 0 to 1000, not '99999999999999999999'"
	wrong '../x at-once=4' ":1: '../x' is no provider's name, nor * for all that have no line"
	rm "$XDG_CONFIG_HOME/awf/limits"
	mkdir "$XDG_CONFIG_HOME/awf/limits"
	run -4 --separate-stderr awf-step b -a writer <<<x
	[[ $stderr == *"awf/limits: unable to read: Is a directory" ]]
	same "$(count .requests)" 0
}

@test "what the storage has of it may be nonsense" {
	limits 'anthropic at-once=1 per-minute=100 tokens-per-minute=10000'
	serve
	mkdir -p "$AWF_STORAGE/limits"
	head -c 200000 /dev/urandom >"$(file)"
	crowd 2
	{ printf awf-lim1; head -c 200000 /dev/zero | tr '\0' '\177'; } >"$(file)"
	crowd 2
	rm "$(file)"
	mkdir "$(file)"
	run -4 --separate-stderr awf-step b -a writer <<<x
	[[ $stderr == *"limits/anthropic: unable to open: Is a directory" ]]
}

@test "nonsense in the storage does not keep an API from being taken for down" {
	patient # it is down still when it is asked for again
	limits 'anthropic down-after=1'
	serve --fault '*:503'
	mkdir -p "$AWF_STORAGE/limits"
	# Calls are none, all else is below 0.
	{ printf awf-lim1; head -c 16 /dev/zero; head -c 32 /dev/zero | tr '\0' '\200'; } >"$(file)"
	run -3 awf-step -q --retries 0 a -a writer <<<x
	run -3 --separate-stderr awf-step --retries 0 --timeout 500ms b -a writer <<<x
	[[ $stderr == 'awf-step: b: anthropic: was not asked: down since '??:??:??' UTC' ]]
	same "$(count .requests)" 1
}

# bats test_tags=turn:2
@test "awf doctor says what holds" {
	found() { awf doctor --json | jq -r 'select(.name == "limits") | "\(.status) \(.message)"'; }
	same "$(found)" ''
	limits 'anthropic at-once=4 per-minute=50' '* down-after=0' 'anthropic at-once=2 per-minute=3 tokens-per-minute=9000' 'antropic at-once=1'
	serve
	crowd 2
	same "$(found)" "ok *: never down
ok anthropic: 2 at once (0 under way), 3 a minute (2 begun), 9000 tokens a minute (30 used), down after 5 failures
note unknown provider 'antropic' (did you mean 'anthropic'?)"
	limits 'anthropic at-once'
	same "$(found)" "wrong $XDG_CONFIG_HOME/awf/limits:1: expected PROVIDER at-once=N per-minute=N tokens-per-minute=N down-after=N cost-per-day=USD, not 'at-once'"
	# Nothing was made for those that nobody has asked.
	same "$(ls "$AWF_STORAGE/limits")" anthropic
}
