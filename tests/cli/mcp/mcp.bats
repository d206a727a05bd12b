#!/usr/bin/env bats
# bats file_tags=turn:3
# Tools of MCP servers, over stdio.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031 # bats sets stderr and output; jq has dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/mcp

prepare() {
	mcp_place
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

offered() { jq -c '[.tools[].name]' requests.jsonl; }

@test "half of a character, as JavaScript leaves it where it cuts a text, is U+FFFD and ends no server" {
	server
	# shellcheck disable=SC2016 # jq has dollars
	define '{command: "sh", args: (["-c", "python3 \"$@\" | sed -u s/HALF/\\\\\\\\ud83d/", "sh"] + .mcpServers.test.args)}'
	calls echo '{"text":"a HALF"}' echo '{"text":"whole"}'
	for keep in step run; do
		define "{keep: \"$keep\"}"
		awf-run awf-step -a worker -n -p x ask -r
		same "$(results)" '["a �",null,null]
["whole",null,null]'
	done
}

@test "a tool of a server is offered, called and answered; both ways are recorded" {
	export JQ=jq
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
	export JQ=jq
	calls texts '{}' number '{"n":3}' image '{}' both '{}' dotted_name '{}' batch '{}' echo '{}'
	ask
	same "$(payloads tool.result .output)" '"one\ntwo"
{"n":3}
[{"type":"text","text":"see"},{"type":"image","data":null,"mimeType":"image/png"}]
[{"type":"text","text":"{\"a\":1}"},{"type":"audio","data":null,"mimeType":"audio/wav"}]
"dotted.name"
"batched"
""'
}

# bats test_tags=turn:2
@test "what goes wrong is a result for the model, and the server lives on or is started anew" {
	server odd
	calls fail '{}' long_fail '{}' refuse '{}' number '{"n":"x"}' echo '{"text":1}' input '{}' \
		die '{}' die '{"killed":true}' garbage '{}' half '{}' wrong '{}' empty '{}' deaf '{}' \
		nested '{}' aside '{}' cut '{}' blank '{}' echo '{"text":"alive"}'
	same "$(ask)" 'done'
	same "$(results)" '[null,"tool","no such thing"]
["first\nsecond","tool","the tool failed"]
[null,"tool","the MCP server '"'test'"' refused: Unknown tool: refuse (-32602)"]
[{"n":"x"},"schema","the tool'"'"'s output breaks its schema: /n: expected integer, got string"]
[null,"schema","the arguments break the schema: /text: expected string, got integer"]
[null,"tool","the tool asks for input that there is nobody to give"]
[null,"tool","the MCP server '"'test'"' ended: exit status 7; it said: out of luck"]
[null,"tool","the MCP server '"'test'"' ended: killed by signal 9 (Killed); it said: out of luck"]
[null,"tool","the MCP server '"'test'"' broke the protocol: a line that is no JSON: expected a key in double quotes"]
[null,"tool","the MCP server '"'test'"' ended: exit status 0"]
[null,"tool","the MCP server '"'test'"' broke the protocol: an answer to a request that was not made"]
[null,"tool","the MCP server '"'test'"' broke the protocol: an answer without a result"]
[null,"tool","the MCP server '"'test'"' ended: exit status 0"]
[null,"tool","the MCP server '"'test'"' broke the protocol: a line that is no JSON: nested too deep"]
[null,"tool","the MCP server '"'test'"' broke the protocol: an answer to a request that was not made"]
["one\u0000two","tool","the tool failed"]
["answered",null,null]
["alive",null,null]'
}

# bats test_tags=turn:2
@test "an agent file of another program has no more of a server than it gives" {
	script "$(said 'done')"
	local own='mcpServers: {test: {command: python3, args: ["-S", "'$SERVER'"]}}'
	while IFS='|' read -r keys expected warning; do
		printf -- '---\nname: worker\n%s\n---\nBe brief.\n' "${keys//; /$'\n'}" >agents/worker.agent.md
		rm -f requests.jsonl
		run -0 --separate-stderr awf-step -a agents/worker.agent.md -m scripted/m ask -r <<<hello
		same "$(jq -r '[.tools[]?.name | select(startswith("mcp__test__"))] |
			if length > 3 then "all but " + ((["mcp__test__echo", "mcp__test__note"] - .) | join(" ")) else join(" ") end' \
			requests.jsonl)" "$expected"
		[[ $stderr == *"$warning" ]]
	done <<-END
		mcpServers: [test]|all but |
		$own|all but |
		tools: ["*"]; mcpServers: [test]|all but |
		tools: [read]; mcpServers: [test]||
		tools: [read]; $own||
		tools: [read, test/note]; mcpServers: [test]|mcp__test__note|
		tools: [read]; disallowedTools: mcp__test__note||
		disallowedTools: mcp__test__note||
		disallowedTools: mcp__test; mcpServers: [test]||
		disallowedTools: mcp__test__*; $own||
		disallowedTools: mcp__test__note; mcpServers: [test]||left out, as it is not here: MCP server test (without mcp__test__note)
		disallowedTools: mcp__test__note; $own||left out, as it is not here: MCP server test (without mcp__test__note)
		tools: [mcp__test]; disallowedTools: mcp__test__note||left out, as it is not here: MCP server test (without mcp__test__note)
		tools: [mcp__test__echo, mcp__test__note]; disallowedTools: mcp__test__note|mcp__test__echo|
		tools: [mcp__test__note]; disallowedTools: mcp__test__note; mcpServers: [test]||
		tools: [mcp__test__note]; disallowedTools: mcp__test||
		disallowedTools: [mcp__*]; mcpServers: [test]||
		disallowedTools: "*"; $own||
		tools: [mcp__test__echo, mcp__test__note]; disallowedTools: mcp__test__no*|mcp__test__echo|
		tools: [mcp__test__echo, mcp__test__dotted.name]; disallowedTools: mcp__test__dotted.name|mcp__test__echo|
		disallowedTools: mcp__test.__note; ${own/test:/test.:}||left out, as it is not here: MCP server test (without mcp__test__note)
		${own/\}\}/, tools: []\}\}}||
		${own/\}\}/, includeTools: [echo]\}\}}|mcp__test__echo|
		tools: ["mcp__test__*ch*", mcp__test__note]; mcpServers: [test]|mcp__test__note|left out, as it is not here: mcp__test__*ch*
		tools: [test/*te]||left out, as it is not here: test/*te
		tools: [read]; mcp_servers: [test]||
		tools: [read]; ${own/mcpServers/mcp_servers}||
		disallowedTools: mcp__test; mcp_servers: [test]||
		mcp_servers: [test]|all but |
		mcpServers: {x: {command: cat, tools: []}}; tools: [read]; mcp_servers: [test]||
		permissionMode: plan; mcpServers: [test]||left out, as it is not here: MCP server test (in plan mode)
		permissionMode: plan; tools: [mcp__test__echo]||left out, as it is not here: mcp__test__echo (in plan mode)
	END
}

@test "what a server asks for is refused, but ping" {
	export JQ=jq
	calls ask '{}'
	ask
	same "$(payloads tool.result .output)" \
		'{"ping":"ok","roots/list":-32601,"sampling/createMessage":-32601,"elicitation/create":-32601}'
}

@test "a list in pages is a list; one without an end is none" {
	server page=7
	calls echo '{}'
	ask
	same "$(offered | head -1 | jq length)" 26
	same "$(log 'select(.method == "tools/list").params.cursor')" 'null
"7"
"14"
"21"'
	server page=endless
	run -3 --separate-stderr ask
	[[ $stderr = *"the MCP server 'test' has more than 100 pages of tools"* ]]
	server page=huge
	run -3 --separate-stderr ask
	[[ $stderr = *"the MCP server 'test' has a list of tools above 16 MiB"* ]]
}

@test "tools that change are listed anew before the next request, and recorded" {
	calls grow '{}' grown '{}' grow '{}' echo '{}'
	recorded 0 ./flow.awf
	same "$(offered | jq -c 'map(select(endswith("grown")))')" '[]
["mcp__test__grown"]
["mcp__test__grown"]
[]
[]'
	same "$(payloads message.user '[.turn, (.mcp | length)]')" '[0,26]
[1,27]
[3,26]'
}

# bats test_tags=turn:3
@test "a server that does not get ready ends the call, and says why" {
	calls echo '{}'
	try() { # OPTION… WORDS
		local words=${*: -1}
		server "${@:1:$#-1}"
		[ "$1" != start=hang ] || define '{startup_timeout: 300}'
		run -3 --separate-stderr ask
		[[ $stderr = *"$words"* ]] || { echo "$stderr" "$words"; return 1; }
		[ ! -s requests.jsonl ]
	}
	try start=die "the MCP server 'test' ended: exit status 1; it said: cannot start: no database"
	try start=garbage "the MCP server 'test' broke the protocol: a line that is no JSON"
	try start=hang "the MCP server 'test' did not answer 'initialize' in time"
	try start=refuse "the MCP server 'test' refused: Method not found (-32601)"
	try version=2031-01-01 "the MCP server 'test' speaks revision '2031-01-01' of the protocol, which is none of those known"
	try tools=no "the MCP server 'test' has no tools, resources or prompts"
	try tools=list "the MCP server 'test' gives no list of its tools"
	try tools=nameless "the MCP server 'test' lists a tool without a name"
	try tools=nul "the MCP server 'test' lists a tool with a NUL in its name"
	try tools=huge "' is longer than 64 bytes (name others in \`tools\`, or the server shorter)"
	try tools=long "the tool 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' cannot be offered: 'mcp__test__"
	try tools=twice "the tools 'dotted.name' and 'dotted_name' would both be called 'mcp__test__dotted_name'"
	same "$(jq -r 'select(.type == "step.completed").payload.error.code' "$(transcript)")" definition
	define '{command: "no-such-program"}'
	run -3 --separate-stderr ask
	[[ $stderr = *"the MCP server 'test' cannot be run: no-such-program: command not found"* ]]
	server
	define '{cwd: "/no/such"}'
	run -3 --separate-stderr ask
	[[ $stderr = *"cannot be run: /no/such: unable to change to this directory"* ]]
}

@test "what a server prints besides is no fault: a greeting, a flood on stderr, messages in a batch" {
	server start=greet
	calls batch '{}' die '{}'
	same "$(ask)" 'done'
	same "$(results | tail -1)" "[null,\"tool\",\"the MCP server 'test' ended: exit status 7; it said: Hello, I am a server. out of luck\"]"
	server start=flood
	calls echo '{"text":"hi"}' die '{}'
	same "$(ask)" 'done'
	same "$(results | tail -1)" "[null,\"tool\",\"the MCP server 'test' ended: exit status 7; it said: the end out of luck\"]"
}

@test "servers are started side by side, and one that several agents list once" {
	jq -n --arg server "$SERVER" --arg here "$PWD" '{mcpServers: ([range(3)] | map({key: "s\(.)",
		value: {command: "python3", args: ["-S", $server, "\($here)/\(.).log"]}}) | from_entries)}' >.mcp.json
	printf -- '---\nname: other\nprovider: scripted\nmodel: m\nmcp_servers: [s1]\n---\nBe brief.\n' \
		>agents/other.md
	agent 'mcp_servers: [s0, s1, s2]
handoffs: [other]'
	script "$(called 1 mcp__s1__echo '{"text":"a"}'),$(called 2 mcp__s2__echo '{"text":"b"}')" \
		"$(called 3 transfer_to_other '{}')" "$(called 4 mcp__s1__echo '{"text":"c"}')" "$(said 'done')"
	recorded 0 ./flow.awf
	same "$(payloads tool.result .output)" '"a"
"b"
{"transferred_to":"other"}
"c"'
	same "$(jq -c '[.tools[].name | split("__")[1] // .] | unique' requests.jsonl)" \
		'["s0","s1","s2","transfer_to_other"]
["s0","s1","s2","transfer_to_other"]
["s1"]
["s1"]'
	same "$(grep -c initialize 1.log)" 2 # the request and the notification
}

# bats test_tags=turn:2
@test "tools are those that the agent, the step and the run let it have" {
	names() { jq -c '[.tools[].name]' requests.jsonl | head -1; }
	calls echo '{"text":"hi"}' note '{}'
	agent 'mcp_servers: [test]
tools: [mcp__test__echo, mcp__test__dotted_name]'
	ask
	same "$(names)" '["mcp__test__echo","mcp__test__dotted_name"]'
	same "$(results | tail -1)" '[null,"blocked","the tool '"'mcp__test__note'"' is not allowed"]'
	calls echo '{}'
	echo hello | awf-step -a worker --allow-tools mcp__test__note ask -q
	same "$(names)" '["mcp__test__note"]'
	calls echo '{}'
	rm server.log
	echo hello | awf-step -a worker --allow-tools none_such_ ask -q || true
	[ ! -e server.log ]
	calls echo '{}' note '{}'
	echo hello | awf-run --allow-tools 'mcp__test__note,mcp__test__echo' -c 'awf-run --allow-tools "mcp__test__*" -c "awf-step -a worker ask -q"'
	same "$(names)" '["mcp__test__echo"]'
	calls echo '{}'
	agent 'mcp_servers: [test]
tools: ["mcp__test__*"]'
	ask
	same "$(names | jq length)" 26
	rm server.log
	calls echo '{}'
	echo hello | awf-run --allow-tools read,bash ./flow.awf
	same "$(names)" '[]'
	[ ! -e server.log ]
	calls note '{"text":"x"}'
	echo hello | awf-run --allow-tools mcp__test__echo --tools-policy warn ./flow.awf
	same "$(payloads tool.call '[.name, .warning]')" '["mcp__test__note","the run'"'"'s list of tools does not allow it"]'
	calls note '{"text":"x"}'
	agent 'mcp_servers: [test]
tools: [mcp__test__echo]
tools_policy: warn'
	recorded 0 ./flow.awf
	same "$(names)" '["mcp__test__echo"]'
	same "$(payloads tool.call '[.name, .warning]')" '["mcp__test__note","the agent'"'"'s list of tools does not allow it"]'
	same "$(results)" '["x",null,null]'
}

@test "a phase has the tools that it names" {
	agent 'mcp_servers: [test]
phases:
  - name: look
    instructions: Look.
    tools: [mcp__test__echo]
  - name: write
    instructions: Write.'
	script "$(called 1 mcp__test__echo '{"text":"a"}')" \
		"$(called 2 continue_workflow '{"token":"@TOKEN","output":"seen"}')" \
		"$(called 3 mcp__test__note '{"text":"b"}'),$(called 4 finish_workflow '{"token":"@TOKEN","output":"done"}')"
	recorded 0 ./flow.awf
	same "$(offered | head -2)" '["mcp__test__echo","continue_workflow","finish_workflow"]
["mcp__test__echo","continue_workflow","finish_workflow"]'
	same "$(offered | tail -1 | jq length)" 28
	same "$(payloads message.user '[.mcp[].input_schema | select(.)] | length')" 25
}

@test "names that nothing has are errors" {
	agent 'mcp_servers: [tset]'
	run -2 --separate-stderr ask
	[[ $stderr = *"agents/worker.md:5: mcp_servers: no MCP server 'tset' in .mcp.json, $XDG_CONFIG_HOME/awf/mcp.json (did you mean 'test'?)"* ]]
	agent 'mcp_servers: [test]
tools: [mcp__other__echo]'
	run -2 --separate-stderr ask
	[[ $stderr = *"tools: 'mcp__other__echo' is a tool of none of the servers that mcp_servers lists"* ]]
	agent 'mcp_servers: [test]
tools: [mcp__test__ecko]'
	run -3 --separate-stderr ask
	[[ $stderr = *"tools: its server has no tool 'mcp__test__ecko' (did you mean 'mcp__test__echo'?)"* ]]
	agent 'mcp_servers: [test]'
	echo '{"server": {}}' >.mcp.json
	run -2 --separate-stderr ask
	[[ $stderr = *'.mcp.json: expected {"mcpServers": {…}}'* ]]
	echo '{' >.mcp.json
	run -2 --separate-stderr ask
	[[ $stderr = *'mcp_servers: .mcp.json:'* ]]
}

# bats test_tags=turn:2
@test "definitions come from here, the workflow, the user, or the agent; variables from the environment" {
	mkdir -p flows "$XDG_CONFIG_HOME/awf"
	define '{env: {GREETING: "${WHO:-you} and ${NAME}"}}'
	calls env '{"name":"GREETING"}'
	export NAME=me
	ask
	same "$(results)" '["you and me",null,null]'
	unset NAME
	calls env '{"name":"GREETING"}'
	run -3 --separate-stderr ask
	[[ $stderr = *'.mcp.json: mcpServers.test: ${NAME} has no value: set it, or say ${NAME:-DEFAULT}'* ]]
	echo NAME=keys >"$XDG_CONFIG_HOME/awf/keys"
	chmod 600 "$XDG_CONFIG_HOME/awf/keys"
	calls env '{"name":"GREETING"}' env '{"name":"NAME"}'
	ask
	same "$(results)" '["you and keys",null,null]
["unset",null,null]'
	rm "$XDG_CONFIG_HOME/awf/keys"
	server
	mv .mcp.json "$XDG_CONFIG_HOME/awf/mcp.json"
	calls echo '{"text":"user"}'
	ask
	same "$(results)" '["user",null,null]'
	cp "$SERVER" flows/serve
	echo '{"mcpServers":{"test":{"type":"stdio","command":"./serve","cwd":"./","disabled":false}}}' >flows/.mcp.json
	mv flow.awf flows
	calls env '{}'
	awf-run flows/flow.awf
	same "$(results)" "[\"$PWD/flows\",null,null]"
	rm flows/.mcp.json "$XDG_CONFIG_HOME/awf/mcp.json"
	agent "mcp_servers: {test: {command: $SERVER}}"
	calls echo '{"text":"own"}'
	ask
	same "$(results)" '["own",null,null]'
}

@test "a server that asks without reading what is answered is ended" {
	server start=ask
	script "$(said 'done')"
	run -3 --separate-stderr ask
	[[ $stderr = *"the MCP server 'test' broke the protocol: it asks and asks, and reads no answer" ]]
}

@test "a server may have thousands of tools" {
	server tools=many
	# What sanitizers add is not what is bounded here.
	limit=3
	! grep -qa __asan_init "$BUILD/bin/awf-step" || limit=unlimited
	same "$(echo hello | { ulimit -t "$limit"; awf-step --dry-run -a worker ask; } | jq -c '.tools | length')" 20026
}

@test "no key that a server was given is recorded with what it says of failures" {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo OF_THE_FILE=aa-12345678 >"$XDG_CONFIG_HOME/awf/keys"
	chmod 600 "$XDG_CONFIG_HOME/awf/keys"
	export THE_TOKEN=tt-12345678 API_TOKEN=ee-12345678
	server start=tell 'key=${OF_THE_FILE}'
	script "$(said 'done')"
	run -3 --separate-stderr ask
	[[ $stderr = *"ended: exit status 1; it said: no entry with key=*********** ***********" ]]
	define '{env: {API_TOKEN: "Bearer ${THE_TOKEN} x"}}'
	run -3 --separate-stderr ask
	[[ $stderr = *"it said: no entry with key=*********** ********************" ]]
	server 'key=${OF_THE_FILE}'
	calls fail '{"key":1}' fail '{"refused":1}' number '{"n":"key"}'
	ask
	same "$(results)" '[null,"tool","bad key key=***********"]
[null,"tool","the MCP server '"'test'"' refused: bad key key=*********** (-32000)"]
[{"n":"key=***********"},"schema","the tool'"'"'s output breaks its schema: it has a key in it"]'
	run -1 grep -rE '(aa|tt|ee)-12345678' "$AWF_STORAGE"
}

@test "a call that shows no progress for too long is cancelled; progress is shown with -v" {
	define '{timeout: 400}'
	calls slow '{"seconds":20}' progress '{"seconds":1}' echo '{"text":"on"}'
	echo hello | awf-step -a worker ask -r -v 2>progress
	same "$(results)" "[null,\"timeout\",\"the MCP server 'test' did not answer 'tools/call' in time\"]
[\"slept\",null,null]
[\"on\",null,null]"
	same "$(log 'select(.method? == "notifications/cancelled").params.requestId == 3')" true
	grep -qF 'mcp__test__progress: 5/5 st\x1bep' progress
	define '{timeout: "1m"}'
	calls progress '{"seconds":20}'
	run -3 --separate-stderr awf-step --timeout 4 -a worker ask -r <<<hello
	[[ $stderr = *"did not answer 'tools/call' in time"* ]]
	same "$(log 'select(.method? == "notifications/cancelled").params.requestId == 3')" 'true
true'
}

# The model calls these tools, NAME INPUT…, in one answer, and then says "done".
calls_at_once() {
	local blocks=
	for ((i = 0; $# > 0; i++)); do
		blocks="$blocks${blocks:+,}$(called "c$i" "mcp__$1" "$2")"
		shift 2
	done
	script "$blocks" "$(said 'done')"
}

@test "calls of one answer that only read are made at once, by one server or several; others one by one" {
	agent 'mcp_servers: [test, other]'
	jq -c '.mcpServers.other = .mcpServers.test' .mcp.json >changed && mv changed .mcp.json
	calls_at_once test__look '{"meet":"place","of":3}' other__look '{"meet":"place","of":3}' \
		test__look '{"meet":"place","of":3}' test__note '{"text":"a"}' test__echo '{"text":"b"}'
	recorded 0 ./flow.awf
	same "$(results)" '["met",null,null]
["met",null,null]
["met",null,null]
["a",null,null]
["b",null,null]'
	# What is recorded is in the order of the calls.
	same "$(jq -r 'select(.type | startswith("tool.")) | .type[5:6] + .payload.call_id' "$(transcript)" | paste -sd' ')" \
		'cc0 cc1 cc2 rc0 rc1 rc2 cc3 rc3 cc4 rc4'
	rm server.log
	awf-replay -q --isolation copy
	[ ! -e server.log ]
}

@test "of calls at once each fails by itself; a server that ends takes its own along" {
	agent 'mcp_servers: [test, other]'
	jq -c '.mcpServers.other = .mcpServers.test' .mcp.json >changed && mv changed .mcp.json
	calls_at_once test__number '{"n":"x"}' test__echo '{"text":1}' test__number '{"n":2}' test__dotted_name '{}'
	ask
	same "$(results)" '[{"n":"x"},"schema","the tool'"'"'s output breaks its schema: /n: expected integer, got string"]
[null,"schema","the arguments break the schema: /text: expected string, got integer"]
[{"n":2},null,null]
["dotted.name",null,null]'
	calls_at_once test__look '{"die":1}' test__look '{}' other__echo '{"text":"b"}' test__note '{"text":"c"}'
	ask
	same "$(results)" '[null,"tool","the MCP server '"'test'"' ended: exit status 7; it said: out of luck"]
[null,"tool","the MCP server '"'test'"' ended: exit status 7; it said: out of luck"]
["b",null,null]
["c",null,null]'
	same "$(payloads tool.result .exit_code)" '7
7
null
null'
	awf-verify -q
}

@test "a sign that a server works is one for all calls that wait for it" {
	define '{timeout: 2400}'
	calls_at_once test__look '{"turn":1,"seconds":1}' test__look '{"turn":2,"seconds":1}' \
		test__look '{"turn":3,"seconds":1}'
	ask
	same "$(results)" '["slept",null,null]
["slept",null,null]
["slept",null,null]'
}

@test "an interrupt cancels all calls that are made at once" {
	calls_at_once test__look '{"seconds":30}' test__look '{"seconds":30}'
	echo hello | awf-step -a worker ask -r 2>said 3>&- &
	eventually eval '[ "$(grep -c tools/call server.log)" = 2 ]'
	kill -TERM $!
	wait $! && false
	same "$(grep -c notifications/cancelled server.log)" 2
	same "$(results | jq -r '.[1]')" 'cancelled
cancelled'
}

BESIDE='"mcp__test__list_resources","mcp__test__list_resource_templates","mcp__test__read_resource","mcp__test__list_prompts","mcp__test__get_prompt"'

@test "resources and prompts of a server are tools that read them, in a replay too" {
	export JQ=jq
	server resources prompts
	calls list_resources '{}' list_resources '{"cursor":"2"}' list_resource_templates '{}' \
		read_resource '{"uri":"note:a"}' read_resource '{ "uri": "notes:" }' list_prompts '{}' \
		get_prompt '{"name":"greet","arguments":{"who":"me"}}' get_prompt '{"name":"greet"}'
	recorded 0 ./flow.awf
	same "$(offered | head -1 | jq -c '.[26:]')" "[$BESIDE]"
	same "$(payloads tool.result .output)" '{"resources":[{"uri":"note:a","name":"a"}],"nextCursor":"2"}
{"resources":[{"uri":"image:dot","name":"dot"}]}
{"resourceTemplates":[{"uriTemplate":"note:{name}","name":"notes"}]}
"line é"
"line é\nsecond"
{"prompts":[{"name":"greet","arguments":[{"name":"who","required":true}]}]}
{"messages":[{"role":"user","content":{"type":"text","text":"Greet me"}}],"description":"A greeting"}
{"messages":[{"role":"user","content":{"type":"text","text":"Greet all"}}],"description":"A greeting"}'
	same "$(payloads tool.call .effects | sort -u)" '"read"'
	same "$(payloads message.user '.mcp[26:][] | [.tool, .method, .effects] | join(" ")')" '"list_resources resources/list read"
"list_resource_templates resources/templates/list read"
"read_resource resources/read read"
"list_prompts prompts/list read"
"get_prompt prompts/get read"'
	same "$(log 'select(.method? == "resources/read").params | del(._meta)')" '{"uri":"note:a"}
{"uri":"notes:"}'
	rm server.log
	awf-replay -q --isolation copy
	[ ! -e server.log ]
}

@test "bytes of a resource are embedded resources, and kept as blobs" {
	export JQ=jq
	server resources
	calls read_resource '{"uri":"image:dot"}' read_resource '{"uri":"both:"}'
	recorded 0 ./flow.awf
	same "$(payloads tool.result .output)" '[{"type":"resource","resource":{"uri":"image:dot","mimeType":"image/png","blob":null}}]
[{"type":"text","text":"line é"},{"type":"resource","resource":{"uri":"image:dot","mimeType":"image/png","blob":null}}]'
	same "$(jq -c '.messages[-1].blocks[]?.tool_blocks // empty | map(.type)' requests.jsonl)" '["image"]
["text","image"]'
}

# bats test_tags=turn:2
@test "what a server does not have beside tools, or has as a tool itself, is not offered" {
	export JQ=jq
	server prompts
	calls list_prompts '{}' list_resources '{}' get_prompt '{}' get_prompt '{"name":"greet","_meta":{}}'
	ask
	same "$(results)" '[{"prompts":[{"name":"greet","arguments":[{"name":"who","required":true}]}]},null,null]
[null,"blocked","the tool '"'mcp__test__list_resources'"' is not allowed"]
[null,"schema","the arguments break the schema: '"'name'"' is missing"]
[null,"schema","the arguments break the schema: unexpected '"'_meta'"'"]'
	server resources own
	calls read_resource '{}' list_resources '{}'
	ask
	same "$(results | head -1)" '["read_resource",null,null]'
	same "$(payloads message.user '.mcp[] | select(.tool == "read_resource").method')" null
	# Lists count as for any tool.
	server resources prompts
	define '{excludeTools: ["list_resource_templates"]}'
	agent 'mcp_servers: [test]
tools: [mcp__test__read_resource, mcp__test__list_prompts]'
	calls read_resource '{"uri":"note:a"}' get_prompt '{"name":"greet"}'
	ask
	same "$(offered | head -1)" '["mcp__test__read_resource","mcp__test__list_prompts"]'
	same "$(results | tail -1)" '[null,"blocked","the tool '"'mcp__test__get_prompt'"' is not allowed"]'
	agent 'mcp_servers: [test]
tools: [mcp__test__list_resource_templates]'
	run -3 --separate-stderr ask
	[[ $stderr = *"tools: its server has no tool 'mcp__test__list_resource_templates'"* ]]
	agent 'mcp_servers: [test]'
	same "$(echo hello | awf-run --allow-tools mcp__test__get_prompt -c 'awf-step --dry-run -a worker ask' | jq -c '[.tools[].name]')" '["mcp__test__get_prompt"]'
}

@test "a server may have resources or prompts alone; what goes wrong with them is for the model to read" {
	server tools=no resources
	calls read_resource '{"uri":"note:a"}' read_resource '{"uri":"none:"}' read_resource '{"uri":"odd:"}' \
		read_resource '{"uri":"ask:"}'
	recorded 0 ./flow.awf
	same "$(offered | head -1 | jq length)" 3
	same "$(log 'select(.method? == "tools/list")')" ''
	same "$(results)" '["line é",null,null]
[null,"tool","the MCP server '"'test'"' refused: Resource not found (-32002)"]
[null,"tool","the server'"'"'s answer to '"'resources/read'"' has no '"'contents'"'"]
[null,"tool","the tool asks for input that there is nobody to give"]'
	server modern tools=no prompts
	calls get_prompt '{"name":"greet"}'
	ask
	same "$(payloads tool.result '.output.messages[0].content.text')" '"Greet all"'
}

@test "a name for them that is too long is left out" {
	name=$(printf 'x%.0s' {1..43})
	server resources
	jq -c --arg name "$name" '.mcpServers = {($name): .mcpServers.test}' .mcp.json >changed && mv changed .mcp.json
	agent "mcp_servers: [$name]"
	same "$(echo hello | awf-step --dry-run -a worker ask | jq -c '[.tools[].name[-14:]] | .[26:]')" '["list_resources","_read_resource"]'
}

@test "resources are read at once with tools that read, and again where that was cut off" {
	server resources
	calls_at_once test__look '{"seconds":30}' test__read_resource '{"uri":"note:a"}'
	awf-run ./flow.awf 2>said 3>&- &
	eventually grep -q resources/read server.log
	kill -KILL $!
	wait $! || true
	eventually ended
	rm server.log
	awf-run --resume @ 2>said 3>&- &
	eventually grep -q resources/read server.log
	kill -TERM $!
	wait $! || true
	same "$(log 'select(.method? == "tools/call" or .method? == "resources/read").method')" '"tools/call"
"resources/read"'
}

@test "what a tool of a server requires and has a default for is filled in" {
	export JQ=jq
	server defaults
	calls filled '{"deep":{}}' filled '{"text":"mine","deep":{"n":1}}' filled '{"deep":{"n":"x"}}'
	recorded 0 ./flow.awf
	same "$(payloads tool.call .input)" '{"deep":{"n":7},"text":"of itself"}
{"text":"mine","deep":{"n":1}}
{"deep":{"n":"x"}}'
	same "$(results)" '["{\"deep\": {\"n\": 7}, \"text\": \"of itself\"}",null,null]
["{\"deep\": {\"n\": 1}, \"text\": \"mine\"}",null,null]
[null,"schema","the arguments break the schema: /deep/n: expected integer, got string"]'
}

@test "an interrupt cancels the call, and ends the servers" {
	calls slow '{"seconds":30}'
	agent 'mcp_servers: [test]'
	echo hello | awf-step -a worker ask -r 2>said 3>&- &
	eventually grep -q tools/call server.log
	kill -TERM $!
	wait $! && false
	grep -q notifications/cancelled server.log
	same "$(tail -1 server.log)" '"EOF"'
	same "$(results | jq -r '.[1]')" cancelled
}

@test "a step that is killed leaves no server" {
	calls slow '{"seconds":30}'
	echo hello | awf-step -a worker ask -r 2>said 3>&- &
	eventually grep -q tools/call server.log
	kill -KILL $!
	wait $! || true
	eventually grep -q '"EOF"' server.log
}

@test "a server that does not end is ended, with all that it started" {
	server stop=ignore
	calls fork '{}' fork '{}'
	ask
	for pid in $(payloads tool.result .output | tr -d '"'); do
		eventually gone "$pid"
	done
	ended
}

@test "a newer server, which knows no handshake, is spoken to in its way" {
	server modern
	calls echo '{"text":"hi"}'
	ask
	same "$(results)" '["hi",null,null]'
	same "$(log '.method? // .' | paste -sd' ')" '"initialize" "server/discover" "tools/list" "tools/call" "EOF"'
	same "$(log 'select(.method? == "tools/call").params._meta | [.["io.modelcontextprotocol/protocolVersion"], .["io.modelcontextprotocol/clientInfo"].name]')" \
		'["2026-07-28","awf"]'
}

@test "a call tells the server its trace, and the server, which outlives it, is in none" {
	server
	calls env '{"name":"TRACEPARENT"}'
	TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 ask
	same "$(results)" '["unset",null,null]'
	same "$(log 'select(.method?).params._meta.traceparent // empty')" "$(awf-tail --as otlp |
		jq -c '.resourceSpans[].scopeSpans[].spans[] | select(.name | startswith("execute_tool")) | "00-\(.traceId)-\(.spanId)-01"')"
	same "$(log 'select(.method? == "tools/call").params._meta.traceparent' | cut -c 5-36)" 0af7651916cd43dd8448eb211c80319c
}

@test "a replay starts no server, and takes results and tools from the recording" {
	calls note '{"text":"a","file":"ledger"}' grow '{}' grown '{}' keep '{"file":"ledger"}'
	recorded 0 ./flow.awf
	rm server.log
	awf-replay -q --isolation copy
	[ ! -e server.log ]
	same "$(wc -l <ledger)" 2
}

@test "a server that failed to start fails in a replay as well, which starts none" {
	define "{command: \"sh\", args: [\"-c\", \"echo x >>$PWD/started; exit 3\"]}"
	script "$(said 'done')"
	recorded 3 ./flow.awf
	[[ $stderr == *"the MCP server 'test' ended"* ]]
	same "$(cat started)" x
}

@test "a resumed run takes what was done, and starts a server when it calls it" {
	calls note '{"text":"a","file":"ledger"}' slow '{"seconds":30}' echo '{"text":"b"}'
	awf-run ./flow.awf 2>said 3>&- &
	eventually eval '[ "$(grep -c tools/call server.log)" = 2 ]'
	kill -KILL $!
	wait $! || true
	eventually ended
	rm server.log
	# Whether the slow one has done its work nobody knows.
	run -75 --separate-stderr awf-run --resume @
	[[ $stderr = *mcp__test__slow* ]]
	[ ! -e server.log ]
	run -0 --separate-stderr awf-run --resume @ --skip ask
	same "$output" 'done'
	same "$(cat ledger)" a
	same "$(results | jq -r '.[1]')" 'null
interrupted
null'
	same "$(log 'select(.method? == "tools/call").params.name')" '"echo"'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "calls that only read are made again where they were cut off" {
	calls look '{"seconds":30}'
	awf-run ./flow.awf 2>said 3>&- &
	eventually grep -q tools/call server.log
	kill -KILL $!
	wait $! || true
	eventually ended
	rm server.log
	awf-run --resume @ 2>said 3>&- &
	eventually grep -q tools/call server.log
	same "$(log 'select(.method? == "tools/call").params.name')" '"look"'
	kill -TERM $!
	wait $! || true
	calls die '{"killed":true}'
	recorded 0 ./flow.awf
	same "$(payloads tool.result .exit_code)" 137
}

@test "a dry run shows the tools too, and leaves nothing" {
	define '{env: {DRY: "${OF_THE_SHELL}"}, command: "py"}'
	printf '#!/bin/sh\nexec python3 "$@"\n' >bin/py
	chmod +x bin/py
	same "$(echo hello | OF_THE_SHELL=1 awf-step --dry-run -a worker ask | jq -c '.tools | length')" 26
	same "$(tail -1 server.log)" '"EOF"'
	[ ! -e "$AWF_STORAGE" ]
	# What a server has started and left goes with it.
	printf '#!/bin/sh\n%s\n%s\n' 'setsid -f sleep 617.3 <&- >/dev/null 2>&1' 'exec python3 "$@"' >bin/py
	same "$(echo hello | OF_THE_SHELL=1 awf-step --dry-run -a worker ask | jq -c '.tools | length')" 26
	run -1 pgrep -f 'sleep 617\.3'
}

@test "of the file that says how to start servers a digest is kept, and where else to look is said" {
	define '{env: {TOKEN: "of-its-own-file"}}'
	calls echo '{}'
	same "$(echo hello | awf-run -c 'awf-step -a worker ask -r')" 'done'
	run -1 --separate-stderr awf-replay --show .mcp.json
	[[ $stderr = *'has its digest alone, as keys may stand in it; what its servers offered: '* ]]
	same "$(sh -c "${stderr##*offered: }" | jq -r 'select(.)[0].server')" test
	run ! grep -rl of-its-own-file "$AWF_STORAGE"
}

@test "without mcp_servers no server is looked for" {
	echo nonsense >.mcp.json
	agent ''
	script "$(said 'done')"
	same "$(ask)" 'done'
	same "$(payloads message.user 'has("mcp")')" false
}

@test "a server that would be fetched fails at once in a sandbox without network, and says what to allow" {
	"$BUILD/libexec/awf/awf-sandbox" -- true || skip "this system lacks what a sandbox takes"
	# How its sandbox ends is awaited.
	patient
	mkdir fetch
	printf '%s\n' '#!/bin/sh' '[ "$npm_config_offline" = true ] || exec sleep 20' 'echo ENOTCACHED >&2' 'exit 1' >fetch/npx
	chmod +x fetch/npx
	export PATH="$PWD/fetch:$PATH"
	define '{command: "npx", args: ["-y", "a-server"], startup_timeout: 5000}'
	run -3 --separate-stderr awf-step -p go -n -a worker ask -r --sandbox workspace
	[[ $stderr == *"the MCP server 'test' ended: exit status 1 (its sandbox has no network to fetch it from: network: true in the agent's file or --network allows it, or name an installed program); it said: ENOTCACHED"* ]]
}
