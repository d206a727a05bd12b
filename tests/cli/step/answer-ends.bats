#!/usr/bin/env bats
# How an answer ended, and what the step makes of it.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0

load ../../support/helpers
load ../../support/agent

prepare() {
	mkdir tools
	tool note '"effects":"read","input_schema":{"type":"object"}' 'cat >>ledger; echo ok'
	printf -- '---\nprovider: %s\nmodel: m\ntools: [note]\n---\nYou note.\n' openai >note.md
}

# Serves what stands on stdin to each request.
serve() {
	cat >answer
	model_server --answer "$ROOT/tests/fixtures/openai/text.jsonl" --loop --fault '*:error:200:answer'
}

count() { curl -s "$MODEL_SERVER/count" | jq .requests; }

@test "of an answer that was cut off within a call none of its calls is made" {
	serve <<-'END'
		data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"note","arguments":"{\"n\":1}"}}]}}]}

		data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"note","arguments":"{\"n\":"}}]}}]}

		data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}

		data: [DONE]

	END
	run -3 awf-step -a note.md -r a <<<hi
	[[ $output == *"cut off at the limit of tokens"* ]]
	[ ! -e ledger ]
	same "$(count)" 1
	same "$(payloads step.completed .error.code)" '"max_tokens"'
	run -0 awf-verify
}

@test "a refusal is told in the words of the API, and recorded beside what had come" {
	sed -i 's/openai/anthropic/' note.md
	serve <<-'END'
		data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":1}}}

		data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"I can"}}

		data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"Not this."}}}

		data: {"type":"message_stop"}

	END
	echo 'echo hi | awf-step -a note.md -r a' >flow.awf
	run -3 awf-run -n ./flow.awf
	[[ $output == *"the model refused: Not this."* ]]
	same "$(payloads message.assistant '[.stop_reason, .explanation, .blocks[0].text]')" '["refusal","Not this.","I can"]'
	run -0 awf-verify --determinism
}

item() { printf '{"type":"message","role":"assistant","phase":"%s","content":[{"type":"output_text","text":"%s"}]}' "$@"; }
answered() {
	serve < <(printf 'data: {"type":"response.completed","response":{"status":"completed","output":[%s]}}\n\n' "$1")
	awf-step -a note.md -r a <<<hi
	kill "$MODEL_SERVER_PID"
}

@test "what a model says about its work is no part of the result" {
	sed -i 's/openai/openai-responses/' note.md
	same "$(answered "$(item commentary 'I look.'),$(item final_answer Cold.)")" Cold.
	same "$(answered "$(item commentary 'I look.')")" 'I look.'
	same "$(payloads message.assistant '[.blocks[] | .commentary]')" '[true]'
}

@test "an answer of nothing is an error, unless the agent may stay silent" {
	silent='data: {"choices":[{"index":0,"delta":{"reasoning":"hm"},"finish_reason":"stop"}]}'
	serve <<<"$silent"
	run -3 awf-step -a note.md -r a <<<hi
	[[ $output == *"the model thought, and said nothing" ]]
	same "$(count)" 3
	kill "$MODEL_SERVER_PID"
	sed -i '/^model/a empty: accept' note.md
	serve <<<"$silent"
	run -0 awf-step -a note.md -r a <<<hi
	same "$output" ''
	same "$(count)" 1
	sed -i 's/accept/allow/' note.md
	run -2 awf-step -a note.md -r a <<<hi
	[[ $output == *"empty: expected accept or error" ]]
}

@test "a wait of minutes is told without -v" {
	model_server --answer "$ROOT/tests/fixtures/openai/text.jsonl" --fault 1:429:3600
	awf-step -a note.md -r a <<<hi 2>err &
	step=$!
	until grep -q . err; do sleep 0.05; done
	kill "$step"
	wait "$step" || true
	# Not all that were told so come back at the same moment.
	seconds=$(head -n 1 err | sed -n 's/.*try 2 of 3 in \([0-9]*\).*/\1/p')
	[ "$seconds" -ge 3600 ] && [ "$seconds" -le 5400 ]
}

@test "a compressed answer is read, though none was asked for" {
	python3 - "$ROOT/tests/fixtures/openai/text.jsonl" <<-'END' &
		import gzip, http.server, sys
		events = "".join(f"data: {line}\n" for line in open(sys.argv[1])).replace("\n", "\n\n")
		class Server(http.server.BaseHTTPRequestHandler):
		    def log_message(self, *_): pass
		    def do_POST(self):
		        self.rfile.read(int(self.headers["content-length"]))
		        body = gzip.compress(events.encode())
		        self.send_response(200)
		        for name, value in ("content-encoding", "gzip"), ("content-length", len(body)):
		            self.send_header(name, str(value))
		        self.end_headers()
		        self.wfile.write(body)
		server = http.server.HTTPServer(("127.0.0.1", 0), Server)
		open("port.new", "w").write(str(server.server_port))
		__import__("os").rename("port.new", "port")
		server.handle_request()
	END
	until [ -e port ]; do sleep 0.05; done
	OPENAI_BASE_URL=http://127.0.0.1:$(cat port)/v1 run -0 awf-step -a note.md -r a <<<hi
	[[ $output == *Gr* ]]
}
