#!/usr/bin/env bats
# bats file_tags=turn:3
# What a command asks models: awf-step --models, by its proxy.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
load ../../support/agent
bats_require_minimum_version 1.5.0

# A program that asks models by curl: ask TEXT streams a message, post PATH BODY and get PATH ask
# whatever. What it prints is what it gets.
prepare() {
	cat >api.sh <<-'END'
		fields="-H x-api-key:$ANTHROPIC_API_KEY -H anthropic-version:2023-06-01"
		send() { curl -sS --max-time 20 $fields "$@"; }
		post() { send -H content-type:application/json -d "$2" "$ANTHROPIC_BASE_URL$1"; }
		get() { send "$ANTHROPIC_BASE_URL$1"; }
		message() {
			printf '{"model":"%s","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"%s"}]}' \
				"${2:-claude-sonnet-4-5}" "$1"
		}
		ask() { post /v1/messages "$(message "$@")"; }
		# The text of a stream.
		said() { sed -n '/text_delta/s/.*"text":"\([^"]*\)".*/\1/p'; }
	END
	text 'Hello' >hello.jsonl
	text 'Bye' >bye.jsonl
}

# A shell script that is the program.
program() {
	{ echo '. ./api.sh' && cat; } >program
}

# awf-step with a program, in a run; what it prints is the data.
models() { run --separate-stderr awf-run -c "awf-step -n -r --models $* app -- sh program"; }
# A process and all that it has started.
tree() {
	local pid
	echo "$1"
	for pid in $(pgrep -P "$1"); do tree "$pid"; done
}
asked() { wc -l <"$MODEL_SERVER_LOG"; }

@test "what a command asks is recorded, with what it came to, and replays offline" {
	model_server --answer hello.jsonl --answer bye.jsonl
	program <<<'ask one | said; ask two | said'
	models
	same "$status $output" $'0 Hello\nBye'
	same "$(types)" 'message.user message.assistant message.user message.assistant '
	same "$(payloads message.user '[.turn,.provider,.model,.request.method,.request.path,(.blocks|map(.text))]')" \
		'[0,"anthropic","claude-sonnet-4-5","POST","/v1/messages",["one"]]
[1,"anthropic","claude-sonnet-4-5","POST","/v1/messages",["two"]]'
	same "$(payloads message.assistant '[.turn,.model,.stop_reason,.usage,.response.status,(.blocks|map(.text))]')" \
		'[0,"test-1","end_turn",{"input_tokens":10,"output_tokens":5},200,["Hello"]]
[1,"test-1","end_turn",{"input_tokens":10,"output_tokens":5},200,["Bye"]]'
	# The end of the call follows both.
	same "$(jq -r 'select(.type == "step.completed").links | length' "$(transcript)")" 2
	awf-verify -q
	kill "$MODEL_SERVER_PID"
	awf-verify --determinism --isolation copy
	same "$(awf-replay -q --isolation copy)" $'Hello\nBye'
}

@test "bytes reach the program as they would without a proxy, of all APIs, streamed or not" {
	local api path file all
	for api in anthropic:/v1/messages openai:/v1/chat/completions openai-responses:/v1/responses \
		google:/v1beta/models/m:streamGenerateContent; do
		path=${api#*:} api=${api%%:*}
		all=("$ROOT/tests/fixtures/$api"/*.jsonl "${AWF_CAPTURES:-$ROOT/../shared/captures}/http/${api/%openai/openai-chat}"/*.jsonl)
		for file in "${all[@]}"; do
			[ ! -f "$file" ] || echo "$path $file"
		done
	done >files
	# Whole answers, too.
	for path in messages chat/completions responses; do
		printf '{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}' >"$PWD/whole-${path%%/*}.json"
	done
	[ "$(wc -l <files)" -gt 20 ]
	args=()
	while read -r _ file; do args+=(--answer "$file"); done <files
	model_server "${args[@]}" --loop --fault "*:split:$((RANDOM % 40 + 1))"
	# A chat asks for its usage here, so that nothing is taken out.
	cat >program <<-'END'
		. ./api.sh
		while read -r path file; do
			case $path in
			*/chat/*) base=${OPENAI_BASE_URL%/v1} fields="-H authorization:Bearer\ $OPENAI_API_KEY" ;;
			*Content) base=$GEMINI_BASE_URL fields="-H x-goog-api-key:$GEMINI_API_KEY" ;;
			*/responses) base=${OPENAI_BASE_URL%/v1} ;;
			*) base=$ANTHROPIC_BASE_URL fields="-H x-api-key:$ANTHROPIC_API_KEY" ;;
			esac
			eval curl -sS "$fields" -H content-type:application/json -d \''{"model":"m","stream":true,"stream_options":{"include_usage":true}}'\' '"$base$path"' || echo "failed: $path"
		done <files
	END
	sh program >direct
	[ "$(wc -c <direct)" -gt 20000 ]
	awf-run -c 'awf-step -n -r --models app -- sh program' >proxied 2>errors
	cmp direct proxied
	same "$(payloads message.assistant 'select(.response.body == null)')" ''
	same "$(payloads message.user .provider | sort -u | paste -sd' ')" \
		'"anthropic" "google" "openai" "openai-responses"'
	same "$(payloads message.assistant 1 | wc -l)" "$(wc -l <files)"
}

@test "a chat is asked what it has cost, which the program does not see" {
	api_server
	program <<-'END'
		chat() { curl -sS -H "authorization: Bearer $OPENAI_API_KEY" -H content-type:application/json -d "$1" "$OPENAI_BASE_URL/chat/completions"; }
		chat '{ "model": "gpt-4o-mini", "stream": true, "messages": [] }'
		chat '{"model":"gpt-4o-mini","stream":true,"stream_options":null,"messages":[]}'
		chat '{"model":"gpt-4o-mini","stream":true,"stream_options":{},"messages":[]}'
	END
	sh program >direct
	models
	same "$status $output" "0 $(cat direct)"
	same "$(jq -c '.body | fromjson | [.stream_options, .stream, .model]' "$API_LOG" | tail -n 3 | sort -u)" \
		'[{"include_usage":true},true,"gpt-4o-mini"]'
	same "$(payloads message.assistant .usage | sort -u)" '{"input_tokens":7,"output_tokens":2}'
	# Who asks himself is told.
	program <<-'END'
		curl -sS -H "authorization: Bearer $OPENAI_API_KEY" -d '{"stream":true,"stream_options":{"include_usage":true}}' "$OPENAI_BASE_URL/chat/completions"
	END
	sh program >direct
	models
	same "$status $output" "0 $(cat direct)"
	[[ "$output" == *prompt_tokens* ]]
}

