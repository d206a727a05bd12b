load ../../support/helpers
bats_require_minimum_version 1.5.0
load ../../support/agent
load ../../support/provider

# Tools of ours that an agent CLI calls while it answers, over MCP.

prepare() {
	mkdir -p bin agents tools
	ln -s "$ROOT/tests/support/mcp-cli.py" bin/claude
	export PATH="$PWD/bin:$PATH"
	echo 2 >factor
	DOUBLE='"input_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
	tool double "$DOUBLE,\"effects\":\"none\"" 'jq -c ".n * $(cat factor)"'
	worker 'tools: [read, double]'
}

worker() { printf -- '---\nprovider: claude\n%s\n---\n' "$1" >agents/worker.md; }
# A line each.
script() { printf '%s\n' "$@" >script; }
double() { echo "{\"call\":\"double\",\"arguments\":{\"n\":$1}}"; }
told() { payloads tool.call '[.name, .call_id, .fidelity, .effects, .input]'; }

@test "a tool is offered, run as any tool, recorded once, and replayed" {
	script "$(double 21)" "$(double '"x"')" '{"call":"read","arguments":{}}' '{"ask":"resources/list"}' \
		"$(double 4)"
	run -0 --separate-stderr awf-run -c 'awf-step a -a worker -r' <<<x
	same "$output" 8
	same "$(cat heard)" '["2025-06-18","awf",[{"description":"double","inputSchema":{"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"},"name":"double"}]]
{"content":[{"text":"42","type":"text"}],"isError":false}
{"content":[{"text":"the arguments break the schema: /n: expected integer, got string","type":"text"}],"isError":true}
{"code":-32602,"message":"there is no such tool, or its arguments are no object"}
{"code":-32601,"message":"there is no such method"}
{"content":[{"text":"8","type":"text"}],"isError":false}'
	same "$(told)" '["double","awf_0_1","router","none",{"n":21}]
["double","awf_0_2","router","none",{"n":"x"}]
["mcp__awf__read","t3","agent_emitted",null,{}]
["double","awf_0_3","router","none",{"n":4}]'
	same "$(payloads tool.result '.output // .error.code' | paste -sd' ')" '"42" "schema" "8" "no result"'
	# The answer has them as what the CLI said, and follows them.
	same "$(payloads message.assistant '[.blocks[] | select(.type == "tool_use") | [.tool_name, .fidelity]] | unique')" \
		'[["double","agent_emitted"],["mcp__awf__read","agent_emitted"]]'
	same "$(jq -c 'select(.type == "message.assistant") | 1 + (.links | length)' "$(transcript)")" 4
	awf-verify -q
	rm -r bin script
	awf-verify --determinism --isolation copy
	# It is run again there, and compared.
	echo 3 >factor
	run -3 awf-replay --isolation none
	[[ $output == *'its result is "63", the recorded one "42"'* ]]
}

