load ../../support/helpers
bats_require_minimum_version 1.5.0
load ../../support/provider

# The protocol itself: requests, cancelling, ends.

stream() { echo "$ROOT/tests/fixtures/anthropic/text.jsonl"; }

# Starts a provider in the background: requests go to descriptor 9, answers into a file.
start() {
	mkfifo requests
	provider "$@" <requests >answers 9>&- &
	pid=$!
	exec 9>requests
}

# Waits, at most five seconds, until a command succeeds.
wait_until() {
	local n=250
	until "$@"; do
		n=$((n - 1))
		[ "$n" -gt 0 ] || return 1
		sleep 0.02
	done
}

served() { [ "$(curl -s "$MODEL_SERVER/count" | jq .requests)" -ge "$1" ]; }
gone() { ! kill -0 "$pid" 2>/dev/null; }

@test "--help and --version" {
	for name in anthropic google openai openai-responses replay; do
		run -0 provider $name --help
		[[ $output == "usage: awf-provider-$name"* ]]
		run -0 provider $name --version
		[[ $output == "awf-provider-$name "[0-9]* ]]
		run -1 provider $name --colour
		[[ $output == "awf-provider-$name: --colour: "* ]]
		run -1 provider $name file
		same "$output" "awf-provider-$name: file: unexpected argument"
	done
}

@test "--check: what it has and what is missing; nobody is asked, and no key is told" {
	unset ANTHROPIC_BASE_URL OPENAI_BASE_URL GEMINI_BASE_URL
	while IFS='|' read -r name settings status answer; do
		# shellcheck disable=SC2086
		run "-$status" --separate-stderr env $settings "$BUILD/libexec/awf/awf-provider-$name" --check </dev/null
		same "$name $settings $output$stderr" "$name $settings $answer"
	done <<-'END'
		anthropic||3|{"ready":false,"message":"no API key: set ANTHROPIC_API_KEY"}
		anthropic|ANTHROPIC_API_KEY=sk-secret|0|{"key":"ANTHROPIC_API_KEY","ready":true}
		anthropic|ANTHROPIC_API_KEY=|3|{"ready":false,"message":"no API key: set ANTHROPIC_API_KEY"}
		anthropic|ANTHROPIC_API_KEY=sk-secret ANTHROPIC_BASE_URL=ftp://u:secret@x|3|{"key":"ANTHROPIC_API_KEY","server":"ANTHROPIC_BASE_URL","ready":false,"message":"ANTHROPIC_BASE_URL: expected a URL that begins with http:// or https://"}
		google|GOOGLE_API_KEY=sk-secret|0|{"key":"GOOGLE_API_KEY","ready":true}
		google|GOOGLE_API_KEY=sk-secret GEMINI_API_KEY=secret|0|{"key":"GEMINI_API_KEY","ready":true}
		openai|OPENAI_BASE_URL=http://127.0.0.1:1/v1|0|{"server":"OPENAI_BASE_URL","ready":true}
		openai-responses|OPENAI_API_KEY=sk-secret|0|{"key":"OPENAI_API_KEY","ready":true}
		replay||0|{"ready":true}
		replay|AWF_REPLAY=/nowhere|3|{"ready":false,"message":"/nowhere: unable to open: No such file or directory"}
		replay|AWF_KNOWN_ENDS=x|1|{"ready":false,"message":"AWF_KNOWN_ENDS: 'x': expected WORD=REASON, where REASON is stop, tool_use, max_tokens, stop_sequence, refusal or pause"}
		codex|PATH=/nowhere|3|{"ready":false,"message":"there is no codex in $PATH: npm install -g @openai/codex"}
	END
	mkdir bin
	printf '#!/bin/sh\n: >ran\n' >bin/codex
	chmod +x bin/codex
	same "$(PATH=$PWD/bin provider codex --check)" "{\"program\":\"$PWD/bin/codex\",\"ready\":true}"
	[ ! -e ran ]
	[ ! -e /dev/full ] || run -4 sh -c 'OPENAI_API_KEY=x "$0" --check >/dev/full' "$BUILD/libexec/awf/awf-provider-openai"
}

@test "no input, no output" {
	run -0 provider anthropic </dev/null
	same "$output" ''
}

