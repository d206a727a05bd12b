#!/usr/bin/env bats
# bats file_tags=turn:2
# MCP servers that a run keeps for all its steps, `keep: run`.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031 # bats sets stderr and output; jq has dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/mcp

prepare() {
	mcp_place
	export SERVER_KEYS='{"keep":"run"}'
	agent worker
	server counts
}
cleanup() { [ ! -e http.pid ] || kill "$(cat http.pid)" 2>/dev/null || true; }

# The agent NAME, with further lines of front matter.
agent() {
	printf -- '---\nname: %s\nprovider: scripted\nmodel: m\nmcp_servers: [test]\n%s\n---\nBe brief.\n' \
		"$1" "${2:-}" >"agents/$1.md"
}
# A workflow that is a text.
flow() { printf '#!/bin/bash\n%s\n' "$1" >flow.awf && chmod +x flow.awf; }
go() { awf-run ./flow.awf "$@"; }
outputs() { payloads tool.result .output | tr -d '"' | paste -sd' '; }
started() { log 'select(.method? == "initialize").id' | wc -l; }
step='echo x | awf-step -q -a worker'

# bats test_tags=turn:2
@test "one server serves the steps of a run, one after another and at once, and ends last" {
	calls count '{}' count '{}'
	# On a busy machine the next step may come later than an idle server waits.
	patient
	flow "$step one; $step two; $step a & $step b & wait; echo x | awf-step -a worker p | awf-step -q -a worker q"
	recorded 0 ./flow.awf
	same "$(outputs | tr ' ' '\n' | sort -n | paste -sd' ')" '1 2 3 4 5 6 7 8 9 10 11 12'
	same "$(outputs | cut -d' ' -f1-4)" '1 2 3 4'
	same "$(started)" 1
	same "$(log 'select(.method? == "notifications/initialized").method' | wc -l)" 1
	same "$(tail -1 server.log)" '"EOF"'
	ended
	# A replay starts none; another run has another.
	rm server.log
	awf-replay -q --isolation copy
	[ ! -e server.log ]
	go
	same "$(started)" 1
	awf-verify -q
}

@test "without awf-run, or without the key, each step has its own" {
	calls count '{}'
	seq 2 | awf-step -i lines -q -a worker own
	same "$(outputs)" '1 2'
	same "$(tail -1 server.log)" '"EOF"'
	define '{keep: "step"}'
	flow "$step one; $step two"
	go
	same "$(outputs)" '1 1'
	define '{keep: "ever"}'
	run -2 --separate-stderr awf-step -a worker x <<<x
	[[ $stderr = *'.mcp.json: mcpServers.test: keep: expected step or run'* ]]
}

@test "another command, environment, directory or file is another server" {
	cp "$SERVER" own.py
	jq -c --arg s "$PWD/own.py" '.mcpServers.test.args[1] = $s' .mcp.json >changed && mv changed .mcp.json
	mkdir sub
	calls count '{}'
	flow "$step a; (export OTHER=1; $step b); $step c
		(cd sub && cp -r ../agents ../.mcp.json . && $step d)
		$step e
		echo '# other' >>own.py; $step f
		export SHLVL=7 OLDPWD=/; $step g; env -u OLDPWD bash -c '$step h'"
	go
	same "$(outputs)" '1 1 2 1 3 1 2 3'
	same "$(started)" 4
	ended
}

@test "a step that is killed in the midst of a call leaves the next one a server that is in step" {
	script "$(called 1 mcp__test__count '{}')" "$(called 2 mcp__test__slow '{"seconds":30}')" "$(said 'done')"
	flow "echo x | awf-step -a worker killed & until grep -q '\"slow\"' server.log || ! kill -0 \$!; do :; done
		kill -9 \$!; wait \$!; cp after.json answers.json; $step next"
	jq -n --argjson a "$(called 1 mcp__test__count '{}')" --argjson b "$(said 'done')" '[[$a], [$b]]' >after.json
	run -3 go
	same "$(payloads tool.result .output | paste -sd' ')" '"1" "2"'
	same "$(started)" 1
	same "$(log 'select(.method? == "notifications/cancelled").params.reason')" '"the step has ended"'
	ended
}

# bats test_tags=turn:2
@test "a server that ended, or broke the protocol, is started anew, and says why" {
	server counts odd
	calls count '{}' die '{}' count '{}' garbage '{}' count '{}' deaf '{}' half '{}' wrong '{}' empty '{}' \
		aside '{}' count '{}'
	flow "$step one; cp after.json answers.json; $step two"
	jq -n --argjson a "$(called 1 mcp__test__count '{}')" --argjson b "$(said 'done')" '[[$a], [$b]]' >after.json
	go
	same "$(results)" '["1",null,null]
[null,"tool","the MCP server '"'test'"' ended: exit status 7; it said: out of luck"]
["1",null,null]
[null,"tool","the MCP server '"'test'"' broke the protocol: a line that is no JSON: expected a key in double quotes"]
["1",null,null]
[null,"tool","the MCP server '"'test'"' ended: exit status 0"]
[null,"tool","the MCP server '"'test'"' ended: exit status 0"]
[null,"tool","the MCP server '"'test'"' broke the protocol: an answer to a request that was not made"]
[null,"tool","the MCP server '"'test'"' broke the protocol: an answer without a result"]
[null,"tool","the MCP server '"'test'"' broke the protocol: an answer to a request that was not made"]
["1",null,null]
["2",null,null]'
	same "$(payloads tool.result 'select(.error).exit_code' | head -1)" 7
	ended
}

