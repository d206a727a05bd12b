load ../../support/helpers
# bats file_tags=turn:2
bats_require_minimum_version 1.5.0
load ../../support/provider

# What goes wrong between a provider and its API, in the categories of
# awf-provider(7).

stream() { echo "$ROOT/tests/fixtures/$1/text.jsonl"; }

# Serves with a fault; prints the answer without its message.
with_fault() {
	local name=$1
	shift
	model_server --answer "$(stream "$name")" "$@"
	request | provider "$name" | jq -c 'del(.id, .type, .message, .request_id, .usage, .model)'
	kill "$MODEL_SERVER_PID"
}

# bats test_tags=turn:2
@test "HTTP statuses" {
	while read -r fault expected; do
		for name in anthropic openai; do
			same "$name $fault $(with_fault $name --fault "1:$fault")" "$name $fault $expected"
		done
	done <<-'END'
		400 {"category":"invalid","status":400}
		401 {"category":"auth","status":401}
		403 {"category":"auth","status":403}
		404 {"category":"invalid","status":404}
		307 {"category":"provider","status":307}
		413 {"category":"context_length","status":413}
		429 {"category":"rate_limit","status":429}
		500 {"category":"provider","status":500}
		503 {"category":"overloaded","status":503}
		529:2 {"category":"overloaded","retry_after_ms":2000,"status":529}
	END
	same "$(with_fault google --fault 1:401)" '{"category":"auth","status":401}'
	same "$(with_fault google --fault 1:429:3)" '{"category":"rate_limit","retry_after_ms":3000,"status":429}'
	same "$(with_fault google --fault 1:503)" '{"category":"overloaded","status":503}'
}

@test "Retry-After in seconds, milliseconds and as a date" {
	same "$(with_fault anthropic --fault 1:429:7)" '{"category":"rate_limit","retry_after_ms":7000,"status":429}'
	same "$(with_fault anthropic --fault 1:429:1.5)" '{"category":"rate_limit","retry_after_ms":1500,"status":429}'
	same "$(with_fault anthropic --fault 1:429:250ms)" '{"category":"rate_limit","retry_after_ms":250,"status":429}'
	same "$(with_fault anthropic --fault 1:429:soon)" '{"category":"rate_limit","status":429}'
	same "$(with_fault anthropic --fault '1:429:Sat, 01 Jan 2000 00:00:00 GMT')" '{"category":"rate_limit","status":429}'
	date=$(date -u -d '+60 seconds' '+%a, %d %b %Y %H:%M:%S GMT')
	ms=$(with_fault anthropic --fault "1:429:$date" | jq .retry_after_ms)
	[ "$ms" -ge 50000 ] && [ "$ms" -le 60000 ]
}

