# Sourced by the bats files about agents: agent files, tools, answers of a model server.
# shellcheck shell=bash

# An agent file with these further lines of front matter.
agent() {
	printf -- '---\nname: %s\nprovider: anthropic\nmodel: test\n%s\n---\nBe brief.\n' "$1" "${2-}" \
		>"agents/$1.md"
}

# A tool: members of its definition, shell text.
tool() {
	echo "{\"description\":\"$1\",$2}" >"tools/$1.tool.json"
	printf '#!/bin/sh\n%s\n' "$3" >"tools/$1"
	chmod +x "tools/$1"
}

# The stream of an answer that ends for REASON, with these content blocks.
stream() {
	local reason=$1 index=0 block
	shift
	echo '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"test-1","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}'
	for block; do
		jq -cn --argjson index "$index" --argjson block "$block" '
			def start: {type: "content_block_start", index: $index};
			def delta: {type: "content_block_delta", index: $index};
			(if $block.type == "text" then
				(start + {content_block: {type: "text", text: ""}}),
				(delta + {delta: {type: "text_delta", text: $block.text}})
			else
				(start + {content_block: ($block + {input: {}})}),
				(delta + {delta: {type: "input_json_delta", partial_json: ($block.input | tojson)}})
			end),
			{type: "content_block_stop", index: $index}'
		index=$((index + 1))
	done
	jq -cn --arg reason "$reason" \
		'{type: "message_delta", delta: {stop_reason: $reason}, usage: {output_tokens: 5}}'
	echo '{"type":"message_stop"}'
}
text() { stream end_turn "{\"type\":\"text\",\"text\":\"$1\"}"; }
use() { echo "{\"type\":\"tool_use\",\"id\":\"$1\",\"name\":\"$2\",\"input\":$3}"; }

# Bodies of the requests that were sent.
bodies() { jq -c '.body | if type == "string" then fromjson else . end' "$MODEL_SERVER_LOG"; }
sent() { wc -l <"$MODEL_SERVER_LOG"; }

# The types of the events within the latest run's steps, in a row.
types() { jq -r .type "$(transcript)" | grep -v '^run\|^step' | tr '\n' ' '; }

# Workers of the runs in this test's storage, by pid; also for workflows that bash runs.
workers() { pgrep -f "^[^ ]*awf-provider-[^ ]* --worker=$AWF_STORAGE/"; }
export -f workers
no_workers() { [ -z "$(workers)" ]; }

# Starts tests/support/api-server.py, in the place of all APIs.
api_server() {
	API_LOG="$BATS_TEST_TMPDIR/api.log"
	python3 -S "$ROOT/tests/support/api-server.py" "$API_LOG" >api.port 3>&- &
	API_SERVER_PID=$!
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s api.port
	API=http://127.0.0.1:$(cat api.port)
	export ANTHROPIC_BASE_URL="$API" ANTHROPIC_API_KEY=anthropic-real-key
	export OPENAI_BASE_URL="$API/v1" OPENAI_API_KEY=openai-real-key
	export GEMINI_BASE_URL="$API" GEMINI_API_KEY=gemini-real-key
}