@test "requests that are none" {
	while read -r line; do
		read -r expected
		same "$line $(echo "$line" | provider anthropic)" "$line $expected"
	done <<-'END'
		{"id":1
		{"id":null,"type":"error","category":"invalid","message":"request: byte 8: ends too early"}
		{"model":"m","messages":[]}
		{"id":null,"type":"error","category":"invalid","message":"request: id: expected a whole number"}
		{"id":"x","model":"m","messages":[]}
		{"id":null,"type":"error","category":"invalid","message":"request: id: expected a whole number"}
		{"id":1,"messages":[]}
		{"id":1,"type":"error","category":"invalid","message":"request: model: expected a string"}
		{"id":1,"model":"m"}
		{"id":1,"type":"error","category":"invalid","message":"request: messages: expected an array"}
		{"id":1,"model":"m","messages":[],"tools":{}}
		{"id":1,"type":"error","category":"invalid","message":"request: tools: expected an array"}
		{"id":1,"model":"m","messages":[],"system":["x"]}
		{"id":1,"type":"error","category":"invalid","message":"request: system: expected a string"}
		{"id":1,"model":"m","messages":[],"params":1}
		{"id":1,"type":"error","category":"invalid","message":"request: params: expected an object"}
	END
}

@test "requests are answered in order over one connection" {
	model_server --answer "$(stream)" --loop
	for id in 7 3 9; do request $id; done | provider anthropic >answers
	same "$(jq -c '[.id, .type]' answers | paste -sd' ')" '[7,"message"] [3,"message"] [9,"message"]'
	same "$(jq -s -c 'map(.connection)' "$MODEL_SERVER_LOG")" '[1,1,1]'
}

@test "a last line without an end is a request" {
	model_server --answer "$(stream)"
	same "$(request | tr -d '\n' | provider anthropic | jq -r .type)" message
}

@test "answers come while the provider waits for more requests" {
	model_server --answer "$(stream)" --loop
	start anthropic
	request 1 >&9
	wait_until grep -q '"id":1,"type":"message"' answers
	request 2 >&9
	wait_until grep -q '"id":2,"type":"message"' answers
	exec 9>&-
	wait "$pid"
}

@test "what has come is written before more is waited for" {
	model_server --answer "$(stream)" --fault 1:stall
	start anthropic
	request 1 '"stream":true' >&9
	wait_until grep -q '"type":"delta"' answers
	run ! grep -q '"type":"message"' answers
	echo '{"cancel":1}' >&9
	exec 9>&-
	wait "$pid"
}

@test "a cancel ends the request that runs, at once" {
	model_server --answer "$(stream)" --fault 1:stall
	start anthropic
	request 1 '"stream":true' >&9
	wait_until grep -q delta answers || wait_until served 1
	echo '{"cancel":1}' >&9
	wait_until grep -q '{"id":1,"type":"error","category":"cancelled","message":"cancelled"' answers
	request 2 >&9
	wait_until grep -q '"id":2,"type":"message"' answers
	exec 9>&-
	wait "$pid"
}

@test "a cancel ends a request that waits its turn, others go on" {
	model_server --answer "$(stream)" --loop --fault 1:slow:50
	start anthropic
	{ request 1; request 2; echo '{"cancel":2}'; echo '{"cancel":77}'; request 3; } >&9
	exec 9>&-
	wait "$pid"
	same "$(jq -c '[.id, .category // .type]' answers | paste -sd' ')" \
		'[1,"message"] [2,"cancelled"] [3,"message"]'
	served 2
	! served 3
}

@test "cancels among many requests that wait cost no more each" {
	unset OPENAI_BASE_URL
	many=$(size_of_tier 12000 60000)
	# Of one that waits, of one that was answered, of one that is yet to come, of none.
	seq 1 "$many" | awk -v many="$many" '{ print "{\"id\":" $1 ",\"model\":\"m\",\"messages\":[]}" }
		$1 == 10 { print "{\"cancel\":3}" }
		$1 == many - 1 { print "{\"cancel\":1}\n{\"cancel\":" many "}" }
		END { printf "{\"cancel\":" many + 1 "}" }' >many
	timeout 60 "$BUILD/libexec/awf/awf-provider-openai" <many >answers
	same "$(wc -l <answers)" "$many"
	same "$(jq -r 'select(.category == "cancelled").id' answers)" 3
}

@test "a cancel of nothing is passed over" {
	run -0 provider anthropic <<<'{"cancel":1}'
	same "$output" ''
}

@test "the end of the input lets the request that runs end" {
	model_server --answer "$(stream)" --fault 1:slow:20
	same "$(request | provider anthropic | jq -r .type)" message
}

@test "the reader's end ends the provider while a request runs" {
	model_server --answer "$(stream)" --fault 1:stall
	mkfifo answers.fifo
	mkfifo requests
	provider anthropic <requests >answers.fifo 9>&- 8>&- &
	pid=$!
	exec 9>requests 8<answers.fifo
	request >&9
	wait_until served 1
	exec 8<&-
	wait_until gone
	exec 9>&-
}

@test "a full disk is said and fails" {
	[ -w /dev/full ] || skip "no /dev/full"
	model_server --answer "$(stream)"
	run -4 bash -c 'exec "$0" >/dev/full' "$BUILD/libexec/awf/awf-provider-anthropic" < <(request)
	same "$output" 'awf-provider-anthropic: stdout: unable to write: No space left on device'
}

@test "the reader's end is no error" {
	model_server --answer "$(stream)" --loop
	run -0 bash -c 'set -o pipefail; "$0" | head -n 1 >/dev/null; exit "${PIPESTATUS[0]}"' \
		"$BUILD/libexec/awf/awf-provider-anthropic" < <(for id in 1 2 3 4 5 6; do request $id; done)
	same "$output" ''
}

@test "a large request and many providers at once" {
	model_server --answer "$(stream)" --loop
	head -c 3000000 /dev/zero | tr '\0' x >text
	for n in 1 2 3 4 5 6; do
		{ printf '{"id":1,"model":"m","messages":[{"role":"user","blocks":[{"type":"text","text":"'
			cat text
			printf '"}]}]}\n'; } | provider anthropic >"answer.$n" &
		pids="${pids-} $!"
	done
	wait $pids
	same "$(cat answer.? | jq -r .type | sort -u)" message
	same "$(cat answer.? | wc -l)" 6
}
