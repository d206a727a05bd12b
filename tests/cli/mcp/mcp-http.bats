#!/usr/bin/env bats
# bats file_tags=turn:2
# Tools of MCP servers over HTTP, and definitions as other programs write them.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031 # bats sets stderr and output; jq has dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/mcp

prepare() {
	mcp_place
	printf -- '---\nname: worker\nprovider: scripted\nmodel: m\nmcp_servers: [test]\n---\nBe brief.\n' >agents/worker.md
}
cleanup() { [ ! -e http.pid ] || kill "$(cat http.pid)" 2>/dev/null || true; }

# Serves the test server over HTTP with these options; SERVER-OPTION… behind "--".
serve() {
	local options=() own=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	own=("$@")
	[ ! -e http.pid ] || kill "$(cat http.pid)"
	rm -f port http.log server.log
	python3 -S "$ROOT/tests/support/mcp-http.py" port http.log "${options[@]}" -- \
		python3 -S "$ROOT/tests/support/mcp-server.py" server.log "${own[@]}" 3>&- &
	echo $! >http.pid
	eventually [ -s port ]
	URL=http://127.0.0.1:$(cat port)
	define '{}'
}
# .mcp.json has the server with these further members.
define() { jq -n --arg url "$URL/mcp" "{mcpServers: {test: ({type: \"http\", url: \$url} + $1)}}" >.mcp.json; }

asked_for() { jq -r '"\(.method) \(.body.method // "-")"' http.log | paste -sd, ; }
# Those of this test's steps.
bridges() {
	for pid in $(pgrep -f awf-mcp-http); do
		[ "$(readlink "/proc/$pid/cwd")" != "$PWD" ] || echo "$pid"
	done
}
none_left() { [ -z "$(bridges)" ]; }

# bats test_tags=turn:3
@test "a server over Streamable HTTP: streams, one JSON answer, several in one, with a session and without" {
	for options in '' json 'json batch' nosession 'nosession json'; do
		# shellcheck disable=SC2086
		serve $options
		calls echo '{"text":"hi é"}' number '{"n":3}' dotted_name '{}'
		same "$(ask)" 'done'
		same "$(results)" '["hi é",null,null]
[{"n":3},null,null]
["dotted.name",null,null]'
		same "$(jq -r '.headers["mcp-protocol-version"] // "-"' http.log | sort | uniq -c | awk '{print $2}' | paste -sd,)" '-,2025-11-25'
		same "$(jq -r 'select(.body.method == "tools/call") | .headers.accept' http.log | sort -u)" 'application/json, text/event-stream'
		[[ $(asked_for) == 'POST initialize,POST notifications/initialized,'*'POST tools/list'*'POST tools/call,POST tools/call,POST tools/call'* ]]
		if [[ $options == *nosession* ]]; then
			[[ $(asked_for) != *DELETE* ]]
		else
			[[ $(asked_for) == *'DELETE -' ]]
			same "$(jq -r 'select(.body.method == "tools/call") | .headers["mcp-session-id"]' http.log | sort -u)" s0
		fi
		grep -q '"EOF"' server.log || [[ $options == *nosession* ]]
	done
	eventually none_left
}

@test "progress comes while a call goes on, and a server's own stream says that its tools are others" {
	serve
	calls progress '{"seconds":0.2}'
	define '{timeout: 150}'
	same "$(ask)" 'done'
	same "$(results)" '["slept",null,null]'
	serve tell
	calls grow '{}' slow '{"seconds":0.5}' echo '{"text":"x"}'
	ask
	# Before the next turn, or the one behind it.
	[[ $(payloads message.user '[.turn, (.mcp | length)]') == $'[0,26]\n['[12]',27]' ]]
}

@test "a stream that is cut off before the answer is asked for again where it can be" {
	serve cut
	calls echo '{"text":"late"}' echo '{"text":"later"}'
	ask
	same "$(results)" '["late",null,null]
["later",null,null]'
	same "$(jq -r 'select(.method == "GET") | .headers["last-event-id"] // empty' http.log | paste -sd,)" '1,2'
	serve drop
	calls echo '{"text":"x"}'
	ask
	same "$(results)" "[null,\"tool\",\"the MCP server 'test' ended its stream before the answer\"]"
	# The effect may have been: the request is not made a second time.
	same "$(grep -c '"tools/call"' server.log)" 1
}

