#!/usr/bin/env bats
# Tools of MCP servers, over stdio.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031 # bats sets stderr and output; jq has dollars
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/scripted

prepare() {
	mkdir agents
	scripted_provider
	SERVER="$ROOT/tests/support/mcp-server.py"
	printf '#!/bin/sh\n%s\n' 'echo hello | awf-step -a worker ask -r' >flow.awf
	chmod +x flow.awf
	agent 'mcp_servers: [test]'
	server
}

# The agent "worker", with these lines of front matter.
agent() {
	printf -- '---\nname: worker\nprovider: scripted\nmodel: m\n%s\n---\nBe brief.\n' "$1" \
		>agents/worker.md
}

# .mcp.json has the server "test", with these options.
server() {
	jq -n --arg server "$SERVER" --arg log "$PWD/server.log" --args \
		'{mcpServers: {test: {command: "python3", args: ([$server, $log] + $ARGS.positional)}}}' \
		"$@" >.mcp.json
}
# Members of its definition.
define() { jq -c ".mcpServers.test += $1" .mcp.json >changed && mv changed .mcp.json; }

# The model calls these tools of the server, NAME INPUT…, one a turn, and then says "done".
calls() {
	local turns=()
	while [ $# -gt 0 ]; do
		turns+=("$(called "c${#turns[@]}" "mcp__test__$1" "$2")")
		shift 2
	done
	script "${turns[@]}" "$(said 'done')"
}
ask() { echo hello | awf-step -a worker ask -r; }
results() { payloads tool.result '[.output, .error.code, .error.message]'; }
offered() { jq -c '[.tools[].name]' requests.jsonl; }
log() { jq -c "$1" server.log; }

@test "a tool of a server is offered, called and answered; both ways are recorded" {
	calls echo '{"text":"hi"}'
	same "$(ask)" 'done'
	same "$(results)" '["hi",null,null]'
	same "$(payloads tool.call '[.name,.input,.effects]')" '["mcp__test__echo",{"text":"hi"},"read"]'
	same "$(jq -c 'select(.messages | length == 1).tools[] | select(.name == "mcp__test__echo")' requests.jsonl)" \
		'{"name":"mcp__test__echo","description":"Does echo.","input_schema":{"type":"object","properties":{"text":{"type":"string"}}}}'
	same "$(jq -c '.messages[2].blocks // empty' requests.jsonl)" \
		'[{"type":"tool_result","tool_id":"c0","tool_content":"hi"}]'
	same "$(payloads message.user '[.mcp[] | select(.tool == "echo")]')" \
		'[{"name":"mcp__test__echo","server":"test","tool":"echo","effects":"read"}]'
	same "$(log '.method? // .' | paste -sd' ')" \
		'"initialize" "notifications/initialized" "tools/list" "tools/call" "EOF"'
	same "$(log 'select(.method == "initialize").params | [.protocolVersion, .capabilities, .clientInfo.name]')" \
		'["2025-11-25",{},"awf"]'
	awf-verify -q
}

@test "a server serves all items of a step, and is ended with it" {
	calls env '{"name":"AWF_RUN_ID"}' echo '{}'
	seq 3 | awf-step -i lines -a worker ask -q
	same "$(log 'select(.method == "initialize").id' | wc -l)" 1
	same "$(log 'select(.method == "tools/call").id' | wc -l)" 6
	same "$(tail -1 server.log)" '"EOF"'
	calls echo '{}'
	rm server.log
	seq 4 | awf-step -j 2 -i lines -a worker ask -q
	[ "$(log 'select(.method == "initialize").id' | wc -l)" -le 2 ]
	same "$(grep -c '"EOF"' server.log)" "$(log 'select(.method == "initialize").id' | wc -l)"
}

@test "results are text, structured content, or the content as it came" {
	calls texts '{}' number '{"n":3}' image '{}' both '{}' dotted_name '{}' batch '{}' echo '{}'
	ask
	same "$(payloads tool.result .output)" '"one\ntwo"
{"n":3}
[{"type":"text","text":"see"},{"type":"image","data":"aGk=","mimeType":"image/png"}]
{"structuredContent":{"a":1},"content":[{"type":"audio","data":"aGk=","mimeType":"audio/wav"}]}
"dotted.name"
"batched"
""'
}

@test "what goes wrong is a result for the model, and the server lives on or is started anew" {
	calls fail '{}' long_fail '{}' refuse '{}' number '{"n":"x"}' echo '{"text":1}' input '{}' \
		die '{}' die '{"killed":true}' garbage '{}' half '{}' wrong '{}' empty '{}' deaf '{}' echo '{"text":"alive"}'
	same "$(ask)" 'done'
	same "$(results)" '[null,"tool","no such thing"]
["first\nsecond","tool","the tool failed"]
[null,"tool","the MCP server '"'test'"' refused: Unknown tool: refuse (-32602)"]
[{"n":"x"},"schema","the tool'"'"'s output breaks its schema: /n: expected integer, got string"]
[null,"schema","the arguments break the schema: /text: expected string, got integer"]
[null,"tool","the tool asks for input that there is nobody to give"]
[null,"tool","the MCP server '"'test'"' ended: exit status 7; it said: out of luck"]
[null,"tool","the MCP server '"'test'"' ended: killed by signal 9 (Killed); it said: out of luck"]
[null,"tool","the MCP server '"'test'"' broke the protocol: a line that is no JSON"]
[null,"tool","the MCP server '"'test'"' ended: exit status 0"]
[null,"tool","the MCP server '"'test'"' broke the protocol: an answer to a request that was not made"]
[null,"tool","the MCP server '"'test'"' broke the protocol: an answer without a result"]
[null,"tool","the MCP server '"'test'"' ended: exit status 0"]
["alive",null,null]'
}

@test "what a server asks for is refused, but ping" {
	calls ask '{}'
	ask
	same "$(payloads tool.result .output)" \
		'{"ping":"ok","roots/list":-32601,"sampling/createMessage":-32601,"elicitation/create":-32601}'
}

@test "a list in pages is a list; one without an end is none" {
	server page=7
	calls echo '{}'
	ask
	same "$(offered | head -1 | jq length)" 25
	same "$(log 'select(.method == "tools/list").params.cursor')" 'null
"7"
"14"
"21"'
	server page=endless
	run -3 --separate-stderr ask
	[[ $stderr = *"the MCP server 'test' has more than 1000 pages of tools"* ]]
}

@test "tools that change are listed anew before the next request, and recorded" {
	calls grow '{}' grown '{}' grow '{}' echo '{}'
	recorded 0 ./flow.awf
	same "$(offered | jq -c 'map(select(endswith("grown")))')" '[]
["mcp__test__grown"]
["mcp__test__grown"]
[]
[]'
	same "$(payloads message.user '[.turn, (.mcp | length)]')" '[0,25]
[1,26]
[3,25]'
}