@test "one that cannot be started, or does not get ready, says why" {
	calls count '{}'
	flow "$step one"
	try() { # OPTION WORDS
		server "$1"
		define "${3:-{\}}"
		run -3 --separate-stderr go
		[[ $stderr = *"$2"* ]] || { echo "$stderr"; return 1; }
	}
	try start=die "the MCP server 'test' ended: exit status 1; it said: cannot start: no database"
	try start=refuse "the MCP server 'test' refused: Method not found (-32601)"
	try start=hang "the MCP server 'test' did not answer 'initialize' in time" '{startup_timeout: 300}'
	try counts "the MCP server 'test' cannot be run: no-such-program: command not found" '{command: "no-such-program"}'
	try counts "cannot be run: /no/such: unable to change to this directory" '{cwd: "/no/such"}'
	ended
}

@test "what the server asks, tells and prints goes where it belongs" {
	server counts start=greet
	calls ask '{}' grow '{}' batch '{}' progress '{"seconds":0.1}' die '{}'
	flow "$step one"
	go 2>said
	same "$(payloads tool.result .output | jq -cS . | head -4)" \
		'{"elicitation/create":-32601,"ping":"ok","roots/list":-32601,"sampling/createMessage":-32601}
"grown"
"batched"
"slept"'
	same "$(results | tail -1)" "[null,\"tool\",\"the MCP server 'test' ended: exit status 7; it said: Hello, I am a server. out of luck\"]"
	same "$(payloads message.user '[.turn, (.mcp | length)]')" '[0,27]
[2,28]'
	server counts start=ask
	run -3 --separate-stderr go
	[[ $stderr = *"the MCP server 'test' broke the protocol: it asks and asks, and reads no answer"* ]]
	ended
}

@test "a newer revision, and a server over HTTP, are kept too" {
	server modern counts
	calls count '{}'
	flow "$step one; $step two"
	go
	same "$(outputs)" '1 2'
	rm server.log
	python3 -S "$ROOT/tests/support/mcp-http.py" port http.log -- \
		python3 -S "$SERVER" server.log counts 3>&- &
	echo $! >http.pid
	eventually test -s port
	jq -n --arg url "http://127.0.0.1:$(cat port)/mcp" \
		'{mcpServers: {test: {url: $url, headers: {X: "${A_TOKEN}"}, keep: "run"}}}' >.mcp.json
	A_TOKEN=tt-12345678 go
	same "$(outputs)" '1 2'
	same "$(jq -r '.headers["mcp-session-id"] // empty' http.log | sort -u)" s0
	same "$(jq -r '.headers["x"]' http.log | sort -u)" tt-12345678
	same "$(jq -r .method http.log | tail -1)" DELETE
	run -1 grep -r tt-12345678 "$AWF_STORAGE"
}

@test "a kept server is in the sandbox of its step, and another where there is none" {
	cp "$SERVER" own.py
	define '{args: ["own.py", "server.log", "counts"]}'
	agent worker 'sandbox: workspace'
	agent open
	calls count '{}' env '{"name":"AWF_SANDBOX"}'
	flow "echo x | awf-step -q -a open zero; $step one; $step two"
	run -0 go
	same "$(outputs)" '1 unset 1 workspace 2 workspace'
	ended
}

@test "a server ends with its run, however that ends, with all that it started; a resume starts another" {
	server counts stop=ignore
	calls fork '{}' count '{}'
	flow "$step one; false"
	run -1 go
	child=$(payloads tool.result '.output | tonumber? // empty' | head -1)
	ended
	gone "$child"
	server counts
	calls count '{}' look '{"seconds":30}'
	flow "$step one"
	awf-run ./flow.awf 2>said 3>&- &
	eventually grep -q '"look"' server.log
	kill -KILL $!
	wait $! || true
	eventually ended
	same "$(tail -1 server.log)" '"EOF"'
	rm server.log
	awf-run --resume @ 2>said 3>&- &
	eventually grep -q '"look"' server.log
	kill -TERM $!
	wait $! || true
	same "$(started)" 1
	same "$(log 'select(.method? == "tools/call").params.name')" '"look"'
	same "$(tail -1 server.log)" '"EOF"'
	ended
}

@test "awf-mcp-keep is started by a run alone" {
	local program="$BUILD/libexec/awf/awf-mcp-keep"
	while IFS='|' read -r words expected; do
		# shellcheck disable=SC2086 # words
		run -1 --separate-stderr "$program" $words </dev/null
		same "$stderr" "awf-mcp-keep: $expected"
	done <<-END
		|--worker and --parent are needed; awf-run starts it
		--worker=x.lock|--worker and --parent are needed; awf-run starts it
		--worker=x.lock --parent=none|--parent: 'none' is not a whole number
		--worker=x.lock --parent=1|--worker: stdin is no socket that listens
		x|x: unexpected argument
	END
}