@test "calls at once, a result that is more than text, a server that dies" {
	tool picture '"input_schema":{"type":"object"},"effects":"read"' \
		'echo '\''[{"type":"text","text":"here"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]'\'
	tool slow '"input_schema":{"type":"object"},"effects":"none"' 'touch began; cat >/dev/null; echo slow'
	worker 'tools: [double, picture, slow]'
	script "{\"calls\":[$(double 1),$(double 2)]}" '{"lose":{"call":"slow"}}' '{"call":"picture"}' "$(double 3)"
	run -0 --separate-stderr awf-step a -a worker -r <<<x
	same "$output" 6
	same "$(tail -n +2 heard | jq -c '.content | map(del(._meta))')" '[{"text":"2","type":"text"}]
[{"text":"4","type":"text"}]
[{"text":"here","type":"text"},{"data":"iVBORw0KGgo=","mimeType":"image/png","type":"image"}]
[{"text":"6","type":"text"}]'
	# What the dead server asked for was run.
	same "$(told | jq -r '.[0]' | paste -sd' ')" 'double double slow picture double'
	same "$(payloads tool.result 'select(.name == "slow").output')" '"slow"'
	awf-verify -q
}

@test "servers of the agent file are offered too" {
	jq -nc --arg program "$ROOT/tests/support/mcp-server.py" \
		'{mcpServers: {test: {command: $program}}}' >.mcp.json
	worker 'mcp_servers: [test]
tools: [double, mcp__test__echo]'
	script '{"call":"mcp__test__echo","arguments":{"text":"hi"}}'
	recorded 0 -c 'awf-step a -a worker -r' <<<x
	same "$output" hi
	same "$(head -n 1 heard | jq -c '.[2] | map(.name)')" '["double","mcp__test__echo"]'
	same "$(told)" '["mcp__test__echo","awf_0_1","router","read",{"text":"hi"}]'
}

@test "a run that is resumed does not do again what was done" {
	tool send "$DOUBLE,\"effects\":\"external\"" 'jq -c .n | tee -a ledger'
	worker 'tools: [send]'
	script '{"call":"send","arguments":{"n":1}}' '{"exit":1}'
	run -3 awf-run -c 'awf-step --effects workspace a -a worker -r' <<<x
	same "$(cat ledger)" 1
	script '{"call":"send","arguments":{"n":1}}' '{"call":"send","arguments":{"n":2}}'
	run -0 --separate-stderr awf-run --resume @ <<<x
	same "$output" 2
	same "$(paste -sd' ' ledger)" '1 2'
	awf-verify -q
}

@test "a step that is cancelled, or killed, while a tool runs" {
	tool hang '"input_schema":{"type":"object"},"effects":"none"' 'echo $$ >tool.pid; exec sleep 100'
	worker 'tools: [hang]'
	script '{"call":"hang"}'
	for signal in TERM KILL; do
		rm -f tool.pid
		awf-step a -a worker <<<x >out 2>&1 3>&- &
		local pid=$!
		eventually test -s tool.pid
		kill -"$signal" "$pid"
		eventually gone "$(cat server.pid)"
		eventually gone "$(cat cli.pid)"
		# A tool outlives a step that is killed, unless it is in a run of awf-run.
		if [ "$signal" = KILL ]; then kill "$(cat tool.pid)"; continue; fi
		eventually gone "$(cat tool.pid)"
		wait "$pid" || true
		same "$(payloads tool.result .error.code)" '"cancelled"'
	done
}

@test "a CLI that dies while a tool runs, and one that never asks" {
	tool murder '"input_schema":{"type":"object"},"effects":"none"' 'kill -9 "$(cat cli.pid)"; echo done'
	worker 'tools: [murder]'
	script '{"call":"murder"}'
	# It is not asked again, as it would use its tools again.
	run -3 awf-step a -a worker <<<x
	same "$(payloads step.completed .error.code)" '"provider"'
	same "$(payloads tool.result '[.output, .fidelity]')" '["done","router"]'
	script '{"exit":3}'
	run -3 awf-step a -a worker --retries 0 <<<x
	same "$(told)" ''
}

@test "what steers a call is not for a CLI, and a tool of the file alone is not for its server" {
	worker 'handoffs: [other]'
	printf -- '---\nprovider: claude\ndescription: d\n---\n' >agents/other.md
	script ''
	run -3 awf-step a -a worker --retries 0 <<<x
	same "$(payloads step.completed '.error | [.code, .message]')" \
		'["invalid","worker: the agent CLI '\''claude'\'' has a loop of its own: it cannot call '\''transfer_to_other'\''"]'
	# Without tools of ours there is no server.
	worker 'tools: [read]'
	: >script
	awf-step a -a worker -q <<<x
	[ ! -e heard ]
}

@test "who does not know the secret is nobody" {
	cat >bin/stranger <<-'END2'
		import json, socket, sys
		own = json.load(open(sys.argv[1]))["mcpServers"]["awf"]["env"]
		for secret in ("", own["AWF_MCP_SECRET"][1:], own["AWF_MCP_SECRET"]):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(own["AWF_MCP_SOCKET"])
		    try:
		        s.sendall((secret + "\n" + json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n").encode())
		        print(s.recv(100).decode().strip())
		    except ConnectionError: # it was closed already
		        print()
		    s.close()
	END2
	rm bin/claude
	cat >bin/claude <<-'END2'
		#!/bin/sh
		[ "$1" != --version ] || exec echo '2.1.0 (Claude Code)'
		for a; do case $before in --mcp-config) file=$a ;; esac; before=$a; done
		stat -c '%a' "$file" >modes
		python3 bin/stranger "$file" >strange
		exit 1
	END2
	chmod +x bin/claude
	run -3 awf-step a -a worker --retries 0 <<<x
	same "$(cat strange modes)" '

{"jsonrpc":"2.0","id":1,"result":{}}
600'
}

@test "the server by hand" {
	local server=$BUILD/libexec/awf/awf-mcp-tools
	run -0 "$server" --help
	[[ $output == "usage: awf-mcp-tools"* ]]
	run -0 "$server" --version
	run -1 "$server" x
	same "$output" 'awf-mcp-tools: x: unexpected argument'
	run -1 env -u AWF_MCP_SOCKET "$server"
	same "$output" 'awf-mcp-tools: the provider of an agent CLI has it started: AWF_MCP_SOCKET and AWF_MCP_SECRET are not there'
	AWF_MCP_SOCKET=$PWD/none AWF_MCP_SECRET=x run -4 "$server"
	same "$output" "awf-mcp-tools: $PWD/none: unable to connect: No such file or directory"
	AWF_MCP_SOCKET=$(printf '%0200d' 0) AWF_MCP_SECRET=x run -1 "$server"
	same "$output" 'awf-mcp-tools: AWF_MCP_SOCKET: too long for a socket'
	mkdir -p "$(printf '%0120d' 0)"
	TMPDIR=$PWD/$(printf '%0120d' 0) run -3 --separate-stderr awf-step a -a worker --retries 0 <<<x
	[[ $stderr = *'/tools: too long for a socket: set TMPDIR to a shorter path' ]]
}