@test "the transport of 2024-11-05, said or found out" {
	serve sse
	define '{type: "sse"}'
	calls echo '{"text":"old"}' progress '{"seconds":0.1}'
	same "$(ask)" 'done'
	same "$(results)" '["old",null,null]
["slept",null,null]'
	[[ $(asked_for) == 'GET -,POST initialize,'* ]]
	serve sse
	calls echo '{"text":"found"}'
	ask
	same "$(results)" '["found",null,null]'
	[[ $(asked_for) == 'POST initialize,GET -,POST initialize,'* ]]
	serve sse elsewhere
	calls echo '{"text":"x"}'
	run -3 --separate-stderr ask
	[[ $stderr == *"the MCP server 'test' names an endpoint that is not its own: http://127.0.0.2:9/x"* ]]
}

@test "where nobody speaks either transport, or the older one's stream ends, each request is told so" {
	serve absent
	calls echo '{"text":"x"}'
	run -3 --separate-stderr ask
	[[ $stderr == *"the MCP server 'test' speaks neither Streamable HTTP (HTTP 404) nor the older HTTP with SSE (HTTP 404)" ]]
	define '{type: "sse"}'
	run -3 --separate-stderr ask
	[[ $stderr == *"the MCP server 'test' does not speak HTTP with SSE (HTTP 404)" ]]
	serve sse drop
	define '{type: "sse"}'
	calls echo '{"text":"x"}'
	ask
	same "$(results)" "[null,\"tool\",\"the MCP server 'test' has ended its stream\"]"
	kill "$(cat http.pid)"
	rm http.pid
	run -3 --separate-stderr ask
	[[ $stderr == *"the MCP server 'test' cannot be reached: "* ]]
}