@test "the program has a token of its call, its API the key, and the record neither" {
	api_server
	export GEMINI_API_KEY=gemini-real-key+/
	program <<-'END'
		env >environment
		tr '\0' '\n' </proc/$$/environ >>environment
		get /v1/models
		curl -sS -H "Authorization: Bearer $OPENAI_API_KEY" -d '{}' "$OPENAI_BASE_URL/files" >>file
		curl -sS "$GEMINI_BASE_URL/v1beta/models?pageSize=3&key=$GEMINI_API_KEY" >>file
		curl -sS -H "x-goog-api-key: $GOOGLE_API_KEY" "$GOOGLE_GEMINI_BASE_URL/v1beta/models" >>file
		curl -sS -H "api-key: $OPENAI_API_KEY" "$OPENAI_API_BASE/assistants" >>file
	END
	models
	same "$status" 0
	same "$(grep -c real-key environment file)" $'environment:0\nfile:0'
	same "$(grep -rl real-key "$AWF_STORAGE")" ''
	same "$(grep -o '^[A-Z_]*_API_KEY=sk-awf-' environment | sort -u | cut -d= -f1 | paste -sd' ')" \
		'ANTHROPIC_API_KEY GEMINI_API_KEY GOOGLE_API_KEY OPENAI_API_KEY'
	same "$(jq -r '[.path, (.headers | to_entries[] | select(.key | test("(?i)^(x-api-key|authorization|api-key|x-goog-api-key)$")) | .value)] | join(" ")' "$API_LOG")" \
		"/v1/models anthropic-real-key
/v1/files Bearer openai-real-key
/v1beta/models?pageSize=3&key=gemini-real-key%2B%2F
/v1beta/models gemini-real-key+/
/v1/assistants openai-real-key"
	same "$(payloads tool.call '[.name,.input.path,.effects]')" \
		'["GET /v1/models","/v1/models","read"]
["POST /v1/files","/v1/files","external"]
["GET /v1beta/models","/v1beta/models?pageSize=3","read"]
["GET /v1beta/models","/v1beta/models","read"]
["GET /v1/assistants","/v1/assistants","read"]'
	# Nor is a cookie.
	same "$(grep -c 'secret=1' "$(transcript)")" 0
	awf-verify -q
}

@test "no key is in the memory of the program, nor the proxy's for it to read" {
	api_server
	cat >program.py <<-'END'
		import os, re
		found = re.compile(b"anthropic-[r]eal-key")
		for line in open("/proc/self/maps"):
		    begin, end = (int(at, 16) for at in line.split()[0].split("-"))
		    if "r" not in line.split()[1] or "[v" in line:
		        continue
		    with open("/proc/self/mem", "rb", 0) as memory:
		        memory.seek(begin)
		        assert not found.search(memory.read(end - begin)), line
		for pid in filter(str.isdigit, os.listdir("/proc")):
		    try:
		        proxy = os.readlink(f"/proc/{pid}/exe").endswith("awf-models-proxy")
		        print(pid if proxy and open(f"/proc/{pid}/environ", "rb").read() else "", end="")
		    except OSError:
		        pass
	END
	program <<<'get /v1/models >/dev/null; python3 -S program.py'
	models
	same "$status" 0
	# Root may look wherever it likes.
	[ "$(id -u)" -eq 0 ] || same "$output" ''
}

# bats test_tags=turn:2
@test "of an answer that is not read little waits in the proxy" {
	api_server
	program <<-'END'
		send "$ANTHROPIC_BASE_URL/v1/large?bytes=25165824" |
			{ head -c 100000; sleep 0.7; grep -c sent "$API_LOG" >early; cat; } | wc -c
	END
	export API_LOG
	models
	same "$status $output $(cat early)" '0 25165824 0'
	same "$(grep -c sent "$API_LOG")" 1
}

# bats test_tags=turn:3
@test "an answer that is too large to be kept passes, and is an error in the record and in a replay" {
	api_server
	program <<<'get "/v1/large?bytes=134283264" 2>/dev/null >answer; echo "$? $(wc -c <answer)"'
	models
	same "$status $output" '0 0 134283264'
	same "$(payloads tool.result '[.error.code,.output.body,.output.broken]')" '["provider",null,true]'
	kill "$API_SERVER_PID"
	same "$(awf-replay -q --isolation copy 2>/dev/null)" '18 0'
}

# bats test_tags=turn:3
@test "an answer that is too large to be kept ends for the program once it is recorded" {
	api_server
	# While awf-step stands still it records nothing.
	program <<-'END'
		steps= pid=$$
		while pid=$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status") && [ "$pid" -gt 1 ]; do
			[ "$(cat "/proc/$pid/comm")" != awf-step ] || steps="$steps $pid"
		done
		get "/v1/large?bytes=134283264" >answer &
		until [ -s answer ]; do sleep 0.01; done
		kill -STOP $steps
		until [ "$(wc -c <answer)" -gt 134000000 ]; do sleep 0.01; done
		sleep 0.5
		[ "$(wc -c <answer)" -eq 134283264 ] || echo waits
		kill -CONT $steps
		wait $!
		echo "$? $(wc -c <answer)"
	END
	models
	same "$status $output" $'0 waits\n0 134283264'
}

@test "a request with another key is refused, and one that is none of HTTP/1.1" {
	api_server
	program <<-'END'
		code() { curl -s -o out -w '%{http_code} ' "$@"; jq -r '.error | [.type // .status, .message[:20]] | join(": ")' out; }
		code -H 'x-api-key: sk-other' -d '{}' "$ANTHROPIC_BASE_URL/v1/messages"
		code -H 'authorization: Bearer sk-other' "$OPENAI_BASE_URL/models"
		code "$GEMINI_BASE_URL/v1beta/models?key=other"
		code -H "x-api-key: $ANTHROPIC_API_KEY" -H 'authorization: Bearer sk-other' "$ANTHROPIC_BASE_URL/v1/models"
		code "$OPENAI_BASE_URL/models"
		code -H "authorization: Bearer $OPENAI_API_KEY" -H 'Upgrade: websocket' -H 'Connection: Upgrade' "$OPENAI_BASE_URL/responses"
		code -H "authorization: Bearer $OPENAI_API_KEY" -H 'Transfer-Encoding: chunked' -H 'Content-Length: 2' -d '{}' "$OPENAI_BASE_URL/files"
		code -H "authorization: Bearer $OPENAI_API_KEY" -H 'Content-Length: 134217729' -X POST "$OPENAI_BASE_URL/files"
		code -H "authorization: Bearer $OPENAI_API_KEY" -H "x: $(printf %017000d 0)" "$OPENAI_BASE_URL/models"
	END
	models
	same "$status" 0
	same "$output" '401 authentication_error: this is no key of th
401 invalid_request_error: this is no key of th
401 UNAUTHENTICATED: this is no key of th
401 authentication_error: this is no key of th
401 invalid_request_error: this is no key of th
426 invalid_request_error: awf-models-proxy spe
400 invalid_request_error: Content-Length and T
413 invalid_request_error: the body of the requ
431 invalid_request_error: the head of the requ'
	[[ "$stderr" == *'awf-step: app: 5 requests came with another key than the step has given, and were refused'* ]]
	[ ! -s "$API_LOG" ]
	same "$(types)" ''
}

# bats test_tags=turn:2
@test "other requests pass as they are, and are calls of tools" {
	api_server
	program <<-'END'
		head -c 300000 /dev/zero | tr '\0' x >big
		send -T - "$ANTHROPIC_BASE_URL/v1/files" <big # in chunks
		send --data-binary @big "$ANTHROPIC_BASE_URL/v1/files?a=b&c=%2F"
		send -X DELETE "$ANTHROPIC_BASE_URL/v1/files/7"
		send -I "$ANTHROPIC_BASE_URL/v1/files" | grep -ci '^content-length: 30'
		post /v1/messages/count_tokens '{}'
		send "$ANTHROPIC_BASE_URL/v1/large?bytes=6553600" | wc -c
		get /v1/fails
		get /v1/cut >cut 2>/dev/null || echo " cut: $?"
	END
	models
	same "$status" 0
	same "$output" '{"method": "PUT", "bytes": 300000}{"method": "POST", "bytes": 300000}{"method": "DELETE", "bytes": 0}1
{"method": "POST", "bytes": 2}6553600
{"error":{"type":"rate_limit_error","message":"later"}} cut: 18'
	same "$(payloads tool.call '[.name,.effects]' | paste -sd' ')" \
		'["PUT /v1/files","external"] ["POST /v1/files","external"] ["DELETE /v1/files/7","external"] ["HEAD /v1/files","read"] ["POST /v1/messages/count_tokens","read"] ["GET /v1/large","read"] ["GET /v1/fails","read"] ["GET /v1/cut","read"]'
	same "$(payloads tool.result '[.error.code,.output.status]' | paste -sd' ')" \
		'[null,200] [null,200] [null,200] [null,200] [null,200] [null,200] ["rate_limit",429] ["network",200]'
	same "$(jq -r '[.method, .path, (.body | length)] | join(" ")' "$API_LOG" | head -n 3)" 'PUT /v1/files 300000
POST /v1/files?a=b&c=%2F 300000
DELETE /v1/files/7 0'
	awf-verify -q
	kill "$API_SERVER_PID"
	# What was recorded of all of it is what it gets again.
	same "$(awf-replay -q --isolation copy)" "$output"
}

