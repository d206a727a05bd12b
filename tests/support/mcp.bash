# Sourced by the bats files about MCP servers, after scripted.bash: what the model calls on the
# server "test", and what comes of it.
# shellcheck shell=bash

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
# What the server has read.
log() { jq -c "$1" server.log; }