# bats test_tags=turn:2
@test "2026-07-28: headers say what the message says, and the arguments that a schema wants there" {
	serve modern json -- modern
	calls echo '{"text":"x"}' dotted_name '{}' note '{"text":"é "}'
	same "$(ask)" 'done'
	same "$(results)" '["x",null,null]
["dotted.name",null,null]
["é ",null,null]'
	same "$(jq -r 'select(.body.method == "tools/call") | .headers["mcp-name"]' http.log | paste -sd,)" 'echo,dotted.name,note'
	[[ $(asked_for) != *DELETE* && $(asked_for) != *GET* ]]
	serve modern -- modern mirror
	calls mirrored '{"region":"us-west1","text":" pad"}' mirrored '{"text":"=?base64?x?="}' mirrored '{"region":"日本"}'
	ask
	same "$(payloads tool.result '.error.message // "ok"' | sort -u)" '"ok"'
	same "$(jq -r 'select(.body.method == "tools/call") | .headers | "\(.["mcp-param-region"] // "-") \(.["mcp-param-text"] // "-")"' http.log)" \
		'us-west1 =?base64?IHBhZA==?=
- =?base64?PT9iYXNlNjQ/eD89?=
=?base64?5pel5pys?= -'
	# One whose schema says it wrongly is not offered, and said to be so.
	serve modern -- modern mirror=wrong
	calls mirrored '{}'
	ask
	[[ $(results) == *'"blocked"'* || $(results) == *'mcp__test__mirrored'* ]]
	same "$(jq -c '[.tools[].name | select(test("mirrored"))]' requests.jsonl | head -1)" '[]'
}

# bats test_tags=turn:2
@test "headers from the environment and the keys file, which nobody else sees" {
	serve token=verysecret123
	calls echo '{"text":"x"}'
	run -3 --separate-stderr ask
	[[ $stderr == *"wants to know who asks (HTTP 401): give it a header in \`headers\`, such as \"Authorization\": \"Bearer \${TOKEN}\"; OAuth is not spoken: who are you?"* ]]
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo SERVICE_TOKEN=verysecret123 >"$XDG_CONFIG_HOME/awf/keys"
	chmod 600 "$XDG_CONFIG_HOME/awf/keys"
	for value in 'Bearer ${SERVICE_TOKEN}' 'Bearer ${env:SERVICE_TOKEN}' 'Bearer ${input:service-token}'; do
		define "{headers: {Authorization: \"$value\", \"X-N\": 1, \"X-None\": null}}"
		calls echo '{"text":"x"}'
		same "$(ask)" 'done'
	done
	same "$(results)" '["x",null,null]'
	same "$(jq -r 'select(.body.method == "tools/call") | .headers["x-n"]' http.log | sort -u)" 1
	define '{headers: {Authorization: "Bearer ${input:t}"}}'
	calls echo '{"text":"x"}'
	echo hello | awf-run --input t=verysecret123 awf-step -a worker ask -r
	same "$(results)" '["x",null,null]'
	run -3 --separate-stderr ask
	[[ $stderr == *'${input:t} has no value: give it with awf-run --input t=VALUE'* ]]
	# The default that VS Code keeps beside the servers; what is no such text stays as it is.
	jq '.inputs = [{id: "n", default: "no"}, {type: "promptString", id: "t", default: "verysecret123"}] |
		.mcpServers.test.headers += {"X-A": "${input:t", "X-B": "a${input:n}b", "X-C": "${input:t"}' .mcp.json >t && mv t .mcp.json
	calls echo '{"text":"x"}'
	same "$(ask)" 'done'
	same "$(jq -c 'select(.body.method == "tools/call") | .headers | [.["x-a"], .["x-b"], .["x-c"]]' http.log | tail -n 1)" '["${input:t","anob","${input:t"]'
	calls echo '{"text":"x"}'
	echo hello >hello
	run -3 --separate-stderr awf-run --input t=other awf-step -a worker ask -r <hello
	[[ $stderr == *'wants to know who asks (HTTP 401)'* ]]
	# Numbers count as texts, and servers that stand within "mcp" have their inputs there.
	define '{headers: {Authorization: "Bearer verysecret123", "X-A": "${input:n}"}}'
	jq '{mcp: {servers: .mcpServers, inputs: [{id: "n", default: 42}]}}' .mcp.json >t && mv t .mcp.json
	calls echo '{"text":"x"}'
	same "$(ask)" 'done'
	same "$(jq -r 'select(.body.method == "tools/call") | .headers["x-a"]' http.log | tail -n 1)" 42
	define '{headers: {Authorization: "Bearer ${input:1st-key}"}}'
	run -3 --separate-stderr ask
	[[ $stderr == *'has no value: give it with awf-run --input _1st_key=VALUE' ]]
	calls echo '{"text":"x"}'
	same "$(awf-run --input _1st_key=verysecret123 -c 'echo x | awf-step -a worker ask -r')" 'done'
	# A NUL is refused, wherever it stands, and no end.
	define '{headers: {"X-A": "a\u0000b"}}'
	run -2 --separate-stderr ask
	[[ $stderr == *'headers: X-A: expected a text, got'* ]]
	define '{headers: {Authorization: "Bearer ${input:the-to.ken}"}}'
	run -3 --separate-stderr ask
	[[ $stderr == *'has no value: give it with awf-run --input the_to_ken=VALUE' ]]
	calls echo '{"text":"x"}'
	same "$(awf-run --input the_to_ken=verysecret123 -c 'echo x | awf-step -a worker ask -r')" 'done'
	# While it runs.
	define '{headers: {Authorization: "Bearer ${SERVICE_TOKEN}"}}'
	calls slow '{"seconds":2}'
	ask >/dev/null &
	asking=$!
	eventually grep -q tools/call server.log
	pid=$(bridges | head -1)
	run ! grep -az verysecret123 "/proc/$pid/cmdline" "/proc/$pid/environ"
	kill "$asking"
	wait "$asking" || true
	define '{headers: {Authorization: "Bearer ${SERVICE_TOKEN}", X: "a\nb"}}'
	run -3 --separate-stderr ask
	[[ $stderr == *'headers: X: has a line break'* ]]
	define '{headers: {"X Y": "a"}}'
	run -2 --separate-stderr ask
	[[ $stderr == *"'X Y' is no header's name"* ]]
}

# bats test_tags=turn:4
@test "what goes wrong says what to do, and harms its call alone" {
	serve redirect=https://example.com/mcp
	calls echo '{"text":"x"}'
	run -3 --separate-stderr ask
	[[ $stderr == *'is elsewhere (HTTP 307), at https://example.com/mcp: redirects are not followed'* ]]
	while IFS='|' read -r option message; do
		serve "$option"
		calls echo '{"text":"x"}'
		ask
		same "$(results)" "[null,\"tool\",\"the MCP server 'test' $message\"]"
	done <<-'END'
		status=503|answers HTTP 503, and wants to be asked again in 7 s: out of order
		status=403|does not let this be asked (HTTP 403): out of order
		status=500|answers HTTP 500, and wants to be asked again in 7 s: out of order
		empty|gave no answer
		page|answers with what is no JSON-RPC message
	END
	serve forget
	calls echo '{"text":"one"}' echo '{"text":"two"}' echo '{"text":"three"}'
	ask
	same "$(results)" '["one",null,null]
["two",null,null]
["three",null,null]'
	same "$(jq -r 'select(.body.method == "tools/call") | .headers["mcp-session-id"]' http.log | paste -sd,)" s0,s0,s1,s1
	kill "$(cat http.pid)"
	rm http.pid
	calls echo '{"text":"x"}'
	run -3 --separate-stderr ask
	[[ $stderr == *"cannot be reached: "* ]]
}

@test "a server that dies in a call, and a call that is cut off" {
	serve
	calls die '{}' echo '{"text":"again"}'
	ask
	[[ $(results) == *'"tool"'*'["again",null,null]'* || $(results) == *'"tool"'* ]]
	serve
	# That it is cut off is still said: on a busy machine too.
	patient
	calls slow '{"seconds":60}'
	define '{timeout: 100}'
	ask
	[[ $(results) == *'"timeout"'* ]]
	eventually grep -q notifications/cancelled server.log
	eventually none_left
}

@test "it is never in a sandbox, and never started by a replay" {
	serve
	sed -i 's/^mcp_servers/sandbox: read-only\nmcp_servers/' agents/worker.md
	calls echo '{"text":"x"}'
	echo hello | awf-run -c 'awf-step -a worker ask -r'
	same "$(results)" '["x",null,null]'
	kill "$(cat http.pid)"
	rm http.pid
	AWF_PROVIDER=replay run -0 awf-replay -q @
}

@test "TLS is verified" {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x \
		-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem 2>/dev/null
	echo '{"mcpServers":{"test":{"url":"https://127.0.0.1:1/mcp"}}}' >.mcp.json
	openssl s_server -accept 0 -key key.pem -cert cert.pem -www >tls.log 2>&1 3>&- &
	echo $! >http.pid
	eventually grep -q ACCEPT tls.log
	port=$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' tls.log)
	sed -i "s/:1\//:$port\//" .mcp.json
	calls echo '{"text":"x"}'
	run -3 --separate-stderr ask
	[[ $stderr == *'cannot be reached: '*ertificate* ]]
}

# bats test_tags=turn:2
@test "files as other programs write them" {
	serve json
	while IFS='|' read -r file text; do
		rm -rf .mcp.json .vscode
		mkdir -p .vscode
		sed "s|URL|$URL/mcp|" <<<"${text//NL/$'\n'}" >"$file"
		calls echo '{"text":"x"}'
		same "$(ask)" 'done'
		same "$(results)" '["x",null,null]'
	done <<-'END'
		.vscode/mcp.json|{"inputs": [{"id": "x", "type": "promptString"}], // commentNL "servers": {"test": {"url": "URL", /* yes */ "type": "http",},},}
		.mcp.json|{"test": {"url": "URL"}}
		.mcp.json|{"mcpServers": {"test": {"httpUrl": "URL", "trust": true}}}
		.mcp.json|{"mcpServers": {"test": {"serverUrl": "URL", "disabled": false}}}
		.mcp.json|{"mcp": {"servers": {"test": {"type": "streamable-http", "url": "URL"}}}}
		.mcp.json|{"$schema": "https://opencode.ai/config.json", "mcp": {"test": {"type": "remote", "url": "URL", "enabled": true}}}
	END
	for name in 'te.st@1' 'te st 1' te__st_1; do
		jq -n --arg url "$URL/mcp" --arg name "$name" '{mcpServers: {($name): {url: $url}}}' >.mcp.json
		sed -i "s/^mcp_servers.*/mcp_servers: ['$name']/" agents/worker.md
		script "$(called c0 mcp__te_st_1__echo '{"text":"x"}')" "$(said 'done')"
		same "$(ask)" 'done'
		same "$(results)" '["x",null,null]'
	done
	sed -i 's/^mcp_servers.*/mcp_servers: [te_st_1]/' agents/worker.md
	same "$(ask)" 'done'
	sed -i 's/^mcp_servers.*/mcp_servers: [test]/' agents/worker.md
	jq -n --arg s "$ROOT/tests/support/mcp-server.py" '{mcp: {test: {type: "local", command: ["python3", $s, "local.log"],
		environment: {PORT: 8080, DEBUG: true, NONE: null, HERE: "${workspaceFolder}",
		PROJECT: "${CLAUDE_PROJECT_DIR}"}}}}' >.mcp.json
	calls env '{"name":"PORT"}' env '{"name":"DEBUG"}' env '{"name":"HERE"}' env '{"name":"PROJECT"}' env '{"name":"NONE"}'
	ask
	same "$(payloads tool.result .output)" "\"8080\"
