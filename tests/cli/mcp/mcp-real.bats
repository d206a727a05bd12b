#!/usr/bin/env bats
# Servers that others have written, from npm: those in $AWF_MCP_SERVERS, or below build/test/mcp,
# where `make check-mcp` puts them.
# shellcheck disable=SC2154,SC2030,SC2031 # bats sets stderr, and runs each test in a subshell
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/scripted

prepare() {
	SERVERS="${AWF_MCP_SERVERS:-$BUILD/mcp/node_modules/.bin}"
	command -v node >/dev/null || skip "no node"
	for server in everything filesystem sequential-thinking; do
		[ -x "$SERVERS/mcp-server-$server" ] || skip "no MCP servers in $SERVERS (make check-mcp)"
	done
	export SERVERS
	mkdir agents files
	scripted_provider
	printf '#!/bin/sh\n%s\n' 'echo hello | awf-step -a worker ask -r' >flow.awf
	chmod +x flow.awf
	# shellcheck disable=SC2016 # the variables are AWF's to expand
	echo '{"mcpServers": {
		"everything": {"command": "${SERVERS}/mcp-server-everything", "env": {"GREETING": "hello"}},
		"files": {"command": "${SERVERS}/mcp-server-filesystem", "args": ["files"]}}}' >.mcp.json
	printf -- '---\nprovider: scripted\nmodel: m\nmcp_servers: [everything, files]\n---\nBe brief.\n' \
		>agents/worker.md
}
results() { payloads tool.result "$1"; }

@test "server-everything: text, errors, structure, images, resources, progress, the environment" {
	script "$(called 1 mcp__everything__echo '{"message":"hi"}')" \
		"$(called 2 mcp__everything__get-sum '{"a":2,"b":3}'),$(called 3 mcp__everything__get-sum '{"a":"x"}')" \
		"$(called 4 mcp__everything__get-structured-content '{"location":"Chicago"}')" \
		"$(called 5 mcp__everything__get-tiny-image '{}'),$(called 6 mcp__everything__get-resource-reference '{}')" \
		"$(called 7 mcp__everything__trigger-long-running-operation '{"duration":1,"steps":4}')" \
		"$(called 8 mcp__everything__get-env '{}')" "$(said 'done')"
	echo hello | awf-step -a worker ask -r -v 2>progress
	same "$(results '[.call_id, .error.code, (.output | type)]')" '["1",null,"string"]
["2",null,"string"]
["3","schema","null"]
["4",null,"object"]
["5",null,"array"]
["6",null,"array"]
["7",null,"string"]
["8",null,"string"]'
	same "$(results .output | head -2)" '"Echo: hi"
"The sum of 2 and 3 is 5."'
	same "$(results 'select(.call_id == "4").output | keys')" '["conditions","humidity","temperature"]'
	same "$(results 'select(.call_id == "5").output[] | select(.type == "image").mimeType')" '"image/png"'
	same "$(results 'select(.call_id == "6").output[] | select(.type == "resource").resource.mimeType')" '"text/plain"'
	grep -q 'mcp__everything__trigger-long-running-operation: 4/4' progress
	results 'select(.call_id == "8").output | fromjson | .GREETING' | grep -qx '"hello"'
	results 'select(.call_id == "8").output | fromjson | keys[]' | grep -q _API_KEY && return 1
	awf-verify -q
}

