#!/usr/bin/env bats
# Every program that listens, over every limit that it has for connections: heads and bodies that never end,
# slowly and fast, ends of one direction, and connections by the thousand that are of no use.
# shellcheck shell=bash disable=SC2016,SC2154
# bats file_tags=ci
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/agent
load ../support/provider
load ../support/serve

# ADDRESS KIND CHECK…: holds whatever comes.
holds() {
	run -0 --separate-stderr python3 -S "$ROOT/tests/support/strangers.py" "$@"
	if [ "$2" = http ]; then all_held 8; else all_held 4; fi
}
# So many limits.
all_held() { same "$(grep -c ': held$' <<<"$output") $(grep -v ': held$' <<<"$output")" "$1 " || { echo "$stderr" >&2; return 1; }; }

@test "awf-serve, over TCP and its Unix socket" {
	awf-run -n -c true
	serve
	token=$(awf-serve --new-token read)
	export PID=$SERVE_PID BODY_PATH=/api/session READ_PATH=/api/runs
	holds "127.0.0.1:$PORT" http curl -sSf --max-time 20 -H "Authorization: Bearer $token" "$URL/api/runs"
	holds "unix:$BATS_TEST_TMPDIR/socket" http curl -sSf --max-time 20 --unix-socket "$BATS_TEST_TMPDIR/socket" http://localhost/api/runs
	serve_end
}

@test "awf-models-proxy" {
	api_server
	cat >program <<-'END'
		#!/bin/sh
		port=${ANTHROPIC_BASE_URL##*:}
		export port=${port%%/*}
		until proxy=$(pgrep -P "$(ps -o ppid= -p $$ | tr -d ' ')" -x awf-models-prox); do sleep 0.01; done
		export PID=$proxy BODY_PATH=/v1/messages READ_PATH=/v1/models
		[ "$1" = stranger ] || export BODY_FIELD="x-api-key: $ANTHROPIC_API_KEY"
		exec python3 -S "$ROOT/tests/support/strangers.py" "127.0.0.1:$port" http \
			curl -sSf --max-time 20 -H "x-api-key: $ANTHROPIC_API_KEY" "http://127.0.0.1:$port/v1/models"
	END
	chmod +x program
	for who in stranger own; do
		run -0 --separate-stderr awf-run -n -c "awf-step -n -r --models app -- ./program $who"
		all_held 8
	done
}

@test "a question, where answers come" {
	awf-run -n -c 'awf-step -n --ask "How many?" --ask-grace 60s --max-answers 1000 --accept "jq -e \".data == \\\"7\\\"\"" many' >out 2>err 3>&- &
	asks=$!
	asking() { [ -n "$(find "$AWF_STORAGE"/runs/*/questions -type s 2>/dev/null)" ]; }
	eventually asking
	# One that is not taken shows that others can answer.
	printf '#!/bin/sh\necho 5 | awf-ctl complete many 2>said; grep -q "condition of --accept\\|refuses" said\n' >other
	chmod +x other
	ln -s "$(find "$AWF_STORAGE"/runs/*/questions -type s)" question
	holds unix:question line ./other
	echo 7 | awf-ctl complete many
	wait "$asks"
}

@test "the tools of an agent CLI" {
	mkdir -p bin agents tools
	ln -s "$ROOT/tests/support/mcp-cli.py" bin/claude
	PATH="$PWD/bin:$PATH"
	printf -- '---\nprovider: claude\ntools: [nothing]\n---\n' >agents/worker.md
	tool nothing '"input_schema":{"type":"object"},"effects":"none"' 'echo x'
	cat >own <<-'END'
		#!/usr/bin/env -S python3 -S
		import json, os, socket
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(20)
		s.connect(os.environ["AWF_MCP_SOCKET"])
		s.sendall(os.environ["AWF_MCP_SECRET"].encode() + b'\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
		assert json.loads(s.recv(65536))["result"] == {}
	END
	printf '#!/bin/sh\nexec python3 -S "%s" "unix:$AWF_MCP_SOCKET" secret ./own >held 2>held.err\n' "$ROOT/tests/support/strangers.py" >attack
	chmod +x own attack
	echo '{"run":["./attack"]}' >script
	awf-step a -a worker -r <<<x
	output=$(cat held) stderr=$(cat held.err)
	all_held 4
}