\"true\"
\"$PWD\"
\"$PWD\"
\"unset\""
}

@test "tools that a definition leaves out are not there" {
	serve json
	calls echo '{"text":"x"}'
	while IFS='|' read -r members expected; do
		define "$members"
		rm -f requests.jsonl
		ask
		same "$(jq -c '[.tools[].name | select(. == "mcp__test__echo" or . == "mcp__test__keep" or . == "mcp__test__note")]' requests.jsonl | head -1)" "$expected"
	done <<-'END'
		{tools: ["*"]}|["mcp__test__echo","mcp__test__keep","mcp__test__note"]
		{tools: ["echo"]}|["mcp__test__echo"]
		{includeTools: ["echo", "keep"], excludeTools: ["keep"]}|["mcp__test__echo"]
		{disabledTools: ["note"]}|["mcp__test__echo","mcp__test__keep"]
	END
}

@test "definitions that are wrong" {
	URL=http://127.0.0.1:1
	while IFS='|' read -r members message; do
		define "$members"
		run -2 --separate-stderr ask
		[[ $stderr == *".mcp.json: mcpServers.test: $message"* ]]
	done <<-'END'
		{command: "x"}|a command and a url: which of them?
		{url: null}|no command, and no url
		{url: "ftp://x"}|url: expected http://… or https://…
		{type: "pigeon"}|type: expected stdio, http or sse
		{disabled: true}|disabled: the server is switched off
		{enabled: false}|enabled: the server is switched off
		{headers: ["x"]}|headers: expected names and texts, got list
		{url: null, command: []}|command: must not be empty
		{url: null, command: "x", env: {A: []}}|env: A: expected a text, got list
	END
	echo '{"mcpServers": {"test": {"url": "x" /* }}}' >.mcp.json
	run -2 --separate-stderr ask
	[[ $stderr == *'.mcp.json:1: '* ]]
	run -1 --separate-stderr "$BUILD/libexec/awf/awf-mcp-http" <<<'{}'
	same "$stderr" 'awf-mcp-http: stdin: expected {"url": …} in the first line; awf-step starts it'
	run -1 --separate-stderr "$BUILD/libexec/awf/awf-mcp-http" x </dev/null
	same "$stderr" 'awf-mcp-http: x: unexpected argument'
}