@test "a resume asks again nothing that was answered, and goes on where the record ends" {
	model_server --answer hello.jsonl --answer bye.jsonl --loop
	program <<<'ask one | said; ask two | said; [ -e go ] || exit 3; ask three | said'
	models
	same "$status $(asked)" '3 2'
	touch go
	run -0 --separate-stderr awf-run --resume @
	same "$output" $'Hello\nBye\nHello'
	same "$(asked)" 3
	[[ "$stderr" != *'not in the record'* ]]
	awf-verify -q
	kill "$MODEL_SERVER_PID"
	awf-verify --determinism --isolation copy
}

@test "a call that a resume takes over whole replays by what it was answered before" {
	model_server --answer hello.jsonl --answer bye.jsonl --loop
	program <<<'ask one | said; ask two | said'
	echo '. ./api.sh; ask three | said; [ -e go ] || exit 3' >program2
	run awf-run -c 'awf-step -n -r --models a -- sh program; awf-step -n -r --models b -- sh program2'
	same "$status $(asked)" '3 3'
	touch go
	run -0 awf-run --resume @
	same "$output $(asked)" $'Hello\nBye\nHello 3'
	kill "$MODEL_SERVER_PID"
	same "$(awf-replay -q --isolation copy)" "$output"
	awf-verify --determinism --isolation copy
}

@test "a resume whose request has changed asks, and says so; --models replay refuses it" {
	model_server --answer hello.jsonl --loop
	program <<<'ask one | said; [ -e go ] || exit 3'
	models
	sed -i 's/one/other/' program
	touch go
	run -0 --separate-stderr awf-run --resume @
	same "$(asked)" 2
	[[ "$stderr" == *"awf-step: app: request 1, POST /v1/messages, is not in the record, and is asked live; /messages/0/content is 'other', the recorded one 'one'"* ]]
	rm go
	program <<<'ask one | said; [ -e go ] || exit 3; ask two >answer; jq -r .error.message answer; exit 4'
	run --separate-stderr awf-run -c 'awf-step -n -r --models=replay app -- sh program'
	same "$status" 3
	[[ "$stderr" == *'request 1, POST /v1/messages, is not in the recording; there is none of this call'* ]]
	same "$(asked)" 2
	# Live, nothing is taken from the record.
	awf-run -c 'awf-step -n -r --models=live app -- sh program' || true
	same "$(asked)" 3
	touch go
	awf-run --resume @ || true
	same "$(asked)" 5
}

@test "a run that was resumed with --models live replays offline, as its last attempt went" {
	for i in 1 2 3 4 5; do text "answer $i" >"$i.jsonl"; done
	model_server --answer 1.jsonl --answer 2.jsonl --answer 3.jsonl --answer 4.jsonl --answer 5.jsonl --fault 2:429
	program <<<'ask same | said; ask same | said; [ -e go ] || exit 3; ask two | said'
	run awf-run -c 'awf-step -n -r --models=live app -- sh program'
	same "$status $(asked)" '3 2'
	touch go
	run -0 --separate-stderr awf-run --resume @
	same "$output $(asked)" $'answer 2\nanswer 3\nanswer 4 5'
	awf-verify -q
	kill "$MODEL_SERVER_PID"
	same "$(awf-replay -q --isolation copy)" "$output"
	awf-verify --determinism --isolation copy
	# What is not made again has the traffic of that attempt, too.
	rm go
	model_server --answer 1.jsonl --answer 2.jsonl --answer 3.jsonl --answer 4.jsonl --answer 5.jsonl
	run awf-run -c 'awf-step -n -r --models=live --effects external,idempotent app -- sh program'
	touch go
	run -0 --separate-stderr awf-run --resume @
	kill "$MODEL_SERVER_PID"
	same "$(awf-replay -q --isolation copy)" "$output"
	awf-verify --determinism --isolation copy
}

@test "what may have been done at an API is asked about before it is done again" {
	api_server
	program <<<'[ ! -e go ] || exec true; post /v1/slow "{}" >/dev/null'
	awf-run -c 'awf-step -n -r --models app -- sh program' 3>&- 2>/dev/null &
	eventually grep -qs /v1/slow "$API_LOG"
	kill -9 $(tree $!) 2>/dev/null || true
	wait $! 2>/dev/null || true
	same "$(types)" 'tool.call '
	touch go
	run -75 --separate-stderr awf-run --resume @
	[[ "$stderr" == *'app:0:0: POST /v1/slow '*'may or may not have happened: say --redo app:0:0 or --skip app:0:0' ]]
	awf-run --resume @ --redo app:0:0 2>/dev/null
}

@test "the text of a model is there to be seen while it comes" {
	model_server --answer hello.jsonl --fault '1:slow:60'
	program <<<'ask one | said'
	awf-run -c 'awf-step -n -r --models app -- sh program' >out 2>/dev/null 3>&- &
	eventually grep -qrs '"text","append":"Hello"' "$AWF_STORAGE/runs"
	wait $!
	same "$(cat out)" Hello
}

@test "a changed prompt is a divergence of the replay, which says what changed" {
	model_server --answer hello.jsonl
	program <<<'ask one | said'
	# A program that is no file of the record, which the replay would run as it was.
	run -0 awf-run -c "awf-step -n -r --models app -- sh -c 'eval \"\$(cat program)\"'"
	kill "$MODEL_SERVER_PID"
	sed -i 's/ask one/ask "not one" -H x/' program
	run -3 --separate-stderr awf-replay -q --isolation copy
	[[ "$stderr" == *"awf-step: app: request 1, POST /v1/messages, is not in the recording; /model is '-H', the recorded one 'claude-sonnet-4-5'; /messages/0/content is 'not one', the recorded one 'one'"* ]]
	# One that does not ask at all is not the recorded one either.
	echo 'echo Hello' >program
	run -3 --separate-stderr awf-replay -q --isolation copy
	[[ "$stderr" == *'message.user'*'is in the recording only'* ]]
}

