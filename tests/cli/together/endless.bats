#!/usr/bin/env bats
# Others decide how much they say: whatever of it has no end, there is a limit for it.
# shellcheck shell=bash disable=SC2154,SC2016
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

# MODE: a server, at $URL.
endless_server() {
	rm -f port
	python3 -S "$ROOT/tests/support/endless.py" "$1" >port 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s port
	URL=http://127.0.0.1:$(cat port)
}

@test "what an API sends" {
	while IFS='|' read -r mode message; do
		endless_server "$mode"
		OPENAI_API_KEY=k OPENAI_BASE_URL=$URL run -3 --separate-stderr timeout 60 awf-step -n -p hi -r --retries 0 -m openai/x ask
		[[ $stderr == *"openai: $message"* ]] || { echo "$mode: $stderr" >&2; return 1; }
		[ "${#stderr}" -lt 2000 ]
	done <<-'END'
		headers|the head of the answer is above 256 KiB
		interim|the head of the answer is above 256 KiB
		trailers|the head of the answer is above 256 KiB
		error|HTTP 400: what xxxx
		line|an event of the stream is above 64 MiB
	END
}

@test "what an API sends to a program" {
	for mode in headers trailers; do
		endless_server "$mode"
		printf '%s\n' 'import http.client, os' 'c = http.client.HTTPConnection("127.0.0.1", int(os.environ["OPENAI_BASE_URL"].split(":")[2].split("/")[0]), timeout=60)' \
			'c.request("POST", "/v1/chat/completions", "{}", {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"})' \
			'try: c.getresponse().read()' 'except (http.client.HTTPException, OSError): pass' >program
		OPENAI_API_KEY=k OPENAI_BASE_URL=$URL run -0 --separate-stderr awf-run -n -c 'awf-step -n -r --models app -- timeout 60 python3 -S program'
		same "$(jq -r 'select(.type == "error.raised" or .type == "tool.result" or .type == "message.assistant") | .payload.error.message // .payload.message // empty' "$(transcript)" | head -n 1)" \
			'the head of the answer is above 256 KiB'
	done
}

@test "what an MCP server sends over HTTP" {
	printf -- '---\nmodel: replay/none.jsonl\nmcp_servers: [s]\n---\n' >a.md
	: >none.jsonl
	while IFS='|' read -r mode message; do
		endless_server "$mode"
		echo "{\"mcpServers\":{\"s\":{\"url\":\"$URL/mcp\"}}}" >.mcp.json
		run -3 --separate-stderr timeout 60 awf-step -n -p hi -r -a a.md ask
		[[ $stderr == *"the MCP server 's' $message"* ]] || { echo "$mode: $stderr" >&2; return 1; }
	done <<-'END'
		headers|was cut off in its answer: the head of the answer is above 256 KiB
		trailers|was cut off in its answer: the head of the answer is above 256 KiB
		error|speaks neither Streamable HTTP (HTTP 400)
		line|was cut off in its answer: an event of its stream is above 64 MiB
	END
}