@test "server-everything: resources and prompts, over stdio and HTTP, at once" {
	port=$(python3 -Sc 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	PORT=$port "$SERVERS/mcp-server-everything" streamableHttp >listening 2>&1 3>&- &
	SERVER=$!
	eventually grep -q "port $port" listening
	jq -c --arg url "http://127.0.0.1:$port/mcp" '.mcpServers.web = {url: $url}' .mcp.json >changed && mv changed .mcp.json
	printf -- '---\nprovider: scripted\nmodel: m\nmcp_servers: [everything, web]\n---\nBe brief.\n' >agents/worker.md
	calls=
	for server in everything web; do
		calls="$calls${calls:+,}$(called "$server.echo" "mcp__${server}__echo" '{"message":"hi"}')"
		calls="$calls,$(called "$server.list" "mcp__${server}__list_resources" '{}')"
		calls="$calls,$(called "$server.text" "mcp__${server}__read_resource" '{"uri":"demo://resource/dynamic/text/1"}')"
		calls="$calls,$(called "$server.blob" "mcp__${server}__read_resource" '{"uri":"demo://resource/dynamic/blob/1"}')"
		calls="$calls,$(called "$server.none" "mcp__${server}__read_resource" '{"uri":"demo://none"}')"
		calls="$calls,$(called "$server.prompt" "mcp__${server}__get_prompt" '{"name":"args-prompt","arguments":{"city":"Bonn"}}')"
	done
	script "$calls" "$(called progress mcp__web__trigger-long-running-operation '{"duration":1,"steps":4}')" "$(said 'done')"
	echo hello | awf-step -a worker ask -r -v 2>progress
	for server in everything web; do
		same "$(results "select(.call_id | startswith(\"$server.\")) | [.call_id[$((${#server} + 1)):], .error.code, (.output | type)]")" '["echo",null,"string"]
["list",null,"object"]
["text",null,"string"]
["blob",null,"array"]
["none","tool","null"]
["prompt",null,"object"]'
		same "$(results "select(.call_id == \"$server.prompt\").output.messages[0].content.text | contains(\"Bonn\")")" true
		same "$(results "select(.call_id == \"$server.blob\").output[0].type")" '"resource"'
	done
	grep -q 'mcp__web__trigger-long-running-operation: 4/4' progress
	awf-verify -q
}
cleanup() { [ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true; }

@test "server-filesystem: writes, reads, and keeps to its directory; replays without it" {
	script "$(called 1 mcp__files__write_file "{\"path\":\"$PWD/files/a\",\"content\":\"one\\ntwo\\n\"}")" \
		"$(called 2 mcp__files__read_text_file "{\"path\":\"$PWD/files/a\"}")" \
		"$(called 3 mcp__files__read_text_file '{"path":"/etc/passwd"}')" "$(said 'done')"
	recorded 0 ./flow.awf
	same "$(cat files/a)" 'one
two'
	same "$(results '.output.content? // .error.code' | tail -2)" '"one\ntwo\n"
"tool"'
	same "$(payloads tool.call .effects)" '"external"
"read"
"read"'
}

@test "a call that takes too long is cancelled, and the server goes on" {
	jq -c '.mcpServers.everything.timeout = 500' .mcp.json >changed && mv changed .mcp.json
	printf -- '---\nprovider: scripted\nmodel: m\nmcp_servers: [everything]\n---\nBe brief.\n' \
		>agents/worker.md
	script "$(called 1 mcp__everything__trigger-long-running-operation '{"duration":20,"steps":2}')" \
		"$(called 2 mcp__everything__echo '{"message":"on"}')" "$(said 'done')"
	./flow.awf
	same "$(results '[.error.code, .output]')" '["timeout",null]
[null,"Echo: on"]'
}

@test "what a kept server remembers of one step the next one finds" {
	# shellcheck disable=SC2016 # the variables are AWF's to expand
	echo '{"mcpServers": {"think": {"command": "${SERVERS}/mcp-server-sequential-thinking", "keep": "run"}}}' >.mcp.json
	printf -- '---\nprovider: scripted\nmodel: m\nmcp_servers: [think]\n---\nBe brief.\n' >agents/worker.md
	script "$(called 1 mcp__think__sequentialthinking '{"thought":"x","thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":false}')" \
		"$(said 'done')"
	recorded 0 -c 'for step in a b c; do echo x | awf-step -q -a worker $step; done'
	same "$(results .output.thoughtHistoryLength | paste -sd' ')" '1 2 3'
}

@test "a sandboxed npx runs what is in a cache of the working directory, and says at once what it cannot fetch" {
	cache="$(dirname "$(dirname "$SERVERS")")/cache"
	[ -d "$cache/_npx" ] || skip "no cache of npm's in $cache (make check-mcp)"
	package=$(jq -r '.dependencies | to_entries[] | "\(.key)@\(.value)"' "$cache"/_npx/*/package.json)
	jq -n --arg package "${package/@^/@}" \
		'{mcpServers: {think: {command: "npx", args: ["-y", $package], env: {npm_config_cache: "./cache"}}}}' >.mcp.json
	printf -- '---\nprovider: scripted\nmodel: m\nmcp_servers: [think]\nsandbox: workspace\n---\nBe brief.\n' >agents/worker.md
	script "$(called 1 mcp__think__sequentialthinking '{"thought":"x","thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":false}')" \
		"$(said 'done')"
	run -3 --separate-stderr ./flow.awf
	[[ $stderr == *"ended: exit status 1 (its sandbox has no network to fetch it from: network: true in the agent's file or --network allows it, or name an installed program); it said: npm error code ENOTCACHED"* ]]
	cp -r "$cache/." cache
	run -0 ./flow.awf
	same "$(results .output.thoughtHistoryLength)" 1
}