# A Python program that ends by a traceback, whose lines no two runs share, where it is refused.
# bats test_tags=turn:2
@test "awf-verify shows what changed in a prompt, line by line, whatever the program says of its failure" {
	model_server --answer hello.jsonl --answer bye.jsonl --fault 1:429
	cat >app.py <<-'END'
		import json, os, sys, urllib.error, urllib.request
		def ask(text):
		    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "stream": True,
		            "messages": [{"role": "user", "content": text}]}
		    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
		        {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"})
		    try: answer = urllib.request.urlopen(request)
		    except urllib.error.HTTPError as failed:
		        if failed.code != 429: raise
		        answer = urllib.request.urlopen(request)
		    with answer:
		        for line in answer.read().decode().splitlines():
		            if "text_delta" in line: print(json.loads(line[6:])["delta"]["text"])
		ask("Who are you?")
		try:
		    ask("You sum up articles.\nBe brief, and name three points.\nThe article:\nWater is wet.")
		except OSError as failed:
		    raise RuntimeError(f"{os.getpid()} {os.urandom(8)}") from failed
	END
	# It is no file of the record, so that the replay does not run it as it was.
	run --separate-stderr awf-run -c "awf-step -n -r --models app -- python3 -S -c 'exec(open(\"app.py\").read())'"
	same "$status $output" $'0 Hello\nBye'
	kill "$MODEL_SERVER_PID"
	awf-verify -q --determinism --isolation copy
	sed -i 's/ and name three points/ and name five points/' app.py
	run -3 --separate-stderr awf-verify --determinism --isolation copy
	same "$(sed 's/[0-9a-f-]\{36\}/ID/; s/^awf-verify: [^:]*: //; /^  the replays are kept/d' <<<"$stderr")" \
		'the replays agree, the recording differs: app:0:0: message.user ID: /payload/blocks/0/text differs
  recording: …es.\nBe brief, and name three points.\nThe article:\nWater is wet."
  replays: …es.\nBe brief, and name five points.\nThe article:\nWater is wet."
    -Be brief, and name three points.
    +Be brief, and name five points.
  replays: failed: request 2, POST /v1/messages, is not in the recording; /messages/0/content is '"'You sum up articles.\nBe …f, and name five points.\nThe article:\nWater is wet.', the recorded one 'You sum up articles.\nBe …f, and name three points.\nThe article:\nWater is wet.'"
	# What is no prompt is told as well, though a try that failed came before.
	sed -i 's/ and name five points/ and name three points/; s/"max_tokens": 9/"max_tokens": 10/' app.py
	run -3 --separate-stderr awf-verify --determinism --isolation copy
	[[ "$stderr" == *': message.user '*': /payload/request/body differs
  recording: '*'max_tokens\": 9, '*'
  replays: '*'max_tokens\": 10, '*'/max_tokens is '"'10', the recorded one '9'"* ]]
	# One whose prompt is another each time shows that of both replays.
	sed -i 's/Who are you?/Who are you, {os.getpid()}?/; s/ask("Who/ask(f"Who/' app.py
	run -3 --separate-stderr awf-verify --determinism --isolation copy
	[[ "$stderr" == *': the replays differ: app:0:0: message.user '*': /payload/blocks/0/text differs
  first replay: "Who are you, '*'?"
  second replay: "Who are you, '* ]]
	# A failure of another kind is told with what is missing before it.
	echo 'import sys; sys.exit("no model")' >app.py
	run -3 --separate-stderr awf-verify --determinism --isolation copy
	[[ "$stderr" == *': app:0:0: message.user '*' is in the recording only
  replays: failed: python3: exit status 1: no model
'* ]]
}

@test "awf-tail --full shows what the models of a program call, and what that gave them" {
	stream tool_use '{"type":"text","text":"I look."}' "$(use t1 bash '{"command":"ls -l","n":1}')" "$(use t2 date '{}')" >use.jsonl
	model_server --answer use.jsonl --answer hello.jsonl --answer hello.jsonl --fault 3:429
	program <<-'END'
		turn() { post "$1" "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"do\"}$2]}" >/dev/null; }
		turn /v1/messages
		turn /v1/messages ',{"role":"assistant","content":[]},{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a file\nanother"},{"type":"image","source":{}}]},
			{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no clock"}]}'
		turn /v1/messages
	END
	models
	same "$(awf-tail --full | sed -n '/app user$/,/app done/p' | sed 's/^ *[0-9.]* *app \([a-z]*\).*/app \1/; /^$/d')" \
'app user
    do
app assistant
    I look.
    call bash t1:
        command: ls -l
        n: 1
    call date t2:
        {}
app user
    result t1:
        a file
        another
        [image]
    failed t2:
        no clock
app assistant
    Hello
app user
    do
app failed
    rate_limit: HTTP 429: a fault on request
app done'
	awf-tail | grep -q 'app failed ([0-9]*ms): rate_limit: HTTP 429: a fault on request$'
	awf-tail | grep -q 'app user: a file\\nanother\\n\[image\]: no clock'
}

@test "what may change is left out, and neither the order of members nor space counts" {
	model_server --answer hello.jsonl
	program <<-'END'
		n=$(cat n 2>/dev/null || echo 0)
		post /v1/messages "{\"model\":\"m\",\"metadata\":{\"user_id\":\"$$\",\"x~y\":[\"$$\",2]},\"messages\":[],\"stream\":true}" | said
		[ "$n" = 1 ] || exit 3
	END
	models '--models-ignore /metadata/user_id --models-ignore /metadata/x~0y/0'
	same "$status" 3
	program <<-'END'
		post /v1/messages '{ "stream": true, "messages" : [], "metadata":{"x~y":[2, 2],"user_id":"else"},"model":"m"}' | said
	END
	run -0 --separate-stderr awf-run --resume @
	same "$output $(asked)" 'Hello 1'
}

@test "a pointer that names no element leaves nothing out, and differences are told as pointers" {
	model_server --answer hello.jsonl --loop
	program <<-'END'
		post /v1/messages '{"model":"m","stream":true,"messages":[{"a/b":1}]}' | said
		[ -e go ] || exit 3
	END
	models --models-ignore /messages/x
	same "$status" 3
	sed -i 's/:1}/:2}/' program
	touch go
	run -0 --separate-stderr awf-run --resume @
	[[ "$stderr" == *"is not in the record, and is asked live; /messages/0/a~1b is '2', the recorded one '1'"* ]]
	same "$(asked)" 2
}

# bats test_tags=turn:2
@test "equal requests are answered in their order, many at once too" {
	for i in $(seq 12); do text "answer $i" >"$i.jsonl"; done
	model_server $(for i in $(seq 12); do echo --answer "$i.jsonl"; done)
	program <<-'END'
		for i in 1 2 3 4 5 6 7 8; do ask same | said >"out.$i" & done
		wait
		cat out.* | sort
		ask same | said; ask same | said; ask same | said; ask same | said
	END
	models
	same "$status $(asked)" '0 12'
	kill "$MODEL_SERVER_PID"
	same "$(awf-replay -q --isolation copy)" "$output"
	awf-verify --determinism --isolation copy
}

@test "tries that failed are told, not replayed, and hold up no resume" {
	model_server --answer hello.jsonl --answer bye.jsonl --fault 1:429:0 --fault 2:cut:100
	program <<-'END'
		try() { ask one >answer; grep -q message_stop answer; }
		try 2>/dev/null || try 2>/dev/null || try
		said <answer
		[ -e go ] || exit 3
		ask two | said
	END
	models
	same "$status $(asked)" '3 3'
	same "$(payloads message.assistant '[.partial,.error.code,.response.status]' | paste -sd' ')" \
		'[true,"rate_limit",429] [true,"network",200] [null,null,200]'
	touch go
	run -0 --separate-stderr awf-run --resume @
	same "$output $(asked)" $'Hello\nBye 4'
	awf-verify -q
	kill "$MODEL_SERVER_PID"
	same "$(awf-replay -q --isolation copy)" $'Hello\nBye'
	awf-verify --determinism --isolation copy
}

@test "what fails for good fails in a replay as it did" {
	model_server --answer hello.jsonl --fault 1:500
	program <<<'ask one | jq -r .error.type; ask two | said'
	models
	same "$status $output" $'0 api_error\nHello'
	kill "$MODEL_SERVER_PID"
	same "$(awf-replay -q --isolation copy)" "$output"
}

@test "a command that fails without its last answer is told to have none, and why, from the record too" {
	export ANTHROPIC_BASE_URL=http://127.0.0.1:1 ANTHROPIC_API_KEY=some-real-key
	program <<<'ask one >/dev/null; echo "Bad Gateway" >&2; exit 4'
	models
	same "$status" 3
	[[ $(awf-tail --list --json | jq -r .error.message) == 'sh: exit status 4: Bad Gateway; the model API: Failed to connect to 127.0.0.1 port 1'* ]]
	awf-verify --determinism
	# What came in the end was an answer.
	model_server --answer hello.jsonl
	ANTHROPIC_BASE_URL=$MODEL_SERVER
	program <<<'ask one >/dev/null; echo "no disk" >&2; exit 4'
	models
	same "$(awf-tail --list --json -n 1 | jq -r .error.message)" 'sh: exit status 4: no disk'
}

@test "no server is a 502 that says why, and a program that hangs up has had what came" {
	export ANTHROPIC_BASE_URL=http://127.0.0.1:1 ANTHROPIC_API_KEY=some-real-key
	program <<<'ask one | jq -r .error.message'
	models
	[[ "$output" == 'awf-models-proxy: Failed to connect to 127.0.0.1 port 1'* ]]
	same "$(payloads message.assistant '[.error.code,.response.status]')" '["network",502]'
	api_server
	program <<<'get /v1/slow 2>/dev/null | head -n 3'
	models
	same "$status" 0
	eventually grep -q gone "$API_LOG"
	same "$(payloads tool.result .error.code)" '"cancelled"'
}

@test "what is under way when awf-step is gone is given up and told of, and the proxy ends well" {
	api_server
	mkfifo told
	# What is freed is filled, so that it is of no use to anybody.
	MALLOC_PERTURB_=85 "$BUILD/libexec/awf/awf-models-proxy" <told >lines 3>&- &
	exec 4>told
	printf '{"token":"t","apis":{"anthropic":{"base":"%s"}}}\n' "$API" >&4
	eventually test -s lines
	local proxy=$! base
	base=http://127.0.0.1:$(jq .port lines)
	curl -s -H x-api-key:t "$base/v1/slow" >slow 3>&- 4>&- &
	eventually grep -q '"request":1' lines
	curl -s -H x-api-key:t "$base/v1/never" 3>&- 4>&- &
	eventually grep -q '"request":2' lines
	echo '{"request":1,"ask":true}' >&4
	eventually test -s slow
	exec 4>&-
	wait "$proxy"
	same "$(jq -c 'select(.answered) | [.answered,.whole,.error.code]' lines)" '[1,false,"cancelled"]'
}

@test "the first line of an answer is the same from the record" {
	api_server
	program <<-'END'
		for path in models fails; do
			curl -sS -D - -o answer -H "x-api-key: $ANTHROPIC_API_KEY" "$ANTHROPIC_BASE_URL/v1/$path" | head -n 1
		done
	END
	models
	same "$status $output" $'0 HTTP/1.1 200 OK\r\nHTTP/1.1 429 Too Many Requests\r'
	kill "$API_SERVER_PID"
	same "$(awf-replay -q --isolation copy)" "$output"
}

@test "what a kept connection gave no answer to is asked once" {
	api_server
	program <<-'END'
		for body in '{}' ''; do
			get /v1/models >kept
			post /v1/deaf "$body" | jq -r .error.message
		done
	END
	models
	same "$status" 0
	same "$output" 'awf-models-proxy: the server closed the connection without an answer
awf-models-proxy: Empty reply from server'
	same "$(jq -r .path "$API_LOG" | paste -sd' ')" '/v1/models /v1/deaf /v1/models /v1/deaf'
	same "$(payloads tool.result .error.code | paste -sd' ')" 'null "network" null "network"'
}

@test "an answer ends for the program where it ends for the proxy, and one with two lengths is refused" {
	api_server
	program <<<'get /v1/chunks; get /v1/two-lengths | jq -r .error.message'
	models
	same "$status $output" '0 helloawf-models-proxy: the API tells two lengths of its answer'
	same "$(payloads tool.result '[.error.code,.output.status]' | paste -sd' ')" '[null,200] ["network",502]'
	kill "$API_SERVER_PID"
	same "$(awf-replay -q --isolation copy)" "$output"
}

@test "a stream that ended before its message did ends in a replay as it did, and one that was cut off is cut off" {
	api_server
	program <<-'END'
		post /v1/unended/messages '{"stream":true}' && echo whole
		get /v1/cut >/dev/null 2>&1 || echo "cut: $?"
		send -w '%{http_code} ' "$ANTHROPIC_BASE_URL/v1/nothing" 2>/dev/null || echo "cut: $?"
	END
	models
	same "$status $output" $'0 data: {"type":"ping"}\n\nwhole\ncut: 18\n200 cut: 18'
	same "$(payloads message.assistant '[.partial,.error.code,.response.broken]')" '[true,"network",null]'
	same "$(payloads tool.result '[.error.code,.output.status,.output.broken]' | paste -sd' ')" \
		'["network",200,true] ["network",200,true]'
	awf-verify -q
	kill "$API_SERVER_PID"
	same "$(awf-replay -q --isolation copy)" "$output"
}

@test "--max-cost ends the asking, in the words of the API, and none is asked again" {
	text x >x.jsonl
	model_server --answer x.jsonl --loop
	echo 'anthropic/m 1000 1000' >prices
	export AWF_PRICES=$PWD/prices
	cat >program <<-'END'
		. ./api.sh
		ask one m | said; ask two m | said
		send -i -H content-type:application/json -d "$(message three m)" "$ANTHROPIC_BASE_URL/v1/messages" | tr -d '\r' | sed -n '1p;/^x-should/p;$p'
		exit 5
	END
	models --max-cost 0.02
	same "$status $(asked)" '3 2'
	[[ "$stderr" == *'awf-step: app: the call has reached --max-cost ($0.0300 of $0.0200)'* ]]
	same "$(jq -r 'select(.type == "step.completed").payload.error.code' "$(transcript)")" max_cost
	# Whatever the program makes of it: without that answer it would not replay.
	sed -i 's/^exit 5/exit 0/' program
	models --max-cost 0.02
	same "$status $(asked)" '3 4'
	same "$(jq -r 'select(.type == "step.completed").payload.error.code' "$(transcript)")" max_cost
	# The run's limit, too; a model without a price cannot be held to one.
	run --separate-stderr awf-run --max-cost 0.01 -c 'awf-step -n -r --models app -- sh program'
	[[ "$stderr" == *'the run has reached --max-cost'* ]]
	same "$(asked)" 5
	program <<<'ask one other | jq -c "[.type,.error.type,.error.message]" >told'
	models --max-cost 1
	same "$status $(cat told)" '3 ["error","invalid_request_error","no price of anthropic/other is known (see awf-prices(5))"]'
	same "$(asked)" 5
}

@test "an answer that is compressed unasked, or behind a byte order mark, is read, and costs" {
	api_server
	program <<-'END'
		for stream in true false; do
			post /v1/packed/messages "{\"model\":\"claude-sonnet-4-5\",\"stream\":$stream}" >$stream
			grep -c Hello $stream
		done
		post /v1/marked/messages '{"model":"claude-sonnet-4-5"}' | grep -c Hello
		ask too-much | jq -r .error.type
	END
	models --max-cost 0.8
	same "$status $output" '3 '
	same "$(payloads message.assistant '[(.blocks|map(.text)),.usage.input_tokens,(.response.headers|map(select(startswith("Content"))))]' | sort | uniq -c | tr -s ' ')" \
' 2 [["Hello"],100000,["Content-Type: application/json"]]
 1 [["Hello"],100000,["Content-Type: text/event-stream"]]'
	[[ "$stderr" == *'the call has reached --max-cost'* ]]
}

# bats test_tags=turn:4
@test "an answer that is far larger than what came of it over the network has an end" {
	api_server
	program <<-'END'
		post /v1/swollen/messages '{"model":"claude-sonnet-4-5"}' | wc -c >size
		post /v1/messages "$(message after)" | grep -c Hello
	END
	models
	[ "$(cat size)" -le $((129 << 20)) ]
	grep -q '"message":"the answer is above 128 MiB when it is decompressed"' "$(transcript)"
}

# bats test_tags=turn:3
@test "connections that a program keeps open and does not use keep no other waiting" {
	api_server
	cat >many.py <<-'END'
		import http.client, os
		port = int(os.environ["ANTHROPIC_BASE_URL"].split(":")[2].split("/")[0])
		kept = []
		for _ in range(270):
		    kept.append(http.client.HTTPConnection("127.0.0.1", port, timeout=20))
		    kept[-1].request("GET", "/v1/models", headers={"x-api-key": os.environ["ANTHROPIC_API_KEY"]})
		    kept[-1].getresponse().read()
		print(len(kept))
	END
	run -0 --separate-stderr awf-run -c 'awf-step -n -r --models app -- /usr/bin/python3 many.py'
	same "$output" 270
}

@test "a program with more connections than the proxy has open files for is served all the same" {
	api_server
	cat >many.py <<-'END'
		import collections, http.client, os, threading
		port, key = int(os.environ["ANTHROPIC_BASE_URL"].split(":")[2].split("/")[0]), os.environ["ANTHROPIC_API_KEY"]
		got, start = [], threading.Barrier(40)
		def ask():
		    start.wait()
		    try:
		        c = http.client.HTTPConnection("127.0.0.1", port, timeout=40)
		        c.request("GET", "/v1/models", headers={"x-api-key": key})
		        got.append(c.getresponse().status)
		    except OSError as error:
		        got.append(repr(error))
		threads = [threading.Thread(target=ask) for _ in range(40)]
		[t.start() for t in threads], [t.join() for t in threads]
		print(dict(collections.Counter(got)))
	END
	run -0 --separate-stderr bash -c 'ulimit -n 64; awf-run -c "awf-step -n -r --models app -- python3 -S many.py"'
	same "$output" '{200: 40}'
}

@test "strangers take neither the places nor the memory that a program's requests need" {
	api_server
	cat >strangers.py <<-'END'
		import http.client, os, re, socket, time
		port, key = int(os.environ["ANTHROPIC_BASE_URL"].split(":")[2].split("/")[0]), os.environ["ANTHROPIC_API_KEY"]
		def is_proxy(pid):
		    try:
		        comm, stat = open(f"/proc/{pid}/comm").read(), open(f"/proc/{pid}/stat").read()
		    except OSError:  # it has ended
		        return False
		    return comm.strip() == "awf-models-prox" and stat.split()[3] == open("/proc/self/stat").read().split()[3]
		proxy = next(filter(is_proxy, filter(str.isdigit, os.listdir("/proc"))))
		peak = lambda: int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{proxy}/status").read())[1])
		def ask():
		    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
		    c.request("GET", "/v1/models", headers={"x-api-key": key})
		    return c.getresponse().status
		connect = lambda: socket.create_connection(("127.0.0.1", port), timeout=20)
		print(ask())
		before = peak()
		# Bodies of whoever has not the token are not kept: it is told before it has sent them.
		told = []
		for how in ("Content-Length: 104857600", "Transfer-Encoding: chunked"):
		    for _ in range(6):
		        s = connect()
		        s.sendall(f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: other\r\n{how}\r\n\r\n".encode())
		        try:
		            for _ in range(100): s.sendall((b"fffff\r\n" if "chunked" in how else b"") + b"x" * 0xfffff + b"\r\n")
		        except OSError: pass
		        try: told.append(s.recv(99)[9:12])
		        except OSError: told.append(b"reset")
		        s.close()
		print(set(told) <= {b"401", b"reset"}, b"401" in told, peak() - before < 32768)
		# A byte each, and nothing more; and heads that never end.
		idle = []
		for i in range(300):
		    idle.append(connect())
		    idle[-1].sendall(b"G" if i % 2 else b"GET / HTTP/1.1\r\nHost: x\r\n")
		print(ask(), ask())
		slow = connect()
		slow.sendall(b"GET / HTTP/1.1\r\n")
		slow.settimeout(0.2)
		ended = time.monotonic() + 25
		while time.monotonic() < ended:
		    try: slow.sendall(b"a: b\r\n")
		    except OSError: break
		    try:
		        if slow.recv(1) == b"": break
		    except TimeoutError: pass
		    except OSError: break
		else: print("still there")
		print(ask())
	END
	run -0 --separate-stderr awf-run -c 'awf-step -n -r --models app -- /usr/bin/python3 -S strangers.py'
	same "$output" '200
True True True
200 200
200'
}

@test "a key that an API repeats is in no record" {
	api_server
	program <<<'get /v1/echoes >/dev/null'
	models
	same "$status" 0
	grep -q anthropic-real-key "$API_LOG"
	run -1 grep -r anthropic-real-key "$AWF_STORAGE"
}

@test "nor in one of bytes that are recorded in base64, or of escaped characters" {
	api_server
	program <<<'get /v1/echoes-bytes >bytes; get /v1/echoes-escaped >escaped'
	models
	same "$status" 0
	grep -qa anthropic-real-key bytes
	same "$(jq -r .key escaped)" anthropic-real-key
	same "$(payloads tool.result '.output | select(.encoding == "base64") | .body' | jq -r . | base64 -d | LC_ALL=C grep -ac "[*]\{18\}")" 1
	same "$(payloads tool.result '.output.body | fromjson? | .key // empty' | tr -d '"' | tr -d '*')" ''
	payloads tool.result '.output.body | fromjson? | .key // empty' | grep '[*]\{18\}'
}

@test "no request leads elsewhere than below the base of the user" {
	api_server
	cat >elsewhere.py <<-'END'
		import os, socket
		key, port = os.environ["GEMINI_API_KEY"], int(os.environ["GEMINI_BASE_URL"].split(":")[2].split("/")[0])
		def ask(line):
		    with socket.create_connection(("127.0.0.1", port)) as s:
		        s.sendall(f"{line} HTTP/1.1\r\nHost: x\r\nx-goog-api-key: {key}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
		        answer = b""
		        while part := s.recv(65536): answer += part
		        print(answer.split(b"\r\n")[0].decode().split(" ")[1], line)
		for line in ("POST @127.0.0.1:1/stolen", "POST .evil.invalid/x", "CONNECT 127.0.0.1:1", "POST :1/x", "OPTIONS *",
		             "POST http://127.0.0.1:1/v1beta/models/x:generateContent", "GET /v1beta/../../secret", "GET /v1beta/%2e%2E/secret",
		             "GET /v1beta/.%2e", "TRACE /v1beta/models", "GET /v1/x%2f..%2fadmin", "GET /v1/x%2Fadmin", "GET /v1\\..\\admin",
		             "GET /v1/x%5C..%5cadmin", "GET /v1/./x", "GET /v1/%2E/x", "GET /v1/x/..", "GET /v1/x%00y", "GET /v1/x%0d%0ay",
		             "GET /v1/x%7f", "GET /v1/x%", "GET /v1/x%2", "GET /v1/x%zz", "GET /v1/x#y"):
		    ask(line)
	END
	run -0 --separate-stderr awf-run -c 'awf-step -n -r --models app -- /usr/bin/python3 -S elsewhere.py'
	same "$(cut -d' ' -f1 <<<"$output" | sort | uniq -c | tr -s ' ')" ' 24 400'
	same "$(wc -l <"$API_LOG")" 0
	# What is judged and what is passed on is one path, in one writing.
	sed -i 's/^\t*for line in .*/for line in ("GET \/v1beta\/%6dodels", "GET \/\/v1beta\/\/models\/", "GET \/v1beta\/x%252e%252e%252fy", "GET \/v1beta\/...%20%c3%a9?q=%2e%2f"):/; /^ *"/d' elsewhere.py
	run -0 --separate-stderr awf-run -c 'awf-step -n -r --models app -- /usr/bin/python3 -S elsewhere.py'
	same "$(jq -r .path "$API_LOG")" "/v1beta/models
/v1beta/models
/v1beta/x%252e%252e%252fy
/v1beta/...%20%C3%A9?q=%2e%2f"
	# A base of another kind is none.
	GEMINI_BASE_URL=file:///etc run --separate-stderr awf-run -c 'awf-step -n -r --models app -- sh -c "curl -sS -H x-goog-api-key:\$GEMINI_API_KEY \$GEMINI_BASE_URL/hostname"'
	[[ $output$stderr != *"$(cat /etc/hostname)"* && $output$stderr == *rotocol* ]]
}

@test "a program that asks nothing is warned about, and one without --models is left alone" {
	echo 'echo "${ANTHROPIC_API_KEY-none} $ANTHROPIC_BASE_URL"' >program
	ANTHROPIC_API_KEY=real-key-1 run -0 --separate-stderr awf-run -c 'awf-step -n -r app -- sh program'
	same "$output" 'none http://127.0.0.1:1'
	models
	[[ "$output" == 'sk-awf-'*' http://127.0.0.1:'* ]]
	[[ "$stderr" == *'awf-step: app: --models: no request to a model API was seen'* ]]
	same "$(awf-replay -q --isolation copy 2>&1 | grep -c 'no request')" 0
}

@test "a retry asks anew, and a call that is not repeated in a replay has its traffic" {
	model_server --answer hello.jsonl --answer bye.jsonl --loop
	program <<<'ask one | said; [ -e go ] || { touch go; exit 3; }'
	models --retries 1 --delay 10ms
	same "$status $output $(asked)" '0 Bye 2'
	kill "$MODEL_SERVER_PID"
	model_server --answer hello.jsonl
	program <<<'ask one | said'
	models --effects external
	kill "$MODEL_SERVER_PID"
	same "$(awf-replay -q --isolation copy)" Hello
}

# bats test_tags=turn:2
@test "steps inside of a command record what they ask, once, and count for its --max-cost" {
	for i in 1 2 3 4 5 6; do text "answer $i" >"$i.jsonl"; done
	model_server --answer 1.jsonl --answer 2.jsonl --answer 3.jsonl --answer 4.jsonl --answer 5.jsonl --answer 6.jsonl
	echo 'anthropic/m 1000 1000' >prices
	export AWF_PRICES=$PWD/prices
	cat >inner <<-'END'
		. ./api.sh
		ask inner m | said
	END
	# A program that asks, runs a program that asks, and one that does in that, and an agent.
	cat >program <<-'END'
		. ./api.sh
		ask first m | said
		awf-step -n -r --models inner -- sh -c '. ./api.sh; ask in m | said; awf-step -n -r --models inmost -- sh inner'
		awf-step -n -r -m anthropic/m -p 'by an agent' agent
		ask last m | said
		[ -e go ] || exit 3
		ask after m | said
	END
	models --max-cost 1
	same "$status $(asked)" '3 5'
	same "$(payloads message.user '.blocks[0].text' | sort | paste -sd' ')" \
		'"by an agent" "first" "in" "inner" "last"'
	same "$(jq -r 'select(.type == "message.user") | .path' "$(transcript)" | sort | uniq -c | tr -s ' ' | paste -sd,)" \
		' 2 app, 1 app.agent, 1 app.inner, 1 app.inner.inmost'
	# Five answers of 10 and 5 tokens, by the record of the run, and by what its limit counts.
	[[ "$stderr" == *' 50 in, 25 out'* ]]
	touch go
	run -0 --separate-stderr awf-run --resume @
	same "$output $(asked)" $'answer 1\nanswer 2\nanswer 3\nanswer 4\nanswer 5\nanswer 6 6'
	awf-verify -q
	kill "$MODEL_SERVER_PID"
	same "$(awf-replay -q --isolation copy)" "$output"
	awf-verify --determinism --isolation copy
	# What is asked inside counts for the call around it, and for the run once.
	text x >x.jsonl
	model_server --answer x.jsonl --loop
	rm go
	models --max-cost 0.04
	same "$status $(asked)" '3 3'
	[[ "$stderr" == *'the call has reached --max-cost ($0.0450 of $0.0400)'* ]]
	run --separate-stderr awf-run --max-cost 0.1 -c 'awf-step -n -r --models app -- sh program'
	same "$status $(asked)" '3 8'
	[[ "$stderr" != *'reached --max-cost'* ]]
	# Where nothing is to be asked, nothing is inside either.
	echo 'awf-step -n -r -m anthropic/m -p "by an agent" agent' >program
	run --separate-stderr awf-run -c 'awf-step -n -r --models=replay app -- sh program'
	same "$status $(asked)" '3 8'
	[[ "$stderr" == *'awf-step: app: request 1, POST /v1/messages, is asked by a step inside, where nothing is to be asked'* ]]
}

@test "in a sandbox without network the proxy is all that is reached" {
	[ "$(isolation)" = namespaces ] || skip "no namespaces here"
	model_server --answer hello.jsonl --loop
	cp api.sh program
	cat >>program <<-END
		ask one | said
		curl -s --noproxy '*' -m 5 "$MODEL_SERVER/count" || echo "curl: \$?"
		curl -s --noproxy '*' -m 5 http://192.0.2.1/ || echo "curl: \$?"
		# What only a step inside would ask with.
		fields="-H x-api-key:sk-awf-within-\$(printf %s "\$ANTHROPIC_API_KEY" | sha256sum | cut -c1-48)"
		ask two | said
	END
	run -0 --separate-stderr awf-run -c 'awf-step -n -r --models --sandbox workspace --retries 1 app -- sh program'
	same "$output" $'Hello\ncurl: 7\ncurl: 7\nHello'
	same "$(payloads message.user '.blocks[0].text' | paste -sd' ')" '"one" "two"'
	kill "$MODEL_SERVER_PID"
	same "$(awf-replay -q)" "$output"
	# Without namespaces it cannot be.
	run -77 --separate-stderr "$BUILD/libexec/awf/awf-sandbox" --without namespaces --loopback 9 -- true 9<>/dev/null
	[[ "$stderr" == *'this system has no namespaces, in which a program without network could reach model APIs alone'* ]]
}

@test "the example of a program replays offline as it was recorded, and is up to date" {
	local files
	awf-verify --determinism --isolation "$(isolation)" "$ROOT/examples/program/recording"
	files=("$ROOT"/examples/program/recording/snapshots/*)
	cmp "$ROOT/examples/program/answer.py" "${files[0]}/answer.py"
	cmp "$ROOT/examples/program/answer.awf" "${files[0]}/answer.awf"
	if grep -r -e "$ROOT" "$ROOT/examples/program/recording"; then false; fi
}

@test "what goes together with --models" {
	usage() { run -1 --separate-stderr awf-step "$@" </dev/null; }
	usage --models=never a -- true
	same "$stderr" "awf-step: --models: 'never' is none of record, replay, live"
	usage --models -m x -p y a
	same "$stderr" 'awf-step: --models: only with a command: what an agent asks is recorded anyway'
	usage --models --each a -- true
	same "$stderr" 'awf-step: --models: not with a group: say it of the steps that ask models'
	usage --models-ignore /a a -- true
	same "$stderr" 'awf-step: --models-ignore: only with --models'
	usage --models --models-ignore user a -- true
	same "$stderr" "awf-step: --models-ignore: 'user' is no JSON pointer, such as /metadata/user_id"
	usage --max-cost 1 a -- true
	same "$stderr" 'awf-step: --max-cost: only with -a, -m or --models'
	run -1 --separate-stderr "$BUILD/libexec/awf/awf-models-proxy" <<<'{}'
	same "$stderr" 'awf-models-proxy: stdin: does not begin with a line that has a token'
	run -1 --separate-stderr "$BUILD/libexec/awf/awf-models-proxy" x </dev/null
	same "$stderr" 'awf-models-proxy: x: unexpected argument'
}

@test "a command cannot say to a gateway where the key goes: headers that APIs do not know are dropped" {
	load ../../support/vendors
	vendors_prepare
	message_text cold | vendor mine /gate '"protocol":"messages","key":{"env":"MINE_KEY"}'
	export MINE_KEY=key-of-mine ANTHROPIC_API_KEY=key-of-anthropic ANTHROPIC_BASE_URL="$(cat server.url)/other"
	program <<-'END'
		for name in x-portkey-custom-host helicone-target-url x-forwarded-host x-auth-user cookie x_portkey_custom_host \
			openai-organization x-http-method-override x-original-url; do
			fields="$fields -H $name:evil"
		done
		fields="$fields -H anthropic-beta:tools -H x-stainless-lang:js -H X-Request-Id:7"
		ask one
	END
	for models in --models=anthropic=mine --models; do
		awf-step -n -r "$models" app -- sh program
	done
	same "$(jq -r '.path + " " + .headers."x-api-key"' "$LOG" | paste -sd' ')" '/gate/v1/messages key-of-mine /other/v1/messages key-of-anthropic'
	same "$(jq -c '.headers | keys - ["host", "content-length", "x-api-key", "accept-encoding"]' "$LOG" | sort -u)" \
		'["accept","anthropic-beta","anthropic-version","content-type","user-agent","x-request-id","x-stainless-lang"]'
}

@test "no key goes to another machine without encryption, nor to a proxy in the place of this one" {
	load ../../support/vendors
	vendors_prepare
	message_text cold | serve
	unset no_proxy
	export ANTHROPIC_BASE_URL=$(cat server.url) ANTHROPIC_API_KEY=key-of-anthropic http_proxy=http://127.0.0.1:9
	program <<<'ask one | grep -o cold'
	same "$(awf-step -n -r --models app -- sh program)" cold
	# A proxy that would see it stands for the other machine.
	export http_proxy=$ANTHROPIC_BASE_URL ANTHROPIC_BASE_URL=http://models.example
	run -0 --separate-stderr awf-step -n -r --models app -- sh program
	[[ $stderr == *'app: http://models.example gets no key'*'without encryption'* ]]
	endpoint anthropic '{"insecure":true}'
	run -0 --separate-stderr awf-step -n -r --models app -- sh program
	same "$stderr" ''
	same "$(jq -c '.headers."x-api-key"' "$LOG" | paste -sd' ')" '"key-of-anthropic" null "key-of-anthropic"'
}

@test "requests of a family go to an endpoint, with its key and headers in place of the program's" {
	load ../../support/vendors
	vendors_prepare
	message_text cold | vendor mine /gate '"protocol":"messages","key":{"env":"MINE_KEY","header":"authorization: Bearer "},
		"headers":{"X-Gate":{"env":"GATE_KEY"},"anthropic-version":null}'
	export MINE_KEY=key-of-mine GATE_KEY=key-of-the-gate ANTHROPIC_API_KEY=key-of-anthropic
	program <<<'ask one | grep -o cold; env >seen'
	models=--models=anthropic=mine
	run -0 --separate-stderr awf-run -c "awf-step -n -r $models app -- sh program"
	same "$output" cold
	same "$(sed -n 1p "$LOG" | jq -c '[.path, .headers.authorization, .headers."x-gate", .headers."x-api-key", .headers."anthropic-version"]')" \
		'["/gate/v1/messages","Bearer key-of-mine","key-of-the-gate",null,null]'
	run ! grep -r -e key-of seen "$AWF_STORAGE"
	# Nor if the server repeats one.
	refusal 401 '{"error":{"message":"no: key-of-mine, key-of-the-gate"}}' '{"x-echo":"key-of-the-gate"}' >replies
	run -0 awf-run -c "awf-step -n -r $models app -- sh program"
	grep -rq 'no: \*\*' "$AWF_STORAGE"
	run ! grep -r -e key-of seen "$AWF_STORAGE"
	endpoint mine '{"protocol":"messages","base_url":"http://models.example","key":{"env":"MINE_KEY"}}'
	run ! --separate-stderr awf-run -c "awf-step -n -r $models app -- sh program"
	[[ $stderr == *'without encryption'* ]]
	# It would be sent to a port of this machine, whoever listens there.
	endpoint mine '{"protocol":"messages","base_url":"http://localhost:9","unix":"/run/gate.sock","key":{"env":"MINE_KEY"}}'
	run ! --separate-stderr awf-step -n "$models" app -- true
	[[ $stderr == *'mine: the proxy asks a server by its URL alone, without unix and tls'* ]]
	endpoint mine '{"protocol":"messages","base_url":"https://localhost:9","tls":{"ca":"/etc/ca.pem"},"key":{"env":"MINE_KEY"}}'
	run ! --separate-stderr awf-step -n "$models" app -- true
	[[ $stderr == *'mine: the proxy asks a server by its URL alone, without unix and tls'* ]]
	for wrong in nobody=mine anthropic= anthropic=../x '' ,; do
		run -1 awf-step -n --models="$wrong" app -- true
	done
	# Before anything runs, in one line.
	run -2 --separate-stderr awf-step -n --models=anthropic=nobody app -- touch ran
	same "$stderr" "awf-step: --models: there is no endpoint 'nobody'"
	endpoint mine '{"base_ulr":"x"}'
	run -2 --separate-stderr awf-step -n "$models" app -- touch ran
	same "$(grep -c . <<<"$stderr")" 1
	endpoint mine '{"protocol":"messages","base_url":"https://localhost:9","key":{"env":"NOBODY_SET_THIS"}}'
	run -3 --separate-stderr awf-step -n "$models" app -- touch ran
	same "$stderr" 'awf-step: app: mine: no API key: its variable is not set'
	[ ! -e ran ]
}