# bats test_tags=turn:2
@test "what the error object says counts more than the status" {
	while read -r status expected body; do
		echo "$body" >body.json
		model_server --fault "1:error:$status:body.json"
		same "$body $(request | provider openai | jq -r .category)" "$body $expected"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		400 context_length {"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}
		400 context_length {"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}
		400 context_length {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}
		400 context_length {"error":{"code":400,"message":"the request exceeds","type":"exceed_context_size_error"}}
		429 auth {"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}
		400 auth {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}
		401 auth {"error":{"message":"no key","type":"invalid_request_error","code":null}}
		400 refused {"error":{"message":"no","type":"invalid_request_error","code":"content_policy_violation"}}
		404 invalid {"error":{"message":"no","code":"model_not_found"}}
		400 invalid {"error":"just a text"}
		422 invalid {"detail":"Field required"}
		400 auth {"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}
		400 auth [{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]
		400 context_length {"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}
		400 invalid {"error":{"code":400,"message":"Unknown name","status":"INVALID_ARGUMENT"}}
		403 auth {"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}
		503 overloaded {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}
		502 provider <html>Bad Gateway</html>
		504 overloaded upstream timed out
	END
}

@test "the time to wait may stand in the error object" {
	while read -r delay expected; do
		echo '[{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.Help"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"'"$delay"'"}]}}]' >body.json
		model_server --fault "1:error:429:body.json"
		same "$delay $(request | provider openai | jq -c '[.category, .retry_after_ms]')" "$delay $expected"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		22s ["rate_limit",22000]
		1.5s ["rate_limit",1500]
		0s ["rate_limit",null]
		-1s ["rate_limit",null]
		1m ["rate_limit",null]
		soon ["rate_limit",null]
	END
}

@test "messages of HTTP errors: status, request, the API's words" {
	model_server --answer "$(stream anthropic)" --fault 1:401
	same "$(request | provider anthropic | jq -r .message)" 'HTTP 401 (request req_1): a fault on request (is ANTHROPIC_API_KEY right?)'
	kill "$MODEL_SERVER_PID"
	model_server --answer "$(stream openai)" --fault 1:401
	same "$(unset OPENAI_API_KEY; request | provider openai | jq -r .message)" \
		'HTTP 401 (request req_1): a fault on request (no key was sent: set OPENAI_API_KEY)'
	kill "$MODEL_SERVER_PID"
	echo '{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}' >body
	model_server --answer "$(stream google)" --fault 1:error:400:body
	same "$(unset GEMINI_API_KEY; request | GOOGLE_API_KEY=k provider google | jq -r .message)" \
		'HTTP 400 (request req_1): API key not valid. (is GOOGLE_API_KEY right?)'
	kill "$MODEL_SERVER_PID"
	printf 'Bad Gateway\nmore\n' >body
	model_server --fault 1:error:502:body
	same "$(request | provider openai | jq -r .message)" 'HTTP 502 (request req_1): Bad Gateway'
}

@test "errors in mid-stream" {
	same "$(with_fault anthropic --fault 1:error-event)" '{"category":"overloaded"}'
	same "$(with_fault anthropic --fault 1:error-event:rate_limit_error)" '{"category":"rate_limit"}'
	same "$(with_fault anthropic --fault 1:error-event:invalid_request_error)" '{"category":"invalid"}'
	same "$(with_fault anthropic --fault 1:error-event:new_error)" '{"category":"provider"}'
	same "$(with_fault google --fault 1:error-event)" '{"category":"overloaded","status":503}'
	same "$(with_fault google --fault 1:error-event:RESOURCE_EXHAUSTED)" '{"category":"rate_limit","status":429}'
	same "$(with_fault openai --fault 1:error-event)" '{"category":"provider"}'
	same "$(with_fault openai --fault 1:error-event:context_length_exceeded)" '{"category":"context_length"}'
	echo '{"error":{"code":429,"message":"slow down"}}' >stream.jsonl
	model_server --answer stream.jsonl
	same "$(request | provider openai)" '{"id":1,"type":"error","category":"rate_limit","status":429,"message":"slow down","request_id":"req_1"}'
	kill "$MODEL_SERVER_PID"
	echo '[{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]' >stream.jsonl
	model_server --answer stream.jsonl
	same "$(request | provider google | jq -r '.category + " " + .message')" 'overloaded busy'
}

@test "a stream that is cut after its answer was whole is an answer" {
	for name in anthropic openai; do
		model_server --answer "$(stream $name)"
		len=$(curl -s -d '{}' "$MODEL_SERVER/x" | wc -c)
		kill "$MODEL_SERVER_PID"
		model_server --answer "$(stream $name)" --fault "1:cut:$len" --fault "2:cut:$((len - 2))" \
			--fault "3:cut:$((len / 2))"
		{ request 1; request 2; request 3; } | provider $name >answers
		# The end that the API had said counts, without the last line end too.
		same "$(jq -r '.category // .type' answers | paste -sd' ')" 'message message network'
		kill "$MODEL_SERVER_PID"
	done
}

@test "a stream that ends well but too early is a network error too" {
	grep -v 'message_stop\|message_delta' "$(stream anthropic)" >stream.jsonl
	model_server --answer stream.jsonl
	same "$(request | provider anthropic)" \
		'{"id":1,"type":"error","category":"network","message":"the stream ended before the answer did","request_id":"req_1","usage":{"input_tokens":34,"output_tokens":1,"cache_read_tokens":20,"cache_write_tokens":3},"model":"model-a-1"}'
	kill "$MODEL_SERVER_PID"
	sed 's/chat.completion.chunk//; /"stop"/,$d' "$(stream openai)" >stream.jsonl
	model_server --answer stream.jsonl
	same "$(request | provider openai)" \
		'{"id":1,"type":"error","category":"network","message":"the stream ended before the answer did","request_id":"req_1"}'
}

@test "invalid UTF-8 and broken JSON in a stream" {
	for name in anthropic google openai openai-responses; do
		same "$(with_fault $name --fault 1:badutf8)" '{"category":"provider"}'
		{ head -n 2 "$(stream $name)" && echo '{"type":' && tail -n 2 "$(stream $name)"; } >stream.jsonl
		model_server --answer stream.jsonl
		run -0 provider $name < <(request)
		[[ $output == *'"category":"provider","message":"event 3 of the stream is not JSON: byte '* ]]
		kill "$MODEL_SERVER_PID"
	done
}

@test "an oversized line" {
	same "$(with_fault anthropic --fault 1:oversized)" '{"category":"provider"}'
}

@test "no stream at all" {
	: >empty.jsonl
	model_server --answer empty.jsonl
	same "$(request | provider openai)" \
		'{"id":1,"type":"error","category":"provider","message":"the server sent no events: is OPENAI_BASE_URL right?","request_id":"req_1"}'
	kill "$MODEL_SERVER_PID"
	echo '{"object":"chat.completion","choices":[]}' >whole.jsonl
	model_server --answer whole.jsonl
	same "$(request | provider openai)" \
		'{"id":1,"type":"error","category":"provider","message":"the server answered in JSON that is no answer of this API: is OPENAI_BASE_URL right?","request_id":"req_1"}'
}

@test "nobody there" {
	export OPENAI_BASE_URL=http://127.0.0.1:1/v1 ANTHROPIC_BASE_URL=http://127.0.0.1:1 ANTHROPIC_API_KEY=k GEMINI_API_KEY=k GEMINI_BASE_URL=http://127.0.0.1:1
	for name in anthropic google openai openai-responses; do
		run -0 provider $name < <(request)
		same "$(echo "$output" | jq -r .category)" network
		[[ $output == *'127.0.0.1 port 1'* ]]
	done
}

@test "settings: missing keys, keys that are none, URLs that are none" {
	unset ANTHROPIC_API_KEY
	same "$(request | provider anthropic)" \
		'{"id":1,"type":"error","category":"auth","message":"no API key: set ANTHROPIC_API_KEY"}'
	same "$(request | ANTHROPIC_API_KEY=$'k\nx-evil: 1' provider anthropic)" \
		'{"id":1,"type":"error","category":"auth","message":"ANTHROPIC_API_KEY: the key holds a control character (a line end?)"}'
	same "$(request | OPENAI_BASE_URL=file:///etc provider openai)" \
		'{"id":1,"type":"error","category":"invalid","message":"OPENAI_BASE_URL: expected a URL that begins with http:// or https://"}'
}

@test "after an error the next request is answered" {
	model_server --answer "$(stream anthropic)" --fault 1:500 --fault 2:cut:300 --fault 3:badutf8
	for id in 1 2 3 4; do request "$id"; done | provider anthropic >answers
	same "$(jq -r '.category // .type' answers | paste -sd' ')" 'provider network provider message'
}

@test "a key that the server repeats is not in the message" {
	echo '{"error":{"message":"bad key sk-secret-1, yes sk-secret-1"}}' >body.json
	model_server --fault '*:error:401:body.json'
	export OPENAI_API_KEY=sk-secret-1 ANTHROPIC_API_KEY=sk-secret-1 GEMINI_API_KEY=sk-secret-1
	for name in anthropic google openai openai-responses; do
		run -0 provider $name < <(request)
		[[ $output == *'bad key ***********, yes *********** (is '* ]]
	done
}

@test "no part of a key is in a message that was cut" {
	local long
	long=$(printf 'x%.0s' {1..292})
	echo "$long sk-secret-1" >text
	echo "[\"$long sk-secret-1\"]" >array.json
	for body in text array.json; do
		model_server --fault "*:error:401:$body"
		export ANTHROPIC_API_KEY=sk-secret-1
		run -0 provider anthropic < <(request)
		[[ $output == *xxx* && $output != *sk-* ]]
		kill "$MODEL_SERVER_PID"
	done
}

@test "counts of tokens that no sum would hold are not known" {
	cat >answer.jsonl <<-'EOF'
		{"type":"message_start","message":{"usage":{"input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807,"output_tokens":1}}}
		{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}
		{"type":"message_delta","delta":{"stop_reason":"end_turn"}}
		{"type":"message_stop"}
	EOF
	model_server --answer answer.jsonl
	run -0 provider anthropic < <(request)
	same "$(jq -c .usage <<<"$output")" '{"output_tokens":1}'
}

@test "a key of asterisks is no endless work" {
	echo '{"error":{"message":"bad key ***"}}' >body.json
	model_server --fault '*:error:401:body.json'
	export OPENAI_API_KEY='**'
	run -0 timeout 10 "$BUILD/libexec/awf/awf-provider-openai" < <(request)
	[[ $output == *'bad key *** (is '* ]]
}

@test "an answer of blocks without end is broken off" {
	seq 10002 |
		sed 's/.*/{"type":"content_block_start","index":&,"content_block":{"type":"text","text":""}}/' >answer.jsonl
	model_server --answer answer.jsonl
	run -0 provider anthropic < <(request)
	same "$(jq -r .message <<<"$output")" 'the answer has more than 10000 blocks'
}

@test "calls in one event, or in one body, cost no more than their number" {
	seq 0 "$(size_of_tier 39999 199999)" | jq -c '{index: ., id: "call_\(.)", type: "function", function: {name: "t", arguments: "{}"}}' | jq -sc . >calls
	jq -c '{choices: [{index: 0, delta: {tool_calls: .}}]}' calls >answer.jsonl
	model_server --answer answer.jsonl
	run -0 timeout 20 "$BUILD/libexec/awf/awf-provider-openai" < <(request)
	same "$(jq -r .message <<<"$output")" 'the answer has more than 10000 blocks'
}

@test "keys are in no argument, answer, log or memory of other processes" {
	model_server --answer "$(stream anthropic)" --fault 1:stall
	mkfifo requests
	ANTHROPIC_API_KEY=sk-secret-2 provider anthropic <requests >answers 2>errors &
	pid=$!
	exec 9>requests
	request 1 '"stream":true' >&9
	until [ -s answers ]; do sleep 0.02; done
	same "$(tr '\0' '\n' <"/proc/$pid/cmdline" | grep sk-secret)" ""
	[ "$(id -u)" -eq 0 ] || ! cat "/proc/$pid/environ"
	exec 9>&-
	kill "$pid"
	! grep sk-secret answers errors "$MODEL_SERVER_LOG"
}

@test "the id of a request is told, from the header or the body" {
	for name in anthropic openai; do
		model_server --answer "$(stream $name)" --fault 2:error-event --fault 3:401
		same "$(for id in 1 2 3; do request $id; done | provider $name | jq -r .request_id | tr '\n' ' ')" \
			'req_1 req_2 req_3 '
		kill "$MODEL_SERVER_PID"
	done
}

@test "a key is in no request id; what is too short to be one blanks nothing" {
	cat >echo.py <<-'END'
		import http.server
		class Echo(http.server.BaseHTTPRequestHandler):
		    def do_POST(self):
		        key = self.headers["Authorization"].split()[1]
		        self.send_response(429)
		        self.send_header("x-request-id", "req_" + key)
		        self.end_headers()
		        self.wfile.write(b'{"error":{"message":"max context of ' + key.encode() + b'"}}')
		    def log_message(self, *words): pass
		server = http.server.HTTPServer(("127.0.0.1", 0), Echo)
		print(server.server_port, flush=True)
		server.timeout = 20
		server.handle_request()
		server.handle_request()
	END
	python3 echo.py >port 3>&- &
	eventually test -s port
	export OPENAI_BASE_URL=http://127.0.0.1:$(cat port)
	request >asked
	same "$(OPENAI_API_KEY=sk-123456789 provider openai <asked | jq -c '[.message, .request_id]')" \
		'["HTTP 429 (request req_************): max context of ************","req_************"]'
	same "$(OPENAI_API_KEY=x provider openai <asked | jq -c '[.message, .request_id]')" '["HTTP 429 (request req_x): max context of x","req_x"]'
	wait $!
}
